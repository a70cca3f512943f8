"""The LSE-SSVM (LSE-SSVM paper): dual coordinate descent, and 1-slack cutting planes (algorithm 1).

The two solvers share working sets, oracles and the two loops.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ..kernels import kernel
from . import working_set
from .certificate import Slacks
from .dual import NEGLIGIBLE_GAP, DualLearner
from .learner import NO_EXAMPLES, Certificate, Progress
from .oracle_pass import add_slack
from .pairs import smo
from .parameters import TwoLoopParameters
from .planes import dot, find_planes, kbest_buffer, take_plane
from .problem import Problem
from .state import Field
from .working_set import N_PLANES, NO_PLANE, WorkingSet, add, is_plane, plane_axpy, plane_dot


@dataclass(frozen=True, kw_only=True)
class Lse(TwoLoopParameters):
    """The parameters of both solvers of the LSE-SSVM.

    C: weight of the loss, which counts every violated structure: good values are smaller than with other solvers.
    tolerance: training is complete when the gap over the structures in the working sets, relative to their primal
        objective, is at most this. The gap over all structures is larger and unknown; as an epoch adds at most one
        structure per example, it is several times larger if there are few epochs.
    oracle: "outside", the best structure that is not in the working set yet; or "printed", the best of all, as in the
        LSE-SSVM paper: once it is in the working set, nothing new enters, and training stops short of the optimum.
    """

    C: float = 0.01
    oracle: Literal["outside", "printed"] = "outside"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.oracle not in ("outside", "printed"):
            raise ValueError(f'solver.oracle must be "outside" or "printed", not {self.oracle!r}')


@dataclass(frozen=True, kw_only=True)
class LseSdcd(Lse):
    """Sequential dual coordinate descent on the LSE-SSVM (LSE-SSVM paper, algorithm 2); parameters as for both."""


@dataclass(frozen=True, kw_only=True)
class LseCuttingPlane(Lse):
    """1-slack cutting planes on the LSE-SSVM (LSE-SSVM paper, algorithm 1); parameters as for both."""


OUTSIDE, GAP = 0, 1
"""Positions in `figures`: the largest g found outside the working sets; the gap over the working sets, in SDCD summed
while w moves."""

CUT_REDUCTION = 0.1
"""The programme over the cuts is solved until its gap is this fraction of the gap before the newest cut."""


class LseLearner(DualLearner):
    """Learner for ½‖w‖² + C Σ_i Σ_y max(0, g_i(y)): all y ∈ V_i have dual variables 0 ≤ α ≤ C; w = w₀ + Σ α ΔΦ.

    The primal objective is a sum over all structures, which no solver can compute, so there is a dual objective but no
    certificate.
    """

    needs = "kbest"
    parameters: Lse
    STATE: ClassVar[tuple[Field, ...]] = (Field("epochs"), Field("figures"))

    def __init__(self, parameters: Lse, problem: Problem, weights: np.ndarray | None = None) -> None:
        super().__init__(parameters, problem, weights)
        self.epochs = 0
        self.figures = np.zeros(2)

    def begin_epoch(self, rng: np.random.Generator) -> None:
        """The two-loop heuristic: after κ₁ epochs, each epoch begins with κ₂ − 1 passes without oracle calls."""
        super().begin_epoch(rng)
        if self.epochs >= self.parameters.kappa1:
            for _ in range(self.parameters.kappa2 - 1):
                self._inner_pass(rng)
        self.epochs += 1
        self.figures[:] = 0.0

    @abstractmethod
    def _inner_pass(self, rng: np.random.Generator) -> None:
        """A type-II loop: solve over the current working sets."""

    def retune(self, parameters: Any) -> bool:
        """Refuse with the printed oracle, whose result depends on all planes found so far."""
        if "printed" in (parameters.oracle, self.parameters.oracle):
            return False
        return super().retune(parameters)

    def progress(self) -> Progress:
        outside = float(self.figures[OUTSIDE]) if self.parameters.oracle == "outside" else None
        dual = None if self.has_forgotten else self.objectives(self.w, Slacks(0.0, 0.0)).dual
        return Progress(self.loss, None, dual, working_set.count(self.planes), outside)

    def certificate(self) -> Certificate | None:
        return None

    def done(self) -> bool:
        """Whether the gap over the working sets is within the tolerance: first the epoch's gap, then the gap at w.

        The gap over all structures is larger: each epoch adds at most one plane per example to the working sets.
        """
        dual, tolerance = self.progress().dual, self.parameters.tolerance
        if dual is None or self.figures[GAP] > tolerance * (dual + self.figures[GAP]):
            return False
        gap, _ = _working_gap(self.planes, self.w, self.parameters.C)
        return bool(gap <= tolerance * (dual + gap))


class LseSdcdLearner(LseLearner, of=LseSdcd):
    """D = Σ αΔ − ½‖w‖² by coordinate steps α ← clip(α + g / ‖ΔΦ‖², 0, C)."""

    def visit(self, examples: np.ndarray) -> None:
        outside, unit = self.parameters.oracle == "outside", self.problem.unit
        self.visit_by(_oracle_pass, examples, self.w, self.parameters.C, outside, unit, self.figures)

    def _inner_pass(self, rng: np.random.Generator) -> None:
        _inner_pass(rng.permutation(self.problem.n_examples), self.w, self.parameters.C, self.planes)


class LseCuttingPlaneLearner(LseLearner, of=LseCuttingPlane):
    """½‖w − w₀‖² + Cξ, ξ ≥ Σ_i Σ_{y ∈ S_i} g_i(y) for each cut (S_1 … S_n); α_i(y) = Σ of the α of the cuts with y.

    S_i = {y ∈ V_i : g_i(y) > 0} is computed anew for each cut; if it only grew, as printed in the paper, training would
    stop at once. A cut is stored as the numbers of its planes, so that an example can be removed from all cuts. It is
    dropped as soon as the programme over the cuts sets its α to 0.
    """

    STATE = (
        Field("w0"),
        Field("cuts", shape="c", end="p", dtype="int64"),
        Field("alpha", shape="c"),
        Field("linear", shape="c"),
        Field("gram", shape="cc"),
    )
    w0: np.ndarray

    def __init__(self, parameters: Lse, problem: Problem, weights: np.ndarray | None = None) -> None:
        super().__init__(parameters, problem, weights)
        self.w0 = self.w.copy()
        # The first cut is empty; its α is C minus the sum of the others.
        self.cuts = [np.zeros(0, np.int64)]
        self.alpha, self.linear, self.gram = np.full(1, self.parameters.C), np.zeros(1), np.zeros((1, 1))

    def visit(self, examples: np.ndarray) -> None:
        outside, unit = self.parameters.oracle == "outside", self.problem.unit
        self.visit_by(_find_planes, examples, self.w, outside, unit, self.figures)

    def end_epoch(self) -> None:
        self.figures[GAP] = self._cut()

    def _inner_pass(self, rng: np.random.Generator) -> None:
        self._cut()

    def _cut(self) -> float:
        """Lines 13 to 23, then line 7. Returns the gap over the working sets before the cut: C (Σ_{y ∈ S} g − ξ)."""
        gap, linear = _working_gap(self.planes, self.w, self.parameters.C)
        if gap > NEGLIGIBLE_GAP * linear:
            numbers = _numbers(self.planes, np.arange(self.problem.n_examples))
            violations = self.planes.loss[numbers] - _products(self.planes, numbers, self.w)
            self.cuts.append(numbers[violations > 0.0])
            row, its_linear = products_of_cut(self.planes, self.cuts, self.cuts[-1], self.w0)
            self.gram = np.block([[self.gram, row[:-1, None]], [row]])
            self.alpha, self.linear = np.append(self.alpha, 0.0), np.append(self.linear, its_linear)
            smo(self.gram, self.linear, self.alpha, CUT_REDUCTION * gap)
            kept = np.flatnonzero((self.alpha > 0.0) | (np.arange(len(self.alpha)) == 0))
            self.cuts = [self.cuts[k] for k in kept]
            self.alpha, self.linear, self.gram = self.alpha[kept], self.linear[kept], self.gram[np.ix_(kept, kept)]
            self._sum()
        return gap

    def _sum(self) -> None:
        """Set α_i(y) = Σ of the α of the cuts that contain y, and w accordingly."""
        self.planes.alpha[:] = 0.0
        for alpha, cut in zip(self.alpha, self.cuts):
            self.planes.alpha[cut] += alpha
        self.w = self.w0.copy()
        working_set.weighted_sum(self.planes, self.w)

    def retune(self, parameters: Any) -> bool:
        scale = min(1.0, parameters.C / self.parameters.C)
        if not super().retune(parameters):
            return False
        self.alpha *= scale
        self.alpha[0] = parameters.C - self.alpha[1:].sum()
        self._sum()
        return True

    def change(self, problem: Problem, dropped: np.ndarray = NO_EXAMPLES, subtracts: bool = True) -> None:
        """Remove the planes of dropped examples from all cuts, and recompute the cuts' products."""
        removed = _numbers(self.planes, dropped)
        if not subtracts:
            rest = self.w.copy()
            working_set.remove_all(self.planes, dropped, rest)
            self.w0 += self.w - rest
        super().change(problem, dropped, subtracts)
        if not len(dropped):
            return
        is_kept = np.ones(len(self.planes.next), np.bool_)
        is_kept[removed] = False
        self.cuts = [cut[is_kept[cut]] for cut in self.cuts]
        products = [products_of_cut(self.planes, self.cuts, cut, self.w0) for cut in self.cuts]
        self.gram = np.array([row for row, _ in products])
        self.linear = np.array([linear for _, linear in products])
        # No other planes are ever dropped, so that the rest of the time these numbers stay.
        numbers = working_set.trim(self.planes)
        self.cuts = [numbers[cut] for cut in self.cuts]


