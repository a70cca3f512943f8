"""What a kernel accepts."""

import numba
import numpy as np
import pytest

from spacy_ssvm import kernels


def test_kernel_is_compiled_for_one_signature_only():
    @kernels.kernel
    def double(values):
        for k in range(len(values)):
            values[k] *= 2

    signature = (numba.float64[::1],)
    for _ in range(2):
        kernels.specialise(double, *signature)
        assert list(double.overloads) == [signature]
    values = np.ones(3)
    double(values)
    assert values.tolist() == [2, 2, 2]
    with pytest.raises(TypeError):
        double(np.ones(3, np.float32))
    assert list(double.overloads) == [signature]
    kernels.KERNELS.remove(double)


def test_read_only_array_is_refused():
    array = np.zeros(3)
    assert kernels.array_type(array) == numba.float64[::1]
    array.setflags(write=False)
    with pytest.raises(TypeError, match="read-only array; copy it first"):
        kernels.array_type(array)
