"""Corrections: a loaded component learns from a few examples, without the examples that it was trained on.

A passive–aggressive step (Crammer et al. 2006) changes w as little as possible. Here, the change is measured by how
often each feature was seen in training: weights that stand in many other sentences hardly move. A label that is new
cannot be told from others by rare features alone: its examples are remembered, and solved together.
"""

from dataclasses import dataclass

import numpy as np

from ..growth import appended
from ..kernels import kernel
from . import working_set
from .dual import visit_each
from .learner import NO_EXAMPLES, Learner
from .oracle_pass import add_slack
from .parameters import Parameters
from .planes import dot, find_plane, plane_buffer
from .problem import Problem, Rates, call
from .working_set import NO_PLANE, add, drop_inactive, dual_slack, find, forget_all, plane_dot, read_plane, total_alpha


@dataclass(frozen=True, kw_only=True)
class Correction(Parameters):
    """Corrections of a component that was loaded: passive–aggressive steps that hardly move frequent features.

    max_updates: per visit of an example; they end as soon as it is predicted correctly.
    max_remembered: the number of examples with new labels that have dual variables, at most; the ones visited longest
        ago are forgotten first, without a change of w.
    """

    corrects = True

    max_updates: int = 10
    max_remembered: int = 1000


class CorrectionLearner(Learner, of=Correction):
    """w ← w + τ D ΔΦ(ŷ) until the prediction is right; τ = (Δ − wᵀΔΦ) / ΔΦᵀDΔΦ, D = diag(`Corrections.rates`).

    ŷ is decoded with Δ, which is `Corrections.goal` of its loss. An example that is predicted correctly, by
    `Corrections.margin`, changes nothing.

    Examples with new labels are a problem of their own: ½(w − w₀)ᵀD′⁻¹(w − w₀) + C Σ ξ_i², D′_f = D_f^(1/16), where w₀
    is w without their planes. It is solved by dual coordinate descent, as by `dcd`: w = w₀ + Σ α D′ΔΦ.
    """

    parameters: Correction

    def __init__(self, parameters: Correction, problem: Problem, weights: np.ndarray | None = None) -> None:
        super().__init__(parameters, problem, weights)
        self.planes = working_set.empty(problem.n_examples)
        self._remembered = dict[int, None]()
        """The examples that have planes, the last visited one last."""
        self._roots = NO_RATES
        """The rates for new labels, computed so far."""

    def begin_epoch(self, rng: np.random.Generator) -> None:
        super().begin_epoch(rng)
        if self._remembered:
            remembered = np.array(list(self._remembered), np.int64)
            rates = self._rates_for_new()
            for _ in range(INNER_PASSES):
                _inner_pass(rng.permutation(remembered), self.w, rates, self.planes)

    def visit(self, examples: np.ndarray) -> None:
        have_new = self.problem.corrections.have_new_labels
        if have_new is not None:
            self._learn_new(examples[have_new[examples]])
            examples = examples[~have_new[examples]]
        limits = self.parameters.max_updates, self.problem.corrections.margin, self.problem.corrections.goal
        plane = plane_buffer(self.problem.max_plane_entries)
        self.loss += call(_visit, self.problem, examples, self.w, self._rates, *limits, plane)

    @property
    def _rates(self) -> Rates:
        given = self.problem.corrections.rates
        return NO_RATES if given is None else given

    def _rates_for_new(self) -> Rates:
        """D′; only blocks that have come since the last call are computed."""
        given, known = self._rates, self._roots.blocks
        blocks = appended(known, _root(given.blocks[len(known) :]))
        self._roots = Rates(_root(given.single), blocks, given.size)
        return self._roots

    def _learn_new(self, examples: np.ndarray) -> None:
        """Visit examples with new labels, and remember them; the ones that are still wrong are visited again."""
        wrong, rates = examples, self._rates_for_new()
        for visit in range(self.parameters.max_updates):
            if not len(wrong):
                break
            suffered = visit_each(_learn, self.problem, self.planes, wrong, self.w, rates)
            self.loss += suffered.sum if visit == 0 else 0.0
            wrong = wrong[losses(self.problem, self.w, wrong) > 0]
        for example in examples.tolist():
            self._remembered.pop(example, None)
            self._remembered[example] = None
        oldest = list(self._remembered)[: -self.parameters.max_remembered]
        self._forget(np.array(oldest, np.int64))

    def _forget(self, examples: np.ndarray) -> None:
        forget_all(self.planes, examples)
        for example in examples.tolist():
            self._remembered.pop(example, None)

    def change(self, problem: Problem, dropped: np.ndarray = NO_EXAMPLES, subtracts: bool = True) -> None:
        before = len(self.w)
        self._forget(dropped)
        super().change(problem, dropped, subtracts)
        self.planes = working_set.resized(self.planes, problem.n_examples)
        if problem.corrections.initial is not None:
            self.w[before:] = problem.corrections.initial(before)