def products_of_cut(
    planes: WorkingSet, cuts: list[np.ndarray], cut: np.ndarray, w0: np.ndarray
) -> tuple[np.ndarray, float]:
    """For p = Σ ΔΦ over a cut: pᵀp′ with the p′ of every cut, float64 [cuts], and Σ Δ − w₀ᵀp.

    Args:
        cuts, cut: the numbers of their planes, int64.
        w0: float64 [d].
    """
    p = np.zeros_like(w0)
    _add_planes(planes, cut, p)
    products = _products(planes, np.arange(len(planes.loss)), p)
    return np.array([products[other].sum() for other in cuts]), float(planes.loss[cut].sum() - w0 @ p)


MIN_VIOLATION = 1e-9
"""A plane enters a working set only if its g, in units of the loss, exceeds this: at the optimum many g are 0 up to
rounding."""


@kernel
def _match(planes, example, plane, size, loss, matched):
    """Match the plane in `plane` with an equal plane of V_i that is not matched yet. Returns whether there is one.

    Each plane of V_i stands for one structure, and several structures may have equal planes.

    Args:
        matched: bool [|V_i|], by position in the example's list, updated.
    """
    place, p = 0, planes.head[example]
    while p != NO_PLANE:
        if not matched[place] and is_plane(planes, p, plane, size, loss):
            matched[place] = True
            return True
        place, p = place + 1, planes.next[p]
    return False


