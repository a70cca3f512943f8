"""A survey of words in examples: their scripts, by how they occur, and their lemmas."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

from ..codec import Survey
from .lemma_lexicon import LEARNT, READ, keys_of, only

MIN_SHARE = 0.01
"""The min share of a lemma among a form's occurrences with certain tags, to be known for the form."""


@dataclass
class WordSurvey(Survey):
    """A survey that notes words, too.

    Attributes:
        scripts: how often each word has each script; a word is its values of `lemma_lexicon.READ`.
        pairs: of form and lemma.
        read: the places in READ of attributes that words have.
        min_count: how often a script must occur to be learnt, unless it is of corrections.
    """

    scripts: dict[tuple[int, ...], Counter[str]] = field(default_factory=dict)
    pairs: set[tuple[str, str]] = field(default_factory=set)
    read: set[int] = field(default_factory=set)
    min_count: int = 1

    def add(self, others: Survey) -> None:
        super().add(others)
        assert isinstance(others, WordSurvey)
        for word, counts in others.scripts.items():
            self.scripts.setdefault(word, Counter()).update(counts)
        self.pairs |= others.pairs
        self.read |= others.read

    def labels_to_learn(self) -> set[str]:
        min_count = 1 if self.of_corrections else self.min_count
        return {label for label, count in self.label_counts.items() if count >= min_count}

    def known(self, read: Collection[int]) -> dict[int, set[str]]:
        """The scripts of each word, without those that are errors of annotation rather than other lemmas, by keys that
        are made of the values of `read`, places in READ.
        """
        found: dict[int, Counter[str]] = {}
        values = only(np.array(list(self.scripts), np.uint64).reshape(-1, len(READ)), read)
        for level in LEARNT:
            for key, counts in zip(keys_of(values, level).tolist(), self.scripts.values()):
                found.setdefault(key, Counter()).update(counts)
        min_share = 0.0 if self.of_corrections else MIN_SHARE
        return {key: _frequent(counts, min_share) for key, counts in found.items()}


def _frequent(counts: Counter[str], min_share: float) -> set[str]:
    min_count = min_share * counts.total()
    return {label for label, count in counts.items() if count >= min_count}
