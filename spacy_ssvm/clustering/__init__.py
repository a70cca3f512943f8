"""Classes of words with the same neighbours, learnt from raw text.

This package has `brown_classes` and `exchange_classes`, for any sentences that are lists of words.
"""

from collections.abc import Iterable

from .bigrams import count_bigrams
from .learning import ClusteringSettings, learn, named

__all__ = ["brown_classes", "exchange_classes"]


def brown_classes(
    sentences: Iterable[Iterable[str]], n_classes: int = 1000, min_count: int = 2, n_threads: int = 1
) -> dict[str, str]:
    """Brown classes: of each word, a bit string, whose prefixes are coarser classes; most frequent word first.

    Words are counted in their normalised form (`word_forms.normalised`); those rarer than `min_count` have no class.
    The window of Brown et al. (1992) is followed by sweeps of the exchange algorithm, which raise the mutual
    information. Results do not depend on `n_threads`.

    Raises:
        TypeError: a sentence is a string.
        ValueError: there is no word, all words are too rare, or there are less than 2 classes.
    """
    return _classes(sentences, ClusteringSettings("brown", n_classes), min_count, n_threads)


def exchange_classes(
    sentences: Iterable[Iterable[str]], n_classes: int = 1000, min_count: int = 2, n_threads: int = 1
) -> dict[str, str]:
    """Classes by the exchange algorithm with a prior that prefers words that look alike; otherwise as `brown_classes`.

    Source: Clark (2003).
    """
    return _classes(sentences, ClusteringSettings("exchange", n_classes), min_count, n_threads)


def _classes(
    sentences: Iterable[Iterable[str]], settings: ClusteringSettings, min_count: int, n_threads: int
) -> dict[str, str]:
    bigrams = count_bigrams(sentences, min_count)
    *_, state = learn(bigrams, settings, n_threads=n_threads)
    return named(bigrams, state.classes)
