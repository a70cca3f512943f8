"""Which texts to annotate next: those with most of what a component is unsure of, that the ones before do not have."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heapreplace
from typing import NamedTuple

from ..models.scored import NamedPart


class Suggestion(NamedTuple):
    """A text to annotate; number: its place among the texts that were ranked, from 0. Later scores are not larger."""

    number: int
    score: float


def unsure_words(
    words: Sequence[str], parts: Iterable[tuple[NamedPart, float]], is_probability: bool
) -> dict[str, float]:
    """The words of a text that a component is unsure of, and how much, summed over their tokens.

    The doubt of a part is the entropy of its probability in bits or, for a margin m, max(0, 1 − |m|): training asks for
    margins of 1. That of a token, from 0 to 1, is the largest doubt of the parts that it belongs to.

    words: of all tokens. parts: with their scores, those that are not predicted included.
    """
    doubts = [0.0] * len(words)
    for part, score in parts:
        doubt = _entropy(score) if is_probability else max(0.0, 1.0 - abs(score))
        for token in range(part.start, part.end):
            doubts[token] = max(doubts[token], doubt)
    found: dict[str, float] = {}
    for word, doubt in zip(words, doubts):
        if doubt:
            found[word] = found.get(word, 0.0) + doubt
    return found


def ranked(texts: Sequence[Mapping[str, float]], lengths: Sequence[int]) -> Iterator[Suggestion]:
    """The texts, each the one that adds most to those before it: greedy maximisation of Σ_w 1 − exp(−x_w), where x_w is
    the doubt about the word w in all texts chosen so far. What a text adds is divided by the root of its length.

    The sum is submodular: what a text adds never grows, so that values computed earlier bound it (Minoux 1978).

    texts: the doubt about each word. lengths: in tokens.
    """
    chosen: dict[str, float] = {}

    def gain(number: int) -> float:
        added = (
            math.exp(-chosen.get(word, 0.0)) - math.exp(-chosen.get(word, 0.0) - doubt)
            for word, doubt in texts[number].items()
        )
        return sum(added) / math.sqrt(max(1, lengths[number]))

    bounds = [(-gain(number), number) for number in range(len(texts))]
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


def _entropy(probability: float) -> float:
    """In bits."""
    return -sum(p * math.log2(p) for p in (probability, 1.0 - probability) if p > 0.0)
