"""Texts to annotate next: first the ones with most words that a component is unsure of and earlier ones lack."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heapreplace
from typing import NamedTuple

from ..models.named_parts import NamedPart


class Suggestion(NamedTuple):
    """A text to annotate.

    Attributes:
        number: its place among the texts that were ranked, from 0.
        score: how much it adds to those before it. Later scores are not larger.
    """

    number: int
    score: float


def unsure_words(
    words: Sequence[str], parts: Iterable[tuple[NamedPart, float]], is_probability: bool
) -> dict[str, float]:
    """The words of a text that a component is unsure of, and how much, summed over their tokens.

    The doubt of a part is the entropy of its probability in bits or, for a margin m, max(0, 1 − |m|)³: training asks
    for margins of 1, and predictions with margins a little below 1 are seldom wrong. A token's doubt, from 0 to 1, is
    the largest doubt of its parts.

    Args:
        words: of all tokens.
        parts: with their scores, unpredicted ones included.
    """
    doubts = [0.0] * len(words)
    for part, score in parts:
        doubt = _entropy(score) if is_probability else max(0.0, 1.0 - abs(score)) ** 3
        for token in range(part.start, part.end):
            doubts[token] = max(doubts[token], doubt)
    found: dict[str, float] = {}
    for word, doubt in zip(words, doubts):
        if doubt:
            found[word] = found.get(word, 0.0) + doubt
    return found


def ranked(texts: Sequence[Mapping[str, float]], lengths: Sequence[int]) -> Iterator[Suggestion]:
    """The texts in the order of their gains: greedy maximisation of Σ_w √D_w (1 − exp(−x_w)). D_w is the doubt about
    the word w in all texts, and x_w the doubt in the texts chosen so far. The gain of a text is divided by the root of
    its length. Copies of texts come last, with a score of 0, and are not counted.

    The sum is submodular (Wei, Iyer & Bilmes 2015): a text's gain never grows, so that earlier values bound it (Minoux
    1978).

    Args:
        texts: the doubt about each word.
        lengths: in tokens.
    """
    first: dict[frozenset[tuple[str, float]], int] = {}
    for number, text in enumerate(texts):
        first.setdefault(frozenset(text.items()), number)
    distinct = list(first.values())
    everywhere: dict[str, float] = {}
    for number in distinct:
        for word, doubt in texts[number].items():
            everywhere[word] = everywhere.get(word, 0.0) + doubt
    weights = {word: math.sqrt(doubt) for word, doubt in everywhere.items()}
    chosen: dict[str, float] = {}

    def gain(number: int) -> float:
        added = (
            weights[word] * math.exp(-chosen.get(word, 0.0)) * -math.expm1(-doubt)
            for word, doubt in texts[number].items()
        )
        return sum(added) / math.sqrt(max(1, lengths[number]))

    bounds = [(-gain(number), number) for number in distinct]
    heapify(bounds)
    while bounds:
        bound, number = bounds[0]
        score = gain(number)
        if score < -bound:
            heapreplace(bounds, (-score, number))
            continue
        heappop(bounds)
        for word, doubt in texts[number].items():
            chosen[word] = chosen.get(word, 0.0) + doubt
        yield Suggestion(number, score)
    yield from (Suggestion(number, 0.0) for number in sorted(set(range(len(texts))) - set(distinct)))


def _entropy(probability: float) -> float:
    """In bits."""
    return -sum(p * math.log2(p) for p in (probability, 1.0 - probability) if p > 0.0)
