"""The output space of a chain: the labels that have weights, and the kinds of tokens, which limit them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from spacy.tokens import Doc

from ...structures.chain.constraints import Constraints, unconstrained, with_fixed


class ChainGold(NamedTuple):
    """The gold annotation of the T tokens of a Doc.

    Attributes:
        labels: the weight label of each token, None where it is unknown.
        forbidden: wrong runs, each the number of a token and the weight labels from there on.
    """

    labels: Sequence[str | None]
    forbidden: Sequence[tuple[int, Sequence[str]]] = ()

    @property
    def is_annotated(self) -> bool:
        """Whether any label is known."""
        return bool(self.forbidden) or any(label is not None for label in self.labels)


class TokenKinds:
    """The kinds of tokens of a chain with L labels, which the constraints have a row for. Here there is one kind, which
    allows all labels; classes that inherit from this one tell kinds apart.
    """

    attributes: tuple[int, ...] = ()
    """spaCy's numbers of the A token attributes that kinds depend on, whose values, uint64 [T, A], the methods get."""
    constraining: tuple[int, ...] = ()
    """Attributes that limit labels in training, too, and that other components may change."""
    outside: int | None = None
    """The label on either side of a place where long Docs can be cut, to learn from pieces; None for anywhere that a
    sequence may end and start."""

    def __init__(self, n_labels: int) -> None:
        self.n_labels = n_labels

    def constraints(self) -> Constraints:
        """The constraints of the chain; its last L kinds are for tokens with a fixed label: see `with_fixed`."""
        return with_fixed(unconstrained(self.n_labels))

    def to_learn(self, docs: Sequence[Doc], values: np.ndarray, gold: np.ndarray) -> np.ndarray:
        """The kinds in training, int32 [T]: existing annotation constrains tokens without a gold label; gold takes
        precedence.

        Args:
            gold: int32 [T], gold labels, -1 where unknown.
        """
        return np.zeros(len(values), np.int32)

    def to_predict(self, docs: Sequence[Doc], values: np.ndarray) -> np.ndarray:
        """The kinds in prediction, int32 [T], which keeps existing annotation."""
        return self.to_learn(docs, values, np.full(len(values), -1, np.int32))

    def write_columns(
        self, docs: Sequence[Doc], values: np.ndarray, kinds: np.ndarray, columns: Mapping[str, np.ndarray]
    ) -> None:
        """Write the attributes that only the component knows into their columns, uint64 [T] by name."""
        return None


class LabelRules(Protocol):
    """Limits tokens to sets of labels; see `pipeline.patterns.Patterns`."""

    def __bool__(self) -> bool: ...

    def allowed(self, docs: Sequence[Doc], labels: Sequence[str], free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The tokens that match, int64 [M], among those that are `free`, bool [T], and their labels, bool [M, L]."""


@dataclass(frozen=True)
class ChainSpace:
    """A component's labels as labels of a chain.

    Attributes:
        name: of the component, for messages.
        owners: for each weight label, in order, the component's label that it belongs to, or None.
        kinds: of tokens.
        label_costs: the component's label, or a weight label that has none → the cost of a wrong label where it is the
            gold one; 1 for others.
        of_tokens: whether the examples are single tokens with a gold label, a chain each; otherwise they are Docs.
        patterns: rules that limit predictions.
        unlearnt: labels of the component that are predicted only where nothing else is possible.
    """

    structure: ClassVar[str] = "ssvm_chain"
    architecture: ClassVar[str] = "spacy-ssvm.Chain.v1"

    name: str
    owners: Mapping[str, str | None]
    kinds: TokenKinds
    label_costs: Mapping[str, float] = field(default_factory=dict)
    of_tokens: bool = False
    patterns: LabelRules | tuple[()] = ()
    unlearnt: tuple[str, ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.owners)

    @property
    def constraining(self) -> tuple[int, ...]:
        return self.kinds.constraining

    @property
    def names(self) -> list[str]:
        """For each weight label the name that settings have for it: its owner, or its own where it has none."""
        return [owner or label for label, owner in self.owners.items()]

    def costs(self) -> np.ndarray:
        """The cost of each weight label, float64 [L]."""
        return np.array([self.label_costs.get(name, 1.0) for name in self.names])
