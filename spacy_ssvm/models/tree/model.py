"""Dependency trees over arc templates: data sets to train on, a predictor, and weights in a thinc Model."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.api import Model

from ...features.columns import ColumnReader
from ...features.extractor import ArcExtractor
from ...structures import NONE_OF_THESE, UNKNOWN
from .. import architectures, store
from ..documents import require_of_each_token
from ..named_parts import numbers_of
from ..packing import EXACT, Packing, masked, unpack_numbers
from ..protocol import Settings, Start
from ..store import Saved
from . import weights as files
from .candidates import SIZES, ArcFirstPass, HeadExamples
from .data import STRUCTURES, Shape, dimension, n_rows
from .data_set import EncodedTrees, TreeSet, cut
from .predictor import TreePredictor
from .space import TreeGold, TreeSpace
from .weights import TreeWeights

FIRST_PASS_LENGTH = 100
"""Longer sentences do not train the first pass, if there are others: the number of its arcs is quadratic in them."""

NO_FIRST_PASS = np.zeros(0, np.float32)

MAX_HEADS = 32
"""The max number of candidate heads of a token for all settings: pairs of arcs are quadratic in it."""


class TreeModel:
    """A `StructuredModel`: a weight for each hashed feature of arcs and arc pairs, and a block for label features."""

    def __init__(self, model: Model, space: TreeSpace, vocab: Vocab, settings: Settings) -> None:
        self.space = space
        self.labels = space.labels
        self._model = model
        self._vocab = vocab
        self.settings = settings

    @cached_property
    def extractor(self) -> ArcExtractor:
        """The compiled templates."""
        attributes = self._model.attrs
        arcs, labels, first_pass = (attributes[name] for name in ("arcs", "label_arcs", "first_pass"))
        return ArcExtractor(arcs, labels, first_pass, attributes.get("gazetteers", {}), attributes["clusters"])

    @property
    def shape(self) -> Shape:
        """The sizes of the weight vector, and the kind of trees."""
        attributes = self._model.attrs
        structure = STRUCTURES[attributes["structure"], attributes["order"]]
        bits = attributes["hash_bits"], attributes["label_hash_bits"]
        return Shape(len(self.labels), *bits, structure, self.space.multi_root)

    @property
    def reader(self) -> ColumnReader:
        return self.extractor.reader

    def encode(self, examples: Sequence[Example], gold: Sequence[TreeGold]) -> EncodedTrees:
        docs = [example.predicted for example in examples]
        require_of_each_token(self.space.name, docs, [trees.labels for trees in gold])
        require_of_each_token(self.space.name, docs, [trees.heads for trees in gold])
        heads = np.concatenate([np.zeros(0, np.int32), *(trees.heads for trees in gold)])
        labels = numbers_of((label for trees in gold for label in trees.labels), self.labels)
        labels[labels == NONE_OF_THESE] = UNKNOWN
        read = self.reader.read(docs, self._vocab)
        columns, first_sentences = cut(read, [trees.sentences for trees in gold])
        encoded = EncodedTrees(first_sentences, columns, heads, labels)
        # Nothing can be learnt from sentences without any annotation.
        n_known = np.add.reduceat(heads != UNKNOWN, columns.starts[:-1]) if len(heads) else np.zeros(0)
        return encoded.with_sentences(np.flatnonzero(n_known))

    def first_pass_examples(self, batches: Sequence[EncodedTrees]) -> HeadExamples | None:
        if not self._model.attrs["max_heads"]:
            return None
        together = EncodedTrees.concatenated(batches)
        is_short = np.diff(together.columns.starts) <= FIRST_PASS_LENGTH
        if is_short.any():
            together = together.with_sentences(np.flatnonzero(is_short))
        first_pass = self._first_pass(NO_FIRST_PASS)
        return HeadExamples(together.columns, together.heads, first_pass) if len(together.heads) else None

    def data_set(self, start: Start) -> tuple[TreeSet, np.ndarray | None]:
        weights: TreeWeights | None = start.weights
        if start.state is not None:
            first_pass = start.state[0]
            is_vector = first_pass.dtype == np.float32 and first_pass.ndim == 1
            if not is_vector or len(first_pass) not in SIZES or not np.isfinite(first_pass).all():
                raise ValueError("its solver state has no first pass")
            return self._data_set(first_pass, self._counts(self.load())), None
        if weights is None:
            return self._data_set(NO_FIRST_PASS if start.first_pass is None else start.first_pass), None
        return self._data_set(weights.first_pass, self._counts(weights)), weights.trees.dense()

    def trained(self, data: TreeSet, vector: np.ndarray) -> TreeWeights:
        return TreeWeights(masked(vector), data.first_pass.weights, data.packed_seen())

    def predictor(self, weights: TreeWeights) -> TreePredictor:
        first_pass = self._first_pass(weights.first_pass)
        return TreePredictor(self.extractor, self.space, self.shape, first_pass, weights, self._vocab)

    def store(self, weights: TreeWeights, packing: Packing = EXACT, saved: Saved | None = None) -> None:
        shape = self.shape
        weights = files.widen(weights, 1 << shape.arc_bits, 1 << shape.label_bits, shape.n_labels)
        files.store(self._model, weights, self.labels, packing, saved)

    def load(self) -> TreeWeights:
        architectures.check_tree(self._model)
        shape = self.shape
        if not store.has_weights(self._model):
            return TreeWeights(masked(np.zeros(dimension(shape), np.float32)), NO_FIRST_PASS)
        return files.load(self._model, self.labels, dimension(shape), SIZES)

    def _counts(self, weights: TreeWeights) -> np.ndarray | None:
        return unpack_numbers(weights.seen, n_rows(self.shape))

    def _data_set(self, first_pass: np.ndarray, seen: np.ndarray | None = None) -> TreeSet:
        return TreeSet(self.extractor.program, self._first_pass(first_pass), self.shape, seen)

    def _first_pass(self, weights: np.ndarray) -> ArcFirstPass:
        attributes = self._model.attrs
        return ArcFirstPass(
            self.extractor.first_pass, weights, attributes["max_heads"], attributes["margin"], MAX_HEADS
        )
