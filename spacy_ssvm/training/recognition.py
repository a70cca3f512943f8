"""Recognising examples when they come back: by their reference Doc, by what they consist of, or by their words."""

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np
from spacy.attrs import ORTH
from spacy.tokens import Doc


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
