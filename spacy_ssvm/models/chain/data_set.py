"""The examples of a sequence component: one chain for each Doc, or for each token with a gold label."""

from functools import cached_property, partial
from typing import Any

import numpy as np

from ...features.index import Program, Table, add_features, n_rows, row_keys, table_of, write_keys
from ...features.ranges import elements, ranges_of, taken_starts
from ...growth import appended, extended
from ...solvers.problem import Extent, Problem, Rates
from ...structures.chain.constraints import Constraints
from .. import frequency
from ..documents import examples_of, replaced_by_last
from ..protocol import DataSet, Rows
from .completion import complete, complete_without, new_labels_ruled_out, project
from .data import Chains, dimension, joined, make_chains, with_more
from .decoders import ALL_LABELS, ALONE, has_many_labels, learning_decoder
from .encoded import EncodedChains, Runs
from .first_pass import SeenLabels
from .layouts import WeightLayout
from .numbering import (
    FREQUENT,
    NO_PAIR,
    Numbering,
    new_numbering,
    new_steps,
    numbering_of,
    pairs_of,
    used_steps,
    with_rows,
)
from .oracles import chain_problem, extent, problem_by_use
from .start_weights import StartWeights, blocks_of, no_start_weights, seen_of
from .weights import ChainWeights

_IS_PAIR, _IS_STEP = np.uint64(1 << 63), np.uint64(1 << 62)
"""The bits that mark a pair of row and label, and a transition, in an index, in which keys of rows come first."""

COUNTED_TOGETHER = 1 << 21
"""Features that are counted at a time."""


