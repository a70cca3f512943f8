"""The examples of Docs in a data set: their places, also when Docs are replaced."""

from collections.abc import Sequence, Sized
from dataclasses import dataclass, field, replace
from hashlib import blake2b

import numpy as np
from spacy.tokens import Doc

from ..growth import appended

DIGEST_SIZE = 16
"""Bytes of the digest of a Doc, of its input and its annotation."""


def digest(*parts: np.ndarray) -> bytes:
    """The digest of a Doc whose input and annotation these are."""
    found = blake2b(digest_size=DIGEST_SIZE)
    for part in parts:
        found.update(part.tobytes())
    return found.digest()


def _none() -> np.ndarray:
    return np.zeros(0, np.int64)


def require_of_each_token(name: str, docs: Sequence[Doc], annotation: Sequence[Sized]) -> None:
    """Raise a ValueError where gold annotation has another length than its Doc; name: the component's."""
    for doc, one in zip(docs, annotation):
        if len(one) != len(doc):
            raise ValueError(f"[{name}] its codec has annotation of {len(one)} tokens for a Doc of {len(doc)}")


@dataclass(frozen=True)
class Documents:
    """The examples of n Docs; other examples, of Docs that were replaced, are empty.

    Attributes:
        first, sizes: int64 [n], the first example of each Doc, and how many it has.
        n_examples: the number of all examples.
        unit: the name of the examples of a Doc that has several, in the plural.
    """

    first: np.ndarray = field(default_factory=_none)
    sizes: np.ndarray = field(default_factory=_none)
    n_examples: int = 0
    unit: str = "sentences"

    def __len__(self) -> int:
        return len(self.first)

    def examples(self, docs: np.ndarray) -> np.ndarray:
        """The examples of these Docs, int64, one Doc after the other."""
        first, sizes = self.first[docs], self.sizes[docs]
        examples: np.ndarray = np.arange(sizes.sum()) + np.repeat(first - np.cumsum(sizes) + sizes, sizes)
        return examples

    def members(self, doc: int, starts: np.ndarray) -> slice:
        """The members of a Doc's examples, such as tokens; starts: int64 [n_examples + 1], the first of each one."""
        first = self.first[doc]
        return slice(int(starts[first]), int(starts[first + self.sizes[doc]]))

    def with_more(self, sizes: np.ndarray) -> "Documents":
        """These Docs, and others with so many examples, int64, which are appended: memory is shared."""
        first = self.n_examples + np.cumsum(sizes) - sizes
        first, all_sizes = appended(self.first, first), appended(self.sizes, sizes)
        return replace(self, first=first, sizes=all_sizes, n_examples=self.n_examples + int(sizes.sum()))

    def replaced_by_last(self, docs: list[int]) -> tuple[np.ndarray, "Documents"]:
        """Move the last Docs, as many as these, to the places of these. Returns the examples to keep, int64, in order.

        In it, the number of all examples stands for an empty one. A Doc with as many examples as before replaces the
        old ones in place.
        """
        kept = len(self) - len(docs)
        first, sizes = self.first.copy(), self.sizes.copy()
        order, is_kept = np.arange(self.n_examples), np.ones(self.n_examples, np.bool_)
        for doc, new in zip(docs, range(kept, len(self))):
            before, after, n_before, n_after = first[doc], first[new], sizes[doc], sizes[new]
            if n_before == n_after:
                order[before : before + n_before] = np.arange(after, after + n_after)
                is_kept[after : after + n_after] = False
            else:
                # The new examples stay where they are, and the old ones become empty: all others keep their numbers.
                order[before : before + n_before] = self.n_examples
                first[doc], sizes[doc] = after, n_after
        # Examples that are removed come after all those that keep their numbers.
        numbers = np.append(0, np.cumsum(is_kept))
        first, sizes = numbers[first[:kept]], sizes[:kept].copy()
        return order[is_kept], replace(self, first=first, sizes=sizes, n_examples=int(numbers[-1]))
