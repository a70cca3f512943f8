"""What a kernel accepts, and what it is before and after its first use."""

import pickle
from threading import Barrier, Thread

import numba
import numpy as np
import pytest

from spacy_ssvm import kernels
from spacy_ssvm.kernels.numba_types import array_type, numba_type
from spacy_ssvm.structures.tree.decoders import PROJECTIVE, decoder

from .processes import run


@kernels.kernel
def increment(number):
    """A kernel that no other test uses."""
    return number + 1


@pytest.fixture
def fresh():
    """Makes kernels of functions, and forgets those that were used."""
    n_used = len(kernels.KERNELS)
    yield kernels.Kernel
    del kernels.KERNELS[n_used:]


def test_kernel_is_compiled_for_one_signature_only(fresh):
    @fresh
    def double(values):
        for k in range(len(values)):
            values[k] *= 2

    signature = (numba.float64[::1],)
    for _ in range(2):
        kernels.specialise(double, *signature)
        assert list(double.dispatcher.overloads) == [signature]
    values = np.ones(3)
    double(values)
    assert values.tolist() == [2, 2, 2]
    with pytest.raises(TypeError):
        double(np.ones(3, np.float32))
    assert list(double.dispatcher.overloads) == [signature]


def test_read_only_array_is_refused():
    array = np.zeros(3)
    assert array_type(array) == numba.float64[::1]
    array.setflags(write=False)
    with pytest.raises(TypeError, match="read-only array; copy it first"):
        array_type(array)


@pytest.mark.parametrize("annotation", [np.ndarray, str, list[int]])
def test_annotation_without_a_type_is_refused(annotation):
    with pytest.raises(TypeError, match="no numba type is known for"):
        numba_type(annotation)


def test_a_kernel_that_is_not_used_imports_no_compiler_and_is_none_of_those_used():
    code = """
import pickle, sys
from spacy_ssvm.structures.chain.viterbi import viterbi
from spacy_ssvm.structures.tree.decoders import DECODERS
found = [viterbi.__name__, viterbi.__module__, pickle.loads(pickle.dumps(viterbi)) is viterbi]
pickle.loads(pickle.dumps(DECODERS))
print(json.dumps([*found, "numba" in sys.modules]))
"""
    result = run(code)
    assert result.printed == ["viterbi", "spacy_ssvm.structures.chain.viterbi", True, False] and not result.statistics


def test_first_use_in_several_threads_makes_one_dispatcher(fresh):
    for _ in range(20):
        triple, barrier, found = fresh(lambda number: 3 * number), Barrier(4), []

        def use(number, triple=triple, barrier=barrier, found=found):
            barrier.wait()
            found.append((triple.dispatcher, triple(number)))

        n_used = len(kernels.KERNELS)
        threads = [Thread(target=use, args=[number]) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert {number for _, number in found} == {0, 3, 6, 9} and len({id(one) for one, _ in found}) == 1
        assert kernels.KERNELS[n_used:] == [triple]


def test_kernels_are_pickled_by_name():
    assert increment(1) == 2 and pickle.loads(pickle.dumps(increment)) is increment
    projective = decoder(PROJECTIVE)
    assert projective._numba_type_ is not None
    assert pickle.loads(pickle.dumps(projective))._kernel is projective._kernel
