"""The interface of all solvers: what a learner offers to the loops that drive it, and its state as plain values.

A class lists in `STATE` the attributes that it adds to the state of its base classes. Scratch space, and whatever
follows from the problem and the parameters, is not part of the state: another learner goes on from it exactly.
"""

import importlib
import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .parameters import Parameters
from .planes import plane_buffer
from .problem import Kind, Problem


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


class Progress(NamedTuple):
    """Figures of an epoch so far, or of a whole one.

    loss: Σ of the loss of each visit before its update: ξ_i, L_{β,γ} in that family, or Δ(y_i, ŷ) for the perceptron.
    primal: running estimate of the primal objective, summed while w moves; None without such an objective.
    dual: the dual objective, None for solvers without a dual.
    planes: size of all working sets; None for solvers without.
    outside: where the primal objective cannot be computed, the largest violation g found outside the working sets.
    """

    loss: float
    primal: float | None
    dual: float | None
    planes: int | None
    outside: float | None = None


class Certificate(NamedTuple):
    """Objective values at one frozen w, summed over examples, without 1/n; gap = primal − dual ≥ 0 up to rounding."""

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
    """A solver at work on a problem: its weights, and whatever it remembers of each example.

    parameters: the solver's parameters.
    problem: the examples to learn; `extend` replaces it by a larger one.
    weights: where to start, float64 [d]; zeros by default.

    Raises:
        ValueError: the problem's structure does not offer the oracle that the solver needs.
    """

    STATE: ClassVar[tuple[Field, ...]] = (Field("w"), Field("loss"))
    """The attributes that `state` returns, besides those of the base classes."""

    n_threads = 1
    """How many threads call oracles, in solvers that call them at one w; it changes weights by rounding at most."""

    def __init__(self, parameters: Parameters, problem: Problem, weights: np.ndarray | None = None) -> None:
        self.parameters = parameters
        problem.oracle(self.needs)
        self.problem = problem
        self.w = np.zeros(problem.dimension) if weights is None else np.array(weights, np.float64)
        self.buffer = plane_buffer(problem.max_entries(self.needs))
        self.loss = 0.0

    @property
    def needs(self) -> Kind:
        """The oracle that it learns from, which may depend on its parameters."""
        return "max"

    def begin_epoch(self, rng: np.random.Generator) -> None:
        """Start an epoch: all that the solver does before its first oracle call."""
        self.loss = 0.0

    @abstractmethod
    def visit(self, examples: np.ndarray) -> None:
        """Call the oracle of each of these examples (int64), in this order, and learn from it."""

    def end_epoch(self) -> None:
        """End an epoch: all that the solver does after its last oracle call."""
        return None

    def prediction_weights(self) -> np.ndarray:
        """The weights to predict with, float64 [d]; not to be written to."""
        return self.w

    @abstractmethod
    def progress(self) -> Progress:
        """Figures since `begin_epoch`, cheap to compute."""

    def certificate(self) -> Certificate | None:
        """Primal and dual at the present w: one pass over all oracles. None where there is no certificate."""
        return None

    def done(self) -> bool:
        """Whether the solver has reached its tolerance; asked at the end of an epoch."""
        return False

    def retune(self, parameters: Any) -> bool:
        """Go on with other parameters of the same class, to the same result as if they had been there from the start.

        Returns False, and changes nothing, where earlier epochs would influence the result: then start anew.
        """
        return False

    def extend(self, problem: Problem) -> None:
        """Go on with a problem that has more examples or, appended, more weights."""
        self.problem = problem
        self.w = self.grown(self.w)
        self.buffer = plane_buffer(problem.max_entries(self.needs))

    def remove(self, examples: np.ndarray) -> None:
        """Undo the contribution of these examples' dual variables to w, and forget them. examples: int64."""
        return None

    def forget(self, examples: np.ndarray) -> None:
        """Drop all memory of these examples (int64); w stays as it is."""
        return None

    def state(self) -> dict[str, Any]:
        """All that the learner remembers, for `restore`: numbers, arrays, lists and dicts of arrays, and None, by name.

        Arrays are not copied: the state has to be written down before the learner goes on.
        """
        self.compact()
        return {field.name: plain(getattr(self, field.name)) for field in fields_of(type(self))}

    def restore(self, state: dict[str, Any], rng: np.random.Generator) -> None:
        """Go on from the state of another learner with the same parameters and problem.

        state: as `state` has returned it, from a file that may hold anything. rng: the generator that training draws
        from.

        Raises:
            ValueError: this is not a state of such a learner, or not one of this problem.
        """
        fields = fields_of(type(self))
        if set(state) != {field.name for field in fields}:
            raise ValueError(f"a {type(self).__name__} remembers other things")
        for field in fields:
            setattr(self, field.name, restored(self, field, state[field.name]))
        self.check()

    def compact(self) -> None:
        """Release memory that is not in use; the state stays the same."""
        return None

    def check(self) -> None:
        """Check the fields that grow, after they were read from a file.

        Raises:
            ValueError: they do not fit together, or to the problem.
        """
        return None

    def grown(self, array: np.ndarray) -> np.ndarray:
        """`array` float64 [old d] with zeros appended up to the present dimension."""
        missing = self.problem.dimension - len(array)
        return np.concatenate([array, np.zeros(missing)]) if missing else array


def start(parameters: Parameters, problem: Problem, weights: np.ndarray | None = None, n_threads: int = 1) -> Learner:
    """The learner that these parameters name.

    weights: where to start, float64 [d]; zeros by default. n_threads: how many threads call oracles, in solvers that
    call them at one w.

    Raises:
        ValueError: the problem's structure does not offer the oracle that the solver needs.
    """
    module, name = parameters.learner.split(":")
    learner: Learner = getattr(importlib.import_module(module), name)(parameters, problem, weights)
    learner.n_threads = n_threads
    return learner


def run_epoch(learner: Learner, rng: np.random.Generator, examples: np.ndarray | None = None) -> Progress:
    """Run one epoch and return its figures.

    rng: draws the order in which all examples are visited, and whatever the solver needs. examples: int64, visited in
    this order instead.
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

    Returns the learner, whose `prediction_weights` are the result, and its certificate at the end, None for solvers
    without.
    """
    learner = start(parameters, problem, n_threads=n_threads)
    rng = np.random.default_rng(parameters.seed)
    for _ in range(max_epochs):
        run_epoch(learner, rng)
        if learner.done():
            break
    return learner, learner.certificate()
