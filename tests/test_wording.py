"""How docstrings and messages begin: with what they are about, a noun or a verb, not with a reference to it."""

import ast
import re
from collections.abc import Iterable, Iterator

import pytest

from .sources import dotted, nodes

REFERS = re.compile(r"(Those|That|Of|What)\b|As `")
SAYS = re.compile(r"(\w*(logger|logging|LOGGER)|warnings)\.\w+|(warn|print|fail)|.*(Error|Warning|Exit)")
"""Functions that are called with messages."""


def sentences(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """The docstrings of modules, classes, functions and attributes, and the messages, each with its line."""
    for node in nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value
        elif isinstance(node, ast.Call) and SAYS.fullmatch(dotted(node.func)):
            for text in node.args[:1]:
                first = text.values[0] if isinstance(text, ast.JoinedStr) and text.values else text
                if isinstance(first, ast.Constant) and isinstance(first.value, str):
                    yield text.lineno, re.sub(r"^\[\S*\] ", "", first.value)


def poor(nodes: Iterable[ast.AST]) -> list[tuple[int, str]]:
    return [(line, text.splitlines()[0]) for line, text in sentences(nodes) if REFERS.match(text)]


def test_docstrings_and_messages_begin_with_what_they_are_about():
    assert not {path.name: lines for path, found in nodes().items() if (lines := poor(found))}


@pytest.mark.parametrize(
    "source",
    [
        '"""Those of a class."""',
        'def f():\n    """As `g`."""',
        'X = 1\n"""What it is."""',
        "logger.info(f'Of {n} words')",
    ],
)
def test_each_of_them_is_read(source):
    others = re.sub(r"Those|As `|What|That|Of", "The ", source)
    assert [len(poor(ast.walk(ast.parse(text)))) for text in (source, others)] == [1, 0]