class ChainSet(DataSet):
    """Chains with their feature rows.

    program: compiled templates. table: the feature index so far; it grows as chains are added, and is made from its
    keys after `release_index`.
    constraints: of all of them. earlier: of the weights from which training starts; by default, that is zero.
    seen_labels: of the first pass, if there is one. of_tokens: as in `ChainCodec`.
    annotated: int32 [T], gold labels within the constraints, -1 where unknown.
    """

    impossible = "such as an entity that begins with whitespace"

    def __init__(
        self,
        program: Program,
        table: Table,
        constraints: Constraints,
        earlier: StartWeights | None = None,
        seen_labels: SeenLabels | None = None,
        of_tokens: bool = False,
    ) -> None:
        self.seen_labels = seen_labels
        self._of_tokens = of_tokens
        self._docs = np.zeros((0, 2), np.int64)
        self._n_examples = 0
        self._table: Table | None = table
        self._keys = np.zeros(0, np.uint64)
        """The keys of the rows, while there is no table, or where some are those of earlier weights."""
        self.earlier = no_start_weights(len(constraints.start)) if earlier is None else earlier
        self._rates_of_rows = np.zeros(0, np.float32)
        """Learning rates of the rows so far."""
        self.annotated = np.zeros(0, np.int32)
        self._n_known = 0
        """The labels of so many of the first tokens are known."""
        self._program = program
        self._constraints = constraints
        self._joined: Chains | None = None
        self._extent: Extent | None = None
        """The extent of the joined chains."""
        self._chunks: list[Chains] = []
        """Chains that are not joined yet."""
        self._counts, self._n_counted = np.zeros(0, np.int32), 0
        """How often each row occurs among so many of the first features."""
        self._problem: Problem | None = None
        self._numbering: Numbering | None = None
        self._decoder = ALONE if of_tokens else ALL_LABELS
        """The decoder, where weights are numbered by use."""
        self._wrong: list[Runs] = []

    def add(self, encoded: EncodedChains) -> np.ndarray:
        columns = encoded.columns if self.seen_labels is None else self.seen_labels.columns_of(encoded)
        n_rows_before = self.n_rows()
        self._table, feature_starts, rows, values = add_features(columns, self._program, self.table)
        if self.earlier.weights is not None:
            new = np.zeros(self.n_rows() - n_rows_before, np.uint64)
            write_keys(columns, self._program, feature_starts, rows, n_rows_before, new)
            self._keys = appended(self._keys, new)
        sizes, starts, tokens = self._examples(encoded)
        features: Any = slice(None)
        if self._of_tokens:
            features, feature_starts = elements(feature_starts, tokens), taken_starts(feature_starts, tokens)
        gold = encoded.annotated[tokens]
        annotated = gold.copy()
        chunk = make_chains(
            starts,
            feature_starts,
            rows[features],
            np.full(len(annotated), -1, np.int32),
            self._constraints,
            values[features],
            encoded.costs[tokens],
            encoded.kinds[tokens],
        )
        project(chunk, annotated)
        n_before = self._n_examples
        self._n_examples += len(chunk.starts) - 1
        self._docs = appended(self._docs, np.stack([n_before + np.cumsum(sizes) - sizes, sizes], axis=1))
        self._chunks.append(chunk)
        self._problem = None
        self._wrong += [()] * int(sizes.sum()) if self._of_tokens else encoded.wrong
        self.annotated = appended(self.annotated, annotated)
        return n_before + ranges_of(chunk.starts, np.flatnonzero(annotated != gold))

    def _examples(self, encoded: EncodedChains) -> tuple[np.ndarray, np.ndarray, Any]:
        """The number of examples of each Doc, int64 [n], the first token of each example and the end, int64, and which
        tokens these are of."""
        starts, sizes = encoded.columns.starts, encoded.sizes
        if not self._of_tokens:
            return np.ones(len(starts) - 1, np.int64), starts, slice(None)
        if sizes is not None:
            return sizes, np.zeros(int(sizes.sum()) + 1, np.int64), np.zeros(0, np.int64)
        tokens = np.flatnonzero(encoded.annotated >= 0)
        return np.diff(np.searchsorted(tokens, starts)), np.arange(len(tokens) + 1), tokens

    def replace_by_last(self, docs: list[int]) -> None:
        chains = self._chains()
        order, self._docs = replaced_by_last(self._docs, docs, len(chains.starts) - 1)
        starts = np.append(chains.starts, chains.starts[-1])
        tokens = elements(starts, order)
        features = elements(chains.feature_starts, tokens)
        self.annotated = self.annotated[tokens]
        wrong = [*self._wrong, ()]
        self._wrong = [wrong[example] for example in order]
        self._problem, self._n_known, self._n_examples = None, 0, len(order)
        self._counts, self._n_counted = np.zeros(0, np.int32), 0
        self._joined = make_chains(
            taken_starts(starts, order),
            taken_starts(chains.feature_starts, tokens),
            chains.rows[features],
            chains.gold[tokens],
            self._constraints,
            chains.values[features] if len(chains.values) else None,
            chains.costs[tokens],
            chains.kinds[tokens],
        )
        self._extent = extent(self._joined)

    @property
    def table(self) -> Table:
        """The feature index."""
        if self._table is None:
            self._table = table_of(self._keys, 0)
            if self.earlier.weights is None:
                self._keys = np.zeros(0, np.uint64)
        return self._table

    def release_index(self) -> None:
        if self._table is not None and not self.hash_bits():
            self._keys = self.keys()
            self._table = None

    def n_rows(self) -> int:
        """The number of feature rows."""
        return len(self._keys) if self._table is None else n_rows(self._table)

    def keys(self) -> np.ndarray:
        """The key of each row, uint64 [R]."""
        return self._keys if self._table is None or self.earlier.weights is not None else row_keys(self._table)

    def hash_bits(self) -> int:
        """The bits of a hashed index; 0 for an exact one."""
        return 0 if self._table is None else int(self._table.counts[1])

    def rows(self) -> Rows:
        n_labels = len(self._constraints.start)
        return Rows(np.zeros(0, np.uint64)) if self.hash_bits() else Rows(self.keys(), n_labels * n_labels, n_labels)

    def of_rows(self, keys: np.ndarray, seen: np.ndarray) -> "ChainSet":
        data = self.without_docs()
        if not self.hash_bits():
            data._table = table_of(keys, 0)
        data.earlier = no_start_weights(len(self._constraints.start), seen)
        data._keys, data._rates_of_rows = np.zeros(0, np.uint64), np.zeros(0, np.float32)
        return data

    def problem(self) -> Problem:
        if self._problem is None:
            if self._numbering is None:
                self._problem = self.problem_by_row()
            else:
                self._numbering = with_rows(self._numbering, self.n_rows(), len(self._constraints.start))
                chains = self._chains()._replace(layout=WeightLayout(self._numbering), decoder=self._decoder)
                self._problem = problem_by_use(chains, self._extent)
        return self._problem

    def problem_by_row(self) -> Problem:
        # Examples that are barely right teach a new label little. A margin is for those that return: one example
        # that has only been seen once would spread the label to its other features.
        weights = self.earlier.weights
        initial = None if weights is None else partial(self._initial, weights)
        with_margin = self.earlier.has_new_labels
        return chain_problem(self._chains(), self.n_rows(), self._rates(), initial, with_margin, self._extent)

    def number_weights(self, by_use: bool) -> None:
        self._problem = self._numbering = None
        if by_use:
            n_labels, counts = len(self._constraints.start), self.counts()
            self._numbering = new_numbering(len(counts), n_labels, np.flatnonzero(FREQUENT * counts >= n_labels))
            self._number_steps(np.zeros(0, np.int64))

    def resume_numbering(self, pairs: np.ndarray, steps: np.ndarray) -> None:
        """Number weights in this order: pairs as `numbering.pairs_of` returned them, and transitions as `used_steps`.

        They are numbered by row if there are no pairs.

        Raises:
            ValueError: a pair of row and label or a transition does not exist, or the order of pairs is impossible.
        """
        if len(pairs):
            n_labels = len(self._constraints.start)
            self._numbering = numbering_of(pairs, self.n_rows(), n_labels)
            self._number_steps(steps)

    def by_row(self, vector: np.ndarray) -> np.ndarray:
        if self._numbering is None:
            return vector
        weights = np.zeros(self.dimension())
        indices, values = self.non_zeros(vector)
        weights[indices] = values
        return weights

    def non_zeros(self, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The weights that are not zero, of a vector as `problem` numbers them: indices int64, ascending, by row."""
        if self._numbering is None:
            indices = np.flatnonzero(vector)
            return indices, vector[indices]
        n_labels = len(self._constraints.start)
        begin = n_labels * n_labels
        used = self._decoder.used
        steps = used_steps(used) if len(used.counts) else np.arange(begin)
        of_steps = _non_zeros(vector[: len(steps)], steps)
        indices, values = _non_zeros(vector[begin:], pairs_of(self._numbering, n_labels))
        return np.concatenate([of_steps[0], begin + indices]), np.concatenate([of_steps[1], values])

    def dimension(self) -> int:
        return dimension(len(self._constraints.start), self.n_rows())

    def initial(self, first: int) -> np.ndarray | None:
        weights = self.earlier.weights
        return None if weights is None else self._initial(weights, first)

    def _initial(self, weights: ChainWeights, first: int) -> np.ndarray:
        """`initial`, by these weights; training starts with the transitions."""
        n_labels = len(self._constraints.start)
        return blocks_of(weights, self.keys()[first // n_labels - n_labels :])

    def take_all_rows(self) -> None:
        if self.earlier.weights is not None:
            keys, earlier = self.keys(), self.earlier.weights.keys
            self._keys = np.concatenate([keys, earlier[~np.isin(earlier, keys)]])
            self._table, self._problem = table_of(self._keys, 0), None

    def examples_of(self, docs: np.ndarray) -> np.ndarray:
        return examples_of(self._docs[docs])

    def is_incomplete(self) -> bool:
        if self._n_known < len(self.annotated) and self.annotated[self._n_known] >= 0:
            unknown = np.flatnonzero(self.annotated[self._n_known :] < 0)
            self._n_known = self._n_known + int(unknown[0]) if len(unknown) else len(self.annotated)
        return self._n_known < len(self.annotated)

    def complete(self, docs: np.ndarray | None, weights: np.ndarray) -> np.ndarray:
        chains, weights = self._chains(), self.by_row(weights)
        if docs is None:
            unknown = self._n_known + np.flatnonzero(self.annotated[self._n_known :] < 0)
        else:
            tokens = elements(chains.starts, np.unique(self.examples_of(docs)))
            unknown = tokens[self.annotated[tokens] < 0]
        examples = ranges_of(chains.starts, unknown)
        constrained = np.array([bool(self._wrong[example]) for example in examples], np.bool_)
        changed = complete(chains, np.ascontiguousarray(examples[~constrained], np.int64), self.annotated, weights)
        also = [example for example in examples[constrained] if self._complete_without(int(example), weights)]
        return np.sort(np.append(changed, also).astype(np.int64))

    def complete_once(self, weights: np.ndarray) -> None:
        with new_labels_ruled_out(weights, self.earlier.is_new):
            self.complete(None, weights)
        chains = self._chains()
        unknown = self._n_known + np.flatnonzero(self.annotated[self._n_known :] < 0)
        chains.costs[unknown] = 1.0
        self.annotated[unknown] = chains.gold[unknown]
        if len(unknown) and self._extent is not None:
            self._extent = self._extent._replace(min_cost=min(self._extent.min_cost, 1.0))
            self._problem = None

    def keep_gold(self, docs: np.ndarray) -> None:
        """Nothing to do: a chain is decoded among all label sequences."""

    def _complete_without(self, example: int, weights: np.ndarray) -> bool:
        """Complete an example without the runs of labels that are known to be wrong; returns whether it has changed."""
        chains = self._chains()
        gold = chains.gold[chains.starts[example] : chains.starts[example + 1]]
        found = complete_without(chains, example, self.annotated, weights, self._wrong[example])
        changed = not np.array_equal(gold, found)
        gold[:] = found
        return changed

    def index(self) -> np.ndarray:
        keys = np.zeros(0, np.uint64) if self.hash_bits() else self.keys()
        if self._numbering is None:
            return keys
        pairs = (pairs_of(self._numbering, len(self._constraints.start)) - NO_PAIR).astype(np.uint64)
        steps = used_steps(self._decoder.used)
        return np.concatenate([keys, steps.astype(np.uint64) | _IS_STEP, pairs | _IS_PAIR])

    def notes(self) -> list[np.ndarray]:
        return [] if self.seen_labels is None else self.seen_labels.notes()

    def sizes(self) -> np.ndarray:
        return np.array(self._docs[:, 1])

    def gold(self, doc: int) -> np.ndarray:
        return np.array(self._chains().gold[self._tokens(doc)])

    def set_gold(self, doc: int, gold: np.ndarray) -> None:
        chains = self._chains()
        place = self._tokens(doc)
        given = self.annotated[place]
        if gold.shape != given.shape or not ((gold >= 0) & (gold < len(self._constraints.start))).all():
            raise ValueError("the saved solver state belongs to a component with other labels")
        chains.gold[place] = np.where(given < 0, gold, given)

    def without_docs(self) -> "ChainSet":
        data = ChainSet(
            self._program,
            self.table,
            self._constraints,
            self.earlier,
            self.seen_labels,
            self._of_tokens,
        )
        data._numbering, data._decoder = self._numbering, self._decoder
        data._keys, data._rates_of_rows = self._keys, self._rates_of_rows
        return data

    def seen(self) -> np.ndarray:
        """log₂(1 + n), rounded, uint8 [R], of how often each row was seen in these Docs or in earlier ones."""
        return frequency.exponents(self.counts(), self._seen_earlier())

    def _seen_earlier(self) -> np.ndarray | None:
        """How often each row occurred before this training, uint8 [≤ R], None if unknown. Later rows are new."""
        weights = self.earlier.weights
        return self.earlier.seen if weights is None else seen_of(weights, self.keys())

    def counts(self) -> np.ndarray:
        self._counts = extended(self._counts, self.n_rows())
        rows = self._chains().rows
        # NumPy copies what it counts, to numbers of eight bytes.
        for first in range(self._n_counted, len(rows), COUNTED_TOGETHER):
            part = rows[first : first + COUNTED_TOGETHER]
            self._counts[: part.max() + 1] += np.bincount(part)
        self._n_counted = len(rows)
        return self._counts

    def _rates(self) -> Rates | None:
        """Learning rates of the weights. Transitions have the rate of the most frequent feature."""
        if self.earlier.seen is None:
            return None
        n_before, weights = len(self._rates_of_rows), self.earlier.weights
        more = self.earlier.seen[n_before:] if weights is None else seen_of(weights, self._keys[n_before:])
        assert more is not None
        self._rates_of_rows = appended(self._rates_of_rows, frequency.rates(more, self._power))
        n_labels = len(self._constraints.start)
        return Rates(self._rates_of_transitions, self._rates_of_rows, np.array([n_labels]))

    @property
    def _power(self) -> float:
        return frequency.NEW_LABEL_POWER if self.earlier.has_new_labels else 1.0

    @cached_property
    def _rates_of_transitions(self) -> np.ndarray:
        assert self.earlier.seen is not None
        rate = frequency.rates(self.earlier.seen.max(initial=0, keepdims=True), self._power)
        return np.repeat(rate, len(self._constraints.start) ** 2)

    def _number_steps(self, steps: np.ndarray) -> None:
        """Number the weights of transitions in this order, too, if there are many labels."""
        if not self._of_tokens and has_many_labels(self._constraints):
            self._decoder = learning_decoder(self._constraints, new_steps(len(self._constraints.start), steps))

    def _tokens(self, doc: int) -> slice:
        (first, count), starts = self._docs[doc], self._chains().starts
        return slice(int(starts[first]), int(starts[first + count]))

    def _chains(self) -> Chains:
        """All examples as one set of arrays, with their present gold labels."""
        if self._chunks:
            more, self._chunks = self._chunks[0] if len(self._chunks) == 1 else joined(self._chunks), []
            if self._joined is None or self._extent is None:
                self._joined, self._extent = more, extent(more)
            else:
                self._joined, self._extent = with_more(self._joined, more), self._extent.with_more(extent(more))
        elif self._joined is None:
            nothing = np.zeros(1, np.int64)
            empty = np.zeros(0, np.int32)
            self._joined = make_chains(nothing, nothing, empty, empty, self._constraints)
            self._extent = extent(self._joined)
        return self._joined


def _non_zeros(values: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of the values that are not zero, ascending, and these; there may be more values, all zero."""
    used = np.flatnonzero(values[: len(numbers)])
    used = used[np.argsort(numbers[used])]
    return numbers[used], values[used]


def split_index(index: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The keys of rows, uint64, the pairs and the transitions, int64, of an index as `ChainSet.index` returns it."""
    is_pair = index & _IS_PAIR != 0
    is_step = ~is_pair & (index & _IS_STEP != 0)
    pairs, steps = (
        (index[is_pair] & ~_IS_PAIR).astype(np.int64) + NO_PAIR,
        (index[is_step] & ~_IS_STEP).astype(np.int64),
    )
    return index[~(is_pair | is_step)], pairs, steps
