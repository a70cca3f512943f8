"""Components with a label for each token: what tagger, morphologizer and lemmatizer share."""

from abc import abstractmethod
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, overload

from spacy.tokens import Doc
from spacy.training import Example

from ..corpus.checks.corpora import CorpusData
from ..corpus.checks.documents import Report, check_labels, check_missing, label_counts
from ..models.chain.space import ChainGold
from ..models.named_parts import NamedPart
from ..structures.chain.scored import LabelSequence, Run
from .chain_codec import ChainCodec
from .chain_component import ChainComponent
from .codec import Mistake


@dataclass(frozen=True)
class TokenCodec(ChainCodec):
    """A codec whose weight labels are the component's labels, one for each token."""

    gold_name: ClassVar[str] = "gold tag"
    """The name of a token's gold annotation in messages."""

    @abstractmethod
    def gold(self, example: Example) -> ChainGold: ...

    def named(self, part: Run, first: int) -> NamedPart:
        token = first + part.first
        return NamedPart(token, token + 1, self.weight_labels[part.labels[0]], None, part)

    def parts(self, y: LabelSequence, first: int) -> list[NamedPart]:
        return [self.named(Run(token, (label,)), first) for token, label in enumerate(y.labels.tolist())]

    def part_from_query(self, item: Any) -> NamedPart:
        token, label = item
        return NamedPart(token, token + 1, label)

    query_form = "a tag: (token, tag)"

    # The second best tag of a token has the negative of the best one's margin, and others have smaller margins.
    smallest_doubtful_margin = 0.0

    def check_corpora(self, train: CorpusData, dev: CorpusData, listed: Collection[str] | None) -> Report:
        counts, found = [], []
        for corpus in (train, dev):
            gold = [self.gold(example).labels for example in corpus.examples]
            counts.append(label_counts(gold))
            missing = [sum(label is None for label in labels) for labels in gold]
            found += check_missing(corpus, missing, self.gold_name, is_completed=not self.of_tokens)
        return Report(counts[0], found + check_labels(self.name, self.labels, counts[0], counts[1], listed))


@dataclass(frozen=True)
class TagCodec(TokenCodec):
    """A codec whose labels are tags."""

    @abstractmethod
    def found(self, doc: Doc) -> Sequence[str]:
        """The tag of each token of a Doc, empty where it has none."""

    def missed(self, mistake: Mistake) -> Any:
        return mistake.start, mistake.gold

    def mistakes(self, example: Example) -> list[Mistake]:
        pairs = enumerate(zip(self.gold(example).labels, self.found(example.predicted)))
        return [Mistake(i, i + 1, gold, tag) for i, (gold, tag) in pairs if gold and gold != tag]


class TagComponent(ChainComponent):
    """A component that gives each token a tag."""

    codec: TagCodec

    @overload
    def scored_tags(self, docs: Doc, min_score: float | None = None) -> dict[tuple[int, str], float]: ...

    @overload
    def scored_tags(
        self, docs: Iterable[Doc], min_score: float | None = None
    ) -> list[dict[tuple[int, str], float]]: ...

    def scored_tags(self, docs: Doc | Iterable[Doc], min_score: float | None = None) -> Any:
        """The score of each (token, tag) of a Doc, a probability or, without `has_probabilities`, a margin.

        docs: a Doc, or Docs, for which the result is a list. min_score: the smallest score that is listed; by default a
        probability of 0.01 or a margin of 0.

        Raises:
            TypeError: `docs` are no Docs.
            ValueError: `min_score` is no such score, or the component has no labels yet.
        """

        def ask(asked: Sequence[Doc]) -> list[dict[tuple[int, str], float]]:
            found = self._scored(asked, min_score)
            return [{(part.start, part.label): score for part, score in of_doc} for of_doc in found]

        return self._in_kind(docs, ask)