C = 1.0
"""C of the problem of new labels. It fits a few examples: their remaining ξ is a few hundredths of Δ."""

INNER_PASSES, SWEEPS = 5, 3
"""Passes over the working sets at the beginning of an epoch, and over one of them in a visit, as in `dcd`."""

TOLERANCE = 0.01
"""Violations up to this fraction of the loss are ignored: smaller steps decide no prediction."""

NEW_RATE = np.float32(1.0)
"""The rate of weights that were never seen in training."""

NO_RATES = Rates(np.zeros(0, np.float32), np.zeros(0, np.float32), np.ones(1, np.int64))


def _root(rates: np.ndarray) -> np.ndarray:
    """The rates to the power of 1/16: with it, frequent features can tell a new label from others."""
    return np.sqrt(np.sqrt(np.sqrt(np.sqrt(rates))))


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
def _visit(oracle, data, examples, weights, rates, max_updates, margin, goal, plane):
    suffered = 0.0
    for example in examples:
        for update in range(max_updates):
            _, loss = find_plane(oracle, data, example, weights, margin, plane)
            if update == 0:
                suffered += loss
            if loss == 0.0:
                break
            size, loss = find_plane(oracle, data, example, weights, goal, plane)
            _step(weights, rates, goal * loss - dot(weights, plane.indices, plane.values, size), plane, size)
    return suffered


@kernel
def _sweep(example, weights, rates, planes):
    """A pass over the dual variables of an example, newest plane first; rates: D′; `planes.norm` is ΔΦᵀD′ΔΦ."""
    total = total_alpha(planes, example)
    p = planes.head[example]
    while p != NO_PLANE:
        violation = planes.loss[p] - plane_dot(weights, planes, p) - total / (2.0 * C)
        alpha = max(0.0, planes.alpha[p] + violation / (planes.norm[p] + 1.0 / (2.0 * C)))
        step = alpha - planes.alpha[p]
        if step != 0.0:
            indices, values = read_plane(planes, p)
            for k in range(len(indices)):
                weights[indices[k]] += step * _rate(rates, indices[k]) * values[k]
            total += step
            planes.alpha[p] = alpha
        p = planes.next[p]


@kernel
def _solve(example, weights, rates, planes):
    for _ in range(SWEEPS):
        _sweep(example, weights, rates, planes)
    drop_inactive(planes, example)


@kernel
def _inner_pass(examples, weights, rates, planes):
    for example in examples:
        _solve(example, weights, rates, planes)


@kernel
def _learn(oracle, data, examples, weights, rates, sums, planes, plane):
    for example in examples:
        size, loss = find_plane(oracle, data, example, weights, 1.0, plane)
        violation = loss - dot(weights, plane.indices, plane.values, size)
        add_slack(sums, violation)
        is_violated = violation - dual_slack(planes, example, C) > TOLERANCE * loss
        if is_violated and find(planes, example, plane, size, loss) == NO_PLANE:
            p, norm = add(planes, example, plane, size, loss), 0.0
            for k in range(size):
                norm += _rate(rates, plane.indices[k]) * plane.values[k] * plane.values[k]
            planes.norm[p] = norm
        _solve(example, weights, rates, planes)


@kernel
def _add_losses(oracle, data, examples, weights, margin, plane, losses):
    for k in range(len(examples)):
        _, losses[k] = find_plane(oracle, data, examples[k], weights, margin, plane)


def losses(problem: Problem, weights: np.ndarray, examples: np.ndarray) -> np.ndarray:
    """Δ, float64 [m], of the prediction by w, float64 [d], for each of these examples, int64 [m]; 0 if it is right.

    Structures that score lower by less than `Corrections.margin` of their loss count as predicted.
    """
    values, margin = np.zeros(len(examples)), problem.corrections.margin
    call(_add_losses, problem, examples, weights, margin, plane_buffer(problem.max_plane_entries), values)
    return values
