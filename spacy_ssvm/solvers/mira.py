"""1-best and k-best MIRA, max-loss or prediction-based (Crammer et al. 2005; Martins et al. 2010, §4)."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..kernels import kernel
from .averages import AveragedLearner, averaged_axpy
from .pairs import smo
from .parameters import Parameters, require_positive, require_positive_whole
from .planes import dot, find_plane, find_planes, kbest_buffer, plane_buffer, plane_product, squared_norm, take_plane
from .problem import Kind, call


@dataclass(frozen=True, kw_only=True)
class BestStructures(Parameters):
    """Parameters of a step for the k best structures of an example.

    Attributes:
        k: number of structures of an example in a step; above 1, the model must offer the k best structures exactly.
    """

    rule = "mixed"

    CHECKS = {"k": require_positive_whole}

    k: int = 1

    @property
    def adds_planes_only(self) -> bool:
        return self.k == 1


@dataclass(frozen=True, kw_only=True)
class Mira(BestStructures):
    """Max-loss MIRA, averaged: a step minimises the change of w, ½‖w′ − w‖², plus C times the largest violation among
    the k best structures, which are decoded with their loss (Martins et al. 2010, equations 15 and 17).

    Attributes:
        C: weight of the loss; the largest step where k = 1.
    """

    CHECKS = {"C": require_positive}

    C: float = 0.1


@dataclass(frozen=True, kw_only=True)
class PredictionMira(BestStructures):
    """Prediction-based MIRA, averaged: the smallest change of w after which none of the k best structures, which are
    decoded without their loss, is violated (Chang & Yih 2013 §2.1; Martins et al. 2010, footnote 7).
    """


class MiraLearner(AveragedLearner, of=Mira):
    """w ← argmin ½‖w′ − w‖² + Cξ, ξ ≥ Δ − w′ᵀΔΦ(ŷ) and ξ ≥ 0, for the k best ŷ by wᵀΦ(x_i, y) + Δ(y_i, y).

    For k = 1 that is w ← w + min(C, max(0, Δ − wᵀΔΦ) / ‖ΔΦ‖²) ΔΦ(ŷ). It predicts with the mean of w over all visits.
    """

    parameters: Mira | PredictionMira
    loss_scale: ClassVar[float] = 1.0

    @property
    def needs(self) -> Kind:
        return "kbest" if self.parameters.k > 1 else "max"

    def visit(self, examples: np.ndarray) -> None:
        plane = plane_buffer(self.problem.max_plane_entries)
        C = self.parameters.C if isinstance(self.parameters, Mira) else math.inf
        state = examples, self.w, self.weighted_steps, self.visits, self.loss_scale, C
        if self.parameters.k == 1:
            self.loss += call(_visit, self.problem, *state, plane)
        else:
            k, unit = self.parameters.k, self.problem.unit
            self.loss += call(_kbest_visit, self.problem, *state, k, unit, plane, kind="kbest")
        self.visits += len(examples)


class PredictionMiraLearner(MiraLearner, of=PredictionMira):
    """MIRA for the k best ŷ by wᵀΦ(x_i, y), with ξ = 0."""

    loss_scale = 0.0


TOLERANCE = 1e-10
"""Violation, in units of the loss, that the k-best steps may leave."""

HILDRETH_PASSES = 10_000
"""Passes of Hildreth's algorithm, at most: if constraints contradict each other, α grows without bound; w does not."""


@kernel
def _visit(oracle, data, examples, weights, weighted_steps, visits, loss_scale, C, plane):
    """Equation 15."""
    total = 0.0
    for example in examples:
        size, loss = find_plane(oracle, data, example, weights, loss_scale, plane)
        slack = max(0.0, loss - dot(weights, plane.indices, plane.values, size))
        norm = squared_norm(plane.values, size)
        if norm > 0.0:
            averaged_axpy(weights, weighted_steps, float(visits), min(C, slack / norm), plane, size)
        total += slack
        visits += 1
    return total


@kernel
def _constraints(weights, best, n_planes, plane, gram, linear):
    """Fill in G = ΔΦᵀΔΦ and b = g of planes 1 … n_planes; plane 0 is gold, whose entries stay 0."""
    for j in range(n_planes):
        size, loss = take_plane(best, j, plane)
        linear[j + 1] = loss - dot(weights, plane.indices, plane.values, size)
        for k in range(j + 1):
            gram[j + 1, k + 1] = gram[k + 1, j + 1] = plane_product(best, k, plane, size)


@kernel
def hildreth(gram, linear, alpha, tolerance):
    """Solve max_α Σ_j α_j b_j − ½ αᵀGα for α ≥ 0 with no other bound, where G is the planes' Gram matrix.

    Coordinate by coordinate, until a pass moves no constraint by more than `tolerance` (Censor & Zenios 1997). alpha is
    the initial point, and receives the result; it stays 0 for planes of zero norm, which no w can satisfy. If
    constraints contradict each other, the result satisfies the last one visited.
    """
    size = len(alpha)
    for _ in range(HILDRETH_PASSES):
        largest = 0.0
        for j in range(size):
            if gram[j, j] > 0.0:
                g = linear[j]
                for k in range(size):
                    g -= gram[j, k] * alpha[k]
                moved = max(0.0, alpha[j] + g / gram[j, j])
                largest = max(largest, abs(moved - alpha[j]) * gram[j, j])
                alpha[j] = moved
        if largest <= tolerance:
            return


@kernel
def _kbest_visit(oracle, data, examples, weights, weighted_steps, visits, loss_scale, C, k, unit, plane):
    """Equation 17 restricted to the k best planes; C = ∞ is the programme without slack."""
    best = kbest_buffer(k, len(plane.indices))
    grams, linears, alphas = np.zeros((k + 1, k + 1)), np.zeros(k + 1), np.zeros(k + 1)
    total = 0.0
    for example in examples:
        n_planes = find_planes(oracle, data, example, weights, loss_scale, k, best, plane)
        m = n_planes + 1
        gram, linear, alpha = grams[:m, :m], linears[:m], alphas[:m]
        _constraints(weights, best, n_planes, plane, gram, linear)
        alpha[:] = 0.0
        if np.isinf(C):
            hildreth(gram, linear, alpha, TOLERANCE * unit)
        else:
            alpha[0] = C
            smo(gram, linear, alpha, TOLERANCE * C * unit)
        for j in range(n_planes):
            if alpha[j + 1] > 0.0:
                size, _ = take_plane(best, j, plane)
                averaged_axpy(weights, weighted_steps, float(visits), alpha[j + 1], plane, size)
        total += linear.max()
        visits += 1
    return total
