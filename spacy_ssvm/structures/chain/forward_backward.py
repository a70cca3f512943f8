"""Log-partition and marginals of P(y) ∝ exp(β · score(y)) over a chain.

Products of exponentials are summed and rescaled at each token (Rabiner 1989): a token needs L exponentials and two
products of a vector and the matrix of steps. Where a significant product might underflow, all sums of the sequence are
computed in log space instead. So scores may be of any size.
"""

import math
from typing import NamedTuple

import numpy as np

from ...kernels import Float64Array, Float64Array2d, kernel
from .. import FAINT, FORBIDDEN


class Factors(NamedTuple):
    """exp(β · score) of steps, starts and ends, relative to the largest; 0 where ruled out.

    Attributes:
        steps: float64 [L, L], from the row's label to the column's label.
        reverse: the same transposed.
        start, end: float64 [L], at the first and the last token.
        largest, largest_ends: β times the largest score of a step, and of a start and an end together.
    """

    steps: Float64Array2d
    reverse: Float64Array2d
    start: Float64Array
    end: Float64Array
    largest: float
    largest_ends: float


@kernel
def _exponentials(scores, beta, factors):
    """Write exp(β(score − the largest score)) to factors [·], 0 where ruled out; returns β · the largest."""
    largest = -np.inf
    for k in range(len(scores)):
        largest = max(largest, scores[k])
    for k in range(len(scores)):
        factors[k] = math.exp(beta * (scores[k] - largest)) if scores[k] > FORBIDDEN / 2 else 0.0
    return beta * largest


@kernel
def factors_of(transitions, start, end, beta):
    """The `Factors` of scores float64 [L, L], [0, L] for sequences of one token, and [L] and [L]."""
    n_labels, largest = len(start), 0.0
    steps, starts, ends = np.zeros((n_labels, n_labels)), np.empty(n_labels), np.empty(n_labels)
    if len(transitions) > 0:
        largest = _exponentials(np.ascontiguousarray(transitions).reshape(-1), beta, steps.reshape(-1))
    largest_ends = _exponentials(start, beta, starts) + _exponentials(end, beta, ends)
    return Factors(steps, np.ascontiguousarray(steps.T), starts, ends, largest, largest_ends)


@kernel
def _multiply(vector, matrix, product):
    """Write vector [L] times matrix [L, L] to product [L], four rows at a time, which saves loads and stores of sums.

    The inner loops vectorise.
    """
    n_labels = len(vector)
    fours = n_labels // 4 * 4
    for j in range(n_labels):
        product[j] = 0.0
    for i in range(0, fours, 4):
        a, b, c, d = vector[i], vector[i + 1], vector[i + 2], vector[i + 3]
        first, second, third, fourth = matrix[i], matrix[i + 1], matrix[i + 2], matrix[i + 3]
        for j in range(n_labels):
            product[j] += (a * first[j] + b * second[j]) + (c * third[j] + d * fourth[j])
    for i in range(fours, n_labels):
        a, first = vector[i], matrix[i]
        for j in range(n_labels):
            product[j] += a * first[j]


@kernel
def sum_products(scores, factors, beta, tokens, before, after):
    """Fill in three arrays, float64 [T, L], that give probabilities as products.

    Args:
        scores: float64 [T, L], of tokens.
        tokens: exp(β · score), scaled at each token.
        before: sums over the beginnings that end at a label, its own factor included, the largest of each token 1.
        after: sums over the continuations of a label, its own factor excluded. P(a run of labels) = before · Π (step ·
            token) · after.

    Returns the log-partition; nan where a significant product might underflow: the arrays are then useless.
    """
    length, n_labels = scores.shape
    if length == 0:
        return 0.0
    scales, log_partition = np.empty(length), factors.largest_ends + (length - 1) * factors.largest
    for t in range(length):
        row, own = before[t], tokens[t]
        log_partition += _exponentials(scores[t], beta, own)
        if t == 0:
            for j in range(n_labels):
                row[j] = factors.start[j]
        else:
            _multiply(before[t - 1], factors.steps, row)
        scale = 0.0
        for j in range(n_labels):
            row[j] *= own[j]
            scale = max(scale, row[j])
        if not scale > FAINT:
            return np.nan
        for j in range(n_labels):
            row[j] /= scale
            own[j] /= scale
        scales[t] = scale
        log_partition += math.log(scale)
    total = 0.0
    for j in range(n_labels):
        total += before[length - 1, j] * factors.end[j]
    if not total > FAINT:
        return np.nan
    for j in range(n_labels):
        after[length - 1, j] = factors.end[j] / total
    ahead = np.empty(n_labels)
    for t in range(length - 1, -1, -1):
        if t < length - 1:
            for j in range(n_labels):
                ahead[j] = tokens[t + 1, j] * after[t + 1, j]
            _multiply(ahead, factors.reverse, after[t])
        largest = 0.0
        for j in range(n_labels):
            largest = max(largest, after[t, j])
        # Relative to the largest factors on both sides, all products of the token have this sum.
        if not scales[t] > FAINT * largest:
            return np.nan
    return log_partition + math.log(total)


