"""What a correction changes in the first pass: heads that it has dropped are kept, with small steps."""

import numpy as np
import pytest

from spacy_ssvm.models.tree.candidates import BITS, ArcFirstPass
from spacy_ssvm.structures import UNKNOWN
from spacy_ssvm.training.first_pass import admitting

from .test_candidates import per_token, random_heads, sentences_of

SIZES = [5, 0, 7, 3]


def setting(seed: int, share: float, max_heads: int = 3):
    rng = np.random.default_rng(seed)
    columns, program = sentences_of(rng, SIZES)
    weights = rng.normal(size=1 << BITS).astype(np.float32)
    return ArcFirstPass(program, weights, max_heads, 2.5, 100), columns, random_heads(rng, SIZES, share)


def kept(first_pass: ArcFirstPass, columns, heads) -> list[bool]:
    nothing = np.full(len(heads), UNKNOWN, np.int32)
    found = per_token(*first_pass.candidates(columns, nothing), SIZES)
    return [head == UNKNOWN or head in candidates for head, candidates in zip(heads.tolist(), found)]


@pytest.mark.parametrize("seed", range(5))
def test_heads_of_a_few_tokens_are_kept(seed):
    before, columns, heads = setting(seed, 0.3)
    assert not all(kept(before, columns, heads))
    after = admitting(before, columns, heads)
    assert all(kept(after, columns, heads))
    assert after.weights.dtype == np.float32 and (after.max_heads, after.margin) == (3, 2.5)
    change = after.weights - before.weights
    assert 0 < np.linalg.norm(change) < 0.05 * np.linalg.norm(before.weights)


def test_weights_stay_finite_where_no_step_helps():
    """Heads of equal features: keeping one keeps the others."""
    rng = np.random.default_rng(0)
    columns, program = sentences_of(rng, [7])
    alike = columns._replace(keys=np.zeros_like(columns.keys))
    before = ArcFirstPass(program, np.zeros(1 << BITS, np.float32), 1, 2.5, 100)
    for head in range(8):
        heads = np.array([UNKNOWN] * 3 + [head if head != 4 else UNKNOWN] + [UNKNOWN] * 3, np.int32)
        assert np.isfinite(admitting(before, alike, heads).weights).all()


def test_nothing_changes_where_nothing_is_dropped():
    first_pass, columns, heads = setting(0, 0.3, max_heads=7)
    roomy = ArcFirstPass(first_pass.program, first_pass.weights, 7, np.inf, 100)
    assert admitting(roomy, columns, heads) is roomy
    assert admitting(first_pass, columns, np.full(len(heads), UNKNOWN, np.int32)) is first_pass
    untrained = ArcFirstPass(first_pass.program, np.zeros(0, np.float32), 3, 2.5, 100)
    assert admitting(untrained, columns, heads) is untrained
