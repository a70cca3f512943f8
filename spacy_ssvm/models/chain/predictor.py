"""Labels for Docs by fixed weights; the scores of features that read one word type only are summed once per type."""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from itertools import pairwise
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
from spacy.tokens import Doc

from ...features.columns import Types
from ...features.extractor import Extractor
from ...features.index import Columns, Program, Table, look_up_features, table_of
from ...features.program import rows_outside, select
from ...structures.chain.constraints import Constraints, broken, first_fixed, limited
from ...structures.chain.scored import Between, ChainScores
from ..protocol import Contradiction
from ..scored import ScoredSequence
from .codec import ChainCodec
from .data import Chains, SharedScores
from .scores import add_all_rows, label, token_scores, unlabelled
from .weights import ChainWeights, split

if TYPE_CHECKING:
    from .factors import ChainFeatures

MAX_SCORES = 1 << 23
"""Largest number of stored scores of word types, 8 bytes each; beyond it, all are forgotten."""


class ChainPredictor:
    """A `Predictor`: the best label sequence of each Doc.

    extractor: templates and reader. codec: the source of constraints. weights: to predict with.
    """

    def __init__(self, extractor: Extractor, codec: ChainCodec, weights: ChainWeights) -> None:
        self.extractor = extractor
        self.weights = weights
        self.constraints = codec.constraints()
        self._codec = codec
        self._table = table_of(weights.keys, weights.hash_bits)
        self._groups = extractor.split.groups
        self._offsets = np.array([group.offset for group in self._groups], np.int64)
        self._lock = Lock()
        self._clear(-1)

    def prepared(self, docs: Sequence[Doc]) -> Callable[[], list[np.ndarray]]:
        """As `Predictor.prepared`: the best labels of each Doc, int32 [tokens]."""
        if not any(len(doc) for doc in docs):
            return lambda: [np.zeros(0, np.int32) for _ in docs]
        return self._decoding(*self._read(docs))

    def scored(self, docs: Sequence[Doc]) -> list[list[ScoredSequence]]:
        return [[ScoredSequence(0, scores)] for scores in self._scores(docs)[1]] if docs else []

    def explained(self, doc: Doc) -> "list[tuple[ScoredSequence, ChainFeatures]]":
        from .factors import ChainFeatures

        columns, (scores,) = self._scores([doc])
        labels = self._codec.weight_labels
        contributions = partial(self.contributions, columns)
        # Names are read later, when the Doc may have changed.
        features = ChainFeatures(doc.copy(), self.extractor, columns, contributions, scores.transitions, labels)
        return [(ScoredSequence(0, scores), features)]

    def forget_types(self) -> None:
        self.extractor.reader.forget_types()
        with self._lock:
            self._clear(-1)

    def _read(self, docs: Sequence[Doc]) -> tuple[Columns, Types, np.ndarray, Constraints]:
        """Columns, word types, the kinds of tokens, int32 [T], and the constraints, which have a row for each kind."""
        codec = self._codec
        columns, types, preset = self.extractor.reader.read_types(docs, docs[0].vocab, codec.preset)
        kinds = codec.kept(docs, codec.kinds(docs, preset))
        if not codec.patterns:
            return columns, types, kinds, self.constraints
        free = kinds < first_fixed(self.constraints)
        constraints, kinds = limited(self.constraints, kinds, *codec.patterns.allowed(docs, codec.named_labels(), free))
        return columns, types, kinds, constraints

    def _scores(self, docs: Sequence[Doc]) -> tuple[Columns, list[ChainScores]]:
        """The columns of the Docs, and each Doc's scores, within the limits set by Docs and patterns."""
        read = self._read(docs)
        columns, _, _, allowed = read
        if allowed is not self.constraints:
            self._decoding(*read)()
        scores, between = token_scores(*self._arguments(*read)), self._between
        return columns, [ChainScores(scores[first:end], between) for first, end in pairwise(columns.starts.tolist())]

    @cached_property
    def _between(self) -> Between:
        # Patterns limit single tokens only.
        allowed = self.constraints
        transitions = split(self.weights.vector, len(allowed.start))[0] + allowed.transition
        return Between(transitions, allowed.start, allowed.end)

    def _decoding(
        self, columns: Columns, types: Types, kinds: np.ndarray, constraints: Constraints
    ) -> Callable[[], list[np.ndarray]]:
        arguments = self._arguments(columns, types, kinds, constraints)
        bounds = list(pairwise(columns.starts.tolist()))

        def labels() -> list[np.ndarray]:
            best = label(*arguments)
            if constraints is not self.constraints:
                for token in np.flatnonzero(broken(constraints, kinds, columns.starts, best))[:1].tolist():
                    raise Contradiction(token, "patterns leave it no label that can follow those before it")
            return [best[first:end] for first, end in bounds]

        return labels

    def contributions(self, columns: Columns) -> list[list[tuple[int, np.ndarray]]]:
        """For each token, the templates that fire, by number, and what each adds to the labels' scores, float64 [L]."""
        rows_of_labels = split(self.weights.vector, len(self.constraints.start))[1]
        found: list[list[tuple[int, np.ndarray]]] = [[] for _ in range(int(columns.starts[-1]))]
        for number in range(len(self.extractor.templates)):
            starts, rows, values = look_up_features(columns, select(self.extractor.program, [number]), self._table)
            for token in np.flatnonzero(np.diff(starts)).tolist():
                place = starts[token]
                found[token].append((number, values[place] * rows_of_labels[rows[place]].astype(np.float64)))
        return found

    def _arguments(
        self, columns: Columns, types: Types, kinds: np.ndarray, constraints: Constraints
    ) -> tuple[Columns, Program, Table, Chains, SharedScores, np.ndarray]:
        """The arguments of `label` and `token_scores`."""
        rest, shared = self.extractor.split.rest, self._shared(types)
        chains = unlabelled(columns, rest, kinds, constraints)
        return columns, rest, self._table, chains, shared, self.weights.vector

    def _clear(self, generation: int) -> None:
        """Drop all scores; from now on, store those of types of this generation."""
        self._generation = generation
        self._entries = np.zeros(0, np.int64)
        self._known = 0
        self._vectors = self._outside()

    def _shared(self, types: Types) -> SharedScores:
        """The scores of the tokens' types; those of new types are summed and stored."""
        with self._lock:
            if types.generation != self._generation:
                self._clear(types.generation)
            missing = types.keys.shape[1] - len(self._entries)
            if missing > 0:
                self._entries = np.append(self._entries, np.zeros(missing, np.int64))
            entries = self._entries[types.ids]
            if not entries.all():
                self._add(types, np.unique(types.ids[entries == 0]))
                entries = self._entries[types.ids]
            vectors = self._vectors
        if vectors.size > MAX_SCORES:
            self.extractor.reader.forget_types()
        return SharedScores(entries, self._offsets, vectors)

    def _add(self, types: Types, new: np.ndarray) -> None:
        """Append the summed scores of new types, int64, to those that are stored."""
        known, needed = self._known + 1, self._known + 1 + len(new)
        if needed > len(self._vectors):
            larger = np.zeros((2 * needed, *self._vectors.shape[1:]))
            larger[:known] = self._vectors[:known]
            self._vectors = larger
        columns = self.extractor.reader.columns_of_types(types, new)
        features = [look_up_features(columns, group.program, self._table) for group in self._groups]
        self._vectors[known:needed] = self._sums(features, len(new))
        self._entries[new] = np.arange(known, needed)
        self._known = needed - 1

    def _outside(self) -> np.ndarray:
        """Entry 0, for positions outside the sequence, float64 [1, G, L]."""
        n_columns = len(self.extractor.reader.attributes)
        return self._sums([rows_outside(group, n_columns, self._table) for group in self._groups], 1)

    def _sums(self, features: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]], n_types: int) -> np.ndarray:
        """The scores of types, float64 [n_types, G, L], from each group's (starts, rows, values) of their features."""
        n_labels = len(self.constraints.start)
        sums = np.zeros((n_types, len(features), n_labels))
        for g, (starts, rows, values) in enumerate(features):
            scores = np.zeros((n_types, n_labels))
            add_all_rows(starts, rows, values, self.weights.vector, scores)
            sums[:, g] = scores
        return sums
