"""Examples on their way into a data set: their gold annotation is read, they are encoded, and recognised later."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary

import numpy as np
from spacy.attrs import ORTH
from spacy.tokens import Doc
from spacy.training import Example

from ..models.protocol import Batch, StructuredModel
from .unreadable import Unreadable

BATCH = 1000
"""Examples that are encoded at a time before training starts."""


class Recognised(NamedTuple):
    """The examples of a batch, some of them encoded, by what is known of them.

    numbers: the number of each example of the batch; None for one that is neither encoded nor known. new: the places in
    the encoded batch of the examples to add, whose numbers follow the last known one in this order. changed: number →
    place in the encoded batch, for known examples whose content has changed. arrived: number → place in the encoded
    batch, for examples of a saved state that come back for the first time.
    """

    numbers: list[int | None]
    new: list[int]
    changed: dict[int, int]
    arrived: dict[int, int]


class Recognition:
    """The numbers 0 … n − 1 of the examples known so far, and ways to recognise these examples."""

    def __init__(self) -> None:
        self._digests: list[bytes] = []
        self._by_digest: dict[bytes, list[int]] = {}
        self._by_words: dict[bytes, dict[int, int]] = {}
        self._by_reference: WeakKeyDictionary[Doc, tuple[int, bytes]] = WeakKeyDictionary()

    def __len__(self) -> int:
        return len(self._digests)

    @property
    def digests(self) -> list[bytes]:
        """The digests of the contents of all examples, by number."""
        return self._digests

    def append(self, digests: Sequence[bytes]) -> None:
        """Give the next numbers to examples with these contents."""
        for digest in digests:
            self._by_digest.setdefault(digest, []).append(len(self._digests))
            self._digests.append(digest)

    def replace_by_last(self, numbers: Sequence[int]) -> None:
        """Let the last examples replace the examples with these numbers, in the same order."""
        kept = len(self) - len(numbers)
        for number, digest in zip(numbers, self._digests[kept:]):
            self._digests[number] = digest
        del self._digests[kept:]
        self._by_digest = {}
        for number, digest in enumerate(self._digests):
            self._by_digest.setdefault(digest, []).append(number)

    def bind(self, references: Sequence[Doc], read: Sequence[bytes], first: int) -> None:
        """Remember these Docs as the references of examples first, first + 1, …

        read: the annotation that is read from each predicted Doc and that can change.
        """
        for number, (reference, annotation) in enumerate(zip(references, read), first):
            self._by_reference[reference] = number, annotation
            self._by_words.setdefault(_words(reference), {})[number] = hash(annotation)

    def knows(self, reference: Doc, read: bytes) -> bool:
        """Whether this very Doc was recognised before, with the same annotation read from its predicted Doc."""
        known = self._by_reference.get(reference)
        return known is not None and known[1] == read

    def recognise(
        self,
        references: Sequence[Doc],
        read: Sequence[bytes],
        places: Sequence[int],
        digests: Sequence[bytes],
        visited: np.ndarray,
        unseen: np.ndarray,
    ) -> Recognised:
        """Recognise the examples of a batch, and remember the references of those that are known.

        references, read: of all examples, as for `bind`. places: the places in the batch of the encoded examples.
        digests: the digests of their contents. visited: whether each known example was visited in this epoch, bool [n].
        unseen: whether each known example comes from a saved state and has not been met again, bool [n].
        """
        numbers = [self._by_reference.get(reference, (None,))[0] for reference in references]
        known = [number for number in numbers if number is not None]
        in_batch = set(known)
        epoch_continues = not visited[known].all()
        new: list[int] = []
        repeated: list[int] = []
        changed: dict[int, int] = {}
        arrived: dict[int, int] = {}
        for k, (place, digest) in enumerate(zip(places, digests)):
            number = numbers[place]
            if number is not None:
                # The reference is known, but its predicted Doc is annotated differently than before.
                if digest != self._digests[number]:
                    changed[number] = k
            else:
                number = self._by_content(digest, visited, in_batch)
                if number is None:
                    # Other components may have annotated the predicted Doc differently than before.
                    number = self._by_same_words(references[place], read[place], visited, in_batch)
                    if number is None:
                        new.append(k)
                        continue
                    changed[number] = k
                if unseen[number] and number not in arrived:
                    arrived[number] = k
                elif visited[number] or number in in_batch:
                    repeated.append(k)
                epoch_continues |= not visited[number]
                in_batch.add(number)
                numbers[place] = number
            self.bind([references[place]], [read[place]], number)
        if new or epoch_continues:
            # Within an epoch, a repeated example is a duplicate with dual variables of its own.
            new += repeated
        for number, k in enumerate(new, len(self)):
            numbers[places[k]] = number
        return Recognised(numbers, new, changed, arrived)

    def _by_content(self, digest: bytes, visited: np.ndarray, in_batch: set[int]) -> int | None:
        """An example with this content, preferably neither in this batch nor visited in this epoch, bool [n]."""
        same = self._by_digest.get(digest)
        return None if same is None else min(same, key=lambda n: (n in in_batch, visited[n]))

    def _by_same_words(self, reference: Doc, read: bytes, visited: np.ndarray, in_batch: set[int]) -> int | None:
        """An example with the same words in its reference, but with other annotation read from its predicted Doc.

        It is neither in this batch nor visited in this epoch.
        """
        same = self._by_words.get(_words(reference), {}).items()
        now = hash(read)
        return next((n for n, before in same if before != now and not visited[n] and n not in in_batch), None)


def _words(doc: Doc) -> bytes:
    return np.asarray(doc.to_array([ORTH])).tobytes()


class GoldReader(Protocol):
    """Reads the gold annotation of a component, as its codec does."""

    def gold(self, example: Example) -> Any:
        """The gold annotation of the predicted Doc; its `is_annotated` says whether it has anything to learn."""

    def survey(self, examples: Sequence[Example], gold: Sequence[Any]) -> Any:
        """The survey of these examples and their gold annotation."""


@dataclass(frozen=True)
class ReadExamples:
    """Examples of a corpus or batch, by their numbers there, whose gold annotation has been read.

    examples: all of them. annotation: what features and constraints read from their predicted Docs and other components
    can change, as bytes, of those that could be read. gold: the gold annotation, None for a known example; of those
    that could be read, or of fewer.
    """

    examples: Mapping[int, Example]
    annotation: Mapping[int, bytes]
    gold: Mapping[int, Any]

    @classmethod
    def joined(cls, parts: Sequence["ReadExamples"]) -> "ReadExamples":
        """The examples of several parts of a batch together."""
        examples, annotation, gold = dict[int, Example](), dict[int, bytes](), dict[int, Any]()
        for part in parts:
            examples |= part.examples
            annotation |= part.annotation
            gold |= part.gold
        return cls(examples, annotation, gold)

    def annotated(self) -> "ReadExamples":
        """The same, with the gold annotation of examples that have anything to learn, or are known."""
        return replace(self, gold={n: gold for n, gold in self.gold.items() if gold is None or gold.is_annotated})

    def with_gold_of_known(self, codec: GoldReader) -> "ReadExamples":
        """The same, with the gold annotation of known examples, too."""
        gold = {n: codec.gold(self.examples[n]) if gold is None else gold for n, gold in self.gold.items()}
        return replace(self, gold=gold)

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

    numbers: of all, in the corpus or batch. references: their reference Docs. annotation: read from their predicted
    Docs, as in `ReadExamples`. places: where among them those are that are encoded; the others are known. batches:
    these, encoded, in order.
    """

    numbers: list[int]
    references: list[Doc]
    annotation: list[bytes]
    places: list[int]
    batches: list[Batch]


