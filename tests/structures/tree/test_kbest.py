"""The k best first-order trees against enumeration: by score, since ties may come in any order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.structures import FORBIDDEN

from .enumeration import arcs_score, arcs_scores, score_matrices
from .first_order import PROJECTIVE, SPANNING, roots, structures


@structures
@given(scores=score_matrices(max_tokens=4), k=st.one_of(st.integers(1, 30), st.just(130)), multi_root=st.booleans())
def test_k_best(structure, scores, k, multi_root):
    """130 are more than there are trees of four tokens."""
    found, heads = structure.k_best(scores, k, multi_root)
    legal = structure.trees(len(scores) - 1, multi_root)
    values = arcs_scores(scores, legal)
    expected = np.sort(values[values > FORBIDDEN / 2])[::-1][:k]
    listed = [tuple(row) for row in heads.tolist()]
    assert heads.dtype == np.int32 and heads.shape == (len(expected), len(scores))
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert (np.diff(found) <= 1e-12).all()
    assert len(set(listed)) == len(listed) and set(listed) <= set(legal)
    assert [arcs_score(scores, tree) for tree in listed] == pytest.approx(found, rel=1e-12, abs=1e-12)


@roots
@pytest.mark.parametrize(
    ("structure", "n", "k"), [(PROJECTIVE, 60, 200), (PROJECTIVE, 500, 5), (SPANNING, 60, 20)], ids=str
)
def test_a_long_sentence(structure, n, k, multi_root):
    """Distinct legal trees in order, the first the best, and the second the best without some arc of it."""
    scores = np.random.default_rng(n).normal(size=(n + 1, n + 1))
    scores[0] += 2.0
    found, heads = structure.k_best(scores, k, multi_root)
    best_score, best = structure.best(scores, multi_root)
    assert found[0] == best_score and tuple(heads[0].tolist()) == best
    assert len(found) == k == len(np.unique(heads, axis=0))
    assert (np.diff(found) <= 1e-12).all()
    for score, tree in zip(found, map(tuple, heads.tolist())):
        assert structure.is_legal(tree, multi_root)
        assert arcs_score(scores, tree) == pytest.approx(score, rel=1e-12)
    if n == 60:
        seconds = []
        for m in range(1, n + 1):
            without = scores.copy()
            without[best[m], m] = FORBIDDEN
            seconds.append(structure.best(without, multi_root)[0])
        assert found[1] == pytest.approx(max(seconds), rel=1e-12)
