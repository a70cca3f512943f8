"""Completing and projecting annotation, against enumeration."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.models.chain.completion import complete, complete_without, project

from .enumeration import scores, sequences, tiny_chains


def of_example(chains, array, example):
    return array[chains.starts[example] : chains.starts[example + 1]]


@given(tiny_chains(), st.data())
def test_complete(tiny, data):
    """The best legal sequence that agrees with what is annotated; examples that change are named."""
    chains = tiny.chains
    known = np.array(data.draw(st.lists(st.booleans(), min_size=len(chains.gold), max_size=len(chains.gold))), np.bool_)
    annotated = np.where(known, chains.gold, -1).astype(np.int32)
    before = chains.gold.copy()
    chosen = np.array(data.draw(st.lists(st.sampled_from(tiny.examples), unique=True)), np.int64)
    changed = complete(chains, chosen, annotated, tiny.weights)
    for example in tiny.examples:
        gold, old = tiny.gold(example), of_example(chains, before, example)
        assert (example in changed) == (gold.tolist() != old.tolist())
        if example not in chosen:
            assert gold.tolist() == old.tolist()
            continue
        given_labels = of_example(chains, annotated, example)
        ys = [y for y in sequences(chains, example) if all(a in (-1, label) for a, label in zip(given_labels, y))]
        values = scores(tiny, example, ys)
        assert tuple(gold) in ys
        assert values[ys.index(tuple(gold))] == pytest.approx(values.max(), abs=1e-10)


@given(tiny_chains(), st.data())
def test_project(tiny, data):
    """The legal sequence with the fewest changes; unknown labels stay unknown and cost nothing."""
    chains, size = tiny.chains, len(tiny.chains.gold)
    labels = st.integers(-1, tiny.n_labels - 1)
    annotated = np.array(data.draw(st.lists(labels, min_size=size, max_size=size)), np.int32)
    before = annotated.copy()
    examples_changed = project(chains, annotated, len(tiny.weights))
    expected = 0
    for example in tiny.examples:
        old, new = of_example(chains, before, example), of_example(chains, annotated, example)
        gold = tuple(tiny.gold(example))
        legal = sequences(chains, example)
        fewest = min(sum(a not in (-1, label) for a, label in zip(old, y)) for y in legal)
        assert gold in legal
        assert (old != new).sum() == fewest
        assert ((old == -1) == (new == -1)).all()
        assert all(a in (-1, label) for a, label in zip(new, gold))
        expected += fewest > 0
    assert examples_changed == expected


@given(tiny_chains(), st.data())
def test_complete_without(tiny, data):
    """The best legal sequence that agrees with what is annotated and has none of the runs of labels."""
    chains = tiny.chains
    example = data.draw(st.sampled_from(tiny.examples))
    size = int(chains.starts[example + 1] - chains.starts[example])
    known = np.array(data.draw(st.lists(st.booleans(), min_size=len(chains.gold), max_size=len(chains.gold))), np.bool_)
    annotated = np.where(known, chains.gold, -1).astype(np.int32)
    legal = sequences(chains, example)
    runs = []
    for path in data.draw(st.lists(st.sampled_from(legal), max_size=3)) if size else []:
        start = data.draw(st.integers(0, size - 1))
        end = data.draw(st.integers(start + 1, size))
        runs.append((start, np.array(path[start:end], np.int32)))
    given_labels = of_example(chains, annotated, example)

    def allowed(y):
        agrees = all(a in (-1, label) for a, label in zip(given_labels, y))
        return agrees and not any(
            y[start : start + len(labels)] == tuple(labels) and (given_labels[start : start + len(labels)] < 0).any()
            for start, labels in runs
        )

    ys = [y for y in legal if allowed(y)]
    found = complete_without(chains, example, annotated, tiny.weights, runs)
    assert found.shape == (size,)
    if ys:
        values = scores(tiny, example, ys)
        assert tuple(found) in ys
        assert values[ys.index(tuple(found))] == pytest.approx(values.max(), abs=1e-10)
