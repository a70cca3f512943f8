"""A set of sentences with candidate arcs and gold trees as flat arrays, and the layout of a tree's weight vector."""

from typing import Annotated, NamedTuple

import numpy as np

from ...features.arc_program import ArcProgram, max_features
from ...features.index import Columns
from ...kernels import FirstClassFunction, Float64Array, Int8Array, Int32Array, Int64Array, kernel
from ...structures.tree.parts import (
    DECODER,
    PROJECTIVE,
    PROJECTIVE_GRANDPARENTS,
    PROJECTIVE_SIBLINGS,
    SPANNING,
    SPANNING_GRANDPARENTS,
)
from ..packing import Masked

STRUCTURES = {
    ("projective", 1): PROJECTIVE,
    ("projective", 2): PROJECTIVE_SIBLINGS,
    ("projective", 3): PROJECTIVE_GRANDPARENTS,
    ("nonprojective", 1): SPANNING,
    ("nonprojective", 2): SPANNING_GRANDPARENTS,
}
"""The structures by the settings structure and order."""


class Shape(NamedTuple):
    """The sizes of the weight vector, and the kind of trees.

    Attributes:
        n_labels: L.
        arc_bits, label_bits: bits of the hashed indices.
        structure: one of the five in `structures.tree.parts`.
        multi_root: whether a sentence may have several roots.
    """

    n_labels: int
    arc_bits: int
    label_bits: int
    structure: int
    multi_root: bool


class Trees(NamedTuple):
    """n sentences of T tokens in total, with candidate arcs and gold trees.

    The weight vector has 2^arc_bits weights of arcs and pairs of arcs, then a block of L weights for each of
    2^label_bits hashed label features.

    Attributes:
        columns: attribute keys of the tokens, and perhaps room for more.
        program: compiled templates.
        candidate_starts: int64 [T + 1].
        candidates: int32 [A], the heads that a token may have, ascending, 0 for the root.
        gold: int32 [T], gold heads, a tree of the structure.
        gold_labels: int32 [T].
        head_costs, label_costs: float64 [T], the losses of a wrong head and of a wrong label at each token; 0 where
            gold is unknown.
        decoder: of the structure. Kernels call it by its address, so that only the decoder in use is compiled.
    """

    columns: Columns
    program: ArcProgram
    candidate_starts: Int64Array
    candidates: Int32Array
    gold: Int32Array
    gold_labels: Int32Array
    head_costs: Float64Array
    label_costs: Float64Array
    shape: Shape
    decoder: Annotated[FirstClassFunction, DECODER]


def dimension(shape: Shape) -> int:
    """Length of the weight vector."""
    return int((1 << shape.arc_bits) + (shape.n_labels << shape.label_bits))


def n_rows(shape: Shape) -> int:
    """The number of hashed features: of arcs and pairs of arcs, and of labels."""
    return int((1 << shape.arc_bits) + (1 << shape.label_bits))


def plane_entries(trees: Trees) -> np.ndarray:
    """Upper bounds of the numbers of entries of ΔΦ, int64 [n], before equal indices are merged."""
    lengths = np.diff(trees.columns.starts)
    sentences = np.repeat(np.arange(len(lengths)), lengths)
    distinct = np.zeros(len(lengths), np.int64)
    for column in trees.program.between:
        keys = trees.columns.keys[column]
        order = np.lexsort((keys, sentences))
        first = np.ones(len(order), np.bool_)
        first[1:] = (np.diff(keys[order]) != 0) | (np.diff(sentences) != 0)
        distinct = np.maximum(distinct, np.bincount(sentences[first], minlength=len(lengths)))
    bounds: np.ndarray = 2 * lengths * max_features(trees.program, distinct)
    return bounds


