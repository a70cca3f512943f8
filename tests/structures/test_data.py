"""What `make_chains` refuses, and what it lays out."""

import numpy as np
import pytest

from spacy_ssvm.models.chain.data import dimension, make_chains, max_plane_entries
from spacy_ssvm.structures.chain.constraints import unconstrained

STARTS, FEATURE_STARTS = np.array([0, 2, 3]), np.array([0, 1, 3, 4])
ROWS, GOLD = np.array([0, 1, 0, 1]), np.array([0, 1, 1])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_refused(value):
    values = np.array([1.0, 1.0, 1.0, value])
    with pytest.raises(ValueError, match="token 0 in sequence 1 has a value that is not finite"):
        make_chains(STARTS, FEATURE_STARTS, ROWS, GOLD, unconstrained(2), values=values)


@pytest.mark.parametrize("cost", [np.nan, np.inf, -1.0])
def test_bad_costs_are_refused(cost):
    with pytest.raises(ValueError, match="costs must be finite and not negative"):
        make_chains(STARTS, FEATURE_STARTS, ROWS, GOLD, unconstrained(2), costs=np.array([1.0, cost, 1.0]))


@pytest.mark.parametrize(
    ("starts", "feature_starts", "rows"),
    [(STARTS[:2], FEATURE_STARTS, ROWS), (STARTS, FEATURE_STARTS[:3], ROWS), (STARTS, FEATURE_STARTS, ROWS[:3])],
)
def test_lengths_that_disagree_are_refused(starts, feature_starts, rows):
    with pytest.raises(ValueError, match="do not fit together"):
        make_chains(starts, feature_starts, rows, GOLD, unconstrained(2))


def test_layout():
    chains = make_chains(STARTS, FEATURE_STARTS, ROWS, GOLD, unconstrained(2))
    assert dimension(2, 2) == 8
    assert max_plane_entries(chains) == 2 * (3 + 2)
    assert chains.values.tolist() == [1.0] * 4 and chains.costs.tolist() == [1.0] * 3
