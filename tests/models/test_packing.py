"""Sparse vectors in few bytes: what comes back, how far off, and what is refused."""

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from spacy_ssvm.models.packing import BLOCK, EXACT, Packing, pack, pack_indices, unpack, unpack_indices
from spacy_ssvm.models.store import DamagedModel

from .packed import compressed

SPARSE = st.one_of(st.just(np.float32(0)), st.floats(-1e4, 1e4, width=32).map(np.float32))
VECTORS = arrays(np.float32, st.integers(0, 3 * BLOCK), elements=SPARSE)
MOST = 1 << 48


def restored(dense, packing):
    indices, weights = unpack("", pack("", compressed(dense, packing)), len(dense))
    again = np.zeros(len(dense), np.float32)
    again[indices] = weights
    return again


def by_hand(packed):
    """The numbers in packed bytes, as the module's docstring says it."""
    width, data = int(packed[0]), zlib.decompress(packed[1:].tobytes())
    n = len(data) // width
    return [int.from_bytes(data[k::n], "little") for k in range(n)]


@given(st.sets(st.one_of(st.integers(0, 300), st.integers(0, MOST))).map(sorted))
def test_indices_are_stored_as_the_gaps_between_them(numbers):
    packed = pack_indices(np.array(numbers, np.int64))
    assert packed.dtype == np.uint8
    assert by_hand(packed) == [b - a - 1 for a, b in zip([-1, *numbers], numbers)]
    assert unpack_indices(packed, MOST + 1).tolist() == numbers


def test_dense_indices_take_next_to_nothing():
    assert len(pack_indices(np.arange(1_000_000))) < 1500
    assert len(pack_indices(np.arange(0, 3_000_000, 3))) < 1500


