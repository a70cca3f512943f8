"""Planes and working sets against dense vectors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.solvers import working_set
from spacy_ssvm.solvers.planes import (
    KBestBuffer,
    axpy,
    dot,
    merge,
    plane_buffer,
    plane_product,
    squared_norm,
    take_plane,
)

D = 6
ROOM = int(working_set.max_codes(D))
PAIRS = st.lists(
    st.tuples(st.sampled_from([0, 1, 3, 5]), st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0])), max_size=12
)


def written(pairs):
    """A buffer as an oracle leaves it, and the plane as a dense vector."""
    buffer, dense = plane_buffer(len(pairs)), np.zeros(D)
    for k, (index, value) in enumerate(pairs):
        buffer.indices[k], buffer.values[k] = index, value
        dense[index] += value
    return buffer, dense


@given(PAIRS)
def test_merge(pairs):
    """Each coordinate once, ascending, no zeros."""
    buffer, dense = written(pairs)
    size = merge(buffer, len(pairs))
    assert buffer.indices[:size].tolist() == np.flatnonzero(dense).tolist()
    assert buffer.values[:size].tolist() == dense[np.flatnonzero(dense)].tolist()


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


@given(PAIRS, st.lists(st.floats(-3, 3), min_size=D, max_size=D), st.floats(-2, 2))
def test_dot_axpy_and_norm(pairs, weights, step):
    buffer, dense = written(pairs)
    size = merge(buffer, len(pairs))
    w = np.array(weights)
    assert dot(w, buffer.indices, buffer.values, size) == pytest.approx(w @ dense, abs=1e-12)
    assert squared_norm(buffer.values, size) == pytest.approx(dense @ dense, abs=1e-12)
    expected = w + step * dense
    axpy(w, step, buffer.indices, buffer.values, size)
    np.testing.assert_allclose(w, expected, atol=1e-12)


@given(PAIRS, PAIRS)
def test_products_of_the_k_best(first, second):
    """Planes behind gaps, as merging leaves them."""
    best = KBestBuffer(
        np.array([0, 9, 20]), np.zeros(2, np.int64), np.array([1.0, 2.0]), np.zeros(40, np.int64), np.zeros(40)
    )
    dense = []
    for j, pairs in enumerate((first, second)):
        buffer, vector = written(pairs)
        best.sizes[j] = size = merge(buffer, len(pairs))
        best.indices[best.starts[j] :][:size], best.values[best.starts[j] :][:size] = (
            buffer.indices[:size],
            buffer.values[:size],
        )
        dense.append(vector)
    plane = plane_buffer(12)
    for j in range(2):
        size, loss = take_plane(best, j, plane)
        assert loss == j + 1 and plane.indices[:size].tolist() == np.flatnonzero(dense[j]).tolist()
        for k in range(2):
            assert plane_product(best, k, plane, size) == pytest.approx(dense[k] @ dense[j], abs=1e-12)


@given(
    st.lists(st.tuples(st.integers(0, 2), PAIRS, st.sampled_from([0.0, 0.5, 1.0]), st.booleans()), max_size=12),
    st.data(),
)
def test_working_set(additions, data):
    """Adding, finding, dropping and closing gaps, against a list of planes for each example, newest first."""
    planes = working_set.empty(3, planes=12, codes=12 * ROOM)
    model = [[], [], []]
    for example, pairs, loss, active in additions:
        buffer, dense = written(pairs)
        size = merge(buffer, len(pairs))
        known = [(loss, dense.tolist()) == (other_loss, other.tolist()) for other_loss, other, _ in model[example]]
        assert (working_set.find(planes, example, buffer, size, loss) != working_set.NO_PLANE) == any(known)
        if not any(known):
            p = working_set.add(planes, example, buffer, size, loss)
            planes.alpha[p] = alpha = data.draw(st.floats(0.125, 2)) if active else 0.0
            model[example].insert(0, (loss, dense, alpha))
    for example in range(3):
        if data.draw(st.booleans()):
            working_set.drop_inactive(planes, example)
            model[example] = [plane for plane in model[example] if plane[2] > 0]
    for make_room in (False, True):
        current = planes
        if make_room:
            working_set.make_room(planes, 3, 5 * D)
            current = planes = working_set.resized(planes, 4)
            assert working_set.free_planes(planes) >= 3 and working_set.free_codes(planes) >= 5 * D
            assert planes.counts[working_set.N_DROPPED] == planes.counts[working_set.N_DROPPED_CODES] == 0
            assert len(planes.head) == 4 and planes.head[3] == working_set.NO_PLANE
        assert working_set.count(current) == sum(map(len, model))
        for example in range(3):
            p = current.head[example]
            for loss, dense, alpha in model[example]:
                stored, (indices, values) = np.zeros(D), working_set.read_plane(current, p)
                stored[indices] = values
                assert (current.loss[p], current.alpha[p]) == (loss, alpha)
                assert stored.tolist() == dense.tolist() and current.norm[p] == dense @ dense
                p = current.next[p]
            assert p == working_set.NO_PLANE
            assert working_set.total_alpha(current, example) == pytest.approx(sum(a for *_, a in model[example]))
        total = np.zeros(D)
        working_set.weighted_sum(current, total)
        expected = sum((alpha * dense for planes_ in model for _, dense, alpha in planes_), np.zeros(D))
        np.testing.assert_allclose(total, expected, atol=1e-12)
        linear, squares = working_set.dual_sums(current)
        assert linear == pytest.approx(sum(alpha * loss for planes_ in model for loss, _, alpha in planes_))
        assert squares == pytest.approx(sum(sum(a for *_, a in planes_) ** 2 for planes_ in model))


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
