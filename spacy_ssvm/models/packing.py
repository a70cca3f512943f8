"""Sparse vectors, and the names of their rows, in few bytes: pruned, quantised, and deflated by planes of bytes.

Numbers of several bytes are stored plane by plane, all first bytes, then all second bytes, as by HDF5's shuffle filter,
and then deflated: bytes that vary little, such as high bytes and exponents, become small. Ascending indices are stored
as the gaps between them. For a large vector with as many zeros as other weights, a bit for each weight takes less room.
Exact weights are not deflated: that would save a sixth, and inflating would take half the time of loading.
"""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import srsly

from .store import DamagedModel, require, require_savable, require_weights

WeightDtype = Literal["float32", "float16", "int8"]

BLOCK = 64
"""Number of consecutive weights with a common scale; it is small, so that an outlier makes few others coarse."""

WORTHWHILE = 0.875
"""Data that deflating does not shrink below this fraction is not deflated; inflating would be a third of loading."""

_MAX_MAGNITUDE = {"float16": 1.0, "int8": 127.0}
"""The largest magnitude of a weight of each type, in units of the scale of its block."""

_HEADER, _CHECKSUM = 2, 4
"""Bytes of a deflated stream before and after its blocks."""

_WINDOW = 1 << 15
"""Bytes before a block that it may refer to."""

PART_TYPES = {"indices": (np.uint8,), "values": (np.uint8,), "scales": (np.float32,)}
"""The arrays of one sparse vector in a model file, and their possible types."""

MASKED_TYPES = {**PART_TYPES, "values": (np.float32, np.uint8)}
"""The types of arrays of a vector that `pack_masked` has packed."""

MAX_NAME = 200
"""Characters of a name that are kept."""

_BITS = 0
"""In place of the size of a number: the packed indices are bits."""


@dataclass(frozen=True)
class Packing:
    """How weights are written to a model file.

    Attributes:
        weight_dtype: "float32" is exact, "float16" has 11 significant bits, and "int8" 127 steps up to the largest
            magnitude of a block, but none smaller than the smallest weight that a keep_fraction keeps: more precision
            than that takes room and does not help.
        keep_fraction: the fraction of the non-zero weights that is kept, above 0 and at most 1; the smallest magnitudes
            are dropped.

    Raises:
        ValueError: an unknown type, or a fraction out of range.
    """

    weight_dtype: WeightDtype = "float32"
    keep_fraction: float = 1.0

    def __post_init__(self) -> None:
        if self.weight_dtype not in get_args(WeightDtype):
            raise ValueError(
                f"weight_dtype must be one of {', '.join(get_args(WeightDtype))}, not {self.weight_dtype!r}"
            )
        try:
            keep = float(self.keep_fraction)
        except (TypeError, ValueError):
            keep = 0.0
        if not 0 < keep <= 1:
            raise ValueError(f"keep_fraction must be above 0 and at most 1, not {self.keep_fraction!r}")
        object.__setattr__(self, "keep_fraction", keep)


EXACT = Packing()


class Sparse(NamedTuple):
    """The stored entries of a vector.

    Attributes:
        indices: int64 [n], ascending.
        values: [n], of the packing's type.
        scales: float32 [⌈n / BLOCK⌉], the factor of each block's values; empty for float32.
    """

    indices: np.ndarray
    values: np.ndarray
    scales: np.ndarray


