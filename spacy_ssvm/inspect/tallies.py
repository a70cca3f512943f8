"""Counts of the right and the wrong parts of an annotated corpus: by label, length of sentence, frequency of words."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

from spacy.tokens import Doc
from spacy.training import Example

from .parts import ComparedPart

K = TypeVar("K", bound=Hashable)
LENGTHS = (1, 6, 11, 21, 31, 41)
"""The min number of tokens of a sentence in each range of lengths."""
FREQUENCIES = (0, 1, 2, 5, 10, 100)
"""The min number of occurrences in training of a part's rarest word in each range of frequencies."""


class Tally(NamedTuple):
    """The number of gold parts, of predicted parts, and of those that are both."""

    gold: int
    predicted: int
    right: int

    @property
    def precision(self) -> float:
        return self.right / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        return self.right / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        return 2 * self.right / (self.gold + self.predicted) if self.gold + self.predicted else 0.0


class SentenceTokens(NamedTuple):
    """Tokens start … end − 1 of the predicted Doc of an example, by its number."""

    number: int
    start: int
    end: int


class LocatedPart(NamedTuple):
    """A part in its sentence. text: its tokens."""

    sentence: SentenceTokens
    part: ComparedPart
    text: str


def sentences_of(number: int, example: Example) -> list[SentenceTokens]:
    """The gold sentences of an example by tokens of its predicted Doc; without them those predicted, or all of it."""
    reference, predicted = example.reference, example.predicted
    starts = {0}
    if reference.has_annotation("SENT_START"):
        places = [example.alignment.y2x[sentence.start : sentence.end] for sentence in reference.sents]
        starts |= {int(place[0]) for place in places if len(place)}
    elif predicted.has_annotation("SENT_START"):
        starts |= {sentence.start for sentence in predicted.sents}
    return [
        SentenceTokens(number, start, end) for start, end in pairwise([*sorted(starts), len(predicted)]) if start < end
    ]


def located(sentences: Sequence[SentenceTokens], doc: Doc, parts: Iterable[ComparedPart]) -> list[LocatedPart]:
    """The parts of a Doc, which has these sentences, each in the one where it starts."""
    starts = [sentence.start for sentence in sentences]
    return [
        LocatedPart(sentences[bisect_right(starts, part.start) - 1], part, doc[part.start : part.end].text)
        for part in parts
    ]


def tally(parts: Iterable[ComparedPart]) -> Tally:
    """The counts of these parts."""
    sides = [(part.gold is not None, part.predicted is not None, part.is_right) for part in parts]
    return Tally(*map(sum, zip(*sides))) if sides else Tally(0, 0, 0)


def tallies(parts: Iterable[LocatedPart], key: Callable[[LocatedPart], K]) -> dict[K, Tally]:
    """The counts of the parts with each value of `key`, in the order of values."""
    groups: dict[K, list[ComparedPart]] = {}
    for part in parts:
        groups.setdefault(key(part), []).append(part.part)
    return {value: tally(groups[value]) for value in sorted(groups)}  # type: ignore[type-var]


def by_label(parts: Iterable[ComparedPart]) -> dict[str, Tally]:
    """The counts of the parts of each label, sorted: gold and predicted parts that have it."""
    listed = list(parts)
    gold = Counter(part.gold for part in listed if part.gold is not None)
    predicted = Counter(part.predicted for part in listed if part.predicted is not None)
    right = Counter(part.gold for part in listed if part.is_right)
    return {label: Tally(gold[label], predicted[label], right[label]) for label in sorted({*gold, *predicted})}


def by_length(parts: Iterable[LocatedPart]) -> dict[str, Tally]:
    """The counts of the parts in sentences of each range of LENGTHS."""
    found = tallies(parts, lambda part: _range(LENGTHS, part.sentence.end - part.sentence.start))
    return {_name(LENGTHS, number): counts for number, counts in found.items()}


def by_frequency(parts: Iterable[LocatedPart], docs: Sequence[Doc], frequencies: Mapping[str, int]) -> dict[str, Tally]:
    """The counts of the parts by how often their rarest word was seen in training, in ranges of FREQUENCIES.

    Args:
        docs: the predicted Docs.
        frequencies: of words in the training corpus.
    """

    def rarest(found: LocatedPart) -> int:
        tokens = docs[found.sentence.number][found.part.start : found.part.end]
        return _range(FREQUENCIES, min(frequencies.get(token.text, 0) for token in tokens))

    return {_name(FREQUENCIES, number): counts for number, counts in tallies(parts, rarest).items()}


def _range(bounds: Sequence[int], value: int) -> int:
    return bisect_right(bounds, value) - 1


def _name(bounds: Sequence[int], number: int) -> str:
    """The numbers in a range, such as 2–4, or 41 and more."""
    if number == len(bounds) - 1:
        return f"{bounds[number]} and more"
    first, last = bounds[number], bounds[number + 1] - 1
    return f"{first}" if first == last else f"{first}–{last}"
