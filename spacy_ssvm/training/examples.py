"""Examples on their way into a data set: their gold annotation is read, and they are encoded.

Examples that cannot be read are left out with a warning, and the others are learnt from.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Protocol
from weakref import WeakSet

from spacy.tokens import Doc
from spacy.training import Example

from ..files import listed
from ..models.protocol import Batch, StructuredModel
from ..wording import name_of
from ..words import example_of_words
from .recognition import Marks, content_of

BATCH = 1000
"""Examples that are encoded at a time before training starts."""

MAX_CHECKED = 100
"""The max number of examples of an update whose references are read again, as users may have edited them. In epochs
over a corpus, that would take as long as half of what is learnt."""


class Unreadable:
    """The examples that a component cannot read; each of them is reported once.

    Args:
        component: the component's name, for messages.
    """

    def __init__(self, component: str) -> None:
        self._component = component
        self._failures: dict[int, tuple[Example, Exception]] = {}
        self._reported: WeakSet[Doc] = WeakSet()

    @contextmanager
    def leaving_out(self, number: int, example: Example) -> Iterator[None]:
        """Note the example if the body of the `with` fails; number: its place in the corpus or batch, from 0."""
        try:
            yield
        except MemoryError:
            raise
        except Exception as error:
            self._failures[number] = example, error

    def report(self, n_examples: int, n_others: int = 0) -> None:
        """Warn of the examples noted since the last report, except examples that an earlier report has named.

        Args:
            n_examples: the size of the corpus or batch.
            n_others: the number of examples that could be read before.

        Raises:
            Exception: none of the examples can be read: the error of the first one, whose cause is not the examples.
        """
        failures, self._failures = self._failures, {}
        if failures and len(failures) == n_examples and not n_others:
            raise next(iter(failures.values()))[1]
        new = {n: (eg, error) for n, (eg, error) in failures.items() if eg.reference not in self._reported}
        if not new:
            return
        self._reported.update(example.reference for example, _ in new.values())
        reasons = [f"{name_of(number, eg.predicted)}: {error}" for number, (eg, error) in new.items()]
        warnings.warn(
            f"[{self._component}] {len(new):,} of {n_examples:,} examples cannot be read and are left out: "
            f"{listed(reasons)}",
            stacklevel=4,
        )


class GoldReader(Protocol):
    """Reads the gold annotation of a component, as its codec does."""

    def gold(self, example: Example) -> Any:
        """The gold annotation of the predicted Doc; its `is_annotated` tells whether there is anything to learn."""

    def survey(self, examples: Sequence[Example], gold: Sequence[Any]) -> Any:
        """The survey of these examples and their gold annotation."""


@dataclass(frozen=True)
class ReadExamples:
    """Examples of a corpus or batch, by their numbers there, whose gold annotation has been read.

    Attributes:
        examples: all of them; examples of words, `words.words_of`, where gold annotation was read.
        marks: of the readable ones, by which changes are noticed.
        gold: of readable ones, or fewer of them, the gold annotation; None for a known example.
    """

    examples: Mapping[int, Example]
    marks: Mapping[int, Marks]
    gold: Mapping[int, Any]

    def __deepcopy__(self, memo: dict[int, Any]) -> "ReadExamples":
        """Itself: known examples are recognised by their reference Docs, as objects."""
        return self

    @classmethod
    def joined(cls, parts: Sequence["ReadExamples"]) -> "ReadExamples":
        """The examples of several parts of a batch together."""

        def of_all(name: str) -> dict[int, Any]:
            return {number: value for part in parts for number, value in getattr(part, name).items()}

        return cls(of_all("examples"), of_all("marks"), of_all("gold"))

    def annotated(self) -> "ReadExamples":
        """Keep the gold annotation of examples that have anything to learn, or that are known."""
        return replace(self, gold={n: gold for n, gold in self.gold.items() if gold is None or gold.is_annotated})

    def with_gold_of_known(self, codec: GoldReader) -> "ReadExamples":
        """Add the gold annotation of the known examples."""
        of_words = {n: example_of_words(self.examples[n]) for n, gold in self.gold.items() if gold is None}
        gold = {n: codec.gold(of_words[n]) if gold is None else gold for n, gold in self.gold.items()}
        return replace(self, examples={**self.examples, **of_words}, gold=gold)

    def fresh(self) -> dict[int, Any]:
        """The gold annotation of examples that are not known."""
        return {number: gold for number, gold in self.gold.items() if gold is not None}

    def survey(self, codec: GoldReader) -> Any:
        """The survey of the examples that are not known."""
        fresh = self.fresh()
        return codec.survey([self.examples[number] for number in fresh], list(fresh.values()))


@dataclass(frozen=True)
class EncodedExamples:
    """The examples of a batch to learn from.

    Attributes:
        numbers: of all, in the corpus or batch.
        references: their reference Docs.
        marks: by which their changes are noticed.
        places: of the encoded ones among them; the others are known.
        batches: the encoded ones, in order.
    """

    numbers: list[int]
    references: list[Doc]
    marks: list[Marks]
    places: list[int]
    batches: list[Batch]


def in_parts(examples: Iterable[Example]) -> Iterator[dict[int, Example]]:
    """The examples that have tokens, as they are read, BATCH at a time, by their places among all."""
    n_before = 0
    items = iter(examples)
    while part := list(islice(items, BATCH)):
        yield numbered(part, n_before)
        n_before += len(part)


def numbered(examples: Sequence[Example], first: int = 0) -> dict[int, Example]:
    """The examples that have tokens, by their places; first: the place of the first one."""
    return {number: example for number, example in enumerate(examples, first) if len(example.predicted)}


def read_examples(
    examples: Mapping[int, Example],
    codec: GoldReader,
    model: StructuredModel,
    unreadable: Unreadable,
    is_known: Callable[[Doc, Marks], bool] = lambda reference, marks: False,
) -> ReadExamples:
    """Read the gold annotation of examples; unreadable ones are noted as such.

    Args:
        is_known: whether an example, by its reference Doc and its marks, is known.
    """
    marks: dict[int, Marks] = {}
    gold: dict[int, Any] = {}
    of_words: dict[int, Example] = {}
    constraining = list(model.space.constraining)
    for number, example in examples.items():
        with unreadable.leaving_out(number, example):
            doc = example.predicted
            limits = doc.to_array(constraining).tobytes() if constraining else b""
            content = content_of(example) if len(examples) <= MAX_CHECKED else None
            marks[number] = Marks(model.reader.read_annotation(doc) + limits, content)
            if is_known(example.reference, marks[number]):
                gold[number] = None
                continue
            if content is None:
                marks[number] = marks[number]._replace(content=content_of(example))
            of_words[number] = example_of_words(example)
            if len(of_words[number].predicted):
                gold[number] = codec.gold(of_words[number])
    return ReadExamples({**examples, **of_words}, marks, gold)


def encode(
    read: ReadExamples, model: StructuredModel, unreadable: Unreadable, size: int | None = None
) -> EncodedExamples:
    """Encode examples, in batches of this size, or in a single one. Unreadable ones are noted as such."""
    fresh, batches, encoded = list(read.fresh()), list[Batch](), set[int]()
    parts = [fresh] if size is None else [fresh[first : first + size] for first in range(0, len(fresh), size)]
    for part in parts:
        readable, batch = _encoded(read, part, model, unreadable)
        encoded.update(readable)
        batches.append(batch)
    numbers = [number for number, gold in read.gold.items() if gold is None or number in encoded]
    return EncodedExamples(
        numbers,
        [read.examples[number].reference for number in numbers],
        [read.marks[number] for number in numbers],
        [place for place, number in enumerate(numbers) if number in encoded],
        batches,
    )


def _encoded(
    read: ReadExamples, numbers: Sequence[int], model: StructuredModel, unreadable: Unreadable
) -> tuple[Sequence[int], Batch]:
    """The numbers of the examples that can be encoded, among these, and these examples as one batch."""

    def batch(numbers: Sequence[int]) -> Batch:
        return model.encode([read.examples[n] for n in numbers], [read.gold[n] for n in numbers])

    try:
        return numbers, batch(numbers)
    except Exception:
        readable = []
        for number in numbers:
            with unreadable.leaving_out(number, read.examples[number]):
                batch([number])
                readable.append(number)
        return readable, batch(readable)


def is_placeholder(examples: Sequence[Example]) -> bool:
    """Whether this is spaCy's placeholder if `nlp.initialize` gets no examples: one, of the bare words x, y and z."""
    if len(examples) != 1 or [token.text for token in examples[0].reference] != ["x", "y", "z"]:
        return False
    annotation = ("TAG", "POS", "MORPH", "LEMMA", "DEP", "SENT_START", "ENT_IOB")
    return not any(map(examples[0].reference.has_annotation, annotation))
