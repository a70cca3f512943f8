"""Entities as parts of a chain, for users' questions, and as limits of its labels."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from spacy.attrs import ENT_IOB, ENT_TYPE, SENT_START
from spacy.tokens import Doc, Span
from spacy.training import Example

from ..inspect.parts import ComparedPart
from ..models.chain.space import TokenKinds
from ..models.named_parts import NamedPart
from ..structures import UNKNOWN
from ..structures.chain import biluo
from ..structures.chain.constraints import Constraints
from ..structures.chain.scored import LabelSequence, Run
from .chain_codec import Tags

IOB_MISSING, IOB_INSIDE, IOB_OUTSIDE, IOB_BEGIN = range(4)
"""spaCy's ENT_IOB."""


class Entities(Tags):
    """The entities of a Doc."""

    query_form = "an entity: a Span with a label, or (start, end, label)"
    impossible = "such as an entity that does not end"
    smallest_doubtful_margin = -1.0

    def named(self, part: Run, first: int) -> NamedPart:
        return NamedPart(first + part.first, first + part.tokens.stop, self.labels[biluo.type_of(part)], part=part)

    def parts(self, y: LabelSequence, first: int) -> list[NamedPart]:
        return [self.named(biluo.run(*segment), first) for segment in biluo.segments(y.labels)]

    def part(self, named: NamedPart, first: int) -> Run:
        self.require_known(named.label)
        return biluo.run(named.start - first, named.end - first, self.labels.index(named.label))

    def listing(self, values: Any, min_score: float) -> Iterable[tuple[Run, float]]:
        return biluo.segments_above(values, min_score)

    def item(self, part: NamedPart) -> tuple[int, int, str]:
        return part[:3]

    def from_query(self, item: Any) -> NamedPart:
        if isinstance(item, Span):
            return NamedPart(item.start, item.end, item.label_)
        start, end, label = item
        return NamedPart(start, end, label)

    def compared(self, example: Example) -> list[ComparedPart]:
        """An entity that is missed is paired with one that overlaps it, others with nothing; as spaCy's scorer does,
        they are compared by gold tokens."""
        reference, to_gold, to_predicted = example.reference, example.alignment.x2y, example.alignment.y2x
        if not reference.has_annotation("ENT_IOB"):
            return []
        gold = {(entity.start, entity.end, entity.label_) for entity in reference.ents}
        listed, spare = [], []
        for entity in example.predicted.ents:
            place = to_gold[entity.start : entity.end]
            key = int(place[0]), int(place[-1]) + 1, entity.label_
            if key in gold:
                gold.remove(key)
                listed.append(ComparedPart(entity.start, entity.end, entity.label_, entity.label_))
            elif all(token.ent_iob for token in reference[key[0] : key[1]]):
                spare.append(entity)
        for first, last, label in sorted(gold):
            place = to_predicted[first:last]
            start, end = int(place[0]), int(place[-1]) + 1
            other = next((entity for entity in spare if entity.start < end and start < entity.end), None)
            if other is None:
                listed.append(ComparedPart(start, end, label, None))
                continue
            spare.remove(other)
            elsewhere = None if (other.start, other.end) == (start, end) else (other.start, other.end)
            if elsewhere is None and other.label_ == label:
                # Only gold tokens tell them apart.
                listed += [ComparedPart(start, end, label, None), ComparedPart(start, end, None, label)]
            else:
                listed.append(ComparedPart(start, end, label, other.label_, None, elsewhere))
        listed += [ComparedPart(entity.start, entity.end, None, entity.label_) for entity in spare]
        return sorted(listed, key=lambda part: part[:2])

    def missed(self, mistake: ComparedPart) -> Any:
        return None if mistake.gold is None else (mistake.start, mistake.end, mistake.gold)


class EntityKinds(TokenKinds):
    """Tokens after a sentence boundary, blocked tokens, and tokens of entities that stay."""

    attributes = constraining = (SENT_START, ENT_IOB, ENT_TYPE)
    outside = biluo.OUTSIDE

    def __init__(self, labels: Sequence[str]) -> None:
        self._types = {label: number for number, label in enumerate(labels)}

    def constraints(self) -> Constraints:
        return biluo.biluo_constraints(len(self._types))

    def to_learn(self, docs: Sequence[Doc], values: np.ndarray, gold: np.ndarray) -> np.ndarray:
        """An entity that contradicts a gold label constrains nothing, nor does a boundary inside a gold entity."""
        start, iob, entity = values.T
        is_known, bounds = gold != UNKNOWN, (start == 1) & ~biluo.continues(gold)
        kinds = np.where(bounds, biluo.NO_CONTINUATION, biluo.FREE)
        kinds[(iob == IOB_BEGIN) & (entity == 0) & ~is_known] = biluo.FIXED + biluo.OUTSIDE
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
            labels = np.full(len(entity), biluo.OUTSIDE)
            if entity.label_ in self._types:
                labels[:] = biluo.run(entity.start, entity.end, self._types[entity.label_]).labels
            tokens = slice(entity.start, entity.end)
            is_open = gold[tokens] == UNKNOWN
            if (is_open | (gold[tokens] == labels)).all():
                kinds[tokens] = np.where(is_open, biluo.FIXED + labels, kinds[tokens])
