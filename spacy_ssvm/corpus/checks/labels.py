"""Checks that all components share: which labels there are, and which tokens have none."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from ...models.protocol import Codec
from .corpora import CorpusData, example_name
from .issue import Issue, issues, whole

RARE = 20
"""Occurrences of a label below which little can be learnt about it."""


class Report(NamedTuple):
    """labels: occurrences of each in the training corpus, as training sees them. issues: of both corpora."""

    labels: Counter[str]
    issues: list[Issue]


def label_counts(gold: Iterable[Sequence[str | None]]) -> Counter[str]:
    """Occurrences of each label in the gold labels of some examples."""
    return Counter(label for labels in gold for label in labels if label is not None)


def check_labels(codec: Codec, train: Counter[str], dev: Counter[str], listed: Collection[str] | None) -> list[Issue]:
    """Compare the labels of the corpora with each other, and with those that `initialize` is given, if it is."""
    if not train:
        remedy = "there is nothing to learn: annotate the corpus, or leave the component out"
        return [Issue("error", "train", "labels", 0, (), remedy)]
    found = []
    if listed is not None:
        known = {*codec.labels, *listed}
        found += issues(
            "error",
            "train",
            "labels that initialize is not given",
            _counted(train, train.keys() - known),
            f"they count as missing annotation: add them to [initialize.components.{codec.name}.labels]",
        )
        found += issues(
            "warning",
            "train",
            "labels that initialize is given, but that never occur",
            sorted(known - train.keys()),
            "nothing is learnt about them: take them out of the list, or add examples",
        )
    found += issues(
        "warning",
        "train",
        f"labels with fewer than {RARE} occurrences",
        _counted(train, [label for label, count in train.items() if count < RARE]),
        "add examples, or merge labels",
    )
    found += issues(
        "warning",
        "dev",
        "labels that the training corpus does not have",
        _counted(dev, dev.keys() - train.keys()),
        "they are never predicted: look for misspellings, or add training examples",
    )
    return found


def check_missing(corpus: CorpusData, missing: Sequence[int], what: str) -> list[Issue]:
    """Missing annotation. missing: the number of tokens without it, for each example. what: its name."""
    where = [
        f"{whole(example_name(number), example.predicted)}: {n_missing:,}"
        for number, (example, n_missing) in enumerate(zip(corpus.examples, missing))
        if n_missing
    ]
    if not where:
        return []
    remedy = (
        "examples without any are left out, in others the model completes what is missing as it learns"
        if corpus.name == "train"
        else "they are not scored"
    )
    count = int(sum(missing))
    return [Issue("warning", corpus.name, f"tokens without {what}", count, tuple(where), remedy, corpus.n_tokens)]


def _counted(counts: Counter[str], labels: Collection[str]) -> list[str]:
    return [f"{label} ({counts[label]:,})" for label in sorted(labels, key=lambda label: (-counts[label], label))]
