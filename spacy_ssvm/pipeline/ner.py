"""`ssvm_ner`: named entities and other non-overlapping spans, as BILUO chains."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from spacy.attrs import ENT_IOB, ENT_TYPE, IS_SPACE, SENT_START
from spacy.scorer import Scorer, get_ner_prf
from spacy.tokens import Doc, Span, SpanGroup
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.api import Model

from ..inspect.confidence import MIN_PROBABILITY, checked_min_score
from ..models.packing import EXACT, Packing
from ..solvers.parameters import Parameters
from .chain_pipe import ChainPipe, Gold, values_of
from .gold_entities import biluo, gold_entities

if TYPE_CHECKING:
    from ..models.chain.data_set import EncodedChains
    from ..models.protocol import Listing, NamedPart
    from ..structures.chain.constraints import Constraints
    from ..structures.chain.scored import LabelSequence, Run
    from ..training.calibration import Fit

_MISSING, _INSIDE, _OUTSIDE, _BEGIN = range(4)
"""spaCy's ENT_IOB."""


class Tags(list[str | None]):
    """The gold label of each token, and the spans that are no entities: first token, last token and label."""

    wrong: Sequence[tuple[int, int, str]] = ()


class SsvmNer(ChainPipe):
    """Sets `doc.ents`. Entities and blocked tokens that are there already stay as they are.

    incorrect_spans_key: of `doc.spans`, where training Docs have spans that are known to be no entities of their label.
    spans_key: of `doc.spans`, where possible entities go whose score, as `scored_ents` has it, is at least `threshold`,
    and at least MIN_PROBABILITY where scores are probabilities; they may overlap. Their scores are the group's
    `attrs["scores"]`, float64.
    """

    def __init__(
        self,
        vocab: Vocab,
        model: Model,
        name: str = "ssvm_ner",
        *,
        solver: Parameters,
        label_costs: dict[str, float] | None = None,
        patterns: Sequence[dict[str, Any]] = (),
        incorrect_spans_key: str | None = None,
        spans_key: str | None = None,
        threshold: float = 0.5,
        n_threads: int = 1,
        scorer: Callable[..., dict[str, Any]] | None = get_ner_prf,
        packing: Packing = EXACT,
        save_solver_state: bool = False,
        save_feature_names: bool = False,
    ) -> None:
        super().__init__(
            vocab,
            model,
            name,
            solver=solver,
            label_costs=label_costs or {},
            patterns=patterns,
            scorer=scorer,
            n_threads=n_threads,
            packing=packing,
            save_solver_state=save_solver_state,
            save_feature_names=save_feature_names,
        )
        self.incorrect_spans_key = incorrect_spans_key
        self.spans_key = spans_key
        self.threshold = threshold

    @property
    def weight_labels(self) -> tuple[str, ...]:
        return ("O", *(f"{position}-{label}" for label in self.labels for position in "BILU"))

    def set_annotations(self, docs: Iterable[Doc], predictions: Sequence[np.ndarray]) -> None:
        """Write the predicted entities, from `predict`, to the Docs; with `spans_key` also what else is possible."""
        from ..structures.chain.biluo import segments

        docs = list(docs)
        if self.spans_key:
            # Before there are entities that hold.
            self._add_spans(docs, self.spans_key)
        for doc, labels, values in values_of(docs, predictions, self._values):
            if not doc.has_annotation("ENT_IOB"):
                doc.from_array([ENT_IOB, ENT_TYPE], values)
                continue
            iob = doc.to_array(ENT_IOB)
            found = [
                Span(doc, first, end, label=self.labels[label])
                for first, end, label in segments(labels)
                if iob[first] not in (_INSIDE, _BEGIN)
            ]
            untouched = (iob == _MISSING) & (labels == 0)
            runs = np.flatnonzero(np.diff(np.concatenate([[0], untouched.astype(np.int8), [0]])))
            outside = [Span(doc, int(a), int(b)) for a, b in zip(runs[::2], runs[1::2])]
            doc.set_ents(found, outside=outside, default="unmodified")

    def _add_spans(self, docs: Sequence[Doc], key: str) -> None:
        min_score = max(self.threshold, MIN_PROBABILITY) if self.has_probabilities else self.threshold
        checked_min_score(self.name, min_score, self.has_probabilities, "threshold")
        for doc, scores in zip(docs, self.scored_ents(docs, min_score)):
            group = SpanGroup(doc, name=key, spans=[Span(doc, *entity) for entity in scores])
            group.attrs["scores"] = np.array(list(scores.values()))
            doc.spans[key] = group

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """The scorer's figures; with `spans_key` also those of the spans, against the gold entities."""
        examples = list(examples)
        scores: dict[str, Any] = super().score(examples, **kwargs)
        if self.spans_key:
            scores.update(
                Scorer.score_spans(
                    examples,
                    f"spans_{self.spans_key}",
                    getter=self._spans_or_entities,
                    has_annotation=lambda doc: doc.has_annotation("ENT_IOB"),
                    allow_overlap=True,
                )
            )
        return scores

    def _spans_or_entities(self, doc: Doc, attr: str) -> Sequence[Span]:
        return list(doc.spans[self.spans_key]) if self.spans_key in doc.spans else doc.ents

    def scored_ents(
        self, docs: Iterable[Doc], min_score: float | None = None
    ) -> list[dict[tuple[int, int, str], float]]:
        """For each Doc the score of each entity (start, end, label), as spaCy's beam recogniser names it.

        It is the probability that exactly these tokens are an entity of this label or, without `has_probabilities`,
        a margin. Entities of labels that the component does not have are not among them.

        min_score: the smallest score that is listed; by default a probability of 0.01 or a margin of 0.

        Raises:
            ValueError: `min_score` is no such score, or the component has no labels yet.
        """
        return [{part[:3]: score for part, score in found} for found in self._scored_parts(docs, min_score)]

    def named(self, part: "Run", first: int) -> "NamedPart":
        from ..models.protocol import NamedPart
        from ..structures.chain.biluo import type_of

        return NamedPart(first + part.first, first + part.tokens.stop, self.labels[type_of(part)], part=part)

    def parts(self, y: "LabelSequence", first: int) -> "list[NamedPart]":
        from ..structures.chain.biluo import run, segments

        return [self.named(run(*segment), first) for segment in segments(y.labels)]

    def _item(self, part: "NamedPart") -> tuple[int, int, str]:
        return part[:3]

    def _listing(self) -> "Listing":
        from ..structures.chain.biluo import segments_above

        return segments_above

    def calibrate(self, examples: Iterable[Example]) -> "Fit":
        """As in `LearningPipe`; with `spans_key`, `threshold` has to be one for probabilities, too."""
        if self.spans_key:
            checked_min_score(self.name, max(self.threshold, MIN_PROBABILITY), True, "threshold")
        return super().calibrate(examples)

    def _constraints(self) -> "Constraints":
        from ..structures.chain.biluo import biluo_constraints

        return biluo_constraints(len(self.labels))

    def _values(self, vocab: Vocab) -> np.ndarray:
        """spaCy's ENT_IOB and ENT_TYPE of each weight label, uint64 [L, 2]."""
        types = [vocab.strings.add(label) for label in self.labels]
        inside = {"B": _BEGIN, "I": _INSIDE, "L": _INSIDE, "U": _BEGIN}
        return np.array([(_OUTSIDE, 0), *((inside[place], number) for number in types for place in "BILU")], np.uint64)

    def _preset(self) -> tuple[int, ...]:
        return IS_SPACE, SENT_START, ENT_IOB, ENT_TYPE

    def _kinds(self, docs: Sequence[Doc], preset: np.ndarray) -> np.ndarray:
        from ..structures.chain.biluo import FIXED, OUTSIDE, Kind

        space, start, iob, entity = preset.T
        kinds = np.where(space != 0, int(Kind.NO_BEGIN), 0) | np.where(start == 1, int(Kind.NO_CONTINUATION), 0)
        kinds[(iob == _BEGIN) & (entity == 0)] = FIXED + OUTSIDE
        if entity.any():
            first = 0
            for doc in docs:
                self._fix_entities(doc, kinds[first : first + len(doc)])
                first += len(doc)
        return kinds.astype(np.int32)

    def _read_annotation(self, doc: Doc) -> bytes:
        return super()._read_annotation(doc) + doc.to_array([SENT_START, ENT_IOB, ENT_TYPE]).tobytes()

    def _fix_entities(self, doc: Doc, kind: np.ndarray) -> None:
        """Hold preset entities of known labels where they are; others are outside as far as the chain goes."""
        from ..structures.chain.biluo import BEGIN, FIXED, INSIDE, LAST, OUTSIDE, UNIT, state

        types = {label: number for number, label in enumerate(self.labels)}
        for entity in doc.ents:
            first, last = entity.start, entity.end - 1
            if entity.label_ not in types:
                kind[first : last + 1] = FIXED + OUTSIDE
                continue
            number = types[entity.label_]
            kind[first : last + 1] = FIXED + state(INSIDE, number)
            kind[first] = FIXED + state(BEGIN, number)
            kind[last] = FIXED + state(LAST if last > first else UNIT, number)

    def _gold(self, example: Example) -> Gold:
        tags = Tags(_readable(tag) for tag in gold_entities(example))
        spans = example.reference.spans.get(self.incorrect_spans_key, []) if self.incorrect_spans_key else []
        if len(spans):
            found = example.get_aligned_spans_y2x(spans, allow_overlap=True)
            tags.wrong = [(span.start, span.end - 1, span.label_) for span in found]
            for first, last, label in tags.wrong:
                if tags[first : last + 1] == biluo(last + 1 - first, label):
                    text = example.predicted[first : last + 1].text
                    raise ValueError(
                        f'[{self.name}] "{text}", tokens {first} to {last}, is annotated as an entity "{label}" and '
                        f'among the incorrect spans, doc.spans["{self.incorrect_spans_key}"]'
                    )
        return tags

    def _is_annotated(self, gold: Gold) -> bool:
        return super()._is_annotated(gold) or bool(isinstance(gold, Tags) and gold.wrong)

    def _encode(self, examples: Sequence[Example], gold: Sequence[Gold]) -> "EncodedChains":
        from ..models.chain.data_set import EncodedChains

        encoded = super()._encode(examples, gold)
        numbers = {label: number for number, label in enumerate(self.weight_labels)}

        def runs(tags: Gold) -> list[tuple[int, np.ndarray]]:
            spans = [span for span in getattr(tags, "wrong", ()) if span[2] in self.labels]
            return [
                (first, np.array([numbers[tag] for tag in biluo(last + 1 - first, label)], np.int32))
                for first, last, label in spans
            ]

        wrong = [runs(tags) for tags in gold]
        return EncodedChains(encoded.columns, encoded.annotated, encoded.kinds, encoded.costs, wrong)

    def _label_of(self, weight_label: str) -> str | None:
        return weight_label[2:] or None


def _readable(tag: str | None) -> str | None:
    """A BILUO tag, or None for what says nothing about the label of a token."""
    return tag if tag == "O" or (tag and tag[:2] in ("B-", "I-", "L-", "U-") and len(tag) > 2) else None
