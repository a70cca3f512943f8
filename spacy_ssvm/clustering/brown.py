"""Brown classes by a window that goes through the words, most frequent first.

The most frequent words begin a class each. Every other one joins the window as a class of its own, after which the two
classes are merged that lose the least mutual information (Brown et al. 1992; the window as in Liang 2005).

The classes that are left are merged in the same way, until there is one: a tree, in which prefixes of a class's bit
string name coarser and coarser classes.
"""

from collections.abc import Iterator

import numpy as np

from .bigrams import Bigrams
from .merging import UNMERGED, enter_and_merge, merge_pairs, new_window

STEP = 64
"""Words after which a clustering can be interrupted."""
MIN_WINDOW = 256
"""The least number of classes in the window, even if fewer are wanted."""


def window_size(n_words: int, n_classes: int) -> int:
    """The number of classes W between the entries of two words: half as many again as are wanted.

    The surplus is merged at the end, when counts are complete.
    """
    return min(n_words, max(n_classes + n_classes // 2, MIN_WINDOW))


def first_places(n_words: int, size: int) -> np.ndarray:
    """The places of the words at first: int32 [V], UNMERGED but for the W most frequent ones."""
    numbers = np.arange(n_words)
    return np.where(numbers < size, numbers, UNMERGED).astype(np.int32)


def merge_in_window(
    bigrams: Bigrams, n_classes: int, places: np.ndarray, word: int
) -> Iterator[tuple[int, np.ndarray]]:
    """Put the words from `word` on into the window; yields the next word and the places to resume from.

    Before the last word is yielded, classes are merged until C are left.

    Args:
        places: int32 [V], from 0 to W, or UNMERGED from `word` on. One place is free; which one changes. Memory: 16
            bytes for each pair of classes in the window.
    """
    n_words = len(bigrams.words)
    size = window_size(n_words, n_classes)
    window = new_window(bigrams, places, size + 1)
    while word < n_words:
        end = min(word + STEP, n_words)
        enter_and_merge(window, bigrams.counts, word, end)
        word = end
        if word < n_words:
            yield word, window.places[:-2]
    merge_pairs(window, np.zeros((size - n_classes, 2), np.int32))
    yield n_words, window.places[:-2]


def bit_strings(bigrams: Bigrams, classes: np.ndarray) -> list[str]:
    """The name of each class: its path from the root of the tree that merging pair after pair makes.

    Args:
        classes: int [V], the class of each word, 0, 1, …, none of them empty. The part of a node that occurs more often
            is 0, the other one 1. A single class is named 0.

    Source: Brown et al. (1992), section 3.
    """
    n_classes = int(classes.max()) + 1
    if n_classes == 1:
        return ["0"]
    merges = np.zeros((n_classes - 1, 2), np.int32)
    merge_pairs(new_window(bigrams, classes, n_classes), merges)
    names = [""] * n_classes
    # From the root, which is the last merge: what was merged stands at the place of the first of its two parts.
    for first, second in merges[::-1].tolist():
        names[second] = f"{names[first]}1"
        names[first] += "0"
    return names
