"""Examples on their way to a data set: recognised when they come back, their gold annotation read, then encoded."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from spacy.attrs import ORTH
from spacy.tokens import Doc
from spacy.training import Example

from ..corpus.unreadable import Unreadable
from ..models.protocol import Codec, StructuredModel


class Recognition:
    """The numbers 0 … n − 1 of the examples known so far."""

    def __init__(self) -> None:
        self._digests: list[bytes] = []
        self._by_digest: dict[bytes, list[int]] = {}
        self._by_words: dict[bytes, dict[int, int]] = {}
        self._by_reference: WeakKeyDictionary[Doc, tuple[int, bytes]] = WeakKeyDictionary()

    def __len__(self) -> int:
        return len(self._digests)

    @property
    def digests(self) -> list[bytes]:
        """The contents of all examples, by their numbers."""
        return self._digests

    def append(self, digests: Sequence[bytes]) -> None:
        """Give the next numbers to examples with these contents."""
        for digest in digests:
            self._by_digest.setdefault(digest, []).append(len(self._digests))
            self._digests.append(digest)

    def replace_by_last(self, numbers: Sequence[int]) -> None:
        """Let the last examples, those appended last, take these numbers; both in the same order."""
        kept = len(self) - len(numbers)
        for number, digest in zip(numbers, self._digests[kept:]):
            self._digests[number] = digest
        del self._digests[kept:]
        self._by_digest = {}
        for number, digest in enumerate(self._digests):
            self._by_digest.setdefault(digest, []).append(number)

    def bind(self, references: Sequence[Doc], read: Sequence[bytes], first: int) -> None:
        """Remember these Docs as the references of examples first, first + 1, …

        read: of each example's predicted Doc, what is read of it that can change.
        """
        for number, reference in enumerate(references, first):
            self._by_reference[reference] = number, read[number - first]
            self._by_words.setdefault(_words(reference), {})[number] = hash(read[number - first])

    def by_reference(self, reference: Doc) -> int | None:
        """The example that this very Doc was recognised as before."""
        found = self._by_reference.get(reference)
        return None if found is None else found[0]

    def knows(self, reference: Doc, read: bytes) -> bool:
        """Whether this very Doc was recognised before, with a predicted Doc of which the same was read."""
        found = self._by_reference.get(reference)
        return found is not None and found[1] == read

    def by_content(self, digest: bytes, visited: np.ndarray, in_batch: np.ndarray) -> int | None:
        """An example of this content, if possible neither visited in this epoch nor in this batch (both bool [n])."""
        same = self._by_digest.get(digest)
        return None if same is None else min(same, key=lambda n: (in_batch[n], visited[n]))

    def by_words(self, reference: Doc, read: bytes, visited: np.ndarray, in_batch: np.ndarray) -> int | None:
        """An example whose reference has the same words, and of whose predicted Doc something else was read than now.

        Neither visited in this epoch nor in this batch.
        """
        same = self._by_words.get(_words(reference), {}).items()
        now = hash(read)
        return next((n for n, before in same if before != now and not visited[n] and not in_batch[n]), None)

    def is_unchanged(self, number: int, digest: bytes) -> bool:
        """Whether the example still has this content."""
        return self._digests[number] == digest


def _words(doc: Doc) -> bytes:
    return np.asarray(doc.to_array([ORTH])).tobytes()


if TYPE_CHECKING:
    from .training import Training

BATCH = 1000
"""Examples that are encoded at a time before training starts."""


class ExampleReader:
    """Reads examples by their numbers in a corpus or batch; those that cannot be read are left out and noted.

    unreadable: where they are noted.
    """

    def __init__(self, codec: Codec, model: StructuredModel, unreadable: Unreadable) -> None:
        self._codec = codec
        self._model = model
        self._unreadable = unreadable

    def gold(
        self, examples: Mapping[int, Example], training: "Training | None" = None
    ) -> tuple[dict[int, bytes], dict[int, Any]]:
        """The annotation of the predicted Docs that features and constraints read, as bytes, and the gold annotation.

        The gold annotation is None where `training` knows the example.
        """
        read: dict[int, bytes] = {}
        gold: dict[int, Any] = {}
        for number, example in examples.items():
            with self._unreadable.leaving_out(number, example):
                read[number] = self.annotation(example.predicted)
                known = training is not None and training.knows(example.reference, read[number])
                gold[number] = None if known else self._codec.gold(example)
        return read, gold

    def annotation(self, doc: Doc) -> bytes:
        """The annotation that features and constraints read of a Doc, and other components can change."""
        return self._model.reader.read_annotation(doc) + self._codec.read_constraints(doc)

    def encoded(self, examples: Mapping[int, Example], gold: Mapping[int, Any]) -> tuple[list[int], Any]:
        """The numbers of the readable examples, and their batch."""
        numbers = list(examples)
        try:
            return numbers, self._model.encode(list(examples.values()), [gold[number] for number in numbers])
        except Exception:
            readable = []
            for number, example in examples.items():
                with self._unreadable.leaving_out(number, example):
                    self._model.encode([example], [gold[number]])
                    readable.append(number)
            return readable, self._model.encode([examples[n] for n in readable], [gold[n] for n in readable])

    def batches(self, examples: Mapping[int, Example], gold: Mapping[int, Any]) -> tuple[list[int], list[Any]]:
        """The same for many examples, in batches."""
        numbers: list[int] = []
        batches = []
        items = iter(examples.items())
        while part := dict(islice(items, BATCH)):
            readable, batch = self.encoded(part, gold)
            numbers += readable
            batches.append(batch)
        return numbers, batches


def missing_annotation(names: Sequence[str], docs: Iterable[Doc]) -> list[str]:
    """Those of these token attributes that no Doc is annotated with."""
    filled = [doc for doc in docs if len(doc)]
    return [name for name in names if filled and not any(doc.has_annotation(name.upper()) for doc in filled)]
