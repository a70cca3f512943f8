"""1-slack cutting planes for the LSE-SSVM (LSE-SSVM paper, algorithm 1)."""

from typing import Any

import numpy as np

from ..kernels import kernel
from . import working_set
from .lse import GAP, LseLearner, add_best
from .parameters import Parameters
from .problem import Problem
from .small_qp import smo
from .state import Field
from .working_set import N_PLANES, NONE, plane_axpy, plane_dot

REDUCTION = 0.1
"""The programme over the cuts is solved until its own gap is this share of the gap before the newest cut."""

ROUNDING = 1e-10
"""Share of Σ αΔ below which the gap over the working sets is not worth a cut."""


@kernel
def _find_planes(oracle, data, examples, weights, outside, figures, sums, planes, plane):
    """Lines 8 to 12."""
    for example in examples:
        add_best(oracle, data, example, weights, outside, figures, sums, planes, plane)


@kernel
def _numbers(planes, examples):
    """The numbers of the examples' planes, int64, in the order of the lists."""
    numbers, size = np.empty(planes.counts[N_PLANES], np.int64), 0
    for example in examples:
        p = planes.head[example]
        while p != NONE:
            numbers[size] = p
            size += 1
            p = planes.next[p]
    return numbers[:size]


@kernel
def _violations(planes, numbers, weights):
    """g of each of these planes."""
    g = np.empty(len(numbers))
    for k in range(len(numbers)):
        g[k] = planes.loss[numbers[k]] - plane_dot(weights, planes, numbers[k])
    return g


@kernel
def _add_planes(planes, numbers, weights):
    """weights += Σ ΔΦ of these planes."""
    for p in numbers:
        plane_axpy(weights, 1.0, planes, p)


class LseCuttingPlaneLearner(LseLearner):
    """½‖w − w₀‖² + Cξ, ξ ≥ Σ_i Σ_{y ∈ S_i} g_i(y) for each cut (S_1 … S_n); α_i(y) = Σ of the α of the cuts with y.

    S_i = {y ∈ V_i : g_i(y) > 0} is made anew for each cut: where it only grows, as the paper prints it, training stops
    at once. A cut is kept as the numbers of its planes, so that an example can be taken out of all cuts, and it is
    dropped as soon as the programme over the cuts gives it no α.
    """

    STATE = (Field("w0"), *(Field(name, grows=True) for name in ("cuts", "alpha", "linear", "gram")))
    w0: np.ndarray

    def __init__(self, parameters: Parameters, problem: Problem, weights: np.ndarray | None = None) -> None:
        super().__init__(parameters, problem, weights)
        self.w0 = self.w.copy()
        # The first cut is empty; its α is C less those of the others.
        self.cuts = [np.zeros(0, np.int64)]
        self.alpha, self.linear, self.gram = np.full(1, self.parameters.C), np.zeros(1), np.zeros((1, 1))

    def visit(self, examples: np.ndarray) -> None:
        self._run(_find_planes, examples, self.w, self.parameters.oracle == "outside", self.figures, kind="kbest")

    def end_epoch(self) -> None:
        self.figures[GAP] = self._cut()

    def _inner_pass(self, rng: np.random.Generator) -> None:
        self._cut()

    def _cut(self) -> float:
        """Lines 13 to 23, then line 7. Returns the gap over the working sets before: C (Σ_{y ∈ S} g − ξ)."""
        gap, linear = self._working_gap()
        if gap > ROUNDING * linear:
            numbers = _numbers(self.planes, np.arange(self.problem.n_examples))
            self._add(numbers[_violations(self.planes, numbers, self.w) > 0.0])
            smo(self.gram, self.linear, self.alpha, REDUCTION * gap)
            self._keep(np.flatnonzero((self.alpha > 0.0) | (np.arange(len(self.alpha)) == 0)))
            self._sum()
        return gap

    def _add(self, cut: np.ndarray) -> None:
        self.cuts.append(cut)
        row, linear = self._products(cut)
        self.gram = np.block([[self.gram, row[:-1, None]], [row]])
        self.alpha, self.linear = np.append(self.alpha, 0.0), np.append(self.linear, linear)

    def _products(self, cut: np.ndarray) -> tuple[np.ndarray, float]:
        """pᵀp′ with each cut's p′ = Σ ΔΦ, and Σ Δ − w₀ᵀp."""
        p = np.zeros_like(self.w)
        _add_planes(self.planes, cut, p)
        products = self.planes.loss - _violations(self.planes, np.arange(len(self.planes.loss)), p)
        return np.array([products[other].sum() for other in self.cuts]), self.planes.loss[cut].sum() - self.w0 @ p

    def _keep(self, kept: np.ndarray) -> None:
        self.cuts = [self.cuts[k] for k in kept]
        self.alpha, self.linear, self.gram = self.alpha[kept], self.linear[kept], self.gram[np.ix_(kept, kept)]

    def _sum(self) -> None:
        """α_i(y) = Σ of the α of the cuts that hold y, and w from it."""
        self.planes.alpha[:] = 0.0
        for alpha, cut in zip(self.alpha, self.cuts):
            self.planes.alpha[cut] += alpha
        self.w = self.w0.copy()
        working_set.weighted_sum(self.planes, self.w)

    def retune(self, parameters: Any) -> bool:
        kept = min(1.0, parameters.C / self.parameters.C)
        if not super().retune(parameters):
            return False
        self.alpha *= kept
        self.alpha[0] = parameters.C - self.alpha[1:].sum()
        self._sum()
        return True

    def _renumber(self, place: np.ndarray) -> None:
        self.cuts = [place[cut] for cut in self.cuts]

    def check(self) -> None:
        super().check()
        m = len(self.cuts)
        if not len(self.alpha) == len(self.linear) == m >= 1 or self.gram.shape != (m, m):
            raise ValueError("its cuts and their dual variables do not fit together")
        known = set(_numbers(self.planes, np.arange(self.problem.n_examples)).tolist())
        for cut in self.cuts:
            if cut.dtype != np.int64 or cut.ndim != 1 or not known.issuperset(cut.tolist()):
                raise ValueError("a cut has planes that do not exist")

    def remove(self, examples: np.ndarray) -> None:
        gone = _numbers(self.planes, examples)
        super().remove(examples)
        self._take_out(gone)

    def forget(self, examples: np.ndarray) -> None:
        gone = _numbers(self.planes, examples)
        rest = self.w.copy()
        working_set.remove_all(self.planes, examples, rest)
        self.w0 += self.w - rest
        super().forget(examples)
        self._take_out(gone)

    def _take_out(self, gone: np.ndarray) -> None:
        """Take planes out of all cuts, whose products change with them."""
        stays = np.ones(len(self.planes.next), np.bool_)
        stays[gone] = False
        self.cuts = [cut[stays[cut]] for cut in self.cuts]
        products = [self._products(cut) for cut in self.cuts]
        self.gram = np.array([row for row, _ in products])
        self.linear = np.array([linear for _, linear in products])
