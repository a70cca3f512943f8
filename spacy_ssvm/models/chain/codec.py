"""The codec of a component with one label per token."""

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, ClassVar, NamedTuple

import numpy as np
from spacy.tokens import Doc
from spacy.training import Example

from ...solvers.parameters import require_moderate
from ...structures.chain.constraints import Constraints
from ...structures.chain.scored import KnownLabels, LabelSequence, Run, labels_above
from ...structures.scored import Listing
from ..named_parts import NamedPart, numbers_of
from ..protocol import Codec, Gaps, Warn


class ChainGold(NamedTuple):
    """The gold annotation of the T tokens of a Doc.

    labels: the weight label of each token, None where it is unknown. forbidden: runs that are known to be wrong, each
    the number of a token and the weight labels from there on.
    """

    labels: Sequence[str | None]
    forbidden: Sequence[tuple[int, Sequence[str]]] = ()


@dataclass(frozen=True)
class ChainCodec(Codec):
    """A codec for chains.

    label_costs: gold label → the cost of a wrong label at a token; 1 for labels that are not named.

    Raises:
        ValueError: a cost is not finite, or negative.
    """

    structure = "ssvm_chain"
    architecture = "spacy-ssvm.Chain.v1"

    of_tokens: ClassVar[bool] = False
    """Whether each token with a gold label is an example, a chain of its own; otherwise each Doc is one."""

    label_costs: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        costs = {label: _checked_cost(self.name, label, cost) for label, cost in self.label_costs.items()}
        object.__setattr__(self, "label_costs", costs)

    @abstractmethod
    def constraints(self) -> Constraints:
        """The constraints of the chain; its last L kinds are those of tokens with a fixed label: see `with_fixed`."""

    @property
    def kind_attributes(self) -> tuple[int, ...]:
        """spaCy's numbers of the token attributes that `token_kinds` reads."""
        return ()

    def token_kinds(self, docs: Sequence[Doc], values: np.ndarray) -> np.ndarray:
        """The kind of each token of these Docs, int32 [T]: a row of the token constraints.

        values: uint64 [T, A], the values of the A attributes of `kind_attributes`.
        """
        return np.zeros(len(values), np.int32)

    def gold_kinds(self, docs: Sequence[Doc], values: np.ndarray, gold: np.ndarray) -> np.ndarray:
        """The kinds in training: existing annotation constrains tokens without a gold label, and gold goes before it.

        gold: int32 [T], gold labels, -1 where unknown.
        """
        return self.token_kinds(docs, values)

    def write_columns(
        self, docs: Sequence[Doc], values: np.ndarray, kinds: np.ndarray, columns: Mapping[str, np.ndarray]
    ) -> None:
        """Write the attributes that only the codec knows into their columns, uint64 [T] by name.

        values, kinds: as above, of the tokens.
        """
        return None

    def kept(self, docs: Sequence[Doc], kinds: np.ndarray) -> np.ndarray:
        """These kinds, with the existing annotation that prediction keeps and training ignores."""
        return kinds

    def label_of(self, weight_label: str) -> str | None:
        """The component's label that a weight label belongs to, or None."""
        return weight_label

    def named_labels(self) -> list[str]:
        """For each weight label the name that settings have for it: its label, or its own where it has none."""
        return [self.label_of(label) or label for label in self.weight_labels]

    def costs(self) -> np.ndarray:
        """The cost of each weight label, float64 [L]."""
        return np.array([self.label_costs.get(name, 1.0) for name in self.named_labels()])

    def numbers(self) -> dict[str, int]:
        """The number of each weight label."""
        return {label: number for number, label in enumerate(self.weight_labels)}

    def first_pass_names(self) -> list[str]:
        """The names of the labels of a first pass: those of the component, and that of tokens without one of them."""
        return list(dict.fromkeys(self.named_labels()))

    def first_pass_labels(self) -> np.ndarray:
        """The number of the first pass's label for each weight label, int32 [L]."""
        numbers = {name: number for number, name in enumerate(self.first_pass_names())}
        return np.array([numbers[name] for name in self.named_labels()], np.int32)

    def is_annotated(self, gold: ChainGold) -> bool:
        return bool(gold.forbidden) or any(label is not None for label in gold.labels)

    def label_counts(self, gold: Iterable[ChainGold]) -> Counter[str]:
        counts: Counter[str] = Counter()
        for weight_label, count in Counter(chain.from_iterable(tags.labels for tags in gold)).items():
            label = None if weight_label is None else self.label_of(weight_label)
            if label is not None:
                counts[label] += count
        return counts

    def gaps(self, examples: Mapping[int, Example], gold: Mapping[int, ChainGold]) -> Gaps:
        found = super().gaps(examples, gold)
        found.counts["tokens"] = sum(len(one.labels) for one in gold.values())
        found.counts["bare"] = sum(not self.is_annotated(one) for one in gold.values())
        found.counts["unknown"] = sum(label is None for one in gold.values() for label in one.labels)
        return found

    def report_gaps(self, gaps: Gaps, warn: Warn) -> None:
        names, counts = self.named_labels(), gaps.counts
        if self.patterns:
            self.patterns.require_known(names)
        unlisted = sorted(gaps.labels - set(self.labels))
        if counts["unknown"]:
            rest = "nothing is learnt from them" if self.of_tokens else "the model completes them as it learns"
            warn(
                f"{counts['unknown']:,} of {counts['tokens']:,} training tokens have no gold label, because they are "
                f"not annotated or not tokenised as the annotation is; {counts['bare']:,} of {counts['examples']:,} "
                f"examples have none at all and are left out, in the others {rest}"
            )
        if unlisted:
            warn(
                "the training examples have labels that initialize was not given and that count as missing: "
                f"{', '.join(unlisted)}"
            )
        unused = sorted(self.label_costs.keys() - set(names))
        if unused:
            warn(f"label_costs names unknown labels: {', '.join(unused)}")

    def names(self) -> "ChainCodec":
        return self

    @abstractmethod
    def named(self, part: Run, first: int) -> NamedPart:
        """A part, as `PartNames.named`."""

    @abstractmethod
    def parts(self, y: LabelSequence, first: int) -> list[NamedPart]:
        """The parts of a label sequence, as `PartNames.parts`."""

    def part(self, named: NamedPart, first: int) -> Run:
        """As `PartNames.part`, for the label of a single token."""
        return Run(named.start - first, (self.number_of(named.label),))

    def number_of(self, label: str) -> int:
        """The number of a label of the component.

        Raises:
            ValueError: the component does not have it.
        """
        if label not in self.labels:
            raise ValueError(f"unknown label {label!r}: the labels are {', '.join(self.labels)}")
        return self.labels.index(label)

    def listing(self) -> Listing:
        return labels_above

    def known(self, example: Example, bounds: Sequence[tuple[int, int]]) -> list[Any]:
        labels = numbers_of(self.gold(example).labels, self.weight_labels)
        return [KnownLabels(labels[first:end]) for first, end in bounds]


def _checked_cost(name: str, label: str, cost: Any) -> float:
    value = float(cost)
    if not math.isfinite(value) or value < 0:
        raise ValueError(f'[{name}] label_costs: the cost of "{label}" must be finite and not negative, not {cost!r}')
    require_moderate(value, f'[{name}] label_costs: the cost of "{label}"')
    return value
