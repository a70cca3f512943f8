"""Checks of the annotation that `ssvm_parser` learns from."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from spacy.attrs import DEP, HEAD, SENT_START
from spacy.tokens import Doc

from ...models.tree.space import TreeGold
from ...structures import UNKNOWN
from ...words import words_of
from .corpora import CorpusData, Document, Issue, Severity, check, example_name, issues, place, whole

_MULTI_ROOT = "or, if each document is one sentence, set multi_root = true and gold_preproc = false"


def check_documents(corpus: CorpusData, several_roots_are_wrong: bool, multi_root: bool) -> list[Issue]:
    """Issues of the trees in the documents of a corpus.

    Args:
        several_roots_are_wrong: a sentence has a single root.
        multi_root: the component's setting.
    """
    all_issues = _below_whitespace(corpus)
    corpus = replace(corpus, documents=[Document(name, words_of(doc)) for name, doc in corpus.documents])
    all_issues += _headless(corpus, multi_root) + _circular(corpus)
    return all_issues + _across_sentences(corpus) + _several_roots(corpus) if several_roots_are_wrong else all_issues


def check_gold(corpus: CorpusData, gold: Sequence[TreeGold], max_sentence: int, is_projective: bool) -> list[Issue]:
    """Issues in the trees that the parser is trained on.

    Args:
        gold: the trees of each example.
        max_sentence: the largest number of tokens of a sentence that is not cut.
        is_projective: whether the component builds projective trees only.
    """
    return _too_long(corpus, gold, max_sentence) + _nonprojective(corpus, gold, is_projective)


def arcs(doc: Doc) -> np.ndarray:
    """The head of each token as a token, itself for a root, int64 [T]; UNKNOWN where it is not annotated."""
    if not len(doc):
        return np.zeros(0, np.int64)
    offsets = np.asarray(doc.to_array(HEAD)).astype(np.int64)
    return np.where(np.asarray(doc.to_array(DEP)) == 0, UNKNOWN, np.arange(len(doc)) + offsets)


def headless(heads: np.ndarray, labels: Sequence[str | None], multi_root: bool) -> np.ndarray:
    """The tokens, int64, that have a relation and no head: spaCy makes each its own head, though it is no root.

    Roots have the label ROOT, or "dep" where relations have no names. A treebank can have other labels for them: these
    count in Docs with arcs between tokens, if ROOT does not occur there or trees have several roots. A Doc without such
    arcs has no heads at all, unless every token is a ROOT.

    Args:
        heads: int64 [T], tokens, UNKNOWN where unknown.
        labels: of T tokens.
        multi_root: trees can have several roots.
    """
    own = np.flatnonzero(heads == np.arange(len(heads)))
    has_arcs = np.count_nonzero(heads != UNKNOWN) > len(own)
    of_roots = ("root", "dep") if has_arcs else ("root",)
    is_root = np.array([(labels[token] or "").lower() in of_roots for token in own.tolist()], np.bool_)
    if is_root.all() or len(heads) == 1:
        return own[:0]
    if not has_arcs:
        return own
    return own[:0] if multi_root or not is_root.any() else own[~is_root]


def circles(heads: np.ndarray) -> np.ndarray:
    """The tokens, int64, ascending, whose heads lead back to themselves; heads: int64 [T], as from `arcs`."""
    outside = len(heads)
    ends = (heads == UNKNOWN) | (heads == np.arange(len(heads)))
    ancestor = np.append(np.where(ends, outside, heads), outside)
    # Each step doubles the distance. A path of T heads or more must go round in a circle.
    for _ in range(outside.bit_length()):
        ancestor = ancestor[ancestor]
    return np.unique(ancestor[ancestor != outside])


def nonprojective(heads: np.ndarray) -> np.ndarray:
    """Whether each arc of a tree is non-projective, bool [n]; heads: int32 [n], places from 1, 0 for a root.

    Such an arc has a token between head and modifier that does not descend from the head.
    """
    n = len(heads)
    tokens = np.arange(1, n + 1)
    parent = np.append(0, heads)
    descends = np.zeros((n + 1, n + 1), np.int32)
    ancestor = tokens
    while ancestor.any():
        descends[ancestor, tokens] = 1
        ancestor = parent[ancestor]
    descends[0, 1:] = 1
    before = np.cumsum(descends, axis=1)
    first, last = np.minimum(heads, tokens), np.maximum(heads, tokens)
    inside = before[heads, last - 1] - before[heads, first]
    return np.asarray(inside < last - first - 1)


@check(
    "warning",
    "words whose head is whitespace",
    "the head of the whitespace is learnt instead; a whitespace root is no head, so that words are left out if "
    "there are several below it: correct the heads",
)
def _below_whitespace(corpus: CorpusData) -> list[str]:
    return [
        place(name, doc, token.i, token.i + 1)
        for name, doc in corpus.documents
        for token in doc
        if token.head.is_space and not token.is_space
    ]


@check(
    "error",
    "tokens with a relation and no head (spaCy makes each its own head, though it is no root)",
    "they are left out: give them heads, or the relation ROOT",
)
def _headless(corpus: CorpusData, multi_root: bool) -> Iterator[str]:
    for name, doc in corpus.documents:
        for token in headless(arcs(doc), [token.dep_ for token in doc], multi_root).tolist():
            yield place(name, doc, token, token + 1)


@check("error", "documents whose heads contain a cycle", "the sentence is left out: correct its heads")
def _circular(corpus: CorpusData) -> list[str]:
    return [
        place(name, doc, int(tokens[0]), int(tokens[-1]) + 1)
        for name, doc in corpus.documents
        if len(tokens := circles(arcs(doc)))
    ]


@check(
    "error",
    "tokens with a head in another sentence (spaCy starts a sentence at the left edge of each root)",
    f"the head is dropped or replaced: give each sentence a single root; {_MULTI_ROOT}",
)
def _across_sentences(corpus: CorpusData) -> Iterator[str]:
    for name, doc in corpus.documents:
        heads = arcs(doc)
        if not len(circles(heads)):
            sentence = np.cumsum(np.asarray(doc.to_array(SENT_START)) == 1)
            outside = (heads != UNKNOWN) & (sentence[heads] != sentence)
            yield from (place(name, doc, token, token + 1) for token in np.flatnonzero(outside).tolist())


@check(
    "warning",
    "documents with several roots, where most have one",
    f"spaCy makes each root a sentence of its own: correct the roots; {_MULTI_ROOT}",
)
def _several_roots(corpus: CorpusData) -> list[str]:
    """Documents with several roots, if most documents have one."""
    n_roots = [int((arcs(doc) == np.arange(len(doc))).sum()) for _, doc in corpus.documents]
    where = [whole(*document) for document, n in zip(corpus.documents, n_roots) if n > 1]
    return where if len(where) < n_roots.count(1) else []


def _too_long(corpus: CorpusData, gold: Sequence[TreeGold], max_sentence: int) -> list[Issue]:
    where = [
        whole(example_name(number), example.predicted)
        for number, (example, trees) in enumerate(zip(corpus.examples, gold))
        if len(trees.flaws["cut"])
    ]
    what = f"examples with a sentence of more than {max_sentence:,} tokens"
    remedy = "the sentence is cut, and heads in another part are dropped: annotate sentence boundaries"
    return issues("error", corpus.name, what, where, remedy)


def _nonprojective(corpus: CorpusData, gold: Sequence[TreeGold], is_projective: bool) -> list[Issue]:
    n_arcs = n_sentences = n_nonprojective = 0
    where = []
    for number, (example, trees) in enumerate(zip(corpus.examples, gold)):
        for first, end in pairwise(trees.sentences.tolist()):
            heads = trees.heads[first:end]
            if (heads == UNKNOWN).any():
                continue
            wrong = np.flatnonzero(nonprojective(heads))
            n_sentences += 1
            n_arcs += len(heads)
            n_nonprojective += len(wrong)
            if len(wrong):
                where.append(place(example_name(number), example.predicted, first + wrong[0], first + wrong[0] + 1))
    if not n_nonprojective:
        return []
    share = 100 * len(where) / n_sentences
    what = f"arcs that are not projective, in {len(where):,} of {n_sentences:,} sentences ({share:.1f} %)"
    severity: Severity = "warning" if is_projective else "info"
    remedy = "the structure can build them"
    if is_projective:
        remedy = (
            "the nearest projective trees are learnt instead, and only projective trees are predicted: if there are "
            'many such arcs, try structure = "nonprojective"'
        )
    return [Issue(severity, corpus.name, what, n_nonprojective, tuple(where), remedy, n_arcs)]
