"""Average mutual information of the classes of neighbours: the objective of every clustering.

With the number n(c, d) of pairs of neighbours of classes c and d, the number n(c) of occurrences of words of class c,
and N pairs in all, it is 1/N times Σ f(n(c, d)) − 2 Σ f(n(c)) + f(N), where f(n) = n log₂ n (Brown et al. 1992). The
algorithms add and subtract values of f as integers: sums are exact in any order, and ties are ties.
"""

import math

import numpy as np

from ..kernels import kernel
from .bigrams import Bigrams

FRACTION_BITS = 20
"""Bits of f(n) after the point: all f(n) of a text of 2³¹ tokens, and their sums, fit into 64 bits."""
UNIT = float(1 << FRACTION_BITS)
MAX_TABLE = 1 << 20
"""The number of values of f in the table; larger arguments are rare, and their values are computed."""


def table_of_terms(n_pairs: int) -> np.ndarray:
    """f(0), f(1), … in units of 2⁻²⁰, up to f(n_pairs) or MAX_TABLE of them: int64 [min(n_pairs + 1, MAX_TABLE)]."""
    numbers = np.arange(1, min(n_pairs + 1, MAX_TABLE))
    return np.concatenate([[0], np.rint(numbers * np.log2(numbers) * UNIT)]).astype(np.int64)


@kernel
def term(terms, n):
    """f(n), looked up or, if the table is too short, computed. terms: the result of `table_of_terms`."""
    if n < len(terms):
        return terms[n]
    return np.int64(np.rint(n * math.log2(n) * UNIT))


def average_mutual_information(bigrams: Bigrams, classes: np.ndarray) -> float:
    """Average mutual information of neighbouring classes, in bits.

    Args:
        classes: int [V], the class of each word. Rare words are a class of their own, and so are boundaries.
    """
    first = int(classes.max(initial=-1)) + 1
    of_entry = np.concatenate([classes, [first, first + 1]]).astype(np.int64)
    lefts = np.repeat(of_entry, np.diff(bigrams.right.starts))
    pairs, inverse = np.unique(lefts << 32 | of_entry[bigrams.right.words], return_inverse=True)
    of_pairs = np.bincount(inverse, bigrams.right.counts, len(pairs))
    of_classes = np.bincount(of_entry, bigrams.counts)
    total = float(bigrams.n_pairs)
    return float((_term(of_pairs).sum() - 2 * _term(of_classes).sum() + _term(np.array([total])).sum()) / total)


def _term(numbers: np.ndarray) -> np.ndarray:
    return numbers * np.log2(np.maximum(numbers, 1))
