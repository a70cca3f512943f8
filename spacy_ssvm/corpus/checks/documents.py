"""Checks for all components: labels, missing annotation, documents and tokens."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from spacy.attrs import SENT_START
from spacy.tokens import Doc

from ...wording import counted
from ..reader import same_tokens
from .corpora import SAME_TOKENS, CorpusData, Issue, check, example_name, issues, place, whole

BOUNDLESS = 200
"""The number of tokens without a sentence boundary that is far above that of a sentence."""

RARE = 20
"""The number of occurrences below which a label counts as rare."""


class Report(NamedTuple):
    """The result of a component's checks.

    Attributes:
        labels: the occurrences of each label in the training corpus, as seen in training.
        issues: of both corpora.
    """

    labels: Counter[str]
    issues: list[Issue]


def check_labels(
    name: str, labels: Collection[str], train: Counter[str], dev: Counter[str], listed: Collection[str] | None
) -> list[Issue]:
    """Issues of the labels. name, labels: of the component. listed: the labels in [initialize], or None."""
    if not train:
        return [Issue("error", "train", "labels", 0, (), "annotate the corpus, or remove the component")]
    all_issues = []
    if listed is not None:
        known = {*labels, *listed}
        unlisted = _counted(train, train.keys() - known)
        remedy = f"their tokens count as not annotated: add them to [initialize.components.{name}.labels]"
        all_issues += issues("error", "train", "labels that initialize is not given", unlisted, remedy)
        what, unused = "labels that initialize is given, but that never occur", sorted(known - train.keys())
        remedy = "nothing is learnt about them: remove them from the list, or add examples"
        all_issues += issues("warning", "train", what, unused, remedy)
    rare = _counted(train, [label for label, count in train.items() if count < RARE])
    what, remedy = f"labels with fewer than {RARE} occurrences", "add examples, or merge labels"
    all_issues += issues("warning", "train", what, rare, remedy)
    new = _counted(dev, dev.keys() - train.keys())
    remedy = "they are never predicted: look for misspellings, or add training examples"
    return all_issues + issues("warning", "dev", "labels that the training corpus does not have", new, remedy)


def check_missing(corpus: CorpusData, missing: Sequence[int], what: str, is_completed: bool = True) -> list[Issue]:
    """Issues of missing annotation; missing: the number of tokens without it in each example, what: its name.

    Args:
        is_completed: whether the model fills in what is missing in an example with some annotation.
    """
    where = [
        f"{whole(example_name(number), example.predicted)} ({counted(n_missing, 'token')})"
        for number, (example, n_missing) in enumerate(zip(corpus.examples, missing))
        if n_missing
    ]
    if not where:
        return []
    remedy = (
        "they are not scored"
        if corpus.name != "train"
        else "examples with no annotation are skipped; in the others the model fills in what is missing"
        if is_completed
        else "nothing is learnt from them"
    )
    count = int(sum(missing))
    return [Issue("warning", corpus.name, f"tokens without {what}", count, tuple(where), remedy, corpus.n_tokens)]


def _counted(counts: Counter[str], labels: Collection[str]) -> list[str]:
    return [f"{label} ({counts[label]:,})" for label in sorted(labels, key=lambda label: (-counts[label], label))]


def check_documents(train: CorpusData, dev: CorpusData) -> list[Issue]:
    """Issues of the documents in each corpus, and of documents in both."""
    all_issues = []
    for corpus in (train, dev):
        all_issues += _unread(corpus) + _too_long(corpus) + _boundless(corpus) + _duplicates(corpus)
        all_issues += (_misaligned(corpus) or _retokenised(corpus)) + _untagged(corpus)
    return all_issues + _of_another_kind(train, dev) + _overlap(dev, train)


def _unread(corpus: CorpusData) -> list[Issue]:
    if corpus.failure is not None:
        return issues("error", corpus.name, "errors that stop the reader", [corpus.failure], "repair the document")
    if not corpus.examples:
        return [Issue("error", corpus.name, "examples", 0, (), "the corpus is empty: check its path")]
    what = f"{corpus.pieces} that the reader cannot read, and leaves out"
    return issues("error", corpus.name, what, corpus.left_out, "repair them")


def _too_long(corpus: CorpusData) -> list[Issue]:
    """Documents that spaCy's reader leaves out silently."""
    if corpus.gold_preproc or not corpus.max_length:
        return []
    left_out = [whole(name, doc) for name, doc in corpus.documents if _longest_piece(doc) >= corpus.max_length]
    what = (
        f"documents with sentences of max_length = {corpus.max_length} tokens or more, or without sentences, which the "
        "reader leaves out"
    )
    return issues("error", corpus.name, what, left_out, "raise max_length, set it to 0, or annotate sentences")


