"""`ssvm_senter`: where sentences start."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from spacy.attrs import SENT_START
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from ..corpus.reader import same_tokens
from ..inspect.parts import ComparedPart
from ..models.chain.space import ChainGold, TokenKinds
from ..models.named_parts import NamedPart
from ..models.protocol import Predictor
from ..structures.chain.scored import LabelSequence, Run, labels_above
from .asking import of_docs
from .chain_codec import ChainCodec, Tags
from .chain_component import ChainComponent
from .codec import Gaps, Given, Warn, sent_starts
from .writing import write_values

INSIDE, START = LABELS = ("I", "S")
"""spaCy's names: a token continues a sentence or starts one."""
_VALUES = np.array([[-1], [1]]).astype(np.uint64)
"""The values of SENT_START for LABELS, uint64 [2, 1]."""


@dataclass(frozen=True)
class SenterCodec(ChainCodec):
    """The codec that labels each token as starting a sentence or not; the first token of a Doc always does.

    Attributes:
        overwrite: whether existing boundaries are overwritten; otherwise they stay and constrain their neighbours.

    Raises:
        ValueError: other labels than LABELS, or a label cost that is not finite, or negative.
    """

    attributes = (SENT_START,)

    overwrite: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.labels != LABELS:
            raise ValueError(f"[{self.name}] its labels can only be {list(LABELS)}, not {list(self.labels)}")

    def gold(self, example: Example) -> ChainGold:
        """The gold labels; unknown where a boundary is inside a token.

        Tokens that are not set continue a sentence, as in `doc.sents`; in a Doc that sets False for other tokens, they
        are unknown. The only token of a Doc starts a sentence, annotated or not.
        """
        predicted, reference = example.predicted, example.reference
        given = sent_starts(reference)
        if len(given) != 1 and not given[1:].any():
            return ChainGold([None] * len(predicted))
        names = {1: START, -1: INSIDE, 0: None if (given == -1).any() else INSIDE}
        gold = [START, *(names[int(start)] for start in given[1:])]
        if same_tokens(example):
            return ChainGold(gold)
        aligned: list[str | None] = []
        last = -1
        for parts in map(example.alignment.x2y.__getitem__, range(len(predicted))):
            if not len(parts) or START in (gold[part] for part in parts[1:]):
                aligned.append(None)
            else:
                aligned.append(INSIDE if parts[0] == last else gold[parts[0]])
            last = parts[-1] if len(parts) else last
        return ChainGold(aligned)

    def write(self, docs: Iterable[Doc], predictions: Sequence[np.ndarray], given: Sequence[Given]) -> None:
        def values_of(_: Vocab, __: Sequence[Doc], labels: Sequence[np.ndarray]) -> np.ndarray:
            return np.take(_VALUES, np.concatenate(labels), axis=0)

        write_values(self.attributes, self.overwrite, docs, predictions, given, values_of)

    @property
    def kinds(self) -> TokenKinds:
        return _GivenStarts(self.overwrite)

    def gaps(self, examples: Mapping[int, Example], gold: Mapping[int, ChainGold]) -> Gaps:
        found = super().gaps(examples, gold)
        found.counts["divided"] = sum(START in one.labels[1:] for one in gold.values())
        return found

    def report_gaps(self, gaps: Gaps, warn: Warn) -> None:
        super().report_gaps(gaps, warn)
        if not gaps.counts["divided"]:
            warn(
                "no training Doc has more than one sentence, so there is nothing to learn: use documents of several "
                "sentences (spacy convert -n 10, and gold_preproc = false in the reader)"
            )

    @property
    def parts(self) -> "Starts":
        return Starts(self.labels, self.labels, self.gold)

    def check_label(self, label: Any) -> None:
        if label not in LABELS:
            raise ValueError(f"[{self.name}] a label can only be one of {', '.join(LABELS)}, not {label!r}")


