"""Clustering by enumeration, as Brown et al. (1992) state it: nothing is kept from one merge to the next."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, pairwise

BOUNDARY = "<boundary>"
RARE = "<rare>"
Sentences = Sequence[Sequence[str]]
Clusters = list[frozenset[str]]


def stream(sentences: Sentences) -> list[str]:
    """The text: a boundary before the first sentence and after each."""
    return [BOUNDARY, *(word for sentence in sentences if sentence for word in [*sentence, BOUNDARY])]


def information(sentences: Sentences, class_of: Mapping[str, object]) -> float:
    """Average mutual information of the classes of neighbours, in bits; words without a class are rare."""
    text = [word if word == BOUNDARY else class_of.get(word, RARE) for word in stream(sentences)]
    pairs = Counter(pairwise(text))
    lefts, rights, total = Counter(text[:-1]), Counter(text[1:]), len(text) - 1
    return sum(
        count / total * math.log2(count * total / (lefts[left] * rights[right]))
        for (left, right), count in pairs.items()
    )


def of_clusters(clusters: Iterable[frozenset[str]]) -> dict[str, object]:
    """The class of each word: the smallest of its words."""
    return {word: min(cluster) for cluster in clusters for word in cluster}


def merged(clusters: Clusters, pair: tuple[frozenset[str], frozenset[str]]) -> Clusters:
    """The classes after a merge; what is merged stands at the place of the first of the pair."""
    both = pair[0] | pair[1]
    return [both if cluster == pair[0] else cluster for cluster in clusters if cluster != pair[1]]


def best_merge(sentences: Sentences, clusters: Clusters) -> Clusters:
    """The classes after the merge that loses the least information; of equal ones, that of the first pair."""
    candidates = [merged(clusters, pair) for pair in combinations(clusters, 2)]
    return max(candidates, key=lambda found: round(information(sentences, of_clusters(found)), 9))


def by_frequency(sentences: Sentences) -> list[str]:
    counts = Counter(word for sentence in sentences for word in sentence)
    return sorted(counts, key=lambda word: (-counts[word], word))


def greedy(sentences: Sentences, n_classes: int) -> Clusters:
    """Every word begins a class; as long as there are too many, the two are merged that lose the least information."""
    clusters = [frozenset([word]) for word in by_frequency(sentences)]
    while len(clusters) > n_classes:
        clusters = best_merge(sentences, clusters)
    return clusters


def windowed(sentences: Sentences, n_classes: int) -> Clusters:
    """The most frequent words begin a class each; every other one is added, and two classes are merged.

    As in the paper, words that have not been added yet are no part of the text.
    """
    words = by_frequency(sentences)
    clusters = [frozenset([word]) for word in words[:n_classes]]
    for number, word in enumerate(words[n_classes:], n_classes + 1):
        known = set(words[:number])
        text = [[other for other in sentence if other in known] for sentence in sentences]
        clusters = best_merge(text, [*clusters, frozenset([word])])
    return clusters
