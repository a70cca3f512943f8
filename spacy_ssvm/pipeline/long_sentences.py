"""Sentences that are too long to be parsed as a whole: cutting them, and joining the trees of their parts."""

from collections.abc import Sequence

import numpy as np
from spacy.pipeline import Sentencizer
from spacy.tokens import Doc

from ..corpus.checks.trees import circles

MAX_SENTENCE = 250
"""The max number of tokens of a sentence that is parsed as a whole: time is cubic in it, and memory quadratic."""

MAX_PART = 60
"""The max number of tokens of a part. Sentences are seldom longer: larger parts have several, are slower and, where
there is punctuation, worse."""

_SENTENCE_ENDS = frozenset((*Sentencizer.default_punct_chars, "…"))


def parts(docs: Sequence[Doc], starts: np.ndarray) -> np.ndarray:
    """The bounds of parsed stretches, int64 [S + 1]: sentences, in parts if longer than MAX_SENTENCE tokens.

    A part ends after the last sentence-final punctuation in the second half of the MAX_PART tokens that it can have, or
    else after all of them.

    Args:
        starts: int64 [n], the first token of each sentence, counted through all Docs.
    """
    lengths = list(map(len, docs))
    bounds = np.append(starts, sum(lengths))
    is_long = np.diff(bounds) > MAX_SENTENCE
    if not is_long.any():
        return bounds
    ends_of_docs = np.cumsum(lengths)
    cuts = []
    for first in np.flatnonzero(is_long).tolist():
        begin, end = bounds[first : first + 2].tolist()
        number = int(np.searchsorted(ends_of_docs, begin, "right"))
        offset = int(ends_of_docs[number]) - lengths[number]
        cuts.append(begin + _cuts([token.text for token in docs[number][begin - offset : end - offset]]))
    return np.sort(np.concatenate([bounds, *cuts]))


def _cuts(words: Sequence[str]) -> np.ndarray:
    """The first words of the parts of a sentence but the first one, int64."""
    is_end = np.array([_SENTENCE_ENDS.issuperset(word) for word in words])
    cuts, begin = [], 0
    while len(words) - begin > MAX_PART:
        ends = np.flatnonzero(is_end[begin + MAX_PART // 2 : begin + MAX_PART])
        begin += MAX_PART if not len(ends) else MAX_PART // 2 + int(ends[-1]) + 1
        cuts.append(begin)
    return np.array(cuts, np.int64)


def joined(heads: np.ndarray, is_given: np.ndarray, starts: np.ndarray | None) -> np.ndarray:
    """The heads of trees over whole sentences, int64 [T], from trees over their parts.

    The roots of parts get the sentence's root for a head: the first one that is given, or else the first one.

    Args:
        heads: int64 [T], tokens; a root is its own head. Heads in other parts are given ones.
        is_given: bool [T], heads that stay; they form no cycle.
        starts: int64 [S], the first tokens of sentences; None where sentences can have several roots, and all roots
            stay.
    """
    heads = heads.copy()
    tokens = np.arange(len(heads))
    # Given heads that lead from part to part can close cycles with heads that are predicted.
    around = circles(heads)
    while len(free := around[~is_given[around]]):
        heads[free] = free
        around = circles(heads)
    if starts is None:
        return heads
    roots = np.flatnonzero(heads == tokens)
    sentence = np.searchsorted(starts, roots, "right")
    # In each sentence, given roots come first.
    order = np.lexsort((roots, ~is_given[roots], sentence))
    roots, sentence = roots[order], sentence[order]
    first = np.searchsorted(sentence, sentence)
    heads[roots] = np.where(is_given[roots], roots, roots[first])
    return heads
