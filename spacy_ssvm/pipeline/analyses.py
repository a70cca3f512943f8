"""Morphological analyses: labels of a coarse tag and features, their common attributes, and the kinds of tokens."""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from spacy.morphology import Morphology
from spacy.parts_of_speech import IDS as COARSE_TAGS
from spacy.strings import get_string_id

from ..features.index import ABSENT, places_in

POS_FEATURE = "POS"
"""The feature of a label that is the coarse tag, as in spaCy's labels."""
NO_FEATURES = Morphology.EMPTY_MORPH
"""The string that spaCy stores for an analysis without features; nothing stands for a missing analysis."""
SHARED = "any|"
"""The prefix of attributes, such as `any|Case=Nom`, whose weights are for all labels with this feature."""


@lru_cache(maxsize=1 << 14)
def joined(pos: str, morph: str) -> str:
    """The label of a coarse tag, which may be empty, and features, as spaCy's morphologizer names it."""
    features = Morphology.feats_to_dict(morph)
    if pos:
        features[POS_FEATURE] = pos
    return "|".join(sorted(f"{name}={value}" for name, value in features.items())) or NO_FEATURES


@lru_cache(maxsize=1 << 14)
def divided(label: str) -> tuple[str, str]:
    """The coarse tag, empty if there is none, and the features of a label."""
    features = Morphology.feats_to_dict(label)
    pos = features.pop(POS_FEATURE, "")
    return pos, joined("", "|".join(f"{name}={value}" for name, value in features.items()))


def attributes_of(label: str) -> list[str]:
    """The coarse tag and the features of a label, such as `Case=Nom`."""
    return [] if label == NO_FEATURES else label.split("|")


@lru_cache(maxsize=16)
def weight_labels_of(labels: tuple[str, ...]) -> tuple[str, ...]:
    """The labels; an attribute follows the second label that has it.

    An attribute of one label would equal the label. New labels do not change earlier places.
    """
    found: list[str] = []
    counts = Counter[str]()
    for label in labels:
        counts.update(attributes_of(label))
        found += [label, *(SHARED + attribute for attribute in attributes_of(label) if counts[attribute] == 2)]
    return tuple(found)


class Analyses:
    """The analyses of L weight labels, and kinds of tokens that are limited to labels with certain features or tags.

    Kind 0 allows all labels; then there are K − 1 kinds, one for each set of features and for each coarse tag, and L
    kinds of `with_fixed`. pairs: the coarse tag and the features of each label, both empty for attributes. values:
    uint64 [L, 2], spaCy's numbers of features and tags. allowed: bool [K, L], the labels that each kind allows. kinds:
    int32 [L, 2], the kinds of tokens limited to a label's features, and to its tag. kinds_of_labels: by spaCy's numbers
    of features and tag.
    """

    def __init__(self, weight_labels: Sequence[str]) -> None:
        self.pairs = [("", "") if label.startswith(SHARED) else divided(label) for label in weight_labels]
        numbers = [(get_string_id(morph), COARSE_TAGS[pos]) for pos, morph in self.pairs]
        self.values = np.array(numbers, np.uint64).reshape(-1, 2)
        n_labels = len(weight_labels)
        self.kinds = np.zeros((n_labels, 2), np.int32)
        rows = [np.ones((1, n_labels), np.bool_)]
        self._distinct: list[tuple[int, np.ndarray]] = []
        """For features and for tags, the first of their kinds, and their numbers, uint64, ascending, one a kind."""
        for column, values in enumerate(self.values.T):
            distinct, numbers_of = np.unique(values, return_inverse=True)
            first = sum(map(len, rows))
            self.kinds[:, column] = first + numbers_of
            self._distinct.append((first, distinct))
            rows.append(values == distinct[:, np.newaxis])
        self.allowed = np.concatenate(rows)
        labels = enumerate(map(tuple, self.values.tolist()))
        self.kinds_of_labels = {pair: len(self.allowed) + label for label, pair in labels if any(pair)}

    def limited(self, kinds: np.ndarray, column: int, present: np.ndarray) -> np.ndarray:
        """The kinds of tokens, int32 [T], limited to the present features (column 0) or tags (1).

        Args:
            present: uint64 [T], spaCy's numbers, 0 for none. A number that no label has is no limit.
        """
        first, distinct = self._distinct[column]
        places = places_in(distinct, present)
        return np.where((present != 0) & (places != ABSENT), first + places, kinds).astype(np.int32)


@lru_cache(maxsize=16)
def analyses_of(weight_labels: tuple[str, ...]) -> Analyses:
    """The `Analyses` of weight labels: with hundreds of them, finding them takes longer than analysing a sentence."""
    return Analyses(weight_labels)
