"""The arcs of dependency trees as parts, for users' questions, and the output space of a parser."""

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
from spacy.attrs import DEP, HEAD, SENT_START
from spacy.tokens import Doc
from spacy.training import Example

from ..corpus.checks.trees import circles
from ..inspect.parts import ComparedPart
from ..models.named_parts import NamedPart
from ..models.tree.factors import ArcNames
from ..structures import CYCLE, SECOND_ROOT, UNKNOWN, Contradiction
from ..structures.tree.limits import Limits
from ..structures.tree.scored import heads_above
from ..wording import token_name
from .gold_trees import ROOT, UNNAMED, arcs, known_tree
from .long_sentences import parts
from .patterns import Patterns


class Arcs(ArcNames):
    """The arcs of trees: `inspect.parts.AnnotationParts`."""

    query_form = "an arc: (head, token, label), where a root is its own head"
    impossible = "such as crossing arcs where only projective trees are built, or a second root"
    smallest_doubtful_margin = -1.0

    def listing(self, values: Any, min_score: float) -> Iterable[tuple[Any, float]]:
        return heads_above(values, min_score)

    def item(self, part: NamedPart) -> tuple[int | None, int, str]:
        return part.head, part.start, part.label

    def from_query(self, item: Any) -> NamedPart:
        head, token, label = item
        return NamedPart(token, token + 1, label, operator.index(head))

    def known(self, example: Example, bounds: Sequence[tuple[int, int]]) -> list[Any]:
        heads, labels = arcs(example)
        return [known_tree(heads, labels, first, end, self.labels) for first, end in bounds]

    def compared(self, example: Example) -> list[ComparedPart]:
        heads, labels = cast(Any, example).get_aligned_parse(projectivize=False)
        listed = []
        for token, head, label in zip(example.predicted, heads, labels):
            if head is not None and label:
                is_root = head == token.i == token.head.i  # Whatever its label is, for the scores too.
                predicted = label if is_root else token.dep_ or None
                elsewhere = None if head == token.head.i else (token.head.i, token.head.i + 1)
                listed.append(ComparedPart(token.i, token.i + 1, label, predicted, head, elsewhere))
        return listed

    def missed(self, mistake: ComparedPart) -> Any:
        return mistake.head, mistake.start, mistake.gold


@dataclass(frozen=True)
class ParserSpace:
    """The output space of a parser's trees, a `models.tree.space.TreeSpace`, with the codec's settings."""

    structure: ClassVar[str] = "ssvm_tree"
    architecture: ClassVar[str] = "spacy-ssvm.Tree.v1"
    constraining: ClassVar[tuple[int, ...]] = (SENT_START,)
    unnamed: ClassVar[str] = UNNAMED

    name: str
    labels: tuple[str, ...]
    multi_root: bool
    overwrite: bool
    patterns: Patterns | tuple[()]
    unlearnt: tuple[str, ...]

    def sentences(self, docs: Sequence[Doc], starts: np.ndarray, sent_start: np.ndarray) -> np.ndarray:
        is_first = sent_start == 1
        is_first[starts[:-1][np.diff(starts) > 0]] = True
        return parts(docs, np.flatnonzero(is_first))

    def limits(self, docs: Sequence[Doc], starts: np.ndarray) -> Limits | None:
        labels = self.labels
        preferred = np.array([label == ROOT or label not in self.unlearnt for label in labels])
        # Only a label can be preferred to another one that arcs between tokens can have.
        preferred |= not preferred[1:].any()
        is_kept = not self.overwrite and any(doc.has_annotation("DEP") for doc in docs)
        if not self.patterns and not is_kept and preferred.all():
            return None
        n_tokens = int(starts[-1])
        heads, allowed = np.full(n_tokens, UNKNOWN, np.int32), np.tile(preferred, (n_tokens, 1))
        if not self.overwrite:
            part = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
            offsets, deps = np.concatenate([doc.to_array([HEAD, DEP]).reshape(-1, 2) for doc in docs]).T
            above = np.arange(n_tokens) + offsets.astype(np.int64)
            given = np.flatnonzero(deps != 0)
            outside = given[part[above[given]] != part[given]]
            if len(outside):
                _check_across(docs, np.where(deps != 0, above, UNKNOWN), outside, self.multi_root)
            heads[given] = np.where(above == np.arange(n_tokens), 0, above - starts[part] + 1)[given]
            # What leads to another part of a long sentence does not limit the tree of its own part.
            heads[outside] = UNKNOWN
            numbers = {docs[0].vocab.strings.add(label): number for number, label in enumerate(labels)}
            for token in given[heads[given] > 0].tolist():
                number = numbers.get(int(deps[token]), 0)
                if number > 0:
                    allowed[token] = False
                    allowed[token, number] = True
        if self.patterns:
            tokens, left = self.patterns.allowed(docs, labels, heads == UNKNOWN)
            has_preferred = (left & preferred)[:, 1:].any(axis=1, keepdims=True)
            allowed[tokens] = np.where(has_preferred, left & preferred, left)
        limits = Limits(heads, allowed)
        return limits if limits.are_any() else None


def _check_across(docs: Sequence[Doc], heads: np.ndarray, outside: np.ndarray, multi_root: bool) -> None:
    """Check the given heads if some are outside the part of a sentence in which their modifier is parsed.

    Args:
        heads: int64 [T], as tokens, counted through all Docs; UNKNOWN where none is given.
        outside: int64, the tokens whose heads are outside.

    Raises:
        Contradiction: a head is in another sentence, or the heads in several parts of a sentence contradict each other.
    """
    is_start = np.concatenate([doc.to_array([SENT_START]) == 1 for doc in docs])
    is_start[np.cumsum([0, *map(len, docs)])[:-1][np.array([len(doc) > 0 for doc in docs])]] = True
    sentence = np.cumsum(is_start)
    for token in outside[sentence[heads[outside]] != sentence[outside]][:1].tolist():
        head = token_name(docs, int(heads[token])).partition(" of ")[0]
        raise Contradiction(token, f"its head, {head}, is in another sentence")
    for token in circles(heads)[-1:].tolist():
        raise Contradiction(token, CYCLE)
    roots = np.flatnonzero(heads == np.arange(len(heads)))
    second = roots[1:][sentence[roots[1:]] == sentence[roots[:-1]]]
    if len(second) and not multi_root:
        raise Contradiction(int(second[0]), SECOND_ROOT)
