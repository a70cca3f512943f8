"""The examples of Docs in a data set: where they are, and what happens to them when Docs are replaced."""

import numpy as np


def examples_of(docs: np.ndarray) -> np.ndarray:
    """The examples of Docs, int64, one Doc after the other. docs: int64 [n, 2], first example and number of each."""
    first, count = docs.T
    examples: np.ndarray = np.arange(count.sum()) + np.repeat(first - np.cumsum(count) + count, count)
    return examples


def replaced_by_last(docs: np.ndarray, replaced: list[int], n_examples: int) -> tuple[np.ndarray, np.ndarray]:
    """Move the last Docs to the places of others. Returns the examples to keep, int64, in order, and the new `docs`.

    docs: as in `examples_of`. replaced: the others, as many as are moved. n_examples: the number of all examples, which
    stands for an empty one in the result. If a Doc has as many examples as before, these replace the old ones.
    """
    old, new = docs[replaced], docs[len(docs) - len(replaced) :]
    order, is_kept = np.arange(n_examples), np.ones(n_examples, np.bool_)
    for (before, n_before), (after, n_after) in zip(old, new):
        if n_before == n_after:
            order[before : before + n_before] = np.arange(after, after + n_after)
            is_kept[after : after + n_after] = False
        else:
            # The new examples stay where they are, and the old ones become empty: all others keep their numbers.
            order[before : before + n_before] = n_examples
    numbers, moved = np.cumsum(is_kept) - 1, docs.copy()
    moved[replaced] = [
        (before if n_before == n_after else numbers[after], n_after)
        for (before, n_before), (after, n_after) in zip(old, new)
    ]
    return order[is_kept], moved[: len(docs) - len(replaced)].copy()
