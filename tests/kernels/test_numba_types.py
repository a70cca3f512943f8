"""numba's types as they follow from annotations."""

from typing import Annotated, NamedTuple

import numpy as np
import pytest
from numba import types

from spacy_ssvm.features.arc_program import ArcProgram
from spacy_ssvm.features.index import Program
from spacy_ssvm.kernels import FirstClassFunction, Int32Array, signature
from spacy_ssvm.kernels.numba_types import array_type, numba_type
from spacy_ssvm.models.chain.data import Chains
from spacy_ssvm.solvers.problem import _SIGNATURES
from spacy_ssvm.structures.chain.constraints import Constraints, unconstrained
from spacy_ssvm.structures.tree.parts import DECODER, Parts

from ..problems import random_problem

DTYPES = types.int32, types.int64, types.uint64, types.float64
Int32, Int64, UInt64, Float64 = (types.Array(dtype, 1, "C") for dtype in DTYPES)


class Shape(NamedTuple):
    size: int
    scale: float
    deep: bool


def test_types_of_data():
    assert numba_type(Shape) == types.NamedTuple([types.int64, types.float64, types.boolean], Shape)
    words = types.NamedTuple([Int64, Int64, Int64, UInt64, Int64], Program)
    table = types.Array(types.int64, 2, "C")
    assert numba_type(ArcProgram) == types.NamedTuple([words, Int64, table, Int64, UInt64, table], ArcProgram)


def test_types_are_those_of_the_values():
    assert numba_type(Constraints) == array_type(unconstrained(3))
    assert array_type(random_problem().data) == numba_type(Chains)


def test_signatures():
    square = types.Array(types.int32, 2, "C")
    parts = types.NamedTuple([square, Int32, Int32, Float64, Int64, Int32, Float64, Int64, Int32, Float64], Parts)
    decoder = types.FunctionType(types.float64(parts, types.boolean, Int32))
    assert numba_type(Annotated[FirstClassFunction, DECODER]) == numba_type(DECODER) == decoder
    assert numba_type(signature(None, Int32Array)) == types.FunctionType(types.void(Int32))
    plane = types.Tuple((types.int64, types.float64))
    max_oracle = plane(types.int64, types.int64, Float64, types.float64, Int64, Float64)
    assert list(map(numba_type, _SIGNATURES["max"](int))) == [types.FunctionType(max_oracle)]


@pytest.mark.parametrize("annotation", [np.ndarray, str, list[int]])
def test_annotation_that_is_not_known(annotation):
    with pytest.raises(TypeError, match="no numba type is known for"):
        numba_type(annotation)