class WeightVector(NamedTuple):
    """w to learn with, or in steps, to predict with; the array of the other one is empty.

    As both have one type, kernels are compiled once for learning and prediction; only code that adds up weights has to
    distinguish them.

    Attributes:
        double: float64 [d].
        steps: int8, in units of arc_step for arcs and pairs of arcs, and of label_step for labels. Sums of steps are
            exact, in any order and on any processor. The L weights of a label feature begin a row of label_row
            elements, which zeros fill. The last row has zeros alone: features that do not fire have it.
    """

    double: Float64Array
    steps: Int8Array
    arc_step: float
    label_step: float
    label_row: int


CACHE_LINE = 64
"""Size of a cache line in bytes."""

MAX_STEPS = 127
"""The largest magnitude of a weight, in steps."""


@kernel
def double_precision(weights):
    """The `WeightVector` of w, float64 [d]."""
    return WeightVector(weights, np.empty(0, np.int8), 1.0, 1.0, 0)


@kernel
def _write_steps(weights, steps):
    largest = np.float32(0.0)
    for weight in weights:
        largest = max(largest, abs(weight))
    if largest == 0.0:
        return 1.0
    step = largest / MAX_STEPS
    for k in range(len(weights)):
        steps[k] = np.int8(np.rint(weights[k] / step))
    return step


def _rounded(weights: np.ndarray, n_arcs: int) -> WeightVector:
    """w, float32 [d], in steps, without room between the rows."""
    steps = np.zeros(len(weights), np.int8)
    arc_step = _write_steps(weights[:n_arcs], steps[:n_arcs])
    label_step = _write_steps(weights[n_arcs:], steps[n_arcs:])
    return WeightVector(np.zeros(0), steps, arc_step, label_step, 0)


def _in_rows(weights: WeightVector, n_arcs: int, n_labels: int) -> WeightVector:
    """The same steps with the label weights in rows, each in as few cache lines as possible."""
    lines = -(-n_labels // CACHE_LINE) * CACHE_LINE
    row = lines if n_labels > CACHE_LINE else 1 << (n_labels - 1).bit_length()
    of_labels = weights.steps[n_arcs:].reshape(-1, n_labels)
    size = n_arcs + (len(of_labels) + 1) * row
    room = np.zeros(size + CACHE_LINE, np.int8)
    first = -room.ctypes.data % CACHE_LINE
    steps = room[first : first + size]
    steps[:n_arcs] = weights.steps[:n_arcs]
    steps[n_arcs:].reshape(-1, row)[:-1, :n_labels] = of_labels
    return weights._replace(steps=steps, label_row=row)


def in_steps(weights: np.ndarray, n_arcs: int, n_labels: int = 1) -> WeightVector:
    """The `WeightVector` of w, float32 [d], rounded; n_arcs: the number of weights before those of labels."""
    return _in_rows(_rounded(weights, n_arcs), n_arcs, n_labels)


@kernel
def _spread(bits, values, spread):
    """Write the values, in order, to the places whose bit is 1, and 0 to the others."""
    at, last = np.uint64(0), np.uint64(len(values) - 1)
    for place in range(np.uint64(len(spread))):
        # Without a branch, which could not be predicted.
        bit = np.uint64(bits[place >> np.uint64(3)]) >> (place & np.uint64(7)) & np.uint64(1)
        spread[place] = np.int8(bit) * values[min(at, last)]
        at += bit


def masked_in_steps(weights: Masked, n_arcs: int, n_labels: int) -> WeightVector:
    """`in_steps` of a vector without its zeros; n_arcs: a multiple of 8."""
    stored = _rounded(weights.values, weights.count(n_arcs))
    steps = np.zeros(weights.length, np.int8)
    if len(weights.values):
        _spread(weights.bits, stored.steps, steps)
    return _in_rows(stored._replace(steps=steps), n_arcs, n_labels)


def weights_at(weights: WeightVector, indices: np.ndarray, of_labels: bool) -> np.ndarray:
    """The weights at these indices, int64 [n], all of them of labels or none of them: float64 [n]."""
    if len(weights.double):
        return np.asarray(weights.double[indices])
    return np.asarray(weights.steps[indices] * (weights.label_step if of_labels else weights.arc_step))
