"""Dependency trees over arc templates: data sets to train on, a predictor, and weights in a thinc Model."""

import logging
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.api import Model

from ...features.columns import ColumnReader
from ...features.extractor import ArcExtractor
from ...structures.tree.parts import UNKNOWN
from .. import architectures
from ..packing import EXACT, Packing, masked, unpack_numbers
from ..protocol import Settings
from ..resources import store_resources
from ..store import Saved
from . import weights as files
from .candidates import BITS, SIZES, ArcFirstPass, maximum_likelihood, ranking
from .codec import TreeCodec, TreeGold
from .data import STRUCTURES, Shape, dimension, n_rows
from .data_set import EncodedTrees, TreeSet, cut
from .predictor import TreePredictor
from .weights import TreeWeights

LOGGER = logging.getLogger("spacy")
FIRST_PASS_EPOCHS = 6
FIRST_PASS_RATE = 0.1
"""AdaGrad's learning rate for the first pass."""
FIRST_PASS_LENGTH = 100
"""Longer sentences do not train the first pass, if there are others: the number of its arcs is quadratic in them."""

MAX_HEADS = 32
"""The max number of candidate heads of a token, whatever the settings are: pairs of arcs are quadratic in it."""


class TreeModel:
    """A `StructuredModel`: a weight for each hashed feature of arcs and arc pairs, and a block for label features."""

    def __init__(self, model: Model, codec: TreeCodec, vocab: Vocab, settings: Settings) -> None:
        self.codec = codec
        self.labels = codec.weight_labels
        self._model = model
        self._vocab = vocab
        self.settings = settings

    @cached_property
    def extractor(self) -> ArcExtractor:
        """The compiled templates."""
        attributes = self._model.attrs
        arcs, labels, first_pass = (attributes[name] for name in ("arcs", "label_arcs", "first_pass"))
        return ArcExtractor(arcs, labels, first_pass, attributes.get("gazetteers", {}), attributes["clusters"])

    @cached_property
    def shape(self) -> Shape:
        """The sizes of the weight vector, and the kind of trees."""
        attributes = self._model.attrs
        structure = STRUCTURES[attributes["structure"], attributes["order"]]
        bits = attributes["hash_bits"], attributes["label_hash_bits"]
        return Shape(len(self.labels), *bits, structure, self.codec.multi_root)

    @property
    def reader(self) -> ColumnReader:
        return self.extractor.reader

    def check_settings(self) -> None:
        architectures.check_tree(self._model)

    def load_resources(self, words: Callable[[str], np.ndarray]) -> None:
        store_resources(self._model, self._vocab, words)

    def encode(self, examples: Sequence[Example], gold: Sequence[TreeGold]) -> EncodedTrees:
        docs = [example.predicted for example in examples]
        numbers = {label: number for number, label in enumerate(self.labels)}
        heads = np.concatenate([np.zeros(0, np.int32), *(trees.heads for trees in gold)])
        labels = np.array(
            [UNKNOWN if label is None else numbers.get(label, UNKNOWN) for trees in gold for label in trees.labels],
            np.int32,
        )
        read = self.reader.read(docs, self._vocab)
        columns, first_sentences = cut(read, [trees.sentences for trees in gold])
        encoded = EncodedTrees(first_sentences, columns, heads, labels)
        # Nothing can be learnt from sentences without any annotation.
        n_known = np.add.reduceat(heads != UNKNOWN, columns.starts[:-1]) if len(heads) else np.zeros(0)
        return encoded.with_sentences(np.flatnonzero(n_known))

    def start(
        self, weights: TreeWeights | None, batches: Sequence[EncodedTrees], seed: int, only_present: bool = False
    ) -> tuple[TreeSet, np.ndarray | None]:
        if weights is not None:
            return self._data_set(weights.first_pass, self._counts(weights)), weights.trees.dense()
        return self._data_set(self._trained_first_pass(batches, seed)), None

    def resumed(self, index: np.ndarray, notes: Sequence[np.ndarray] = ()) -> TreeSet:
        if index.dtype != np.float32 or index.ndim != 1 or len(index) not in SIZES or not np.isfinite(index).all():
            raise ValueError("its solver state has no first pass")
        return self._data_set(index, self._counts(self.load()))

    def trained(self, data: TreeSet, vector: np.ndarray) -> TreeWeights:
        return TreeWeights(masked(vector), data.index(), data.packed_counts())

    def zero(self) -> TreeWeights:
        return TreeWeights(masked(np.zeros(dimension(self.shape), np.float32)), np.zeros(0, np.float32))

    def predictor(self, weights: TreeWeights) -> TreePredictor:
        first_pass = self._first_pass(weights.first_pass)
        return TreePredictor(self.extractor, self.codec, self.shape, first_pass, weights, self._vocab)

    def store(self, weights: TreeWeights, packing: Packing = EXACT, saved: Saved | None = None) -> None:
        files.store(self._model, weights, self.labels, packing, saved)

    def load(self, labels: Sequence[str] | None = None) -> TreeWeights:
        labels = self.labels if labels is None else labels
        shape = self.shape._replace(n_labels=len(labels))
        return files.load(self._model, labels, dimension(shape), SIZES)

    def count(self, weights: TreeWeights) -> tuple[int, int]:
        n_used = int(np.count_nonzero(weights.trees.values)) + int(np.count_nonzero(weights.first_pass))
        return n_used, weights.trees.length + len(weights.first_pass)

    def widened(self, weights: TreeWeights, before: Sequence[str]) -> TreeWeights:
        return files.widen(weights, 1 << self.shape.arc_bits, len(before), len(self.labels))

    def _counts(self, weights: TreeWeights) -> np.ndarray | None:
        return unpack_numbers(weights.seen, n_rows(self.shape))

    def _data_set(self, first_pass: np.ndarray, seen: np.ndarray | None = None) -> TreeSet:
        return TreeSet(self.extractor.program, self._first_pass(first_pass), self.shape, seen)

    def _first_pass(self, weights: np.ndarray) -> ArcFirstPass:
        attributes = self._model.attrs
        return ArcFirstPass(
            self.extractor.first_pass, weights, attributes["max_heads"], attributes["margin"], MAX_HEADS
        )

    def _trained_first_pass(self, batches: Sequence[EncodedTrees], seed: int) -> np.ndarray:
        """The weights of the first pass, float32 [2^BITS], or empty if it is not used. Logs what it keeps."""
        untrained = np.zeros(0, np.float32)
        if not self._model.attrs["max_heads"] or not batches:
            return untrained
        together = EncodedTrees.concatenated(batches)
        is_short = np.diff(together.columns.starts) <= FIRST_PASS_LENGTH
        if is_short.any():
            together = together.with_sentences(np.flatnonzero(is_short))
        if not len(together.heads):
            return untrained
        data = ranking(self.extractor.first_pass, BITS, together.columns, together.heads)
        weights = maximum_likelihood(data, FIRST_PASS_EPOCHS, FIRST_PASS_RATE, seed).astype(np.float32)
        is_kept, n_candidates = self._first_pass(weights).keeps(together.columns, together.heads)
        n_known = int((together.heads != UNKNOWN).sum())
        LOGGER.info(
            "[%s] the first pass keeps %.1f heads a token, and %.2f %% of the gold heads",
            self.codec.name,
            n_candidates / len(together.heads),
            100 * int(is_kept.sum()) / n_known,
        )
        return weights
