"""All that a learner remembers, as plain values: with it another one goes on from exactly where it was."""

import math
from typing import Any

import numpy as np

from .learner import Learner
from .planes import PlaneBuffer


def memory(learner: Learner) -> dict[str, Any]:
    """Its numbers, arrays, lists of arrays, and named tuples of arrays (as dicts), by name; None for what is not set.

    Nothing is copied: it has to be written down before the learner goes on. Scratch space and what follows from the
    problem is left out.
    """
    learner.compact()
    return {name: _plain(value) for name, value in sorted(vars(learner).items()) if _is_memory(value)}


def recall(learner: Learner, remembered: dict[str, Any], rng: np.random.Generator) -> None:
    """Let a learner that has just started remember what another of its kind has remembered of the same problem.

    rng: what training draws from.

    Raises:
        ValueError: it is not what such a learner remembers of such a problem.
    """
    present = memory(learner)
    # What is not set in the beginning may be of a kind that is not remembered later.
    if not set(remembered) <= set(present) or any(present[name] is not None for name in set(present) - set(remembered)):
        raise ValueError(f"a {type(learner).__name__} remembers other things")
    for name, value in remembered.items():
        setattr(learner, name, _like(learner, name, getattr(learner, name), value))
    for name, value in vars(learner).items():
        if isinstance(value, np.random.Generator):
            setattr(learner, name, rng)
    learner.check()


def _is_memory(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return not isinstance(value, PlaneBuffer) and all(isinstance(part, np.ndarray) for part in value)
    return value is None or isinstance(value, bool | int | float | np.generic | np.ndarray)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return value._asdict()  # type: ignore[attr-defined]
    return value.item() if isinstance(value, np.generic) else value


def _like(learner: Learner, name: str, now: Any, value: Any) -> Any:
    """The value, where it can take the place of what the learner has now."""
    grows = name in learner.growing
    if now is None:
        fits = value is None or _is_number(value, float) or _is_array(value, learner.w, False)
    elif isinstance(now, tuple):
        parts = now._asdict()  # type: ignore[attr-defined]
        fits = isinstance(value, dict) and set(value) == set(parts)
        fits = fits and all(_is_array(value[key], part, grows) for key, part in parts.items())
        value = type(now)(**value) if fits else None
    elif isinstance(now, list):
        fits = isinstance(value, list) and all(isinstance(part, np.ndarray) and _is_finite(part) for part in value)
    elif isinstance(now, np.ndarray):
        fits = _is_array(value, now, grows)
    else:
        fits = _is_number(value, type(_plain(now)))
    if not fits:
        raise ValueError(f'"{name}" of its {type(learner).__name__} is of a wrong type or shape, or not finite')
    return value


def _is_array(value: Any, like: np.ndarray, grows: bool) -> bool:
    if not isinstance(value, np.ndarray) or value.dtype != like.dtype or value.ndim != like.ndim:
        return False
    return (grows or value.shape == like.shape) and _is_finite(value)


def _is_finite(array: np.ndarray) -> bool:
    return array.dtype.kind != "f" or bool(np.isfinite(array).all())


def _is_number(value: Any, kind: type[Any]) -> bool:
    return type(value) is kind and math.isfinite(value)
