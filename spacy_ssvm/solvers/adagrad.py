"""Maximum likelihood by AdaGrad (Duchi et al. 2011), for small auxiliary models rather than for components."""

import numpy as np

from ..kernels import kernel
from .problem import Problem, call


@kernel
def _visit(oracle, data, examples, weights, squares, rate, indices, values):
    total = 0.0
    for example in examples:
        entries, loss = oracle(data, example, weights, 1.0, 0.0, indices, values)
        for k in range(entries):
            if values[k] == 0.0:
                continue
            squares[indices[k]] += values[k] * values[k]
            weights[indices[k]] += rate * values[k] / np.sqrt(squares[indices[k]])
        total += loss
    return total


def maximum_likelihood(problem: Problem, epochs: int, rate: float, seed: int) -> np.ndarray:
    """Weights float64 [d] that make the gold structures likely, after so many passes in random order.

    problem: must have a marginal oracle. rate: of the steps.
    """
    weights, squares = np.zeros(problem.dimension), np.zeros(problem.dimension)
    indices, values = np.zeros(problem.max_gradient_entries, np.int64), np.zeros(problem.max_gradient_entries)
    rng = np.random.default_rng(seed)
    for _ in range(epochs):
        order = rng.permutation(problem.n_examples)
        call(_visit, problem, order, weights, squares, rate, indices, values, kind="marginal")
    return weights
