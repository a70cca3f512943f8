"""What a config may say about a solver, and what it is told otherwise."""

import re

import pytest

from spacy_ssvm.solvers.parameters import Dcd, Mira, Perceptron, Sap, Sgd, dcd_light
from spacy_ssvm.solvers.problem import Problem


@pytest.mark.parametrize("make", [Mira, Sgd, Dcd, dcd_light, Sap])
@pytest.mark.parametrize("C", [0, -1, -0.0])
def test_C_must_be_positive(make, C):
    with pytest.raises(ValueError, match=r"solver\.C must be positive"):
        make(C=C)


@pytest.mark.parametrize("make", [Mira, Sgd, Dcd, dcd_light, Sap])
@pytest.mark.parametrize("C", [float("nan"), float("inf"), "high", None, [0.1]])
def test_C_must_be_a_finite_number(make, C):
    with pytest.raises(ValueError, match=r"solver\.C must be a finite number"):
        make(C=C)


@pytest.mark.parametrize(
    ("make", "name", "value", "message"),
    [
        (Dcd, "inner_passes", 2.5, "be a whole number of at least 0, not 2.5"),
        (Dcd, "inner_passes", -1, "be a whole number of at least 0, not -1"),
        (Dcd, "delta", -1e-3, "not be negative"),
        (Dcd, "tolerance", float("nan"), "be a finite number"),
        (Sap, "rho1", -0.1, "not be negative"),
        (Sap, "rho2", 0, "be positive"),
        (Sap, "tolerance", -1, "not be negative"),
        (Sgd, "eta0", 0, "be positive"),
        (Sgd, "eta0", float("inf"), "be a finite number"),
        (Perceptron, "seed", 0.5, "be a whole number"),
        (Perceptron, "seed", -1, "be a whole number of at least 0"),
    ],
)
def test_bad_values_are_named(make, name, value, message):
    with pytest.raises(ValueError, match=rf"solver\.{name} must {re.escape(message)}"):
        make(**{name: value})


def test_unknown_schedule():
    with pytest.raises(ValueError, match=r'must be "bottou", "printed" or "epochs", not .constant.'):
        Sgd(schedule="constant")


@pytest.mark.parametrize("make", [Perceptron, Mira, Sgd, Dcd, dcd_light, Sap])
def test_unknown_parameters_are_refused(make):
    with pytest.raises(TypeError, match="learning_rate"):
        make(learning_rate=0.1)


def test_numbers_of_a_config_are_converted():
    """Where a float is meant configs hand over ints and strings."""
    parameters = Dcd(C="0.5", inner_passes=3.0, delta=0)
    assert parameters == Dcd(C=0.5, inner_passes=3, delta=0.0)
    assert [type(value) for value in (parameters.C, parameters.inner_passes, parameters.delta)] == [float, int, float]


def test_dcd_light_has_no_inner_passes():
    assert dcd_light(C=2, delta=0.1, tolerance=0.2, seed=3) == Dcd(
        C=2, inner_passes=0, delta=0.1, tolerance=0.2, seed=3
    )


def test_more_weights_than_an_index_can_name():
    with pytest.raises(ValueError, match="use fewer or hashed features"):
        Problem(None, None, None, n_examples=1, dimension=2**31, max_plane_entries=1)
