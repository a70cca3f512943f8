"""The codec of a component with one label per token, and these labels as parts of a chain, for users' questions."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar, cast

from spacy.training import Example

from ..corpus.reader import same_tokens
from ..inspect.parts import ComparedPart
from ..models.chain.space import ChainGold, ChainSpace, TokenKinds
from ..models.named_parts import NamedPart, numbers_of
from ..solvers.parameters import require_moderate
from ..structures.chain.scored import KnownLabels, LabelSequence, Run, labels_above
from .codec import Codec, Gaps, Survey, Warn, report_labels


def gold_strings(example: Example, attribute: int) -> list[str]:
    """The gold value of a token attribute, by spaCy's number, of each predicted token; empty where it is unknown."""
    reference = example.reference
    if same_tokens(example):
        return [reference.vocab.strings[int(value)] for value in reference.to_array(attribute)]
    return [value or "" for value in example.get_aligned(cast(Any, attribute), as_string=True)]


class Tags:
    """A tag for each token: `inspect.parts.AnnotationParts` of a chain.

    Args:
        labels: of the component, the names of tags.
        weight_labels: of the chain.
        gold: reads the gold annotation.
    """

    query_form = "a tag: (token, tag)"
    impossible = "such as a label that other annotation rules out"
    # The second best tag of a token has the negative of the best one's margin, and others have smaller margins.
    smallest_doubtful_margin = 0.0

    def __init__(
        self, labels: Sequence[str], weight_labels: Sequence[str], gold: Callable[[Example], ChainGold]
    ) -> None:
        self.labels, self.weight_labels, self.gold = labels, weight_labels, gold

    def named(self, part: Run, first: int) -> NamedPart:
        token = first + part.first
        return NamedPart(token, token + 1, self.weight_labels[part.labels[0]], None, part)

    def parts(self, y: LabelSequence, first: int) -> list[NamedPart]:
        return [self.named(Run(token, (label,)), first) for token, label in enumerate(y.labels.tolist())]

    def part(self, named: NamedPart, first: int) -> Run:
        self.require_known(named.label)
        return Run(named.start - first, (self.weight_labels.index(named.label),))

    def listing(self, values: Any, min_score: float) -> Iterable[tuple[Run, float]]:
        return labels_above(values, min_score)

    def item(self, part: NamedPart) -> Any:
        return part.label

    def from_query(self, item: Any) -> NamedPart:
        token, label = item
        return NamedPart(token, token + 1, label)

    def known(self, example: Example, bounds: Sequence[tuple[int, int]]) -> list[Any]:
        labels = numbers_of(self.gold(example).labels, self.weight_labels)
        return [KnownLabels(labels[first:end]) for first, end in bounds]

    def compared(self, example: Example) -> list[ComparedPart]:
        predicted = self.gold(Example(example.predicted, example.predicted)).labels
        pairs = enumerate(zip(self.gold(example).labels, predicted))
        return [ComparedPart(i, i + 1, gold, tag or None) for i, (gold, tag) in pairs if gold]

    def missed(self, mistake: ComparedPart) -> Any:
        return mistake.start, mistake.gold

    def require_known(self, label: str) -> None:
        """Raise a ValueError if the component does not have this label."""
        if label not in self.labels:
            raise ValueError(f"unknown label {label!r}: the labels are {', '.join(self.labels)}")


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
        found.counts["tokens"] = sum(len(one.labels) for one in gold.values())
        found.counts["bare"] = sum(not one.is_annotated for one in gold.values())
        found.counts["unknown"] = sum(label is None for one in gold.values() for label in one.labels)
        return found

    def report_gaps(self, gaps: Gaps, warn: Warn) -> None:
        names, counts = self.space.names, gaps.counts
        report_labels(self, names, gaps, warn)
        if counts["unknown"]:
            rest = "nothing is learnt from them" if self.of_tokens else "the model completes them as it learns"
            warn(
                f"{counts['unknown']:,} of {counts['tokens']:,} training tokens have no gold label, because they are "
                f"not annotated or not tokenised as the annotation is; {counts['bare']:,} of {counts['examples']:,} "
                f"examples have none at all and are left out, in the others {rest}"
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
