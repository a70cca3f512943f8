"""A numba without the internals that kernels build on: plain numba compiles them, and the results are the same."""

import pytest

from spacy_ssvm.solvers.perceptron import Perceptron

from ..handmade import learnt
from .processes import LEARNING, PREDICTED, PREDICTION, TRAINING, run

MISSING = {
    "module": "import sys, numba\nsys.modules['numba.misc.appdirs'] = None\n",
    "name": "import numba.core.registry\ndel numba.core.registry.CPUDispatcher\n",
    "attribute": "import numba.core.codegen\ndel numba.core.codegen.CPUCodeLibrary.serialize_using_bitcode\n",
}


@pytest.mark.parametrize(
    "missing", ["name", *(pytest.param(missing, marks=pytest.mark.slow) for missing in ("module", "attribute"))]
)
def test_solvers_learn_the_same(missing, tmp_path):
    """The second process finds the machine code of the first, as numba keeps it."""
    results = [run(f"\n{MISSING[missing]}{LEARNING}", NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2)]
    for result in results:
        assert result.printed == learnt(Perceptron())
        assert len(result.messages.splitlines()) == result.messages.count("compiled by plain numba") == 1
    assert results[0].misses > 0 and results[1].misses == 0


def test_kernels_that_prefetch_are_compiled(tmp_path):
    kernel = """
from spacy_ssvm.kernels import kernel, prefetch
@kernel
def first(array):
    prefetch(array, 0)
    return array[0]
"""
    (tmp_path / "fetching.py").write_text(kernel, "utf8")
    code = f"{MISSING['name']}import numpy, fetching\nprint(fetching.first(numpy.array([7])))\n"
    result = run(f"\n{code}", PYTHONPATH=str(tmp_path), NUMBA_CACHE_DIR=str(tmp_path))
    assert result.printed == 7 and "compiled by plain numba" in result.messages


@pytest.mark.slow
def test_nothing_is_kept_where_callees_cannot_be_checked(tmp_path):
    """numba would take machine code for current although a callee in another module has changed."""
    hide = "from numba.core.caching import FunctionCache\nFunctionCache._cache_file = property()\n"
    result = run(f"\n{MISSING['name']}{hide}{LEARNING}", NUMBA_CACHE_DIR=str(tmp_path))
    assert result.printed == learnt(Perceptron()) and not list(tmp_path.rglob("*.nb?"))


@pytest.mark.slow
def test_components_predict_the_same(tmp_path):
    """A parser's decoder is called by its address."""
    code = f"\n{MISSING['module']}{TRAINING}{PREDICTION}"
    assert run(code, NUMBA_CACHE_DIR=str(tmp_path)).printed == PREDICTED
    again = run(code, NUMBA_CACHE_DIR=str(tmp_path))
    assert again.printed == PREDICTED and again.misses == 0
