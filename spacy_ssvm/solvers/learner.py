"""The interface of all solvers: the methods that the training loop calls, and a learner's state as plain values.

A class lists in `STATE` the attributes that it adds to the state of its base classes. Scratch space and values that
follow from the problem and the parameters are not part of the state. A learner restored from a state continues exactly
as the original one does.
"""

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..growth import extended
from .parameters import Parameters
from .planes import plane_buffer
from .problem import Kind, Problem


class Field(NamedTuple):
    """An attribute in a learner's state: a number, an array, a list of arrays, or a NamedTuple of arrays.

    name: of the attribute. grows: whether the shapes of its arrays change during learning; if so, the learner's `check`
    has to validate them. like: for an attribute that may be None, the name of another attribute of the same type and
    shape.
    """

    name: str
    grows: bool = False
    like: str | None = None


def fields_of(kind: type[Any]) -> list[Field]:
    """All fields of a class, those of its base classes first; a class may redeclare a field of a base class."""
    declared = [field for base in reversed(kind.__mro__) for field in vars(base).get("STATE", ())]
    return list({field.name: field for field in declared}.values())


def plain(value: Any) -> Any:
    """The value of a field, with NamedTuples as dicts and NumPy scalars as Python numbers."""
    if isinstance(value, tuple):
        return value._asdict()  # type: ignore[attr-defined]
    return value.item() if isinstance(value, np.generic) else value


def restored(learner: Any, field: Field, value: Any) -> Any:
    """Convert a value from a file, which may hold anything, into the learner's attribute.

    Raises:
        ValueError: the value's type or shape differs from the learner's current attribute, or the value is not finite.
    """
    if field.like is not None and value is None:
        return None
    current = getattr(learner, field.like or field.name)
    if isinstance(current, tuple):
        parts = plain(current)
        fits = isinstance(value, dict) and set(value) == set(parts)
        fits = fits and all(_is_array(value[name], part, field.grows) for name, part in parts.items())
        value = type(current)(**value) if fits else None
    elif isinstance(current, list):
        fits = isinstance(value, list) and all(isinstance(part, np.ndarray) and _is_finite(part) for part in value)
    elif isinstance(current, np.ndarray):
        fits = _is_array(value, current, field.grows)
    else:
        fits = type(value) is type(plain(current)) and math.isfinite(value)
    if not fits:
        raise ValueError(f'"{field.name}" of its {type(learner).__name__} is of a wrong type or shape, or not finite')
    return value


def _is_array(value: Any, like: np.ndarray, grows: bool) -> bool:
    if not isinstance(value, np.ndarray) or value.dtype != like.dtype or value.ndim != like.ndim:
        return False
    return (grows or value.shape == like.shape) and _is_finite(value)


def _is_finite(array: np.ndarray) -> bool:
    return array.dtype.kind != "f" or bool(np.isfinite(array).all())


class Progress(NamedTuple):
    """Figures of a finished epoch, or of the current one so far.

    loss: Σ of the loss of each visit before its update: ξ_i, L_{β,γ} in that family, or Δ(y_i, ŷ) for the perceptron.
    primal: running estimate of the primal objective, whose losses are summed while w moves; exact in solvers that move
        w between epochs only; None for solvers without such an objective.
    dual: the dual objective; None for solvers without a dual.
    planes: number of planes in all working sets; None for solvers without working sets.
    outside: where the primal objective cannot be computed, the largest violation g found outside the working sets.
    """

    loss: float
    primal: float | None
    dual: float | None
    planes: int | None
    outside: float | None = None


class Certificate(NamedTuple):
    """Objective values at one fixed w, summed over examples, without 1/n.

    gap = primal − dual ≥ 0 up to rounding: planes are stored in single precision, so a relative gap of about −1e-8 may
    occur, and one of −1e-6 where means of planes are stored.
    """

    primal: float
    dual: float

    @property
    def gap(self) -> float:
        """Primal − dual."""
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        """The gap over the primal objective (0 where both vanish)."""
        return self.gap / abs(self.primal) if self.primal else 0.0


