"""The tags of tokens as parts of a chain, for users' questions."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from spacy.training import Example

from ..corpus.reader import same_tokens
from ..inspect.parts import Mistake
from ..models.chain.space import ChainGold
from ..models.named_parts import NamedPart, numbers_of
from ..structures.chain.scored import KnownLabels, LabelSequence, Run, labels_above


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

    def mistakes(self, example: Example) -> list[Mistake]:
        predicted = self.gold(Example(example.predicted, example.predicted)).labels
        pairs = enumerate(zip(self.gold(example).labels, predicted))
        return [Mistake(i, i + 1, gold, tag or "") for i, (gold, tag) in pairs if gold and gold != tag]

    def missed(self, mistake: Mistake) -> Any:
        return mistake.start, mistake.gold

    def require_known(self, label: str) -> None:
        """Raise a ValueError if the component does not have this label."""
        if label not in self.labels:
            raise ValueError(f"unknown label {label!r}: the labels are {', '.join(self.labels)}")
