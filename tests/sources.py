"""The modules of the package, parsed once for all tests that read them."""

import ast
from functools import cache
from pathlib import Path

import spacy_ssvm

PACKAGE = Path(spacy_ssvm.__file__).parent


@cache
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text("utf8")) for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def nodes() -> dict[Path, list[ast.AST]]:
    """All nodes of each module."""
    return {path: list(ast.walk(tree)) for path, tree in trees().items()}


def dotted(node: ast.AST) -> str:
    """A name such as `a.b.c`; empty where an expression is more than that."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""