@kernel
def _count(planes, example, weights):
    """The number of the example's planes, and of violated ones."""
    n_planes, violated = 0, 0
    p = planes.head[example]
    while p != NO_PLANE:
        n_planes += 1
        if planes.loss[p] - plane_dot(weights, planes, p) > 0.0:
            violated += 1
        p = planes.next[p]
    return n_planes, violated


@kernel
def _find_outside(oracle, data, example, weights, k, unit, matched, planes, plane):
    """Write the plane of the best violated structure outside V_i to `plane`, if it is among the k best structures.

    Returns its size, loss and g, with size −1 if there is none; ξ_i; and whether a larger k might find one.
    """
    best = kbest_buffer(k, len(plane.indices))
    n_planes = find_planes(oracle, data, example, weights, 1.0, k, best, plane)
    matched[:] = False
    slack = 0.0
    for j in range(n_planes):
        size, loss = take_plane(best, j, plane)
        g = loss - dot(weights, plane.indices, plane.values, size)
        slack = max(slack, g)
        if g <= MIN_VIOLATION * unit:
            return -1, 0.0, 0.0, slack, False
        if not _match(planes, example, plane, size, loss, matched):
            return size, loss, g, slack, False
    return -1, 0.0, 0.0, slack, n_planes == k


@kernel
def add_best(oracle, data, example, weights, outside, unit, figures, sums, planes, plane):
    """Add a violated structure to V_i: the best one outside V_i, or, without `outside`, the best one if it is outside.

    Every structure that is better than the best violated one outside V_i is a violated member of V_i. So k is doubled
    until that structure is found, and at most |violated members| + 1. Adds ξ_i to `sums`.
    """
    n_planes, violated = _count(planes, example, weights)
    matched = np.zeros(n_planes, np.bool_)
    k, max_k = 1, violated + 1 if outside else 1
    while True:
        size, loss, g, slack, undecided = _find_outside(oracle, data, example, weights, k, unit, matched, planes, plane)
        if not undecided or k == max_k:
            break
        k = min(2 * k, max_k)
    if size >= 0:
        add(planes, example, plane, size, loss)
        figures[OUTSIDE] = max(figures[OUTSIDE], g)
    add_slack(sums, slack)


