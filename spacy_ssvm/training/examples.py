"""Examples on their way to a data set: gold annotation is read, the readable ones are encoded."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from spacy.tokens import Doc
from spacy.training import Example

from ..corpus.unreadable import Unreadable
from ..models.protocol import Codec, StructuredModel

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
