"""The interface of all solvers: what a learner offers to the loops that drive it."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .parameters import Parameters
from .planes import plane_buffer
from .problem import Kind, Problem
from .state import Field, fields_of, plain, restored


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
