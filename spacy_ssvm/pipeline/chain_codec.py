"""The codec of a component with one label per token."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar

from spacy.training import Example

from ..models.chain.space import ChainGold, ChainSpace, TokenKinds
from ..solvers.parameters import require_moderate
from .codec import Codec, Gaps, Survey, Warn
from .tags import Tags


@dataclass(frozen=True)
class ChainCodec(Codec):
    """A codec for chains.

    Attributes:
        label_costs: gold label → the cost of a wrong label at a token; 1 for labels that are not named.

    Raises:
        ValueError: a cost is not finite, or negative.
    """

    of_tokens: ClassVar[bool] = False
    """Whether each token with a gold label is an example, a chain of its own; otherwise each Doc is one."""

    label_costs: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        costs = {label: _checked_cost(self.name, label, cost) for label, cost in self.label_costs.items()}
        object.__setattr__(self, "label_costs", costs)

    @property
    def weight_labels(self) -> tuple[str, ...]:
        """The L labels that a row of weights has, in order."""
        return self.labels

    def label_of(self, weight_label: str) -> str | None:
        """The component's label that a weight label belongs to, or None."""
        return weight_label

    @property
    def kinds(self) -> TokenKinds:
        """The kinds of tokens, by which Docs limit labels."""
        return TokenKinds(len(self.weight_labels))

    @cached_property
    def space(self) -> ChainSpace:
        owners = {label: self.label_of(label) for label in self.weight_labels}
        return ChainSpace(self.name, owners, self.kinds, self.label_costs, self.of_tokens, self.patterns, self.unlearnt)

    def survey(self, examples: Iterable[Example], gold: Sequence[ChainGold]) -> Survey:
        return Survey(len(gold), self.label_counts(gold))

    def label_counts(self, gold: Iterable[ChainGold]) -> Counter[str]:
        """How often the component's labels occur there."""
        counts = Counter[str]()
        for weight_label, count in Counter(chain.from_iterable(tags.labels for tags in gold)).items():
            label = None if weight_label is None else self.label_of(weight_label)
            if label is not None:
                counts[label] += count
        return counts

    def gaps(self, examples: Mapping[int, Example], gold: Mapping[int, ChainGold]) -> Gaps:
        found = super().gaps(examples, gold)
        found.labels.update(self.label_counts(gold.values()))
        found.counts["tokens"] = sum(len(one.labels) for one in gold.values())
        found.counts["bare"] = sum(not one.is_annotated for one in gold.values())
        found.counts["unknown"] = sum(label is None for one in gold.values() for label in one.labels)
        return found

    def report_gaps(self, gaps: Gaps, warn: Warn) -> None:
        names, counts = self.space.names, gaps.counts
        if self.patterns:
            self.patterns.require_known(names)
        unlisted = sorted(gaps.labels.keys() - set(self.labels))
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

    @property
    def parts(self) -> Tags:
        return Tags(self.labels, self.weight_labels, self.gold)


def _checked_cost(name: str, label: str, cost: Any) -> float:
    value = float(cost)
    if not math.isfinite(value) or value < 0:
        raise ValueError(f'[{name}] label_costs: the cost of "{label}" must be finite and not negative, not {cost!r}')
    require_moderate(value, f'[{name}] label_costs: the cost of "{label}"')
    return value
