"""Weights that are numbered in the order of their use, against weights that are numbered by row."""

import numpy as np
import pytest

from spacy_ssvm.models.chain.data import make_chains
from spacy_ssvm.models.chain.numbering import (
    CHUNK,
    NO_PAIR,
    chunks_of_row,
    new_numbering,
    non_zeros_of_rows,
    numbering_of,
    pairs_of,
    with_rows,
)
from spacy_ssvm.models.chain.oracles import chain_problem, problem_by_use
from spacy_ssvm.solvers import oracle_pass
from spacy_ssvm.solvers.dcd import Dcd
from spacy_ssvm.solvers.learner import fit
from spacy_ssvm.structures import FORBIDDEN
from spacy_ssvm.structures.chain.constraints import unconstrained, with_attributes

R = 40


def random_chains(n_labels, seed=0, n=30, n_attributes=0, n_kinds=1):
    """The last labels are attributes, of two or three other labels each. Kind 0 allows all labels, others half of them,
    and those of their tokens."""
    rng = np.random.default_rng(seed)
    starts = np.append(0, np.cumsum(rng.integers(1, 7, n)))
    feature_starts = np.append(0, np.cumsum(rng.integers(0, 6, starts[-1])))
    # Some rows are frequent, others occur once or never.
    rows = (R * rng.random(feature_starts[-1]) ** 3).astype(np.int32)
    values = rng.choice([1.0, 1.0, 0.5, -2.0], len(rows))
    n_proper, constraints = n_labels - n_attributes, unconstrained(n_labels)
    gold = rng.integers(0, n_proper, starts[-1])
    if n_attributes:
        attributes = [
            [n_proper + (label + k) % n_attributes for k in range(1 + label % 2)] for label in range(n_proper)
        ]
        constraints = with_attributes(constraints, [*attributes, *([] for _ in range(n_attributes))])
    kinds = rng.integers(0, n_kinds, starts[-1])
    token = np.where(rng.random((n_kinds, n_labels)) < 0.5, FORBIDDEN, 0.0)
    token[kinds, gold] = token[0] = 0.0
    constraints = constraints._replace(token=np.minimum(token, constraints.token))
    return make_chains(starts, feature_starts, rows, gold, constraints, values, kinds=kinds)


def numbered_problem(chains, numbering):
    return problem_by_use(chains._replace(numbering=numbering))


def nothing_numbered(n_labels):
    return new_numbering(R, n_labels, np.zeros(0, np.int64))


def test_oracles_that_number_weights_run_in_one_thread(monkeypatch):
    asked = []
    for name in ("in_threads", "worked_ahead"):
        monkeypatch.setattr(oracle_pass, name, lambda n, find, parts, *ahead: asked.append(n) or map(find, parts))
    for problem in (chain_problem(random_chains(3), R), numbered_problem(random_chains(3), nothing_numbered(3))):
        for find in (oracle_pass.find_all, oracle_pass.find_violations):
            assert [*find(problem, np.zeros(problem.dimension), np.arange(30), n_threads=2)]
    assert asked == [2, 2, 1, 1]


@pytest.mark.parametrize("frequent", [[], [7, 3]])
def test_numberings_are_restored(frequent):
    chains, n_labels = random_chains(6), 6
    numbering = new_numbering(R, n_labels, np.array(frequent, np.int64))
    fit(Dcd(seed=0), numbered_problem(chains, numbering), 3)
    pairs = pairs_of(numbering, n_labels)
    assert len(np.unique(pairs[pairs != NO_PAIR])) == (pairs != NO_PAIR).sum() > 20
    restored = numbering_of(pairs, R, n_labels)
    assert all(np.array_equal(*parts) for parts in zip(restored, numbering))
    larger = with_rows(numbering, R + 5, n_labels)
    assert len(larger.first) == R + 5 and len(larger.chunks) == (R + 5) * chunks_of_row(n_labels)
    assert np.array_equal(pairs_of(larger, n_labels), pairs)


@pytest.mark.parametrize("frequent", [[], [7, 3]])
def test_weights_that_are_not_zero_come_by_row(frequent):
    chains, n_labels = random_chains(6), 6
    numbering = new_numbering(R, n_labels, np.array(frequent, np.int64))
    fit(Dcd(seed=0), numbered_problem(chains, numbering), 3)
    pairs = pairs_of(numbering, n_labels)
    weights = np.where(pairs == NO_PAIR, 0.0, np.random.default_rng(0).integers(-1, 2, len(pairs)))
    by_row = np.zeros(R * n_labels)
    by_row[pairs[pairs != NO_PAIR]] = weights[pairs != NO_PAIR]
    found, values = non_zeros_of_rows(numbering, n_labels, np.append(weights, np.zeros(9)))
    assert np.array_equal(found, np.flatnonzero(by_row)) and np.array_equal(values, by_row[found])


@pytest.mark.parametrize(
    "pairs",
    [
        [0, 1],
        [NO_PAIR] * CHUNK,
        [0, 5, NO_PAIR, NO_PAIR],
        [R * 5, NO_PAIR, NO_PAIR, NO_PAIR],
        [-2, NO_PAIR, NO_PAIR, NO_PAIR],
        [0, 1, 2, 3, 4, NO_PAIR, NO_PAIR, NO_PAIR] * 2,
        [*[0, 1, 2, 3, 4, NO_PAIR, NO_PAIR, NO_PAIR], 2, NO_PAIR, NO_PAIR, NO_PAIR],
        [0, NO_PAIR, NO_PAIR, NO_PAIR] * (2 * R + 1),
    ],
)
def test_impossible_numberings_are_refused(pairs):
    with pytest.raises(ValueError, match="its solver state has weights of features"):
        numbering_of(np.array(pairs, np.int64), R, 5)
