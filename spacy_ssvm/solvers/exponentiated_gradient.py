"""Block-coordinate exponentiated gradient for the smooth losses L_{β,γ}, β < ∞ (Collins et al. 2008).

The dual variable of an example is a distribution P_i over its structures: w = w₀ + C Σ (Φ(y_i) − E_i[Φ]), and the dual
objective is C Σ (γ E_i[Δ] + H(P_i) / β) − ½‖w‖² + ½‖w₀‖². At the optimum P_i is P(·; w) ∝ exp(β(wᵀΦ + γ Δ)). A visit
moves the scores θ of P_i ∝ exp θ towards those of P(·; w), by a rate of its own in place of the paper's common one.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from ..growth import appended, extended
from ..kernels import kernel
from .certificate import is_done
from .gradients import sum_losses
from .learner import NO_EXAMPLES, Certificate, Learner, Progress
from .parameters import LossFamily, require_tolerance
from .problem import RULED_OUT, Kind, Problem, call
from .state import Field, Sizes
from .vectors import squared_distance


@dataclass(frozen=True, kw_only=True)
class ExponentiatedGradient(LossFamily):
    """Exponentiated gradient on the dual of ½‖w‖² + C Σ L_{β,γ}, β < ∞, one example after the other.

    Collins et al. 2008, with a rate for each example. Softmax-margin by default.

    tolerance: relative duality gap at which training is complete; 0 is never reached. A positive tolerance must be at
        least 1e-6: marginals are stored in single precision. With small β, a part C log|Y| / β of the primal is
        constant, so that the relative gap is small from the start: choose a smaller tolerance.
    """

    min_tolerance: ClassVar[float] = 1e-6
    CHECKS = {"tolerance": require_tolerance}

    C: float = 1.0
    beta: float | Literal["inf"] = 1.0
    tolerance: float = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.is_smooth:
            raise ValueError(
                "solver.beta must be finite for exponentiated gradient, which needs a smooth loss: choose another "
                "solver"
            )


class Distributions(NamedTuple):
    """The distributions of n examples, with the cliques of example i at starts[i] … starts[i + 1] − 1.

    Attributes:
        starts: int64 [n + 1].
        scores: float32 [M], θ.
        surplus: float32 [M], as in `Cliques`.
        values: float64 [n], γ E[Δ] + H / β.
        rates: float64 [n], of the next step, in (0, 1]; 0 before an example's first step, while its P_i is gold alone
            and θ is not in use.
    """

    starts: np.ndarray
    scores: np.ndarray
    surplus: np.ndarray
    values: np.ndarray
    rates: np.ndarray


def check_distributions(distributions: Distributions, sizes: Sizes) -> None:
    """Check distributions that were read from a file, so that each example's cliques are in their place.

    Raises:
        ValueError: they do not fit n examples.
    """
    starts, scores, surplus, values, rates = distributions
    n, lengths = sizes["n"], np.diff(starts)
    fits = len(starts) == n + 1 and starts[0] == 0 and (lengths >= 0).all() and len(values) == len(rates) == n
    if not fits or not starts[-1] == len(scores) == len(surplus) or not ((rates >= 0) & (rates <= 1)).all():
        raise ValueError("its distributions are not those of these examples")


class ExponentiatedGradientLearner(Learner, of=ExponentiatedGradient):
    """½‖w − w₀‖² + C Σ L_{β,γ} by ascent of the dual, one example after the other; w₀ are the initial weights.

    The dual objective never falls, except by rounding.
    """

    parameters: ExponentiatedGradient
    STATE = (Field("w0", like="w"), Field("has_forgotten"), Field("distributions", check=check_distributions))

    def __init__(self, parameters: ExponentiatedGradient, problem: Problem, weights: np.ndarray | None = None) -> None:
        super().__init__(parameters, problem, weights)
        self.w0 = None if weights is None else self.w.copy()
        self.has_forgotten = False
        self.distributions = gold_alone(self._sizes())

    @property
    def needs(self) -> Kind:
        return "cliques"

    def visit(self, examples: np.ndarray) -> None:
        self._fit(examples)
        p = self.parameters
        settings = p.C, float(p.beta), p.gamma
        self.loss += call(_ascend, self.problem, examples, self.w, *settings, *self.distributions, kind=self.needs)

    def progress(self) -> Progress:
        """The primal is a running estimate."""
        if self.has_forgotten:
            return Progress(self.loss, None, None, None)
        return Progress(self.loss, self._regulariser() + self.parameters.C * self.loss, self._dual(), None)

    def certificate(self) -> Certificate | None:
        if self.has_forgotten:
            return None
        p = self.parameters
        losses = sum_losses(self.problem, self.w, float(p.beta), p.gamma, n_threads=self.n_threads).value
        return Certificate(self._regulariser() + p.C * losses, self._dual())

    def done(self) -> bool:
        return is_done(self.progress(), self.certificate, self.parameters.tolerance)

    def retune(self, parameters: Any) -> bool:
        """Keep the distributions, unless the loss changes: another objective values them differently."""
        if self.has_forgotten:
            return False
        before, self.parameters = self.parameters, parameters
        w0 = np.zeros_like(self.w) if self.w0 is None else self.w0
        if (before.beta, before.gamma) == (parameters.beta, parameters.gamma):
            self.w = w0 + parameters.C / before.C * (self.w - w0)
        else:
            self.w, self.distributions = w0.copy(), gold_alone(self._sizes())
        return True

    def change(self, problem: Problem, dropped: np.ndarray = NO_EXAMPLES, subtracts: bool = True) -> None:
        if subtracts:
            moved = dropped[self.distributions.rates[dropped] > 0.0]
            starts, _, surplus, _, _ = self.distributions
            call(_withdraw, self.problem, moved, self.w, self.parameters.C, starts, surplus, kind=self.needs)
        else:
            self.has_forgotten = True
        self._reset(dropped)
        super().change(problem)
        self.w0 = None if self.w0 is None else extended(self.w0, problem.dimension)
        starts, scores, surplus, values, rates = self.distributions
        n, more = problem.n_examples, max(0, problem.n_examples - len(rates))
        starts = appended(starts, np.full(more, starts[-1]))[: n + 1]
        scores, surplus = scores[: starts[-1]], surplus[: starts[-1]]
        self.distributions = Distributions(starts, scores, surplus, extended(values[:n], n), extended(rates[:n], n))

    def _reset(self, examples: np.ndarray) -> None:
        """Reset the distributions of these examples to gold alone."""
        starts, _, surplus, values, rates = self.distributions
        values[examples] = rates[examples] = 0.0
        for example in examples:
            surplus[starts[example] : starts[example + 1]] = 0.0

    def _fit(self, examples: np.ndarray) -> None:
        """Make room for the cliques of these examples where their number has changed.

        An example that has moved has the same ones, except in a damaged state.
        """
        before, sizes = self.distributions, self._sizes()
        old = np.diff(before.starts)
        differs = old != sizes
        if not differs[examples].any():
            return
        moved = before.rates > 0.0
        torn = examples[differs[examples] & moved[examples]]
        if len(torn):
            self._reset(torn)
            self.has_forgotten = True
            moved[torn] = False
        after = gold_alone(np.where(moved, old, sizes))
        for example in np.flatnonzero(moved):
            here, there = (slice(d.starts[example], d.starts[example + 1]) for d in (after, before))
            after.scores[here], after.surplus[here] = before.scores[there], before.surplus[there]
        self.distributions = after._replace(values=before.values, rates=before.rates)

    def _sizes(self) -> np.ndarray:
        """The number of cliques of each example, int64 [n]."""
        assert self.problem.cliques is not None
        return self.problem.cliques.sizes

    def _regulariser(self) -> float:
        """½‖w − w₀‖²."""
        return squared_distance(self.w, self.w0, self.n_threads) / 2

    def _dual(self) -> float:
        norm = squared_distance(self.w, n_threads=self.n_threads)
        if self.w0 is not None:
            norm -= squared_distance(self.w0, n_threads=self.n_threads)
        return self.parameters.C * float(self.distributions.values.sum()) - norm / 2


FIRST_PENALTY = 12.0
"""An example's first visit starts from scores of −FIRST_PENALTY for each wrong clique: nearly gold alone. Each trial
that lowers the dual objective adds as much, which a large C needs."""

MIN_RATE = 1e-3
"""The smallest rate that an example tries first at its next visit."""

TRIES = 12
"""The max number of steps tried in a visit until one does not lower the dual objective; if all do, none is taken."""

ROUNDING = 1e-6
"""A step may lower the dual objective by this fraction of the size of its terms: surpluses are float32."""


def gold_alone(sizes: np.ndarray) -> Distributions:
    """Distributions before their first step, for examples of these numbers of cliques, int64 [n]."""
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    scores, surplus = (np.zeros(int(starts[-1]), np.float32) for _ in range(2))
    return Distributions(starts, scores, surplus, np.zeros(len(sizes)), np.zeros(len(sizes)))


@kernel
def _ascend(
    score, infer, move, data, examples, weights, C, beta, gamma, starts, all_scores, all_surplus, values, rates
):
    """Visit these examples. Returns Σ L_{β,γ} before each step, up to terms of third order in the step."""
    largest = 0
    for example in examples:
        largest = max(largest, starts[example + 1] - starts[example])
    buffers = np.empty((6, largest))
    total = 0.0
    for example in examples:
        begin, end = starts[example], starts[example + 1]
        theta, surplus = all_scores[begin:end], all_surplus[begin:end]
        scores, costs, mixed = buffers[0, : end - begin], buffers[1, : end - begin], buffers[2, : end - begin]
        expected, steps, wrong = buffers[3, : end - begin], buffers[4, : end - begin], buffers[5, : end - begin]
        score(data, example, weights, scores, costs, wrong)
        rate = rates[example] if rates[example] > 0.0 else 1.0
        for trial in range(TRIES):
            if rates[example] == 0.0:
                for k in range(len(theta)):
                    theta[k] = -FIRST_PENALTY * (trial + 1) * wrong[k]
            for k in range(len(theta)):
                mixed[k] = scores[k]
                if scores[k] > RULED_OUT:
                    mixed[k] = np.float32(theta[k] + rate * (beta * (scores[k] + gamma * costs[k]) - theta[k]))
            loss = infer(data, example, mixed, expected)
            # Sums over the cliques c of: what P_i expects of θ_c, of the target's score, of Δ and of w; the symmetric
            # divergence between old and new P_i along the way to the target; and the size of what is added up.
            of_theta, of_target, cost, of_weights, divergence, size = 0.0, 0.0, 0.0, 0.0, 0.0, abs(loss)
            for k in range(len(theta)):
                new = np.float64(np.float32(expected[k]))
                change = new - surplus[k]
                steps[k] = -C * change
                if scores[k] > RULED_OUT:
                    target = beta * (scores[k] + gamma * costs[k])
                    of_theta += mixed[k] * expected[k]
                    of_target += target * new
                    cost += costs[k] * new
                    of_weights += scores[k] * change
                    divergence += (target - theta[k]) * change
                    size += abs(mixed[k] * new) + abs(target * change)
            entropy = loss - of_theta
            value = gamma * cost + entropy / beta
            rise_of_norm = move(data, example, weights, steps)
            rise = C * (value - values[example]) - rise_of_norm
            # The rise is quadratic in the rate r, up to third order: C/β J (r − r²/2) − ½ r² ‖Δw‖² at full rate.
            curvature = max(0.0, 2.0 * (rise_of_norm + C * of_weights)) / rate**2 * beta / C
            slope = divergence / rate
            best = slope / (slope + curvature) if slope > 0.0 else rate
            if trial == 0:
                estimate = entropy + of_target + (1.0 - rate) ** 2 * max(0.0, slope) / 2.0
                total += max(0.0, estimate) / beta
            if rise >= -ROUNDING * C / beta * size:
                for k in range(len(theta)):
                    theta[k], surplus[k] = mixed[k], expected[k]
                values[example], rates[example] = value, max(MIN_RATE, best)
                break
            for k in range(len(theta)):
                steps[k] = -steps[k]
            move(data, example, weights, steps)
            rate /= 2.0
    return total


@kernel
def _withdraw(score, infer, move, data, examples, weights, C, starts, surplus):
    """Subtract what these examples have added to w."""
    for example in examples:
        move(data, example, weights, C * surplus[starts[example] : starts[example + 1]].astype(np.float64))
