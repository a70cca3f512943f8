"""Completing and projecting annotation, against enumeration."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.models.chain.completion import complete, complete_without, project

from ...structures.enumeration import listed
from .enumeration import scores, sequences, tiny_chains


def agrees(y, annotated) -> bool:
    return all(known in (-1, label) for known, label in zip(annotated, y))


def partly(draw, tiny) -> np.ndarray:
    """The gold labels of some tokens, −1 for the others, int32 [T]."""
    known = np.array(listed(draw, st.booleans(), len(tiny.chains.gold)), np.bool_)
    return np.where(known, tiny.chains.gold, -1).astype(np.int32)


def assert_best(tiny, example, found, ys) -> None:
    values = scores(tiny, example, ys)
    assert values[ys.index(tuple(found))] == pytest.approx(values.max(), abs=1e-10)


@given(tiny_chains(), st.data())
def test_complete(tiny, data):
    """The best legal sequence that agrees with what is annotated; examples that change are named."""
    annotated, before = partly(data.draw, tiny), tiny.chains.gold.copy()
    chosen = np.array(data.draw(st.lists(st.sampled_from(tiny.examples), unique=True)), np.int64)
    changed = complete(tiny.chains, chosen, annotated, tiny.weights)
    for example in tiny.examples:
        gold, old = tiny.gold(example), tiny.of(example, before)
        assert (example in changed) == (gold.tolist() != old.tolist())
        if example in chosen:
            legal = sequences(tiny.chains, example)
            assert_best(tiny, example, gold, [y for y in legal if agrees(y, tiny.of(example, annotated))])
        else:
            assert gold.tolist() == old.tolist()


@given(tiny_chains(), st.data())
def test_project(tiny, data):
    """The legal sequence with the fewest changes; unknown labels stay unknown and cost nothing."""
    annotated = np.array(listed(data.draw, st.integers(-1, tiny.n_labels - 1), len(tiny.chains.gold)), np.int32)
    before = annotated.copy()
    examples_changed = project(tiny.chains, annotated)
    expected = 0
    for example in tiny.examples:
        old, new = tiny.of(example, before), tiny.of(example, annotated)
        gold, legal = tuple(tiny.gold(example)), sequences(tiny.chains, example)
        fewest = min(sum(a not in (-1, label) for a, label in zip(old, y)) for y in legal)
        assert gold in legal and agrees(gold, new)
        assert (old != new).sum() == fewest
        assert ((old == -1) == (new == -1)).all()
        expected += fewest > 0
    assert examples_changed == expected


@given(tiny_chains(), st.data())
def test_complete_without(tiny, data):
    """The best legal sequence that agrees with what is annotated and has none of the runs of labels."""
    example = data.draw(st.sampled_from(tiny.examples))
    annotated, legal = partly(data.draw, tiny), sequences(tiny.chains, example)
    given_labels = tiny.of(example, annotated)
    size, runs = len(given_labels), []
    for path in data.draw(st.lists(st.sampled_from(legal), max_size=3)) if size else []:
        start = data.draw(st.integers(0, size - 1))
        end = data.draw(st.integers(start + 1, size))
        runs.append((start, np.array(path[start:end], np.int32)))

    def has(y, start, labels) -> bool:
        place = slice(start, start + len(labels))
        return y[place] == tuple(labels) and (given_labels[place] < 0).any()

    ys = [y for y in legal if agrees(y, given_labels) and not any(has(y, *run) for run in runs)]
    found = complete_without(tiny.chains, example, annotated, tiny.weights, runs)
    assert found.shape == (size,)
    if ys:
        assert_best(tiny, example, found, ys)