class Starts(Tags):
    """The tokens that start sentences."""

    query_form = "a sentence start: the number of a token"
    smallest_doubtful_margin = -1.0

    def named(self, part: Run, first: int) -> NamedPart:
        token = first + part.first
        return NamedPart(token, token + 1, START, part=part)

    def parts(self, y: LabelSequence, first: int) -> list[NamedPart]:
        start = LABELS.index(START)
        return [self.named(Run(token, (start,)), first) for token in np.flatnonzero(y.labels == start).tolist()]

    def listing(self, values: Any, min_score: float) -> Iterable[tuple[Run, float]]:
        start = (LABELS.index(START),)
        return (found for found in labels_above(values, min_score) if found[0].labels == start)

    def item(self, part: NamedPart) -> int:
        return part.start

    def from_query(self, item: Any) -> NamedPart:
        return NamedPart(item, item + 1, START)

    def compared(self, example: Example) -> list[ComparedPart]:
        names = {START: "start", INSIDE: "no start"}
        predicted = [names[START if token.is_sent_start else INSIDE] for token in example.predicted]
        pairs = enumerate(zip(self.gold(example).labels, predicted))
        return [ComparedPart(i, i + 1, names[gold], other) for i, (gold, other) in pairs if gold]

    def missed(self, mistake: ComparedPart) -> Any:
        return mistake.start if mistake.gold == "start" else None


class _GivenStarts(TokenKinds):
    """Kinds of tokens: unknown, inside a sentence, and first of one, such as the first of a Doc.

    Args:
        overwrite: existing boundaries are no limits.
    """

    def __init__(self, overwrite: bool) -> None:
        super().__init__(len(LABELS))
        self._overwrite = overwrite

    def to_learn(self, docs: Sequence[Doc], values: np.ndarray, gold: np.ndarray) -> np.ndarray:
        kinds = super().to_learn(docs, values, gold)
        kinds[_first_tokens(docs)] = 1 + LABELS.index(START)
        return kinds

    def to_predict(self, docs: Sequence[Doc], values: np.ndarray) -> np.ndarray:
        kinds = super().to_predict(docs, values)
        if self._overwrite or not any(doc.has_annotation("SENT_START") for doc in docs):
            return kinds
        present = np.concatenate([sent_starts(doc) for doc in docs])
        # The first token of a Doc starts a sentence, even if it is annotated otherwise.
        present[_first_tokens(docs)] = 1
        kinds[present == -1] = 1 + LABELS.index(INSIDE)
        kinds[present == 1] = 1 + LABELS.index(START)
        return kinds


class SsvmSenter(ChainComponent):
    """Sets `token.is_sent_start` to True or False; see `SenterCodec` for its settings."""

    codec: SenterCodec

    @property
    def hide_labels(self) -> bool:
        """Whether `nlp.pipe_labels` leaves the component out: its labels are not annotation."""
        return True

    @property
    def label_data(self) -> None:
        """None: `spacy init labels` has nothing to save."""

    def add_label(self, label: str) -> int:
        """Raises a NotImplementedError, as spaCy's senter does: there are no other labels than these two."""
        raise NotImplementedError(f"[{self.name}] has the labels {' and '.join(LABELS)}; none can be added")

    @of_docs
    def scored_starts(self, docs: Sequence[Doc], min_score: float | None = None) -> list[dict[int, float]]:
        """The score of each token of a Doc as the start of a sentence; see `SsvmTagger.scored_tags`."""

        return [{part.start: score for part, score in found} for found in self._asking.scored(docs, min_score)]

    def _predictor(self) -> Predictor:
        # It has labels from the start.
        self.trained.require_weights()
        return self.trained.predictor


def _first_tokens(docs: Sequence[Doc]) -> np.ndarray:
    """The first token of each Doc that has any, counted through all of them, int64."""
    lengths = np.array([len(doc) for doc in docs], np.int64)
    return np.asarray((np.cumsum(lengths) - lengths)[lengths > 0])
