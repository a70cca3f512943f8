"""What examples say of words: their scripts, by how they occur, and their lemmas."""

from collections import Counter
from dataclasses import dataclass, field

from ...models.protocol import Survey

MIN_SHARE = 0.01
"""The share of its occurrences with certain tags that a form must have with a lemma to be known for it."""


@dataclass
class WordSurvey(Survey):
    """A survey that notes words, too.

    scripts: how often each word has each script; words are keys, as `lemma_lexicon.keys_of` makes them. pairs: of form
    and lemma. read: the places in `lemma_lexicon.READ` of attributes that words have.
    """

    scripts: dict[int, Counter[str]] = field(default_factory=dict)
    pairs: set[tuple[str, str]] = field(default_factory=set)
    read: set[int] = field(default_factory=set)

    def add(self, others: Survey) -> None:
        super().add(others)
        assert isinstance(others, WordSurvey)
        for key, counts in others.scripts.items():
            self.scripts.setdefault(key, Counter()).update(counts)
        self.pairs |= others.pairs
        self.read |= others.read

    def known(self) -> dict[int, set[str]]:
        """The scripts of each word, without those that are errors of annotation rather than other lemmas."""
        min_share = 0.0 if self.of_corrections else MIN_SHARE
        return {key: _frequent(counts, min_share) for key, counts in self.scripts.items()}


def _frequent(counts: Counter[str], min_share: float) -> set[str]:
    min_count = min_share * counts.total()
    return {label for label, count in counts.items() if count >= min_count}