@check(
    "info",
    f"examples with {BOUNDLESS} tokens or more without a sentence boundary",
    "taggers and recognisers learn from pieces of them, a parser cuts them: set boundaries where there are any "
    "(a file for spacy convert has empty lines between sentences, without a tab or a space)",
    lambda corpus: len(corpus.examples),
)
def _boundless(corpus: CorpusData) -> list[str]:
    """Examples that are far longer than a sentence."""
    return [
        f"{whole(example_name(number), example.reference)} ({_longest_piece(example.reference):,} tokens)"
        for number, example in enumerate(corpus.examples)
        if _longest_piece(example.reference) >= BOUNDLESS
    ]


def _of_another_kind(train: CorpusData, dev: CorpusData) -> list[Issue]:
    """Sentences in one corpus, documents without boundaries in the other one, by the share of tokens."""
    shares = [_share_of_boundless(corpus) for corpus in (train, dev)]
    if not train.examples or not dev.examples or (shares[0] > 0.5) == (shares[1] > 0.5):
        return []
    kinds = " and ".join(
        f"{100 * share:.0f} % of the tokens of {corpus.name}" for share, corpus in zip(shares, (train, dev))
    )
    what = f"examples of another kind than those of {train.name}: {kinds} are in documents without sentence boundaries"
    remedy = (
        "a model can be several points worse on the other kind, most of all one of sentences on documents: train on "
        "documents as they come in use"
    )
    return [Issue("warning", dev.name, what, len(dev.examples), (), remedy)]


def _share_of_boundless(corpus: CorpusData) -> float:
    """The share of a corpus's tokens that is in examples that are far longer than a sentence."""
    references = [example.reference for example in corpus.examples]
    n_tokens = sum(len(doc) for doc in references if _longest_piece(doc) >= BOUNDLESS)
    return n_tokens / max(1, sum(map(len, references)))


def _longest_piece(doc: Doc) -> int:
    starts = np.flatnonzero(np.asarray(doc.to_array(SENT_START))[1:] == 1) + 1
    return int(np.diff(np.concatenate([[0], starts, [len(doc)]])).max())


@check(
    "warning",
    "documents that repeat an earlier one",
    "remove them, unless texts are repeated in use, too",
    lambda corpus: len(corpus.documents),
)
def _duplicates(corpus: CorpusData) -> Iterator[str]:
    first: dict[str, str] = {}
    for name, doc in corpus.documents:
        if doc.text in first:
            yield f"{whole(name, doc)}, as {first[doc.text]}"
        first.setdefault(doc.text, name)


@check(
    "warning",
    "tokens that differ from the tokens of the annotation",
    f"they have little or no gold annotation: {SAME_TOKENS}",
    lambda corpus: corpus.n_tokens,
)
def _misaligned(corpus: CorpusData) -> Iterator[str]:
    for number, example in enumerate(corpus.examples):
        if not same_tokens(example):
            predicted = example.predicted
            shared = example.alignment.y2x.lengths
            for token, gold in enumerate(example.alignment.x2y):
                if len(gold) != 1 or shared[gold[0]] != 1:
                    yield place(example_name(number), predicted, token, token + 1)


def _retokenised(corpus: CorpusData) -> list[Issue]:
    """Issues of tokens that components see in training, but not in raw text."""
    again = corpus.retokenised
    if again is None:
        return []
    documents = [(corpus.documents[number], tokens) for number, tokens in again.misfits]
    where = [place(name, doc, token, token + 1) for (name, doc), tokens in documents for token in tokens.tolist()]
    same = f"{again.n_docs - len(again.misfits):,} of {counted(again.n_docs, 'document')} are tokenised as annotated"
    what = f"tokens that the tokenizer does not find in the raw text ({same})"
    remedy = f"on text, the components see other tokens than in training: {again.remedy}"
    return issues("info" if again.fits else "warning", corpus.name, what, where, remedy, again.n_tokens)


def _untagged(corpus: CorpusData) -> list[Issue]:
    """Columns that the reader cannot jackknife, at which training stops."""
    all_issues = []
    for column in corpus.jackknife if corpus.examples else ():
        n_annotated = sum(example.reference.has_annotation(column.upper()) for example in corpus.examples)
        if n_annotated < 2:
            what = f"examples with a gold {column}, which the reader is to jackknife"
            remedy = f'it takes two, or training stops: annotate the corpus, or remove "{column}" from jackknife'
            all_issues.append(Issue("error", corpus.name, what, n_annotated, (), remedy, len(corpus.examples)))
    return all_issues


@check(
    "warning",
    "documents that are also in the training corpus",
    "scores on them say nothing about new text: remove them from one of the corpora",
    lambda dev: len(dev.documents),
)
def _overlap(dev: CorpusData, train: CorpusData) -> list[str]:
    known = {doc.text: name for name, doc in train.documents}
    return [f"{whole(name, doc)}, as {known[doc.text]}" for name, doc in dev.documents if doc.text in known]
