"""How docstrings and messages begin: with what they are about, a noun or a verb, not with a reference to it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import spacy_ssvm

REFERS = re.compile(r"(Those|That|Of|What)\b|As `")
SAYS = re.compile(r"(\w*(logger|logging|LOGGER)|warnings)\.\w+|(warn|print|fail)|.*(Error|Warning|Exit)")
"""Functions that are called with messages."""


def sentences(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The docstrings of modules, classes, functions and attributes, and the messages, each with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value
        elif isinstance(node, ast.Call) and SAYS.fullmatch(ast.unparse(node.func)):
            for text in node.args[:1]:
                first = text.values[0] if isinstance(text, ast.JoinedStr) and text.values else text
                if isinstance(first, ast.Constant) and isinstance(first.value, str):
                    yield text.lineno, re.sub(r"^\[\S*\] ", "", first.value)


def poor(source: str) -> list[tuple[int, str]]:
    return [(line, text.splitlines()[0]) for line, text in sentences(ast.parse(source)) if REFERS.match(text)]


def test_docstrings_and_messages_begin_with_what_they_are_about():
    folder = Path(spacy_ssvm.__file__).parent
    found = {path.relative_to(folder).as_posix(): poor(path.read_text("utf8")) for path in sorted(folder.rglob("*.py"))}
    assert not {name: lines for name, lines in found.items() if lines}


@pytest.mark.parametrize(
    "source",
    [
        '"""Those of a class."""',
        'def f():\n    """As `g`."""',
        'X = 1\n"""What it is."""',
        "raise ValueError('That is no number')",
        "logger.info(f'Of {n} words')",
        "warnings.warn('What is there', stacklevel=1)",
    ],
)
def test_each_of_them_is_read(source):
    assert len(poor(source)) == 1
    assert not poor(re.sub(r"Those|As `|What|That|Of", "The ", source))
