"""Products and sums of vectors as long as w, which threads share; each reads every vector from memory once.

Vectors are cut into blocks of a fixed size, whose sums are added up in order: unlike a BLAS, results depend neither on
the number of threads nor on the processor.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from ..kernels import kernel
from ..threads import in_threads

MAX_VECTORS = 13
"""The largest number of vectors that functions take: kernels are compiled for this many."""

BLOCK = 1024
"""Entries of a vector that are read together: as many of each vector fit the cache."""

LANES = 256
"""Sums that a product of two blocks is added up in, side by side, as processors do; a power of 2."""

PART = 1 << 18
"""Entries of a vector that NumPy works on at a time."""

MIN_BLOCKS = 16
"""Blocks that are worth a thread."""

_NOTHING = np.zeros(0)


@kernel
def _product(x, y, lanes):
    """xᵀy, for x and y float64 [m]; lanes: float64 [LANES], scratch."""
    for lane in range(LANES):
        lanes[lane] = 0.0
    end = len(x) - len(x) % LANES
    for first in range(0, end, LANES):
        some_x, some_y = x[first : first + LANES], y[first : first + LANES]
        for lane in range(LANES):
            lanes[lane] += some_x[lane] * some_y[lane]
    for k in range(end, len(x)):
        lanes[k - end] += x[k] * y[k]
    width = LANES
    while width > 1:
        width //= 2
        for lane in range(width):
            lanes[lane] += lanes[lane + width]
    return lanes[0]


@kernel
def _products(left, right, first_block, end_block, by_block):
    lanes = np.empty(LANES)
    for block in range(first_block, end_block):
        first, end = block * BLOCK, min((block + 1) * BLOCK, len(left[0]))
        for j in range(by_block.shape[1]):
            x = left[j][first:end]
            for k in range(by_block.shape[2]):
                by_block[block, j, k] = _product(x, right[k][first:end], lanes)


@kernel
def _combine(vectors, factors, first_block, end_block, result):
    for block in range(first_block, end_block):
        first, end = block * BLOCK, min((block + 1) * BLOCK, len(result))
        part, vector, factor = result[first:end], vectors[0][first:end], factors[0]
        for k in range(end - first):
            part[k] = factor * vector[k]
        for j in range(1, len(factors)):
            vector, factor = vectors[j][first:end], factors[j]
            for k in range(end - first):
                part[k] += factor * vector[k]


def products(left: Sequence[np.ndarray], right: Sequence[np.ndarray], n_threads: int = 1) -> np.ndarray:
    """The products of each vector on the left with each on the right, float64 [m, n].

    Args:
        left, right: float64 [d] each, from one vector to MAX_VECTORS.
    """
    n_blocks = _n_blocks(left[0])
    by_block = np.zeros((n_blocks + 1, len(left), len(right)))

    def multiply(first: int, end: int) -> None:
        _products(_padded(left), _padded(right), first, end, by_block)

    _in_blocks(multiply, n_blocks, n_threads)
    # In order, while `sum` chooses an order by the shape: a product does not depend on what others are asked for.
    return np.asarray(np.add.accumulate(by_block)[-1])


def combination(
    factors: Sequence[float], vectors: Sequence[np.ndarray], n_threads: int = 1, out: np.ndarray | None = None
) -> np.ndarray:
    """Σ_k factors[k] · vectors[k], float64 [d], written to `out` if that is given.

    Args:
        vectors: float64 [d] each, from one vector to MAX_VECTORS.
        out: float64 [d], none of the vectors but the first.
    """
    result = np.empty_like(vectors[0]) if out is None else out

    def add_up(first: int, end: int) -> None:
        _combine(_padded(vectors), np.array(factors, np.float64), first, end, result)

    _in_blocks(add_up, _n_blocks(result), n_threads)
    return result


def squared_distance(vector: np.ndarray, origin: np.ndarray | None = None, n_threads: int = 1) -> float:
    """‖v − v₀‖² of vectors, float64 [d]; ‖v‖² without v₀.

    By NumPy, as kernels would not be worth their compilation, but not by its BLAS, whose threads would be awake for a
    tenth of a second after each product.
    """

    def of_part(first: int) -> float:
        part = vector[first : first + PART]
        if origin is not None:
            part = part - origin[first : first + PART]
        return float(np.einsum("i,i", part, part))

    return math.fsum(in_threads(n_threads, of_part, range(0, len(vector), PART)))


def nonzero(vector: np.ndarray, n_threads: int = 1) -> np.ndarray:
    """The ascending indices, int64, of the non-zeros of a vector, [d]."""

    def of_part(first: int) -> np.ndarray:
        return np.flatnonzero(vector[first : first + PART]) + first

    return np.concatenate([np.zeros(0, np.int64), *in_threads(n_threads, of_part, range(0, len(vector), PART))])


def _n_blocks(vector: np.ndarray) -> int:
    return -(-len(vector) // BLOCK)


def _padded(vectors: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    return (*vectors, *[_NOTHING] * (MAX_VECTORS - len(vectors)))


def _in_blocks(work: Callable[[int, int], None], n_blocks: int, n_threads: int) -> None:
    """Call work(first block, end block) for contiguous shares of the blocks."""
    n_shares = max(1, min(n_threads, n_blocks // MIN_BLOCKS))
    ends = [n_blocks * share // n_shares for share in range(n_shares + 1)]
    in_threads(n_shares, lambda share: work(*share), list(pairwise(ends)))
