"""Checks of the annotation that `ssvm_tagger` learns from."""

from collections import Counter
from collections.abc import Collection

from ...pipeline.tagger import SsvmTagger
from .corpora import CorpusData
from .finding import Finding
from .labels import Report, check_labels, check_missing


def check(pipe: SsvmTagger, train: CorpusData, dev: CorpusData, listed: Collection[str] | None) -> Report:
    """Check both corpora. listed: the labels that `initialize` is given, if it is."""
    counts: list[Counter[str]] = []
    findings: list[Finding] = []
    for corpus in (train, dev):
        gold = [pipe._gold(example) for example in corpus.examples]
        counts.append(Counter(tag for tags in gold for tag in tags if tag is not None))
        findings += check_missing(corpus, [sum(tag is None for tag in tags) for tags in gold], "gold tag")
    return Report(counts[0], findings + check_labels(pipe, counts[0], counts[1], listed))
