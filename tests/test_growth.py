"""Arrays that grow at their end: the same as NumPy's concatenation, with few copies."""

from weakref import ref

import numpy as np
import pytest

from spacy_ssvm import growth
from spacy_ssvm.growth import appended, extended, shared, widened


@pytest.mark.parametrize("shape", [(), (3,)])
def test_appending_is_concatenation(shape):
    rng, array, expected = np.random.default_rng(0), np.zeros((0, *shape), np.int32), np.zeros((0, *shape), np.int32)
    for size in rng.integers(0, 5, 200):
        more = rng.integers(0, 9, (size, *shape))
        array, expected = appended(array, more), np.concatenate([expected, more]).astype(np.int32)
        assert array.dtype == np.int32 and array.flags.c_contiguous and np.array_equal(array, expected)


def test_few_additions_copy():
    array, places = np.ones(100), set()
    for length in range(101, 10_000):
        array = extended(array, length)
        places.add(array.ctypes.data)
        assert array[-1] == 0
    assert array.sum() == 100 and len(places) < 30


@pytest.mark.parametrize(
    "part", [slice(None), slice(1, None), slice(None, -1), slice(None, None, -1), slice(None, None, 2)]
)
def test_what_others_have_appended_stays(part):
    """To an array in the same memory, of which only the longest one may be appended to in place."""
    first = appended(np.arange(4), np.arange(2))
    second = appended(first, np.arange(3))
    before = second.copy()
    third = appended(first[part], np.full(2, 7))
    fourth = appended(second[part], np.full(2, 8))
    assert np.array_equal(second, before)
    assert third.tolist() == [*first[part].tolist(), 7, 7] and fourth.tolist() == [*before[part].tolist(), 8, 8]


def test_an_array_that_was_cut_grows_with_zeros():
    array = appended(np.arange(3), np.arange(5))
    assert extended(array[:2], 6).tolist() == [0, 1, 0, 0, 0, 0]
    assert array.tolist() == [0, 1, 2, 0, 1, 2, 3, 4]


def test_memory_is_released_with_its_arrays():
    before = len(growth._LENGTHS)
    array = appended(np.arange(3), np.arange(5))
    assert len(growth._LENGTHS) == before + 1
    del array
    assert len(growth._LENGTHS) == before


def test_columns_get_room():
    columns = np.arange(6).reshape(2, 3)
    wide = widened(columns, 2, 5)
    assert wide.shape[1] >= 5 and wide[:, :2].tolist() == [[0, 1], [3, 4]] and not wide[:, 2:].any()
    assert widened(wide, 2, 4) is wide


def test_equal_arrays_are_kept_once_while_they_are_in_use():
    first = shared(np.arange(1000, dtype=np.int32))
    assert shared(np.arange(1000, dtype=np.int32)) is first
    assert shared(np.arange(1000)) is not first
    longer = appended(first, np.array([7]))
    assert shared(np.arange(1000, dtype=np.int32)) is first and len(first) == 1000 and len(longer) == 1001
    kept = ref(first)
    del first
    assert kept() is None
