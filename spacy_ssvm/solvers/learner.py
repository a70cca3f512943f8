"""What every solver offers to those who drive it: `fit` and the pipeline components."""

import importlib
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .certificate import Certificate
from .parameters import Parameters
from .planes import plane_buffer
from .problem import Kind, Problem


class Progress(NamedTuple):
    """Figures of an epoch so far, or of a whole one.

    loss: Σ of what each visit suffered before its update: ξ_i, L_{β,γ} in that family, or Δ(y_i, ŷ) for the perceptron.
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


class Learner(ABC):
    """A solver at work on a problem: its weights, and whatever it remembers of each example.

    parameters: the solver's parameters.
    problem: what is learnt; `extend` replaces it by a larger one.
    weights: where to start, float64 [d]; zeros by default.
    """

    growing: ClassVar[tuple[str, ...]] = ()
    """Its arrays, and lists and tuples of them, whose shapes change as it learns; `check` has to look at them."""

    def __init__(self, parameters: Parameters, problem: Problem, weights: np.ndarray | None = None) -> None:
        self.parameters = parameters
        problem.oracle(self.needs)
        self.problem = problem
        self.w = np.zeros(problem.dimension) if weights is None else np.array(weights, np.float64)
        self.uncertified = False
        """Whether w is made of examples that it remembers no longer: no objective can be told from then on."""
        self.buffer = plane_buffer(problem.largest(self.needs))
        self.loss = 0.0

    @property
    def needs(self) -> Kind:
        """The oracle that it learns from, which may depend on its parameters."""
        return "max"

    def begin_epoch(self, rng: np.random.Generator) -> None:
        """What the solver does before the first oracle call of an epoch."""
        self.loss = 0.0

    @abstractmethod
    def visit(self, examples: np.ndarray) -> None:
        """Call the oracle of each of these examples (int64), in this order, and learn from it."""

    def end_epoch(self) -> None:
        """What the solver does after the last oracle call of an epoch."""
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

        Returns False, and changes nothing, where what is learnt so far would have an influence: then start anew.
        """
        return False

    def extend(self, problem: Problem) -> None:
        """Go on with a problem that has more examples or, appended, more weights."""
        self.problem = problem
        self.w = self.grown(self.w)
        self.buffer = plane_buffer(problem.largest(self.needs))

    def remove(self, examples: np.ndarray) -> None:
        """Undo what the dual variables of these examples (int64) contribute to w, and forget them."""
        return None

    def forget(self, examples: np.ndarray) -> None:
        """Drop all memory of these examples (int64); w stays as it is."""
        return None

    def compact(self) -> None:
        """Give up room that nothing needs; what is learnt stays the same."""
        return None

    def check(self) -> None:
        """Check what was read from a file into its `growing` arrays.

        Raises:
            ValueError: they do not fit together, or to the problem.
        """
        return None

    def grown(self, array: np.ndarray) -> np.ndarray:
        """`array` float64 [old d] with zeros appended up to the present dimension."""
        missing = self.problem.dimension - len(array)
        return np.concatenate([array, np.zeros(missing)]) if missing else array


def start(parameters: Parameters, problem: Problem, weights: np.ndarray | None = None) -> Learner:
    """The learner that these parameters name, at w = weights (float64 [d]) or at zero.

    Raises:
        ValueError: the problem's structure does not offer the oracle that the solver needs.
    """
    module, name = parameters.learner.split(":")
    learner: Learner = getattr(importlib.import_module(module), name)(parameters, problem, weights)
    return learner
