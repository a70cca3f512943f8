"""The first pass over a Doc: a separate chain, whose labels of a word's other occurrences are an attribute.

The main chain learns from labels of documents that the first pass has not learnt from, as in use: in training they are
jackknifed; afterwards they come from weights that are learnt from all documents.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from spacy.vocab import Vocab

from ...features.document import MAX_COUNT, links, vote
from ...features.extractor import Extractor
from ...features.index import Columns, Program
from ...features.word_types import Types
from ...structures.chain.constraints import unconstrained
from ..documents import DIGEST_SIZE
from .encoded import EncodedChains
from .labeller import labeller
from .space import ChainSpace
from .weights import ChainWeights


class LabelExamples(NamedTuple):
    """The Docs that a first pass is to learn from, of T tokens.

    Attributes:
        labels: int32 [T], below n_labels, or -1 where unknown.
        digests: of the Docs.
        program: compiled templates.
        words: the number of the column with the identity of words.
    """

    columns: Columns
    labels: np.ndarray
    n_labels: int
    digests: list[bytes]
    program: Program
    words: int


class LearntLabels(NamedTuple):
    """The weights of a first pass, and the jackknifed labels of the Docs: digest → int32."""

    weights: ChainWeights
    jackknifed: dict[bytes, np.ndarray]


class LabelFirstPass:
    """The first pass by fixed weights.

    Args:
        extractor: of the templates of both passes.
        weights: of the chain over its `first_pass`, with a label for each of `names`.
        vocab: gets the names of the attribute's values.
    """

    def __init__(self, extractor: Extractor, weights: ChainWeights, names: Sequence[str], vocab: Vocab) -> None:
        assert extractor.first_pass is not None
        self.weights = weights
        self.n_labels = len(names)
        self._parts = extractor.first_pass
        self._constraints = unconstrained(len(names))
        program, split = self._parts.program, self._parts.split
        self._labeller = labeller(extractor.reader, program, split, weights, self._constraints)
        # A memory zone in which the first prediction happens must not take the names away; spaCy's types lack this.
        strings: Any = vocab.strings
        self._keys = np.zeros((len(names), 2, MAX_COUNT), np.uint64)
        for number, name in enumerate(names):
            for differ in range(2):
                for count in range(MAX_COUNT):
                    number_of_others = f"{MAX_COUNT} or more" if count + 1 == MAX_COUNT else count + 1
                    value = f"{name}, {'most' if differ else 'all'} of {number_of_others}"
                    self._keys[number, differ, count] = strings.add(value, allow_transient=False)

    def __deepcopy__(self, memo: dict[int, Any]) -> "LabelFirstPass":
        """Itself: its weights are fixed."""
        return self

    def label_writer(self, columns: Columns, types: Types) -> Callable[[], None]:
        """A function that writes the attribute into the columns, in any thread; types: of the tokens."""
        kinds = np.zeros(len(types.ids), np.int32)
        labels = self._labeller.labelling(columns, types, kinds, self._constraints)
        return lambda: self.write_labels(columns, labels())

    def write_labels(self, columns: Columns, labels: np.ndarray) -> None:
        """Write the attribute into the columns, from labels of the first pass, int32 [T]."""
        previous, following = links(columns.starts, columns.keys[self._parts.words])
        vote(previous, following, labels, self._keys, columns.keys[self._parts.marks])

    def labels(self, columns: Columns) -> np.ndarray:
        """The labels that the first pass gives, int32 [T], without stored scores."""
        labeller = replace(self._labeller, program=self._parts.program, sums=None)
        kinds = np.zeros(columns.keys.shape[1], np.int32)
        return labeller.labelling(columns, None, kinds, self._constraints)()


@dataclass(frozen=True, eq=False)
class SeenLabels:
    """The attribute of Docs to learn from; where the first pass has learnt from them, from jackknifed labels.

    Attributes:
        first_pass: gives all other Docs their labels.
        jackknifed: digest of a Doc → its labels, int32.
    """

    first_pass: LabelFirstPass
    jackknifed: dict[bytes, np.ndarray]

    @classmethod
    def resumed(cls, first_pass: LabelFirstPass, notes: Sequence[np.ndarray]) -> "SeenLabels":
        """Seen labels from the notes in a file, which are checked first; without notes, nothing is jackknifed.

        Raises:
            ValueError: the notes are not those of this first pass.
        """
        if not len(notes):
            return cls(first_pass, {})
        digests, lengths, labels = notes
        if (
            [part.dtype.str for part in notes] != ["|u1", "<i8", "<i4"]
            or digests.shape != (DIGEST_SIZE * len(lengths),)
            or (lengths < 0).any()
            or labels.shape != (lengths.sum(),)
            or not ((labels >= 0) & (labels < first_pass.n_labels)).all()
        ):
            raise ValueError("its solver state does not have the labels of its first pass")
        keys = [digests[at : at + DIGEST_SIZE].tobytes() for at in range(0, len(digests), DIGEST_SIZE)]
        return cls(first_pass, dict(zip(keys, np.split(labels, np.cumsum(lengths)[:-1]))))

    def notes(self) -> list[np.ndarray]:
        """The jackknifed labels: digests, uint8; the number of tokens of each Doc, int64; labels, int32."""
        parts = list(self.jackknifed.values())
        return [
            np.frombuffer(b"".join(self.jackknifed), np.uint8),
            np.array([len(part) for part in parts], np.int64),
            np.concatenate([np.zeros(0, np.int32), *parts]),
        ]

    def columns_of(self, encoded: EncodedChains) -> Columns:
        """The columns of a batch with the attribute."""
        columns = encoded.columns._replace(keys=encoded.columns.keys.copy())
        labels = self.first_pass.labels(columns)
        for (first, end), digest in zip(pairwise(columns.starts.tolist()), encoded.digests()):
            if digest in self.jackknifed:
                labels[first:end] = self.jackknifed[digest]
        self.first_pass.write_labels(columns, labels)
        return columns


def label_names(space: ChainSpace) -> list[str]:
    """The names of the labels of a first pass: the component's, and one for tokens without any of them."""
    return list(dict.fromkeys(space.names))
