"""Checks of documents and tokens, whatever their annotation."""

import numpy as np
from spacy.attrs import SENT_START
from spacy.tokens import Doc

from .corpora import CorpusData, example_name, has_own_tokens
from .issue import Issue, issues, place, whole


def check(train: CorpusData, dev: CorpusData) -> list[Issue]:
    """What is wrong with the documents of both corpora, and between them."""
    found = []
    for corpus in (train, dev):
        found += _unread(corpus) + _too_long(corpus) + _duplicates(corpus) + _misaligned(corpus)
    return found + _overlap(train, dev)


def _unread(corpus: CorpusData) -> list[Issue]:
    if corpus.failure is not None:
        return issues("error", corpus.name, "errors that stop the reader", [corpus.failure], "repair the document")
    if not corpus.examples:
        return [Issue("error", corpus.name, "examples", 0, (), "the corpus is empty: check its path")]
    what = "documents that the reader cannot read, and leaves out"
    return issues("error", corpus.name, what, corpus.left_out, "repair them")


def _too_long(corpus: CorpusData) -> list[Issue]:
    """Documents that spaCy's reader leaves out without a word."""
    if corpus.gold_preproc or not corpus.max_length:
        return []
    lost = [
        whole(name, doc)
        for name, doc in corpus.documents
        if len(doc) >= corpus.max_length and _longest_piece(doc) >= corpus.max_length
    ]
    return issues(
        "error",
        corpus.name,
        f"documents with sentences of max_length = {corpus.max_length} tokens or more, or without sentences, which the "
        "reader leaves out",
        lost,
        "raise max_length, set it to 0, or annotate sentences",
    )


def _longest_piece(doc: Doc) -> int:
    starts = np.flatnonzero(np.asarray(doc.to_array(SENT_START))[1:] == 1) + 1
    return int(np.diff(np.concatenate([[0], starts, [len(doc)]])).max())


def _duplicates(corpus: CorpusData) -> list[Issue]:
    first: dict[str, str] = {}
    repeated = []
    for name, doc in corpus.documents:
        if doc.text in first:
            repeated.append(f"{whole(name, doc)}, as {first[doc.text]}")
        first.setdefault(doc.text, name)
    remedy = "leave them out, unless texts do repeat themselves in use"
    return issues(
        "warning", corpus.name, "documents that repeat an earlier one", repeated, remedy, len(corpus.documents)
    )


def _misaligned(corpus: CorpusData) -> list[Issue]:
    where = []
    for number, example in enumerate(corpus.examples):
        if has_own_tokens(example):
            predicted = example.predicted
            shared = example.alignment.y2x.lengths
            for token, gold in enumerate(example.alignment.x2y):
                if len(gold) != 1 or shared[gold[0]] != 1:
                    where.append(place(example_name(number), predicted, token, token + 1))
    return issues(
        "warning",
        corpus.name,
        "tokens that are not those of the annotation",
        where,
        "they have little or no gold annotation: adapt the tokenizer, or train on gold tokens (gold_preproc = true)",
        corpus.n_tokens,
    )


def _overlap(train: CorpusData, dev: CorpusData) -> list[Issue]:
    known = {doc.text: name for name, doc in train.documents}
    where = [f"{whole(name, doc)}, as {known[doc.text]}" for name, doc in dev.documents if doc.text in known]
    return issues(
        "warning",
        dev.name,
        "documents that are in the training corpus, too",
        where,
        "scores on them say nothing about new text: leave them out of one of the corpora",
        len(dev.documents),
    )
