"""The online algorithms in plain Python over enumerated structures, one step at a time."""

from collections.abc import Iterator

import numpy as np

from spacy_ssvm.solvers.problem import Problem

from ..models.chain.enumeration import joint_feature, loss, sequences


class Enumerated:
    """All planes of each example, dense, in the order in which the decoder prefers structures of equal score."""

    def __init__(self, problem: Problem) -> None:
        chains, d = problem.data, problem.dimension
        self.n, self.d = problem.n_examples, d
        self.differences, self.losses = [], []
        for example in range(self.n):
            ys = sorted(sequences(chains, example), key=lambda y: y[::-1])
            gold = joint_feature(chains, example, chains.gold[slice(*chains.starts[example : example + 2])], d)
            self.differences.append(np.array([gold - joint_feature(chains, example, y, d) for y in ys]))
            self.losses.append(np.array([loss(chains, example, y) for y in ys]))

    def oracle(self, example: int, w: np.ndarray, loss_scale: float) -> tuple[np.ndarray, float]:
        """ΔΦ and Δ of the structure that maximises wᵀΦ + loss_scale · Δ."""
        values = loss_scale * self.losses[example] - self.differences[example] @ w
        best = np.flatnonzero(values >= values.max() - 1e-9)[0]
        return self.differences[example][best], float(self.losses[example][best])

    def primal(self, w: np.ndarray, C: float, examples: np.ndarray) -> float:
        """½‖w‖² + C Σ ξ_i over `examples`."""
        return w @ w / 2 + C * sum((self.losses[i] - self.differences[i] @ w).max() for i in examples)


def perceptron(planes: Enumerated, examples: np.ndarray) -> Iterator[np.ndarray]:
    """w after each visit."""
    w = np.zeros(planes.d)
    for example in examples:
        difference, _ = planes.oracle(example, w, 0.0)
        w = w + difference
        yield w