class Learner(ABC):
    """A solver working on a problem: its weights, and what it keeps about each example.

    parameters: the solver's parameters.
    problem: the examples to learn from; `extend` replaces it by a larger one.
    weights: initial weights, float64 [d]; zeros by default.

    Raises:
        ValueError: the problem's structure does not offer the oracle that the solver needs.
    """

    STATE: ClassVar[tuple[Field, ...]] = (Field("w"), Field("loss"))
    """The attributes that `state` returns, in addition to those of the base classes."""

    n_threads = 1
    """The number of threads that call oracles, in solvers that call many oracles at one w.

    It changes weights by rounding at most, and in L-BFGS only.
    """

    def __init__(self, parameters: Parameters, problem: Problem, weights: np.ndarray | None = None) -> None:
        self.parameters = parameters
        problem.oracles(self.needs)
        self.problem = problem
        self.w = np.zeros(problem.dimension) if weights is None else np.array(weights, np.float64)
        self.buffer = plane_buffer(problem.max_entries(self.needs))
        self.loss = 0.0

    @property
    def needs(self) -> Kind:
        """The kind of oracle that the solver learns from, which may depend on its parameters."""
        return "max"

    def begin_epoch(self, rng: np.random.Generator) -> None:
        """Start an epoch: everything the solver does before its first oracle call."""
        self.loss = 0.0

    @abstractmethod
    def visit(self, examples: np.ndarray) -> None:
        """Call the oracle of each of these examples (int64), in this order, and learn from it."""

    def end_epoch(self) -> None:
        """End an epoch: everything the solver does after its last oracle call."""
        return None

    def prediction_weights(self) -> np.ndarray:
        """The weights to predict with, float64 [d]; callers must not modify them."""
        return self.w

    @abstractmethod
    def progress(self) -> Progress:
        """Figures since `begin_epoch`, cheap to compute."""

    def certificate(self) -> Certificate | None:
        """Primal and dual at the current w: one pass over all oracles. None where there is no certificate."""
        return None

    def done(self) -> bool:
        """Whether the solver has reached its tolerance; called at the end of an epoch."""
        return False

    def retune(self, parameters: Any) -> bool:
        """Continue with other parameters of the same class, towards the optimum that these have from the start.

        Returns False, and changes nothing, where the earlier epochs would lead elsewhere: a new learner is needed then.
        """
        return False

    def extend(self, problem: Problem) -> None:
        """Continue with a problem that has more examples or more weights, which are appended."""
        self.problem = problem
        self.w = self.grown(self.w)
        if problem.max_entries(self.needs) > len(self.buffer.indices):
            self.buffer = plane_buffer(problem.max_entries(self.needs))

    def remove(self, examples: np.ndarray) -> None:
        """Subtract the contribution of these examples' dual variables from w, and forget them. examples: int64."""
        return None

    def forget(self, examples: np.ndarray) -> None:
        """Drop all memory of these examples (int64); w stays as it is."""
        return None

    def state(self) -> dict[str, Any]:
        """The learner's state for `restore`, by name: numbers, arrays, lists and dicts of arrays, and None.

        Arrays are not copied: serialise the state before the learner continues.

        Raises:
            ValueError: a number is not finite, so that `restore` would refuse it.
        """
        self.compact()
        state = {field.name: plain(getattr(self, field.name)) for field in fields_of(type(self))}
        for field in fields_of(type(self)):
            restored(self, field, state[field.name])
        return state

    def restore(self, state: dict[str, Any], rng: np.random.Generator) -> None:
        """Continue from the state of another learner with the same parameters and problem.

        state: as returned by `state`, but from a file that may hold anything. rng: the random generator of training.

        Raises:
            ValueError: this is not a state of such a learner, or not one of this problem.
        """
        fields = fields_of(type(self))
        if set(state) != {field.name for field in fields}:
            raise ValueError("its solver state was saved by another solver")
        for field in fields:
            setattr(self, field.name, restored(self, field, state[field.name]))
        self.check()

    def compact(self) -> None:
        """Release memory that is not in use; the state stays the same."""
        return None

    def check(self) -> None:
        """Check the fields that grow, after they were read from a file.

        Raises:
            ValueError: the fields do not match each other, or the problem.
        """
        return None

    def grown(self, array: np.ndarray) -> np.ndarray:
        """`array`, float [old d], with zeros appended up to the current dimension.

        Replace the array by the result: both may share memory, as it is reserved ahead, so that few calls copy.
        """
        return extended(array, self.problem.dimension)


def start(parameters: Parameters, problem: Problem, weights: np.ndarray | None = None, n_threads: int = 1) -> Learner:
    """The learner that these parameters name.

    weights: initial weights, float64 [d]; zeros by default. n_threads: the number of threads that call oracles, in
    solvers that call many oracles at one w.

    Raises:
        ValueError: the problem's structure does not offer the oracle that the solver needs.
    """
    learner: Learner = parameters.learner(parameters, problem, weights)
    learner.n_threads = n_threads
    return learner


def run_epoch(learner: Learner, rng: np.random.Generator, examples: np.ndarray | None = None) -> Progress:
    """Run one epoch and return its figures.

    rng: draws the order in which all examples are visited, and random numbers for the solver. examples: int64, the
    examples to visit instead, in this order; batch solvers count each of them once.
    """
    learner.begin_epoch(rng)
    learner.visit(rng.permutation(learner.problem.n_examples) if examples is None else examples)
    learner.end_epoch()
    return learner.progress()


def fit(
    parameters: Parameters, problem: Problem, max_epochs: int, n_threads: int = 1
) -> tuple[Learner, Certificate | None]:
    """Learn until the solver's tolerance is reached or for `max_epochs` epochs.

    n_threads: as in `start`.

    Returns the learner, whose `prediction_weights` are the result, and its final certificate, None for solvers without
    one.
    """
    learner = start(parameters, problem, n_threads=n_threads)
    rng = parameters.generator()
    for _ in range(max_epochs):
        run_epoch(learner, rng)
        if learner.done():
            break
    return learner, learner.certificate()
