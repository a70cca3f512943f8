"""The state of a learner as plain values, so that another learner goes on from exactly where it was.

A class lists in `STATE` the attributes that it adds to what its base classes remember. Scratch space, and whatever
follows from the problem and the parameters, is not part of the state.
"""

import math
from typing import Any, NamedTuple

import numpy as np


class Field(NamedTuple):
    """An attribute that a learner remembers: a number, an array, a list of arrays, or a NamedTuple of arrays.

    name: of the attribute. grows: whether the shapes of its arrays change as the learner learns; then the learner's
    `check` has to look at them. like: for an attribute that may be None, the name of another attribute of the same type
    and shape.
    """

    name: str
    grows: bool = False
    like: str | None = None


def fields_of(kind: type[Any]) -> list[Field]:
    """All fields of a class, beginning with those of its base classes, which it may declare anew."""
    declared = [field for base in reversed(kind.__mro__) for field in vars(base).get("STATE", ())]
    return list({field.name: field for field in declared}.values())


def plain(value: Any) -> Any:
    """The value of a field, with dicts in place of NamedTuples and Python's numbers in place of NumPy's."""
    if isinstance(value, tuple):
        return value._asdict()  # type: ignore[attr-defined]
    return value.item() if isinstance(value, np.generic) else value


def restored(learner: Any, field: Field, value: Any) -> Any:
    """A value from a file, which may hold anything, as the learner's attribute.

    Raises:
        ValueError: it is of another type or shape than what the learner has now, or not finite.
    """
    if field.like is not None and value is None:
        return None
    present = getattr(learner, field.like or field.name)
    if isinstance(present, tuple):
        parts = plain(present)
        fits = isinstance(value, dict) and set(value) == set(parts)
        fits = fits and all(_is_array(value[name], part, field.grows) for name, part in parts.items())
        value = type(present)(**value) if fits else None
    elif isinstance(present, list):
        fits = isinstance(value, list) and all(isinstance(part, np.ndarray) and _is_finite(part) for part in value)
    elif isinstance(present, np.ndarray):
        fits = _is_array(value, present, field.grows)
    else:
        fits = type(value) is type(plain(present)) and math.isfinite(value)
    if not fits:
        raise ValueError(f'"{field.name}" of its {type(learner).__name__} is of a wrong type or shape, or not finite')
    return value


def _is_array(value: Any, like: np.ndarray, grows: bool) -> bool:
    if not isinstance(value, np.ndarray) or value.dtype != like.dtype or value.ndim != like.ndim:
        return False
    return (grows or value.shape == like.shape) and _is_finite(value)


def _is_finite(array: np.ndarray) -> bool:
    return array.dtype.kind != "f" or bool(np.isfinite(array).all())
