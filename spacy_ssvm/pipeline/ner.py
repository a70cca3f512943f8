"""`ssvm_ner`: named entities and other non-overlapping spans, as BILUO chains."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from spacy.attrs import ENT_IOB, ENT_TYPE
from spacy.scorer import Scorer, get_ner_prf
from spacy.tokens import Doc, Span, SpanGroup
from spacy.training import Example
from spacy.vocab import Vocab

from ..corpus.checks import entities
from ..corpus.reader import same_tokens
from ..inspect.confidence import MIN_PROBABILITY, checked_min_score
from ..models.chain.space import ChainGold, TokenKinds
from ..structures.chain.biluo import segments
from ..training.calibration import Fit
from ..words import example_of_words, words_of
from .asking import as_docs, of_docs
from .chain_codec import ChainCodec
from .chain_component import ChainComponent
from .codec import Gaps, Given, Survey, Warn
from .entities import IOB_BEGIN, IOB_INSIDE, IOB_MISSING, IOB_OUTSIDE, Entities, EntityKinds
from .writing import with_values


def ner_score(examples: Iterable[Example], **settings: Any) -> dict[str, Any]:
    """spaCy's figures for entities; with `spans_key`, also the figures of these spans against the gold entities."""
    key, examples = settings.pop("spans_key", None), list(map(example_of_words, examples))
    scores: dict[str, Any] = get_ner_prf(examples, **settings)
    if key:
        spans = Scorer.score_spans(
            examples,
            f"spans_{key}",
            getter=lambda doc, _: list(doc.spans[key]) if key in doc.spans else doc.ents,
            has_annotation=lambda doc: doc.has_annotation("ENT_IOB"),
            allow_overlap=True,
        )
        scores.update(spans)
    return scores


def make_ner_scorer() -> Callable[..., dict[str, Any]]:
    """The registered scorer "spacy-ssvm.ner_scorer.v1"."""
    return ner_score


@dataclass(frozen=True)
class NerCodec(ChainCodec):
    """Entities as BILUO labels. Entities and blocked tokens that a Doc already has stay as they are.

    Attributes:
        incorrect_spans_key: the span group of training Docs with spans that are not entities of their label.
        spans_key: the span group for candidate entities, which may overlap. Their scores, from `scored_ents`, are at
            least `threshold` and, if they are probabilities, at least MIN_PROBABILITY; `attrs["scores"]` of the group
            has them, float64.
    """

    attributes = (ENT_IOB, ENT_TYPE)

    incorrect_spans_key: str | None = None
    spans_key: str | None = None
    threshold: float = 0.5

    @property
    def weight_labels(self) -> tuple[str, ...]:
        return ("O", *(f"{position}-{label}" for label in self.labels for position in "BILU"))

    def label_of(self, weight_label: str) -> str | None:
        return weight_label[2:] or None

    @property
    def kinds(self) -> TokenKinds:
        return EntityKinds(self.labels)

    def gold(self, example: Example) -> ChainGold:
        """Tags of the entities, and the spans that are no entities.

        Raises:
            ValueError: a label is negated, as in "!PER", or a span is annotated as an entity, too.
        """
        tags = [_readable(tag) for tag in gold_entities(example)]
        negated = next((tag[2:] for tag in tags if tag is not None and entities.is_negated(tag[2:])), None)
        if negated is not None:
            raise ValueError(f'[{self.name}] "{negated}" is no label to learn: {entities.NOT_NEGATED}')
        spans = example.reference.spans.get(self.incorrect_spans_key, []) if self.incorrect_spans_key else []
        if not len(spans):
            return ChainGold(tags)
        forbidden = []
        for span in example.get_aligned_spans_y2x(spans, allow_overlap=True):
            run = biluo(len(span), span.label_)
            if tags[span.start : span.end] == run:
                raise ValueError(
                    f'[{self.name}] "{span.text}", tokens {span.start} to {span.end - 1}, is annotated as an entity '
                    f'"{span.label_}" and among the incorrect spans, doc.spans["{self.incorrect_spans_key}"]'
                )
            forbidden.append((span.start, run))
        return ChainGold(tags, forbidden)

    def gaps(self, examples: Mapping[int, Example], gold: Mapping[int, ChainGold]) -> Gaps:
        found = super().gaps(examples, gold)
        found.counts["outside"] = sum("O" in one.labels for one in gold.values())
        return found

    def survey(self, examples: Iterable[Example], gold: Sequence[ChainGold]) -> Survey:
        return replace(
            super().survey(examples, gold),
            advice=". In a .conllu file, entities are tags in MISC, such as name=B-PER and name=I-PER, or B-PER and "
            "I-PER",
        )

    def report_gaps(self, gaps: Gaps, warn: Warn) -> None:
        super().report_gaps(gaps, warn)
        counts = gaps.counts
        if 0 < counts["unknown"] < counts["tokens"] and not counts["outside"]:
            warn(
                "no training token is known to be outside entities, so that nothing speaks against entities "
                "everywhere: annotate some texts completely, or train a loaded component, which keeps its own "
                "predictions there"
            )

    def write(self, docs: Iterable[Doc], predictions: Sequence[np.ndarray], given: Sequence[Given]) -> None:
        for doc, labels, values, before in with_values(docs, predictions, given, self._values):
            if before.values is None:
                doc.from_array([ENT_IOB, ENT_TYPE], cast(Any, values))
                continue
            iob = before.values[:, 0]
            found = [
                Span(doc, first, end, label=self.labels[label])
                for first, end, label in segments(labels)
                if iob[first] not in (IOB_INSIDE, IOB_BEGIN)
            ]
            untouched = (iob == IOB_MISSING) & (labels == 0)
            runs = np.flatnonzero(np.diff(np.concatenate([[0], untouched.astype(np.int8), [0]])))
            outside = [Span(doc, int(a), int(b)) for a, b in zip(runs[::2], runs[1::2])]
            doc.set_ents(found, outside=outside, default="unmodified")

    @property
    def parts(self) -> Entities:
        return Entities(self.labels, self.weight_labels, self.gold)

    def _values(self, vocab: Vocab, docs: Sequence[Doc], predictions: Sequence[np.ndarray]) -> np.ndarray:
        """spaCy's ENT_IOB and ENT_TYPE of these weight labels, uint64 [T, 2]."""
        types = [vocab.strings.add(label) for label in self.labels]
        inside = {"B": IOB_BEGIN, "I": IOB_INSIDE, "L": IOB_INSIDE, "U": IOB_BEGIN}
        values = [(IOB_OUTSIDE, 0), *((inside[place], number) for number in types for place in "BILU")]
        return np.take(np.array(values, np.uint64), np.concatenate(predictions), axis=0)


