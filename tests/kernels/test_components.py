"""Of every component's kernels a second process compiles nothing, and none are needed."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from symtable import Symbol, symtable

import pytest

from spacy_ssvm.kernels.machine_code import FOLDER
from spacy_ssvm.solvers.perceptron import Perceptron

from ..handmade import learnt
from ..sources import PACKAGE, nodes, trees
from .processes import LEARNING, PREDICTED, PREDICTION, TRAINING, run

LINUX_ONLY = "mapped_arrays"


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)


def defined_kernels() -> set[str]:
    """The full names of all kernels of the package."""
    return {f"{module_of(path)}.{node.name}" for path, tree in trees().items() for node in tree.body if is_kernel(node)}


def kernels_that_python_names() -> set[str]:
    """The kernels that functions and classes of the package name outside of kernels, and that this system can use."""
    kernels = {kernel for kernel in defined_kernels() if sys.platform == "linux" or LINUX_ONLY not in kernel}
    return {kernel for path in trees() for kernel in named(path, kernels)}


def is_kernel(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and any(ast.unparse(found) == "kernel" for found in node.decorator_list)


def named(path: Path, kernels: set[str]) -> Iterator[str]:
    module = module_of(path)
    own = {kernel.rpartition(".")[2]: kernel for kernel in kernels if kernel.rpartition(".")[0] == module}
    known = dict(own)
    for node in nodes()[path]:
        if isinstance(node, ast.ImportFrom):
            origin = ".".join([*module.split(".")[: -node.level], *([node.module] if node.module else [])])
            known |= {
                alias.name: f"{origin}.{alias.name}" for alias in node.names if f"{origin}.{alias.name}" in kernels
            }
    top = symtable(path.read_text("utf8"), module, "exec")
    scopes = [top, *(scope for scope in top.get_children() if scope.get_name() not in own)]
    for scope in scopes:
        scopes += scope.get_children() if scope is not top else []
        # A local variable with the name of a kernel is none.
        used = {symbol.get_name() for symbol in scope.get_symbols() if symbol.is_referenced() and is_of_module(symbol)}
        yield from (known[name] for name in used & known.keys())


def is_of_module(symbol: Symbol) -> bool:
    return symbol.is_global() or symbol.is_imported()


def test_second_process_compiles_nothing_for_any_component(tmp_path):
    """Neither for training nor for loading and predicting; kernels that others call come along with those."""
    loading = f"\nimport spacy\nnlp = spacy.load({str(tmp_path)!r}){PREDICTION}"
    first = run(f"{TRAINING}nlp.to_disk({str(tmp_path)!r}){loading}")
    # Where kernels are warm, the first process is one that finds those of others.
    again = run(f"{TRAINING}nlp.to_disk({str(tmp_path)!r}){loading}") if first.misses else first
    assert first.printed == again.printed == PREDICTED
    assert len(again.statistics) > 5 and again.misses == 0
    assert all(found > 0 for found, _ in again.statistics.values())
    assert "ompiling" not in again.messages


@pytest.mark.skipif(not FOLDER.exists(), reason="the installed package has no machine code")
def test_a_wheel_with_machine_code_has_every_kernel_that_python_calls():
    stored = {path.name.partition("-outer-")[0] for path in FOLDER.glob("*/*-outer-*")}
    assert not kernels_that_python_names() - stored


@pytest.mark.slow
def test_second_process_finds_every_kernel_of_every_solver(tmp_path):
    code = "\nfrom spacy_ssvm.cli.warmup import warmup\nprint(json.dumps(warmup()))\n"
    first = run(code, NUMBA_CACHE_DIR=str(tmp_path)).printed
    found = [*tmp_path.glob("*/*-outer-*"), *FOLDER.glob("*/*-outer-*")]
    stored = {path.name.partition("-outer-")[0] for path in found}
    assert not kernels_that_python_names() - stored, "a wheel with machine code would lack them"
    assert not defined_kernels() - {name for name, _, _ in first}, "no component needs them"
    assert sum(misses for _, _, misses in first) == len(list(tmp_path.glob("*/*.nbc"))), "one was compiled twice"
    again = run(code, NUMBA_CACHE_DIR=str(tmp_path)).printed
    assert sum(hits for _, hits, _ in again) >= len(again) and not any(misses for _, _, misses in again)
    assert run(f"{TRAINING}{PREDICTION}", NUMBA_CACHE_DIR=str(tmp_path)).misses == 0


@pytest.mark.parametrize(
    "code, expected",
    [
        (LEARNING, None),
        pytest.param(f"{TRAINING}{PREDICTION}", PREDICTED, marks=pytest.mark.slow, id="components"),
    ],
)
def test_works_without_a_compiler(code, expected):
    """Slow, correct and quiet."""
    result = run(code, "-W", "error", NUMBA_DISABLE_JIT="1")
    assert result.printed == (expected or learnt(Perceptron())) and not result.statistics and not result.messages
