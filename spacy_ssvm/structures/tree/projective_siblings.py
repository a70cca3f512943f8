"""Exact second-order projective decoding with siblings (McDonald & Pereira 2006)."""

import numpy as np

from ...kernels import kernel
from .parts import NONE


@kernel
def eisner_siblings(parts, multi_root, heads):
    n = len(parts.number) - 1
    heads[0] = NONE
    if n == 0:
        return 0.0
    number = parts.number
    # right[i, j]: best span i … j headed by i; left[j, i]: by j; between[i, j]: i and j as neighbouring siblings.
    right, left = np.full((n + 1, n + 1), -np.inf), np.full((n + 1, n + 1), -np.inf)
    between = np.full((n + 1, n + 1), -np.inf)
    arc = np.full(len(parts.heads) + 1, -np.inf)
    inner = np.full(len(parts.heads), NONE, np.int32)
    last_right, last_left = np.zeros((n + 1, n + 1), np.int32), np.zeros((n + 1, n + 1), np.int32)
    for i in range(n + 1):
        right[i, i] = left[i, i] = 0.0
    # children of each head, ascending
    starts = np.zeros(n + 2, np.int64)
    for a in range(len(parts.heads)):
        starts[parts.heads[a] + 1] += 1
    for h in range(n + 1):
        starts[h + 1] += starts[h]
    children = np.empty(len(parts.heads), np.int32)
    fill = starts.copy()
    for a in range(len(parts.heads)):
        h = parts.heads[a]
        children[fill[h]] = parts.modifiers[a]
        fill[h] += 1
    for width in range(1, n + 1):
        for i in range(n + 1 - width):
            j = i + width
            if i > 0:
                best = -np.inf
                for k in range(i, j):
                    score = right[i, k] + left[j, k + 1]
                    if score > best:
                        best = score
                between[i, j] = best
            for way in range(2):
                h, m = (i, j) if way == 0 else (j, i)
                a = number[h, m]
                if a == NONE or m == 0:
                    continue
                k, behind = parts.sibling_starts[a], parts.sibling_starts[a + 1]
                best = left[j, i + 1] if way == 0 else right[i, j - 1]
                if k < behind and parts.siblings[k] == NONE:
                    best += parts.sibling_scores[k]
                    k += 1
                chosen = NONE
                if h > 0 or multi_root:
                    for c in range(starts[h], starts[h + 1]):
                        s = children[c]
                        if s <= i:
                            continue
                        if s >= j:
                            break
                        b = number[h, s]
                        score = arc[b] + (between[s, m] if way == 0 else between[m, s])
                        while k < behind and parts.siblings[k] < b:
                            k += 1
                        if k < behind and parts.siblings[k] == b:
                            score += parts.sibling_scores[k]
                        if score > best:
                            best, chosen = score, b
                arc[a] = best + parts.scores[a]
                inner[a] = chosen
            best, chosen_child = -np.inf, j
            for c in range(starts[i], starts[i + 1]):
                m = children[c]
                if m > j:
                    break
                if m > i:
                    score = arc[number[i, m]] + right[m, j]
                    if score > best:
                        best, chosen_child = score, m
            right[i, j], last_right[i, j] = best, chosen_child
            best, chosen_child = -np.inf, i
            for c in range(starts[j], starts[j + 1]):
                m = children[c]
                if m >= j:
                    break
                if m >= i and m > 0:
                    score = arc[number[j, m]] + left[m, i]
                    if score > best:
                        best, chosen_child = score, m
            left[j, i], last_left[j, i] = best, chosen_child
    if right[0, n] == -np.inf:
        for m in range(1, n + 1):
            heads[m] = m - 1
        return right[0, n]
    stack = np.empty((4 * n + 4, 3), np.int32)
    stack[0] = (0, n, 0)
    top = 1
    while top > 0:
        top -= 1
        h, end = stack[top, 0], stack[top, 1]
        if h == end:
            continue
        m = last_right[h, end] if h < end else last_left[h, end]
        stack[top, 0], stack[top, 1] = m, end
        top += 1
        while True:
            heads[m] = h
            b = inner[number[h, m]]
            if b == NONE:
                stack[top, 0], stack[top, 1] = m, (h + 1 if h < m else h - 1)
                top += 1
                break
            s = parts.modifiers[b]
            i, j = min(s, m), max(s, m)
            best, split = -np.inf, i
            for k in range(i, j):
                if right[i, k] + left[j, k + 1] > best:
                    best, split = right[i, k] + left[j, k + 1], k
            stack[top, 0], stack[top, 1] = i, split
            stack[top + 1, 0], stack[top + 1, 1] = j, split + 1
            top += 2
            m = s
    return right[0, n]
