"""Labels for Docs by fixed weights."""

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ...features.extractor import Extractor
from ...features.index import Columns, look_up_features
from ...features.templates import select
from ...features.word_types import Types
from ...structures import Contradiction
from ...structures.chain.constraints import Constraints, broken, first_fixed, limited, without
from ...structures.chain.scored import ChainScores, TransitionScores
from ...words import copy_of
from ..named_parts import ScoredSequence
from .factors import ChainFeatures, fired_features
from .first_pass import LabelFirstPass
from .labeller import labeller
from .rows import dense, taken
from .scores import add_attributes
from .space import ChainSpace
from .weights import ChainWeights


class ChainPredictor:
    """A `Predictor`: the best label sequence of each Doc.

    Args:
        extractor: templates and reader.
        space: labels and constraints.
        weights: to predict with.
        vocab: the component's.
        first_pass: with its weights, if there is one.
    """

    def __init__(
        self,
        extractor: Extractor,
        space: ChainSpace,
        weights: ChainWeights,
        vocab: Vocab,
        first_pass: LabelFirstPass | None = None,
    ) -> None:
        self.extractor = extractor
        self._vocab = vocab
        self.weights = weights
        self._space = space
        self._possible = space.kinds.constraints()
        self.constraints = self._preferred(self._possible)
        self._first_pass = first_pass
        program, split = extractor.program, extractor.split
        self._labeller = labeller(extractor.reader, program, split, weights, self.constraints, space.of_tokens)

    def __call__(self, docs: Sequence[Doc]) -> Callable[[], list[np.ndarray]]:
        """A function that finds the best labels of each Doc, int32 [tokens], as `Predictor`."""
        if not any(len(doc) for doc in docs):
            return lambda: [np.zeros(0, np.int32) for _ in docs]
        return self._decoding(*self._read(docs))

    def scored(self, docs: Sequence[Doc]) -> list[list[ScoredSequence]]:
        return self._scores(docs)[1] if docs else []

    def explained(self, doc: Doc) -> list[tuple[ScoredSequence, ChainFeatures]]:
        columns, (sequences,) = self._scores([doc])
        # Names are read later, when the Doc may have changed.
        fired = fired_features(copy_of(doc), self.extractor, columns, self.contributions)
        labels, transitions = self._space.labels, self._between.transitions
        return [(sequence, ChainFeatures(fired, sequence.first, transitions, labels)) for sequence in sequences]

    def _read(self, docs: Sequence[Doc]) -> tuple[Columns, Types, np.ndarray, Constraints]:
        """Columns, word types, the kinds of tokens, int32 [T], and the constraints, which have a row for each kind."""
        reader, of_tokens, patterns = self.extractor.reader, self._space.kinds, self._space.patterns
        columns, types, values = reader.read_types(docs, self._vocab, of_tokens.attributes)
        reader.check_words(types)
        kinds = of_tokens.to_predict(docs, values)
        of_tokens.write_columns(docs, values, kinds, reader.by_name(columns))
        if not patterns:
            return columns, types, kinds, self.constraints
        free = kinds < first_fixed(self._possible)
        constraints, kinds = limited(self._possible, kinds, *patterns.allowed(docs, self._space.names, free))
        return columns, types, kinds, self._preferred(constraints)

    def _preferred(self, constraints: Constraints) -> Constraints:
        """Constraints that rule out labels not learnt yet, except where nothing else is left."""
        unlearnt = self._space.unlearnt
        if not unlearnt:
            return constraints
        numbers = [number for number, owner in enumerate(self._space.owners.values()) if owner in unlearnt]
        return without(constraints, np.array(numbers, np.int64))

    def _scores(self, docs: Sequence[Doc]) -> tuple[Columns, list[list[ScoredSequence]]]:
        """The columns of the Docs, and each Doc's sequences, within the limits set by Docs and patterns."""
        read = self._read(docs)
        columns, types, kinds, allowed = read
        self._label_writer(columns, types)()
        if allowed is not self.constraints:
            self._decoding(*read)()
        scores, between = self._labeller.scores(columns, types, kinds, allowed), self._between
        found = []
        for first, end in pairwise(columns.starts.tolist()):
            starts = range(first, end) if self._space.of_tokens else [first]
            bounds = pairwise([*starts, end])
            found.append([ScoredSequence(at - first, ChainScores(scores[at:to], between)) for at, to in bounds])
        return columns, found

    @cached_property
    def _between(self) -> TransitionScores:
        # Patterns limit single tokens only.
        allowed = self.constraints
        transitions = self.weights.transitions + allowed.transition
        return TransitionScores(transitions, allowed.start, allowed.end)

    def _label_writer(self, columns: Columns, types: Types) -> Callable[[], None]:
        """A function that writes the labels of the first pass into the columns, in any thread."""
        return (lambda: None) if self._first_pass is None else self._first_pass.label_writer(columns, types)

    def _decoding(
        self, columns: Columns, types: Types, kinds: np.ndarray, constraints: Constraints
    ) -> Callable[[], list[np.ndarray]]:
        write_labels = self._label_writer(columns, types)
        decode = self._labeller.labelling(columns, types, kinds, constraints)
        bounds = list(pairwise(columns.starts.tolist()))

        def labels() -> list[np.ndarray]:
            write_labels()
            best = decode()
            if constraints is not self.constraints:
                for token in np.flatnonzero(broken(constraints, kinds, columns.starts, best))[:1].tolist():
                    raise Contradiction(token, "no label that the patterns allow may follow the label before it")
            return [best[first:end] for first, end in bounds]

        return labels

    def contributions(self, columns: Columns) -> list[list[tuple[int, np.ndarray]]]:
        """For each token, the templates that fire, by number, and their parts of the labels' scores, float64 [L]."""
        n_labels = len(self.constraints.start)
        found: list[list[tuple[int, np.ndarray]]] = [[] for _ in range(int(columns.starts[-1]))]
        for number in range(len(self.extractor.templates)):
            program = select(self.extractor.program, [number])
            starts, rows, values = look_up_features(columns, program, self._labeller.table)
            fired = np.flatnonzero(np.diff(starts))
            places = starts[fired]
            weights = dense(taken(self.weights.rows, rows[places]), n_labels).astype(np.float64)
            for token, added in zip(fired.tolist(), values[places, np.newaxis] * weights):
                add_attributes(self.constraints.attributes, added)
                found[token].append((number, added))
        return found
