"""The examples of a sequence component: a chain for each Doc, for each piece of a long one, or for each token."""

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np

from ...growth import elements, ranges_of, taken_starts
from ...solvers.problem import Corrections, Problem
from ...structures.chain.constraints import Constraints
from ..documents import Documents
from ..growing import ExampleSet, Growing, Levels
from ..protocol import ManyLayouts, PartlyKnown, Rows, Sharded
from .by_use import WeightsByUse
from .completion import GoldLabels, new_labels_ruled_out, project
from .data import Chains, dimension, make_chains
from .encoded import EncodedChains, Runs, Segmentation, runs_of_pieces
from .feature_rows import FeatureRows
from .first_pass import SeenLabels
from .oracles import chain_problem, extent

LEVELS = Levels("starts", ("gold", "costs", "kinds"), "feature_starts", ("rows",), ones="values")
"""The arrays of `Chains`."""

TOKEN_GOAL = 0.3
"""`Corrections.goal` of single tokens. Most of their features are of the form, which a frequent word has in all other
places: the longer a step, the more of these change their labels, too."""


class ChainSet(ExampleSet[Chains], PartlyKnown, ManyLayouts, Sharded):
    """Chains with their feature rows.

    Args:
        features: their rows.
        constraints: of all chains.
        seen_labels: of the first pass; None if there is none.
        segmentation: of Docs into examples.
        by_use: the numbering of weights, None if they are numbered by row.
    """

    def __init__(
        self,
        features: FeatureRows,
        constraints: Constraints,
        seen_labels: SeenLabels | None,
        segmentation: Segmentation,
        by_use: WeightsByUse | None = None,
    ) -> None:
        nothing, empty = np.zeros(1, np.int64), np.zeros(0, np.int32)
        none = make_chains(nothing, nothing, empty, empty, constraints)
        super().__init__(Growing(LEVELS, extent, none, Documents(unit=segmentation.unit)))
        self.features = features
        self.seen_labels = seen_labels
        self._constraints = constraints
        self._segmentation = segmentation
        # The edit scripts of a lemmatizer are no labels that anybody gives examples for.
        self._gold = GoldLabels(self.features.earlier.is_new & (not segmentation.of_tokens))
        self._by_use = by_use

    def add(self, encoded: EncodedChains) -> np.ndarray:
        columns = encoded.columns if self.seen_labels is None else self.seen_labels.columns_of(encoded)
        feature_starts, rows, values = self.features.read(columns)
        sizes, starts, tokens = self._examples(encoded)
        features: Any = slice(None)
        if self._segmentation.of_tokens:
            features, feature_starts = elements(feature_starts, tokens), taken_starts(feature_starts, tokens)
        gold, kinds = encoded.annotated[tokens], encoded.kinds[tokens]
        annotated, unknown = gold.copy(), np.full(len(gold), -1, np.int32)
        costs, rows, values = self._gold.costs(gold, encoded.costs[tokens]), rows[features], values[features]
        chunk = make_chains(starts, feature_starts, rows, unknown, self._constraints, values, costs, kinds)
        project(chunk, annotated)
        wrong: Sequence[Runs] = [()] * int(sizes.sum())
        if not self._segmentation.of_tokens:
            cuts = self._segmentation.cuts(starts, chunk.gold, encoded.wrong, self._constraints)
            sizes = sizes + np.diff(np.searchsorted(cuts, starts))
            chunk = chunk._replace(starts=np.sort(np.append(starts, cuts)))
            wrong = runs_of_pieces(encoded.wrong, starts, chunk.starts)
        self._gold.add(chunk.starts, annotated, wrong)
        first, self._problem = self.examples.add(chunk, sizes), None
        return first + ranges_of(chunk.starts, np.flatnonzero(annotated != gold))

    def _examples(self, encoded: EncodedChains) -> tuple[np.ndarray, np.ndarray, Any]:
        """The number of examples of each Doc, before long ones are cut, int64 [n], the first token of each example and
        the end, int64, and the tokens that the examples have."""
        starts = encoded.columns.starts
        if not self._segmentation.of_tokens:
            return np.ones(len(starts) - 1, np.int64), starts, slice(None)
        tokens = np.flatnonzero(encoded.annotated >= 0)
        return np.diff(np.searchsorted(tokens, starts)), np.arange(len(tokens) + 1), tokens

    def keep(self, examples: np.ndarray) -> None:
        starts = self.examples.joined().starts
        self._gold.keep(examples, elements(np.append(starts, starts[-1]), examples))
        super().keep(examples)
        self.features.count_anew()

    def make_problem(self) -> Problem:
        if self._by_use is None:
            made = self.problem_by_row()
        else:
            made = self._by_use.problem(self.examples.joined(), len(self.features), self.examples.extent())
        self.features.release()
        return made

    def problem_by_row(self) -> Problem:
        rows = self.features
        goal = TOKEN_GOAL if self._segmentation.of_tokens else 1.0
        corrections = Corrections(rows.rates(), self.initial, self._gold.have_new, goal=goal)
        return chain_problem(self.examples.joined(), len(rows), corrections, self.examples.extent())

    def number_weights(self, by_use: bool) -> None:
        self._problem = self._by_use = None
        if by_use:
            counts = self.features.counts(self.examples.joined().rows)
            self._by_use = WeightsByUse.new(counts, self._constraints, self._segmentation.of_tokens)
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
        chains, weights = self.examples.joined(), self.by_row(weights)
        examples = None if docs is None else self.docs.examples(docs)
        if not for_good:
            return self._gold.complete(chains, examples, weights)
        with new_labels_ruled_out(weights, self.features.earlier.is_unused):
            changed = self._gold.complete(chains, examples, weights)
        if self._gold.count_as_annotated(chains):
            self.examples.add_cost(1.0)
            self._problem = None
        return changed

    def state(self) -> list[np.ndarray]:
        keys = self.features.index()
        index = keys if self._by_use is None else np.concatenate([keys, self._by_use.index()])
        return [index, *([] if self.seen_labels is None else self.seen_labels.notes())]

    def gold(self, doc: int) -> np.ndarray:
        return np.array(self.examples.joined().gold[self._tokens(doc)])

    def set_gold(self, doc: int, gold: np.ndarray) -> None:
        place = self._tokens(doc)
        given = self._gold.annotated[place]
        if gold.shape != given.shape or not ((gold >= 0) & (gold < len(self._constraints.start))).all():
            raise ValueError("the saved solver state belongs to a component with other labels")
        self.examples.joined().gold[place] = np.where(given < 0, gold, given)

    def without_docs(self) -> "ChainSet":
        features, by_use = self.features.without_tokens(), copy(self._by_use)
        return ChainSet(features, self._constraints, self.seen_labels, self._segmentation, by_use)

    def rows(self) -> Rows:
        n_labels = len(self._constraints.start)
        return Rows(
            self.features.index(), n_labels * n_labels, n_labels, self.features.counts(self.examples.joined().rows)
        )

    def shared(self) -> np.ndarray:
        """Nothing: each shard has a first pass of its own."""
        return np.zeros(0)

    def with_shared(self, shared: np.ndarray) -> "ChainSet":
        return self.without_docs()

    def of_rows(self, keys: np.ndarray, seen: np.ndarray) -> "ChainSet":
        return ChainSet(self.features.of_keys(keys, seen), self._constraints, self.seen_labels, self._segmentation)

    def seen(self) -> np.ndarray:
        """log₂(1 + n), rounded, uint8 [R], of how often each row was seen in these Docs or in earlier ones."""
        return self.features.seen(self.examples.joined().rows)

    def _tokens(self, doc: int) -> slice:
        return self.docs.members(doc, self.examples.joined().starts)
