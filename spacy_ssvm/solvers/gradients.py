"""Gradients of the losses L_{β,γ}, β < ∞: long lists of pairs whose indices repeat; maximum likelihood by AdaGrad."""

import math
from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from ..threads import in_threads
from .parameters import LossFamily
from .planes import axpy, plane_buffer
from .problem import Problem, call


class LossSum(NamedTuple):
    """Σ_i L_{β,γ} at one w, and its direction of descent −Σ_i ∇L_{β,γ}, float64 [d]."""

    value: float
    descent: np.ndarray


@kernel
def gather(buffer, entries, dense):
    """Add up a gradient's entries of equal index, drop zeros; returns how many remain, by first appearance.

    Takes a time proportional to the number of entries, where `planes.merge` sorts them.

    dense: float64 [d], zeros before and after.
    """
    for k in range(entries):
        dense[buffer.indices[k]] += buffer.values[k]
    kept = 0
    for k in range(entries):
        index = buffer.indices[k]
        if dense[index] != 0.0:
            buffer.indices[kept] = index
            buffer.values[kept] = dense[index]
            dense[index] = 0.0
            kept += 1
    return kept


@kernel
def _sum_losses(oracle, data, examples, weights, beta, gamma, descent, buffer):
    total = 0.0
    for example in examples:
        entries, loss = oracle(data, example, weights, beta, gamma, buffer.indices, buffer.values)
        axpy(descent, 1.0, buffer.indices, buffer.values, entries)
        total += loss
    return total


def sum_losses(
    problem: Problem,
    weights: np.ndarray,
    parameters: LossFamily,
    examples: np.ndarray | None = None,
    n_threads: int = 1,
) -> LossSum:
    """Evaluate the marginal oracles of all examples, or of these (int64), at w, float64 [d]: one pass.

    Each thread adds up a share of its own: with another number of threads, sums differ by rounding.

    parameters: name β < ∞ and γ.

    Raises:
        ValueError: the structure does not offer exact marginals.
    """
    chosen = np.arange(problem.n_examples) if examples is None else examples
    beta, gamma = parameters.beta, parameters.gamma

    def add_up(share: np.ndarray) -> LossSum:
        descent, buffer = np.zeros(problem.dimension), plane_buffer(problem.max_gradient_entries)
        state = share, weights, beta, gamma, descent, buffer
        return LossSum(call(_sum_losses, problem, *state, kind="marginal"), descent)

    # Every so-many-th example, so that neighbours of like lengths are shared out.
    shares = [np.ascontiguousarray(chosen[k::n_threads]) for k in range(n_threads)]
    total, *others = in_threads(n_threads, add_up, shares)
    for other in others:
        total.descent[:] += other.descent
    return LossSum(math.fsum([total.value, *(other.value for other in others)]), total.descent)


@kernel
def _adagrad_pass(oracle, data, examples, weights, squares, rate, indices, values):
    for example in examples:
        entries, _ = oracle(data, example, weights, 1.0, 0.0, indices, values)
        for k in range(entries):
            if values[k] == 0.0:
                continue
            squares[indices[k]] += values[k] * values[k]
            weights[indices[k]] += rate * values[k] / np.sqrt(squares[indices[k]])


def maximum_likelihood(problem: Problem, epochs: int, rate: float, seed: int) -> np.ndarray:
    """Weights float64 [d] that make the gold structures likely, after so many passes of AdaGrad in random order.

    For small auxiliary models rather than for components (Duchi et al. 2011).

    problem: must have a marginal oracle. rate: of the steps.
    """
    weights, squares = np.zeros(problem.dimension), np.zeros(problem.dimension)
    indices, values = np.zeros(problem.max_gradient_entries, np.int64), np.zeros(problem.max_gradient_entries)
    rng = np.random.default_rng(seed)
    for _ in range(epochs):
        order = rng.permutation(problem.n_examples)
        call(_adagrad_pass, problem, order, weights, squares, rate, indices, values, kind="marginal")
    return weights
