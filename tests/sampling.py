"""A sample of cross-products: where two or more parametrisations meet, not every case tells something new.

With two axes each value of each axis is in a case that runs by default, with three or more each pair of values; the
other cases are slow. Tests of at most `FEW` cases run whole, and a list of cases in one parametrisation is no product.

Behaviours of all components are a product, too, of tests and components: where nothing else makes a sample larger, each
of them runs with one component, which take turns; the parser, the only one whose model is a tree, has every third turn.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any
from zlib import crc32

import pytest

FEW = 4
TREES = "ssvm_parser"


def mark_slow(items: Sequence[pytest.Item]) -> None:
    """Mark the cases slow that the sample leaves out; cases that are slow by themselves are no part of it."""
    tests: dict[str, list[Any]] = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec") and not item.get_closest_marker("slow"):
            tests[item.nodeid.partition("[")[0]].append(item)
    for name, cases in tests.items():
        start = crc32(name.encode())
        parts = [cases]
        if len(cases) > FEW and any(mark.args[0] == "factory" for mark in cases[0].iter_markers("parametrize")):
            turn = component([case.callspec.params["factory"] for case in cases], start)
            parts.append([case for case in cases if case.callspec.params["factory"] == turn])
        samples = [[part[place] for place in sample([tuple(axes(case)) for case in part], start)] for part in parts]
        for case in set(cases).difference(min(samples, key=len)):
            case.add_marker("slow")


def component(factories: Sequence[str], start: int) -> str:
    """The component whose turn it is: the parser, if it is among them, in every third test."""
    others = sorted({*factories} - {TREES})
    return TREES if TREES in factories and start % 3 == 0 else others[start // 3 % len(others)]


def axes(case: Any) -> Iterator[tuple[int, ...]]:
    """The value of each axis, as identities: a parametrisation, or a fixture's parameter."""
    parameters = dict(case.callspec.params)
    for mark in case.iter_markers("parametrize"):
        names = mark.args[0] if isinstance(mark.args[0], (list, tuple)) else mark.args[0].replace(" ", "").split(",")
        yield tuple(id(parameters.pop(name, None)) for name in names)
    yield from ((id(parameters[name]),) for name in sorted(parameters))


def sample(cases: Sequence[tuple[Any, ...]], start: int = 0) -> set[int]:
    """The places of cases that cover all values, or all pairs of them, each value about equally often.

    start: where among equally good cases the search begins, so that tests of the same axes have other samples.
    """
    varying = [axis for axis in range(len(cases[0])) if len({case[axis] for case in cases}) > 1]
    if len(varying) < 2 or len(cases) <= FEW:
        return set(range(len(cases)))
    strength = 1 if len(varying) == 2 else 2
    parts = [{tuple((axis, case[axis]) for axis in some) for some in combinations(varying, strength)} for case in cases]
    left, chosen, uses = set().union(*parts), set(), Counter()

    def worth(place: int) -> tuple[int, int, int]:
        used = sum(uses[part] for part in parts[place])
        return len(parts[place] & left), -used, -((place + start) % len(parts))

    while left:
        place = max(range(len(parts)), key=worth)
        chosen.add(place)
        left -= parts[place]
        uses.update(parts[place])
    return chosen
