"""Where predictions differ from the gold annotation, and what was taken for what."""

from collections.abc import Callable
from typing import Any, NamedTuple, cast

from spacy.training import Example

from .learning import LearningPipe
from .ner import SsvmNer
from .parser import SsvmParser
from .senter import INSIDE, START, SsvmSenter
from .tagger import SsvmTagger

NOTHING = "-"


class Mistake(NamedTuple):
    """Tokens start … end − 1 of the predicted Doc: what they are by the gold annotation, and what was predicted."""

    start: int
    end: int
    gold: str
    predicted: str


def mistakes(pipe: LearningPipe, example: Example) -> list[Mistake]:
    """Those of one component, in the order of the tokens; what the gold annotation leaves open is none."""
    return next(find for kind, find in KINDS.items() if isinstance(pipe, kind))(pipe, example)


def _of_tags(pipe: SsvmTagger, example: Example) -> list[Mistake]:
    gold, attribute = pipe._gold(example), f"{pipe.cfg['attr']}_"
    found = [getattr(token, attribute) for token in example.predicted]
    return [Mistake(i, i + 1, one, other) for i, (one, other) in enumerate(zip(gold, found)) if one and one != other]


def _of_starts(pipe: SsvmSenter, example: Example) -> list[Mistake]:
    names = {START: "start", INSIDE: "no start"}
    found = [names[START if token.is_sent_start else INSIDE] for token in example.predicted]
    pairs = [(i, names[one], other) for i, (one, other) in enumerate(zip(pipe._gold(example), found)) if one]
    return [Mistake(i, i + 1, one, other) for i, one, other in pairs if one != other]


def _of_entities(pipe: SsvmNer, example: Example) -> list[Mistake]:
    """An entity that is missed is paired with one that overlaps it, others with nothing."""
    gold = {(e.start, e.end, e.label_) for e in example.get_aligned_spans_y2x(example.reference.ents)}
    found = {(e.start, e.end, e.label_) for e in example.predicted.ents}
    known = [tag is not None for tag in example.get_aligned_ner()]
    listed = []
    for start, end, label in gold - found:
        others = sorted(other for other in found if other[0] < end and start < other[1])
        taken = next((f"{label}, other tokens" if other[2] == label else other[2] for other in others), NOTHING)
        listed.append(Mistake(start, end, label, taken))
    for start, end, label in found - gold:
        overlaps = any(other[0] < end and start < other[1] for other in gold)
        if all(known[start:end]) and not overlaps:
            listed.append(Mistake(start, end, NOTHING, label))
    return sorted(listed)


def _of_arcs(pipe: SsvmParser, example: Example) -> list[Mistake]:
    heads, labels = cast(Any, example).get_aligned_parse(projectivize=False)
    listed = []
    for token, head, label in zip(example.predicted, heads, labels):
        is_root = head == token.i == token.head.i  # Whatever its label is, for the scores too.
        if head is not None and label and not is_root and (head != token.head.i or label != token.dep_):
            other = token.dep_ if head == token.head.i else f"{token.dep_}, other head"
            listed.append(Mistake(token.i, token.i + 1, label, other))
    return listed


KINDS: dict[type[LearningPipe], Callable[[Any, Example], list[Mistake]]] = {
    SsvmTagger: _of_tags,
    SsvmSenter: _of_starts,
    SsvmNer: _of_entities,
    SsvmParser: _of_arcs,
}
