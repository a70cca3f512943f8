"""The state of a learner as plain values, and the one check of values from a file.

A class lists in `STATE` the attributes that it adds to the state of its base classes. Scratch space and values that
follow from the problem and the parameters are not part of the state. Kernels index without bounds checks: indices are
checked here, as the fields declare.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Sizes = dict[str, Any]
"""Sizes by letter: "n" examples, "d" weights, and sizes that fields share, set by the first field that has them."""


class Field(NamedTuple):
    """An attribute in a learner's state: a number, an array, a list of arrays, or a NamedTuple of arrays.

    Its type is that of its value in a new learner: a number that starts as an int stays one.

    Attributes:
        name: of the attribute, and of its value in the state.
        of: the learner's attribute whose attribute it is; by default it is the learner's own.
        like: for an attribute that may be None, the name of another attribute of the same type and shape.
        shape: the letters of the sizes of an array that changes its shape during learning; of a list, its length and
            the length of each array.
        dtype: of the arrays of a list.
        end: the letter of the size that bounds the array's numbers, which are indices from 0 on.
        check: (value, sizes) → None, of a NamedTuple whose arrays change their shapes: it raises a ValueError where
            these do not fit together, and may add to the sizes.
    """

    name: str
    of: str | None = None
    like: str | None = None
    shape: str = ""
    dtype: str = "float64"
    end: str = ""
    check: Callable[[Any, Sizes], None] | None = None

    def owner(self, learner: Any) -> Any:
        """The object whose attribute this is."""
        return learner if self.of is None else getattr(learner, self.of)


def fields_of(kind: type[Any]) -> list[Field]:
    """All fields of a class, base classes first; a class may redeclare a field of a base class.

    Raises:
        TypeError: attributes of two objects have the same name, so that one would replace the other.
    """
    fields = dict[str, Field]()
    for field in (field for base in reversed(kind.__mro__) for field in vars(base).get("STATE", ())):
        if fields.setdefault(field.name, field).of != field.of:
            owners = sorted(str(one.of or "itself") for one in (field, fields[field.name]))
            raise TypeError(f'{kind.__name__} has two fields "{field.name}" in its state: of {" and ".join(owners)}')
        fields[field.name] = field
    return list(fields.values())


def plain(value: Any) -> Any:
    """The value of a field, with NamedTuples as dicts and NumPy scalars as Python numbers."""
    if isinstance(value, tuple):
        return value._asdict()  # type: ignore[attr-defined]
    return value.item() if isinstance(value, np.generic) else value


def saved(learner: Any, sizes: Sizes) -> dict[str, Any]:
    """The state of a learner, by name: numbers, arrays, lists and dicts of arrays, and None. Arrays are not copied.

    Raises:
        ValueError: a value is such that `restored` would refuse it.
    """
    state = {field.name: plain(getattr(field.owner(learner), field.name)) for field in fields_of(type(learner))}
    restored(learner, state, sizes)
    return state


def restored(learner: Any, state: dict[str, Any], sizes: Sizes) -> dict[Field, Any]:
    """The values of a learner's attributes from a state, which may hold anything.

    Raises:
        ValueError: a value has another type or shape than the learner's attribute, is not finite, is an index out of
            range, or does not fit the others.
    """
    fields = fields_of(type(learner))
    if set(state) != {field.name for field in fields}:
        raise ValueError("its solver state was saved by another solver")
    return {field: _restored(learner, field, state[field.name], sizes) for field in fields}


def _restored(learner: Any, field: Field, value: Any, sizes: Sizes) -> Any:
    if field.like is not None and value is None:
        return None
    current = getattr(learner, field.like) if field.like else getattr(field.owner(learner), field.name)
    if isinstance(current, tuple):
        parts = plain(current)
        fits = isinstance(value, dict) and set(value) == set(parts)
        fits = fits and all(_is_array(value[name], part, field.check is None) for name, part in parts.items())
        value = type(current)(**value) if fits else None
    elif isinstance(current, list):
        fits = isinstance(value, list) and all(_is_array(part, np.zeros(0, field.dtype), False) for part in value)
    elif isinstance(current, np.ndarray):
        fits = _is_array(value, current, not field.shape)
    else:
        fits = type(value) is type(plain(current)) and math.isfinite(value)
    if not fits:
        raise ValueError(f'"{field.name}" of its {type(learner).__name__} is of a wrong type or shape, or not finite')
    if field.check is not None:
        field.check(value, sizes)
    if field.shape and not _has_size(value, field.shape, sizes):
        raise ValueError(f'"{field.name}" of its {type(learner).__name__} does not fit the rest of its state')
    parts = value if isinstance(value, list) else [value]
    if field.end and not all(((part >= 0) & (part < sizes[field.end])).all() for part in parts):
        raise ValueError(f'"{field.name}" of its {type(learner).__name__} has an index out of range')
    return value


def _is_array(value: Any, like: np.ndarray, of_same_shape: bool) -> bool:
    if not isinstance(value, np.ndarray) or value.dtype != like.dtype or value.ndim != like.ndim:
        return False
    return (not of_same_shape or value.shape == like.shape) and _is_finite(value)


def _is_finite(array: np.ndarray) -> bool:
    return array.dtype.kind != "f" or bool(np.isfinite(array).all())


def _has_size(value: Any, shape: str, sizes: Sizes) -> bool:
    """Whether the value has these sizes; unknown sizes are set from it."""
    found: list[Any] = [len(value), [len(part) for part in value]] if isinstance(value, list) else list(np.shape(value))
    for letter, size in zip(shape, found):
        known = sizes.setdefault(letter, size)
        if size != (len(size) * [known] if isinstance(size, list) and isinstance(known, int) else known):
            return False
    return True
