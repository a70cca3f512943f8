"""A linear chain over feature templates: data sets to train on, a predictor, and weights in a thinc Model."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.api import Model

from ...features.columns import ColumnReader, join_columns
from ...features.extractor import Extractor
from ...features.index import empty_table, table_of
from .. import architectures, store
from ..documents import require_of_each_token
from ..packing import EXACT, Packing
from ..protocol import Settings, Start
from ..store import Saved
from . import weights as files
from .by_use import WeightsByUse, split
from .data_set import ChainSet
from .encoded import EncodedChains, Segmentation
from .factors import FeatureNames
from .feature_rows import FeatureRows, StartWeights, no_start_weights, seen_of, with_others
from .first_pass import LabelExamples, LabelFirstPass, LearntLabels, SeenLabels, label_names
from .predictor import ChainPredictor
from .space import ChainGold, ChainSpace
from .weights import ChainWeights


class ChainModel:
    """A `StructuredModel`: a weight for each feature and label, and one for each transition between labels."""

    def __init__(self, model: Model, space: ChainSpace, vocab: Vocab, settings: Settings) -> None:
        self.space = space
        self.labels = space.labels
        self._model = model
        self._vocab = vocab
        self.settings = settings

    @cached_property
    def extractor(self) -> Extractor:
        """The compiled templates."""
        attributes = self._model.attrs
        return Extractor(attributes["templates"], attributes["gazetteers"], attributes["clusters"])

    @property
    def reader(self) -> ColumnReader:
        return self.extractor.reader

    def encode(self, examples: Sequence[Example], gold: Sequence[ChainGold]) -> EncodedChains:
        docs = [example.predicted for example in examples]
        require_of_each_token(self.space.name, docs, [found.labels for found in gold])
        columns, _, values = self.reader.read_types(docs, self._vocab, self.space.kinds.attributes)
        numbers = {label: number for number, label in enumerate(self.labels)}
        annotated = np.array([numbers.get(label or "", -1) for found in gold for label in found.labels], np.int32)
        kinds = self.space.kinds.to_learn(docs, values, annotated)
        self.space.kinds.write_columns(docs, values, kinds, self.reader.by_name(columns))
        forbidden = [
            [
                (first, np.array([numbers[label] for label in run], np.int32))
                for first, run in found.forbidden
                if numbers.keys() >= set(run)
            ]
            for found in gold
        ]
        if self._names is not None:
            self._names.add(docs, columns, self.extractor, self._hash_bits or 0)
        return EncodedChains(columns, annotated, kinds, self.space.costs()[annotated], forbidden)

    def first_pass_examples(self, batches: Sequence[EncodedChains]) -> LabelExamples | None:
        first_pass = self.extractor.first_pass
        if first_pass is None:
            return None
        columns = join_columns([batch.columns for batch in batches])
        numbers = {name: number for number, name in enumerate(label_names(self.space))}
        label_of = np.array([numbers[name] for name in self.space.names], np.int32)
        labels = np.append(label_of, np.int32(-1))[np.concatenate([batch.annotated for batch in batches])]
        digests = [digest for batch in batches for digest in batch.digests()]
        n_labels = int(label_of.max()) + 1
        return LabelExamples(columns, labels, n_labels, digests, first_pass.program, first_pass.words)

    def data_set(self, start: Start) -> tuple[ChainSet, np.ndarray | None]:
        if start.state is not None:
            return self._resumed(*start.state), None
        weights: ChainWeights | None = start.weights
        if weights is None:
            learnt: LearntLabels | None = start.first_pass
            labels = None if learnt is None else SeenLabels(self._first_pass(learnt.weights), learnt.jackknifed)
            return self._data_set(empty_table(self._hash_bits), seen_labels=labels), None
        is_new = np.array([owner in start.new_labels for owner in self.space.owners.values()], np.bool_)
        earlier = StartWeights(weights.seen, is_new, is_new | ~files.has_weight(weights))
        labels = self._seen_labels(weights.first_pass)
        # What is right in its piece may be wrong in the whole Doc; but a long whole one teaches a new label little.
        whole = start.only_present and not is_new.any()
        if weights.hash_bits:
            weights = files.spread(weights)
            table, earlier = empty_table(weights.hash_bits), earlier._replace(seen=weights.seen)
        elif start.only_present:
            table, earlier = empty_table(None), earlier._replace(weights=weights)
            return self._data_set(table, earlier, labels, whole=whole), weights.transitions.ravel()
        else:
            table = table_of(weights.keys, 0)
        return self._data_set(table, earlier, labels, whole=whole), files.as_vector(weights)

    def _resumed(self, index: np.ndarray, *notes: np.ndarray) -> ChainSet:
        bits = self._hash_bits
        known = index.dtype == np.uint64 and index.ndim == 1 and bool(index.all())
        keys, pairs, steps = split(index) if known else (index, index, index)
        if not known or len(np.unique(keys)) < len(keys) or (bits and len(keys)):
            raise ValueError("its solver state has no index of features")
        weights = self.load()
        labels = self._seen_labels(weights.first_pass, notes)
        seen = files.spread(weights).seen if weights.hash_bits else seen_of(weights, keys)
        earlier = no_start_weights(len(self.labels), seen)
        table = empty_table(bits) if bits else table_of(keys, 0)
        return self._data_set(table, earlier, labels, (pairs, steps) if len(pairs) else None)

    def trained(self, data: ChainSet, vector: np.ndarray) -> ChainWeights:
        rows = data.features
        keys, earlier = rows.keys(), rows.earlier.weights
        weights = files.in_use(*data.non_zeros(vector), keys, rows.hash_bits, len(self.labels), data.seen())
        if earlier is not None:
            weights = with_others(earlier, weights, keys)
        if data.seen_labels is not None:
            weights = weights._replace(first_pass=data.seen_labels.first_pass.weights)
        names = self._names
        return weights if names is None else weights._replace(names=names.of_rows(weights.keys))

    def predictor(self, weights: ChainWeights) -> ChainPredictor:
        first_pass = None if weights.first_pass is None else self._first_pass(weights.first_pass)
        return ChainPredictor(self.extractor, self.space, weights, self._vocab, first_pass)

    def store(self, weights: ChainWeights, packing: Packing = EXACT, saved: Saved | None = None) -> None:
        files.store(self._model, files.widen(weights, len(self.labels)), self.labels, packing, saved)

    def load(self) -> ChainWeights:
        architectures.check_chain(self._model)
        if not store.has_weights(self._model):
            return files.no_weights(len(self.labels))
        return files.load(self._model, self.labels)

    @property
    def _hash_bits(self) -> int | None:
        bits: int | None = self._model.attrs["hash_bits"]
        return bits

    def _data_set(
        self,
        table: Any,
        earlier: StartWeights | None = None,
        seen_labels: SeenLabels | None = None,
        in_use: tuple[np.ndarray, np.ndarray] | None = None,
        whole: bool = False,
    ) -> ChainSet:
        """in_use: pairs and transitions, as `by_use.split` returns them; None for weights by row. whole: as in
        `Segmentation`."""
        rows = FeatureRows(self.extractor.program, table, len(self.labels), earlier)
        constraints, of_tokens = self.space.kinds.constraints(), self.space.of_tokens
        segmentation = Segmentation(of_tokens, self.space.kinds.outside, whole)
        by_use = None if in_use is None else WeightsByUse.resumed(*in_use, len(rows), constraints, of_tokens)
        return ChainSet(rows, constraints, seen_labels, segmentation, by_use)

    def _seen_labels(self, weights: ChainWeights | None, notes: Sequence[np.ndarray] = ()) -> SeenLabels | None:
        """The labels of a first pass with these weights. notes: of `SeenLabels.notes`."""
        return None if weights is None else SeenLabels.resumed(self._first_pass(weights), notes)

    def _first_pass(self, weights: ChainWeights) -> LabelFirstPass:
        names = label_names(self.space)[: len(weights.transitions)]
        return LabelFirstPass(self.extractor, weights, names, self._vocab)

    @cached_property
    def _names(self) -> Any:
        """The names of features, including those that were saved before; None if names are not saved."""
        if not self.settings.save_feature_names:
            return None
        saved = self.load()
        return FeatureNames(dict(zip(saved.keys.tolist(), saved.names or ())))
