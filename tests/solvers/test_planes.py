"""Planes and working sets against dense vectors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.solvers import working_set
from spacy_ssvm.solvers.planes import (
    merge,
    plane_buffer,
)


@pytest.mark.parametrize("largest", [0, 255, 256, 2**16, 2**24 - 1, 2**31 - 1])
@pytest.mark.parametrize("entries", [64, 1000])
def test_merge_of_many_entries(entries, largest):
    """Values of equal index are added up in their order: so are the bytes of NumPy's stable sort."""
    rng, buffer = np.random.default_rng(entries), plane_buffer(entries)
    indices = np.append(rng.choice(rng.integers(0, largest, entries // 2, endpoint=True), entries - 1), largest)
    values = rng.normal(size=entries)
    buffer.indices[:], buffer.values[:] = indices, values
    size = merge(buffer, entries)
    order = np.argsort(indices, kind="stable")
    kept, starts = np.unique(indices[order], return_index=True)
    sums = [sum(part.tolist()) for part in np.split(values[order], starts[1:])]
    assert buffer.indices[:size].tolist() == kept.tolist()
    assert buffer.values[:size].tolist() == sums


LARGEST = 2**31 - 1
SPARSE = st.dictionaries(
    st.one_of(st.integers(0, LARGEST), st.sampled_from([0, 1, 2**14 - 1, 2**14, 2**28 - 1, 2**28, LARGEST])),
    st.one_of(st.sampled_from([1.0, -1.0, 2.0, 0.25]), st.floats(width=32, allow_nan=False, allow_infinity=False)),
    max_size=8,
)


@given(SPARSE, SPARSE)
def test_codes_of_any_plane(first, second):
    """What is stored is read again, whatever the gaps and values, and takes no more room than `max_codes` says."""
    planes = working_set.empty(1, planes=2, codes=int(sum(working_set.max_codes(len(x)) for x in (first, second))))
    for entries in (first, second):
        buffer = plane_buffer(len(entries))
        for k, index in enumerate(sorted(entries)):
            buffer.indices[k], buffer.values[k] = index, entries[index]
        p = working_set.add(planes, 0, buffer, len(entries), 1.0)
        indices, values = working_set.read_plane(planes, p)
        assert dict(zip(indices.tolist(), values.tolist())) == entries and indices.tolist() == sorted(entries)
        assert planes.size[p] <= working_set.max_codes(len(entries))
        assert working_set.is_plane(planes, p, buffer, len(entries), 1.0)
        if entries:
            assert not working_set.is_plane(planes, p, buffer, len(entries) - 1, 1.0)
            buffer.values[0] += 1.0 + abs(buffer.values[0])
            assert not working_set.is_plane(planes, p, buffer, len(entries), 1.0)
