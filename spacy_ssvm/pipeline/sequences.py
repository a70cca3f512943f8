"""The examples of one component as one flat, growing data set, recognised when they come back."""

from collections.abc import Sequence
from hashlib import blake2b
from itertools import pairwise
from weakref import WeakKeyDictionary

import numpy as np
from spacy.tokens import Doc

from ..features.hashing import Columns
from ..structures.chain.completion import project
from ..structures.chain.data import Chains, Constraints, dimension, make_chains


class Encoded:
    """A batch of n examples with T tokens as the component reads them.

    columns: attribute keys. annotated: int32 [T], gold labels, -1 where unknown. kinds: int32 [T], rows of the
    token constraints. costs: float64 [T], losses of wrong labels.
    """

    def __init__(self, columns: Columns, annotated: np.ndarray, kinds: np.ndarray, costs: np.ndarray) -> None:
        self.columns = columns
        self.annotated = annotated
        self.kinds = kinds
        self.costs = np.where(annotated >= 0, costs, 0.0)

    def take(self, examples: list[int]) -> "Encoded":
        """Only these examples."""
        tokens = _ranges(self.columns.starts, np.array(examples, np.int64))
        columns = Columns(
            _taken(self.columns.starts, np.array(examples, np.int64)),
            np.ascontiguousarray(self.columns.keys[:, tokens]),
            np.ascontiguousarray(self.columns.reals[:, tokens]),
        )
        return Encoded(columns, self.annotated[tokens], self.kinds[tokens], self.costs[tokens])

    def digests(self) -> list[bytes]:
        """What each example consists of, in 16 bytes: equal for equal input and annotation."""
        digests = []
        starts = self.columns.starts
        for first, behind in pairwise(starts):
            digest = blake2b(self.columns.keys[:, first:behind].tobytes(), digest_size=16)
            digest.update(self.columns.reals[:, first:behind].tobytes())
            digest.update(self.annotated[first:behind].tobytes())
            digest.update(self.kinds[first:behind].tobytes())
            digests.append(digest.digest())
        return digests


class Sequences:
    """Examples 0 … n − 1 with their feature rows.

    constraints: of all of them. annotated: int32 [T], gold labels within the constraints, -1 where unknown.
    """

    def __init__(self, constraints: Constraints) -> None:
        self.constraints = constraints
        self.annotated = np.zeros(0, np.int32)
        self._chunks: list[Chains] = []
        self._digests: list[bytes] = []
        self._by_digest: dict[bytes, list[int]] = {}
        self._by_reference: WeakKeyDictionary[Doc, int] = WeakKeyDictionary()

    def __len__(self) -> int:
        return len(self._digests)

    def add(self, encoded: Encoded, features: tuple[np.ndarray, np.ndarray, np.ndarray], n_rows: int) -> int:
        """Append examples; returns how many had to be projected onto the constraints."""
        feature_starts, rows, values = features
        annotated = encoded.annotated.copy()
        chunk = make_chains(
            encoded.columns.starts,
            feature_starts,
            rows,
            np.full(len(annotated), -1, np.int32),
            self.constraints,
            values,
            encoded.costs,
            encoded.kinds,
        )
        projected = project(chunk, annotated, dimension(len(self.constraints.start), n_rows))
        self._chunks.append(chunk)
        self.annotated = np.concatenate([self.annotated, annotated])
        for digest in encoded.digests():
            self._by_digest.setdefault(digest, []).append(len(self._digests))
            self._digests.append(digest)
        return projected

    def chains(self) -> Chains:
        """All examples as one set of arrays. What `gold` holds by now is kept."""
        if len(self._chunks) > 1:
            chunks = self._chunks
            tokens = np.cumsum([0, *(len(chunk.gold) for chunk in chunks)])
            features = np.cumsum([0, *(len(chunk.rows) for chunk in chunks)])
            self._chunks = [
                make_chains(
                    np.concatenate([[0], *(chunk.starts[1:] + t for chunk, t in zip(chunks, tokens))]),
                    np.concatenate([[0], *(chunk.feature_starts[1:] + f for chunk, f in zip(chunks, features))]),
                    np.concatenate([chunk.rows for chunk in chunks]),
                    np.concatenate([chunk.gold for chunk in chunks]),
                    self.constraints,
                    np.concatenate([chunk.values for chunk in chunks]),
                    np.concatenate([chunk.costs for chunk in chunks]),
                    np.concatenate([chunk.kinds for chunk in chunks]),
                )
            ]
        return self._chunks[0]

    def replace_by_last(self, numbers: list[int]) -> None:
        """Let the last examples, those added last, take the places of these; both in the same order."""
        order = np.arange(len(self) - len(numbers))
        order[numbers] = np.arange(len(order), len(self))
        chains = self.chains()
        tokens = _ranges(chains.starts, order)
        features = _ranges(chains.feature_starts, tokens)
        self.annotated = self.annotated[tokens]
        self._chunks = [
            make_chains(
                _taken(chains.starts, order),
                _taken(chains.feature_starts, tokens),
                chains.rows[features],
                chains.gold[tokens],
                self.constraints,
                chains.values[features],
                chains.costs[tokens],
                chains.kinds[tokens],
            )
        ]
        self._digests = [self._digests[number] for number in order]
        self._by_digest = {}
        for number, digest in enumerate(self._digests):
            self._by_digest.setdefault(digest, []).append(number)

    def incomplete(self) -> np.ndarray:
        """Examples, int64, with an unknown label."""
        starts = self.chains().starts
        return np.unique(np.searchsorted(starts, np.flatnonzero(self.annotated < 0), "right") - 1)

    def by_reference(self, reference: Doc) -> int | None:
        """The example that this very Doc was recognised as before."""
        return self._by_reference.get(reference)

    def by_content(self, digest: bytes, visited: np.ndarray, in_batch: np.ndarray) -> int | None:
        """An example of this content, if possible neither visited in this epoch nor in this batch (both bool [n])."""
        same = self._by_digest.get(digest)
        return None if same is None else min(same, key=lambda n: (in_batch[n], visited[n]))

    def bind(self, references: Sequence[Doc], first: int) -> None:
        """Remember these Docs as the references of examples first, first + 1, …"""
        for number, reference in enumerate(references, first):
            self._by_reference[reference] = number

    def is_unchanged(self, number: int, digest: bytes) -> bool:
        """Whether the example still has this content."""
        return self._digests[number] == digest


def _ranges(starts: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """The members of these ranges, all starts[k] … starts[k + 1] − 1 one after the other, int64."""
    lengths = starts[chosen + 1] - starts[chosen]
    behind = np.cumsum(lengths)
    ranges: np.ndarray = np.arange(lengths.sum()) + np.repeat(starts[chosen] - behind + lengths, lengths)
    return ranges


def _taken(starts: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Where these ranges start when only they are kept, int64."""
    return np.concatenate([[0], np.cumsum(starts[chosen + 1] - starts[chosen])])
