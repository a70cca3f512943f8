"""`ssvm_parser`: a labelled dependency tree for each sentence."""

import logging
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from spacy.attrs import DEP, HEAD, SENT_START
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.api import Model

from ..corpus.unreadable import names_of
from ..inspect.confidence import checked_count, checked_min_score
from ..models import store as models
from ..models.architectures import check_tree
from ..models.packing import EXACT, Packing
from ..models.tree import weights as tree_weights
from ..solvers.parameters import Parameters
from .gold_trees import (
    MAX_SENTENCE,
    NOT_GIVEN,
    ROOT,
    UNNAMED,
    GoldTrees,
    gold_trees,
    sentence_starts,
    sentences,
    sets_all_starts,
)
from .learning import LearningPipe
from .parser_scores import parser_score
from .patterns import Patterns

if TYPE_CHECKING:
    from ..features.arc_extractor import ArcExtractor
    from ..features.hashing import Columns
    from ..inspect.explanation import Explanation
    from ..inspect.tree_analyses import Analysis, Sentence
    from ..models.tree.candidates import FirstPass
    from ..models.tree.data import Shape, Trees
    from ..models.tree.data_set import EncodedTrees, TreeSet
    from ..structures.tree.potentials import Potentials
    from ..training.calibration import Judged
    from ..training.training import Training
    from .tree_limits import TreeLimits

LOGGER = logging.getLogger("spacy")
FIRST_PASS_EPOCHS = 2
FIRST_PASS_RATE = 0.2
FIRST_PASS_LONGEST = 100
"""Tokens of the longest sentences that the first pass is trained on: it sees all arcs, whose number is the square."""


