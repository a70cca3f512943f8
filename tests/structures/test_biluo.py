"""BILUO as constraints: the legal label sequences are exactly the segmentations of the sequence."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.structures.chain import biluo
from spacy_ssvm.structures.chain.biluo import FIXED, FREE, NO_CONTINUATION, biluo_constraints, n_states, segments, state

from .enumeration import legal_sequences


def segmentations(length, n_types, first=0):
    """All sets of disjoint typed segments of `length` tokens, as lists of (first, behind, type)."""
    if first == length:
        yield []
        return
    yield from segmentations(length, n_types, first + 1)
    for end in range(first + 1, length + 1):
        for segment_type in range(n_types):
            for rest in segmentations(length, n_types, end):
                yield [(first, end, segment_type), *rest]


def labelled(found, length):
    """The chain labels of a segmentation."""
    y = [biluo.OUTSIDE] * length
    for first, end, segment_type in found:
        y[first:end] = [state(biluo.INSIDE, segment_type)] * (end - first)
        y[first] = state(biluo.BEGIN, segment_type)
        y[end - 1] = state(biluo.LAST if end - first > 1 else biluo.UNIT, segment_type)
    return tuple(y)


@pytest.mark.parametrize(("length", "n_types"), [(0, 1), (1, 2), (2, 2), (3, 2), (5, 1)])
def test_legal_sequences_are_the_segmentations(length, n_types):
    legal = legal_sequences(biluo_constraints(n_types), [FREE] * length)
    expected = {labelled(found, length): found for found in segmentations(length, n_types)}
    assert set(legal) == set(expected) and len(legal) == len(set(legal))
    for y in legal:
        assert segments(np.array(y, np.int32)) == expected[y]


@given(st.lists(st.integers(0, FIXED + n_states(1) - 1), max_size=4))
def test_kinds_of_tokens(kinds):
    """NO_CONTINUATION: no segment runs on into the token; FIXED + l: it has label l."""

    def allowed(found, y):
        continues = {token for first, end, _ in found for token in range(first + 1, end)}
        for token, kind in enumerate(kinds):
            if kind >= FIXED:
                if y[token] != kind - FIXED:
                    return False
            elif kind == NO_CONTINUATION and token in continues:
                return False
        return True

    expected = {labelled(found, len(kinds)): found for found in segmentations(len(kinds), 1)}
    legal = set(legal_sequences(biluo_constraints(1), kinds))
    assert legal == {y for y, found in expected.items() if allowed(found, y)}
