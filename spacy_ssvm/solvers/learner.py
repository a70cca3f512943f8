"""The interface of all solvers: the methods that the training loop calls, and a learner's state as plain values.

A learner restored from a state continues exactly as the original one does.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..growth import extended
from .parameters import Parameters
from .problem import Kind, Problem
from .state import Field, restored, saved

NO_EXAMPLES = np.zeros(0, np.int64)


class Progress(NamedTuple):
    """Figures of a finished epoch, or of the current one so far.

    Attributes:
        loss: Σ of the loss of each visit before its update: ξ_i, L_{β,γ} in that family, or Δ(y_i, ŷ) for the
            perceptron.
        primal: running estimate of the primal objective, whose losses are summed while w moves; exact in solvers that
            move w between epochs only; None for solvers without such an objective.
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
    """A solver working on a problem: its weights, and its memory of each example.

    Args:
        parameters: the solver's parameters.
        problem: the examples to learn from; `change` replaces it.
        weights: initial weights, float64 [d]; zeros by default.

    Raises:
        ValueError: the problem's structure does not offer the oracle that the solver needs.
    """

    STATE: ClassVar[tuple[Field, ...]] = (Field("w"), Field("loss"))
    """The attributes that `state` returns, in addition to the base classes'."""

    n_threads = 1
    """The number of threads that call oracles, in solvers that call many oracles at one w.

    It changes weights by rounding at most, and in L-BFGS only.
    """

    def __init_subclass__(cls, of: type[Parameters] | None = None) -> None:
        """Make the class the `learner` of these parameters."""
        if of is not None:
            of.learner = cls

    def __init__(self, parameters: Parameters, problem: Problem, weights: np.ndarray | None = None) -> None:
        self.parameters = parameters
        self.problem = problem
        problem.oracles(self.needs)
        self.w = np.zeros(problem.dimension) if weights is None else np.array(weights, np.float64)
        self.loss = 0.0

    @property
    def needs(self) -> Kind:
        """The kind of oracle that the solver learns from, which may depend on its parameters."""
        return "max"

    def begin_epoch(self, rng: np.random.Generator) -> None:
        """Start an epoch: everything the solver does before its first oracle call.

        A stream is one epoch without an end that the learner knows of: this is called once, `end_epoch` after each
        batch. After `retune` in an epoch, it is called again.
        """
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

    def progress(self) -> Progress:
        """Figures since `begin_epoch`, cheap to compute; by default without objectives."""
        return Progress(self.loss, None, None, None)

    def certificate(self) -> Certificate | None:
        """Primal and dual at the current w: one pass over all oracles. None where there is no certificate."""
        return None

    def done(self) -> bool:
        """Whether the solver has reached its tolerance; called at the end of an epoch."""
        return False

    def retune(self, parameters: Any) -> bool:
        """Continue with other parameters of the same class, towards the optimum that these have from the start.

        Returns:
            False, and changes nothing, where the earlier epochs would lead elsewhere: a new learner is needed then.
        """
        return False

    def change(self, problem: Problem, dropped: np.ndarray = NO_EXAMPLES, subtracts: bool = True) -> None:
        """Drop all memory of some examples, then continue with a problem to which examples or weights were appended.

        problem: the new problem; the same one if only examples are dropped.
        dropped: int64, the numbers of examples that change or leave, or have done so in the new problem.
        subtracts: whether the contributions of dropped examples' dual variables to w are subtracted. Otherwise w does
            not change, and there are no objectives from then on.

        By default nothing is dropped, as a learner that keeps nothing of each example has nothing to drop.
        """
        self.problem = problem
        self.w = extended(self.w, problem.dimension)

    def state(self) -> dict[str, Any]:
        """The learner's state for `restore`, by name: numbers, arrays, lists and dicts of arrays, and None.

        Arrays are not copied: serialise the state before the learner continues.

        Raises:
            ValueError: a number is not finite, so that `restore` would refuse it.
        """
        return saved(self, {"n": self.problem.n_examples, "d": self.problem.dimension})

    def restore(self, state: dict[str, Any], rng: np.random.Generator) -> None:
        """Continue from the state of another learner with the same parameters and problem.

        Args:
            state: as returned by `state`, but from a file that may hold anything.
            rng: the random generator of training.

        Raises:
            ValueError: this is not a state of such a learner, or not one of this problem.
        """
        values = restored(self, state, {"n": self.problem.n_examples, "d": self.problem.dimension})
        for field, value in values.items():
            setattr(field.owner(self), field.name, value)


def start(parameters: Parameters, problem: Problem, weights: np.ndarray | None = None, n_threads: int = 1) -> Learner:
    """The learner that these parameters name.

    Args:
        weights: initial weights, float64 [d]; zeros by default.
        n_threads: the number of threads that call oracles, in solvers that call many oracles at one w.

    Raises:
        ValueError: the problem's structure does not offer the oracle that the solver needs.
    """
    learner: Learner = parameters.learner(parameters, problem, weights)
    learner.n_threads = n_threads
    return learner


def run_epoch(learner: Learner, rng: np.random.Generator, examples: np.ndarray | None = None) -> Progress:
    """Run one epoch and return its figures.

    Args:
        rng: draws the order in which all examples are visited, and random numbers for the solver.
        examples: int64, the examples to visit instead, in this order; batch solvers count each of them once.
    """
    learner.begin_epoch(rng)
    learner.visit(rng.permutation(learner.problem.n_examples) if examples is None else examples)
    learner.end_epoch()
    return learner.progress()


def fit(
    parameters: Parameters, problem: Problem, max_epochs: int, n_threads: int = 1
) -> tuple[Learner, Certificate | None]:
    """Learn until the solver's tolerance is reached or for `max_epochs` epochs.

    Args:
        n_threads: as in `start`.

    Returns:
        The learner, whose `prediction_weights` are the result, and its final certificate, None for solvers without one.
    """
    learner = start(parameters, problem, n_threads=n_threads)
    rng = parameters.generator()
    for _ in range(max_epochs):
        run_epoch(learner, rng)
        if learner.done():
            break
    return learner, learner.certificate()
