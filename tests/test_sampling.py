"""The sample of cross-products that runs by default."""

from itertools import combinations, product

import pytest

from .pipeline.toy import EXAMPLES, SEQUENCES
from .sampling import FEW, TREES, component, sample


@pytest.mark.parametrize("sizes", [(2, 36), (18, 6), (5, 2, 17), (2, 2, 2, 2, 4)])
def test_every_value_and_of_three_axes_every_pair_is_in_it(sizes):
    cases = list(product(*map(range, sizes)))
    for start in range(3):
        chosen = [cases[place] for place in sample(cases, start)]
        for axes in combinations(range(len(sizes)), 1 if len(sizes) == 2 else 2):
            assert {tuple(case[axis] for axis in axes) for case in chosen} == {
                tuple(case[axis] for axis in axes) for case in cases
            }
        assert len(chosen) < len(cases) and sample(cases, start) == sample(cases, start)


def test_values_are_in_it_about_equally_often():
    cases = list(product(range(2), range(6)))
    assert [sum(cases[place][0] == value for place in sample(cases)) for value in range(2)] == [3, 3]


def test_a_list_of_cases_and_a_small_product_run_whole():
    assert len(sample([(k,) for k in range(9)])) == 9
    assert len(sample(list(product(range(2), range(2))))) == FEW


def test_every_component_has_its_turn():
    found = [component([*EXAMPLES], start) for start in range(15)]
    assert found.count(TREES) == 5 and {*found} == {*EXAMPLES}
    assert {component(SEQUENCES, start) for start in range(15)} == {*SEQUENCES}