class Masked(NamedTuple):
    """A vector of d weights without those that are zero.

    Attributes:
        bits: uint8 [⌈d / 8⌉], a bit for each weight, the first one in the lowest place; 1 if its value is stored.
        values: float32 [n].
        length: d.
    """

    bits: np.ndarray
    values: np.ndarray
    length: int

    def dense(self) -> np.ndarray:
        """The vector, float32 [d]."""
        vector = np.zeros(self.length, np.float32)
        vector[np.unpackbits(self.bits, count=self.length, bitorder="little").view(np.bool_)] = self.values
        return vector

    def size(self) -> tuple[int, int]:
        """The number of non-zero weights, and of all weights."""
        return int(np.count_nonzero(self.values)), self.length

    def indices(self) -> np.ndarray:
        """The places of the values, int64 [n], ascending."""
        return np.flatnonzero(np.unpackbits(self.bits, count=self.length, bitorder="little"))

    def count(self, end: int) -> int:
        """How many values are stored of the first `end` weights, a multiple of 8 or all."""
        return int.from_bytes(self.bits[: -(-end // 8)].tobytes(), "little").bit_count()


_ROUNDED_TOGETHER = 1 << 20
"""The number of weights whose rounded copy is in memory at a time; a multiple of 8."""


def masked(vector: np.ndarray) -> Masked:
    """A vector, float [d], rounded to single precision, without its zeros."""
    bits = np.empty(-(-len(vector) // 8), np.uint8)
    # Counted before, so that the values are in memory once.
    values = np.empty(sum(np.count_nonzero(part) for _, part in _rounded(vector)), np.float32)
    end = 0
    for first, part in _rounded(vector):
        is_stored = part != 0
        bits[first // 8 : -(-(first + len(part)) // 8)] = np.packbits(is_stored, bitorder="little")
        # Few are, and to look for their places first is faster than to choose by flags.
        places = np.flatnonzero(is_stored)
        begin, end = end, end + len(places)
        values[begin:end] = part[places]
    return Masked(bits, values, len(vector))


def _rounded(vector: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Parts of a vector in single precision, and the first index of each."""
    for first in range(0, len(vector), _ROUNDED_TOGETHER):
        yield first, vector[first : first + _ROUNDED_TOGETHER].astype(np.float32)


def compress(
    indices: np.ndarray, weights: np.ndarray, packing: Packing, is_protected: np.ndarray | None = None
) -> Sparse:
    """The entries of a vector that a packing stores.

    Args:
        indices: int64 [n], ascending, and weights: float32 [n], of the entries that are not zero.
        is_protected: bool [n], the entries that are not dropped; the packing's fraction applies to the others.

    Raises:
        ValueError: a weight is not finite, or too large to be loaded.
    """
    require_savable(weights)
    min_scale = np.finfo(np.float32).tiny
    if packing.keep_fraction < 1:
        magnitudes = np.abs(weights)
        others = magnitudes if is_protected is None else magnitudes[~is_protected]
        if len(others):
            n_dropped = len(others) - int(np.ceil(packing.keep_fraction * len(others)))
            # Equal magnitudes are all kept or all dropped, so that the result does not depend on their order.
            smallest = np.partition(others, n_dropped)[n_dropped]
            chosen = magnitudes >= smallest
            if is_protected is not None:
                chosen |= is_protected
            elif packing.weight_dtype == "int8":
                min_scale = max(min_scale, smallest)
            indices, weights = indices[chosen], weights[chosen]
    if packing.weight_dtype == "float32":
        return Sparse(indices, weights, np.zeros(0, np.float32))
    blocks = np.pad(weights, (0, -len(weights) % BLOCK)).reshape(-1, BLOCK)
    largest = np.maximum(blocks.max(axis=1), -blocks.min(axis=1))
    scales = np.maximum(largest / _MAX_MAGNITUDE[packing.weight_dtype], min_scale)
    # In place: there are as many weights as in any array of the model.
    blocks /= scales[:, None]
    if packing.weight_dtype == "int8":
        np.rint(blocks, out=blocks)
    return Sparse(indices, blocks.reshape(-1)[: len(weights)].astype(packing.weight_dtype), scales)


def expanded(sparse: Sparse) -> np.ndarray:
    """The weights of the stored entries, float32 [n]."""
    values, count = sparse.values, len(sparse.values)
    if not len(sparse.scales):
        return values
    blocks = np.pad(values, (0, -count % BLOCK)).reshape(-1, BLOCK)
    weights: np.ndarray = (blocks * sparse.scales[:, None]).reshape(-1)[:count]
    return weights


def pack(prefix: str, sparse: Sparse) -> dict[str, np.ndarray]:
    """A sparse vector as arrays for a model file, named by the prefix and a key of PART_TYPES."""
    return {
        f"{prefix}indices": pack_indices(sparse.indices),
        f"{prefix}values": deflated(sparse.values),
        f"{prefix}scales": sparse.scales.astype(np.float32),
    }


def pack_masked(prefix: str, vector: Masked, packing: Packing = EXACT) -> dict[str, np.ndarray]:
    """A vector as arrays for a model file, as by `pack`. Exact values are not copied.

    Raises:
        ValueError: a weight is not finite, or too large to be loaded.
    """
    if packing != EXACT:
        return pack_bits(prefix, compress(vector.indices(), vector.values, packing), vector.length)
    require_savable(vector.values)
    return _in_bits(prefix, vector.bits, vector.values, np.zeros(0, np.float32))


def pack_bits(prefix: str, sparse: Sparse, length: int) -> dict[str, np.ndarray]:
    """A sparse vector of so many weights as by `pack_masked`."""
    return _in_bits(prefix, _bits_at(sparse.indices, length), sparse.values, sparse.scales)


def _in_bits(prefix: str, bits: np.ndarray, values: np.ndarray, scales: np.ndarray) -> dict[str, np.ndarray]:
    return {
        f"{prefix}indices": deflated(bits, _BITS),
        f"{prefix}values": values if values.dtype == np.float32 else deflated(values),
        f"{prefix}scales": scales.astype(np.float32),
    }


def unpack(prefix: str, arrays: Mapping[str, np.ndarray], length: int) -> tuple[np.ndarray, np.ndarray]:
    """Unpack the arrays of `pack`: indices int64 [n], ascending and below `length`, and weights float32 [n].

    Raises:
        DamagedModel: an array is damaged, an index out of range, or a weight not finite.
    """
    sparse = unpack_sparse(prefix, arrays, length)
    return sparse.indices, _checked(expanded(sparse))


def unpack_sparse(prefix: str, arrays: Mapping[str, np.ndarray], length: int) -> Sparse:
    """Unpack the arrays of `pack` or `pack_masked`: the stored entries, with indices below `length`.

    Raises:
        DamagedModel: an array is damaged, or an index out of range.
    """
    packed = arrays[f"{prefix}indices"]
    if packed.ndim == 1 and len(packed) and packed[0] == _BITS:
        indices = Masked(_unpacked_bits(packed, length), packed, length).indices()
    else:
        indices = unpack_indices(packed, length)
    return Sparse(indices, *_unpacked_values(prefix, arrays, len(indices), length))


def unpack_masked(prefix: str, arrays: Mapping[str, np.ndarray], length: int) -> Masked:
    """Unpack the arrays of `pack_masked` or `pack_bits`: a vector of this length, whose exact values are not copied.

    Raises:
        DamagedModel: an array is damaged, an index out of range, or a weight not finite.
    """
    bits = _unpacked_bits(arrays[f"{prefix}indices"], length)
    count = Masked(bits, bits, length).count(length)
    values, scales = _unpacked_values(prefix, arrays, count, length)
    return Masked(bits, _checked(expanded(Sparse(bits, values, scales))), length)


def _unpacked_bits(packed: np.ndarray, length: int) -> np.ndarray:
    bits = inflated(packed, {_BITS: "<u1"}, -(-length // 8))
    # Ones beyond the last weight would be indices out of range.
    fits = len(bits) == -(-length // 8) and (length % 8 == 0 or int(bits[-1]) >> length % 8 == 0)
    require(fits, "an index is out of range")
    return bits


def _bits_at(indices: np.ndarray, length: int) -> np.ndarray:
    is_stored = np.zeros(length, np.bool_)
    is_stored[indices] = True
    return np.packbits(is_stored, bitorder="little")


def _unpacked_values(
    prefix: str, arrays: Mapping[str, np.ndarray], count: int, max_count: int
) -> tuple[np.ndarray, np.ndarray]:
    """The values of so many entries, and the scales of their blocks."""
    weights, scales = arrays[f"{prefix}values"], arrays[f"{prefix}scales"]
    if weights.dtype == np.uint8:
        weights = inflated(weights, {1: "<i1", 2: "<f2", 4: "<f4"}, max_count)
    require(weights.shape == (count,), "its weights are not as many as their indices")
    n_blocks = -(-count // BLOCK) if weights.itemsize < 4 else 0
    require(scales.shape == (n_blocks,), "its scales are not as many as its blocks of weights")
    return weights, scales


def _checked(weights: np.ndarray) -> np.ndarray:
    require_weights(weights)
    return weights


def pack_indices(indices: np.ndarray) -> np.ndarray:
    """Ascending numbers, int64 or uint64 [n], as bytes, uint8."""
    gaps = indices.astype(np.int64)
    gaps[1:] -= indices[:-1].astype(np.int64, copy=False)
    gaps[1:] -= 1
    return deflated(gaps.astype(np.min_scalar_type(int(gaps.max(initial=0)))))


def unpack_indices(packed: np.ndarray, below: int) -> np.ndarray:
    """The numbers packed by `pack_indices`, int64 [n], ascending, none negative.

    Raises:
        DamagedModel: the bytes are damaged, or a number is not below `below`.
    """
    gaps = inflated(packed, {1: "<u1", 2: "<u2", 4: "<u4", 8: "<u8"}, below)
    # Approximate, but the bound is far below the overflow of int64; the sum of smaller numbers cannot overflow.
    fits = gaps.itemsize < 8 or float(gaps.sum(dtype=np.float64)) + len(gaps) < 2.0**62
    require(fits, "an index is out of range")
    indices = gaps.astype(np.int64)
    indices[1:] += 1
    np.cumsum(indices, out=indices)
    require(not len(indices) or int(indices[-1]) < below, "an index is out of range")
    return indices


def pack_numbers(numbers: np.ndarray | None) -> np.ndarray:
    """Small numbers, uint8 [n] or None, as bytes, uint8."""
    return deflated(np.zeros(0, np.uint8) if numbers is None else numbers)


def unpack_numbers(packed: np.ndarray, count: int) -> np.ndarray | None:
    """The numbers packed by `pack_numbers`, uint8 [count]; None if there are none.

    Raises:
        DamagedModel: the bytes are damaged, or there are more or fewer numbers.
    """
    numbers = inflated(packed, {1: "<u1"}, count)
    require(len(numbers) in (0, count), "its packed numbers are of a wrong length")
    return numbers if len(numbers) else None


def pack_names(names: Sequence[str]) -> np.ndarray:
    """One name for each row of weights as bytes, uint8."""
    return np.frombuffer(zlib.compress(srsly.msgpack_dumps([name[:MAX_NAME] for name in names])), np.uint8)


def unpack_names(packed: object, n_rows: int) -> tuple[str, ...]:
    """The names that `pack_names` has packed.

    Raises:
        DamagedModel: the bytes are damaged, or there are not as many names as rows.
    """
    complaint = "the names of its features are damaged"
    if not isinstance(packed, np.ndarray) or packed.dtype != np.uint8 or packed.ndim != 1:
        raise DamagedModel(complaint)
    inflate = zlib.decompressobj()
    # In UTF-8 a character is at most four bytes, and before each string there are at most five.
    max_bytes = n_rows * (4 * MAX_NAME + 5) + 5
    try:
        names = srsly.msgpack_loads(inflate.decompress(packed.tobytes(), max_bytes + 1))
    except Exception as error:
        # Whatever the reader of msgpack makes of garbage.
        raise DamagedModel(f"{complaint}: {error}") from None
    whole = inflate.eof and not inflate.unused_data
    require(whole and isinstance(names, list) and all(isinstance(name, str) for name in names), complaint)
    require(len(names) == n_rows, "its features and their names are not as many")
    return tuple(names)


def deflated(numbers: np.ndarray, kind: int | None = None) -> np.ndarray:
    """Numbers [n] as uint8: the number of bytes of each, or their kind, then their planes of bytes, deflated."""
    numbers = np.ascontiguousarray(numbers, numbers.dtype.newbyteorder("<"))
    width = numbers.itemsize
    planes = numbers.view(np.uint8).reshape(-1, width).T
    data = planes.tobytes()
    # Runs of equal bytes are the only regularity to expect.
    deflate = zlib.compressobj(strategy=zlib.Z_RLE)
    packed = [bytes([width if kind is None else kind]), deflate.compress(data), deflate.flush()]
    if len(packed[1]) + len(packed[2]) > WORTHWHILE * len(data):
        del packed[1:]
        packed.append(zlib.compress(data, zlib.Z_NO_COMPRESSION))
    del data
    return np.frombuffer(b"".join(packed), np.uint8)


def inflated(packed: np.ndarray, types: Mapping[int, str], max_count: int) -> np.ndarray:
    """The numbers, [n], that `deflated` has written; types: number of bytes → dtype.

    Raises:
        DamagedModel: the bytes are damaged, or there are more numbers than max_count.
    """
    require(packed.ndim == 1 and len(packed) > 0 and int(packed[0]) in types, "packed numbers are of an unknown type")
    width = np.dtype(types[int(packed[0])]).itemsize
    stream = np.ascontiguousarray(packed[1:]).data
    stored, end = _stored_blocks(stream)
    inflate: Any = zlib.decompressobj(-zlib.MAX_WBITS, stored[-_WINDOW:])
    try:
        data = stored + inflate.decompress(stream[end:], max(max_count * width - len(stored), 0) + 1)
    except zlib.error as error:
        raise DamagedModel(f"packed numbers cannot be inflated: {error}") from None
    # The digest of the file covers what the checksum does.
    whole = inflate.eof and len(inflate.unused_data) == _CHECKSUM
    whole = whole and len(data) <= max_count * width and len(data) % width == 0
    require(whole, "packed numbers are of a wrong length")
    if width == 1:
        return np.frombuffer(data, types[int(packed[0])])
    numbers = np.empty((len(data) // width, width), np.uint8)
    for k, plane in enumerate(np.frombuffer(data, np.uint8).reshape(width, -1)):
        numbers[:, k] = plane
    return numbers.view(types[int(packed[0])]).reshape(-1)


def _stored_blocks(stream: memoryview) -> tuple[bytes, int]:
    """The data of the uncompressed blocks at the start of a deflated stream, and the place of the next block.

    The last block is never among them. Copying them is several times as fast as inflating them, and most blocks of
    weights are uncompressed.
    """
    blocks, at = [], _HEADER
    while stream[at : at + 1].tobytes() == b"\0":
        # A byte for the type, then the length, and its complement.
        end = at + 5 + int.from_bytes(stream[at + 1 : at + 3], "little")
        if end > len(stream):
            break
        blocks.append(stream[at + 5 : end])
        at = end
    return b"".join(blocks), at
