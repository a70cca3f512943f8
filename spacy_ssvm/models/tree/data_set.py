"""The examples of a parser: one tree for each sentence of a Doc."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from ...features.arc_program import ArcProgram
from ...features.columns import join_columns, take_columns
from ...features.index import Columns
from ...growth import elements, joined_starts, ranges_of, taken_starts
from ...solvers.problem import Problem, Rates
from ...structures.tree.decoders import decoder
from ...structures.tree.parts import UNKNOWN
from ..documents import digest
from ..frequency import exponents, rates
from ..growing import ExampleSet, Growing, Levels
from ..packing import pack_numbers
from ..protocol import PartlyKnown, Pruned, Rows, Sharded
from .candidates import TRAINING_SLACK, ArcFirstPass
from .completion import complete, project
from .data import Shape, Trees, dimension, n_rows
from .oracles import count_features, extent, tree_problem


@dataclass(frozen=True, eq=False)
class EncodedTrees:
    """A batch of n Docs with T tokens in S sentences, as read by the component.

    Attributes:
        docs: int64 [n + 1], first sentence of each Doc.
        columns: attribute keys of the sentences.
        heads, labels: int32 [T], gold, UNKNOWN where unknown; a head is a position in the sentence from 1, 0 for the
            root.
    """

    docs: np.ndarray
    columns: Columns
    heads: np.ndarray
    labels: np.ndarray

    def take(self, docs: list[int]) -> "EncodedTrees":
        """The given Docs only."""
        chosen = np.array(docs, np.int64)
        return EncodedTrees(taken_starts(self.docs, chosen), *self._sentences(elements(self.docs, chosen)))

    def with_sentences(self, chosen: np.ndarray) -> "EncodedTrees":
        """All Docs with the given sentences only, int64, ascending."""
        return EncodedTrees(np.searchsorted(chosen, self.docs), *self._sentences(chosen))

    @staticmethod
    def concatenated(batches: Sequence["EncodedTrees"]) -> "EncodedTrees":
        """The batches as a single one."""
        return EncodedTrees(
            joined_starts([batch.docs for batch in batches]),
            join_columns([batch.columns for batch in batches]),
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
            columns = self.columns.keys[:, first:end], self.columns.reals[:, first:end]
            digests.append(digest(starts - first, *columns, self.heads[first:end], self.labels[first:end]))
        return digests


LEVELS = Levels("columns", ("gold", "gold_labels", "head_costs", "label_costs"), "candidate_starts", ("candidates",))
"""The arrays of `Trees`."""


class TreeSet(ExampleSet[Trees], PartlyKnown, Pruned, Sharded):
    """Sentences with their candidate arcs and gold trees.

    Args:
        program: compiled templates.
        first_pass: selects the candidates.
        shape: of the trees.
        seen: of earlier Docs, as in `TreeWeights`, unpacked; None if unknown.
    """

    def __init__(
        self, program: ArcProgram, first_pass: ArcFirstPass, shape: Shape, seen: np.ndarray | None = None
    ) -> None:
        super().__init__(Growing(LEVELS, extent))
        self.first_pass = first_pass
        self._program = program
        self._shape = shape
        self._seen_earlier = seen
        self._n_known = 0
        """For how many of the first sentences all heads and labels are known."""
        self._packed_seen: np.ndarray | None = None

    def add(self, encoded: EncodedTrees) -> np.ndarray:
        heads, labels = encoded.heads.copy(), encoded.labels.copy()
        candidates = self.first_pass.candidates(encoded.columns, heads, TRAINING_SLACK)
        gold, shape = (heads.copy(), labels.copy()), self._shape
        costs = np.zeros(len(heads)), np.zeros(len(heads))
        trees = Trees(encoded.columns, self._program, *candidates, *gold, *costs, shape, decoder(shape.structure))
        project(trees, heads, labels)
        costs = np.where(heads != UNKNOWN, 1.0, 0.0), np.where(labels != UNKNOWN, 1.0, 0.0)
        trees = trees._replace(head_costs=costs[0], label_costs=costs[1])
        first = self.examples.add(trees, np.diff(encoded.docs))
        self._problem = self._packed_seen = None
        return first + ranges_of(encoded.columns.starts, np.flatnonzero(heads != encoded.heads))

    def keep(self, examples: np.ndarray) -> None:
        super().keep(examples)
        self._n_known, self._packed_seen = 0, None

    def make_problem(self) -> Problem:
        return tree_problem(self.examples.joined(), self._rates, self.examples.extent())

    def dimension(self) -> int:
        return dimension(self._shape)

    def is_incomplete(self) -> bool:
        n = self.docs.n_examples
        if self._n_known < n and not len(self._unknown(np.array([self._n_known]))):
            unknown = self._unknown(np.arange(self._n_known, n))
            self._n_known = int(unknown[0]) if len(unknown) else n
        return self._n_known < n

    def complete(self, docs: np.ndarray | None, weights: np.ndarray, for_good: bool = False) -> np.ndarray:
        trees = self.examples.joined()
        examples = np.arange(self._n_known, self.docs.n_examples) if docs is None else self.docs.examples(docs)
        changed = complete(trees, self._unknown(np.unique(examples)), weights)
        if for_good:
            known = trees.columns.starts[self._n_known]
            trees.head_costs[known:] = 1.0
            trees.label_costs[known:] = 1.0
            self.examples.add_cost(1.0)
        return changed

    def _unknown(self, examples: np.ndarray) -> np.ndarray:
        """The examples, int64, among these, ascending, whose gold tree is not known completely."""
        trees = self.examples.joined()
        tokens = elements(trees.columns.starts, examples)
        unknown = tokens[(trees.head_costs[tokens] == 0) | (trees.label_costs[tokens] == 0)]
        return ranges_of(trees.columns.starts, unknown)

    def gold_heads(self, docs: np.ndarray) -> tuple[Columns, np.ndarray]:
        trees, examples = self.examples.joined(), self.docs.examples(docs)
        return take_columns(trees.columns, examples), trees.gold[elements(trees.columns.starts, examples)]

    def state(self) -> list[np.ndarray]:
        return [np.asarray(self.first_pass.weights)]

    def gold(self, doc: int) -> np.ndarray:
        trees, place = self.examples.joined(), self._tokens(doc)
        return np.concatenate([trees.gold[place], trees.gold_labels[place]])

    def set_gold(self, doc: int, gold: np.ndarray) -> None:
        trees, place = self.examples.joined(), self._tokens(doc)
        n = place.stop - place.start
        heads, labels = gold[:n], gold[n:]
        starts = trees.candidate_starts[place.start : place.stop + 1]
        possible = trees.candidates[starts[0] : starts[-1]] == np.repeat(heads, np.diff(starts))
        token = np.repeat(np.arange(n), np.diff(starts))
        if len(labels) != n or np.bincount(token[possible], minlength=n).min(initial=1) < 1:
            raise ValueError("its solver state has gold heads that are no candidates for heads")
        if not ((labels >= 0) & (labels < self._shape.n_labels)).all():
            raise ValueError("the saved solver state belongs to a component with other labels")
        trees.gold[place], trees.gold_labels[place] = heads, labels

    def without_docs(self) -> "TreeSet":
        return TreeSet(self._program, self.first_pass, self._shape, self._seen_earlier)

    def rows(self) -> Rows:
        """Rows as in `Sharded`, counted in gold trees."""
        return Rows(np.zeros(0, np.uint64), 0, 1, self._counts())

    def shared(self) -> np.ndarray:
        """The weights of the first pass."""
        return np.asarray(self.first_pass.weights)

    def with_shared(self, shared: np.ndarray) -> "TreeSet":
        first_pass = replace(self.first_pass, weights=shared.astype(np.float32))
        return TreeSet(self._program, first_pass, self._shape, self._seen_earlier)

    def of_rows(self, keys: np.ndarray, seen: np.ndarray) -> "TreeSet":
        return TreeSet(self._program, self.first_pass, self._shape, seen)

    def packed_seen(self) -> np.ndarray:
        """How often each row was seen in gold trees of these Docs or of earlier ones, packed as in `TreeWeights`."""
        if self._packed_seen is None:
            self._packed_seen = pack_numbers(exponents(self._counts(), self._seen_earlier))
        return self._packed_seen

    def _counts(self) -> np.ndarray:
        counts = np.zeros(n_rows(self._shape), np.int32)
        if self.docs.n_examples:
            count_features(self.examples.joined(), 0, counts)
        return counts

    @cached_property
    def _rates(self) -> Rates | None:
        if self._seen_earlier is None:
            return None
        of_rows, n_arcs = rates(self._seen_earlier), 1 << self._shape.arc_bits
        return Rates(of_rows[:n_arcs], of_rows[n_arcs:], np.array([self._shape.n_labels]))

    def _tokens(self, doc: int) -> slice:
        return self.docs.members(doc, self.examples.joined().columns.starts)


def cut(columns: Columns, bounds: Sequence[np.ndarray]) -> tuple[Columns, np.ndarray]:
    """Split the columns of Docs into sentences. Returns the columns, and each Doc's first sentence, int64 [n + 1].

    Args:
        bounds: for each Doc, the first token of each of its sentences, and its length.
    """
    starts = [doc_extent[:-1] + first for doc_extent, first in zip(bounds, columns.starts)]
    first_sentences = np.cumsum([0, *map(len, starts)])
    return columns._replace(starts=np.concatenate([*starts, columns.starts[-1:]]).astype(np.int64)), first_sentences
