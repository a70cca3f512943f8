"""The mutation check still finds the code that it mutates."""

from tools.mutations import EQUIVALENT, draw, mutants


def test_every_mutant_called_equivalent_can_be_drawn():
    found = {mutant.key for group in mutants().values() for mutant in group}
    assert EQUIVALENT.keys() <= found


def test_groups_share_the_mutants_evenly():
    assert [mutant.group for mutant in draw(0, 8)] == ["kernels"] * 2 + ["solvers"] * 2 + ["codecs"] * 2 + ["files"] * 2
