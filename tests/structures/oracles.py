"""What a problem's marginal and k-best oracles must return, from the scores of all structures of an example."""

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from spacy_ssvm.solvers.problem import Problem


def check_gradient(problem: Problem, example: int, weights, beta, gamma, differences, losses) -> None:
    """differences: ΔΦ [Y, d] of all structures; losses: Δ [Y]."""
    indices, values = np.full(problem.max_gradient_entries + 1, -1), np.full(problem.max_gradient_entries + 1, np.nan)
    entries, value = problem.marginal_oracle(problem.data, example, weights, beta, gamma, indices, values)
    assert entries <= problem.max_gradient_entries and (indices[entries:] == -1).all()
    violations = beta * (gamma * losses - differences @ weights)
    assert value == pytest.approx(logsumexp(violations) / beta, abs=1e-9)
    found = np.zeros(problem.dimension)
    np.add.at(found, indices[:entries], values[:entries])
    np.testing.assert_allclose(found, softmax(violations) @ differences, atol=1e-9)


def check_kbest(problem: Problem, example: int, weights, loss_scale, k, differences, losses) -> None:
    """The k best by score, ties in any order, and no structure twice."""
    room = k * problem.max_plane_entries + 1
    starts, found_losses = np.zeros(k + 1, np.int64), np.zeros(k)
    indices, values = np.full(room, -1), np.full(room, np.nan)
    found = problem.kbest_oracle(problem.data, example, weights, loss_scale, k, starts, found_losses, indices, values)
    assert found == min(k, len(losses))
    expected = np.sort(loss_scale * losses - differences @ weights)[::-1][:found]
    planes = np.zeros((found, problem.dimension))
    for j in range(found):
        np.add.at(planes[j], indices[starts[j] : starts[j + 1]], values[starts[j] : starts[j + 1]])
    np.testing.assert_allclose(loss_scale * found_losses[:found] - planes @ weights, expected, atol=1e-9)
    # Each plane is one of the enumerated, and is found as often as k allows and no more than it occurs.
    remaining = np.column_stack([differences, losses])
    for row in np.column_stack([planes, found_losses[:found]]):
        same = np.flatnonzero(np.abs(remaining - row).max(axis=1) < 1e-9)
        assert len(same)
        remaining = np.delete(remaining, same[0], axis=0)
