"""Stochastic (sub)gradient descent (Bottou 2004; Chang & Yih 2013 §4.3) on the losses of Martins et al. 2010."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from ..kernels import kernel
from .certificate import slacks
from .gradients import clique_buffer, clique_sizes, find_gradient, sum_losses
from .learner import NO_EXAMPLES, Learner, Progress
from .parameters import LossFamily, require_positive
from .planes import axpy, dot, find_plane, plane_buffer
from .problem import Kind, Problem, call
from .state import Field
from .vectors import squared_distance


@dataclass(frozen=True, kw_only=True)
class Sgd(LossFamily):
    """Stochastic (sub)gradient descent on ½‖w‖² + C Σ L_{β,γ}: by default the L1-loss SSVM (Chang & Yih 2013 §4.3).

    eta0: initial learning rate, or None to select it from 2⁻¹ … 2⁻⁵ on 1,000 examples by the lowest primal; in a
        stream, on the first batch only.
    schedule: "bottou", η_T = η₀ / (1 + η₀T / (Cl))^0.75 for l examples; or "printed", the same without l, as printed in
        Chang & Yih 2013, which decays l times as fast; or "epochs", η_T = η₀ / (1 + T / l), as in Martins et al. 2010
        for β < ∞. "bottou" is the default for every loss, because it decays with the λ = 1/(Cl) of the objective;
        "epochs" approaches the optimum slowly if C is large.
    """

    eta0: float | None = None
    schedule: Literal["bottou", "printed", "epochs"] = "bottou"

    @property
    def rule(self) -> str | None:  # type: ignore[override]
        """The printed rate of a block depends on its size: the mean would be biased to small blocks."""
        return None if self.schedule == "printed" else "descent"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.eta0 is not None:
            require_positive(self, "eta0")
        if self.schedule not in ("bottou", "printed", "epochs"):
            raise ValueError(f'solver.schedule must be "bottou", "printed" or "epochs", not {self.schedule!r}')


CANDIDATES = (0.5, 0.25, 0.125, 0.0625, 0.03125)
"""Initial learning rates to choose from."""

SAMPLE = 1000
"""Number of examples, at most, on which the candidates are compared."""


class StepSchedule(NamedTuple):
    """η_T = eta0 / (1 + rate · T / decay)^power. shrinkage: Cl, the inverse of Bottou's λ."""

    eta0: float
    rate: float
    decay: float
    power: float
    shrinkage: float


