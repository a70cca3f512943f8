"""Classes that are merged pair by pair, each time the two whose merging loses the least mutual information.

Every word that has no class yet is a class by itself, so that a merge's loss is the loss of the whole clustering. Liang
(2005) updates the losses of all C² pairs at each merge. Only pairs that have a neighbour in common with a merged class
change, and rare words have few neighbours: losses are sums over common neighbours, and only these are visited.
"""

from typing import NamedTuple

import numpy as np

from ..kernels import Int32Array, Int32Array2d, Int64Array, Int64Array2d, kernel
from .bigrams import Bigrams, Neighbours, table_of_terms, term

UNMERGED = -1
"""The place of a word that is a class by itself, and not yet among those to merge."""
NEVER = np.iinfo(np.int64).min
"""A gain less than any."""
GONE = np.iinfo(np.int64).max
"""The time of a place that has no class to merge."""


class Window(NamedTuple):
    """The classes that can be merged, at P places, and two that cannot, of rare words and of boundaries: S = P + 2.

    Attributes:
        right, left: the neighbours of all words.
        places: int32 [V + 2], a word's place, or UNMERGED.
        first, following: int32 [S] and [V + 2], the words at a place as linked lists that end in −1.
        sizes: int64 [S], occurrences of the words at a place.
        after: int32 [S, S], after[c, d] is how often d stands to the right of c.
        before: int32 [S, S], its transpose.
        since: int64 [S], the time when all gains of a class were last computed, or GONE.
        gains: int64 [S, S], gains[younger, older] is what the merge of two classes adds to N times the mutual
            information, mostly less than 0; the younger one has the later time.
        best, highest: int32 [S] and int64 [S], the lowest place and the gain of each class's best merge with an older
            one. A young class is best for most others, and soon gone: they need not search again then.
        terms: f(n).
        column, sums: int64 [S], scratch.
        touched: int32 [S], scratch.
        seen: int64 [V + 2], scratch, when a word was last met.
        tick: int64 [1], the time.
    """

    right: Neighbours
    left: Neighbours
    places: Int32Array
    first: Int32Array
    following: Int32Array
    sizes: Int64Array
    after: Int32Array2d
    before: Int32Array2d
    gains: Int64Array2d
    since: Int64Array
    best: Int32Array
    highest: Int64Array
    terms: Int64Array
    column: Int64Array
    sums: Int64Array
    touched: Int32Array
    seen: Int64Array
    tick: Int64Array


def new_window(bigrams: Bigrams, places: np.ndarray, n_places: int) -> Window:
    """A window in which each word of a place stands at it.

    Args:
        places: int32 [V], less than n_places, or UNMERGED. Memory: 16 bytes for each pair of places.
    """
    n, size = len(bigrams.counts), n_places + 2
    window = Window(
        right=bigrams.right,
        left=bigrams.left,
        places=np.concatenate([places, [n_places, n_places + 1]]).astype(np.int32),
        first=np.full(size, -1, np.int32),
        following=np.full(n, -1, np.int32),
        sizes=np.zeros(size, np.int64),
        after=np.zeros((size, size), np.int32),
        before=np.zeros((size, size), np.int32),
        gains=np.zeros((size, size), np.int64),
        since=np.full(size, GONE, np.int64),
        best=np.full(size, -1, np.int32),
        highest=np.full(size, NEVER, np.int64),
        terms=table_of_terms(bigrams.n_pairs),
        column=np.zeros(size, np.int64),
        sums=np.zeros(size, np.int64),
        touched=np.zeros(size, np.int32),
        seen=np.zeros(n, np.int64),
        tick=np.full(1, size, np.int64),
    )
    _fill(window, bigrams.counts)
    return window


