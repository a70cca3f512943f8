"""The examples of a sequence component: one chain for each Doc, or for each token with a gold label."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...features.ranges import elements, ranges_of, taken_starts
from ...solvers.problem import Corrections, Problem
from ...structures.chain.constraints import Constraints
from ..documents import Documents
from ..growing import Growing, Levels
from ..protocol import ManyLayouts, PartlyKnown, Rows, Sharded
from .by_use import WeightsByUse
from .completion import new_labels_ruled_out, project
from .data import Chains, dimension, make_chains
from .encoded import EncodedChains
from .feature_rows import FeatureRows
from .first_pass import SeenLabels
from .gold_labels import GoldLabels
from .oracles import chain_problem, extent

LEVELS = Levels("starts", ("gold", "costs", "kinds"), "feature_starts", ("rows",), ones="values")
"""The arrays of `Chains`."""


class ChainSet(PartlyKnown, ManyLayouts, Sharded):
    """Chains with their feature rows.

    features: their rows. constraints: of all chains. seen_labels: of the first pass, if there is one. of_tokens: as in
    `ChainCodec`. by_use: the numbering of weights, None if they are numbered by row.
    """

    impossible = "such as an entity that does not end"

    def __init__(
        self,
        features: FeatureRows,
        constraints: Constraints,
        seen_labels: SeenLabels | None = None,
        of_tokens: bool = False,
        by_use: WeightsByUse | None = None,
    ) -> None:
        self.docs = Documents()
        self.features = features
        self.seen_labels = seen_labels
        self._constraints = constraints
        self._of_tokens = of_tokens
        nothing, empty = np.zeros(1, np.int64), np.zeros(0, np.int32)
        none = make_chains(nothing, nothing, empty, empty, constraints)
        self._chains = Growing[Chains](LEVELS, extent, none)
        self._gold = GoldLabels()
        self._by_use = by_use
        self._problem: Problem | None = None

    def add(self, encoded: EncodedChains) -> np.ndarray:
        columns = encoded.columns if self.seen_labels is None else self.seen_labels.columns_of(encoded)
        feature_starts, rows, values = self.features.read(columns)
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
        self._chains.add(chunk)
        self._gold.add(annotated, [()] * int(sizes.sum()) if self._of_tokens else encoded.wrong)
        n_before, self.docs = self.docs.n_examples, self.docs.with_more(sizes)
        self._problem = None
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
        starts = self._chains.joined().starts
        order, self.docs = self.docs.replaced_by_last(docs)
        self._gold.keep(order, elements(np.append(starts, starts[-1]), order))
        self._chains.keep(order)
        self.features.count_anew()
        self._problem = None

    def problem(self) -> Problem:
        if self._problem is None:
            if self._by_use is None:
                self._problem = self.problem_by_row()
            else:
                self._problem = self._by_use.problem(self._chains.joined(), len(self.features), self._chains.extent())
            self.features.release()
        return self._problem

    def problem_by_row(self) -> Problem:
        # Examples that are barely right teach a new label little. A margin is for those that return: one example
        # that has only been seen once would spread the label to its other features.
        rows = self.features
        corrections = Corrections(rows.rates(), self.initial, with_margin=rows.earlier.has_new_labels)
        return chain_problem(self._chains.joined(), len(rows), corrections, self._chains.extent())

    def number_weights(self, by_use: bool) -> None:
        self._problem = self._by_use = None
        if by_use:
            counts = self.features.counts(self._chains.joined().rows)
            self._by_use = WeightsByUse.new(counts, self._constraints, self._of_tokens)
        else:
            self.features.take_all()

    def by_row(self, vector: np.ndarray) -> np.ndarray:
        if self._by_use is None:
            return vector
        weights = np.zeros(self.dimension())
        indices, values = self.non_zeros(vector)
        weights[indices] = values
        return weights

    def non_zeros(self, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The weights that are not zero, of a vector as `problem` numbers them: indices int64, ascending, by row."""
        if self._by_use is not None:
            return self._by_use.non_zeros(vector)
        indices = np.flatnonzero(vector)
        return indices, vector[indices]

    def dimension(self) -> int:
        return dimension(len(self._constraints.start), len(self.features))

    @property
    def initial(self) -> Callable[[int], np.ndarray] | None:
        return None if self.features.earlier.weights is None else self.features.initial

    def is_incomplete(self) -> bool:
        return self._gold.is_incomplete()

    def complete(self, docs: np.ndarray | None, weights: np.ndarray, for_good: bool = False) -> np.ndarray:
        chains, weights = self._chains.joined(), self.by_row(weights)
        examples = None if docs is None else self.docs.examples(docs)
        if not for_good:
            return self._gold.complete(chains, examples, weights)
        with new_labels_ruled_out(weights, self.features.earlier.is_new):
            changed = self._gold.complete(chains, examples, weights)
        if self._gold.count_as_annotated(chains):
            self._chains.add_cost(1.0)
            self._problem = None
        return changed

    def state(self) -> list[np.ndarray]:
        keys = np.zeros(0, np.uint64) if self.features.hash_bits else self.features.keys()
        index = keys if self._by_use is None else np.concatenate([keys, self._by_use.index()])
        return [index, *([] if self.seen_labels is None else self.seen_labels.notes())]

    def gold(self, doc: int) -> np.ndarray:
        return np.array(self._chains.joined().gold[self._tokens(doc)])

    def set_gold(self, doc: int, gold: np.ndarray) -> None:
        place = self._tokens(doc)
        given = self._gold.annotated[place]
        if gold.shape != given.shape or not ((gold >= 0) & (gold < len(self._constraints.start))).all():
            raise ValueError("the saved solver state belongs to a component with other labels")
        self._chains.joined().gold[place] = np.where(given < 0, gold, given)

    def without_docs(self) -> "ChainSet":
        features, by_use = self.features.without_tokens(), self._by_use and self._by_use.without_chains()
        return ChainSet(features, self._constraints, self.seen_labels, self._of_tokens, by_use)

    def rows(self) -> Rows:
        n_labels = len(self._constraints.start)
        keys = np.zeros(0, np.uint64) if self.features.hash_bits else self.features.keys()
        return Rows(keys, n_labels * n_labels, n_labels, self.features.counts(self._chains.joined().rows))

    def shared(self) -> np.ndarray:
        """Nothing: each shard has a first pass of its own."""
        return np.zeros(0)

    def with_shared(self, shared: np.ndarray) -> "ChainSet":
        return self.without_docs()

    def of_rows(self, keys: np.ndarray, seen: np.ndarray) -> "ChainSet":
        return ChainSet(self.features.of_keys(keys, seen), self._constraints, self.seen_labels, self._of_tokens)

    def seen(self) -> np.ndarray:
        """log₂(1 + n), rounded, uint8 [R], of how often each row was seen in these Docs or in earlier ones."""
        return self.features.seen(self._chains.joined().rows)

    def _tokens(self, doc: int) -> slice:
        return self.docs.members(doc, self._chains.joined().starts)
