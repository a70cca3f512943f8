"""The gold trees of an example: annotated heads and labels, cut into the sentences that are learnt from."""

from collections.abc import Sequence

import numpy as np
from spacy.attrs import DEP, HEAD
from spacy.tokens import Doc
from spacy.training import Example

from ..corpus.checks.trees import circles, headless
from ..corpus.reader import same_tokens
from ..models.named_parts import numbers_of
from ..models.tree.space import TreeGold
from ..structures import NONE_OF_THESE, UNKNOWN
from ..structures.tree.scored import KnownTree
from .codec import sent_starts
from .long_sentences import parts

ROOT = "ROOT"
"""The label of all roots in spaCy."""
UNNAMED = "dep"
"""spaCy's label of an unclassified dependency."""

FLAWS = ("headless", "circular", "crossing", "cut", "second", "named", "unnamed")
"""Flaws of gold trees, as keys of `TreeGold.flaws`.

Left out are tokens with a relation and no head; sentences whose heads contain a cycle, counted at the first token;
heads in another sentence, or across a cut in a long one. Further flaws: second roots of sentences that may have one;
roots with another relation than ROOT; and tokens with a head that have this relation.
"""


def sentence_starts(doc: Doc) -> np.ndarray | None:
    """The known first tokens of sentences, int64, token 0 among them; None if nothing is known."""
    if not len(doc) or not doc.has_annotation("SENT_START"):
        return None
    starts = sent_starts(doc) == 1
    starts[0] = True
    return np.flatnonzero(starts)


def sets_all_starts(doc: Doc) -> bool:
    """Whether every token after the first is annotated as a sentence start or not."""
    return doc.has_annotation("SENT_START", require_complete=True)


def _are_crossed(starts: np.ndarray, heads: np.ndarray) -> np.ndarray:
    """Whether an arc joins tokens on both sides of each start, bool [S]; heads: int64 [T], UNKNOWN where unknown."""
    tokens = np.flatnonzero(heads != UNKNOWN)
    left, right = np.sort([tokens, heads[tokens]], axis=0)
    # A start s is crossed by the arcs with left < s <= right.
    arcs_over = np.zeros(len(heads) + 1, np.int64)
    np.add.at(arcs_over, left + 1, 1)
    np.add.at(arcs_over, right + 1, -1)
    return np.asarray(np.cumsum(arcs_over)[starts] > 0)


def _completed(doc: Doc, gold: np.ndarray) -> np.ndarray:
    """The Doc's own sentence starts, and gold ones where its own are not set; both int64."""
    starts = sent_starts(doc)
    starts[gold[starts[gold] == 0]] = 1
    starts[0] = 1
    return np.flatnonzero(starts == 1)


