"""The checks that `spacy ssvm debug-data` makes of the annotation that each component learns from."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from operator import attrgetter
from typing import Any

import numpy as np

from ..corpus.checks import entities, trees
from ..corpus.checks.corpora import CorpusData, Issue
from ..corpus.checks.documents import Report, check_labels, check_missing
from ..models.chain.space import ChainGold
from ..models.tree.space import TreeGold
from ..structures import UNKNOWN
from ..words import example_of_words
from .chain_codec import ChainCodec
from .codec import Codec
from .lemmas.lemmatizer import LemmatizerCodec
from .long_sentences import MAX_SENTENCE
from .ner import NerCodec
from .parser import ParserCodec
from .senter import START, SenterCodec


def no_issues(corpus: CorpusData, gold: Sequence[Any] = ()) -> list[Issue]:
    """Checks nothing."""
    return []


def count_unlabelled(gold: ChainGold) -> int:
    """The number of tokens without a gold label."""
    return sum(label is None for label in gold.labels)


@dataclass(frozen=True)
class AnnotationChecks:
    """The checks of one kind of gold annotation.

    Attributes:
        lacking: the name of the annotation.
        labels: the labels that occur in the gold annotation of an example, each occurrence once; None counts as none.
        count_missing: the number of its tokens that lack it.
        is_completed: whether the model fills in what is missing in an example with some annotation.
        unreadable: the issues of a corpus that prevent all other checks.
        further: the issues of a corpus, given the gold annotation of its examples.
    """

    lacking: str
    labels: Callable[[Any], Iterable[str | None]] = attrgetter("labels")
    count_missing: Callable[[Any], int] = count_unlabelled
    is_completed: bool = True
    unreadable: Callable[[CorpusData], list[Issue]] = no_issues
    further: Callable[[CorpusData, Sequence[Any]], list[Issue]] = no_issues


def check_annotation(codec: Codec, train: CorpusData, dev: CorpusData, listed: Collection[str] | None) -> Report:
    """The issues of a component's gold annotation. listed: the labels that `initialize` is given, or None."""
    checks = checks_of(codec)
    if checks is None:
        remedy = f"those of {type(codec).__name__} are for you to check: debug-data knows nothing of such annotation"
        return Report(Counter(), [Issue("info", "train", "checks of gold annotation", 0, (), remedy)])
    issues = checks.unreadable(train) + checks.unreadable(dev)
    if issues:
        return Report(Counter(), issues)
    counts = []
    for read in (train, dev):
        corpus = replace(read, examples=list(map(example_of_words, read.examples)))
        gold = [codec.gold(example) for example in corpus.examples]
        counts.append(Counter(label for found in gold for label in checks.labels(found) if label is not None))
        missing = [checks.count_missing(found) for found in gold]
        issues += checks.further(corpus, gold)
        issues += check_missing(corpus, missing, checks.lacking, checks.is_completed)
    return Report(counts[0], issues + check_labels(codec.name, codec.labels, counts[0], counts[1], listed))


@singledispatch
def checks_of(codec: Codec) -> AnnotationChecks | None:
    """The checks of a codec's gold annotation; None for an unknown kind."""
    return None


@checks_of.register
def _(codec: ChainCodec) -> AnnotationChecks:
    return AnnotationChecks("gold tag", is_completed=not codec.of_tokens)


@checks_of.register
def _(codec: LemmatizerCodec) -> AnnotationChecks:
    return AnnotationChecks("gold lemma", is_completed=not codec.of_tokens)


@checks_of.register
def _(codec: SenterCodec) -> AnnotationChecks:
    def further(corpus: CorpusData, gold: Sequence[ChainGold]) -> list[Issue]:
        known = [found.labels for found in gold if any(found.labels)]
        if not known or any(START in labels[1:] for labels in known):
            return []
        remedy = (
            "there is no boundary to learn or to score: use documents of several sentences (spacy convert -n 10), and "
            "gold_preproc = false in the reader"
        )
        return [Issue("error", corpus.name, "examples of more than one sentence", 0, (), remedy)]

    return AnnotationChecks("sentence boundaries", further=further)


@checks_of.register
def _(codec: NerCodec) -> AnnotationChecks:
    return AnnotationChecks(
        "entity annotation",
        lambda gold: (tag[2:] for tag in gold.labels if tag is not None and tag[0] in "BU"),
        unreadable=entities.unreadable,
        further=lambda corpus, gold: entities.check_entities(corpus),
    )


@checks_of.register
def _(codec: ParserCodec) -> AnnotationChecks:
    def further(corpus: CorpusData, gold: Sequence[TreeGold]) -> list[Issue]:
        several_roots_are_wrong = not codec.multi_root or corpus.gold_preproc
        found = trees.check_documents(corpus, several_roots_are_wrong, codec.multi_root)
        return found + trees.check_gold(corpus, gold, MAX_SENTENCE, codec.is_projective)

    return AnnotationChecks(
        "a gold head that can be used",
        count_missing=lambda gold: int(np.count_nonzero(gold.heads == UNKNOWN)),
        further=further,
    )
