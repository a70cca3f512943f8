"""What the sequence components share: learning and predicting labels with a linear chain."""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example, validate_examples
from spacy.vocab import Vocab
from thinc.api import Model

from .. import model as models
from ..solvers.parameters import Parameters
from .component import SsvmPipe
from .figures import Figures

if TYPE_CHECKING:
    from ..features.extractor import Extractor
    from ..features.hashing import Table
    from ..solvers.certificate import Certificate
    from ..structures.chain.data import Constraints
    from .sequences import Encoded
    from .training import Training

BATCH = 1000
"""Examples that are read at a time before training starts."""

Gold = Sequence[str | None]


class ChainPipe(SsvmPipe):
    """A component that labels tokens by the best path through a linear chain.

    label_costs: label → what a wrong label costs at a token whose gold label it is; 1 for labels not named.
    Other parameters as in SsvmPipe.
    """

    _training: "Training | None"
    _scoring: "tuple[Table, np.ndarray] | None"
    _features: "Extractor | None"
    _labels_are_given: bool

    def __init__(
        self,
        vocab: Vocab,
        model: Model,
        name: str,
        *,
        solver: Parameters,
        label_costs: dict[str, float],
        scorer: Callable[..., dict[str, Any]] | None,
        **cfg: Any,
    ) -> None:
        if "templates" not in model.attrs:
            raise ValueError(f'[{name}] model must be of the architecture "spacy-ssvm.Chain.v1", not {model.name!r}')
        super().__init__(vocab, model, name, solver=solver, scorer=scorer, **cfg)
        self.label_costs = {label: _checked_cost(name, label, cost) for label, cost in label_costs.items()}

    @abstractmethod
    def _constraints(self) -> "Constraints":
        """What the chain allows."""

    @abstractmethod
    def _kinds(self, docs: Sequence[Doc]) -> np.ndarray:
        """The kind of each token of these Docs, int32 [T], a row of the token constraints."""

    @abstractmethod
    def _gold(self, example: Example) -> Gold:
        """The gold weight label of each token of the predicted Doc, None where it is unknown."""

    @abstractmethod
    def _label_of(self, weight_label: str) -> str | None:
        """The component's label that a weight label belongs to, or None."""

    def add_label(self, label: str) -> int:
        """Add a label, with weights of zero; what has been learnt is kept.

        Returns 1, or 0 if the label is there already.

        Raises:
            ValueError: the label is no string, empty, or none that the component can set.
        """
        self._check_label(label)
        if label in self.labels:
            return 0
        self._add_labels([label])
        return 1

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        """Collect the labels, read the features' files, build the feature index and fix the gold structures.

        get_examples: returns the training examples; those without any annotation are left out. labels: the labels,
        where they are known beforehand; others in the examples then count as missing annotation. Labels that the
        component has already stay.

        Raises:
            ValueError: no example, or none that has a label; `labels` is no list of labels; a feature file cannot be
                read.
        """
        if not callable(get_examples):
            raise TypeError(f"[{self.name}] initialize takes a function that returns examples, not {get_examples!r}")
        examples = list(get_examples() or ())
        if not examples:
            raise ValueError(f"[{self.name}] initialize got no training examples: is the corpus empty?")
        validate_examples(examples, f"{type(self).__name__}.initialize")
        examples = [example for example in examples if len(example.predicted)]
        self._forget()
        models.clear(self.model)
        self._load_resources(nlp)
        gold = [self._gold(example) for example in examples]
        self._add_labels(sorted(self._unknown_labels(gold)) if labels is None else self._checked_labels(labels))
        if not self.labels:
            raise ValueError(
                f"[{self.name}] none of the {len(examples):,} training examples has a label to learn: annotate the "
                f"corpus, or give [initialize.components.{self.name}.labels]"
            )
        self._labels_are_given = labels is not None
        self._report_gaps(gold)
        annotated = [place for place, tags in enumerate(gold) if _has_annotation(tags)]
        examples, gold = [examples[place] for place in annotated], [gold[place] for place in annotated]
        self._training = self._start_training()
        self._training.prepare(
            [example.reference for example in examples],
            [
                self._encode(examples[first : first + BATCH], gold[first : first + BATCH])
                for first in range(0, len(examples), BATCH)
            ],
        )

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Any = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Learn from a batch of examples. `drop` and `sgd` mean nothing to our solvers and are ignored.

        Returns `losses` with the loss that the solver has suffered added under the component's name.
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples = list(examples)
        validate_examples(examples, f"{type(self).__name__}.update")
        examples = [example for example in examples if len(example.predicted)]
        if not examples:
            return losses
        training = self._training or self._start_training()
        reread = self._reads_annotation([example.predicted for example in examples])
        gold = [None if training.knows(eg.reference) and not reread else self._gold(eg) for eg in examples]
        learnt = [(eg, tags) for eg, tags in zip(examples, gold) if tags is None or _has_annotation(tags)]
        if not learnt:
            return losses
        new = self._unknown_labels(tags for _, tags in learnt if tags is not None)
        if new and not self._labels_are_given:
            self._add_labels(sorted(new))
            training = self._start_training()
            learnt = [(eg, self._gold(eg) if tags is None else tags) for eg, tags in learnt]
        self._require_labels()
        unsure = [place for place, (_, tags) in enumerate(learnt) if tags is not None]
        encoded = self._encode([learnt[k][0] for k in unsure], [learnt[k][1] or [] for k in unsure])
        losses[self.name] += training.update([eg.reference for eg, _ in learnt], unsure, encoded)
        self._training = training
        self._scoring = None
        return losses

    def predict(self, docs: Iterable[Doc]) -> list[np.ndarray]:
        """The best weight labels of each Doc, int32 [tokens], as numbers."""
        docs = list(docs)
        self._require_labels()
        if not any(len(doc) for doc in docs):
            return [np.zeros(0, np.int32) for _ in docs]
        from ..features.index import look_up_features
        from ..structures.chain.data import make_chains
        from ..structures.chain.viterbi import decode_sequences

        table, weights = self._scores()
        extractor = self._extractor()
        columns = extractor.reader.read(docs, docs[0].vocab)
        feature_starts, rows, values = look_up_features(columns, extractor.program, table)
        chains = make_chains(
            columns.starts,
            feature_starts,
            rows,
            np.zeros(int(columns.starts[-1]), np.int32),
            self._constraints(),
            values,
            kinds=self._kinds(docs),
        )
        return np.split(decode_sequences(chains, weights), columns.starts[1:-1])

    @property
    def figures(self) -> Figures | None:
        return None if self._training is None else self._training.figures

    def certificate(self) -> "Certificate | None":
        return None if self._training is None else self._training.certificate()

    def _forget(self) -> None:
        self._training = self._scoring = self._features = None
        self._labels_are_given = False

    def _store(self) -> None:
        if self._training is None:
            return
        from ..features.index import row_keys

        flat = self._training.weights().astype(np.float32)
        transitions, rows = models.split(flat, len(self.weight_labels))
        table = self._training.table
        models.store(
            self.model, models.Weights(row_keys(table), rows, transitions, int(table.counts[1])), self.weight_labels
        )

    def _add_labels(self, labels: Sequence[str]) -> None:
        """Append labels; rows of weights get zeros for them, and training starts anew from there."""
        self._store()
        weights = models.load(self.model, self.weight_labels) if models.has_weights(self.model) else None
        self.cfg["labels"] = [*self.labels, *labels]
        for label in labels:
            self.vocab.strings.add(label)
        if weights is not None:
            models.store(self.model, models.widen(weights, len(self.weight_labels)), self.weight_labels)
        self._training = self._scoring = None

    def _unknown_labels(self, gold: Iterable[Gold]) -> set[str]:
        found = {self._label_of(label) for label in {label for tags in gold for label in tags} if label is not None}
        return {label for label in found if label is not None} - set(self.labels)

    def _reads_annotation(self, docs: Sequence[Doc]) -> bool:
        """Whether what is read of these Docs changes when other components annotate them differently."""
        return self._extractor().reader.reads_annotation

    def _check_label(self, label: Any) -> None:
        """Raise a ValueError for what cannot be a label of this component."""
        if not isinstance(label, str) or not label:
            raise ValueError(f"[{self.name}] a label must be a non-empty string, not {label!r}")

    def _checked_labels(self, labels: Any) -> list[str]:
        """Those of the labels given to `initialize` that the component has not yet, each once."""
        if not isinstance(labels, list | tuple):
            raise ValueError(f"[{self.name}] initialize: labels must be a list of labels, not {labels!r}")
        for label in labels:
            self._check_label(label)
        return [label for label in dict.fromkeys(labels) if label not in self.labels]

    def _report_gaps(self, gold: Sequence[Gold]) -> None:
        """Warn of missing annotation, of labels that are not to be learnt, and of costs of unknown labels."""
        n_tokens = sum(map(len, gold))
        bare = sum(not _has_annotation(tags) for tags in gold)
        unknown = sum(label is None for tags in gold for label in tags)
        unlisted = sorted(self._unknown_labels(gold))
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

    def _require_labels(self) -> None:
        if not self.labels:
            raise ValueError(f"[{self.name}] has no labels yet: train it, or call initialize or add_label first")

    def _extractor(self) -> "Extractor":
        if self._features is None:
            from ..features.extractor import Extractor

            attributes = self.model.attrs
            self._features = Extractor(attributes["templates"], attributes["gazetteers"], attributes["clusters"])
        return self._features

    def _load_resources(self, nlp: Language | None) -> None:
        from ..features.extractor import load_resources

        def words(phrase: str) -> np.ndarray:
            doc = nlp.make_doc(phrase) if nlp is not None else Doc(self.vocab, words=phrase.split())
            return np.array([token.lower for token in doc if not token.is_space], np.uint64)

        attributes = self.model.attrs
        attributes["gazetteers"], attributes["clusters"] = load_resources(attributes["features"], words)

    def _encode(self, examples: Sequence[Example], gold: Sequence[Gold]) -> "Encoded":
        from .sequences import Encoded

        docs = [example.predicted for example in examples]
        numbers = {label: number for number, label in enumerate(self.weight_labels)}
        annotated = np.array([-1 if tag is None else numbers.get(tag, -1) for tags in gold for tag in tags], np.int32)
        costs = np.array([self.label_costs.get(self._label_of(tag) or tag, 1.0) for tag in self.weight_labels])
        columns = self._extractor().reader.read(docs, docs[0].vocab if docs else self.vocab)
        return Encoded(columns, annotated, self._kinds(docs), costs[annotated])

    def _start_training(self) -> "Training":
        """Training from the weights that the component has, or from zero."""
        from ..features.index import empty_table, table_of
        from .training import Training

        table, flat = empty_table(self.model.attrs["hash_bits"]), None
        if models.has_weights(self.model):
            weights = models.load(self.model, self.weight_labels)
            if weights.hash_bits:
                weights = models.spread(weights)
                table = empty_table(weights.hash_bits)
            else:
                table = table_of(weights.keys, 0)
            flat = models.join(weights)
        return Training(self.name, self.solver, self._extractor().program, table, self._constraints(), flat)

    def _scores(self) -> "tuple[Table, np.ndarray]":
        """The feature index and the weights, float32 [d], to predict with."""
        if self._scoring is None:
            from ..features.index import empty_table, table_of

            n_labels = len(self.weight_labels)
            if self._training is not None:
                self._scoring = self._training.table, self._training.weights().astype(np.float32)
            elif models.has_weights(self.model):
                weights = models.load(self.model, self.weight_labels)
                self._scoring = table_of(weights.keys, weights.hash_bits), models.join(weights)
            else:
                self._scoring = empty_table(), np.zeros(n_labels * n_labels, np.float32)
        return self._scoring


def _checked_cost(name: str, label: str, cost: Any) -> float:
    value = float(cost)
    if not np.isfinite(value) or value < 0:
        raise ValueError(f'[{name}] label_costs: the cost of "{label}" must be finite and not negative, not {cost!r}')
    return value


def _has_annotation(tags: Gold) -> bool:
    return any(label is not None for label in tags)