class SsvmParser(LearningPipe):
    """Sets `token.head` and `token.dep`, and with them `doc.sents`.

    A sentence gets one root. With multi_root, it gets as many as score best; `doc.sents` then stays as it was before,
    until the Doc is saved and loaded: spaCy derives sentences from roots.

    overwrite: also where a token has a head (and so a label); without, that stays, and the tree is the best that has
    it. patterns: see `Patterns`; they limit predictions, and nothing is learnt from them.
    """

    _scoring: "tree_weights.TreeWeights | None"
    _features: "ArcExtractor | None"
    _first_pass_weights: np.ndarray
    _has_warned: bool

    def __init__(
        self,
        vocab: Vocab,
        model: Model,
        name: str = "ssvm_parser",
        *,
        solver: Parameters,
        multi_root: bool = False,
        overwrite: bool = True,
        patterns: Sequence[dict[str, Any]] = (),
        n_threads: int = 1,
        scorer: Callable[..., dict[str, Any]] | None = parser_score,
        packing: Packing = EXACT,
        save_solver_state: bool = False,
    ) -> None:
        if "first_pass" not in model.attrs:
            raise ValueError(f'[{name}] model must be of the architecture "spacy-ssvm.Tree.v1", not {model.name!r}')
        super().__init__(
            vocab,
            model,
            name,
            solver=solver,
            scorer=scorer,
            n_threads=n_threads,
            packing=packing,
            save_solver_state=save_solver_state,
            multi_root=bool(multi_root),
        )
        self.overwrite = bool(overwrite)
        self.patterns = Patterns(name, vocab, patterns)

    @property
    def weight_labels(self) -> tuple[str, ...]:
        return (ROOT, *(label for label in self.labels if label != ROOT))

    def _read(self, docs: Sequence[Doc]) -> Callable[[], list[tuple[np.ndarray, np.ndarray]]]:
        """What predicts the head of each token of each Doc, int64 [tokens], as a token, and its weight label, int32, as
        a number."""
        self._require_labels()
        self._warn_of_missing(docs)
        if not any(len(doc) for doc in docs):
            return lambda: [(np.zeros(0, np.int64), np.zeros(0, np.int32)) for _ in docs]
        columns = self._columns(docs)
        limits = self._limits(docs, columns.starts)
        return partial(self._parse, columns, [len(doc) for doc in docs], self._extractor(), self._weights(), limits)

    def _limits(self, docs: Sequence[Doc], starts: np.ndarray) -> "TreeLimits | None":
        """What trees of these Docs must have; starts: of their sentences. None: nothing."""
        if not self.patterns and (self.overwrite or not any(doc.has_annotation("DEP") for doc in docs)):
            return None
        from .tree_limits import read_limits

        return read_limits(self.name, docs, starts, self.weight_labels, self.patterns, keep=not self.overwrite)

    def _columns(self, docs: Sequence[Doc]) -> "Columns":
        """Of the sentences of these Docs."""
        bounds = [sentences(self._boundaries(doc), len(doc)) for doc in docs]
        return _cut(self._extractor().reader.read(docs, docs[0].vocab), bounds)[0]

    def _trees(
        self,
        columns: "Columns",
        extractor: "ArcExtractor",
        weights: "tree_weights.TreeWeights",
        limits: "TreeLimits | None",
    ) -> "Trees":
        """These sentences without gold trees, with the arcs that the first pass keeps and limits allow."""
        from ..models.tree.data import Trees
        from ..structures.tree.decoders import decoder

        n_tokens = int(columns.starts[-1])
        nothing, free = np.full(n_tokens, NOT_GIVEN, np.int32), np.zeros(n_tokens)
        candidates, shape = self._first_pass(weights.first_pass).candidates(columns, nothing), self._shape()
        if limits is not None:
            candidates = limits.candidates(columns.starts, *candidates, shape)
        return Trees(
            columns, extractor.program, *candidates, nothing, nothing, free, free, shape, decoder(shape.structure)
        )

    def _parse(
        self,
        columns: "Columns",
        lengths: list[int],
        extractor: "ArcExtractor",
        weights: "tree_weights.TreeWeights",
        limits: "TreeLimits | None",
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        from ..models.tree.decoding import decode_all

        trees = self._trees(columns, extractor, weights, limits)
        heads, labels = (decode_all if limits is None else limits.decode_all)(trees, weights.trees)
        first = np.repeat(columns.starts[:-1], np.diff(columns.starts))
        absolute = np.where(heads == 0, np.arange(len(heads)), first + heads - 1)
        return [(absolute[a:b] - a, labels[a:b]) for a, b in pairwise(np.cumsum([0, *lengths]))]

    def kbest(self, doc: Doc, k: int) -> "list[Analysis]":
        """The k best analyses of a Doc, best first: their scores wᵀΦ(x, y), and (head, token, label) of each token.

        A root is its own head. Exact among the trees that the first pass leaves; sentence boundaries are given. There
        are fewer than k where no more are possible; nothing is written to the Doc.

        Raises:
            ValueError: k is less than 1, the component has no labels yet, or its structure is not decoded exactly.
        """
        from ..inspect.tree_analyses import best_analyses

        return best_analyses(self._sentences(doc), self.weight_labels, checked_count(self.name, k))

    def scored_parses(
        self, docs: Iterable[Doc], min_score: float | None = None
    ) -> tuple[list[dict[tuple[int, int], float]], list[dict[tuple[int, str], float]]]:
        """For each Doc the score of each (token, head), and of each (token, label), as spaCy's beam parser names them.

        They are probabilities or, without `has_probabilities`, margins, which only the best tree's heads and labels
        have. A root is its own head. The trees are those that the first pass leaves.

        min_score: the smallest score that is listed; by default a probability of 0.01 or a margin of 0.

        Raises:
            ValueError: `min_score` is no such score, the component has no labels yet, or its structure is not decoded
                exactly.
        """
        from ..inspect.tree_analyses import scored_heads_and_labels

        smallest, beta = checked_min_score(self.name, min_score, self.has_probabilities), self.inverse_temperature
        scored = [scored_heads_and_labels(self._sentences(doc), self.weight_labels, beta) for doc in docs]
        return (
            [{key: score for key, score in heads.items() if score >= smallest} for heads, _ in scored],
            [{key: score for key, score in labels.items() if score >= smallest} for _, labels in scored],
        )

    def explain(self, doc: Doc) -> "Explanation":
        """Why the component predicts the tree that it does: for each arc the best tree without it, or with another
        label, and the features whose weights put the prediction ahead of that. Nothing is written to the Doc.

        Raises:
            ValueError: the component has no labels yet, or its structure is not decoded exactly.
        """
        from ..inspect.tree_explanation import explain

        trees, scored = self._exact_trees(doc)
        return explain(doc, trees, scored, self._weights().trees, self._extractor(), self.weight_labels)

    def judged(self, examples: Iterable[Example]) -> "list[Judged]":
        from ..inspect.judged_trees import judged_trees

        if self.model.attrs["order"] > 1:
            raise ValueError(
                f"[{self.name}] trees of order {self.model.attrs['order']} have no exact sums, so that there are no "
                "probabilities to calibrate: use order 1"
            )
        self._require_weights()
        return [
            found
            for example in examples
            for found in judged_trees(example, self._sentences(example.predicted), self.weight_labels)
        ]

    def _sentences(self, doc: Doc) -> "list[Sentence]":
        from ..inspect.tree_analyses import Sentence

        trees, scored = self._exact_trees(doc)
        return [Sentence(first, found) for first, found in zip(trees.columns.starts.tolist(), scored)]

    def _exact_trees(self, doc: Doc) -> "tuple[Trees, list[Potentials]]":
        """The sentences of a Doc, none where it is empty, and their scores within what the Doc and `patterns` leave."""
        from ..models.tree.decoding import potentials
        from ..structures.tree.parts import LOOPY

        self._require_labels()
        if self._shape().structure == LOOPY:
            raise ValueError(
                f"[{self.name}] non-projective trees of order 2 are decoded approximately, which says neither the k "
                "best nor margins: use order 1, or projective trees"
            )
        self._warn_of_missing([doc])
        columns, weights = self._columns([doc]), self._weights()
        if not len(doc):
            columns = columns._replace(starts=columns.starts[:1])
        limits = self._limits([doc], columns.starts)
        trees = self._trees(columns, self._extractor(), weights, limits)
        return trees, (potentials if limits is None else limits.potentials)(trees, weights.trees)

    def set_annotations(self, docs: Iterable[Doc], predictions: Sequence[tuple[np.ndarray, np.ndarray]]) -> None:
        """Write the predicted trees, from `predict`, to the Docs."""
        vocab, names, unnamed_name = None, np.zeros(0, np.uint64), np.uint64(0)
        for doc, (heads, labels) in zip(docs, predictions):
            if not len(doc):
                continue
            if doc.vocab is not vocab:
                vocab, add = doc.vocab, doc.vocab.strings.add
                names = np.array([add(label) for label in self.weight_labels], np.uint64)
                unnamed_name = np.uint64(add(UNNAMED))
            starts = np.asarray(doc.to_array(SENT_START))
            offsets = (heads - np.arange(len(doc))).astype(np.int64).view(np.uint64)
            has_starts = doc.has_annotation("SENT_START")
            # Where no other label has been learnt.
            unnamed = (labels == 0) & (offsets != 0)
            deps = np.where(unnamed, unnamed_name, names[labels])
            if not self.overwrite:
                given = np.asarray(doc.to_array(DEP), np.uint64)
                deps = np.where(given != 0, given, deps)
            doc.from_array([HEAD, DEP], cast(Any, np.stack([offsets, deps], axis=1)))
            if self.cfg["multi_root"] and has_starts:
                doc.from_array([SENT_START], cast(Any, starts.astype(np.uint64)))

    def _gold(self, example: Example) -> GoldTrees:
        return gold_trees(example, self.cfg["multi_root"])

    def _is_annotated(self, gold: GoldTrees) -> bool:
        return bool((gold.heads != NOT_GIVEN).any())

    def _labels_in(self, gold: Iterable[GoldTrees]) -> set[str]:
        return {label for found in gold for label in found.labels if label is not None}

    def _report_gaps(self, examples: Mapping[int, Example], gold: Mapping[int, GoldTrees]) -> None:
        self.patterns.require_known(self.weight_labels)
        n_tokens = sum(len(found.heads) for found in gold.values())
        unknown = sum(int((found.heads == NOT_GIVEN).sum()) for found in gold.values())
        crossing = sum(found.crossing for found in gold.values())
        cyclic = sum(found.cyclic for found in gold.values())
        cut = sum(found.cut for found in gold.values())

        def where(count: Callable[[GoldTrees], int]) -> str:
            return names_of({number: examples[number] for number, found in gold.items() if count(found)})

        if cyclic:
            warnings.warn(
                f"[{self.name}] the gold heads of {cyclic:,} sentences go round in circles: they are left out, in "
                f"{where(lambda found: found.cyclic)}",
                stacklevel=3,
            )
        if crossing:
            warnings.warn(
                f"[{self.name}] {crossing:,} of {n_tokens:,} gold heads lie in another sentence and count as missing, "
                f"in {where(lambda found: found.crossing)}; if the treebank has sentences with several roots, set "
                "multi_root = true",
                stacklevel=3,
            )
        if cut:
            warnings.warn(
                f"[{self.name}] {cut:,} of {n_tokens:,} gold heads count as missing, as their sentences have more than "
                f"{MAX_SENTENCE:,} tokens and are cut there, in {where(lambda found: found.cut)}",
                stacklevel=3,
            )
        if unknown > crossing + cut:
            warnings.warn(
                f"[{self.name}] {unknown:,} of {n_tokens:,} training tokens have no gold head that can be used; the "
                "model completes them as it learns, in sentences where others have one",
                stacklevel=3,
            )
        unlisted = sorted(self._unknown_labels(gold.values()) - {ROOT})
        if unlisted:
            warnings.warn(
                f"[{self.name}] the training examples have labels that initialize was not given and that count as "
                f"missing: {', '.join(unlisted)}",
                stacklevel=3,
            )

    def _encode(self, examples: Sequence[Example], gold: Sequence[GoldTrees]) -> "EncodedTrees":
        from ..models.tree.data_set import EncodedTrees

        docs = [example.predicted for example in examples]
        numbers = {label: number for number, label in enumerate(self.weight_labels)}
        heads = np.concatenate([np.zeros(0, np.int32), *(found.heads for found in gold)])
        labels = np.array(
            [NOT_GIVEN if label is None else numbers.get(label, NOT_GIVEN) for found in gold for label in found.labels],
            np.int32,
        )
        read = self._extractor().reader.read(docs, docs[0].vocab if docs else self.vocab)
        columns, first_sentences = _cut(read, [found.sentences for found in gold])
        encoded = EncodedTrees(first_sentences, columns, heads, labels)
        # Sentences without any annotation have nothing to learn from.
        n_known = np.add.reduceat(heads != NOT_GIVEN, columns.starts[:-1]) if len(heads) else np.zeros(0)
        return encoded.with_sentences(np.flatnonzero(n_known))

    def _read_annotation(self, doc: Doc) -> bytes:
        return self._extractor().reader.read_annotation(doc) + doc.to_array([SENT_START]).tobytes()

    def _before_training(self, batches: "Sequence[EncodedTrees]") -> None:
        """Train the first pass, and say which share of the gold heads it keeps."""
        from ..models.tree.candidates import BITS
        from ..models.tree.data_set import EncodedTrees
        from ..models.tree.problem import ranking_problem
        from ..models.tree.ranking import ranking
        from ..solvers.gradients import maximum_likelihood

        if not self.model.attrs["max_heads"] or not batches:
            return
        together = EncodedTrees.joined_starts(batches)
        lengths = np.diff(together.columns.starts)
        together = together.with_sentences(np.flatnonzero(lengths <= FIRST_PASS_LONGEST))
        if not len(together.heads):
            return
        problem = ranking_problem(ranking(self._extractor().first_pass, BITS, together.columns, together.heads))
        weights = maximum_likelihood(problem, FIRST_PASS_EPOCHS, FIRST_PASS_RATE, self.solver.seed)
        self._first_pass_weights = weights.astype(np.float32)
        starts, candidates = self._first_pass(self._first_pass_weights).candidates(
            together.columns, np.full(len(together.heads), NOT_GIVEN, np.int32)
        )
        token = np.repeat(np.arange(len(together.heads)), np.diff(starts))
        known = int((together.heads != NOT_GIVEN).sum())
        LOGGER.info(
            "[%s] the first pass keeps %.1f heads a token, and %.2f %% of the gold heads",
            self.name,
            len(candidates) / len(together.heads),
            100 * int((candidates == together.heads[token]).sum()) / known,
        )

    def _start_training(self) -> "Training":
        from ..models.tree.data_set import TreeSet
        from ..training.training import Training

        start = None
        if models.has_weights(self.model):
            stored = self._weights()
            self._first_pass_weights, start = stored.first_pass, stored.trees
        first_pass = self._first_pass(self._first_pass_weights)
        data = TreeSet(self._extractor().program, first_pass, self._shape())
        return Training(self.name, self.solver, data, start, self.n_threads)

    def _data_of(self, index: np.ndarray) -> "TreeSet":
        from ..models.tree.candidates import BITS
        from ..models.tree.data_set import TreeSet

        if index.dtype != np.float32 or index.shape not in ((0,), (1 << BITS,)) or not np.isfinite(index).all():
            raise ValueError("its solver state has no first pass")
        self._first_pass_weights = index
        return TreeSet(self._extractor().program, self._first_pass(index), self._shape())

    def _check_settings(self) -> None:
        super()._check_settings()
        check_tree(self.model)

    def _pack(self, packing: Packing) -> None:
        tree_weights.store(self.model, self._weights(), self.weight_labels, packing)

    def _unpack(self) -> "tree_weights.TreeWeights":
        from ..models.tree.candidates import BITS
        from ..models.tree.data import dimension

        return tree_weights.load(self.model, self.weight_labels, dimension(self._shape()), 1 << BITS)

    def _widen(self, before: Sequence[str]) -> None:
        from ..models.tree.candidates import BITS
        from ..models.tree.data import dimension

        shape = self._shape()._replace(n_labels=len(before))
        weights = tree_weights.load(self.model, before, dimension(shape), 1 << BITS)
        wider = tree_weights.widen(weights, 1 << shape.arc_bits, len(before), len(self.weight_labels))
        tree_weights.store(self.model, wider, self.weight_labels, exact=models.is_exact(self.model))

    def _weights(self) -> "tree_weights.TreeWeights":
        """The weights to predict with."""
        if self._scoring is None:
            from ..models.tree.data import dimension

            if self._training is not None:
                weights = self._training.weights().astype(np.float32)
                self._scoring = tree_weights.TreeWeights(weights, self._first_pass_weights)
            elif models.has_weights(self.model):
                self._scoring = self._stored()
            else:
                weights = np.zeros(dimension(self._shape()), np.float32)
                self._scoring = tree_weights.TreeWeights(weights, self._first_pass_weights)
        return self._scoring

    def _first_pass(self, weights: np.ndarray) -> "FirstPass":
        from ..models.tree.candidates import FirstPass

        attributes = self.model.attrs
        return FirstPass(self._extractor().first_pass, weights, attributes["max_heads"], attributes["margin"])

    def _shape(self) -> "Shape":
        from ..models.tree.data import Shape
        from ..structures.tree import parts as data

        attributes = self.model.attrs
        structure = {
            ("projective", 1): data.PROJECTIVE,
            ("projective", 2): data.PROJECTIVE_SIBLINGS,
            ("projective", 3): data.PROJECTIVE_GRANDPARENTS,
            ("nonprojective", 1): data.SPANNING,
            ("nonprojective", 2): data.LOOPY,
        }[attributes["structure"], attributes["order"]]
        bits = attributes["hash_bits"], attributes["label_hash_bits"]
        return Shape(len(self.weight_labels), *bits, structure, self.cfg["multi_root"])

    def _extractor(self) -> "ArcExtractor":
        if self._features is None:
            from ..features.arc_extractor import ArcExtractor

            attributes = self.model.attrs
            self._features = ArcExtractor(
                attributes["arcs"], attributes["label_arcs"], attributes["first_pass"], attributes["clusters"]
            )
        return self._features

    def _load_resources(self, nlp: Language | None) -> None:
        from ..features.clusters import load_clusters

        self.model.attrs["clusters"] = load_clusters(self.model.attrs["features"].clusters)

    def _forget(self) -> None:
        super()._forget()
        self._first_pass_weights = np.zeros(0, np.float32)
        self._has_warned = False

    def _boundaries(self, doc: Doc) -> np.ndarray | None:
        starts = sentence_starts(doc)
        if (starts is None or not sets_all_starts(doc)) and not self._has_warned and not self.cfg["multi_root"]:
            self._has_warned = True
            complaint = (
                "a Doc has no sentence boundaries and is parsed as one sentence"
                if starts is None
                else "a Doc says of some tokens only whether a sentence starts there; the others continue one"
            )
            warnings.warn(
                f"[{self.name}] {complaint}: put a component that sets boundaries before the parser, such as "
                '"ssvm_senter" (this is said once)',
                stacklevel=4,
            )
        return starts


def _cut(columns: "Columns", bounds: Sequence[np.ndarray]) -> "tuple[Columns, np.ndarray]":
    """Columns of Docs as columns of their sentences, and each Doc's first sentence, int64 [n + 1].

    bounds: for each Doc the first tokens of its sentences, and its length.
    """
    starts = [found[:-1] + first for found, first in zip(bounds, columns.starts)]
    first_sentences = np.cumsum([0, *map(len, starts)])
    return columns._replace(starts=np.concatenate([*starts, columns.starts[-1:]]).astype(np.int64)), first_sentences
