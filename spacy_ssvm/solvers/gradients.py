"""Losses L_{β,γ}, β < ∞, and their gradients, from the scores of cliques (Martins et al. 2010, equation 4).

L_{β,γ}(w) = (1/β) log Σ_y exp(β(γ Δ(y_i, y) − wᵀΔΦ_i(y))), and −∇L_{β,γ}(w) = Φ(x_i, y_i) − E[Φ(x_i, y)] with
y ~ exp(β(wᵀΦ(x_i, y) + γ Δ(y_i, y))): a sum over cliques, each times minus its surplus.
"""

from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from ..threads import in_threads
from .problem import RULED_OUT, Passes, Problem, call
from .vectors import combination

MIN_SURPLUS = 1e-12
"""Surpluses of at most this are taken for 0: a hundredth of the rounding errors of sums of gradients."""


class LossSum(NamedTuple):
    """Σ_i L_{β,γ} at one w, and its descent direction −Σ_i ∇L_{β,γ}, float64 [d]."""

    value: float
    descent: np.ndarray


@kernel
def clique_buffer(sizes, examples):
    """Room for the cliques of any of these examples: float64 [5, m]. sizes: int64 [n], of all examples."""
    largest = 0
    for example in examples:
        largest = max(largest, sizes[example])
    return np.empty((5, largest))


@kernel
def find_gradient(score, infer, data, example, weights, beta, gamma, size, buffer):
    """Write the scores at w and minus the surpluses of an example's `size` cliques; these move w by −∇L.

    Returns the scores and the descent, float64 [size], both in the buffer, and L_{β,γ}(w).
    """
    scores, costs, wrong = buffer[0, :size], buffer[1, :size], buffer[2, :size]
    mixed, descent = buffer[3, :size], buffer[4, :size]
    score(data, example, weights, scores, costs, wrong)
    for k in range(size):
        mixed[k] = scores[k]
        if scores[k] > RULED_OUT:
            mixed[k] = beta * (scores[k] + gamma * costs[k])
    loss = infer(data, example, mixed, descent)
    for k in range(size):
        descent[k] = -descent[k] if abs(descent[k]) > MIN_SURPLUS else 0.0
    return scores, descent, max(0.0, loss / beta)


@kernel
def _add_up(score, infer, move, data, examples, weights, beta, gamma, sizes, losses, descent):
    buffer = clique_buffer(sizes, examples)
    for k in range(len(examples)):
        size = sizes[examples[k]]
        _, steps, losses[k] = find_gradient(score, infer, data, examples[k], weights, beta, gamma, size, buffer)
        move(data, examples[k], descent, steps)


def sum_losses(
    problem: Problem,
    weights: np.ndarray,
    beta: float,
    gamma: float,
    examples: np.ndarray | None = None,
    n_threads: int = 1,
) -> LossSum:
    """Add up the losses of all examples, or of the given ones (int64), at w, float64 [d]: one pass.

    Each thread adds up the gradients of its own share, so the number of threads changes `descent` by rounding.

    Args:
        beta: β, finite.
        gamma: γ.

    Raises:
        ValueError: the structure does not offer exact marginals.
    """
    if isinstance(problem.data, Passes):
        return LossSum(*problem.data.losses(weights))
    numbers = np.arange(problem.n_examples) if examples is None else examples
    sizes = clique_sizes(problem)
    losses = np.zeros(len(numbers) + 1)

    def add_up(first: int) -> np.ndarray:
        # Shares are interleaved, because neighbouring examples tend to have similar lengths.
        share, own_losses = np.ascontiguousarray(numbers[first::n_threads]), np.zeros(len(numbers[first::n_threads]))
        descent = np.zeros(problem.dimension)
        call(_add_up, problem, share, weights, beta, gamma, sizes, own_losses, descent, kind="cliques")
        losses[1 + first :: n_threads] = own_losses
        return descent

    descent, *others = in_threads(n_threads, add_up, range(n_threads))
    for other in others:
        combination([1.0, 1.0], [descent, other], n_threads, out=descent)
    # In the order of the examples, for every number of threads.
    return LossSum(float(np.add.accumulate(losses)[-1]), descent)


def clique_sizes(problem: Problem) -> np.ndarray:
    """The number of cliques of each example, int64 [n]; of none where the structure does not offer them."""
    return np.zeros(0, np.int64) if problem.cliques is None else problem.cliques.sizes
