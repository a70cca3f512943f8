"""The losses L_{β,γ} and the solvers that learn them, in plain Python over enumerated structures."""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import entr, logsumexp, softmax

from spacy_ssvm.models.chain.data import Chains
from spacy_ssvm.solvers.problem import Problem
from spacy_ssvm.structures.tree.parts import SPANNING

from ..models.tree.enumeration import tree_problem
from ..problems import all_planes, random_problem
from .reference import Enumerated


class Family(NamedTuple):
    """All structures of each example, and a member of the loss family.

    differences: ΔΦ [Y_i, d]; losses: Δ [Y_i].
    """

    differences: list[np.ndarray]
    losses: list[np.ndarray]
    beta: float
    gamma: float

    @property
    def examples(self) -> range:
        return range(len(self.losses))

    def loss(self, example: int, w: np.ndarray) -> tuple[float, np.ndarray]:
        """L and −∇L; at β = ∞ a subgradient, of the structure that the decoder prefers among the best."""
        violations = self.gamma * self.losses[example] - self.differences[example] @ w
        if self.beta == np.inf:
            best = np.flatnonzero(violations >= violations.max() - 1e-9)[0]
            return violations[best], self.differences[example][best]
        return (
            logsumexp(self.beta * violations) / self.beta,
            softmax(self.beta * violations) @ self.differences[example],
        )

    def primal(self, w: np.ndarray, C: float) -> tuple[float, np.ndarray]:
        """½‖w‖² + C Σ L, and its gradient."""
        found = [self.loss(example, w) for example in self.examples]
        return w @ w / 2 + C * sum(value for value, _ in found), w - C * sum(descent for _, descent in found)

    def dual(self, w: np.ndarray, C: float) -> float:
        """C Σ_i (γ E[Δ] + H/β) − ½‖C Σ_i E[ΔΦ]‖² under P_i(·; w): the dual objective at α_i = C · P_i."""
        linear, summed = 0.0, np.zeros_like(w)
        for differences, losses in zip(self.differences, self.losses, strict=True):
            p = softmax(self.beta * (self.gamma * losses - differences @ w))
            linear += self.gamma * (p @ losses) + entr(p).sum() / self.beta
            summed += p @ differences
        return C * linear - (C * summed) @ (C * summed) / 2


def family(problem: Problem, beta: float, gamma: float) -> Family:
    """By enumeration, chains in the order in which the decoder prefers structures of equal score."""
    if isinstance(problem.data, Chains):
        known = Enumerated(problem)
        return Family(known.differences, known.losses, beta, gamma)
    planes = all_planes(problem)
    members = [planes.examples == example for example in range(problem.n_examples)]
    return Family([planes.differences[m] for m in members], [planes.losses[m] for m in members], beta, gamma)


PROBLEMS = {
    "indicators": lambda: random_problem(1, n_examples=20, max_length=4, n_rows=8),
    "real values": lambda: random_problem(2, n_examples=20, max_length=4, n_rows=8, real=True),
    "projective trees": lambda: tree_problem(4),
    "spanning trees": lambda: tree_problem(4, structure=SPANNING, max_length=3),
}


@cache
def problem_of(kind: str) -> Problem:
    return PROBLEMS[kind]()


@cache
def family_of(kind: str, beta: float, gamma: float) -> Family:
    return family(problem_of(kind), beta, gamma)


def dca(known: Family, examples: np.ndarray, w: np.ndarray, C: float) -> Iterator[np.ndarray]:
    """w after each visit."""
    for example in examples:
        value, descent = known.loss(example, w)
        norm = descent @ descent
        if norm > 0:
            w = w + max(0.0, min(C, value / norm)) * descent
        yield w


def sgd(
    known: Family, examples: np.ndarray, w: np.ndarray, C: float, eta0: float, schedule: str
) -> Iterator[np.ndarray]:
    """w after each visit."""
    n = len(known.losses)
    for t, example in enumerate(examples, 1):
        if schedule == "epochs":
            eta = eta0 / (1 + (t - 1) / n)
        else:
            eta = eta0 / (1 + eta0 * (t - 1) / (C * n if schedule == "bottou" else C)) ** 0.75
        w = (1 - eta / (C * n)) * w + eta * known.loss(example, w)[1]
        yield w
