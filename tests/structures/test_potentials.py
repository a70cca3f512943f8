"""What potentials say of sequences and segments, against enumeration."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.structures.chain.biluo import (
    Kind,
    biluo_constraints,
    n_states,
    segment_margins,
    segments,
    segments_through,
)
from spacy_ssvm.structures.chain.constraints import FORBIDDEN
from spacy_ssvm.structures.chain.potentials import Potentials, k_best, margins, max_lattice, sum_lattice

SCORES = st.one_of(st.integers(-2, 2).map(float), st.floats(-3, 3, allow_subnormal=False))
BETAS = st.sampled_from([0.01, 0.5, 1.0, 3.0])


def _drawn(draw, *shape):
    size = int(np.prod(shape))
    return np.array(draw(st.lists(SCORES, min_size=size, max_size=size))).reshape(shape)


@st.composite
def potentials(draw) -> Potentials:
    """Of up to three labels and four tokens, with a part of everything ruled out but one sequence."""
    n_labels, length = draw(st.integers(1, 3)), draw(st.integers(0, 4))
    legal = draw(st.lists(st.integers(0, n_labels - 1), min_size=length, max_size=length))

    def part(*shape):
        size = int(np.prod(shape))
        out = np.array(draw(st.lists(st.sampled_from([False, False, True]), min_size=size, max_size=size)), np.bool_)
        return np.where(out.reshape(shape), FORBIDDEN, _drawn(draw, *shape))

    found = Potentials(part(length, n_labels), part(n_labels, n_labels), part(n_labels), part(n_labels))
    found.tokens[np.arange(length), legal] = 1.0
    for i, j in itertools.pairwise(legal):
        found.transitions[i, j] = 0.5
    if length:
        found.start[legal[0]], found.end[legal[-1]] = 0.0, -1.0
    return found


@st.composite
def segmented(draw) -> Potentials:
    """BILUO labels of one or two types over up to four tokens, some of which begin or continue no segment."""
    n_types, length = draw(st.integers(1, 2)), draw(st.integers(0, 4))
    allowed = biluo_constraints(n_types)
    kinds = draw(st.lists(st.sampled_from([Kind.FREE, Kind.NO_BEGIN]), min_size=length, max_size=length))
    tokens = _drawn(draw, length, n_states(n_types)) + allowed.token[np.array(kinds, np.int64)]
    transitions = _drawn(draw, n_states(n_types), n_states(n_types)) + allowed.transition
    return Potentials(tokens, transitions, allowed.start, allowed.end)


def scored(drawn: Potentials) -> dict[tuple[int, ...], float]:
    """The score of each sequence that is not ruled out."""
    found = {}
    for y in itertools.product(range(len(drawn.start)), repeat=len(drawn.tokens)):
        parts = [drawn.tokens[t, label] for t, label in enumerate(y)]
        parts += [drawn.transitions[i, j] for i, j in itertools.pairwise(y)]
        parts += [drawn.start[y[0]], drawn.end[y[-1]]] if y else []
        if min(parts, default=0.0) > FORBIDDEN / 2:
            found[y] = float(sum(parts))
    return found


def probabilities(drawn: Potentials, beta: float) -> dict[tuple[int, ...], float]:
    scores = scored(drawn)
    weights = {y: np.exp(beta * (score - max(scores.values()))) for y, score in scores.items()}
    return {y: weight / sum(weights.values()) for y, weight in weights.items()}


@given(potentials(), st.integers(1, 12))
def test_k_best(drawn, k):
    paths, scores = k_best(drawn, k)
    expected = scored(drawn)
    assert scores == pytest.approx(sorted(expected.values(), reverse=True)[:k], abs=1e-10)
    assert len({tuple(path) for path in paths}) == len(paths)
    assert [expected[tuple(path)] for path in paths] == pytest.approx(scores, abs=1e-10)


@given(potentials(), BETAS)
def test_marginals(drawn, beta):
    expected = np.zeros(drawn.tokens.shape)
    for y, probability in probabilities(drawn, beta).items():
        expected[np.arange(len(y)), y] += probability
    np.testing.assert_allclose(np.exp(sum_lattice(drawn, beta).through()), expected, rtol=0, atol=1e-10)


@given(potentials())
def test_margins(drawn):
    scores = scored(drawn)
    found = margins(max_lattice(drawn))
    assert found.shape == drawn.tokens.shape
    for (t, label), margin in np.ndenumerate(found):
        expected = margin_of({y for y in scores if y[t] == label}, scores)
        assert margin == pytest.approx(expected, abs=1e-10)


def margin_of(having: set[tuple[int, ...]], scores: dict[tuple[int, ...], float]) -> float:
    """By how much the best of these sequences is ahead of the best of the others."""
    best = max((scores[y] for y in having), default=-np.inf)
    return best - max((score for y, score in scores.items() if y not in having), default=-np.inf)


@given(segmented(), BETAS, st.sampled_from([0.0, 0.001, 0.05, 0.3]))
def test_marginals_of_segments(drawn, beta, least):
    expected: dict[tuple[int, int, int], float] = {}
    for y, probability in probabilities(drawn, beta).items():
        for segment in segments(np.array(y, np.int64)):
            expected[segment] = expected.get(segment, 0.0) + probability
    lattice = sum_lattice(drawn, beta)
    with np.errstate(divide="ignore"):
        found = segments_through(lattice, float(np.log(least)))
    values = {(first, end, kind): float(np.exp(value)) for first, end, kind, value in found}
    assert found == sorted(found) and len(values) == len(found)
    # What is as likely as `least` may be on either side of it.
    assert values.keys() <= {segment for segment, value in expected.items() if value >= least - 1e-10}
    assert values.keys() >= {segment for segment, value in expected.items() if value > least + 1e-10}
    assert values == pytest.approx({segment: expected[segment] for segment in values}, abs=1e-10)


@given(segmented(), st.sampled_from([1.0, 0.0, -1.0, -1e9]))
def test_margins_of_segments(drawn, least):
    scores = scored(drawn)
    possible = {segment for y in scores for segment in segments(np.array(y, np.int64))}
    expected = {
        segment: margin_of({y for y in scores if segment in segments(np.array(y, np.int64))}, scores)
        for segment in possible
    }
    found = segment_margins(max_lattice(drawn), least)
    values = {(first, end, kind): value for first, end, kind, value in found}
    assert values.keys() <= {segment for segment, value in expected.items() if value >= least - 1e-10}
    assert values.keys() >= {segment for segment, value in expected.items() if value > least + 1e-10}
    assert values == pytest.approx({segment: expected[segment] for segment in values}, abs=1e-10)


def test_rounding_hides_no_segment_of_the_best_sequence():
    """Sums of thirds in another order differ in their last bits."""
    allowed = biluo_constraints(2)
    rng = np.random.default_rng(0)
    for _ in range(200):
        tokens, transitions = rng.normal(size=(6, n_states(2))) / 3, rng.normal(size=(n_states(2),) * 2) / 3
        drawn = Potentials(tokens, transitions + allowed.transition, allowed.start, allowed.end)
        ((best,), _), lattice = k_best(drawn, 1), max_lattice(drawn)
        assert {segment[:3] for segment in segment_margins(lattice, 0.0)} == set(segments(best))
        assert (margins(lattice)[np.arange(6), best] >= 0.0).all()


def test_everything_ruled_out_is_refused():
    closed = Potentials(np.zeros((2, 2)), np.zeros((2, 2)), np.full(2, FORBIDDEN), np.zeros(2))
    for lattice in (max_lattice, lambda drawn: sum_lattice(drawn, 0.001)):
        with pytest.raises(ValueError, match="every label sequence is ruled out"):
            lattice(closed)
    assert len(k_best(closed, 3)[0]) == 0


@pytest.mark.parametrize("n_tokens", [100, 1000])
def test_what_is_predicted_is_found_where_scores_cancel(n_tokens):
    """Half of the tokens score some +10, the others as much below 0: sums on the way are far larger than the total."""
    rng, constraints = np.random.default_rng(0), biluo_constraints(1)
    base = np.repeat([10.0, -10.0], n_tokens // 2)
    tokens = base[:, None] + rng.normal(0, 3, (n_tokens, n_states(1)))
    transitions = constraints.transition + rng.normal(size=constraints.transition.shape)
    shift = max_lattice(Potentials(tokens, transitions, constraints.start, constraints.end)).total
    tokens[n_tokens // 2 :] -= shift / (n_tokens // 2)
    given = Potentials(tokens, transitions, constraints.start, constraints.end)
    lattice, best = max_lattice(given), k_best(given, 1)[0][0]
    assert abs(lattice.total) < 1e-6
    found = {(one.first, one.end, one.type) for one in segment_margins(lattice, 0.0)}
    assert found >= set(segments(best)) and len(found) > n_tokens // 10
