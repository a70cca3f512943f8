"""Sums of the losses L_{β,γ}, β < ∞, and of their gradients; maximum likelihood by AdaGrad.

The gradient of an example is a long list of (index, value) pairs with repeated indices.
"""

from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from ..threads import in_threads
from .planes import axpy, plane_buffer
from .problem import Problem, call
from .vectors import combination


class LossSum(NamedTuple):
    """Σ_i L_{β,γ} at one w, and its descent direction −Σ_i ∇L_{β,γ}, float64 [d]."""

    value: float
    descent: np.ndarray


@kernel
def gather(buffer, entries, dense):
    """Add up a gradient's entries of equal index, and drop zeros. Returns the number that remains.

    The entries stay in order of first occurrence. The time is linear in the number of entries; `planes.merge` sorts.

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
def _add_up(oracle, data, examples, weights, beta, gamma, losses, descent, buffer):
    for k in range(len(examples)):
        entries, losses[k] = oracle(data, examples[k], weights, beta, gamma, buffer.indices, buffer.values)
        axpy(descent, 1.0, buffer.indices, buffer.values, entries)


def sum_losses(
    problem: Problem,
    weights: np.ndarray,
    beta: float,
    gamma: float,
    examples: np.ndarray | None = None,
    n_threads: int = 1,
) -> LossSum:
    """Call the marginal oracles of all examples, or of the given ones (int64), at w, float64 [d]: one pass.

    Each thread adds up the gradients of its own share, so the number of threads changes `descent` by rounding.

    beta: β, finite. gamma: γ.

    Raises:
        ValueError: the structure does not offer exact marginals.
    """
    if problem.passes is not None:
        return LossSum(*problem.passes.losses(weights))
    numbers = np.arange(problem.n_examples) if examples is None else examples
    losses = np.zeros(len(numbers) + 1)

    def add_up(first: int) -> np.ndarray:
        # Shares are interleaved, because neighbouring examples tend to have similar lengths.
        share, own_losses = np.ascontiguousarray(numbers[first::n_threads]), np.zeros(len(numbers[first::n_threads]))
        descent, buffer = np.zeros(problem.dimension), plane_buffer(problem.max_gradient_entries)
        arguments = share, weights, beta, gamma, own_losses, descent, buffer
        call(_add_up, problem, *arguments, kind="marginal")
        losses[1 + first :: n_threads] = own_losses
        return descent

    descent, *others = in_threads(n_threads, add_up, range(n_threads))
    for other in others:
        combination([1.0, 1.0], [descent, other], n_threads, out=descent)
    # In the order of the examples, for every number of threads.
    return LossSum(float(np.add.accumulate(losses)[-1]), descent)


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
    """Maximum-likelihood weights, float64 [d], by `epochs` passes of AdaGrad (Duchi et al. 2011) in random order.

    For small auxiliary models rather than for components.

    problem: must have a marginal oracle. rate: AdaGrad's learning rate.
    """
    weights, squares = np.zeros(problem.dimension), np.zeros(problem.dimension)
    indices, values = np.zeros(problem.max_gradient_entries, np.int64), np.zeros(problem.max_gradient_entries)
    rng = np.random.default_rng(seed)
    for _ in range(epochs):
        order = rng.permutation(problem.n_examples)
        call(_adagrad_pass, problem, order, weights, squares, rate, indices, values, kind="marginal")
    return weights
