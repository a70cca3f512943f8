"""Trees that are limited, against enumeration."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.models.tree.data import Shape, dimension, double_precision
from spacy_ssvm.models.tree.predictor import decode_all, tree_scores
from spacy_ssvm.structures import UNKNOWN, Contradiction
from spacy_ssvm.structures.tree.limits import Limits, limited_candidates, with_labels
from spacy_ssvm.structures.tree.parts import PROJECTIVE, ROOT_LABEL

from ...structures.enumeration import dear
from .enumeration import Labelled, every, exact, examples_of, first_order, random_sentences, tiny_trees


@st.composite
def limits(draw, tiny) -> Limits:
    """Some heads, of candidates or not, and some sets of labels, which may be empty."""
    heads, allowed = [], []
    n_labels = tiny.data.shape.n_labels
    for example in tiny.examples:
        for m in range(1, example.n + 1):
            heads.append(draw(st.sampled_from([UNKNOWN, UNKNOWN, *(h for h in range(example.n + 1) if h != m)])))
            some = draw(st.lists(st.booleans(), min_size=n_labels, max_size=n_labels))
            # One label is that of every arc.
            allowed.append(some if n_labels > 1 and draw(st.booleans()) else [True] * n_labels)
    return Limits(np.array(heads, np.int32), np.array(allowed, np.bool_).reshape(len(heads), n_labels))


def keep_to(given, example) -> list[Labelled]:
    """The labelled trees of an example that are within the limits."""
    own = given.of(example.tokens)

    def keeps(y) -> bool:
        pairs = enumerate(zip(y.heads[1:], y.labels[1:]))
        return all(own.heads[t] in (UNKNOWN, head) and own.labels[t, label] for t, (head, label) in pairs)

    return list(filter(keeps, example.labelled))


def with_all_arcs(data):
    """The same sentences with every arc a candidate."""
    lengths = np.diff(data.columns.starts)
    found = [h for n in lengths for m in range(1, n + 1) for h in range(n + 1) if h != m]
    return data._replace(
        candidate_starts=np.cumsum([0, *np.repeat(lengths, lengths)]), candidates=np.array(found, np.int32)
    )


def within(data, given):
    """The same sentences with the candidates that are left."""
    starts, shape = data.columns.starts, data.shape
    candidate_starts, candidates = limited_candidates(
        starts, data.candidate_starts, data.candidates, given, shape.structure, shape.multi_root
    )
    return data._replace(candidate_starts=candidate_starts, candidates=candidates)


@exact
@dear
@given(data=st.data())
def test_the_best_trees_that_are_left(structure, data):
    tiny = data.draw(tiny_trees(structure))
    given = data.draw(limits(tiny))
    all_arcs = examples_of(with_all_arcs(tiny.data))
    possible = [keep_to(given, example) for example in all_arcs]
    try:
        trees = within(tiny.data, given)
    except Contradiction as error:
        sentence = possible.index([])
        example = all_arcs[sentence]
        token = error.token - example.first
        assert 0 <= token < example.n
        for end, solvable in ((token, True), (token + 1, False)):
            heads, labels = given.heads.copy(), given.labels.copy()
            heads[example.first + end :], labels[example.first + end :] = UNKNOWN, True
            assert bool(keep_to(Limits(heads, labels), example)) == solvable
        return
    assert all(possible)
    scored = tree_scores(trees, double_precision(tiny.weights))
    for example, old, found, all_left in zip(examples_of(trees), tiny.examples, scored, possible, strict=True):
        left = keep_to(given, example)
        assert set(keep_to(given, old)) <= set(left) <= set(all_left)
        limited = with_labels(found, given.labels[example.tokens])
        values = np.sort(example.scores(left, tiny.weights))[::-1]
        best = limited.best(5)
        assert [tree.score for tree in best] == pytest.approx(values[:5], abs=1e-9)
        assert all(((-1, *tree.heads.tolist()), (0, *tree.labels.tolist())) in left for tree in best)
        if example.n:
            assert limited.margins().tree.score == pytest.approx(values[0], abs=1e-9)


@first_order
@dear
@given(data=st.data())
def test_marginals_of_the_trees_that_are_left(structure, data):
    tiny = data.draw(tiny_trees(structure))
    given = data.draw(limits(tiny))
    try:
        trees = within(tiny.data, given)
    except Contradiction:
        return
    for example, found in zip(examples_of(trees), tree_scores(trees, double_precision(tiny.weights)), strict=True):
        if not example.n:
            continue
        left = keep_to(given, example)
        scores = example.scores(left, tiny.weights)
        weights = np.exp(scores - scores.max())
        n_labels = max(1, found.label_scores.shape[1])
        expected = np.zeros((example.n, n_labels + 1))
        for y, probability in zip(left, weights / weights.sum()):
            for m in range(1, len(y.heads)):
                has_label = y.heads[m] == 0 or y.labels[m] != ROOT_LABEL
                expected[m - 1, y.labels[m] if has_label else n_labels] += probability
        limited = with_labels(found, given.labels[example.tokens])
        np.testing.assert_allclose(limited.marginals(1.0).labels, expected, rtol=0, atol=1e-9)


@every
def test_long_sentences_keep_given_heads(structure):
    """Where they come from another model, and few of its arcs are candidates."""
    lengths = [30, 1, 0, 12]
    rng = np.random.default_rng(3)
    shape = Shape(3, 12, 8, structure, False)
    other = random_sentences(rng, shape._replace(structure=PROJECTIVE), lengths)
    wanted, _ = decode_all(other, double_precision(rng.normal(size=dimension(shape))))
    heads = np.where(rng.random(len(wanted)) < 0.5, wanted, UNKNOWN).astype(np.int32)
    given = Limits(heads, np.ones((len(heads), 3), np.bool_))
    trees = within(random_sentences(rng, shape, lengths, density=0.1), given)
    decoded, _ = decode_all(trees, double_precision(rng.normal(size=dimension(shape))))
    known = heads != UNKNOWN
    assert known.any() and (decoded[known] == heads[known]).all()
    assert all(head in left for left, head in zip(np.split(trees.candidates, trees.candidate_starts[1:-1]), decoded))


def test_limits_of_nothing_leave_the_candidates():
    data = random_sentences(np.random.default_rng(0), Shape(3, 8, 8, PROJECTIVE, False), [4, 0, 3], 0.5)
    found = within(data, Limits(np.full(7, UNKNOWN, np.int32), np.ones((7, 3), np.bool_)))
    assert found.candidate_starts.tolist() == data.candidate_starts.tolist()
    assert found.candidates.tolist() == data.candidates.tolist()
