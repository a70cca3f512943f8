"""Entities as parts of a chain, for users' questions, and as limits of its labels."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from spacy.attrs import ENT_IOB, ENT_TYPE, SENT_START
from spacy.tokens import Doc, Span
from spacy.training import Example

from ..inspect.parts import MISSING, Mistake
from ..models.chain.space import TokenKinds
from ..models.named_parts import NamedPart
from ..structures import UNKNOWN
from ..structures.chain.biluo import (
    FIXED,
    FREE,
    NO_CONTINUATION,
    OUTSIDE,
    biluo_constraints,
    continues,
    run,
    segments,
    segments_above,
    type_of,
)
from ..structures.chain.constraints import Constraints
from ..structures.chain.scored import LabelSequence, Run
from .tags import Tags

IOB_MISSING, IOB_INSIDE, IOB_OUTSIDE, IOB_BEGIN = range(4)
"""spaCy's ENT_IOB."""


class Entities(Tags):
    """The entities of a Doc."""

    query_form = "an entity: a Span with a label, or (start, end, label)"
    impossible = "such as an entity that does not end"
    smallest_doubtful_margin = -1.0

    def named(self, part: Run, first: int) -> NamedPart:
        return NamedPart(first + part.first, first + part.tokens.stop, self.labels[type_of(part)], part=part)

    def parts(self, y: LabelSequence, first: int) -> list[NamedPart]:
        return [self.named(run(*segment), first) for segment in segments(y.labels)]

    def part(self, named: NamedPart, first: int) -> Run:
        self.require_known(named.label)
        return run(named.start - first, named.end - first, self.labels.index(named.label))

    def listing(self, values: Any, min_score: float) -> Iterable[tuple[Run, float]]:
        return segments_above(values, min_score)

    def item(self, part: NamedPart) -> tuple[int, int, str]:
        return part[:3]

    def from_query(self, item: Any) -> NamedPart:
        if isinstance(item, Span):
            return NamedPart(item.start, item.end, item.label_)
        start, end, label = item
        return NamedPart(start, end, label)

    def mistakes(self, example: Example) -> list[Mistake]:
        """Pair each missed entity with one that overlaps it, and all others with nothing."""
        gold = {(e.start, e.end, e.label_) for e in example.get_aligned_spans_y2x(example.reference.ents)}
        found = {(e.start, e.end, e.label_) for e in example.predicted.ents}
        known = [tag is not None for tag in example.get_aligned_ner()]
        listed = []
        for start, end, label in gold - found:
            others = sorted(other for other in found if other[0] < end and start < other[1])
            named = [f"{label}, other tokens" if other[2] == label else other[2] for other in others]
            listed.append(Mistake(start, end, label, next(iter(named), MISSING)))
        for start, end, label in found - gold:
            overlaps = any(other[0] < end and start < other[1] for other in gold)
            if all(known[start:end]) and not overlaps:
                listed.append(Mistake(start, end, MISSING, label))
        return sorted(listed)

    def missed(self, mistake: Mistake) -> Any:
        return None if mistake.gold == MISSING else (mistake.start, mistake.end, mistake.gold)


class EntityKinds(TokenKinds):
    """Tokens after a sentence boundary, blocked tokens, and tokens of entities that stay."""

    attributes = constraining = (SENT_START, ENT_IOB, ENT_TYPE)
    outside = OUTSIDE

    def __init__(self, labels: Sequence[str]) -> None:
        self._types = {label: number for number, label in enumerate(labels)}

    def constraints(self) -> Constraints:
        return biluo_constraints(len(self._types))

    def to_learn(self, docs: Sequence[Doc], values: np.ndarray, gold: np.ndarray) -> np.ndarray:
        """An entity that contradicts a gold label constrains nothing, nor does a boundary inside a gold entity."""
        start, iob, entity = values.T
        is_known, bounds = gold != UNKNOWN, (start == 1) & ~continues(gold)
        kinds = np.where(bounds, NO_CONTINUATION, FREE)
        kinds[(iob == IOB_BEGIN) & (entity == 0) & ~is_known] = FIXED + OUTSIDE
        if entity.any():
            first = 0
            for doc in docs:
                tokens = slice(first, first + len(doc))
                self._fix_entities(doc, kinds[tokens], gold[tokens])
                first += len(doc)
        return kinds.astype(np.int32)

    def _fix_entities(self, doc: Doc, kinds: np.ndarray, gold: np.ndarray) -> None:
        """Fix existing entities of known labels; others count as outside in the chain.

        Args:
            gold: int32 [T], gold labels, UNKNOWN where unknown. Other tokens keep their kinds, and so do entities that
                contradict them.
        """
        for entity in doc.ents:
            labels = np.full(len(entity), OUTSIDE)
            if entity.label_ in self._types:
                labels[:] = run(entity.start, entity.end, self._types[entity.label_]).labels
            tokens = slice(entity.start, entity.end)
            is_open = gold[tokens] == UNKNOWN
            if (is_open | (gold[tokens] == labels)).all():
                kinds[tokens] = np.where(is_open, FIXED + labels, kinds[tokens])
