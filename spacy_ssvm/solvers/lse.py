"""The base of the two solvers of the LSE-SSVM: its working sets, its oracles, and its two loops (LSE-SSVM paper)."""

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from ..kernels import kernel
from .dual import DualLearner
from .learner import Progress
from .oracle_pass import add_slack
from .parameters import Lse, Parameters
from .planes import dot, find_planes, kbest_buffer, take_plane
from .problem import Problem
from .state import Field
from .working_set import NONE, add, is_plane, plane_axpy, plane_dot

OUTSIDE, GAP = 0, 1
"""Figures of an epoch: the largest g found outside the working sets; the gap over them, if need be an estimate."""

NOISE = 1e-9
"""A plane enters a working set when g is more than this: at the optimum many g are 0 but for rounding."""


@kernel
def _match(planes, example, plane, size, loss, matched):
    """Match the plane in `plane` with an equal one of V_i that is not matched yet, if there is one; whether there is.

    Two structures may have equal planes: each plane of V_i stands for one structure.
    """
    place, p = 0, planes.head[example]
    while p != NONE:
        if not matched[place] and is_plane(planes, p, plane, size, loss):
            matched[place] = True
            return True
        place, p = place + 1, planes.next[p]
    return False


@kernel
def _count(planes, example, weights):
    """The number of planes of the example, and of those that are violated."""
    known, violated = 0, 0
    p = planes.head[example]
    while p != NONE:
        known += 1
        if planes.loss[p] - plane_dot(weights, planes, p) > 0.0:
            violated += 1
        p = planes.next[p]
    return known, violated


@kernel
def _find_outside(oracle, data, example, weights, k, matched, planes, plane):
    """Write the best of the k best structures that is violated and not in V_i into `plane`.

    Returns its size, loss and g, with size −1 if there is none; the g of the best structure; and whether there may be
    one among more than k.
    """
    best = kbest_buffer(k, len(plane.indices))
    found = find_planes(oracle, data, example, weights, 1.0, k, best, plane)
    matched[:] = False
    slack = 0.0
    for j in range(found):
        size, loss = take_plane(best, j, plane)
        g = loss - dot(weights, plane.indices, plane.values, size)
        slack = max(slack, g)
        if g <= NOISE:
            return -1, 0.0, 0.0, slack, False
        if not _match(planes, example, plane, size, loss, matched):
            return size, loss, g, slack, False
    return -1, 0.0, 0.0, slack, found == k


@kernel
def add_best(oracle, data, example, weights, outside, figures, sums, planes, plane):
    """Add the best structure, with `outside` the best that is not in V_i, to V_i if it is violated and not in V_i.

    The structures better than the best violated one outside V_i are violated ones of V_i, in most cases none: k grows
    until that one is found, or k is more than these. Counts ξ_i in `sums`.
    """
    known, violated = _count(planes, example, weights)
    matched = np.zeros(known, np.bool_)
    k, max_k = 1, violated + 1 if outside else 1
    while True:
        size, loss, g, slack, undecided = _find_outside(oracle, data, example, weights, k, matched, planes, plane)
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
        while p != NONE:
            g = planes.loss[p] - plane_dot(weights, planes, p)
            gap += C * max(0.0, g) - planes.alpha[p] * g
            linear += planes.alpha[p] * planes.loss[p]
            p = planes.next[p]
    return gap, linear


class LseLearner(DualLearner):
    """½‖w‖² + C Σ_i Σ_y max(0, g_i(y)): dual variables 0 ≤ α ≤ C of all y ∈ V_i; w = w₀ + Σ α ΔΦ.

    The primal objective sums over all structures, which no solver can: there is the dual, and no certificate.
    """

    needs = "kbest"
    parameters: Lse
    STATE: ClassVar[tuple[Field, ...]] = (Field("epochs"), Field("figures"))

    def __init__(self, parameters: Parameters, problem: Problem, weights: np.ndarray | None = None) -> None:
        super().__init__(parameters, problem, weights)
        self.epochs = 0
        self.figures = np.zeros(2)

    def begin_epoch(self, rng: np.random.Generator) -> None:
        """The two-loop heuristic: after κ₁ epochs, κ₂ − 1 passes without oracle calls come first."""
        super().begin_epoch(rng)
        if self.epochs >= self.parameters.kappa1:
            for _ in range(self.parameters.kappa2 - 1):
                self._inner_pass(rng)
        self.epochs += 1
        self.figures[:] = 0.0

    @abstractmethod
    def _inner_pass(self, rng: np.random.Generator) -> None:
        """A type-II loop: solve over the working sets as they are."""

    def progress(self) -> Progress:
        outside = float(self.figures[OUTSIDE]) if self.parameters.oracle == "outside" else None
        dual = None if self.has_forgotten else float(self._dual_sums()[0] - self._regulariser(self.w)[1])
        return Progress(self.loss, None, dual, self._count(), outside)

    def done(self) -> bool:
        """Whether the gap over the working sets is within the tolerance: as summed in the epoch, then at this w."""
        dual, tolerance = self.progress().dual, self.parameters.tolerance
        if dual is None or self.figures[GAP] > tolerance * (dual + self.figures[GAP]):
            return False
        gap, _ = self._working_gap()
        return gap <= tolerance * (dual + gap)

    def _working_gap(self) -> tuple[float, float]:
        return _working_gap(self.planes, self.w, self.parameters.C)


@kernel
def _solve(example, weights, C, planes):
    """Lines 16 to 21: one pass over the example's dual variables, equations IV.6 and IV.7.

    Returns Σ_y C max(0, g) − αg, each as it was before its own step.
    """
    gap = 0.0
    p = planes.head[example]
    while p != NONE:
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
def _oracle_pass(oracle, data, examples, weights, C, outside, figures, sums, planes, plane):
    """A type-I loop, lines 8 to 25."""
    for example in examples:
        add_best(oracle, data, example, weights, outside, figures, sums, planes, plane)
        figures[GAP] += _solve(example, weights, C, planes)


class LseSdcdLearner(LseLearner):
    """D = Σ αΔ − ½‖w‖² by coordinate steps α ← clip(α + g / ‖ΔΦ‖², 0, C)."""

    def visit(self, examples: np.ndarray) -> None:
        outside = self.parameters.oracle == "outside"
        self._run(_oracle_pass, examples, self.w, self.parameters.C, outside, self.figures, kind="kbest")

    def _inner_pass(self, rng: np.random.Generator) -> None:
        _inner_pass(rng.permutation(self.problem.n_examples), self.w, self.parameters.C, self.planes)
