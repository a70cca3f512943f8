"""Corrections: what a loaded component learns from a few examples, without the examples that it was trained on.

A passive–aggressive step (Crammer et al. 2006) changes w as little as possible. Here, the change is measured by how
often each feature was seen in training: weights that stand in many other sentences hardly move.
"""

from dataclasses import dataclass

import numpy as np

from ..kernels import kernel
from .learner import NO_EXAMPLES, Learner
from .parameters import Parameters
from .planes import dot, find_plane, plane_buffer
from .problem import Problem, Rates, call


@dataclass(frozen=True, kw_only=True)
class Correction(Parameters):
    """Corrections of a component that was loaded: passive–aggressive steps that hardly move frequent features.

    max_updates: of an example in one visit; they end as soon as it is predicted correctly. If it is so before, those of
        `Corrections.with_margin` end at the margin.
    """

    corrects = True

    max_updates: int = 10

    @property
    def learner(self) -> type[Learner]:
        return CorrectionLearner


class CorrectionLearner(Learner):
    """w ← w + τ D ΔΦ(ŷ) until the prediction is right; τ = (Δ − wᵀΔΦ) / ΔΦᵀDΔΦ, D = diag(`Corrections.rates`).

    ŷ is decoded with its loss. An example that is predicted correctly, by `Corrections.margin`, changes nothing, except
    with `Corrections.with_margin`: then it takes steps until wᵀΔΦ ≥ Δ for all structures.
    """

    parameters: Correction

    def visit(self, examples: np.ndarray) -> None:
        given, plane = self.problem.corrections, plane_buffer(self.problem.max_plane_entries)
        rates = NO_RATES if given.rates is None else given.rates
        limits = self.parameters.max_updates, given.with_margin, given.margin
        self.loss += call(_visit, self.problem, examples, self.w, rates, *limits, plane)

    def change(self, problem: Problem, dropped: np.ndarray = NO_EXAMPLES, subtracts: bool = True) -> None:
        before = len(self.w)
        super().change(problem, dropped, subtracts)
        if problem.corrections.initial is not None:
            self.w[before:] = problem.corrections.initial(before)


TOLERANCE = 0.01
"""Violations of at most this part of the loss are none: smaller steps decide no prediction."""

NEW_RATE = np.float32(1.0)
"""The rate of weights that were never seen in training."""

NO_RATES = Rates(np.zeros(0, np.float32), np.zeros(0, np.float32), np.ones(1, np.int64))


@kernel
def _rate(rates, index):
    n_single = len(rates.single)
    if index < n_single:
        return rates.single[index]
    block = (index - n_single) // rates.size[0]
    return rates.blocks[block] if block < len(rates.blocks) else NEW_RATE


@kernel
def _step(weights, rates, violation, plane, size):
    """w ← argmin ½(w′ − w)ᵀD⁻¹(w′ − w) such that w′ᵀΔΦ = wᵀΔΦ + violation, D = diag(rates)."""
    gain = 0.0
    for k in range(size):
        gain += _rate(rates, plane.indices[k]) * plane.values[k] * plane.values[k]
    if gain > 0.0:
        for k in range(size):
            index = plane.indices[k]
            weights[index] += violation / gain * _rate(rates, index) * plane.values[k]


@kernel
def _visit(oracle, data, examples, weights, rates, max_updates, with_margin, margin, plane):
    suffered = 0.0
    for example in examples:
        for_margin = False
        for update in range(max_updates):
            _, loss = find_plane(oracle, data, example, weights, margin, plane)
            if update == 0:
                suffered += loss
                for_margin = with_margin and loss == 0.0
            if loss == 0.0 and not for_margin:
                break
            size, loss = find_plane(oracle, data, example, weights, 1.0, plane)
            violation = loss - dot(weights, plane.indices, plane.values, size)
            if for_margin and violation <= TOLERANCE * loss:
                break
            _step(weights, rates, violation, plane, size)
    return suffered


@kernel
def _add_losses(oracle, data, examples, weights, margin, plane, losses):
    for k in range(len(examples)):
        _, losses[k] = find_plane(oracle, data, examples[k], weights, margin, plane)


def losses(problem: Problem, weights: np.ndarray, examples: np.ndarray) -> np.ndarray:
    """Δ of what w, float64 [d], predicts for each of these examples, int64 [m]: float64 [m], 0 where it is right.

    Structures that are behind by less than `Corrections.margin` count as predicted.
    """
    values, margin = np.zeros(len(examples)), problem.corrections.margin
    call(_add_losses, problem, examples, weights, margin, plane_buffer(problem.max_plane_entries), values)
    return values
