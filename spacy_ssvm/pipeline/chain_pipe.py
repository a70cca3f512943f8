"""What the sequence components share: learning and predicting labels with a linear chain."""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.api import Model

from .. import chain_weights
from .. import model as models
from ..packing import EXACT, Packing
from ..solvers.parameters import Parameters
from .learning import LearningPipe

if TYPE_CHECKING:
    from ..features.extractor import Extractor
    from ..structures.chain.data import Constraints
    from .chain_decoder import ChainDecoder
    from .chain_set import ChainSet, EncodedChains
    from .training import Training

Gold = Sequence[str | None]


class ChainPipe(LearningPipe):
    """A component that labels tokens by the best path through a linear chain.

    label_costs: label → what a wrong label costs at a token whose gold label it is; 1 for labels not named.
    Other parameters as in SsvmPipe.
    """

    _scoring: "ChainDecoder | None"
    _features: "Extractor | None"

    def __init__(
        self,
        vocab: Vocab,
        model: Model,
        name: str,
        *,
        solver: Parameters,
        label_costs: dict[str, float],
        scorer: Callable[..., dict[str, Any]] | None,
        packing: Packing = EXACT,
        **cfg: Any,
    ) -> None:
        if "templates" not in model.attrs:
            raise ValueError(f'[{name}] model must be of the architecture "spacy-ssvm.Chain.v1", not {model.name!r}')
        super().__init__(vocab, model, name, solver=solver, scorer=scorer, packing=packing, **cfg)
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

    def predict(self, docs: Iterable[Doc]) -> list[np.ndarray]:
        """The best weight labels of each Doc, int32 [tokens], as numbers."""
        docs = list(docs)
        self._require_labels()
        self._warn_of_missing(docs)
        if not any(len(doc) for doc in docs):
            return [np.zeros(0, np.int32) for _ in docs]
        return self._decoder().labels(docs, docs[0].vocab, self._kinds(docs))

    def _pack(self, packing: Packing) -> None:
        if self._training is None:
            weights = self._unpack()
        else:
            from ..features.index import row_keys

            table = cast("ChainSet", self._training.data).table
            vector = self._training.weights().astype(np.float32)
            weights = chain_weights.Weights(row_keys(table), vector, int(table.counts[1]))
        chain_weights.store(self.model, weights, self.weight_labels, packing)

    def _unpack(self) -> chain_weights.Weights:
        return chain_weights.load(self.model, self.weight_labels)

    def _widen(self, before: Sequence[str]) -> None:
        weights = chain_weights.widen(chain_weights.load(self.model, before), len(before), len(self.weight_labels))
        chain_weights.store(self.model, weights, self.weight_labels)

    def _is_annotated(self, gold: Gold) -> bool:
        return any(label is not None for label in gold)

    def _labels_in(self, gold: Iterable[Gold]) -> set[str]:
        found = {self._label_of(label) for label in {label for tags in gold for label in tags} if label is not None}
        return {label for label in found if label is not None}

    def _reads_annotation(self, docs: Sequence[Doc]) -> bool:
        """Whether what is read of these Docs changes when other components annotate them differently."""
        return self._extractor().reader.reads_annotation

    def _report_gaps(self, gold: Sequence[Gold]) -> None:
        """Warn of missing annotation, of labels that are not to be learnt, and of costs of unknown labels."""
        n_tokens = sum(map(len, gold))
        bare = sum(not self._is_annotated(tags) for tags in gold)
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

    def _extractor(self) -> "Extractor":
        if self._features is None:
            from ..features.extractor import Extractor

            attributes = self.model.attrs
            self._features = Extractor(attributes["templates"], attributes["gazetteers"], attributes["clusters"])
        return self._features

    def _encode(self, examples: Sequence[Example], gold: Sequence[Gold]) -> "EncodedChains":
        from .chain_set import EncodedChains

        docs = [example.predicted for example in examples]
        numbers = {label: number for number, label in enumerate(self.weight_labels)}
        annotated = np.array([-1 if tag is None else numbers.get(tag, -1) for tags in gold for tag in tags], np.int32)
        costs = np.array([self.label_costs.get(self._label_of(tag) or tag, 1.0) for tag in self.weight_labels])
        columns = self._extractor().reader.read(docs, docs[0].vocab if docs else self.vocab)
        return EncodedChains(columns, annotated, self._kinds(docs), costs[annotated])

    def _start_training(self) -> "Training":
        """Training from the weights that the component has, or from zero."""
        from ..features.index import empty_table, table_of
        from .chain_set import ChainSet
        from .training import Training

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
        return Training(self.name, self.solver, data, flat)

    def _decoder(self) -> "ChainDecoder":
        """What predicts with the present weights."""
        if self._scoring is None:
            from ..features.index import empty_table, table_of
            from .chain_decoder import ChainDecoder

            n_labels = len(self.weight_labels)
            if self._training is not None:
                table, flat = cast("ChainSet", self._training.data).table, self._training.weights().astype(np.float32)
            elif models.has_weights(self.model):
                weights = self._stored()
                table, flat = table_of(weights.keys, weights.hash_bits), weights.vector
            else:
                table, flat = empty_table(), np.zeros(n_labels * n_labels, np.float32)
            self._scoring = ChainDecoder(self._extractor(), table, flat, self._constraints())
        return self._scoring


def _checked_cost(name: str, label: str, cost: Any) -> float:
    value = float(cost)
    if not np.isfinite(value) or value < 0:
        raise ValueError(f'[{name}] label_costs: the cost of "{label}" must be finite and not negative, not {cost!r}')
    return value
