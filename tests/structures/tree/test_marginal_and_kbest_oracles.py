"""The oracles of first-order trees that are not the max-oracle, against enumeration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_ssvm.models.tree.problem import tree_problem
from spacy_ssvm.solvers.problem import Problem
from spacy_ssvm.structures.tree.parts import PROJECTIVE, PROJECTIVE_SIBLINGS, SPANNING

from ..oracles import check_gradient, check_kbest
from .tree_problems import tiny_trees

few = settings(max_examples=30)
structures = pytest.mark.parametrize("structure", [PROJECTIVE, SPANNING], ids=["projective", "spanning"])


def planes_of(example):
    gold = example.joint_feature(example.gold)
    differences = np.array([gold - example.joint_feature(y) for y in example.labelled])
    return differences, np.array([example.loss(y) for y in example.labelled])


@structures
@few
@given(data=st.data(), beta=st.sampled_from([0.3, 1.0, 2.5]), gamma=st.sampled_from([0.0, 1.0, 3.0]))
def test_gradient(structure, data, beta, gamma):
    tiny = data.draw(tiny_trees(structure))
    problem = tree_problem(tiny.data)
    for example in tiny.examples:
        check_gradient(problem, example.example, tiny.weights, beta, gamma, *planes_of(example))


@structures
@few
@given(data=st.data(), k=st.integers(1, 7), loss_scale=st.sampled_from([0.0, 1.0]))
def test_kbest(structure, data, k, loss_scale):
    tiny = data.draw(tiny_trees(structure))
    problem = tree_problem(tiny.data)
    for example in tiny.examples:
        check_kbest(problem, example.example, tiny.weights, loss_scale, k, *planes_of(example))


@given(data=st.data())
@settings(max_examples=3)
def test_what_is_not_exact_is_not_offered(data):
    problem = tree_problem(data.draw(tiny_trees(PROJECTIVE_SIBLINGS)).data)
    assert isinstance(problem, Problem)
    for kind, name in (("marginal", "exact marginals"), ("kbest", "the k best structures")):
        with pytest.raises(ValueError, match=name):
            problem.oracle(kind)