class SsvmNer(ChainComponent):
    """Sets `doc.ents`; see `NerCodec` for its settings."""

    codec: NerCodec

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """The figures of the scorer, which also gets `spans_key`."""
        return super().score(examples, **{"spans_key": self.codec.spans_key, **kwargs})

    def pipe(self, docs: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """As in `SsvmPipe`; in spaCy's components, too, the argument is `docs` here, and `stream` for the tagger."""
        return super().pipe(docs, batch_size=batch_size)

    def set_annotations(self, docs: Doc | Iterable[Doc], predictions: Sequence[np.ndarray]) -> None:
        """Write the predicted entities, from `predict`, to the Docs; with `spans_key`, also candidate entities."""
        docs = as_docs(docs)
        if self.codec.spans_key:
            # First, and without earlier entities of its own: those that a Doc has constrain the candidates.
            self._add_spans(docs, self.codec.spans_key)
        super().set_annotations(docs, predictions)

    def _add_spans(self, docs: Sequence[Doc], key: str) -> None:
        threshold = self.codec.threshold
        min_score = max(threshold, MIN_PROBABILITY) if self.has_probabilities else threshold
        checked_min_score(self.name, min_score, self.has_probabilities, "threshold")
        found = self._own_annotation.without_remembered(self.codec, docs, list(map(words_of, docs)))
        for doc, scores in zip(docs, self._candidates(found, min_score)):
            group = SpanGroup(doc, name=key, spans=[Span(doc, *entity) for entity in scores])
            group.attrs["scores"] = np.array(list(scores.values()))
            doc.spans[key] = group

    @of_docs
    def scored_ents(
        self, docs: Sequence[Doc], min_score: float | None = None
    ) -> list[dict[tuple[int, int, str], float]]:
        """The score of each entity (start, end, label) of a Doc, as spaCy's beam recogniser names it.

        A score is the probability that exactly these tokens are an entity of this label or, without
        `has_probabilities`, a margin. Only labels of the component are listed.

        Args:
            docs: a Doc, or Docs, for which the result is a list.
            min_score: the smallest score that is listed; by default a probability of 0.01 or a margin of 0.

        Raises:
            TypeError: `docs` are no Docs.
            ValueError: `min_score` is no such score, or the component has no labels yet.
        """
        return self._candidates(docs, min_score)

    def _candidates(self, docs: Sequence[Doc], min_score: float | None) -> list[dict[tuple[int, int, str], float]]:
        """The entities that `scored_ents` lists, with all annotation of the Docs as constraints."""
        return [{part[:3]: score for part, score in found} for found in self._asking.scored(docs, min_score)]

    def calibrate(self, examples: Iterable[Example]) -> Fit:
        """As in `SsvmPipe`; with `spans_key`, `threshold` must be a valid probability, too."""
        if self.codec.spans_key:
            checked_min_score(self.name, max(self.codec.threshold, MIN_PROBABILITY), True, "threshold")
        return super().calibrate(examples)


def _readable(tag: str | None) -> str | None:
    """A BILUO tag, or None for a tag that leaves the label of a token open."""
    return tag if tag == "O" or (tag and tag[:2] in ("B-", "I-", "L-", "U-") and len(tag) > 2) else None


def gold_entities(example: Example) -> list[str | None]:
    """The tags of `Example.get_aligned_ner`, in a tenth of its time if both Docs have the same words.

    A tag is None if the annotation is missing.

    Raises:
        ValueError: an entity has no beginning.
    """
    if not same_tokens(example):
        return list(example.get_aligned_ner())
    reference = example.reference
    tags = ["O" if iob == IOB_OUTSIDE else None for iob in reference.to_array(ENT_IOB).tolist()]
    for entity in reference.ents:
        tags[entity.start : entity.end] = biluo(entity.end - entity.start, entity.label_)
    return tags


def biluo(length: int, label: str) -> list[str]:
    """The BILUO tags of an entity of this length."""
    if length == 1:
        return [f"U-{label}"]
    return [f"B-{label}", *[f"I-{label}"] * (length - 2), f"L-{label}"]
