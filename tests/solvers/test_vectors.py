"""Products and combinations of long vectors: NumPy's, and the same bytes for any number of threads."""

import numpy as np
import pytest

from spacy_ssvm.solvers import vectors
from spacy_ssvm.solvers.vectors import BLOCK, LANES, MAX_VECTORS, combination, nonzero, products, squared_distance

LENGTHS = [0, 1, LANES - 1, LANES + 1, BLOCK, 3 * BLOCK + LANES + 5, 40 * BLOCK]


@pytest.fixture(autouse=True)
def _short_shares(monkeypatch):
    monkeypatch.setattr(vectors, "MIN_BLOCKS", 1)


def random_vectors(n, length):
    return list(np.random.default_rng(n + length).normal(size=(n, length)))


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("length", LENGTHS)
def test_products(length, n_threads):
    left, right = random_vectors(2, length), random_vectors(MAX_VECTORS, length)
    found = products(left, right, n_threads)
    np.testing.assert_allclose(found, np.array(left) @ np.array(right).T, rtol=1e-12, atol=1e-11)
    assert found.tobytes() == products(left, right).tobytes()
    assert found.tobytes() == products(right, left).T.tobytes()
    assert found.tolist() == [[products([x], [y])[0, 0] for y in right] for x in left]


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("n", [1, 2, MAX_VECTORS])
def test_combinations(n, length, n_threads):
    given, factors = random_vectors(n, length), np.random.default_rng(0).normal(size=n)
    found = combination(factors, given, n_threads)
    np.testing.assert_allclose(found, factors @ np.array(given), rtol=1e-12, atol=1e-12)
    assert found.tobytes() == combination(factors, given).tobytes()
    first = given[0]
    assert combination(factors, given, n_threads, out=first) is first
    assert first.tobytes() == found.tobytes()


@pytest.mark.parametrize("length", [0, 1, 9, 10, 35])
def test_distances_and_nonzeros(length, monkeypatch):
    monkeypatch.setattr(vectors, "PART", 10)
    vector, origin = random_vectors(2, length)
    vector[::3] = 0.0
    assert squared_distance(vector) == squared_distance(vector, None, 3) == pytest.approx(vector @ vector)
    moved = vector - origin
    assert squared_distance(vector, origin) == squared_distance(vector, origin, 3) == pytest.approx(moved @ moved)
    assert nonzero(vector).tolist() == nonzero(vector, 3).tolist() == np.flatnonzero(vector).tolist()