@kernel
def _fill(window, counts):
    """Compute everything from the places of the words."""
    places, size = window.places, len(window.sizes)
    for word in range(len(places)):
        place = places[word]
        if place == UNMERGED:
            continue
        window.following[word] = window.first[place]
        window.first[place] = word
        window.sizes[place] += counts[word]
        for at in range(window.right.starts[word], window.right.starts[word + 1]):
            other = places[window.right.words[at]]
            if other != UNMERGED:
                window.after[place, other] += window.right.counts[at]
                window.before[other, place] += window.right.counts[at]
    for neighbour in range(size):
        _add_pairs(window, window.after[neighbour])
        _add_pairs(window, window.before[neighbour])
    for word in range(len(places)):
        if places[word] == UNMERGED:
            _count_neighbours(window, window.left, word)
            _add_pairs(window, window.column)
            _count_neighbours(window, window.right, word)
            _add_pairs(window, window.column)
    window.column[:] = 0
    for a in range(size - 2):
        if window.first[a] != -1:
            window.since[a] = a
            for b in range(a):
                window.gains[a, b] += _rest(window, a, b)
            _find_best(window, a)


@kernel
def _add_pairs(window, numbers):
    """Add what a neighbour contributes to the gain of each pair; numbers: how often it is next to each class."""
    n = 0
    for place in range(len(numbers) - 2):
        if numbers[place] > 0:
            window.touched[n] = place
            n += 1
    for i in range(n):
        a = window.touched[i]
        for j in range(i):
            b = window.touched[j]
            window.gains[a, b] += _joint(window.terms, np.int64(numbers[a]), np.int64(numbers[b]))


@kernel
def _joint(terms, m, n):
    return term(terms, m + n) - term(terms, m) - term(terms, n)


@kernel
def _count_neighbours(window, neighbours, word):
    """Write to `column` how often each class is among the neighbours of a word."""
    window.column[:] = 0
    for at in range(neighbours.starts[word], neighbours.starts[word + 1]):
        place = window.places[neighbours.words[at]]
        if place != UNMERGED:
            window.column[place] += neighbours.counts[at]


@kernel
def _rest(window, a, b):
    """The gain of merging a and b, less the sum over all neighbours in which a and b count as two other classes."""
    terms, after = window.terms, window.after
    aa, ab, ba, bb = np.int64(after[a, a]), np.int64(after[a, b]), np.int64(window.before[a, b]), np.int64(after[b, b])
    sizes = _joint(terms, window.sizes[a], window.sizes[b])
    if ab == 0 and ba == 0:
        return _joint(terms, aa, bb) - 2 * sizes
    alone = term(terms, aa) + term(terms, ab) + term(terms, ba) + term(terms, bb)
    halves = term(terms, aa + ba) + term(terms, ab + bb) + term(terms, aa + ab) + term(terms, ba + bb)
    return term(terms, aa + ab + ba + bb) + alone - halves - 2 * sizes


@kernel
def _find_best(window, a):
    """The largest gain of a class with an older one; of equal gains, the lowest place."""
    best, highest = -1, NEVER
    for b in range(len(window.sizes)):
        if window.gains[a, b] > highest and window.since[b] < window.since[a]:
            best, highest = b, window.gains[a, b]
    window.best[a], window.highest[a] = best, highest


@kernel
def _gain(window, a, b):
    """The gain of a merge."""
    return window.gains[a, b] if window.since[a] > window.since[b] else window.gains[b, a]


@kernel
def _raise_gain(window, a, b, rise):
    """Raise, or lower, the gain of a merge, and update the best merge of the younger class."""
    if window.since[a] < window.since[b]:
        a, b = b, a
    gain = window.gains[a, b] + rise
    window.gains[a, b] = gain
    if gain > window.highest[a] or (gain == window.highest[a] and b < window.best[a]):
        window.best[a], window.highest[a] = b, gain
    elif b == window.best[a] and gain < window.highest[a]:
        _find_best(window, a)


@kernel
def _enter(window, word, count, place):
    """Put a word that is outside at a place that is free."""
    window.places[word] = place
    window.first[place] = word
    window.following[word] = -1
    window.sizes[place] = count
    right, left = window.right, window.left
    for at in range(right.starts[word], right.starts[word + 1]):
        other = window.places[right.words[at]]
        if other != UNMERGED:
            window.after[place, other] += right.counts[at]
            window.before[other, place] += right.counts[at]
    for at in range(left.starts[word], left.starts[word + 1]):
        other = window.places[left.words[at]]
        if other != UNMERGED and left.words[at] != word:
            window.before[place, other] += left.counts[at]
            window.after[other, place] += left.counts[at]
    window.sums[:] = 0
    _sum_with_word(window, word, place, right, left, window.after, window.before)
    _sum_with_word(window, word, place, left, right, window.before, window.after)
    _set_row(window, place)


