"""Trees for Docs by fixed weights."""

from collections.abc import Callable, Sequence
from itertools import accumulate, islice, pairwise

import numpy as np
from spacy.attrs import SENT_START
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ...features.arc_program import read_sentence
from ...features.extractor import ArcExtractor
from ...features.index import Columns
from ...features.names import Source
from ...kernels import kernel
from ...structures.tree.decoders import decoder
from ...structures.tree.limits import Limits, limited_candidates, with_labels
from ...structures.tree.parts import SPANNING_GRANDPARENTS, UNKNOWN, has_grandparents, has_siblings
from ...structures.tree.scored import TreeScores
from ...words import copy_of
from ..named_parts import ScoredSequence
from .candidates import ArcFirstPass
from .data import Shape, Trees, WeightVector, masked_in_steps
from .factors import ArcNames, TreeFeatures
from .oracles import DecodedTrees, decode
from .scores import add_grandparents, add_siblings, score_labelled_arcs
from .space import TreeSpace
from .weights import TreeWeights


class TreePredictor:
    """A `Predictor`: for each Doc, the head of each token, int64 [tokens], as a token of the Doc, and its label, int32.

    Args:
        extractor: templates and reader.
        space: splits Docs into sentences and limits their trees.
        shape: of the trees.
        first_pass: selects the candidates.
        weights: to predict with.
        vocab: the component's.
    """

    def __init__(
        self,
        extractor: ArcExtractor,
        space: TreeSpace,
        shape: Shape,
        first_pass: ArcFirstPass,
        weights: TreeWeights,
        vocab: Vocab,
    ) -> None:
        self.extractor = extractor
        self._vocab = vocab
        self.shape = shape
        self._steps = masked_in_steps(weights.trees, 1 << shape.arc_bits, shape.n_labels)
        self._space = space
        self._first_pass = first_pass

    def __call__(self, docs: Sequence[Doc]) -> Callable[[], list[tuple[np.ndarray, np.ndarray]]]:
        if not any(len(doc) for doc in docs):
            return lambda: [(np.zeros(0, np.int64), np.zeros(0, np.int32)) for _ in docs]
        columns, limits = self._read(docs)
        lengths = list(map(len, docs))
        begins = list(accumulate(lengths, initial=0))

        def parses() -> list[tuple[np.ndarray, np.ndarray]]:
            trees = self._trees(columns, limits)
            if limits is None:
                heads, labels = decode_all(trees, self._steps)
            else:
                best = [tree for scores in self._limited_scores(trees, limits) for tree in scores.best(1)]
                nothing = np.zeros(0, np.int32)
                heads = np.concatenate([nothing, *(tree.heads for tree in best)])
                labels = np.concatenate([nothing, *(tree.labels for tree in best)])
            first = np.repeat(columns.starts[:-1], np.diff(columns.starts))
            absolute = np.where(heads == 0, np.arange(len(heads)), first + heads - 1)
            in_docs = absolute - np.repeat(begins[:-1], lengths)
            return [(in_docs[begin:end], labels[begin:end]) for begin, end in pairwise(begins)]

        return parses

    def scored(self, docs: Sequence[Doc]) -> list[list[ScoredSequence]]:
        """The sentences of each Doc with the scores of their trees, for `Predictor.scored`.

        Raises:
            ValueError: the structure is not decoded exactly.
        """
        if not docs:
            return []
        trees, scores = self._scores(docs)
        sequences, ends = iter(_sequences(trees, scores)), np.cumsum([0, *map(len, docs)])
        counts = np.diff(np.searchsorted(trees.columns.starts, ends)).tolist()
        return [
            [ScoredSequence(first - begin, scored) for first, scored in islice(sequences, count)]
            for begin, count in zip(ends.tolist(), counts)
        ]

    def explained(self, doc: Doc) -> list[tuple[ScoredSequence, TreeFeatures]]:
        trees, scores = self._scores([doc])
        extractor, names = self.extractor, ArcNames(self._space.labels, self._space.unnamed)
        # Names are read later, when the Doc may have changed.
        source = Source(copy_of(doc), extractor.reader.attributes, trees.columns.keys, extractor.classes)
        return [
            (sequence, TreeFeatures(trees, number, self._steps, extractor.templates, source, names))
            for number, sequence in enumerate(_sequences(trees, scores))
        ]

    def _scores(self, docs: Sequence[Doc]) -> tuple[Trees, list[TreeScores]]:
        """The sentences of Docs, none of empty ones, and their scores, within the limits set by Docs and patterns."""
        if self.shape.structure == SPANNING_GRANDPARENTS:
            raise ValueError(
                f"[{self._space.name}] non-projective trees of order 2 are decoded approximately, without the k best "
                "trees and without margins: use order 1, or projective trees"
            )
        columns, limits = self._read(docs)
        trees = self._trees(columns, limits)
        return trees, self._limited_scores(trees, limits)

    def _read(self, docs: Sequence[Doc]) -> tuple[Columns, Limits | None]:
        reader = self.extractor.reader
        columns, types, sent_start = reader.read_types(docs, self._vocab, [SENT_START])
        reader.check_words(types)
        columns = columns._replace(starts=self._space.sentences(docs, columns.starts, sent_start[:, 0]))
        return columns, self._space.limits(docs, columns.starts)

    def _trees(self, columns: Columns, limits: Limits | None) -> Trees:
        """The sentences without gold trees, with the arcs that the first pass keeps and the limits allow."""
        n_tokens = int(columns.starts[-1])
        nothing, free = np.full(n_tokens, UNKNOWN, np.int32), np.zeros(n_tokens)
        candidates = self._first_pass.candidates(columns, nothing)
        shape, program = self.shape, self.extractor.program
        if limits is not None:
            candidates = limited_candidates(columns.starts, *candidates, limits, shape.structure, shape.multi_root)
        return Trees(columns, program, *candidates, nothing, nothing, free, free, shape, decoder(shape.structure))

    def _limited_scores(self, trees: Trees, limits: Limits | None) -> list[TreeScores]:
        all_scores = tree_scores(trees, self._steps)
        if limits is None:
            return all_scores
        bounds = pairwise(trees.columns.starts.tolist())
        return [with_labels(scores, limits.labels[first:end]) for scores, (first, end) in zip(all_scores, bounds)]


