"""1-slack cutting planes for the L1-loss SSVM (Joachims et al. 2009, algorithm 3, which SVM-Struct runs)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..growth import extended
from ..kernels import kernel
from .batch import BatchEpoch
from .certificate import GAP_REDUCTION, Slacks, is_done, objectives, slacks
from .learner import NO_EXAMPLES, Certificate, Learner, Progress
from .oracle_pass import SINGLE_PRECISION, find_all, oracle_failure
from .pairs import smo
from .parameters import DualParameters, require_whole
from .planes import axpy, dot
from .problem import Passes, Problem
from .state import Field
from .vectors import nonzero, squared_distance


@dataclass(frozen=True, kw_only=True)
class OneSlack(DualParameters):
    """1-slack cutting planes on the L1-loss SSVM, ½‖w‖² + C Σ ξ_i (Joachims et al. 2009; SVM-Struct).

    The paper's C is nC here, because its planes are means over the examples; here they are sums.

    Attributes:
        idle_epochs: a plane whose α has been 0 for more epochs than this is dropped.
    """

    rule = "planes"

    CHECKS = {"idle_epochs": require_whole}

    idle_epochs: int = 20


GOLD = 0
"""Number of the plane of all gold structures, ΔΦ = 0 and Δ = 0; its α is C minus the sum of the others."""


class OneSlackLearner(Learner, of=OneSlack):
    """½‖w‖² + C Σ ξ_i: one plane per epoch, the sum of all examples' planes at one w; w = w₀ + Σ_k α_k ΔΦ_k.

    A plane has an entry for each weight that any gold or found structure uses. So there are few but long arrays, with 8
    bytes per entry; planes that have been inactive for several epochs are dropped. An example that an epoch does not
    visit contributes its gold structure: the plane remains a valid lower bound, but the optimum needs epochs that visit
    all examples.

    The contribution of a single example to the planes is not known. When an example is removed, all planes are dropped
    and the current w becomes w₀; from then on there is no certificate, and `done` is never true.
    """

    parameters: OneSlack
    w0: np.ndarray
    summed: np.ndarray
    summed_loss: float
    STATE = (
        *BatchEpoch.STATE,
        Field("indices", shape="mk", end="d", dtype="int32"),
        Field("values", shape="mk", dtype="float32"),
        Field("alpha", shape="m"),
        Field("losses", shape="m"),
        Field("gram", shape="mm"),
        Field("idle", shape="m"),
        *(Field(name) for name in ("w0", "summed", "summed_loss", "seen", "has_forgotten")),
    )

    def __init__(self, parameters: OneSlack, problem: Problem, weights: np.ndarray | None = None) -> None:
        super().__init__(parameters, problem, weights)
        self.batch = BatchEpoch(problem.n_examples)
        self.seen = np.zeros(problem.n_examples, np.bool_)
        """Which examples may have contributed to the planes."""
        self.has_forgotten = False
        """Whether planes have been dropped because an example has changed or left."""
        self._start_from(self.w)

    def begin_epoch(self, rng: np.random.Generator) -> None:
        super().begin_epoch(rng)
        self.batch.begin_epoch()
        if self.parameters.check_oracle:
            self._check_oracle()
        self._clear_sum()

    def visit(self, examples: np.ndarray) -> None:
        new = self.batch.new(examples)
        if isinstance(self.problem.data, Passes):
            self.summed_loss, self.loss, self.summed = self.problem.data.planes(self.w)
        else:
            sums = self.summed_loss, self.loss
            self.summed_loss, self.loss = add_planes(self.problem, self.w, new, self.summed, *sums, self.n_threads)
        self.seen[new] = True

    def end_epoch(self) -> None:
        if not self.batch.end_epoch(self.progress(), self.problem, self.parameters.tolerance):
            self._solve()

    def progress(self) -> Progress:
        """Figures; the primal objective is at the w at which the epoch called the oracles."""
        found = self._objectives(self.w, Slacks(self.loss, 0.0))
        dual = None if self.has_forgotten else found.dual
        return self.batch.exact(Progress(self.loss, found.primal, dual, len(self.alpha) - 1))

    def certificate(self) -> Certificate | None:
        """Primal and dual at w as recomputed from the planes, as of `DualLearner`."""
        if self.has_forgotten or not self.problem.exact:
            return None
        w = self._summed()
        return self._objectives(w, slacks(self.problem, w, n_threads=self.n_threads))

    def done(self) -> bool:
        return is_done(self.progress(), self.certificate, self.parameters.tolerance)

    def _objectives(self, w: np.ndarray, slack_sums: Slacks) -> Certificate:
        """R(w) = ½‖w − w₀‖²: the planes' losses include w₀ᵀΔΦ."""
        penalty = squared_distance(w, self.w0, self.n_threads) / 2
        p, dual_sums = self.parameters, (float(self.alpha @ self.losses), 0.0)
        return objectives(p.C, p.power, (penalty, penalty), slack_sums, dual_sums)

    def retune(self, parameters: Any) -> bool:
        """Keep the dual variables, scaled down to the bounds of the new C; the α of gold is the rest of C."""
        if self.has_forgotten:
            return False
        self.alpha *= min(1.0, parameters.C / self.parameters.C)
        self.alpha[GOLD] = parameters.C - self.alpha[GOLD + 1 :].sum()
        self.parameters = parameters
        self.w = self._summed()
        return True

    def change(self, problem: Problem, dropped: np.ndarray = NO_EXAMPLES, subtracts: bool = True) -> None:
        """Drop all planes, and keep w, if planes have contributions of dropped examples."""
        self.batch.change(problem.n_examples, dropped, subtracts)
        super().change(problem)
        if self.seen[dropped].any():
            self.has_forgotten = True
            self.seen[:] = False
            self._start_from(self.w)
        self.w0 = extended(self.w0, problem.dimension)
        self.summed = extended(self.summed, problem.dimension)
        self.seen = extended(self.seen[: problem.n_examples], problem.n_examples)

    def _start_from(self, weights: np.ndarray) -> None:
        """Set w₀ = weights, and drop all planes but the gold one."""
        self.w0 = weights.copy()
        self.indices, self.values = [np.zeros(0, np.int32)], [np.zeros(0, np.float32)]
        self.alpha, self.losses, self.gram = np.full(1, self.parameters.C), np.zeros(1), np.zeros((1, 1))
        self.idle = np.zeros(1, np.int64)
        self._clear_sum()

    def _clear_sum(self) -> None:
        self.summed = np.zeros(len(self.w))
        self.summed_loss = 0.0

    def _solve(self) -> None:
        """Add the epoch's plane, solve the programme over all planes, and move w."""
        self._add_plane()
        g = self.losses - self.gram @ self.alpha
        gap = float(self.parameters.C * g.max() - self.alpha @ g)
        smo(self.gram, self.losses, self.alpha, GAP_REDUCTION * gap)
        self._drop_idle_planes()
        self.w = self._summed()

    def _add_plane(self) -> None:
        """Add the epoch's plane, ΔΦ = Σ ΔΦ_i and loss Σ Δ_i − w₀ᵀΣ ΔΦ_i, with α = 0 and its row of the Gram matrix."""
        indices = nonzero(self.summed, self.n_threads).astype(np.int32)
        self.indices.append(indices)
        self.values.append(self.summed[indices].astype(np.float32))
        self.summed[indices] = self.values[-1]
        self.losses = np.append(self.losses, self.summed_loss - _product(self.w0, indices, self.values[-1]))
        self.alpha, self.idle = np.append(self.alpha, 0.0), np.append(self.idle, 0)
        products = np.array([_product(self.summed, *plane) for plane in zip(self.indices, self.values)])
        gram = np.zeros((len(products), len(products)))
        gram[:-1, :-1] = self.gram
        gram[-1] = gram[:, -1] = products
        self.gram = gram
        self._clear_sum()

    def _drop_idle_planes(self) -> None:
        self.idle[self.alpha == 0.0] += 1
        self.idle[self.alpha > 0.0] = self.idle[GOLD] = 0
        kept = np.flatnonzero(self.idle <= self.parameters.idle_epochs)
        self.indices, self.values = [self.indices[k] for k in kept], [self.values[k] for k in kept]
        self.alpha, self.losses, self.idle = self.alpha[kept], self.losses[kept], self.idle[kept]
        self.gram = self.gram[np.ix_(kept, kept)]

    def _check_oracle(self) -> None:
        """Assert that no stored plane is more violated than the sum of the planes that the oracles find.

        Raises:
            AssertionError: a stored plane is more violated.
        """
        by_oracles = slacks(self.problem, self.w, n_threads=self.n_threads).sum
        stored = float((self.losses - self.gram @ self.alpha).max())
        if stored > by_oracles + SINGLE_PRECISION * max(self.problem.unit, by_oracles, float(self.losses.max())):
            raise AssertionError(oracle_failure("the sum of the oracles", by_oracles, stored))

    def _summed(self) -> np.ndarray:
        w = self.w0.copy()
        for alpha, indices, values in zip(self.alpha, self.indices, self.values):
            axpy(w, alpha, indices, values, len(indices))
        return w


@kernel
def _sum_planes(planes, summed, losses, slacks):
    """summed += Σ ΔΦ_i(ŷ_i) over the violated planes. Returns losses + Σ Δ_i and slacks + Σ ξ_i."""
    for k in range(len(planes.violations)):
        if planes.violations[k] > 0.0:
            begin, end = planes.starts[k], planes.starts[k + 1]
            axpy(summed, 1.0, planes.indices[begin:], planes.values[begin:], end - begin)
            losses += planes.losses[k]
            slacks += planes.violations[k]
    return losses, slacks


def add_planes(
    problem: Problem,
    weights: np.ndarray,
    examples: np.ndarray,
    summed: np.ndarray,
    loss: float = 0.0,
    slack: float = 0.0,
    n_threads: int = 1,
) -> tuple[float, float]:
    """Call the max-oracles of the examples, int64, at w, float64 [d]; summed += Σ ΔΦ_i of the violated planes.

    Returns loss + Σ Δ_i and slack + Σ ξ_i of these.
    """
    for _, planes in find_all(problem, weights, examples, n_threads):
        loss, slack = _sum_planes(planes, summed, loss, slack)
    return loss, slack


@kernel
def _product(weights, indices, values):
    return dot(weights, indices, values, len(indices))
