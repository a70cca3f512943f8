"""Checks of the annotation that `ssvm_senter` learns from."""

from collections import Counter
from collections.abc import Collection

from ...pipeline.senter import START, SsvmSenter
from .corpora import CorpusData
from .finding import Finding
from .labels import Report, check_labels, check_missing


def check(pipe: SsvmSenter, train: CorpusData, dev: CorpusData, listed: Collection[str] | None) -> Report:
    """Check both corpora. listed: the labels that `initialize` is given, if it is."""
    counts: list[Counter[str]] = []
    findings: list[Finding] = []
    for corpus in (train, dev):
        gold = [pipe._gold(example) for example in corpus.examples]
        counts.append(Counter(label for labels in gold for label in labels if label is not None))
        missing = [sum(label is None for label in labels) for labels in gold]
        findings += check_missing(corpus, missing, "sentence boundaries")
        if counts[-1] and not any(START in labels[1:] for labels in gold):
            findings.append(
                Finding(
                    "error",
                    corpus.name,
                    "examples of more than one sentence",
                    0,
                    (),
                    "there is no boundary to learn or to score: use documents of several sentences (spacy convert -n "
                    "10), and gold_preproc = false in the reader",
                )
            )
    return Report(counts[0], findings + check_labels(pipe, counts[0], counts[1], listed))
