"""The examples of a training, which are recognised in later epochs."""

from collections.abc import Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from spacy.attrs import DEP, ENT_IOB, ENT_TYPE, HEAD, LEMMA, MORPH, ORTH, POS, SENT_START, SPACY, TAG
from spacy.tokens import Doc
from spacy.training import Example

from ..words import origin_of

_WORDS = [ORTH, SPACY]
_GOLD = [*_WORDS, TAG, POS, MORPH, LEMMA, HEAD, DEP, SENT_START, ENT_IOB, ENT_TYPE]


class Marks(NamedTuple):
    """The marks by which changes of an example are noticed whose reference is the same Doc.

    Attributes:
        annotation: as bytes, the annotation of the predicted Doc that features and constraints read, and that other
            components can change.
        content: of `content_of`; None if it was not read, and is taken for the same.
    """

    annotation: bytes
    content: int | None


def content_of(example: Example) -> int:
    """A hash of the predicted words and of the reference, which users can edit; it holds in this process."""
    predicted, reference = example.predicted, example.reference
    spans = [(name, span.start, span.end, span.label) for name, group in reference.spans.items() for span in group]
    return hash((predicted.to_array(_WORDS).tobytes(), reference.to_array(_GOLD).tobytes(), tuple(spans)))


class Recognised(NamedTuple):
    """The examples of a batch, some of them encoded, grouped as known, new, changed or returned.

    Attributes:
        numbers: the number of each example of the batch; None for one that is neither encoded nor known.
        new: the places in the encoded batch of the examples to add, whose numbers follow the last known one in this
            order.
        changed: number → place in the encoded batch, for known examples whose content has changed.
        arrived: number → place in the encoded batch, for examples of a saved state that come back for the first time.
        is_annotated_anew: whether the annotation of a predicted Doc has changed, as opposed to words and gold.
    """

    numbers: list[int | None]
    new: list[int]
    changed: dict[int, int]
    arrived: dict[int, int]
    is_annotated_anew: bool


class Recognition:
    """The numbers 0 … n − 1 of the examples known so far, and ways to recognise these examples."""

    def __init__(self) -> None:
        self.digests: list[bytes] = []
        """The digests of the contents of all examples, by number."""
        self._by_digest: dict[bytes, list[int]] = {}
        self._by_words: dict[bytes, dict[int, int]] = {}
        self._by_reference: WeakKeyDictionary[Doc, tuple[int, Marks]] = WeakKeyDictionary()

    def __len__(self) -> int:
        return len(self.digests)

    def append(self, digests: Sequence[bytes]) -> None:
        """Give the next numbers to examples with these contents."""
        for digest in digests:
            self._by_digest.setdefault(digest, []).append(len(self.digests))
            self.digests.append(digest)

    def replace_by_last(self, numbers: Sequence[int]) -> None:
        """Let the last examples replace the examples with these numbers, in the same order."""
        kept = len(self) - len(numbers)
        for number, digest in zip(numbers, self.digests[kept:]):
            self.digests[number] = digest
        del self.digests[kept:]
        self._by_digest = {}
        for number, digest in enumerate(self.digests):
            self._by_digest.setdefault(digest, []).append(number)

    def bind(self, references: Sequence[Doc], marks: Sequence[Marks], first: int) -> None:
        """Remember these Docs as the references of examples first, first + 1, …

        Args:
            marks: of the examples.
        """
        for number, (reference, own) in enumerate(zip(references, marks), first):
            self._by_reference[origin_of(reference)] = number, own
            self._by_words.setdefault(_words(reference), {})[number] = hash(own.annotation)

    def knows(self, reference: Doc, marks: Marks) -> bool:
        """Whether this very Doc was recognised before, and nothing has changed since."""
        _, known = self._by_reference.get(reference, (0, None))
        if known is None or known.annotation != marks.annotation:
            return False
        return marks.content is None or marks.content == known.content

    def recognise(
        self,
        references: Sequence[Doc],
        marks: Sequence[Marks],
        places: Sequence[int],
        digests: Sequence[bytes],
        visited: np.ndarray,
        unseen: np.ndarray,
    ) -> Recognised:
        """Recognise the examples of a batch, and remember the references of known ones.

        Args:
            references, marks: of all examples, as for `bind`.
            places: the places in the batch of the encoded examples.
            digests: the digests of their contents.
            visited: whether each known example was visited in this epoch, bool [n].
            unseen: whether each known example comes from a saved state and has not been met again, bool [n].
        """
        before = [self._by_reference.get(origin_of(reference), (None, None)) for reference in references]
        numbers = [number for number, _ in before]
        is_annotated_anew = False
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
                # The reference is known, but it was edited, or its predicted Doc differs.
                earlier = before[place][1]
                if digest != self.digests[number]:
                    changed[number] = k
                    is_annotated_anew |= earlier is not None and earlier.annotation != marks[place].annotation
            else:
                number = self._by_content(digest, visited, in_batch)
                if number is None:
                    # Other components may have annotated the predicted Doc differently than before.
                    number = self._by_same_words(references[place], marks[place], visited, in_batch)
                    if number is None:
                        new.append(k)
                        continue
                    changed[number] = k
                    is_annotated_anew = True
                if unseen[number] and number not in arrived:
                    arrived[number] = k
                elif visited[number] or number in in_batch:
                    repeated.append(k)
                epoch_continues |= not visited[number]
                in_batch.add(number)
                numbers[place] = number
            self.bind([references[place]], [marks[place]], number)
        if new or epoch_continues:
            # Within an epoch, a repeated example is a duplicate with dual variables of its own.
            new += repeated
        for number, k in enumerate(new, len(self)):
            numbers[places[k]] = number
        return Recognised(numbers, new, changed, arrived, is_annotated_anew)

    def _by_content(self, digest: bytes, visited: np.ndarray, in_batch: set[int]) -> int | None:
        """An example with this content, preferably neither in this batch nor visited in this epoch, bool [n]."""
        same = self._by_digest.get(digest)
        return None if same is None else min(same, key=lambda n: (n in in_batch, visited[n]))

    def _by_same_words(self, reference: Doc, marks: Marks, visited: np.ndarray, in_batch: set[int]) -> int | None:
        """An example with the same words in its reference, but other annotation of its predicted Doc.

        It is neither in this batch nor visited in this epoch.
        """
        same = self._by_words.get(_words(reference), {}).items()
        now = hash(marks.annotation)
        return next((n for n, before in same if before != now and not visited[n] and n not in in_batch), None)


def _words(doc: Doc) -> bytes:
    return np.asarray(doc.to_array([ORTH])).tobytes()
