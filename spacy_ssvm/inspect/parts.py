"""The parts of a component's annotation, such as tags, entities, sentence starts, arcs, for users' questions; counts of
the right and the wrong ones by label, length of sentence, frequency of words.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

from spacy.scorer import PRFScore
from spacy.tokens import Doc
from spacy.training import Example

from ..models.named_parts import NamedPart, PartNames
from ..structures.scored import Known

NOTHING = "nothing"
"""The name of the missing side of a pair of parts."""
LENGTHS = (1, 6, 11, 21, 31, 41)
"""The min number of tokens of a sentence in each range of lengths."""
FREQUENCIES = (0, 1, 2, 5, 10, 100)
"""The min number of occurrences in training of a part's rarest word in each range of frequencies."""


class ComparedPart(NamedTuple):
    """A part of the gold annotation beside what is predicted there: tokens start … end − 1 of the predicted Doc.

    Attributes:
        gold, predicted: the names of both; None for an entity that was missed, or that gold does not have.
        head: of a gold arc, where a root is its own head.
        elsewhere: the tokens of the predicted entity, or the head of the predicted arc, where they are others: first,
            end.
    """

    start: int
    end: int
    gold: str | None
    predicted: str | None
    head: int | None = None
    elsewhere: tuple[int, int] | None = None

    @property
    def is_right(self) -> bool:
        return self.gold == self.predicted and self.elsewhere is None

    @property
    def gold_name(self) -> str:
        return NOTHING if self.gold is None else self.gold

    @property
    def predicted_name(self) -> str:
        """The name of the prediction, and that it is elsewhere, if that alone is wrong."""
        if self.gold != self.predicted or self.is_right:
            return NOTHING if self.predicted is None else self.predicted
        return f"{self.predicted}, other {'tokens' if self.head is None else 'head'}"


class AnnotationParts(PartNames, Protocol):
    """The parts of one kind of annotation: their names, the items for users, and their gold annotation.

    Attributes:
        query_form: the items that `from_query` takes, in words.
        impossible: an example of gold annotation that a structure may not allow, in words.
        smallest_doubtful_margin: parts with smaller margins do not change how unsure of a token the component is;
            beyond ±1, there is no doubt.
    """

    @property
    def query_form(self) -> str: ...

    @property
    def impossible(self) -> str: ...

    @property
    def smallest_doubtful_margin(self) -> float: ...

    def listing(self, values: Any, min_score: float) -> Iterable[tuple[Any, float]]:
        """The parts that are listed and that calibration measures, as `structures.scored.Listing`."""

    def item(self, part: NamedPart) -> Any:
        """A part in an analysis of the k best."""

    def from_query(self, item: Any) -> NamedPart:
        """The part that a user asks about; any error other than a ValueError means that `item` has another form."""

    def known(self, example: Example, bounds: Sequence[tuple[int, int]]) -> list[Known[Any]]:
        """The known gold annotation of sequences of a Doc, tokens first … end − 1 of each."""

    def compared(self, example: Example) -> list[ComparedPart]:
        """The parts of the gold and of the predicted annotation, each once and in order, where gold is known."""

    def missed(self, mistake: ComparedPart) -> Any:
        """The gold part of a mistake, as `from_query` takes it; None if there is none."""


def mistakes(parts: AnnotationParts, example: Example) -> list[ComparedPart]:
    """The differences of the predicted annotation from the gold one."""
    return [part for part in parts.compared(example) if not part.is_right]


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
    bounds = pairwise([*sorted(starts), len(predicted)])
    return [SentenceTokens(number, start, end) for start, end in bounds if start < end]


def located(sentences: Sequence[SentenceTokens], doc: Doc, parts: Iterable[ComparedPart]) -> list[LocatedPart]:
    """The parts of a Doc, which has these sentences, each in the one where it starts."""
    starts = [sentence.start for sentence in sentences]
    return [
        LocatedPart(sentences[bisect_right(starts, part.start) - 1], part, doc[part.start : part.end].text)
        for part in parts
    ]


def by_label(parts: Iterable[ComparedPart]) -> dict[str, PRFScore]:
    """The counts of the parts of each label, sorted: gold and predicted parts that have it."""
    scores: dict[str, PRFScore] = defaultdict(PRFScore)
    for part in parts:
        if part.gold is not None:
            scores[part.gold] += PRFScore(tp=part.is_right, fn=not part.is_right)
        if part.predicted is not None and not part.is_right:
            scores[part.predicted].fp += 1
    return dict(sorted(scores.items()))


def overall(parts: Iterable[ComparedPart]) -> PRFScore:
    """The counts of these parts: right ones, and gold and predicted ones that are not."""
    return sum(by_label(parts).values(), PRFScore())


def by_length(parts: Iterable[LocatedPart]) -> dict[str, PRFScore]:
    """The counts of the parts in sentences of each range of LENGTHS."""
    return _by_range(LENGTHS, [(part.sentence.end - part.sentence.start, part.part) for part in parts])


def by_frequency(
    parts: Iterable[LocatedPart], docs: Sequence[Doc], frequencies: Mapping[str, int]
) -> dict[str, PRFScore]:
    """The counts of the parts by how often their rarest word was seen in training, in ranges of FREQUENCIES.

    Args:
        docs: the predicted Docs.
        frequencies: of words in the training corpus.
    """

    def rarest(found: LocatedPart) -> int:
        tokens = docs[found.sentence.number][found.part.start : found.part.end]
        return min(frequencies.get(token.text, 0) for token in tokens)

    return _by_range(FREQUENCIES, [(rarest(part), part.part) for part in parts])


def _by_range(bounds: Sequence[int], parts: Iterable[tuple[int, ComparedPart]]) -> dict[str, PRFScore]:
    """The counts of the parts whose values are in each range of numbers, such as 2–4, or 41 and more."""
    groups: dict[int, list[ComparedPart]] = defaultdict(list)
    for value, part in parts:
        groups[bisect_right(bounds, value) - 1].append(part)
    ranges = [f"{first}" if first == end - 1 else f"{first}–{end - 1}" for first, end in pairwise(bounds)]
    names = [*ranges, f"{bounds[-1]} and more"]
    return {names[number]: overall(groups[number]) for number in sorted(groups)}