@kernel
def _sum_with_word(window, word, place, neighbours, opposite, of_class, of_neighbour):
    """Add to `sums`, for each class, the contributions of the neighbours that it shares with a word on one side."""
    terms, sums, size = window.terms, window.sums, len(window.sizes)
    for neighbour in range(size):
        m = np.int64(of_class[place, neighbour])
        if m > 0:
            for b in range(size):
                if of_neighbour[neighbour, b] > 0:
                    sums[b] += _joint(terms, m, np.int64(of_neighbour[neighbour, b]))
    for at in range(neighbours.starts[word], neighbours.starts[word + 1]):
        neighbour = neighbours.words[at]
        if window.places[neighbour] == UNMERGED:
            m = np.int64(neighbours.counts[at])
            n = _gather(window, opposite, neighbour)
            for i in range(n):
                b = window.touched[i]
                sums[b] += _joint(terms, m, window.column[b])
                window.column[b] = 0


@kernel
def _gather(window, neighbours, word):
    """Count neighbours by class, as `_count_neighbours`, where `column` is 0.

    Returns the number of classes, whose places are in `touched`.
    """
    n = 0
    for at in range(neighbours.starts[word], neighbours.starts[word + 1]):
        place = window.places[neighbours.words[at]]
        if place != UNMERGED:
            if window.column[place] == 0:
                window.touched[n] = place
                n += 1
            window.column[place] += neighbours.counts[at]
    return n


@kernel
def _set_row(window, a):
    """Set the gains of merging a with each other class, from `sums`: it becomes the youngest one."""
    window.tick[0] += 1
    window.since[a] = window.tick[0]
    for b in range(len(window.sizes)):
        if b != a and window.since[b] != GONE:
            window.gains[a, b] = window.sums[b] + _rest(window, a, b)
    _find_best(window, a)
    for b in range(len(window.sizes)):
        if window.best[b] == a:
            _find_best(window, b)


@kernel
def _merge(window, a, b):
    """Merge two classes; the larger one keeps its place, or the lower one of two as large. Returns both places."""
    if window.sizes[a] < window.sizes[b] or (window.sizes[a] == window.sizes[b] and a > b):
        a, b = b, a
    size = len(window.sizes)
    for c in range(size):
        window.sums[c] = 0
        if c != a and window.since[c] != GONE:
            window.sums[c] = _gain(window, a, c) - _rest(window, a, c)
    _sum_outside(window, a, b, window.right, window.left)
    _sum_outside(window, a, b, window.left, window.right)
    _sum_inside(window, a, b, window.after, window.before)
    _sum_inside(window, a, b, window.before, window.after)
    _join_neighbours(window, a, b, window.before)
    _join_neighbours(window, a, b, window.after)
    _join_rows(window, a, b, window.after)
    _join_rows(window, a, b, window.before)
    _join_columns(window, a, b, window.after)
    _join_columns(window, a, b, window.before)
    word = window.first[b]
    last = word
    while word != -1:
        window.places[word] = a
        last, word = word, window.following[word]
    window.following[last] = window.first[a]
    window.first[a], window.first[b] = window.first[b], -1
    window.sizes[a] += window.sizes[b]
    window.sizes[b] = 0
    window.best[b], window.highest[b], window.since[b] = -1, NEVER, GONE
    _set_row(window, a)
    for c in range(size):
        if window.best[c] == b:
            _find_best(window, c)
    return a, b


