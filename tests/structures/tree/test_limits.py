"""Trees that are limited, against enumeration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_ssvm.models.tree.data import Shape, dimension
from spacy_ssvm.models.tree.decoding import decode_all, tree_scores
from spacy_ssvm.structures import UNKNOWN
from spacy_ssvm.structures.tree.limits import ContradictionError, Limits, limited_candidates, with_labels
from spacy_ssvm.structures.tree.parts import LOOPY, PROJECTIVE, SPANNING

from .tree_problems import EXACT, examples_of, random_sentences, tiny_trees

few = settings(max_examples=25)


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


def keep_to(limits, example, trees):
    """Those of these labelled trees that are within the limits."""
    own = limits.of(slice(example.first, example.first + example.n))
    return [
        y
        for y in trees
        if all(
            own.heads[m - 1] in (UNKNOWN, y.heads[m]) and own.labels[m - 1, y.labels[m]]
            for m in range(1, example.n + 1)
        )
    ]


def with_all_arcs(data):
    """The same sentences with every arc a candidate."""
    lengths = np.diff(data.columns.starts)
    found = [h for n in lengths for m in range(1, n + 1) for h in range(n + 1) if h != m]
    return data._replace(
        candidate_starts=np.cumsum([0, *np.repeat(lengths, lengths)]), candidates=np.array(found, np.int32)
    )


def within(tiny, given):
    data = tiny.data
    candidates = limited_candidates(
        data.columns.starts, data.candidate_starts, data.candidates, given, data.shape.structure, data.shape.multi_root
    )
    return data._replace(candidate_starts=candidates[0], candidates=candidates[1])


@pytest.mark.parametrize("structure", EXACT.values(), ids=EXACT)
@few
@given(data=st.data())
def test_the_best_trees_that_are_left(structure, data):
    tiny = data.draw(tiny_trees(structure))
    given = data.draw(limits(tiny))
    every = [keep_to(given, example, example.labelled) for example in examples_of(with_all_arcs(tiny.data))]
    try:
        trees = within(tiny, given)
    except ContradictionError as error:
        example = tiny.examples[error.sentence]
        assert not every[error.sentence] and 0 <= error.token < example.n
        assert all(every[: error.sentence])
        at = example.first + error.token
        for end, possible in ((at, True), (at + 1, False)):
            heads, labels = given.heads.copy(), given.labels.copy()
            heads[end:], labels[end:] = UNKNOWN, True
            all_arcs = examples_of(with_all_arcs(tiny.data))[error.sentence]
            assert bool(keep_to(Limits(heads, labels), all_arcs, all_arcs.labelled)) == possible
        return
    assert all(every)
    scored = tree_scores(trees, tiny.weights)
    for example, old, found, all_left in zip(examples_of(trees), tiny.examples, scored, every, strict=True):
        left = keep_to(given, example, example.labelled)
        assert set(keep_to(given, old, old.labelled)) <= set(left) <= set(all_left)
        own = given.labels[example.first : example.first + example.n]
        values = np.sort(example.scores(left, tiny.weights))[::-1]
        best = with_labels(found, own).best(5)
        assert [tree.score for tree in best] == pytest.approx(values[:5], abs=1e-9)
        assert all(((-1, *tree.heads.tolist()), (0, *tree.labels.tolist())) in left for tree in best)
        if example.n:
            assert with_labels(found, own).margins().tree.score == pytest.approx(values[0], abs=1e-9)


@pytest.mark.parametrize("structure", [PROJECTIVE, SPANNING], ids=["projective", "spanning"])
@few
@given(data=st.data())
def test_marginals_of_the_trees_that_are_left(structure, data):
    tiny = data.draw(tiny_trees(structure))
    given = data.draw(limits(tiny))
    try:
        trees = within(tiny, given)
    except ContradictionError:
        return
    for example, found in zip(examples_of(trees), tree_scores(trees, tiny.weights), strict=True):
        if not example.n:
            continue
        left = keep_to(given, example, example.labelled)
        scores = example.scores(left, tiny.weights)
        weights = np.exp(scores - scores.max())
        expected = np.zeros((len(found.parts.heads), max(1, found.label_scores.shape[1])))
        for y, probability in zip(left, weights / weights.sum()):
            for m in range(1, len(y.heads)):
                expected[found.parts.number[y.heads[m], m], y.labels[m]] += probability
        own = given.labels[example.first : example.first + example.n]
        np.testing.assert_allclose(with_labels(found, own).marginals(1.0).labels, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("structure", [*EXACT.values(), LOOPY], ids=[*EXACT, "loopy"])
def test_long_sentences_keep_given_heads(structure):
    """Where they come from another model, and few of its arcs are candidates."""
    lengths = [30, 1, 0, 12]
    rng = np.random.default_rng(3)
    shape = Shape(3, 12, 8, structure, False)
    other = random_sentences(rng, shape._replace(structure=PROJECTIVE), lengths)
    wanted, _ = decode_all(other, rng.normal(size=dimension(shape)))
    heads = np.where(rng.random(len(wanted)) < 0.5, wanted, UNKNOWN).astype(np.int32)
    data = random_sentences(rng, shape, lengths, density=0.1)
    given = Limits(heads, np.ones((len(heads), 3), np.bool_))
    found = limited_candidates(
        data.columns.starts, data.candidate_starts, data.candidates, given, shape.structure, shape.multi_root
    )
    trees = data._replace(candidate_starts=found[0], candidates=found[1])
    decoded, _ = decode_all(trees, rng.normal(size=dimension(shape)))
    known = heads != UNKNOWN
    assert known.any() and (decoded[known] == heads[known]).all()
    assert all(m_head in candidates for candidates, m_head in zip(np.split(found[1], found[0][1:-1]), decoded))


def test_limits_of_nothing_leave_the_candidates():
    data = random_sentences(np.random.default_rng(0), Shape(3, 8, 8, PROJECTIVE, False), [4, 0, 3], 0.5)
    free = Limits(np.full(7, UNKNOWN, np.int32), np.ones((7, 3), np.bool_))
    found = limited_candidates(
        data.columns.starts, data.candidate_starts, data.candidates, free, data.shape.structure, data.shape.multi_root
    )
    assert found[0].tolist() == data.candidate_starts.tolist()
    assert found[1].tolist() == data.candidates.tolist()
