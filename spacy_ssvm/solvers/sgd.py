"""Stochastic subgradient descent on the L1-loss SSVM (Bottou 2004; Chang & Yih 2013 §4.3)."""

import numpy as np

from ..kernels import kernel
from .certificate import slacks
from .learner import Learner, Progress
from .parameters import Sgd
from .planes import axpy, dot, find_plane
from .problem import Problem, call

CANDIDATES = (0.5, 0.25, 0.125, 0.0625, 0.03125)
SAMPLE = 1000


@kernel
def _visit(oracle, data, examples, v, scale, step, eta0, C, n_examples, decay, plane):
    """w = scale · v, so that shrinking w costs nothing; the oracle of w at loss 1 is that of v at loss 1/scale."""
    total = 0.0
    for example in examples:
        eta = eta0 / (1.0 + eta0 * step / decay) ** 0.75
        size, loss = find_plane(oracle, data, example, v, 1.0 / scale, plane)
        total += max(0.0, loss - scale * dot(v, plane.indices, plane.values, size))
        scale *= 1.0 - eta / (C * n_examples)
        if scale < 1e-9:
            v *= scale
            scale = 1.0
        axpy(v, eta / scale, plane.indices, plane.values, size)
        step += 1
    return total, scale, step


class SgdLearner(Learner):
    """w ← (1 − η/(Cl)) w + η ΔΦ(ŷ), ŷ = argmax_y wᵀΦ(x_i, y) + Δ(y_i, y), η by Bottou's schedule with λ = 1/(Cl)."""

    parameters: Sgd

    def __init__(self, parameters: Sgd, problem: Problem, weights: np.ndarray | None = None) -> None:
        super().__init__(parameters, problem, weights)
        self.scale = 1.0
        self.step = 0
        self.eta0 = parameters.eta0 or 0.0
        self.n = max(problem.n_examples, 1)
        """l, the number of examples: the largest so far, as a stream holds only its last batch."""

    def begin_epoch(self, rng: np.random.Generator) -> None:
        super().begin_epoch(rng)
        if not self.eta0:
            self.eta0 = self._select_eta0(rng)

    def visit(self, examples: np.ndarray) -> None:
        loss, self.scale, self.step = self._run(examples, self.w, self.scale, self.step, self.eta0, self.n)
        self.loss += loss

    def prediction_weights(self) -> np.ndarray:
        return self.scale * self.w

    def progress(self) -> Progress:
        norm = self.scale**2 * float(self.w @ self.w)
        return Progress(self.loss, norm / 2 + self.parameters.C * self.loss, None, None)

    def extend(self, problem: Problem) -> None:
        super().extend(problem)
        self.n = max(self.n, problem.n_examples)

    def _run(
        self, examples: np.ndarray, v: np.ndarray, scale: float, step: int, eta0: float, n: int
    ) -> tuple[float, float, int]:
        C = self.parameters.C
        shrink = eta0 / (C * n)
        if shrink >= 1:
            raise ValueError(
                f"SGD cannot start: η₀/(C·l) = {shrink:.3g} with C = {C}, l = {n} examples and η₀ = {eta0} "
                "would turn the weights around; raise solver.C or lower solver.eta0"
            )
        decay = C * n if self.parameters.schedule == "bottou" else C
        return call(_visit, self.problem, examples, v, scale, step, eta0, C, n, decay, self.buffer)

    def _select_eta0(self, rng: np.random.Generator) -> float:
        """The candidate whose single epoch on a sample of 1,000 examples ends at the lowest primal objective."""
        sample = rng.permutation(self.problem.n_examples)[:SAMPLE]
        C = self.parameters.C
        primals = {}
        for eta0 in CANDIDATES:
            if eta0 >= C * len(sample):
                continue
            v = self.prediction_weights().copy()
            _, scale, _ = self._run(sample, v, 1.0, 0, eta0, len(sample))
            w = scale * v
            primals[eta0] = float(w @ w) / 2 + C * slacks(self.problem, w, sample).sum
        if not primals:
            raise ValueError(
                f"solver.C = {C} is too small for SGD on {len(sample)} examples: raise it or set solver.eta0"
            )
        return min(primals, key=primals.__getitem__)