@kernel
def _log_sum(logs, scores):
    """log Σ_i exp(logs_i + scores_i)."""
    largest, total = -np.inf, 0.0
    for i in range(len(logs)):
        largest = max(largest, logs[i] + scores[i])
    for i in range(len(logs)):
        total += math.exp(logs[i] + scores[i] - largest)
    return largest + math.log(total)


@kernel
def sum_logs(scores, transitions, start, end, before, after):
    """The logarithms of the sums in `sum_products`, for scores of any size, already times β.

    Args:
        transitions: float64 [L, L], [0, L] for one token.
        start, end: float64 [L].

    Returns:
        The log-partition.
    """
    length, n_labels = scores.shape
    if length == 0:
        return 0.0
    reverse, ahead = np.ascontiguousarray(transitions.T), np.empty(n_labels)
    for j in range(n_labels):
        before[0, j] = scores[0, j] + start[j]
        after[length - 1, j] = end[j]
    for t in range(1, length):
        for j in range(n_labels):
            before[t, j] = _log_sum(before[t - 1], reverse[j]) + scores[t, j]
    for t in range(length - 2, -1, -1):
        for j in range(n_labels):
            ahead[j] = scores[t + 1, j] + after[t + 1, j]
        for i in range(n_labels):
            after[t, i] = _log_sum(ahead, transitions[i])
    return _log_sum(before[length - 1], end)


@kernel
def normalised(before, after, in_logs):
    """The probability of each label at each token, float64 [T, L], from sums or their logarithms.

    Each token's sums are normalised by themselves: over a long sequence, the rounding of the sums before and after a
    token adds up. `after` is changed in the same way.
    """
    labels = np.empty_like(before)
    for t in range(len(before)):
        row, shift, total = labels[t], -np.inf, 0.0
        for j in range(len(row)):
            row[j] = before[t, j] + after[t, j] if in_logs else before[t, j] * after[t, j]
            shift = max(shift, row[j])
        for j in range(len(row)):
            if in_logs:
                row[j] = math.exp(row[j] - shift)
            total += row[j]
        log_total = shift + math.log(total) if in_logs else 0.0
        for j in range(len(row)):
            row[j] /= total
            after[t, j] = after[t, j] - log_total if in_logs else after[t, j] / total
    return labels


@kernel
def marginals(scores, transitions, start, end, labels, counts):
    """Write the label marginals to labels [T, L] and add the expected transitions to counts [L, L].

    Args:
        scores: float64 [T, L], of tokens.
        transitions: float64 [L, L], [0, L] for one token, as counts.
        start, end: float64 [L], added at the first and the last token. All are β times the scores.

    Returns the log-partition; some sequence must be possible.
    """
    length, n_labels = scores.shape
    tokens, before, after = np.empty_like(scores), np.empty_like(scores), np.empty_like(scores)
    factors, ahead = factors_of(transitions, start, end, 1.0), np.empty(n_labels)
    log_partition = sum_products(scores, factors, 1.0, tokens, before, after)
    in_logs = math.isnan(log_partition)
    if in_logs:
        log_partition = sum_logs(scores, transitions, start, end, before, after)
    probabilities = normalised(before, after, in_logs)
    for t in range(length):
        for j in range(n_labels):
            labels[t, j] = probabilities[t, j]
            ahead[j] = scores[t, j] + after[t, j] if in_logs else tokens[t, j] * after[t, j]
        if t > 0:
            _count_steps(before[t - 1], transitions if in_logs else factors.steps, ahead, in_logs, counts)
    return log_partition


@kernel
def _count_steps(before, steps, ahead, in_logs, counts):
    """Add the probability of each step between two tokens, before · step · ahead, to counts [L, L]."""
    for i in range(len(before)):
        beginning, step, row = before[i], steps[i], counts[i]
        if in_logs:
            for j in range(len(ahead)):
                # Of scores beyond 1e15, which large β make, rounding alone may be a large positive number.
                row[j] += math.exp(min(1.0, beginning + step[j] + ahead[j]))
        else:
            for j in range(len(ahead)):
                row[j] += beginning * step[j] * ahead[j]
