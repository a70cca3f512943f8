"""Learners that keep planes of each example: those that move w once per epoch, and those whose α determine w."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from . import working_set
from .learner import Field, Learner, Progress
from .oracle_pass import assert_oracles_are_maximal, collect, find_all
from .parameters import Parameters
from .problem import Kind, Problem, call
from .vectors import squared_distance

NEGLIGIBLE_GAP = 1e-10
"""A gap over the working sets is left as it is where it is below this fraction of Σ αΔ."""

MIN_PART, MAX_PART = 64, 1024
"""Number of examples per kernel call; fewer than MIN_PART only where these might add more than PART_CODES."""

PART_CODES = 1 << 21
"""Codes (2 bytes each) reserved before a kernel call; more only where a single example needs more."""


class WorkingSetLearner(Learner):
    """A learner that keeps a working set of planes for each example.

    Its parameters have `check_oracle`: before each epoch, assert that no stored plane is more violated than the plane
    that the oracle finds.
    """

    parameters: Any
    STATE: ClassVar[tuple[Field, ...]] = (Field("planes", grows=True), Field("squares"))

    def __init__(self, parameters: Parameters, problem: Problem, weights: np.ndarray | None = None) -> None:
        super().__init__(parameters, problem, weights)
        self.planes = working_set.empty(problem.n_examples)
        self.squares = 0.0

    def begin_epoch(self, rng: np.random.Generator) -> None:
        super().begin_epoch(rng)
        self.squares = 0.0
        if self.parameters.check_oracle:
            assert_oracles_are_maximal(self.problem, self.w, self.planes, self.n_threads)

    def extend(self, problem: Problem) -> None:
        super().extend(problem)
        self.planes = working_set.resized(self.planes, problem.n_examples)

    def forget(self, examples: np.ndarray) -> None:
        super().forget(examples)
        working_set.forget_all(self.planes, examples)

    def compact(self) -> None:
        self._renumber(working_set.trim(self.planes))

    def check(self) -> None:
        working_set.check(self.planes, self.problem.n_examples, self.problem.dimension)

    def _run(self, kernel: Any, examples: np.ndarray, *arguments: Any, kind: Kind = "max") -> None:
        """Visit the examples with kernel(oracle, data, examples, *arguments, sums, planes, plane), part by part.

        The kernel adds at most one plane for each visit, and adds Σ ξ and Σ ξ² to `sums`.
        """
        sums = np.zeros(2)
        for part in self._parts(examples):
            call(kernel, self.problem, part, *arguments, sums, self.planes, self.buffer, kind=kind)
        self.loss += float(sums[0])
        self.squares += float(sums[1])

    def _collect(self, examples: np.ndarray, C: float, delta: float) -> None:
        """Call the oracles at the current w; planes violated by more than delta join the working sets.

        C: that of the L2-loss; ∞ with the L1-loss.
        """
        sums = np.array([self.loss, self.squares])
        for part, planes in find_all(self.problem, self.w, examples, self.n_threads):
            self._make_room(len(part), int(working_set.max_codes(np.diff(planes.starts)).sum()))
            collect(part, planes, C, delta, sums, self.planes, self.buffer)
        self.loss, self.squares = sums.tolist()

    def _parts(self, examples: np.ndarray) -> Iterator[np.ndarray]:
        """Split the examples into parts, in order; before each part, room is made for the planes of all its visits."""
        while len(examples):
            codes = np.cumsum(working_set.max_codes(self._max_entries(examples[:MAX_PART])))
            min_size = max(1, int(np.searchsorted(codes[:MIN_PART], PART_CODES, "right")))
            self._make_room(min_size, int(codes[min_size - 1]))
            size = int(np.searchsorted(codes, working_set.free_codes(self.planes), "right"))
            size = min(size, working_set.free_planes(self.planes))
            yield examples[:size]
            examples = examples[size:]

    def _max_entries(self, examples: np.ndarray) -> np.ndarray:
        """An upper bound of the number of entries that each visit to these examples (int64) adds, int64."""
        return self.problem.plane_entries[examples]

    def _make_room(self, n_planes: int, n_codes: int) -> None:
        planes = self.planes
        if working_set.free_planes(planes) < n_planes or working_set.free_codes(planes) < n_codes:
            self._renumber(working_set.make_room(planes, n_planes, n_codes))

    def _renumber(self, new_numbers: np.ndarray) -> None:
        """Called when planes have been moved: plane p is now plane new_numbers[p]."""
        return None

    def _count(self) -> int:
        return working_set.count(self.planes)


class CollectingLearner(WorkingSetLearner):
    """A learner with the L1-loss that calls all oracles of an epoch at one w, and moves w at the end of the epoch.

    Its primal objective is that of the w at which the epoch called the oracles.
    """

    def __init__(self, parameters: Parameters, problem: Problem, weights: np.ndarray | None = None) -> None:
        super().__init__(parameters, problem, weights)
        self._primal: float | None = None
        """The primal at the w of the last finished epoch's oracle calls; not part of the state."""

    def begin_epoch(self, rng: np.random.Generator) -> None:
        super().begin_epoch(rng)
        self._primal = None

    def visit(self, examples: np.ndarray) -> None:
        self._collect(examples, np.inf, 0.0)

    def end_epoch(self) -> None:
        self._primal = self.progress().primal
        self._move()

    def progress(self) -> Progress:
        figures = self._figures()
        return figures if self._primal is None else figures._replace(primal=self._primal)

    @abstractmethod
    def _move(self) -> None:
        """Move w, given the planes found so far."""

    @abstractmethod
    def _figures(self) -> Progress:
        """Figures at the current w, the losses of the epoch's oracle calls included."""