def _sequences(trees: Trees, scores: Sequence[TreeScores]) -> list[ScoredSequence]:
    return [ScoredSequence(first, tree) for first, tree in zip(trees.columns.starts.tolist(), scores)]


@kernel
def _decode_all(data, weights, heads, labels):
    trees = data.trees
    starts = trees.columns.starts
    for sentence in range(len(starts) - 1):
        first, end = starts[sentence], starts[sentence + 1]
        read = read_sentence(trees.columns, trees.program, sentence)
        node_heads, node_labels = np.zeros(end - first + 1, np.int32), np.zeros(end - first + 1, np.int32)
        data.decode(trees, sentence, read, weights, 0.0, node_heads, node_labels)
        for m in range(1, end - first + 1):
            heads[first + m - 1], labels[first + m - 1] = node_heads[m], node_labels[m]


def decode_all(trees: Trees, weights: WeightVector) -> tuple[np.ndarray, np.ndarray]:
    """The best trees, argmax_y wᵀΦ(x_i, y), of all sentences.

    Returns heads int32 [T], 0 for the root, and labels int32 [T].
    """
    n_tokens = int(trees.columns.starts[-1])
    heads, labels = np.zeros(n_tokens, np.int32), np.zeros(n_tokens, np.int32)
    _decode_all(DecodedTrees(trees, decode), weights, heads, labels)
    return heads, labels


@kernel
def _score_all(trees, weights):
    """The arcs and pairs of every sentence as `Parts`, and the label scores of its arcs."""
    structure, scores = trees.shape.structure, []
    for sentence in range(len(trees.columns.starts) - 1):
        read = read_sentence(trees.columns, trees.program, sentence)
        parts, label_scores = score_labelled_arcs(trees, sentence, read, weights, 0.0)
        if has_siblings(structure):
            parts = add_siblings(trees, read, parts, weights)
        if has_grandparents(structure):
            parts = add_grandparents(trees, sentence, read, parts, weights)
        scores.append((parts, label_scores))
    return scores


def tree_scores(trees: Trees, weights: WeightVector) -> list[TreeScores]:
    """The `TreeScores` of every sentence under w."""
    structure, multi_root, decode = trees.shape.structure, trees.shape.multi_root, trees.decoder
    return [
        TreeScores(parts, label_scores, structure, multi_root, decode)
        for parts, label_scores in _score_all(trees, weights)
    ]
