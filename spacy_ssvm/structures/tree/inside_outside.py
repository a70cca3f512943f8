"""Log-partition and arc marginals of P(y) ∝ exp(score(y)) over projective trees, in log space and O(n³)."""

import math

import numpy as np

from ...kernels import kernel
from .parts import FORBIDDEN


@kernel
def log_sum_exp(first, second):
    """log Σ_j exp(first_j + second_j); some term is above −∞."""
    largest = -np.inf
    for j in range(len(first)):
        largest = max(largest, first[j] + second[j])
    total = 0.0
    for j in range(len(first)):
        total += math.exp(first[j] + second[j] - largest)
    return largest + math.log(total)


@kernel
def share(count, log_sum, first, second, first_counts, second_counts):
    """Add to both parts of each term its share of the count, count · exp(first_j + second_j − log_sum)."""
    if count == 0.0:
        return
    for j in range(len(first)):
        part = count * math.exp(first[j] + second[j] - log_sum)
        first_counts[j] += part
        second_counts[j] += part


@kernel
def projective_marginals(scores, multi_root, marginals):
    """Write the probability of each arc to marginals float64 [n + 1, n + 1]; returns log Σ_y exp(score(y)).

    scores, multi_root: as for `eisner`. FORBIDDEN arcs, the diagonal and column 0 have the probability 0.
    Where the result is below FORBIDDEN / 2 every tree has a FORBIDDEN arc, and all marginals are 0.

    The items are those of `Charts`, which derive each tree once, with sums in place of maxima; marginals are the
    derivatives of the log-partition, accumulated from the whole sentence down.
    """
    n = len(scores) - 1
    marginals[:] = 0.0
    # spans[h, e] = ends[e, h] is the span of head h and end e; arcs[h, m] that of an arc and below[i, j] what
    # lies below one. Each sum runs along rows.
    spans, ends = np.full((n + 1, n + 1), -np.inf), np.full((n + 1, n + 1), -np.inf)
    arcs, below = np.full((n + 1, n + 1), -np.inf), np.full((n + 1, n + 1), -np.inf)
    for i in range(n + 1):
        spans[i, i] = ends[i, i] = 0.0
    for width in range(1, n + 1):
        for i in range(n + 1 - width):
            j = i + width
            below[i, j] = log_sum_exp(spans[i, i:j], spans[j, i + 1 : j + 1])
            arcs[i, j] = below[i, j] + scores[i, j]
            # With a single root, no span (0, j) but the whole sentence exists.
            if i > 0 or multi_root or j == n:
                spans[i, j] = ends[j, i] = log_sum_exp(arcs[i, i + 1 : j + 1], ends[j, i + 1 : j + 1])
            if i > 0:
                arcs[j, i] = below[i, j] + scores[j, i]
                spans[j, i] = ends[i, j] = log_sum_exp(arcs[j, i:j], ends[i, i:j])
    log_partition = spans[0, n]
    if log_partition < FORBIDDEN / 2:
        return log_partition
    span_counts, end_counts = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1))
    span_counts[0, n] = 1.0
    for width in range(n, 0, -1):
        for i in range(n + 1 - width):
            j = i + width
            for h, e, first, end in ((i, j, i + 1, j + 1), (j, i, i, j)):
                share(
                    span_counts[h, e] + end_counts[e, h],
                    spans[h, e],
                    arcs[h, first:end],
                    ends[e, first:end],
                    marginals[h, first:end],
                    end_counts[e, first:end],
                )
            share(
                marginals[i, j] + marginals[j, i],
                below[i, j],
                spans[i, i:j],
                spans[j, i + 1 : j + 1],
                span_counts[i, i:j],
                span_counts[j, i + 1 : j + 1],
            )
    return log_partition