class DualLearner(WorkingSetLearner):
    """A learner whose dual variables α determine w through s = s₀ + Σ α ΔΦ, where s₀ belongs to the initial w₀.

    In this class w = s, and the regulariser is ½‖w − w₀‖²: w₀ᵀΔΦ is part of each plane's loss, and the solver learns
    w − w₀. Subclasses with another penalty Ω have the regulariser Ω(w) − Ω(w₀) − s₀ᵀ(w − w₀), also minimal at w₀.
    """

    STATE: ClassVar[tuple[Field, ...]] = (Field("w0", like="w"), Field("has_forgotten"))
    keeps_planes = False
    """Whether planes whose α becomes 0 in an epoch stay in the working set, until the caller drops them."""

    def __init__(self, parameters: Parameters, problem: Problem, weights: np.ndarray | None = None) -> None:
        super().__init__(parameters, problem, weights)
        self.w0 = None if weights is None else self.w.copy()
        self.has_forgotten = False

    def retune(self, parameters: Any) -> bool:
        """Keep the dual variables, scaled down to the bounds of the new C."""
        if self.has_forgotten:
            return False
        alpha = self.planes.alpha
        alpha *= min(1.0, parameters.C / self.parameters.C)
        self.parameters = parameters
        self.w = self._dual_sum()
        return True

    def extend(self, problem: Problem) -> None:
        super().extend(problem)
        self.w0 = None if self.w0 is None else self.grown(self.w0)

    def remove(self, examples: np.ndarray) -> None:
        super().remove(examples)
        working_set.remove_all(self.planes, examples, self.w)

    def forget(self, examples: np.ndarray) -> None:
        super().forget(examples)
        self.has_forgotten = True

    @property
    def point(self) -> np.ndarray:
        """The dual point s, float64 [d], not a copy."""
        return self.w

    def move_to(self, point: np.ndarray) -> None:
        """Continue from another dual point s, float64 [d], and the w that belongs to it; α stays."""
        self.point[:] = point

    def _dual_sums(self) -> tuple[float, float]:
        return working_set.dual_sums(self.planes)

    def _summed(self) -> np.ndarray:
        return self._dual_sum()

    def _dual_sum(self) -> np.ndarray:
        """s = s₀ + Σ α ΔΦ, float64 [d]."""
        s = np.zeros(len(self.w)) if self.w0 is None else self._dual_point(self.w0)
        working_set.weighted_sum(self.planes, s)
        return s

    def _regulariser(self, w: np.ndarray) -> tuple[float, float]:
        penalty, conjugate = self._penalty(w)
        if self.w0 is None:
            return penalty, conjugate
        at_start = self._penalty(self.w0)[1]
        return penalty + at_start - float(self._dual_point(self.w0) @ w), conjugate - at_start

    def _penalty(self, w: np.ndarray) -> tuple[float, float]:
        """Ω(w), and Ω*(s) of the dual point s that w belongs to."""
        penalty = squared_distance(self.problem.named(w), n_threads=self.n_threads) / 2
        return penalty, penalty

    def _dual_point(self, w: np.ndarray) -> np.ndarray:
        """A dual point s that w belongs to, float64 [d], a copy."""
        return w.copy()
