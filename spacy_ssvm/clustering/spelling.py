"""The spelling of words, for a prior that puts words that look alike into the same class.

The prior follows Clark (2003) in a simple form: a class spells its words, each once, however often they occur. It first
draws the shape of a word, then its letters from the last one backwards, as long as enough words share them: a path in a
tree. At each node, the probability of the next one is the share of the class's words there that go on to it, smoothed
by SMOOTHING words with the distribution over all classes.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..kernels import Float64Array, Int32Array, Int64Array

MAX_LETTERS = 3
MIN_WORDS = 5
"""A node of fewer words is left out, and a path ends before it."""
SMOOTHING = 5.0


class Spellings(NamedTuple):
    """The paths of V words in a tree of M nodes: of word w, entries starts[w] … starts[w + 1] − 1, the root first.

    Attributes:
        starts: int64 [V + 1].
        nodes: int32 [E].
        shares: float64 [M], the share of a node among the words of its parent.
    """

    starts: Int64Array
    nodes: Int32Array
    shares: Float64Array


def no_spellings(n_words: int) -> Spellings:
    """Paths that end at the root, so that nothing can be told from a word's spelling."""
    return Spellings(np.arange(n_words + 1, dtype=np.int64), np.zeros(n_words, np.int32), np.ones(1))


def spellings(words: Sequence[str]) -> Spellings:
    """The paths of some words."""
    paths = [_path(word) for word in words]
    sizes = Counter(node for path in paths for node in path)
    numbers: dict[tuple[str, ...], int] = {}
    shares, starts, nodes = [], [0], []
    for path in paths:
        for depth, node in enumerate(path):
            if depth and sizes[node] < MIN_WORDS:
                break
            if node not in numbers:
                numbers[node] = len(numbers)
                shares.append(sizes[node] / sizes[path[max(depth - 1, 0)]])
            nodes.append(numbers[node])
        starts.append(len(nodes))
    return Spellings(np.array(starts, np.int64), np.array(nodes, np.int32), np.array(shares))


def _path(word: str) -> list[tuple[str, ...]]:
    lower = word.lower()
    return [(), *((_shape(word), lower[len(lower) - k :]) for k in range(min(MAX_LETTERS, len(lower)) + 1))]


def _shape(word: str) -> str:
    """Capitals, digits and other signs: the place of the first one, and whether there are more."""
    kinds = ["A" if sign.isupper() else "a" if sign.isalpha() else "0" if sign.isdigit() else "-" for sign in word]
    return kinds[0] + "".join(sorted(set(kinds[1:])))
