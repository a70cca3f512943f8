"""A tree of all classes, in which prefixes of a class's bit string name coarser and coarser classes."""

import numpy as np

from .bigrams import Bigrams
from .merging import merge_pairs, new_window


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
