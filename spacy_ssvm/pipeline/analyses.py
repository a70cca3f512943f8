"""Morphological analyses: labels of a coarse tag and features, what they have in common, and the kinds of tokens."""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from spacy.morphology import Morphology
from spacy.parts_of_speech import IDS as COARSE_TAGS
from spacy.strings import get_string_id

POS_FEATURE = "POS"
"""The feature of a label that is the coarse tag, as in spaCy's labels."""
NO_FEATURES = Morphology.EMPTY_MORPH
"""What spaCy stores for an analysis without features; nothing stands for a missing analysis."""
ANY = "any|"
"""Before the name of an attribute, such as `any|Case=Nom`, which has weights for all labels with this feature."""


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
def with_attributes(labels: tuple[str, ...]) -> tuple[str, ...]:
    """The labels, each followed by the attributes that it is the second one to have.

    An attribute of one label would say the same as the label. More labels do not change the places of those before.
    """
    found: list[str] = []
    counts = Counter[str]()
    for label in labels:
        counts.update(attributes_of(label))
        found += [label, *(ANY + attribute for attribute in attributes_of(label) if counts[attribute] == 2)]
    return tuple(found)


class Analyses:
    """What L weight labels say.

    pairs: the coarse tag and the features of each, both empty for attributes. values: uint64 [L, 2], spaCy's numbers of
    features and tags. parts: for features and for tags, the first of the kinds of tokens that are limited to one of
    them, and the number of each label's, int64 [L], from 0 in sorted order. kinds_of_parts: for both, spaCy's number →
    kind. kinds_of_both: spaCy's numbers of features and of a tag → the kind of tokens that are limited to this label.
    """

    def __init__(self, weight_labels: Sequence[str]) -> None:
        self.pairs = [("", "") if label.startswith(ANY) else divided(label) for label in weight_labels]
        numbers = [(get_string_id(morph), COARSE_TAGS[pos]) for pos, morph in self.pairs]
        self.values = np.array(numbers, np.uint64).reshape(-1, 2)
        self.parts: list[tuple[int, np.ndarray]] = []
        self.kinds_of_parts: list[dict[int, int]] = []
        first = 1
        for k in (1, 0):
            part = np.unique([pair[k] for pair in self.pairs], return_inverse=True)[1].reshape(-1)
            values = self.values[:, 1 - k].tolist()
            self.parts.append((first, part))
            self.kinds_of_parts.append({value: first + n for value, n in zip(values, part.tolist()) if value})
            first += int(part.max(initial=-1)) + 1
        labels = enumerate(map(tuple, self.values.tolist()))
        self.kinds_of_both = {pair: first + label for label, pair in labels if any(pair)}


@lru_cache(maxsize=16)
def analyses(weight_labels: tuple[str, ...]) -> Analyses:
    """The `Analyses` of weight labels: with hundreds of them, finding them takes longer than analysing a sentence."""
    return Analyses(weight_labels)
