"""Working sets of learners, and learners whose dual variables α determine w."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from ..growth import extended
from . import working_set
from .certificate import Slacks, is_done, objectives, slacks
from .learner import NO_EXAMPLES, Certificate, Learner, Progress, run_epoch
from .oracle_pass import assert_oracles_are_maximal, collect, find_all
from .parameters import DualParameters
from .planes import plane_buffer
from .problem import Kind, Problem, call
from .state import Field
from .working_set import WorkingSet

NEGLIGIBLE_GAP = 1e-10
"""A gap over the working sets below this fraction of Σ αΔ is not reduced further."""

MIN_PART, MAX_PART = 64, 1024
"""Number of examples per kernel call; fewer than MIN_PART only where these might add more than PART_CODES."""

PART_CODES = 1 << 21
"""Codes (2 bytes each) reserved before a kernel call; more only where a single example needs more."""


def visit_each(
    kernel: Any,
    problem: Problem,
    planes: WorkingSet,
    examples: np.ndarray,
    *arguments: Any,
    max_entries: Callable[[np.ndarray], np.ndarray] | None = None,
    kind: Kind = "max",
) -> Slacks:
    """Visit examples, int64, with kernel(oracle, data, examples, *arguments, sums, planes, plane), part by part.

    The kernel adds at most one plane for each visit, and adds Σ ξ and Σ ξ² to `sums`; these are returned.

    Args:
        max_entries: (examples int64) → upper bounds, int64, of the numbers of entries that each visit to them adds; the
            problem's `plane_entries` by default.
    """
    sums, plane = np.zeros(2), plane_buffer(problem.max_plane_entries)
    for part in _parts(planes, examples, max_entries or problem.plane_entries.__getitem__):
        call(kernel, problem, part, *arguments, sums, planes, plane, kind=kind)
    return Slacks(*sums.tolist())


def _parts(
    planes: WorkingSet, examples: np.ndarray, max_entries: Callable[[np.ndarray], np.ndarray]
) -> Iterator[np.ndarray]:
    """Split the examples into parts, in order; before each part, room is made for the planes of all its visits."""
    while len(examples):
        codes = np.cumsum(working_set.max_codes(max_entries(examples[:MAX_PART])))
        min_size = max(1, int(np.searchsorted(codes[:MIN_PART], PART_CODES, "right")))
        _make_room(planes, min_size, int(codes[min_size - 1]))
        size = int(np.searchsorted(codes, working_set.free_codes(planes), "right"))
        size = min(size, working_set.free_planes(planes))
        yield examples[:size]
        examples = examples[size:]


def _make_room(planes: WorkingSet, n_planes: int, n_codes: int) -> None:
    if working_set.free_planes(planes) < n_planes or working_set.free_codes(planes) < n_codes:
        working_set.make_room(planes, n_planes, n_codes)


def collect_planes(
    problem: Problem,
    weights: np.ndarray,
    planes: WorkingSet,
    examples: np.ndarray,
    sums: Slacks,
    C: float = np.inf,
    delta: float = 0.0,
    n_threads: int = 1,
) -> Slacks:
    """Call the oracles of these examples, int64, at w, float64 [d]; planes violated by more than delta are kept.

    Args:
        C: of the L2-loss; ∞ with the L1-loss. Returns `sums` and the slacks of these examples.
    """
    totals, plane = np.array(sums), plane_buffer(problem.max_plane_entries)
    for part, found in find_all(problem, weights, examples, n_threads):
        _make_room(planes, len(part), int(working_set.max_codes(np.diff(found.starts)).sum()))
        collect(part, found, C, delta, totals, planes, plane)
    return Slacks(*totals.tolist())


class DualLearner(Learner):
    """A learner of Ω(w) + C Σ ξ_i^power whose dual variables α determine w through s = s₀ + Σ α ΔΦ.

    s₀ belongs to the initial w₀. For the penalty ½‖w‖², w = s, and the regulariser is ½‖w − w₀‖²: w₀ᵀΔΦ is part of each
    plane's loss, and the solver learns w − w₀. For other penalties it is Ω(w) − Ω(w₀) − s₀ᵀ(w − w₀), which is also
    minimal at w₀.
    """

    parameters: DualParameters
    STATE: ClassVar[tuple[Field, ...]] = (
        working_set.PLANES,
        Field("squares"),
        Field("w0", like="w"),
        Field("has_forgotten"),
    )
    keeps_planes = False
    """Whether planes whose α becomes 0 in an epoch stay in the working set, until the caller drops them."""

    def __init__(self, parameters: DualParameters, problem: Problem, weights: np.ndarray | None = None) -> None:
        super().__init__(parameters, problem, weights)
        self.planes = working_set.empty(problem.n_examples)
        self.squares = 0.0
        """Σ ξ_i² of the visits since `begin_epoch`."""
        self.w0 = None if weights is None else self.w.copy()
        self.has_forgotten = False
        """Whether w includes contributions of forgotten examples, so that no objective can be computed."""

    def begin_epoch(self, rng: np.random.Generator) -> None:
        super().begin_epoch(rng)
        self.squares = 0.0
        if self.parameters.check_oracle:
            assert_oracles_are_maximal(self.problem, self.w, self.planes, self.n_threads)

    def scaled_epoch(self, rng: np.random.Generator, factor: float) -> None:
        """Run an epoch with factor · C for C and factor · α for α, which remains scaled; no tolerance ends it."""
        parameters, alpha = self.parameters, self.planes.alpha
        alpha *= factor
        self.parameters = replace(parameters, C=factor * parameters.C, tolerance=0.0)
        run_epoch(self, rng)
        self.parameters = parameters

    def visit_by(
        self,
        kernel: Any,
        examples: np.ndarray,
        *arguments: Any,
        max_entries: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> None:
        """Visit the examples by a kernel, as `visit_each`, and add up their slacks."""
        planes, kind = self.planes, self.needs
        found = visit_each(kernel, self.problem, planes, examples, *arguments, max_entries=max_entries, kind=kind)
        self.loss += found.sum
        self.squares += found.squares

    def progress(self) -> Progress:
        found = self.objectives(self.prediction_weights(), Slacks(self.loss, self.squares))
        dual = None if self.has_forgotten else found.dual
        return Progress(self.loss, found.primal, dual, working_set.count(self.planes))

    def certificate(self) -> Certificate | None:
        """Primal and dual at w as recomputed from the planes; the learner does not change.

        None where decoding is not exact, or after examples have been forgotten.
        """
        if self.has_forgotten or not self.problem.exact:
            return None
        w = self.summed()
        return self.objectives(w, slacks(self.problem, w, n_threads=self.n_threads))

    def done(self) -> bool:
        return is_done(self.progress(), self.certificate, self.parameters.tolerance)

    def objectives(self, w: np.ndarray, slack_sums: Slacks) -> Certificate:
        """Primal and dual at w, float64 [d], given the slacks there and the current α."""
        penalty, named = self.parameters.penalty, self.problem.named(w)
        primal, conjugate = penalty.values(named, self.n_threads)
        if self.w0 is not None:
            at_start = penalty.values(self.problem.named(self.w0), self.n_threads)[1]
            primal, conjugate = primal + at_start - float(penalty.point(self.w0) @ w), conjugate - at_start
        p = self.parameters
        return objectives(p.C, p.power, (primal, conjugate), slack_sums, self.dual_sums())

    def retune(self, parameters: Any) -> bool:
        """Keep the dual variables, scaled down to the bounds of the new C."""
        if self.has_forgotten:
            return False
        alpha = self.planes.alpha
        alpha *= min(1.0, parameters.C / self.parameters.C)
        self.parameters = parameters
        self.move_to(self.dual_point())
        return True

    def change(self, problem: Problem, dropped: np.ndarray = NO_EXAMPLES, subtracts: bool = True) -> None:
        if subtracts:
            s = self.point
            working_set.remove_all(self.planes, dropped, s)
            if len(dropped):
                self.move_to(s)
        else:
            working_set.forget_all(self.planes, dropped)
            self.has_forgotten = True
        super().change(problem)
        self.w0 = None if self.w0 is None else extended(self.w0, problem.dimension)
        self.planes = working_set.resized(self.planes, problem.n_examples)

    def state(self) -> dict[str, Any]:
        working_set.trim(self.planes)
        return super().state()

    @property
    def point(self) -> np.ndarray:
        """The dual point s, float64 [d], not a copy."""
        return self.w

    def move_to(self, point: np.ndarray) -> None:
        """Continue from another dual point s, float64 [d], now the learner's own, and the w that belongs to it; α
        stays.
        """
        self.w = point

    def dual_point(self) -> np.ndarray:
        """s = s₀ + Σ α ΔΦ, float64 [d], without the rounding errors of many small steps."""
        s = np.zeros(self.problem.dimension) if self.w0 is None else self.parameters.penalty.point(self.w0)
        working_set.weighted_sum(self.planes, s)
        return s

    def dual_sums(self) -> tuple[float, float]:
        """Σ αΔ and Σ_i (Σ_y α_i(y))²."""
        return working_set.dual_sums(self.planes)

    def summed(self) -> np.ndarray:
        """The weights to predict with, recomputed from the planes, float64 [d]."""
        return self.parameters.penalty.weights(self.dual_point())
