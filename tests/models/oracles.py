"""Results that a problem's oracles must return, from the planes of all structures of an example.

differences: ΔΦ [Y, d]. losses: Δ [Y].
"""

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from spacy_ssvm.solvers.gradients import sum_losses
from spacy_ssvm.solvers.planes import merge, plane_buffer
from spacy_ssvm.solvers.problem import Problem


def dense(indices, values, d: int) -> np.ndarray:
    """The sum of pairs, float64 [d]."""
    result = np.zeros(d)
    np.add.at(result, indices, values)
    return result


def check_max(problem: Problem, example: int, weights, loss_scale, differences, losses) -> np.ndarray:
    """The plane of some structure, whose violation is the largest where the oracle is exact; returns ΔΦ."""
    plane = plane_buffer(problem.max_plane_entries + 1)
    plane.indices[:], plane.values[:] = -1, np.nan
    entries, loss = problem.max_oracle(problem.data, example, weights, loss_scale, plane.indices, plane.values)
    assert entries <= problem.plane_entries[example] and (plane.indices[entries:] == -1).all()
    found = dense(plane.indices[:entries], plane.values[:entries], problem.dimension)
    assert np.abs(np.column_stack([differences - found, losses - loss])).max(axis=1).min() < 1e-9
    largest = (loss_scale * losses - differences @ weights).max()
    violation = loss_scale * loss - found @ weights
    assert largest >= 0 and violation <= largest + 1e-9
    assert not problem.exact or violation == pytest.approx(largest, abs=1e-9)
    size = merge(plane, entries)
    merged = dense(plane.indices[:size], plane.values[:size], problem.dimension)
    np.testing.assert_allclose(merged, found, atol=1e-12)
    assert (np.diff(plane.indices[:size]) > 0).all() and plane.values[:size].all()
    return found


def check_gradient(problem: Problem, example: int, weights, beta, gamma, differences, losses, atol=1e-9) -> None:
    """The loss and its gradient, from cliques."""
    value, found = sum_losses(problem, weights, float(beta), float(gamma), np.array([example]))
    violations = beta * (gamma * losses - differences @ weights)
    assert value == pytest.approx(logsumexp(violations) / beta, abs=atol)
    np.testing.assert_allclose(found, softmax(violations) @ differences, rtol=0, atol=atol)


def check_kbest(problem: Problem, example: int, weights, loss_scale, k, differences, losses) -> None:
    """The k best by score, ties in any order, and no structure twice."""
    room = k * problem.max_plane_entries + 1
    starts, found_losses = np.zeros(k + 1, np.int64), np.zeros(k)
    indices, values = np.full(room, -1), np.full(room, np.nan)
    found = problem.kbest_oracle(problem.data, example, weights, loss_scale, k, starts, found_losses, indices, values)
    assert found == min(k, len(losses))
    expected = np.sort(loss_scale * losses - differences @ weights)[::-1][:found]
    places = [slice(*starts[j : j + 2]) for j in range(found)]
    planes = np.array([dense(indices[place], values[place], problem.dimension) for place in places])
    np.testing.assert_allclose(loss_scale * found_losses[:found] - planes @ weights, expected, atol=1e-9)
    # Each plane is one of the enumerated, and is found as often as k allows and no more than it occurs.
    remaining = np.column_stack([differences, losses])
    for row in np.column_stack([planes, found_losses[:found]]):
        same = np.flatnonzero(np.abs(remaining - row).max(axis=1) < 1e-9)
        assert len(same)
        remaining = np.delete(remaining, same[0], axis=0)
