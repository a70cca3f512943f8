"""The examples of a parser: one tree for each sentence of a Doc."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise

import numpy as np

from ...features.arc_program import ArcProgram
from ...features.columns import join_columns, take_columns
from ...features.index import Columns
from ...features.ranges import elements, joined_starts, ranges_of, taken_starts
from ...growth import appended
from ...solvers.problem import Extent, Problem, Rates
from ...structures.tree.decoders import decoder
from ...structures.tree.parts import UNKNOWN
from .. import frequency
from ..documents import examples_of, replaced_by_last
from ..packing import pack_numbers
from ..protocol import DIGEST_SIZE, DataSet
from .admission import admitting
from .candidates import TRAINING_SLACK, ArcFirstPass
from .completion import complete, project
from .data import Shape, Trees, dimension, joined, n_rows, with_more
from .oracles import count_features, extent, tree_problem


class EncodedTrees:
    """A batch of n Docs with T tokens in S sentences, as read by the component.

    docs: int64 [n + 1], first sentence of each Doc. columns: attribute keys of the sentences.
    heads, labels: int32 [T], gold, UNKNOWN where unknown; a head is a position in the sentence from 1, 0 for the root.
    """

    def __init__(self, docs: np.ndarray, columns: Columns, heads: np.ndarray, labels: np.ndarray) -> None:
        self.docs = docs
        self.columns = columns
        self.heads = heads
        self.labels = labels

    def take(self, docs: list[int]) -> "EncodedTrees":
        """The given Docs only."""
        chosen = np.array(docs, np.int64)
        return EncodedTrees(taken_starts(self.docs, chosen), *self._sentences(elements(self.docs, chosen)))

    def with_sentences(self, chosen: np.ndarray) -> "EncodedTrees":
        """All Docs with the given sentences only, int64, ascending."""
        return EncodedTrees(np.searchsorted(chosen, self.docs), *self._sentences(chosen))

    def reserved(self, sizes: np.ndarray) -> "EncodedTrees":
        """See `DataSet`."""
        columns = self.columns._replace(starts=np.zeros(int(sizes.sum()) + 1, np.int64))
        return EncodedTrees(np.append(0, np.cumsum(sizes)).astype(np.int64), columns, self.heads, self.labels)

    @staticmethod
    def concatenated(batches: Sequence["EncodedTrees"]) -> "EncodedTrees":
        """The batches as a single one."""
        columns = [batch.columns for batch in batches]
        return EncodedTrees(
            joined_starts([batch.docs for batch in batches]),
            join_columns(columns),
            np.concatenate([batch.heads for batch in batches]),
            np.concatenate([batch.labels for batch in batches]),
        )

    def _sentences(self, chosen: np.ndarray) -> tuple[Columns, np.ndarray, np.ndarray]:
        tokens = elements(self.columns.starts, chosen)
        return take_columns(self.columns, chosen), self.heads[tokens], self.labels[tokens]

    def digests(self) -> list[bytes]:
        """A digest of each Doc, DIGEST_SIZE bytes: equal for equal input and annotation."""
        digests = []
        for first_sentence, last_sentence in pairwise(self.docs):
            starts = self.columns.starts[first_sentence : last_sentence + 1]
            first, end = starts[0], starts[-1]
            digest = blake2b((starts - first).tobytes(), digest_size=DIGEST_SIZE)
            digest.update(self.columns.keys[:, first:end].tobytes())
            digest.update(self.columns.reals[:, first:end].tobytes())
            digest.update(self.heads[first:end].tobytes())
            digest.update(self.labels[first:end].tobytes())
            digests.append(digest.digest())
        return digests


class TreeSet(DataSet):
    """Sentences with their candidate arcs and gold trees.

    program: compiled templates. first_pass: selects the candidates. shape: that of the trees.
    seen: of earlier Docs, as in `TreeWeights`, unpacked; None if unknown.
    """

    impossible = "such as crossing arcs where only projective trees are built, or a second root"

    def __init__(
        self, program: ArcProgram, first_pass: ArcFirstPass, shape: Shape, seen: np.ndarray | None = None
    ) -> None:
        self._seen = seen
        self._program = program
        self._first_pass = first_pass
        self._shape = shape
        self._chunks: list[Trees] = []
        """Trees that are not joined yet."""
        self._joined: Trees | None = None
        self._extent: Extent | None = None
        """The extent of the joined trees."""
        self._n_sentences = self._n_known = 0
        """The number of sentences, and for how many of the first ones all heads and labels are known."""
        self._docs = np.zeros((0, 2), np.int64)
        self._problem: Problem | None = None
        self._packed_counts: np.ndarray | None = None

    def add(self, encoded: EncodedTrees) -> np.ndarray:
        heads, labels = encoded.heads.copy(), encoded.labels.copy()
        candidates = self._first_pass.candidates(encoded.columns, heads, TRAINING_SLACK)
        n_sentences = self._n_sentences
        self._n_sentences += len(encoded.columns.starts) - 1
        trees = self._trees(encoded.columns, *candidates, heads.copy(), labels.copy())
        project(trees, heads, labels)
        chunk = trees._replace(
            head_costs=np.where(heads != UNKNOWN, 1.0, 0.0), label_costs=np.where(labels != UNKNOWN, 1.0, 0.0)
        )
        first = encoded.docs[:-1] + n_sentences
        self._docs = appended(self._docs, np.stack([first, np.diff(encoded.docs)], axis=1))
        self._chunks.append(chunk)
        self._problem = self._packed_counts = None
        return n_sentences + ranges_of(encoded.columns.starts, np.flatnonzero(heads != encoded.heads))

    def replace_by_last(self, docs: list[int]) -> None:
        """As in `DataSet`; if a Doc has as many sentences as before, these replace the old ones in place."""
        trees = self._all()
        kept, self._docs = replaced_by_last(self._docs, docs, len(trees.columns.starts) - 1)
        self._joined, self._n_sentences, self._n_known = self._taken(trees, kept), len(kept), 0
        self._extent = extent(self._joined)
        self._problem = self._packed_counts = None

    def problem(self) -> Problem:
        if self._problem is None:
            self._problem = tree_problem(self._all(), self._rates, self._extent)
        return self._problem

    def dimension(self) -> int:
        return dimension(self._shape)

    def examples_of(self, docs: np.ndarray) -> np.ndarray:
        return examples_of(self._docs[docs])

    def is_incomplete(self) -> bool:
        if self._n_known < self._n_sentences and not len(self._unknown(np.array([self._n_known]))):
            unknown = self._unknown(np.arange(self._n_known, self._n_sentences))
            self._n_known = int(unknown[0]) if len(unknown) else self._n_sentences
        return self._n_known < self._n_sentences

    def complete(self, docs: np.ndarray | None, weights: np.ndarray) -> np.ndarray:
        trees = self._all()
        asked = np.arange(self._n_known, self._n_sentences) if docs is None else np.unique(self.examples_of(docs))
        return complete(trees, self._unknown(asked), weights)

    def complete_once(self, weights: np.ndarray) -> None:
        self.complete(None, weights)
        trees = self._all()
        known = trees.columns.starts[self._n_known]
        trees.head_costs[known:] = 1.0
        trees.label_costs[known:] = 1.0
        if self._extent is not None:
            self._extent = self._extent._replace(min_cost=1.0)

    def _unknown(self, examples: np.ndarray) -> np.ndarray:
        """The examples, int64, among these, ascending, whose gold tree is not known completely."""
        trees = self._all()
        tokens = elements(trees.columns.starts, examples)
        unknown = tokens[(trees.head_costs[tokens] == 0) | (trees.label_costs[tokens] == 0)]
        return ranges_of(trees.columns.starts, unknown)

    def keep_gold(self, docs: np.ndarray) -> None:
        trees, examples = self._all(), self.examples_of(docs)
        columns = take_columns(trees.columns, examples)
        self._first_pass = admitting(self._first_pass, columns, trees.gold[elements(trees.columns.starts, examples)])

    def index(self) -> np.ndarray:
        return np.asarray(self._first_pass.weights)

    def sizes(self) -> np.ndarray:
        return np.array(self._docs[:, 1])

    def gold(self, doc: int) -> np.ndarray:
        trees, place = self._all(), self._tokens(doc)
        return np.concatenate([trees.gold[place], trees.gold_labels[place]])

    def set_gold(self, doc: int, gold: np.ndarray) -> None:
        trees, place = self._all(), self._tokens(doc)
        n = place.stop - place.start
        heads, labels = gold[:n], gold[n:]
        starts = trees.candidate_starts[place.start : place.stop + 1]
        possible = trees.candidates[starts[0] : starts[-1]] == np.repeat(heads, np.diff(starts))
        token = np.repeat(np.arange(n), np.diff(starts))
        if len(labels) != n or np.bincount(token[possible], minlength=n).min(initial=1) < 1:
            raise ValueError("its solver state has gold heads that cannot be heads there")
        if not ((labels >= 0) & (labels < self._shape.n_labels)).all():
            raise ValueError("the saved solver state belongs to a component with other labels")
        trees.gold[place], trees.gold_labels[place] = heads, labels

    def shared(self) -> np.ndarray:
        return self.index()

    def with_shared(self, shared: np.ndarray) -> "TreeSet":
        first_pass = replace(self._first_pass, weights=shared.astype(np.float32))
        return TreeSet(self._program, first_pass, self._shape, self._seen)

    def of_rows(self, keys: np.ndarray, seen: np.ndarray) -> "TreeSet":
        return TreeSet(self._program, self._first_pass, self._shape, seen)

    def without_docs(self) -> "TreeSet":
        return TreeSet(self._program, self._first_pass, self._shape, self._seen)

    def counts(self) -> np.ndarray:
        counts = np.zeros(n_rows(self._shape), np.int32)
        if self._n_sentences:
            count_features(self._all(), 0, counts)
        return counts

    def seen(self) -> np.ndarray:
        return frequency.exponents(self.counts(), self._seen)

    def packed_counts(self) -> np.ndarray:
        """The counts that `seen` returns, packed as in `TreeWeights`; rows are counted in gold trees."""
        if self._packed_counts is None:
            self._packed_counts = pack_numbers(self.seen())
        return self._packed_counts

    @cached_property
    def _rates(self) -> Rates | None:
        if self._seen is None:
            return None
        of_rows, n_arcs = frequency.rates(self._seen), 1 << self._shape.arc_bits
        return Rates(of_rows[:n_arcs], of_rows[n_arcs:], np.array([self._shape.n_labels]))

    def _tokens(self, doc: int) -> slice:
        first, count = self._docs[doc]
        starts = self._all().columns.starts
        return slice(int(starts[first]), int(starts[first + count]))

    def _trees(
        self,
        columns: Columns,
        candidate_starts: np.ndarray,
        candidates: np.ndarray,
        heads: np.ndarray,
        labels: np.ndarray,
    ) -> Trees:
        nothing = np.zeros(len(heads))
        return Trees(
            columns,
            self._program,
            candidate_starts,
            candidates,
            heads,
            labels,
            nothing,
            nothing.copy(),
            self._shape,
            decoder(self._shape.structure),
        )

    def _all(self) -> Trees:
        """All examples as one set of arrays; completed gold structures are kept."""
        if self._chunks:
            more, self._chunks = self._chunks[0] if len(self._chunks) == 1 else joined(self._chunks), []
            if self._joined is None or self._extent is None:
                self._joined, self._extent = more, extent(more)
            else:
                self._joined, self._extent = with_more(self._joined, more), self._extent.with_more(extent(more))
        assert self._joined is not None
        return self._joined

    def _taken(self, trees: Trees, sentences: np.ndarray) -> Trees:
        """The given sentences only, int64, in this order; of S sentences, number S stands for an empty one."""
        starts = np.append(trees.columns.starts, trees.columns.starts[-1])
        tokens = elements(starts, sentences)
        return trees._replace(
            columns=take_columns(trees.columns._replace(starts=starts), sentences),
            candidate_starts=taken_starts(trees.candidate_starts, tokens),
            candidates=trees.candidates[elements(trees.candidate_starts, tokens)],
            gold=trees.gold[tokens],
            gold_labels=trees.gold_labels[tokens],
            head_costs=trees.head_costs[tokens],
            label_costs=trees.label_costs[tokens],
        )


def cut(columns: Columns, bounds: Sequence[np.ndarray]) -> tuple[Columns, np.ndarray]:
    """Split the columns of Docs into sentences. Returns the columns, and each Doc's first sentence, int64 [n + 1].

    bounds: for each Doc, the first token of each of its sentences, and its length.
    """
    starts = [doc_extent[:-1] + first for doc_extent, first in zip(bounds, columns.starts)]
    first_sentences = np.cumsum([0, *map(len, starts)])
    return columns._replace(starts=np.concatenate([*starts, columns.starts[-1:]]).astype(np.int64)), first_sentences