def gold_trees(example: Example, multi_root: bool) -> TreeGold:
    """The gold trees of an example.

    Boundaries of the predicted Doc take precedence over gold boundaries, except where gold arcs cross them: crossed
    boundaries are removed, and gold ones are added.

    Args:
        multi_root: a sentence may have several roots. spaCy derives a sentence from each root, so the gold annotation
            does not have the boundaries: a predicted Doc without boundaries is one sentence.
    """
    predicted, reference = example.predicted, example.reference
    tokens = np.arange(len(predicted))
    heads, labels = arcs(example)
    without = headless(heads, labels, multi_root)
    heads[without] = UNKNOWN
    starts = sentence_starts(predicted)
    gold = None
    if not multi_root:
        gold = sentence_starts(reference) if same_tokens(example) else _aligned_starts(example)
    second = tokens[:0] if gold is None else _second_roots(heads, gold)
    if gold is not None and len(without):
        # spaCy has derived boundaries from them, too.
        gold = gold[~_are_crossed(gold, heads)]
    if starts is None:
        starts = gold
    elif gold is not None and not sets_all_starts(predicted):
        starts = _completed(predicted, gold)
    elif (crossed := _are_crossed(starts, heads)).any():
        starts = starts[~crossed] if gold is None else np.union1d(starts[~crossed], gold)
    if starts is None:
        starts = tokens[:1]
    bounds = parts([predicted], starts)
    number, whole = (np.searchsorted(firsts, tokens, "right") - 1 for firsts in (bounds[:-1], starts))
    circular = np.unique(number[circles(heads)])
    is_circular = np.isin(number, circular)
    heads[is_circular] = UNKNOWN
    outside = (heads != UNKNOWN) & (number[heads] != number)
    crossing = outside & (whole[heads] != whole)
    heads[outside] = UNKNOWN
    is_root = heads == tokens
    has_root = np.array([label == ROOT for label in labels], np.bool_)
    has_other = np.array([(label or ROOT).lower() not in ("root", UNNAMED) for label in labels], np.bool_)
    is_left_out = is_circular.copy()
    is_left_out[without] = True
    labels = [
        ROOT if root else None if left_out or label == ROOT else label
        for label, root, left_out in zip(labels, is_root.tolist(), is_left_out.tolist())
    ]
    local = np.where(heads == UNKNOWN, UNKNOWN, np.where(is_root, 0, heads - bounds[number] + 1)).astype(np.int32)
    across = map(np.flatnonzero, (crossing, outside & ~crossing))
    contrary = map(np.flatnonzero, (is_root & has_other, has_root & ~is_root & (local != UNKNOWN)))
    flaws = zip(FLAWS, (without, bounds[circular], *across, second, *contrary), strict=True)
    return TreeGold(bounds, local, labels, dict(flaws))


def arcs(example: Example) -> tuple[np.ndarray, list[str | None]]:
    """The head of each predicted token as a token, int64, UNKNOWN where it or its label is unknown, and its label."""
    reference = example.reference
    if same_tokens(example):
        dep = np.asarray(reference.to_array(DEP), np.uint64)
        offsets = np.asarray(reference.to_array(HEAD)).astype(np.int64)
        heads = np.where(dep == 0, UNKNOWN, np.arange(len(reference)) + offsets)
        strings = reference.vocab.strings
        return heads, [strings[int(label)] if label else None for label in dep]
    aligned, labels = example.get_aligned_parse(projectivize=False)  # type: ignore[no-untyped-call]
    known = [UNKNOWN if head is None or not label else head for head, label in zip(aligned, labels)]
    return np.array(known, np.int64), [label or None for label in labels]


def known_tree(
    heads: np.ndarray, labels: Sequence[str | None], first: int, end: int, weight_labels: Sequence[str]
) -> KnownTree:
    """The known part of the gold tree of the sentence of tokens first … end − 1.

    Args:
        heads, labels: from `arcs`, of the whole Doc. A head in another sentence becomes NONE_OF_THESE; the label of a
            root is not learnt.
    """
    own = heads[first:end]
    is_root = own == np.arange(first, end)
    inside = (own >= first) & (own < end)
    places = np.where(inside, own - first + 1, NONE_OF_THESE)
    places = np.where(is_root, 0, np.where(own == UNKNOWN, UNKNOWN, places))
    numbers = numbers_of([None if name == ROOT else name for name in labels[first:end]], weight_labels)
    return KnownTree(places, np.where(is_root, UNKNOWN, numbers))


def _aligned_starts(example: Example) -> np.ndarray | None:
    found = example.get_aligned_sent_starts()  # type: ignore[no-untyped-call]
    if not any(found):
        return None
    starts = np.array([bool(start) and start != -1 for start in found])
    starts[0] = True
    return np.flatnonzero(starts)


def _second_roots(heads: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The roots that are not the first one of their sentence, int64."""
    roots = np.flatnonzero(heads == np.arange(len(heads)))
    sentence = np.searchsorted(starts, roots, "right")
    return np.asarray(roots[1:][sentence[1:] == sentence[:-1]])
