"""A sample of cross-products: where two or more parametrisations meet, not every case tells something new.

With two axes each value of each axis is in a case that runs by default, with three or more each pair of values; the
other cases are slow. Tests of at most `FEW` cases run whole, and a list of cases in one parametrisation is no product.

Behaviours of all components are a product, too, of tests and components: each of them runs with the parser, whose model
is a tree, and with two of the components whose models are chains, in turn.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any
from zlib import crc32

import pytest

FEW = 4
COMPONENTS = ["ssvm_tagger", "ssvm_morphologizer", "ssvm_ner", "ssvm_senter", "ssvm_parser", "ssvm_lemmatizer"]
"""As the tests of all components have them."""
TREES = "ssvm_parser"


def mark_slow(items: Sequence[pytest.Item]) -> None:
    """Mark the cases slow that the sample leaves out; cases that are slow by themselves are no part of it."""
    tests: dict[str, list[Any]] = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec") and not item.get_closest_marker("slow"):
            tests[item.nodeid.partition("[")[0]].append(item)
    for name, cases in tests.items():
        chosen = sample([tuple(axes(case)) for case in cases], crc32(name.encode()))
        if [case.callspec.params for case in cases] == [{"factory": factory} for factory in COMPONENTS]:
            chosen = some_components(crc32(name.encode()))
        for place, case in enumerate(cases):
            if place not in chosen:
                case.add_marker("slow")


def some_components(start: int) -> set[int]:
    """The places of the parser and of two others."""
    others = [place for place, factory in enumerate(COMPONENTS) if factory != TREES]
    return {COMPONENTS.index(TREES), *(others[(start + step) % len(others)] for step in (0, 2))}


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