@kernel
def _working_gap(planes, weights, C):
    """Σ C max(0, g) − αg over all working sets, and Σ αΔ."""
    gap, linear = 0.0, 0.0
    for example in range(len(planes.head)):
        p = planes.head[example]
        while p != NO_PLANE:
            g = planes.loss[p] - plane_dot(weights, planes, p)
            gap += C * max(0.0, g) - planes.alpha[p] * g
            linear += planes.alpha[p] * planes.loss[p]
            p = planes.next[p]
    return gap, linear


@kernel
def _solve(example, weights, C, planes):
    """Lines 16 to 21: one pass over the example's dual variables, equations IV.6 and IV.7.

    Returns Σ_y C max(0, g) − αg, each term before the step of its own α.
    """
    gap = 0.0
    p = planes.head[example]
    while p != NO_PLANE:
        g = planes.loss[p] - plane_dot(weights, planes, p)
        gap += C * max(0.0, g) - planes.alpha[p] * g
        if planes.norm[p] > 0.0:
            alpha = min(C, max(0.0, planes.alpha[p] + g / planes.norm[p]))
            if alpha != planes.alpha[p]:
                plane_axpy(weights, alpha - planes.alpha[p], planes, p)
                planes.alpha[p] = alpha
        elif g > 0.0:
            planes.alpha[p] = C
        p = planes.next[p]
    return gap


@kernel
def _inner_pass(examples, weights, C, planes):
    """A type-II loop."""
    for example in examples:
        _solve(example, weights, C, planes)


@kernel
def _oracle_pass(oracle, data, examples, weights, C, outside, unit, figures, sums, planes, plane):
    """A type-I loop, lines 8 to 25."""
    for example in examples:
        add_best(oracle, data, example, weights, outside, unit, figures, sums, planes, plane)
        figures[GAP] += _solve(example, weights, C, planes)


@kernel
def _find_planes(oracle, data, examples, weights, outside, unit, figures, sums, planes, plane):
    """Lines 8 to 12."""
    for example in examples:
        add_best(oracle, data, example, weights, outside, unit, figures, sums, planes, plane)


@kernel
def _numbers(planes, examples):
    """The numbers of the examples' planes, int64, in the order of the lists."""
    numbers, size = np.empty(planes.counts[N_PLANES], np.int64), 0
    for example in examples:
        p = planes.head[example]
        while p != NO_PLANE:
            numbers[size] = p
            size += 1
            p = planes.next[p]
    return numbers[:size]


@kernel
def _products(planes, numbers, weights):
    """wᵀΔΦ of each of the given planes, float64 [len(numbers)]."""
    products = np.empty(len(numbers))
    for k in range(len(numbers)):
        products[k] = plane_dot(weights, planes, numbers[k])
    return products


@kernel
def _add_planes(planes, numbers, weights):
    """weights += Σ ΔΦ of the given planes."""
    for p in numbers:
        plane_axpy(weights, 1.0, planes, p)