@pytest.mark.parametrize("weight", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("values", ["float32", "float16", "int8"])
def test_weights_that_are_not_finite_are_not_saved(values, weight):
    with pytest.raises(ValueError, match=r"a weight is -?(nan|inf) in single precision, which"):
        compressed(np.array([weight, 1, 2], np.float32), Packing(values))


@given(VECTORS)
def test_float32_is_exact(dense):
    again = restored(dense, EXACT)
    assert again.dtype == np.float32 and np.array_equal(again, dense)


@pytest.mark.parametrize(("values", "coarsest"), [("float16", 2.0**-12), ("int8", 0.5 / 127)])
@given(dense=VECTORS)
def test_rounded_weights_are_near(values, coarsest, dense):
    """Half a step of float16 or int8, relative to the largest of the block that the weight is in."""
    again = restored(dense, Packing(values))
    kept = np.flatnonzero(dense)
    for first in range(0, len(kept), BLOCK):
        block = kept[first : first + BLOCK]
        largest = float(np.abs(dense[block]).max())
        assert np.abs(again[block] - dense[block]).max() <= largest * coarsest * 1.001 + 1e-37
    assert not again[dense == 0].any()


@pytest.mark.parametrize("values", ["float32", "float16", "int8"])
@pytest.mark.parametrize("keep", [1e-9, 0.1, 0.5, 0.999, 1.0])
def test_the_smallest_weights_go_first(values, keep):
    dense = np.random.default_rng(0).normal(size=1000).astype(np.float32)
    dense[::4] = 0
    kept = compressed(dense, Packing(values, keep)).indices
    assert len(kept) == max(1, int(np.ceil(keep * 750)))
    dropped = np.setdiff1d(np.flatnonzero(dense), kept)
    assert not len(dropped) or np.abs(dense[kept]).min() >= np.abs(dense[dropped]).max()


@pytest.mark.parametrize("keep", [0.1, 0.5])
def test_kept_weights_are_multiples_of_the_smallest_or_coarser(keep):
    dense = np.random.default_rng(0).normal(size=1000).astype(np.float32)
    dense[500] = 500.0  # Its block has larger steps.
    kept = compressed(dense, Packing("int8", keep))
    smallest = np.abs(dense[kept.indices]).min()
    largest = np.abs(np.pad(dense[kept.indices], (0, -len(kept.indices) % BLOCK)).reshape(-1, BLOCK)).max(axis=1)
    np.testing.assert_array_equal(kept.scales, np.maximum(largest / 127, smallest))
    assert kept.scales.min() == smallest < kept.scales.max()


def test_equal_magnitudes_stay_together():
    dense = np.array([1, -1, 0, 1, 2, 0.5], np.float32)
    assert compressed(dense, Packing(keep_fraction=0.4)).indices.tolist() == [0, 1, 3, 4]
    assert compressed(dense, Packing(keep_fraction=0.2)).indices.tolist() == [4]


@pytest.mark.parametrize("packing", [EXACT, Packing("int8", 0.5)])
@pytest.mark.parametrize("n", [0, 7])
def test_nothing_is_packed_too(packing, n):
    assert not restored(np.zeros(n, np.float32), packing).any()


@pytest.mark.parametrize("values", ["float64", "", None, 8])
def test_unknown_types_are_refused(values):
    with pytest.raises(ValueError, match="weight_dtype must be one of float32, float16, int8, not"):
        Packing(values)


@pytest.mark.parametrize("keep", [0, -0.5, 1.5, float("nan"), "half", None])
def test_shares_out_of_range_are_refused(keep):
    with pytest.raises(ValueError, match="keep_fraction must be above 0 and at most 1, not"):
        Packing(keep_fraction=keep)


def deflated(width, numbers):
    """Packed bytes of these numbers, by hand."""
    data = b"".join(bytes(number >> 8 * k & 255 for number in numbers) for k in range(width))
    return np.frombuffer(bytes([width]) + zlib.compress(data), np.uint8)


GOOD = {"indices": deflated(1, [1, 0, 3]), "values": deflated(1, [1, 255, 127]), "scales": np.array([0.5], np.float32)}
HALF_INFINITY, INFINITY = 0x7C00, 0x7F800000


def test_what_is_packed_by_hand():
    indices, weights = unpack("", GOOD, 7)
    assert indices.tolist() == [1, 2, 6] and weights.tolist() == [0.5, -0.5, 63.5]


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"indices": deflated(1, [1, 0, 4])}, "index is out of range"),
        ({"indices": deflated(8, [1, 2**62, 2**62])}, "index is out of range"),
        ({"indices": deflated(8, [2**64 - 1, 2**64 - 1, 2**64 - 1])}, "index is out of range"),
        ({"indices": deflated(1, [1, 0])}, "not as many as their indices"),
        ({"indices": deflated(1, [0] * 8)}, "wrong length"),
        ({"indices": deflated(3, [1, 0, 3])}, "unknown type"),
        ({"indices": np.zeros(0, np.uint8)}, "unknown type"),
        ({"indices": GOOD["indices"][None]}, "unknown type"),
        ({"indices": GOOD["indices"][:-3]}, "wrong length"),
        ({"indices": np.append(GOOD["indices"], np.uint8(0))}, "wrong length"),
        ({"indices": GOOD["indices"][::-1]}, "unknown type|cannot be inflated"),
        ({"indices": np.append(GOOD["indices"][:1], GOOD["indices"][2:])}, "cannot be inflated"),
        ({"indices": np.append(np.uint8(2), GOOD["indices"][1:])}, "wrong length"),
        ({"values": deflated(8, [1, 2, 3])}, "unknown type"),
        ({"values": deflated(1, [1, 2, 3, 4])}, "not as many as their indices"),
        ({"values": deflated(2, [0, 0, HALF_INFINITY])}, "not finite"),
        ({"values": deflated(4, [0, 0, INFINITY]), "scales": np.zeros(0, np.float32)}, "not finite"),
        ({"values": deflated(4, [0, 0, 0])}, "scales are not as many"),
        ({"scales": np.zeros(0, np.float32)}, "scales are not as many"),
        ({"scales": np.ones((1, 1), np.float32)}, "scales are not as many"),
        ({"scales": np.array([np.nan], np.float32)}, "not finite"),
        ({"scales": np.array([np.inf], np.float32)}, "not finite"),
        ({"scales": np.array([1e38], np.float32)}, "not finite"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow encountered", "ignore:invalid value encountered")
def test_what_contradicts_itself_is_refused(changed, complaint):
    with pytest.raises(DamagedModel, match=complaint):
        unpack("", {**GOOD, **changed}, 7)


@given(data=st.data())
def test_damaged_bytes_give_indices_in_range_or_are_refused(data):
    """The digest finds damage first; here nothing but the bytes themselves is there to tell."""
    packed = pack_indices(np.sort(np.random.default_rng(0).choice(10_000, 300, replace=False))).copy()
    for _ in range(data.draw(st.integers(1, 3))):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    try:
        indices = unpack_indices(packed, 10_000)
    except DamagedModel:
        return
    assert not len(indices) or (indices[0] >= 0 and indices[-1] < 10_000 and (np.diff(indices) > 0).all())


def test_a_bomb_is_not_blown_up():
    bomb = np.frombuffer(bytes([1]) + zlib.compress(bytes(1 << 26)), np.uint8)
    with pytest.raises(DamagedModel, match="wrong length"):
        unpack_indices(bomb, 1000)