class SgdLearner(Learner, of=Sgd):
    """w ← (1 − η/(Cl)) w − η ∇L_{β,γ}(w), by default L1-loss; λ = 1/(Cl) in Bottou's schedule."""

    parameters: Sgd
    STATE = (Field("scale"), Field("step"), Field("eta0"), Field("n"))

    def __init__(self, parameters: Sgd, problem: Problem, weights: np.ndarray | None = None) -> None:
        super().__init__(parameters, problem, weights)
        self.scale = 1.0
        self.step = 0
        self.eta0 = parameters.eta0 or 0.0
        self.n = max(problem.n_examples, 1)
        """l, the largest number of examples so far: a streamed problem holds only its last batch."""

    @property
    def needs(self) -> Kind:
        return self.parameters.oracle

    def begin_epoch(self, rng: np.random.Generator) -> None:
        super().begin_epoch(rng)
        if not self.eta0 and self.problem.n_examples:
            self.eta0 = best_rate(self.trials(rng), self.parameters, self.problem.n_examples)

    def visit(self, examples: np.ndarray) -> None:
        loss, self.scale, self.step = self._run(examples, self.w, self.scale, self.step, self.eta0, self.n)
        self.loss += loss

    def prediction_weights(self) -> np.ndarray:
        return self.scale * self.w

    def progress(self) -> Progress:
        norm = self.scale**2 * squared_distance(self.w, n_threads=self.n_threads)
        return Progress(self.loss, norm / 2 + self.parameters.C * self.loss, None, None)

    def change(self, problem: Problem, dropped: np.ndarray = NO_EXAMPLES, subtracts: bool = True) -> None:
        super().change(problem, dropped, subtracts)
        self.n = max(self.n, problem.n_examples)

    def _run(
        self, examples: np.ndarray, v: np.ndarray, scale: float, step: int, eta0: float, n: int
    ) -> tuple[float, float, int]:
        p = self.parameters
        shrink = eta0 / (p.C * n)
        if shrink >= 1:
            raise ValueError(
                f"SGD cannot start: η₀/(C·l) = {shrink:.3g} with C = {p.C}, l = {n} examples and η₀ = {eta0} "
                "is so large that the weights would change sign; raise solver.C or lower solver.eta0"
            )
        if p.schedule == "epochs":
            schedule = StepSchedule(eta0, 1.0, float(n), 1.0, p.C * n)
        else:
            schedule = StepSchedule(eta0, eta0, p.C * n if p.schedule == "bottou" else p.C, 0.75, p.C * n)
        shared = (examples, v, scale, step, schedule)
        if p.is_smooth:
            smooth = p.beta, p.gamma, clique_sizes(self.problem)
            return call(_visit_smooth, self.problem, *shared, *smooth, kind="cliques")
        return call(_visit_hinge, self.problem, *shared, p.gamma, plane_buffer(self.problem.max_plane_entries))

    def _primal(self, w: np.ndarray, examples: np.ndarray) -> float:
        """½‖w‖² + C Σ L over the given examples (int64)."""
        p = self.parameters
        if p.is_smooth:
            loss = sum_losses(self.problem, w, float(p.beta), p.gamma, examples, self.n_threads).value
        else:
            loss = p.gamma * slacks(self.problem, w / p.gamma, examples, self.n_threads).sum
        return squared_distance(w, n_threads=self.n_threads) / 2 + p.C * loss

    def trials(self, rng: np.random.Generator) -> np.ndarray:
        """The primal objective on a sample of examples after an epoch on it with each η₀ of `CANDIDATES`, float64;
        infinite for an η₀ that is too large.
        """
        sample = rng.permutation(self.problem.n_examples)[:SAMPLE]
        primals = np.full(len(CANDIDATES), np.inf)
        for number, eta0 in enumerate(CANDIDATES):
            if eta0 < self.parameters.C * len(sample):
                v = self.prediction_weights().copy()
                _, scale, _ = self._run(sample, v, 1.0, 0, eta0, len(sample))
                primals[number] = self._primal(scale * v, sample)
        return primals


@kernel
def _shrink(v, scale, step, schedule):
    """w ← (1 − η/(Cl)) w for w = scale · v, in O(1). Returns the new scale, and η over the new scale."""
    eta = schedule.eta0 / (1.0 + schedule.rate * step / schedule.decay) ** schedule.power
    scale *= 1.0 - eta / schedule.shrinkage
    if scale < 1e-9:
        v *= scale
        scale = 1.0
    return scale, eta / scale


@kernel
def _visit_smooth(score, infer, move, data, examples, v, scale, step, schedule, beta, gamma, sizes):
    """L_{β,γ}(w) is scale times L_{β·scale, γ/scale}(v), and has the same gradient."""
    buffer, total = clique_buffer(sizes, examples), 0.0
    for example in examples:
        size, its_beta, its_gamma = sizes[example], beta * scale, gamma / scale
        _, descent, loss = find_gradient(score, infer, data, example, v, its_beta, its_gamma, size, buffer)
        total += scale * loss
        scale, rate = _shrink(v, scale, step, schedule)
        for k in range(size):
            descent[k] *= rate
        move(data, example, v, descent)
        step += 1
    return total, scale, step


@kernel
def _visit_hinge(oracle, data, examples, v, scale, step, schedule, gamma, plane):
    """β = ∞; the oracle at w with loss scale γ is that at v with loss scale γ/scale."""
    total = 0.0
    for example in examples:
        size, loss = find_plane(oracle, data, example, v, gamma / scale, plane)
        total += max(0.0, gamma * loss - scale * dot(v, plane.indices, plane.values, size))
        scale, rate = _shrink(v, scale, step, schedule)
        axpy(v, rate, plane.indices, plane.values, size)
        step += 1
    return total, scale, step


def best_rate(primals: np.ndarray, parameters: Sgd, n_examples: int) -> float:
    """The candidate with the lowest primal objective. primals: as of `SgdLearner.trials`. n_examples: of all.

    Raises:
        ValueError: all candidates are too large.
    """
    best = int(np.argmin(primals))
    if primals[best] == np.inf:
        raise ValueError(
            f"solver.C = {parameters.C} is too small for SGD on {n_examples} examples: raise it or set solver.eta0"
        )
    return CANDIDATES[best]
