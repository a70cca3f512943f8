"""The scorer "spacy-ssvm.parser_scorer.v1": spaCy's figures for a parser, and attachment scores over all tokens."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from spacy.attrs import DEP, HEAD, IS_SPACE
from spacy.pipeline.dep_parser import parser_score as spacy_parser_score  # type: ignore[import-not-found]
from spacy.tokens import Doc
from spacy.training import Example

from ..words import example_of_words
from .gold_trees import ROOT


class Counts(NamedTuple):
    """Numbers of tokens in one or more examples.

    Attributes:
        gold: gold tokens whose head is annotated.
        predicted: predicted tokens aligned to these.
        heads: predicted tokens with the right head.
        arcs: predicted tokens with the right head and the right label.
    """

    gold: int
    predicted: int
    heads: int
    arcs: int


def parser_score(examples: Iterable[Example], **settings: Any) -> dict[str, Any]:
    """The scores of "spacy.parser_scorer.v1" with these settings, and "uas" and "las" over all tokens.

    spaCy's "dep_uas" and "dep_las" leave out punctuation and compare labels in lower case. "uas" and "las" count every
    gold token but whitespace, and compare full labels, subtypes included. Where the tokens are the gold ones, both are
    accuracies; otherwise F1 over tokens of the same characters, as in the CoNLL 2018 shared task. Gold tokens without
    annotation are left out; None where that leaves nothing. A token that is its own head is a root, whatever its label.
    """
    examples = list(examples)
    scores: dict[str, Any] = spacy_parser_score(list(map(example_of_words, examples)), **settings)
    total = Counts(*(sum(column) for column in zip(Counts(0, 0, 0, 0), *map(count, examples))))
    scores["uas"] = _f1(total.heads, total)
    scores["las"] = _f1(total.arcs, total)
    return scores


def make_parser_scorer() -> Callable[..., dict[str, Any]]:
    """The registered scorer "spacy-ssvm.parser_scorer.v1"."""
    return parser_score


def count(example: Example) -> Counts:
    """The counts for "uas" and "las" in one example."""
    reference, predicted = example.reference, example.predicted
    gold_heads, gold_labels = _arcs(reference)
    heads, labels = _arcs(predicted)
    to_gold, from_gold = example.alignment.x2y, example.alignment.y2x
    counted = _words(reference) & (gold_labels != 0)
    words = _words(predicted)
    stands_for_counted = np.zeros(len(words), np.bool_)
    stands_for_counted[np.repeat(np.arange(len(words)), to_gold.lengths)[counted[to_gold.data]]] = True

    gold = np.full(len(words), -1)
    single = np.flatnonzero(to_gold.lengths == 1)
    gold[single] = to_gold.data[to_gold.starts[single]]
    gold[single[from_gold.lengths[gold[single]] != 1]] = -1

    compared = np.flatnonzero((gold >= 0) & stands_for_counted & (labels != 0))
    same_head = gold[heads[compared]] == gold_heads[gold[compared]]
    same_label = labels[compared] == gold_labels[gold[compared]]
    return Counts(
        int(counted.sum()),
        int((words & stands_for_counted).sum()),
        int(same_head.sum()),
        int((same_head & same_label).sum()),
    )


def _arcs(doc: Doc) -> tuple[np.ndarray, np.ndarray]:
    """Heads int64 [T] and labels uint64 [T]; label 0 marks a missing head, and all roots have one label."""
    offsets, labels = np.asarray(doc.to_array([HEAD, DEP]), np.uint64).reshape(len(doc), 2).T
    root = np.uint64(doc.vocab.strings.add(ROOT))
    return offsets.astype(np.int64) + np.arange(len(doc)), np.where((offsets == 0) & (labels != 0), root, labels)


def _words(doc: Doc) -> np.ndarray:
    """Which tokens are more than whitespace, bool [T]."""
    return ~np.asarray(doc.to_array(IS_SPACE), np.bool_)


def _f1(right: int, counts: Counts) -> float | None:
    return 2 * right / (counts.gold + counts.predicted) if counts.gold else None