@kernel
def _sum_outside(window, a, b, neighbours, opposite):
    """Add to `sums` the further contributions of b's neighbours outside the window to pairs with a and b in one."""
    terms = window.terms
    window.tick[0] += 1
    word = window.first[b]
    while word != -1:
        for at in range(neighbours.starts[word], neighbours.starts[word + 1]):
            neighbour = neighbours.words[at]
            if window.places[neighbour] == UNMERGED and window.seen[neighbour] != window.tick[0]:
                window.seen[neighbour] = window.tick[0]
                n = _gather(window, opposite, neighbour)
                of_a, of_b = window.column[a], window.column[b]
                rise = term(terms, of_a) - term(terms, of_a + of_b)
                for i in range(n):
                    c = window.touched[i]
                    of_c = window.column[c]
                    window.sums[c] += term(terms, of_a + of_b + of_c) - term(terms, of_a + of_c) + rise
                    window.column[c] = 0
        word = window.following[word]


@kernel
def _sum_inside(window, a, b, of_class, of_neighbour):
    """Add to `sums` the further contributions of b's neighbours in the window, as `_sum_outside` for the others."""
    terms, size = window.terms, len(window.sizes)
    for neighbour in range(size):
        of_b = np.int64(of_class[b, neighbour])
        if of_b > 0:
            of_a = np.int64(of_class[a, neighbour])
            rise = term(terms, of_a) - term(terms, of_a + of_b)
            for c in range(size):
                of_c = np.int64(of_neighbour[neighbour, c])
                if of_c > 0:
                    window.sums[c] += term(terms, of_a + of_b + of_c) - term(terms, of_a + of_c) + rise


@kernel
def _join_rows(window, a, b, numbers):
    for c in range(len(window.sizes)):
        numbers[a, c] += numbers[b, c]
        numbers[b, c] = 0


@kernel
def _join_columns(window, a, b, numbers):
    for c in range(len(window.sizes)):
        numbers[c, a] += numbers[c, b]
        numbers[c, b] = 0


@kernel
def _join_neighbours(window, a, b, of_neighbour):
    """Update the gains of pairs to a and b as one neighbour on one side, and as one class."""
    terms, size = window.terms, len(window.sizes)
    of_a, of_b, falls = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    n = 0
    for c in range(size):
        of_a[c], of_b[c] = of_neighbour[a, c], of_neighbour[b, c]
    of_a[a] += of_a[b]
    of_b[a] += of_b[b]
    of_a[b], of_b[b] = 0, 0
    for c in range(size):
        falls[c] = term(terms, of_a[c]) + term(terms, of_b[c]) - term(terms, of_a[c] + of_b[c])
        if of_a[c] + of_b[c] > 0:
            window.touched[n] = c
            n += 1
    for i in range(n):
        c = window.touched[i]
        if of_b[c] == 0:
            continue
        for j in range(n):
            d = window.touched[j]
            if c == d or (of_b[d] > 0 and d < c):
                continue
            both = term(terms, of_a[c] + of_b[c] + of_a[d] + of_b[d]) + falls[c] + falls[d]
            gain = both - term(terms, of_a[c] + of_a[d]) - term(terms, of_b[c] + of_b[d])
            if c == a or d == a:
                window.sums[c + d - a] += gain
            elif window.since[c] != GONE and window.since[d] != GONE:
                _raise_gain(window, c, d, gain)


@kernel
def _best_pair(window):
    """The two classes whose merge gains the most; of equal ones, the lowest places."""
    first, second, highest = -1, -1, NEVER
    for a in range(len(window.sizes)):
        b = window.best[a]
        if b != -1 and window.highest[a] >= highest:
            low, high = min(a, b), max(a, b)
            if window.highest[a] > highest or low < first or (low == first and high < second):
                first, second, highest = low, high, window.highest[a]
    return first, second


@kernel
def enter_and_merge(window, counts, start, end):
    """For each of the words `start` … `end` − 1: put it into the window, at the free place, and merge two classes."""
    for word in range(start, end):
        place = 0
        while window.first[place] != -1:
            place += 1
        _enter(window, word, counts[word], place)
        a, b = _best_pair(window)
        _merge(window, a, b)


@kernel
def merge_pairs(window, merges):
    """Merge pair after pair; merges: int32 [n, 2], output, the two places of each; the first one remains."""
    for k in range(len(merges)):
        a, b = _best_pair(window)
        merges[k, 0], merges[k, 1] = _merge(window, a, b)
