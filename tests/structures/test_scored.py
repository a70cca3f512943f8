"""What scored structures say of themselves, chains and trees alike, against enumeration."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_ssvm.models.tree.data import double_precision
from spacy_ssvm.models.tree.predictor import tree_scores
from spacy_ssvm.structures import FORBIDDEN, NONE_OF_THESE, UNKNOWN
from spacy_ssvm.structures.chain.biluo import (
    FREE,
    NO_CONTINUATION,
    biluo_constraints,
    n_states,
    run,
    segments,
    segments_above,
)
from spacy_ssvm.structures.chain.scored import (
    ChainScores,
    KnownLabels,
    LabelSequence,
    Run,
    TransitionScores,
    labels_above,
)
from spacy_ssvm.structures.tree.parts import PROJECTIVE, PROJECTIVE_SIBLINGS, SPANNING
from spacy_ssvm.structures.tree.scored import ANY, KnownTree, LabelledTree, heads_and_labels_above

from ..models.tree.enumeration import EXACT, tiny_trees
from .enumeration import dear

SCORES = st.one_of(st.integers(-2, 2).map(float), st.floats(-3, 3, allow_subnormal=False))
BETAS = st.sampled_from([0.01, 0.5, 1.0, 3.0])
SUMS = ["labels", "segments", "projective", "spanning"]
"""The structures that have exact sums."""


def _drawn(draw, *shape):
    size = int(np.prod(shape))
    return np.array(draw(st.lists(SCORES, min_size=size, max_size=size))).reshape(shape)


@st.composite
def chains(draw) -> ChainScores:
    """Of up to three labels and four tokens, with a part of everything ruled out except one sequence."""
    n_labels, length = draw(st.integers(1, 3)), draw(st.integers(0, 4))
    legal = draw(st.lists(st.integers(0, n_labels - 1), min_size=length, max_size=length))

    def part(*shape):
        size = int(np.prod(shape))
        out = np.array(draw(st.lists(st.sampled_from([False, False, True]), min_size=size, max_size=size)), np.bool_)
        return np.where(out.reshape(shape), FORBIDDEN, _drawn(draw, *shape))

    between = TransitionScores(part(n_labels, n_labels), part(n_labels), part(n_labels))
    found = ChainScores(part(length, n_labels), between)
    found.tokens[np.arange(length), legal] = 1.0
    for i, j in itertools.pairwise(legal):
        found.transitions[i, j] = 0.5
    if length:
        between.start[legal[0]], between.end[legal[-1]] = 0.0, -1.0
    return found


@st.composite
def segmented(draw) -> ChainScores:
    """BILUO labels of one or two types over up to four tokens, where some continue no segment."""
    n_types, length = draw(st.integers(1, 2)), draw(st.integers(0, 4))
    allowed = biluo_constraints(n_types)
    kinds = draw(st.lists(st.sampled_from([FREE, NO_CONTINUATION]), min_size=length, max_size=length))
    tokens = _drawn(draw, length, n_states(n_types)) + allowed.token[np.array(kinds, np.int64)]
    transitions = _drawn(draw, n_states(n_types), n_states(n_types)) + allowed.transition
    return ChainScores(tokens, TransitionScores(transitions, allowed.start, allowed.end))


def sequences(drawn: ChainScores) -> list[LabelSequence]:
    """Every sequence that is not ruled out."""
    found = []
    for y in itertools.product(range(len(drawn.between.start)), repeat=len(drawn.tokens)):
        parts = [drawn.tokens[t, label] for t, label in enumerate(y)]
        parts += [drawn.transitions[i, j] for i, j in itertools.pairwise(y)]
        parts += [drawn.between.start[y[0]], drawn.between.end[y[-1]]] if y else []
        if min(parts, default=0.0) > FORBIDDEN / 2:
            found.append(LabelSequence(float(sum(parts)), np.array(y, np.int32)))
    return found


def examples(name, data):
    """Scored structures of a kind, each with all the structures that there are."""
    if name in ("labels", "segments"):
        drawn = data.draw(chains() if name == "labels" else segmented())
        return [(drawn, sequences(drawn))]
    tiny = data.draw(tiny_trees({"projective": PROJECTIVE, "spanning": SPANNING, **EXACT}[name]))
    found = []
    for example, scored in zip(tiny.examples, tree_scores(tiny.data, double_precision(tiny.weights))):
        if example.n and example.labelled:
            scores = example.scores(example.labelled, tiny.weights)
            ys = [
                LabelledTree(score, np.array(y.heads[1:], np.int32), np.array(y.labels[1:], np.int32))
                for y, score in zip(example.labelled, scores)
            ]
            found.append((scored, ys))
    return found


def key(y):
    return tuple(tuple(values.tolist()) for values in y[1:])


def own_parts(name, y):
    """The parts that are listed and have another structure as their alternative, from their definition."""
    if name == "labels":
        return [Run(t, (label,)) for t, label in enumerate(y.labels.tolist())]
    if name == "segments":
        return [run(*segment) for segment in segments(y.labels)]
    return y.arcs()


def listed_parts(name, y):
    if name in ("labels", "segments"):
        return own_parts(name, y)
    return [part for arc in y.arcs() for part in (arc._replace(label=ANY), arc._replace(head=ANY))]


LISTINGS = {"labels": labels_above, "segments": segments_above}


def listed(name, values, least):
    found = list(LISTINGS.get(name, heads_and_labels_above)(values, least))
    assert len(dict(found)) == len(found)
    return dict(found)


def check(found, expected, least):
    """What is as large as `least` may be on either side of it."""
    assert found.keys() <= {part for part, value in expected.items() if value >= least - 1e-9}
    assert found.keys() >= {part for part, value in expected.items() if value > least + 1e-9}
    assert found == pytest.approx({part: expected[part] for part in found}, abs=1e-9)


def probabilities(ys, beta):
    weights = np.exp(beta * (np.array([y.score for y in ys]) - max(y.score for y in ys)))
    return weights / weights.sum()


structures = pytest.mark.parametrize("name", ["labels", "segments", *EXACT])
with_sums = pytest.mark.parametrize("name", SUMS)


@structures
@dear
@given(data=st.data(), k=st.integers(1, 12))
def test_best(name, data, k):
    for scored, ys in examples(name, data):
        best, scores = scored.best(k), {key(y): y.score for y in ys}
        assert [y.score for y in best] == pytest.approx(sorted(scores.values(), reverse=True)[:k], abs=1e-9)
        assert len({key(y) for y in best}) == len(best)
        assert [scores[key(y)] for y in best] == pytest.approx([y.score for y in best], abs=1e-9)


@with_sums
@dear
@given(data=st.data(), beta=BETAS, least=st.sampled_from([1e-12, 0.001, 0.05, 0.3]))
def test_marginals(name, data, beta, least):
    for scored, ys in examples(name, data):
        expected: dict = {}
        for y, probability in zip(ys, probabilities(ys, beta)):
            for part in listed_parts(name, y):
                expected[part] = expected.get(part, 0.0) + probability
        marginals = scored.marginals(beta)
        check(listed(name, marginals, least), expected, least)
        for part, probability in expected.items():
            if getattr(part, "head", 0) != ANY:
                assert marginals.probability(part) == pytest.approx(probability, abs=1e-9)
                if probability < 1 - 1e-9:
                    assert marginals.has_alternative(part)


def margin(name, part, ys):
    """By how much the best structure with a part is ahead of the best one without it."""
    having = [y.score for y in ys if part in listed_parts(name, y)]
    others = [y.score for y in ys if part not in listed_parts(name, y)]
    return max(having, default=-np.inf) - max(others, default=-np.inf)


@structures
@dear
@given(data=st.data(), least=st.sampled_from([1.0, 0.0, -1.0, -1e9]))
def test_margins(name, data, least):
    for scored, ys in examples(name, data):
        values = scored.margins()
        listing = [values.tree] if name in EXACT else ys
        parts = {part for y in listing for part in listed_parts(name, y)}
        expected = {part: margin(name, part, ys) for part in parts}
        if name in EXACT and scored.label_scores.shape[1] == 1:
            expected |= {part: np.inf for part in parts if part.head == ANY}
        check(listed(name, values, least), expected, least)


@structures
@dear
@given(data=st.data())
def test_best_without(name, data):
    for scored, ys in examples(name, data):
        (best,) = scored.best(1)
        scores = {key(y): y.score for y in ys}
        parts = own_parts(name, best)
        for part, margin in zip(parts, scored.margins_of(best, parts), strict=True):
            others = [y.score for y in ys if part not in own_parts(name, y)]
            assert margin == pytest.approx(best.score - max(others, default=-np.inf), abs=1e-9) and margin >= 0
            other = scored.best_without(best, part)
            if other is None:
                assert not others
                continue
            assert part not in own_parts(name, other)
            assert other.score == pytest.approx(max(others), abs=1e-9)
            assert scores[key(other)] == pytest.approx(other.score, abs=1e-9)


@structures
@dear
@given(data=st.data())
def test_best_with(name, data):
    for scored, ys in examples(name, data):
        of_others = [part for y in ys for part in own_parts(name, y)]
        if name == "labels":
            of_others += [
                Run(0, (label,) * len(scored.tokens)) for label in range(len(scored.between.start)) if len(ys[0][1])
            ]
        for part in dict.fromkeys(of_others):
            having = [y for y in ys if has(name, y, part)]
            found = scored.best_with(part)
            if found is None:
                assert not having
                continue
            assert has(name, found, part) and key(found) in {key(y) for y in having}
            assert found.score == pytest.approx(max(y.score for y in having), abs=1e-9)
            assert {key(y): y.score for y in ys}[key(found)] == pytest.approx(found.score, abs=1e-9)


def has(name, y, part):
    if name in EXACT:
        return part in y.arcs()
    return tuple(y.labels[part.tokens].tolist()) == part.labels


@with_sums
@dear
@given(data=st.data(), beta=BETAS)
def test_sums_over_what_agrees_with_a_known_part(name, data, beta):
    for scored, ys in examples(name, data):
        total = scored.log_partition(beta)
        expected = np.log(np.exp([beta * y.score for y in ys]).sum())
        assert total == pytest.approx(expected, abs=1e-9)
        first, *rest = (np.array(values, np.int64) for values in data.draw(st.sampled_from(ys))[1:])
        hidden = np.array(data.draw(st.lists(st.booleans(), min_size=len(first), max_size=len(first))), np.bool_)
        first[hidden] = UNKNOWN
        known = KnownTree(first, *rest) if rest else KnownLabels(first)
        agree = [all((a == b)[a >= 0].all() for a, b in zip(known, y[1:])) for y in ys]
        expected = np.log(probabilities(ys, beta)[agree].sum())
        assert scored.log_partition(beta, scored.agreeing(known)) - total == pytest.approx(expected, abs=1e-9)
        assert known.is_annotated == (not hidden.all())
        for part in own_parts(name, ys[0]):
            token = part.modifier - 1 if rest else part.tokens
            gold, own = np.atleast_1d(first[token]), part.head if rest else np.array(part.labels)
            wrong = bool(((gold != own) & (gold != UNKNOWN)).any())
            assert known.agrees(part) is (False if wrong else None if (gold == UNKNOWN).any() else True)
        if len(first):
            first[0] = NONE_OF_THESE
            assert scored.log_partition(beta, scored.agreeing(known)) == -np.inf


@given(chains())
def test_factors_of_sequences_add_up(drawn):
    for y in sequences(drawn):
        total = drawn.between.start[y.labels[0]] + drawn.between.end[y.labels[-1]] if len(y.labels) else 0.0
        for token, labels in drawn.factors(y):
            total += drawn.tokens[token, labels[0]] if len(labels) == 1 else drawn.transitions[labels]
        assert total == pytest.approx(y.score, abs=1e-9)


@given(data=st.data())
def test_pairs_of_arcs_have_no_sums(data):
    for scored, _ in examples(next(name for name in EXACT if EXACT[name] == PROJECTIVE_SIBLINGS), data):
        with pytest.raises(ValueError, match="only trees of order 1 have exact marginals"):
            scored.marginals(1.0)


@structures
@settings(max_examples=5)
@given(data=st.data())
def test_everything_ruled_out(name, data):
    for scored, _ in examples(name, data):
        if name in EXACT:
            closed = replace(scored, parts=scored.parts._replace(scores=np.full(len(scored.parts.heads), FORBIDDEN)))
        else:
            closed = ChainScores(
                np.zeros((2, 2)), TransitionScores(np.zeros((2, 2)), np.full(2, FORBIDDEN), np.zeros(2))
            )
        assert closed.best(2) == []
        with pytest.raises(ValueError, match=r"every .* is ruled out"):
            closed.margins()
        if name in SUMS:
            # However small β is, it makes nothing possible.
            for beta in (1.0, 1e-3, 1e-9):
                assert closed.log_partition(beta) == -np.inf
                with pytest.raises(ValueError, match=r"every .* is ruled out"):
                    closed.marginals(beta)
        if name in SUMS and name in EXACT and scored.label_scores.shape[1] > 1:
            unlabelled = replace(scored, label_scores=np.full_like(scored.label_scores, FORBIDDEN))
            assert unlabelled.log_partition(1e-3) == -np.inf
        with pytest.raises(ValueError, match="k must be at least 1, not 0"):
            scored.best(0)


def precisely(drawn: ChainScores) -> np.ndarray:
    """The probabilities of labels, [T, L], in extended precision."""
    tokens, transitions = (part.astype(np.longdouble) for part in (drawn.tokens, drawn.transitions))

    def forward(tokens, transitions):
        before = tokens.copy()
        for t in range(1, len(tokens)):
            before[t] += np.logaddexp.reduce(before[t - 1][:, None] + transitions, axis=0)
        return before

    through = forward(tokens, transitions) + forward(tokens[::-1], transitions.T)[::-1] - tokens
    through = np.exp(through - through.max(axis=1, keepdims=True))
    return (through / through.sum(axis=1, keepdims=True)).astype(np.float64)


def test_probabilities_of_a_long_sequence_with_large_scores():
    """Log-sums of up to 2·10⁸: the rounding of 20,000 of them is in no probability."""
    rng = np.random.default_rng(0)
    drawn = ChainScores(
        rng.normal(0, 1e4, (20_000, 1)) + rng.normal(size=(20_000, 3)) + 1e4,
        TransitionScores(rng.normal(size=(3, 3)), np.zeros(3), np.zeros(3)),
    )
    lattice = drawn.marginals(1.0)
    values = lattice.values()
    np.testing.assert_allclose(values.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    np.testing.assert_allclose(values, precisely(drawn), rtol=0, atol=1e-6)
    for token in (0, 7, 19_998):
        pairs = [lattice.probability(Run(token, pair)) for pair in itertools.product(range(3), repeat=2)]
        assert sum(pairs) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("unit", [1.0, 1e-9])
def test_margins_in_another_unit(unit):
    """A margin is 0 where it is rounding, whatever the unit of scores."""
    rng = np.random.default_rng(0)
    parts = [unit * rng.normal(size=shape) for shape in ((6, 3), (3, 3), 3, 3)]
    parts[0][2], parts[1][:] = unit * np.array([0.0, 1e-4, -1.0]), 0.0
    tokens, *rest = parts
    drawn, whole = (ChainScores(tokens / by, TransitionScores(*(part / by for part in rest))) for by in (1.0, unit))
    np.testing.assert_allclose(drawn.margins().values() / unit, whole.margins().values(), rtol=1e-9, atol=1e-9)
    assert (drawn.margins().through == 0.0).sum() == 6


@pytest.mark.parametrize("n_tokens", [100, 1000])
def test_what_is_predicted_is_listed_where_scores_cancel(n_tokens):
    """Half of the tokens score some +10, the others as much below 0: sums on the way are far larger than the total."""
    rng, constraints = np.random.default_rng(0), biluo_constraints(1)
    base = np.repeat([10.0, -10.0], n_tokens // 2)
    tokens = base[:, None] + rng.normal(0, 3, (n_tokens, n_states(1)))
    transitions = constraints.transition + rng.normal(size=constraints.transition.shape)
    between = TransitionScores(transitions, constraints.start, constraints.end)
    shift = ChainScores(tokens, between).margins().lattice.total
    tokens[n_tokens // 2 :] -= shift / (n_tokens // 2)
    given = ChainScores(tokens, between)
    lattice = given.margins()
    assert abs(lattice.lattice.total) < 1e-6
    found = {part for part, _ in segments_above(lattice, 0.0)}
    assert found >= set(own_parts("segments", given.best(1)[0])) and len(found) > n_tokens // 10