def in_parts(examples: Iterable[Example]) -> Iterator[dict[int, Example]]:
    """Examples as they are read: those that have tokens, BATCH at a time, by their places among all."""
    n_before = 0
    items = iter(examples)
    while part := list(islice(items, BATCH)):
        yield numbered(part, n_before)
        n_before += len(part)


def numbered(examples: Sequence[Example], first: int = 0) -> dict[int, Example]:
    """The examples that have tokens, by their places; first: that of the first one."""
    return {number: example for number, example in enumerate(examples, first) if len(example.predicted)}


def read_examples(
    examples: Mapping[int, Example],
    codec: GoldReader,
    model: StructuredModel,
    unreadable: Unreadable,
    is_known: Callable[[Doc, bytes], bool] = lambda reference, read: False,
) -> ReadExamples:
    """Read the gold annotation of examples. Those where that fails are noted as unreadable.

    is_known: whether an example, by its reference Doc and what is read from its predicted Doc, is known.
    """
    annotation: dict[int, bytes] = {}
    gold: dict[int, Any] = {}
    constraining = list(model.space.constraining)
    for number, example in examples.items():
        with unreadable.leaving_out(number, example):
            doc = example.predicted
            limits = doc.to_array(constraining).tobytes() if constraining else b""
            annotation[number] = model.reader.read_annotation(doc) + limits
            known = is_known(example.reference, annotation[number])
            gold[number] = None if known else codec.gold(example)
    return ReadExamples(examples, annotation, gold)


def encode(
    read: ReadExamples, model: StructuredModel, unreadable: Unreadable, size: int | None = None
) -> EncodedExamples:
    """Encode examples, in batches of this size, or in a single one. Those where that fails are noted as unreadable."""
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
        [read.annotation[number] for number in numbers],
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
    """Whether this is what spaCy passes on if `nlp.initialize` gets no examples: one of the bare words x, y and z."""
    return len(examples) == 1 and _has_words_only(examples[0].reference, ["x", "y", "z"])


def _has_words_only(doc: Doc, words: Sequence[str]) -> bool:
    annotation = ("TAG", "POS", "MORPH", "LEMMA", "DEP", "SENT_START", "ENT_IOB")
    return [token.text for token in doc] == words and not any(map(doc.has_annotation, annotation))
