"""Which heads a token is left with, by definition; and what the first pass is trained on, by summing it up."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.features.arc_program import ArcProgram
from spacy_ssvm.models.tree.candidates import (
    BITS,
    MIN_GRADIENT,
    ArcFirstPass,
    max_ranking_entries,
    near_candidates,
    ranking,
    ranking_oracle,
)
from spacy_ssvm.models.tree.data import Shape, in_steps, weights_at
from spacy_ssvm.structures import UNKNOWN
from spacy_ssvm.structures.tree.parts import PROJECTIVE

from ...features.arc_reference import Kernels
from ...structures.enumeration import dear
from .enumeration import random_sentences

lengths = st.lists(st.integers(0, 6), min_size=1, max_size=3)
seeds = st.integers(0, 2**32 - 1)


def sentences_of(rng, sizes):
    data = random_sentences(rng, Shape(1, 8, 4, PROJECTIVE, False), sizes)
    return data.columns, data.program


def places(sizes) -> list[tuple[int, int]]:
    """Of each token its sentence's length and its number in it, from 1."""
    return [(n, m) for n in sizes for m in range(1, n + 1)]


def random_heads(rng, sizes, share: float) -> np.ndarray:
    """Some tokens' heads, int32 [T], UNKNOWN for the others."""
    others = [[h for h in range(n + 1) if h != m] for n, m in places(sizes)]
    return np.array([rng.choice(heads) if rng.random() < share else UNKNOWN for heads in others], np.int32)


def per_token(starts, candidates, sizes) -> list[list[int]]:
    assert starts[0] == 0 and starts[-1] == len(candidates) and len(starts) == sum(sizes) + 1
    assert starts.dtype == np.int64 and candidates.dtype == np.int32
    return [candidates[a:b].tolist() for a, b in pairwise(starts)]


def arc_scores(columns, program: ArcProgram, bits: int, weights) -> list[dict[int, float]]:
    """The score of each head of each token, summed up in plain Python."""
    found = []
    for sentence in range(len(columns.starts) - 1):
        kernels = Kernels(program, columns, sentence, bits)
        for _, m in places([kernels.n]):
            features = {h: kernels.features("arc", {"head": h, "mod": m}) for h in range(kernels.n + 1) if h != m}
            found.append({h: sum(weights[i] * value for i, value in fired) for h, fired in features.items()})
    return found


def rounded(weights: np.ndarray) -> np.ndarray:
    """The weights that prediction uses."""
    return weights_at(in_steps(weights, len(weights)), np.arange(len(weights)), of_labels=False)


@given(seeds, lengths, st.integers(1, 8), st.sampled_from([0.0, 1.0, 3.0, 1e9, np.inf]), st.booleans())
def test_prune(seed, sizes, most, margin, ties):
    """Whole weights make ties: then any of the heads of equal score may stay."""
    rng, bits = np.random.default_rng(seed), 7
    columns, program = sentences_of(rng, sizes)
    weights = rng.integers(-2, 3, 1 << bits) if ties else rng.normal(size=1 << bits)
    weights = weights.astype(np.float32)
    needed = random_heads(rng, sizes, 0.3)
    found = per_token(*ArcFirstPass(program, weights, most, margin, 100).candidates(columns, needed), sizes)
    for (_, m), must, kept, scores in zip(
        places(sizes), needed, found, arc_scores(columns, program, bits, rounded(weights))
    ):
        assert kept == sorted({*kept}) and m not in kept
        assert m - 1 in kept and (must == UNKNOWN or must in kept)
        highest = max(scores.values())
        for h, score in scores.items():
            better = sum(other > score + 1e-9 for other in scores.values())
            as_good = sum(other >= score - 1e-9 for k, other in scores.items() if k != h)
            if h not in kept:
                assert score < highest - margin + 1e-9 or as_good >= most
            elif h not in (m - 1, must):
                assert score >= highest - margin - 1e-9 and better < most
        assert len(kept) <= most + len({m - 1, must} - {UNKNOWN})


def test_heads_that_the_first_pass_keeps():
    rng, sizes = np.random.default_rng(2), [6, 0, 9]
    columns, program = sentences_of(rng, sizes)
    first_pass = ArcFirstPass(program, rng.normal(size=1 << BITS).astype(np.float32), 3, 2.5, 100)
    heads = random_heads(rng, sizes, 0.3)
    found = per_token(*first_pass.candidates(columns, np.full(15, UNKNOWN, np.int32)), sizes)
    is_kept, n_candidates = first_pass.keeps(columns, heads)
    assert is_kept.tolist() == [head in kept for head, kept in zip(heads.tolist(), found)]
    assert n_candidates == sum(map(len, found)) and 0 < is_kept.sum() < 15


