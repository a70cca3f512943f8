"""Block-coordinate Frank–Wolfe with line search for the L1-loss SSVM (Lacoste-Julien et al. 2013, algorithm 4)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..growth import extended
from ..kernels import kernel
from .dual import DualLearner
from .learner import NO_EXAMPLES
from .oracle_pass import add_slack
from .pairs import combine, pair_step
from .parameters import DualParameters, require_flag
from .planes import axpy, dot, find_plane, squared_norm
from .problem import Problem
from .state import Field
from .working_set import NO_PLANE, append, drop_inactive, make_room, max_codes, read_plane, trim


@dataclass(frozen=True, kw_only=True)
class FrankWolfe(DualParameters):
    """Block-coordinate Frank–Wolfe with line search on the L1-loss SSVM, ½‖w‖² + C Σ ξ_i (Lacoste-Julien et al. 2013).

    The paper's λ is 1/(Cn) here; w is the same; the paper's ℓ and objectives are 1/(Cn) times those here.

    Attributes:
        averaging: predict with the mean of w over all visits, where visit t has weight t.
    """

    min_tolerance = 1e-6  # Means of planes are rounded in every step.

    CHECKS = {"averaging": require_flag}

    averaging: bool = False

    @property
    def rule(self) -> str | None:  # type: ignore[override]
        """Averages are not shared."""
        return None if self.averaging else "means"


class FrankWolfeLearner(DualLearner, of=FrankWolfe):
    """½‖w‖² + C Σ ξ_i, w = Σ w_i; each working set holds one plane, the mean w_i/C of the planes found, with α_i = C.

    With averaging, w̄ ← k/(k + 2) w̄ + 2/(k + 2) w after each visit. After T visits that is w̄ = w − u/(T(T + 1)/2)
    with u = Σ_t t(t + 1)/2 · (step after t earlier visits), which needs no pass over all d weights. The certificate is
    then for w̄, whose dual variables are averages as well. The running primal, R(w̄) + C Σ ξ(w), is an estimate only.
    """

    parameters: FrankWolfe
    STATE = (Field("weighted_steps"), Field("history"))

    def __init__(self, parameters: FrankWolfe, problem: Problem, weights: np.ndarray | None = None) -> None:
        super().__init__(parameters, problem, weights)
        self._start_average()

    def _start_average(self) -> None:
        self.weighted_steps = np.zeros(self.problem.dimension if self.parameters.averaging else 0)
        self.history = np.zeros(2)

    def visit(self, examples: np.ndarray) -> None:
        settings = self.weighted_steps, self.history, self.keeps_planes
        self.visit_by(_visit, examples, self.w, self.parameters.C, *settings, max_entries=self._max_entries)

    def prediction_weights(self) -> np.ndarray:
        return self.w - self.weighted_steps / self._triangle() if self.parameters.averaging else self.w

    def retune(self, parameters: Any) -> bool:
        """Each α is the new C; if C grows, the gold plane, which is zero, makes up the added share of each mean."""
        earlier = self.parameters.C
        if not super().retune(parameters):
            return False
        if earlier < parameters.C:
            self.merge_means()
        self.move_to(self.dual_point())
        self._start_average()
        return True

    def merge_means(self) -> None:
        """Replace the planes of each example by their mean with α = C."""
        trim(self.planes)
        make_room(self.planes, len(self.planes.head), int(max_codes(self.planes.size).sum()))
        _merge_means(self.planes, self.parameters.C)

    def change(self, problem: Problem, dropped: np.ndarray = NO_EXAMPLES, subtracts: bool = True) -> None:
        """The average restarts if planes are subtracted: the contribution of single examples to it is not known."""
        averages = self.parameters.averaging
        restarts = averages and subtracts and bool((self.planes.head[dropped] != NO_PLANE).any())
        super().change(problem, dropped, subtracts)
        if restarts:
            self._start_average()
        elif averages:
            self.weighted_steps = extended(self.weighted_steps, problem.dimension)

    def _max_entries(self, examples: np.ndarray) -> np.ndarray:
        """A mean has at most the entries of all planes that are averaged.

        Each visit to an example that is visited several times is counted as if all its visits had enlarged its mean.
        """
        heads, means = self.planes.head[examples], np.zeros(len(examples), np.int64)
        has_mean = heads != NO_PLANE
        means[has_mean] = self.planes.size[heads[has_mean]]
        _, places, visits = np.unique(examples, return_inverse=True, return_counts=True)
        return means + visits[places] * self.problem.plane_entries[examples]

    def dual_sums(self) -> tuple[float, float]:
        linear, squares = super().dual_sums()
        return linear - self.history[LOSS] / self._triangle(), squares

    def summed(self) -> np.ndarray:
        return self.prediction_weights() if self.parameters.averaging else super().summed()

    def _triangle(self) -> float:
        """T(T + 1)/2, at least 1, after T visits."""
        return max(1.0, float(self.history[VISITS] * (self.history[VISITS] + 1) / 2))


VISITS, LOSS = 0, 1
"""Places in `history`: the number of visits so far, and Σ_t t(t + 1)/2 · (change of Σ ℓ_i after t earlier visits)."""


@kernel
def _visit(oracle, data, examples, weights, C, weighted_steps, history, keeps, sums, planes, plane):
    """Visit the examples as in the loop of algorithm 4.

    A step on example i is the pair step that moves α from its mean plane, w_i/C, to the oracle's plane: γ = step/C.
    keeps: whether earlier means stay in the working set, with α = 0.
    """
    for example in examples:
        size, loss = find_plane(oracle, data, example, weights, 1.0, plane)
        mean = planes.head[example]
        indices, values = read_plane(planes, mean)
        mean_size = len(indices)
        new_indices, new_values = np.empty(size + mean_size, np.int64), np.empty(size + mean_size, np.float32)
        mean_loss = 0.0 if mean == NO_PLANE else planes.loss[mean]
        slack = loss - dot(weights, plane.indices, plane.values, size)
        rise = slack - (mean_loss - dot(weights, indices, values, mean_size))
        changed = combine(
            1.0, plane.indices, plane.values, size, -1.0, indices, values, mean_size, new_indices, new_values
        )
        step = pair_step(rise, C, squared_norm(new_values, changed))
        if step > 0.0:
            gamma = step / C
            new_loss = (1.0 - gamma) * mean_loss + gamma * loss
            size = combine(
                gamma,
                plane.indices,
                plane.values,
                size,
                1.0 - gamma,
                indices,
                values,
                mean_size,
                new_indices,
                new_values,
            )
            # w moves by the means as they are stored, in single precision, so that it stays Σ α ΔΦ.
            axpy(weights, C, new_indices, new_values, size)
            axpy(weights, -C, indices, values, mean_size)
            if len(weighted_steps):
                triangle = history[VISITS] * (history[VISITS] + 1.0) / 2.0
                axpy(weighted_steps, C * triangle, new_indices, new_values, size)
                axpy(weighted_steps, -C * triangle, indices, values, mean_size)
                history[LOSS] += C * triangle * (new_loss - mean_loss)
            if mean != NO_PLANE:
                planes.alpha[mean] = 0.0
            append(planes, example, new_indices, new_values, size, new_loss, C)
            if not keeps:
                drop_inactive(planes, example)
        history[VISITS] += 1.0
        add_slack(sums, slack)


@kernel
def _merge_means(planes, C):
    """Replace the planes of each example by one whose α is C; w stays the same, and gold is the rest of the mean.

    `planes` must have room for one more plane of each example, with the entries of all its planes.
    """
    for example in range(len(planes.head)):
        p = planes.head[example]
        if p == NO_PLANE or (planes.next[p] == NO_PLANE and planes.alpha[p] == C):
            continue
        indices, values, loss = np.empty(0, np.int64), np.empty(0, np.float32), 0.0
        while p != NO_PLANE:
            share = planes.alpha[p] / C
            its_indices, its_values = read_plane(planes, p)
            its_size = len(its_indices)
            merged = np.empty(len(indices) + its_size, np.int64)
            merged_values = np.empty(len(merged), np.float32)
            size = combine(
                1.0, indices, values, len(indices), share, its_indices, its_values, its_size, merged, merged_values
            )
            indices, values = merged[:size], merged_values[:size]
            loss += share * planes.loss[p]
            planes.alpha[p] = 0.0
            p = planes.next[p]
        append(planes, example, indices, values, len(indices), loss, C)
        drop_inactive(planes, example)
