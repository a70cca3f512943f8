"""How wide the interfaces between the layers are: whoever adds a capability looks for a narrower way first."""

import ast
from collections.abc import Iterator
from functools import cache

import pytest

from .sources import PACKAGE, nodes

PUBLIC = {"_replace", "_asdict", "_fields", "_make", "_"}
"""Public names that begin like private ones: of NamedTuples, and of spaCy's extension attributes."""


def definitions() -> list[ast.ClassDef]:
    return [node for found in nodes().values() for node in found if isinstance(node, ast.ClassDef)]


@cache
def classes() -> dict[str, ast.ClassDef]:
    return {node.name: node for node in definitions()}


def name_of(node: ast.AST) -> str:
    """The last name of an expression such as `a.b.Name` or `Name[T]`."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return getattr(node, "attr", getattr(node, "id", ""))


def is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def own_members(node: ast.ClassDef) -> set[str]:
    """Methods, fields, class attributes, and attributes that methods give to `self`."""
    names = set()
    for part in node.body:
        if isinstance(part, ast.FunctionDef):
            names.add(part.name)
        elif isinstance(part, ast.AnnAssign):
            names.add(name_of(part.target))
        elif isinstance(part, ast.Assign):
            names |= set(map(name_of, part.targets))
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store) and name_of(part.value) == "self":
            names.add(part.attr)
    return {name for name in names if name and not is_special(name)}


def bases(name: str) -> Iterator[str]:
    """The class with this name and all classes of the package that it inherits from."""
    if name in classes():
        yield name
        for base in classes()[name].bases:
            yield from bases(name_of(base))


def width(name: str) -> int:
    return len(set().union(*(own_members(classes()[base]) for base in bases(name))))


LIMITS = {
    "Codec": (18, 40),
    "DataSet": (14, 34),
    "Problem": (14, 14),
    "StructuredModel": (11, 11),
    "Learner": (18, 40),
    "SsvmPipe": (60, 66),
}
"""The max number of members of an interface, and of the widest class that implements it by inheritance."""


@pytest.mark.parametrize("name", LIMITS)
def test_interfaces_are_narrow(name):
    of_interface, of_heirs = LIMITS[name]
    assert width(name) <= of_interface
    heirs = {heir: width(heir) for heir in classes() if name in bases(heir)}
    assert max(heirs.values()) <= of_heirs, heirs


def test_each_class_name_has_one_meaning():
    names = [node.name for node in definitions()]
    assert len(names) == len(set(names)), sorted({name for name in names if names.count(name) > 1})


def private_reads() -> list[str]:
    """Private attributes that are read from anything but `self`, `cls` and modules of the package."""
    return [
        f"{path.relative_to(PACKAGE)}:{node.lineno}: {name_of(node.value)}.{node.attr}"
        for path, found in nodes().items()
        for node in found
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not is_special(node.attr)
        and node.attr not in PUBLIC
        and name_of(node.value) not in ("self", "cls")
    ]


def test_few_private_attributes_are_read_from_outside():
    assert len(private_reads()) <= 15, private_reads()


def test_few_imports_are_inside_functions():
    places = [
        f"{path.relative_to(PACKAGE)}:{part.lineno}"
        for path, found in nodes().items()
        for node in found
        if isinstance(node, ast.FunctionDef)
        for part in ast.walk(node)
        if isinstance(part, ast.Import | ast.ImportFrom)
    ]
    assert len(places) <= 40, places
