"""What the sequence components share: learning and predicting labels with a linear chain."""

import logging
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.api import Model

from ..inspect.confidence import MIN_PROBABILITY, checked_count, checked_min_score
from ..models import store as models
from ..models.architectures import check_chain
from ..models.chain import weights as chain_weights
from ..models.packing import EXACT, Packing
from ..solvers.parameters import Parameters
from .learning import LearningPipe
from .patterns import Patterns, token_name

if TYPE_CHECKING:
    from ..features.extractor import Extractor
    from ..features.hashing import Columns
    from ..features.word_types import Types
    from ..inspect.explanation import Explanation
    from ..inspect.judged_chains import Run
    from ..inspect.weight_tables import TopFeature, Transitions
    from ..models.chain.data_set import ChainSet, EncodedChains
    from ..models.chain.predictor import ChainDecoder
    from ..structures.chain.constraints import Constraints
    from ..structures.chain.potentials import Lattice, Potentials
    from ..training.calibration import Judged
    from ..training.training import Training

LOGGER = logging.getLogger("spacy")
Gold = Sequence[str | None]


class ChainPipe(LearningPipe):
    """A component that labels tokens by the best path through a linear chain.

    label_costs: label → what a wrong label costs at a token whose gold label it is; 1 for labels not named.
    save_feature_names: whether the names of the features are collected in training and saved, for `top_features`.
    patterns: see `Patterns`; they limit predictions, and nothing is learnt from them.
    Other parameters as in SsvmPipe.
    """

    _scoring: "ChainDecoder | None"
    _features: "Extractor | None"
    _names: dict[int, str] | None

    def __init__(
        self,
        vocab: Vocab,
        model: Model,
        name: str,
        *,
        solver: Parameters,
        label_costs: dict[str, float],
        patterns: Sequence[dict[str, Any]] = (),
        scorer: Callable[..., dict[str, Any]] | None,
        n_threads: int = 1,
        packing: Packing = EXACT,
        save_solver_state: bool = False,
        save_feature_names: bool = False,
        **cfg: Any,
    ) -> None:
        if "templates" not in model.attrs:
            raise ValueError(f'[{name}] model must be of the architecture "spacy-ssvm.Chain.v1", not {model.name!r}')
        super().__init__(
            vocab,
            model,
            name,
            solver=solver,
            scorer=scorer,
            n_threads=n_threads,
            packing=packing,
            save_solver_state=save_solver_state,
            **cfg,
        )
        self.save_feature_names = save_feature_names
        self.patterns = Patterns(name, vocab, patterns)
        self.label_costs = {label: _checked_cost(name, label, cost) for label, cost in label_costs.items()}

    @abstractmethod
    def _constraints(self) -> "Constraints":
        """What the chain allows; see `with_fixed`."""

    def _preset(self) -> tuple[int, ...]:
        """spaCy's numbers of the token attributes that say the kind of a token."""
        return ()

    def _kinds(self, docs: Sequence[Doc], preset: np.ndarray) -> np.ndarray:
        """The kind of each token of these Docs, int32 [T], a row of the token constraints. The last L rows are those of
        tokens that are given a label.

        preset: uint64 [T, A], the values of the A attributes of `_preset`.
        """
        return np.zeros(len(preset), np.int32)

    def _held(self, docs: Sequence[Doc], kinds: np.ndarray) -> np.ndarray:
        """These kinds, with what the Docs have already that predictions keep, and training does not."""
        return kinds

    @abstractmethod
    def _gold(self, example: Example) -> Gold:
        """The gold weight label of each token of the predicted Doc, None where it is unknown."""

    @abstractmethod
    def _label_of(self, weight_label: str) -> str | None:
        """The component's label that a weight label belongs to, or None."""

    def _read(self, docs: Sequence[Doc]) -> Callable[[], list[np.ndarray]]:
        """What predicts the best weight labels of each Doc, int32 [tokens], as numbers."""
        self._require_labels()
        self._warn_of_missing(docs)
        if not any(len(doc) for doc in docs):
            return lambda: [np.zeros(0, np.int32) for _ in docs]
        decoder = self._decoder()
        columns, types, preset = decoder.extractor.reader.read_types(docs, docs[0].vocab, self._preset())
        kinds = self._held(docs, self._kinds(docs, preset))
        if not self.patterns:
            return decoder.prepared(columns, types, kinds)
        return self._limited(docs, columns, types, kinds)[0]

    def kbest(self, doc: Doc, k: int) -> list[tuple[float, list[Any]]]:
        """The k best analyses of a Doc, best first, exactly: their scores wᵀΦ(x, y), and what they consist of.

        Those are tags, entities as (start, end, label), or sentence starts as token numbers. There are fewer than k
        where no more are possible: what the Doc is annotated with holds. Nothing is written to it.

        Raises:
            ValueError: k is less than 1, or the component has no labels yet.
        """
        from ..structures.chain.potentials import k_best

        (potentials,) = self._potentials([doc])
        found = k_best(potentials, checked_count(self.name, k))
        return [(float(score), self._analysis(labels)) for labels, score in zip(*found)]

    def explain(self, doc: Doc) -> "Explanation":
        """Why the component predicts what it does: for each tag, entity or sentence start the best analysis without it,
        and the features whose weights put the prediction ahead of that. What the Doc is annotated with holds, without
        an alternative. Nothing is written to it.

        Raises:
            ValueError: the component has no labels yet.
        """
        from ..inspect.chain_explanation import explain

        columns, (potentials,) = self._columns_and_potentials([doc])
        return explain(doc, self._decoder(), columns, potentials, self.weight_labels, self._parts)

    def top_features(self, label: str, n: int = 20) -> "list[TopFeature]":
        """The n features with the largest weights for a label, of either sign, largest first.

        label: one of `labels`, or of `weight_labels`, such as "U-PER"; an entity label has all the weight labels that
        are made of it. There are fewer than n where no more weights are other than 0.

        Raises:
            ValueError: n is less than 1, the label is unknown, or the names of the features were not saved.
        """
        from ..inspect.weight_tables import top_features

        self._require_labels()
        wanted = [k for k, known in enumerate(self.weight_labels) if label in (known, self._label_of(known))]
        if not wanted:
            raise ValueError(
                f"[{self.name}] {label!r} is none of its labels, which are {', '.join(self.labels)}; weights are those "
                f"of {', '.join(self.weight_labels)}"
            )
        weights = self._decoder().weights
        if weights.names is None:
            raise ValueError(
                f"[{self.name}] the names of its features are not known: train it with save_feature_names = true, "
                "or ask `explain`, which reads them from a Doc"
            )
        return top_features(weights, self.weight_labels, wanted, checked_count(self.name, n, "n"))

    @property
    def transitions(self) -> "Transitions":
        """The weights of neighbouring labels, and a table of them.

        Raises:
            ValueError: the component has no labels yet.
        """
        from ..inspect.weight_tables import transitions

        self._require_labels()
        return transitions(self._decoder().weights, self.weight_labels, self._constraints())

    def _listed(self, lattice: "Lattice") -> "Iterator[Run]":
        """What is scored with MIN_PROBABILITY or more, in a lattice of log-sums."""
        from ..inspect.judged_chains import Run

        for token, label in np.argwhere(np.exp(lattice.through()) >= MIN_PROBABILITY).tolist():
            yield Run(token, np.array([label], np.int32))

    def judged(self, examples: Iterable[Example]) -> "list[Judged]":
        from ..inspect.judged_chains import judged_chain

        self._require_weights()
        given = [example for example in examples if len(example.predicted)]
        potentials = self._potentials([example.predicted for example in given]) if given else []
        return [
            judged_chain(found, self._gold(example), self.weight_labels, self._listed)
            for found, example in zip(potentials, given)
        ]

    @abstractmethod
    def _analysis(self, labels: np.ndarray) -> list[Any]:
        """What these weight labels, int32 [tokens], say, for `kbest`."""

    @abstractmethod
    def _parts(self, labels: np.ndarray) -> list[tuple[int, int, str]]:
        """The same as first token, token behind and label, for `explain`."""

    def _potentials(self, docs: Sequence[Doc]) -> "list[Potentials]":
        return self._columns_and_potentials(docs)[1]

    def _columns_and_potentials(self, docs: Sequence[Doc]) -> "tuple[Columns, list[Potentials]]":
        self._require_labels()
        self._warn_of_missing(docs)
        decoder = self._decoder()
        columns, types, preset = decoder.extractor.reader.read_types(docs, docs[0].vocab, self._preset())
        kinds, constraints = self._held(docs, self._kinds(docs, preset)), decoder.constraints
        if self.patterns:
            predict, kinds, constraints = self._limited(docs, columns, types, kinds)
            predict()
        return columns, decoder.potentials(columns, types, kinds, constraints)

    def _limited(
        self, docs: Sequence[Doc], columns: "Columns", types: "Types", kinds: np.ndarray
    ) -> "tuple[Callable[[], list[np.ndarray]], np.ndarray, Constraints]":
        """What predicts within what `patterns` leave, or raises a ValueError where that is nothing; kinds and
        constraints that say so."""
        from ..structures.chain.constraints import broken, first_fixed, limited

        decoder = self._decoder()
        free = kinds < first_fixed(decoder.constraints)
        names = [self._label_of(label) or label for label in self.weight_labels]
        constraints, kinds = limited(decoder.constraints, kinds, *self.patterns.allowed(docs, names, free))
        prepared = decoder.prepared(columns, types, kinds, constraints)

        def predict() -> list[np.ndarray]:
            labels = prepared()
            for token in np.flatnonzero(broken(constraints, kinds, columns.starts, np.concatenate(labels)))[:1]:
                raise ValueError(
                    f"[{self.name}] {token_name(docs, int(token))}: patterns leave it no label that can follow those "
                    "before it"
                )
            return labels

        return predict, kinds, constraints

    def _lattices(self, docs: Iterable[Doc]) -> "Iterator[Lattice]":
        """Of log-sums where scores are probabilities, of maxima where they are margins."""
        from ..structures.chain.potentials import max_lattice, sum_lattice

        beta, given = self.inverse_temperature, list(docs)
        for potentials in self._potentials(given) if given else ():
            yield max_lattice(potentials) if beta is None else sum_lattice(potentials, beta)

    def _scored_labels(self, docs: Iterable[Doc], min_score: float | None) -> Iterator[dict[tuple[int, int], float]]:
        """For each Doc the score of each (token, weight label) that has `min_score` or more."""
        from ..structures.chain.potentials import margins

        smallest = checked_min_score(self.name, min_score, self.has_probabilities)
        for lattice in self._lattices(docs):
            scores = np.exp(lattice.through()) if self.has_probabilities else margins(lattice)
            places = np.argwhere(scores >= smallest).tolist()
            yield {(token, label): float(scores[token, label]) for token, label in places}

    def _forget_types(self) -> None:
        super()._forget_types()
        if self._scoring is not None:
            self._scoring.forget_types()

    def _check_settings(self) -> None:
        super()._check_settings()
        check_chain(self.model)

    def _forget(self) -> None:
        super()._forget()
        self._names = None

    def _files(self, indent: int | None) -> dict[str, bytes]:
        files = super()._files(indent)
        names = self.model.attrs.get(models.NAMES)
        if names is not None:
            sizes = f"{len(names):,}", f"{len(files['model']):,}"
            LOGGER.info("[%s] the names of the features take %s of the model's %s bytes", self.name, *sizes)
        return files

    def _collected_names(self) -> dict[int, str] | None:
        """The names of features, by the key of their row, those that were saved among them; None if not asked for."""
        if self.save_feature_names and self._names is None:
            weights = self._unpack() if models.has_weights(self.model) else None
            self._names = {} if weights is None else dict(zip(weights.keys.tolist(), weights.names or ()))
        return self._names

    def _pack(self, packing: Packing) -> None:
        weights = self._unpack() if self._training is None else self._present()
        chain_weights.store(self.model, weights, self.weight_labels, packing)

    def _present(self) -> chain_weights.ChainWeights:
        """The weights that training has come to."""
        if self._scoring is not None:
            return self._scoring.weights
        from ..features.index import row_keys
        from ..models.chain.names import names_of

        training = cast("Training", self._training)
        table = cast("ChainSet", training.data).table
        weights = chain_weights.in_use(
            training.weights(), row_keys(table), int(table.counts[1]), len(self.weight_labels)
        )
        names = self._collected_names()
        return weights if names is None else weights._replace(names=names_of(weights.keys, names))

    def _unpack(self) -> chain_weights.ChainWeights:
        return chain_weights.load(self.model, self.weight_labels)

    def _widen(self, before: Sequence[str]) -> None:
        weights = chain_weights.widen(chain_weights.load(self.model, before), len(before), len(self.weight_labels))
        chain_weights.store(self.model, weights, self.weight_labels, exact=models.is_exact(self.model))

    def _is_annotated(self, gold: Gold) -> bool:
        return any(label is not None for label in gold)

    def _labels_in(self, gold: Iterable[Gold]) -> set[str]:
        found = {self._label_of(label) for label in {label for tags in gold for label in tags} if label is not None}
        return {label for label in found if label is not None}

    def _read_annotation(self, doc: Doc) -> bytes:
        return self._extractor().reader.read_annotation(doc)

    def _report_gaps(self, examples: Mapping[int, Example], gold: Mapping[int, Gold]) -> None:
        """Warn of missing annotation, of labels that are not to be learnt, and of costs of unknown labels.

        Raises:
            ValueError: `patterns` have unknown labels.
        """
        self.patterns.require_known([self._label_of(label) or label for label in self.weight_labels])
        n_tokens = sum(map(len, gold.values()))
        bare = sum(not self._is_annotated(tags) for tags in gold.values())
        unknown = sum(label is None for tags in gold.values() for label in tags)
        unlisted = sorted(self._unknown_labels(gold.values()))
        if unknown:
            warnings.warn(
                f"[{self.name}] {unknown:,} of {n_tokens:,} training tokens have no gold label, because they are not "
                f"annotated or not tokenised as the annotation is; {bare:,} of {len(gold):,} examples have none at all "
                "and are left out, in the others the model completes them as it learns",
                stacklevel=3,
            )
        if unlisted:
            warnings.warn(
                f"[{self.name}] the training examples have labels that initialize was not given and that count as "
                f"missing: {', '.join(unlisted)}",
                stacklevel=3,
            )
        unused = sorted(self.label_costs.keys() - {self._label_of(label) or label for label in self.weight_labels})
        if unused:
            warnings.warn(f"[{self.name}] label_costs names unknown labels: {', '.join(unused)}", stacklevel=3)

    def _extractor(self) -> "Extractor":
        if self._features is None:
            from ..features.extractor import Extractor

            attributes = self.model.attrs
            self._features = Extractor(attributes["templates"], attributes["gazetteers"], attributes["clusters"])
        return self._features

    def _encode(self, examples: Sequence[Example], gold: Sequence[Gold]) -> "EncodedChains":
        from ..models.chain.data_set import EncodedChains
        from ..models.chain.names import add_names, named_features

        docs = [example.predicted for example in examples]
        numbers = {label: number for number, label in enumerate(self.weight_labels)}
        annotated = np.array([-1 if tag is None else numbers.get(tag, -1) for tags in gold for tag in tags], np.int32)
        costs = np.array([self.label_costs.get(self._label_of(tag) or tag, 1.0) for tag in self.weight_labels])
        reader, vocab = self._extractor().reader, docs[0].vocab if docs else self.vocab
        columns, _, preset = reader.read_types(docs, vocab, self._preset())
        names = self._collected_names()
        if names is not None:
            add_names(names, named_features(docs, columns, self._extractor(), self.model.attrs["hash_bits"] or 0))
        return EncodedChains(columns, annotated, self._kinds(docs, preset), costs[annotated])

    def _start_training(self) -> "Training":
        """Training from the weights that the component has, or from zero."""
        from ..features.index import empty_table, table_of
        from ..models.chain.data_set import ChainSet
        from ..training.training import Training

        table, flat = empty_table(self.model.attrs["hash_bits"]), None
        if models.has_weights(self.model):
            weights = self._stored()
            if weights.hash_bits:
                weights = chain_weights.spread(weights, len(self.weight_labels))
                table = empty_table(weights.hash_bits)
            else:
                table = table_of(weights.keys, 0)
            flat = weights.vector
        data = ChainSet(self._extractor().program, table, self._constraints())
        return Training(self.name, self.solver, data, flat, self.n_threads)

    def _data_of(self, index: np.ndarray) -> "ChainSet":
        from ..features.index import empty_table, table_of
        from ..models.chain.data_set import ChainSet

        bits = self.model.attrs["hash_bits"]
        known = index.dtype == np.uint64 and index.ndim == 1 and index.all() and len(np.unique(index)) == len(index)
        if not known or (bits and len(index)):
            raise ValueError("its solver state has no index of features")
        table = empty_table(bits) if bits else table_of(index, 0)
        return ChainSet(self._extractor().program, table, self._constraints())

    def _decoder(self) -> "ChainDecoder":
        """What predicts with the present weights."""
        if self._scoring is None:
            from ..models.chain.predictor import ChainDecoder

            if self._training is not None:
                weights = self._present()
            elif models.has_weights(self.model):
                weights = self._stored()
            else:
                n_labels = len(self.weight_labels)
                weights = chain_weights.ChainWeights(
                    np.zeros(0, np.uint64), np.zeros(n_labels * n_labels, np.float32), 0
                )
            self._scoring = ChainDecoder(self._extractor(), weights, self._constraints())
        return self._scoring


def _checked_cost(name: str, label: str, cost: Any) -> float:
    value = float(cost)
    if not np.isfinite(value) or value < 0:
        raise ValueError(f'[{name}] label_costs: the cost of "{label}" must be finite and not negative, not {cost!r}')
    return value


def values_of(
    docs: Iterable[Doc], predictions: Sequence[np.ndarray], values: Callable[[Vocab], np.ndarray]
) -> Iterator[tuple[Doc, np.ndarray, Any]]:
    """The Docs that have tokens, their predicted labels, and what these are to spaCy, uint64 [tokens, A].

    values: gives for a vocabulary the A attributes' values of each weight label, uint64 [L, A].
    """
    filled = [(doc, labels) for doc, labels in zip(docs, predictions) if len(doc)]
    for vocab, group in groupby(filled, lambda pair: pair[0].vocab):
        pairs = list(group)
        together = values(vocab)[np.concatenate([labels for _, labels in pairs])]
        first = 0
        for doc, labels in pairs:
            yield doc, labels, together[first : first + len(labels)]
            first += len(labels)