@pytest.mark.parametrize("with_alone", [False, True])
def test_near_candidates(with_alone):
    rng, sizes, max_heads = np.random.default_rng(0), [3, 0, 40, 1], 12
    needed, n_tokens = random_heads(rng, sizes, 0.5), sum(sizes)
    alone = rng.random(n_tokens) < 0.5 if with_alone else None
    starts = np.cumsum([0, *sizes])
    found = per_token(*near_candidates(starts, needed, max_heads, *([alone] if with_alone else [])), sizes)
    reach = {n: largest_reach(n, max_heads) for n in sizes}
    for token, (n, m) in enumerate(places(sizes)):
        others = {h for h in range(n + 1) if h == 0 or abs(h - m) <= reach[n]} - {m}
        expected = {m - 1} if with_alone and alone[token] else others
        assert found[token] == sorted(expected | ({int(needed[token])} - {UNKNOWN}))
    assert reach[3] == 2 and reach[40] < 10, "all heads in short sentences"
    out = [must for (n, m), must in zip(places(sizes), needed) if must > 0 and abs(must - m) > reach[n]]
    assert out, "one out of reach"


def largest_reach(n: int, max_heads: int) -> int:
    """The largest distance up to which n tokens have at most `max_heads` tokens each on average, and at least 1."""
    distances = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    return max(r for r in range(1, max(n, 2)) if r == 1 or np.count_nonzero(distances <= r) - n <= max_heads * n)


@pytest.mark.parametrize("trained", [True, False])
def test_no_setting_gives_a_token_more_heads_than_the_limit(trained):
    """What does not prune has a bounded number of candidates per token in a sentence of any length."""
    rng, sizes = np.random.default_rng(3), [60]
    columns, program = sentences_of(rng, sizes)
    weights = rng.normal(size=(1 << BITS) if trained else 0).astype(np.float32)
    _, candidates = ArcFirstPass(program, weights, 1000, np.inf, 8).candidates(columns, np.full(60, UNKNOWN, np.int32))
    assert 60 * 6 < len(candidates) <= 60 * (8 + 2)


@dear
@given(seeds, lengths, st.sampled_from([0.0, 1.0]))
def test_ranking_is_the_gradient_of_a_log_linear_model(seed, sizes, loss_scale):
    """For each token −log P(gold head), even where P underflows, and f(gold) − E f without arcs that hardly count."""
    rng, bits = np.random.default_rng(seed), 9
    columns, program = sentences_of(rng, sizes)
    heads = random_heads(rng, sizes, 0.7)
    trees = ranking(program, bits, columns, heads)
    assert len(heads) == len(trees.gold) and trees.bits == bits
    weights = rng.normal(size=1 << bits) * rng.choice([0.1, 1.0, 5.0, 1000.0])
    indices, values = (np.zeros(max_ranking_entries(trees) + 1, dtype) for dtype in (np.int64, np.float64))
    tokens = iter(zip(heads, arc_scores(columns, program, bits, weights)))
    for sentence in range(len(sizes)):
        kernels = Kernels(program, columns, sentence, bits)
        expected, expected_loss = np.zeros(1 << bits), 0.0
        for m in range(1, kernels.n + 1):
            head, scores = next(tokens)
            if head == UNKNOWN:
                continue
            augmented = {h: score + loss_scale * (h != head) for h, score in scores.items()}
            log_partition = np.logaddexp.reduce(list(augmented.values()))
            expected_loss += log_partition - augmented[head]
            for h, score in augmented.items():
                gradient = (h == head) - np.exp(score - log_partition)
                if abs(gradient) > MIN_GRADIENT:
                    for index, value in kernels.features("arc", {"head": h, "mod": m}):
                        expected[index] += gradient * value
        indices[:] = -1
        entries, loss = ranking_oracle(trees, sentence, weights, 1.0, loss_scale, indices, values)
        assert entries <= max_ranking_entries(trees) and (indices[entries:] == -1).all()
        found = np.zeros(1 << bits)
        np.add.at(found, indices[:entries], values[:entries])
        np.testing.assert_allclose(found, expected, atol=1e-9)
        assert loss == pytest.approx(expected_loss, rel=1e-12, abs=1e-9)
