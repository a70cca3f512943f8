"""The layers of the package: which one may import which, and what they do without."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from importlib.metadata import distribution
from pathlib import Path
from typing import NamedTuple

import pytest

from spacy_ssvm.solvers.dcd import Dcd

from .handmade import learnt
from .sources import PACKAGE, dotted, trees

LEVELS = (
    {"spacy_ssvm", "files", "growth", "memory", "threads", "registry", "word_forms", "wording", "words"},
    {"kernels"},
    {"features", "structures", "solvers", "clustering"},
    {"models"},
    {"training", "corpus", "inspect"},
    {"pipeline"},
    {"distributed"},
    {"serve"},
    {"cli"},
)
"""Layers, and modules that stand by themselves, from bottom to top: one imports those below it only."""
MAY_IMPORT_EACH_OTHER = {"training", "corpus", "inspect"}
"""Layers of one level that do, though not in a circle."""
WITHOUT_SPACY = ("structures", "solvers", "clustering")
"""Layers of algorithms, which know no Docs."""
COMPILERS = {"numba", "llvmlite", "scipy"}
OF_EXTRAS = {"fastapi", "pydantic", "uvicorn"}
"""Packages that modules import at their top, and that need not be installed."""


class Arrow(NamedTuple):
    """One module of the package imports another; early: at import and not in a function or for a type checker."""

    source: str
    target: str
    early: bool


def name_of(path: Path) -> str:
    """A module's name below the package, that of the package itself for its own."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts) or "spacy_ssvm"


MODULES = {name_of(path): path for path in trees()}


def imports(node: ast.AST, early: bool = True) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """The import statements below a node, and whether each is run when the module is imported."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, early
        late = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        late |= isinstance(child, ast.If) and dotted(child.test).endswith("TYPE_CHECKING")
        yield from imports(child, early and not late)


@cache
def imported(path: Path) -> list[tuple[str, bool]]:
    """The full names that a module imports, of modules or of what they define, and whether it does so at import."""
    package, found = ["spacy_ssvm", *path.relative_to(PACKAGE).parent.parts], []
    for statement, early in imports(trees()[path]):
        if isinstance(statement, ast.Import):
            found += [(alias.name, early) for alias in statement.names]
            continue
        parents = package[: len(package) - statement.level + 1] if statement.level else []
        origin = [*parents, *filter(None, [statement.module])]
        found += [(".".join([*origin, alias.name]), early) for alias in statement.names]
    return found


@cache
def arrows() -> list[Arrow]:
    found = []
    for source, path in MODULES.items():
        for name, early in imported(path):
            if name.split(".")[0] != "spacy_ssvm":
                continue
            target = name.removeprefix("spacy_ssvm.")
            target = target if target in MODULES else target.rpartition(".")[0] or "spacy_ssvm"
            assert target in MODULES, (source, name)
            found.append(Arrow(source, target, early))
    return found


def layer(module: str) -> str:
    return module.split(".")[0]


def level(module: str) -> int:
    return next(height for height, layers in enumerate(LEVELS) if layer(module) in layers)


def require_no_circle(pairs: set[tuple[str, str]]) -> None:
    """graphlib raises an error that names the circle."""
    graph = TopologicalSorter[str]()
    for source, target in pairs:
        graph.add(source, target)
    graph.prepare()


def test_every_module_is_in_a_layer():
    assert {layer(module) for module in MODULES} <= set().union(*LEVELS)


def test_no_room_imports_upward():
    """Neither at import, nor in a function, nor for a type checker."""
    upward = [arrow for arrow in arrows() if level(arrow.source) < level(arrow.target)]
    beside = [
        arrow
        for arrow in arrows()
        if level(arrow.source) == level(arrow.target) > 0
        and layer(arrow.source) != layer(arrow.target)
        and layer(arrow.source) not in MAY_IMPORT_EACH_OTHER
    ]
    assert not upward and not beside


def test_only_training_learns():
    """Below it and beside it, modules know problems and parameters, but no learner."""
    layers = {"features", "structures", "models", "corpus", "inspect"}
    learners = {module for module in MODULES if layer(module) == "solvers"} - {"solvers.problem", "solvers.parameters"}
    assert not [arrow for arrow in arrows() if layer(arrow.source) in layers and arrow.target in learners]


def test_no_circle_of_layers():
    require_no_circle(
        {(layer(source), layer(target)) for source, target, _ in arrows() if layer(source) != layer(target)}
    )


def test_no_circle_of_modules():
    """Neither at import, nor in a function, nor for a type checker."""
    require_no_circle({(arrow.source, arrow.target) for arrow in arrows()})


@pytest.mark.parametrize(
    ("names", "layers"),
    [
        ({"numba", "llvmlite"}, {"kernels"}),
        (
            {"spacy", "thinc", "srsly"},
            set().union(*LEVELS) - {"spacy_ssvm", "kernels", *WITHOUT_SPACY},
        ),
    ],
    ids=["numba", "spaCy"],
)
def test_who_imports(names, layers):
    found = ((module, name.split(".")[0]) for module, path in MODULES.items() for name, _ in imported(path))
    assert {layer(module) for module, name in found if name in names} <= layers


def run(code: str, *options: str) -> str:
    """Standard output of a fresh interpreter."""
    command = [sys.executable, *options, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, cwd=PACKAGE.parent, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def test_structures_decode_and_solvers_learn_without_spacy():
    modules = [f"spacy_ssvm.{module}" for module in MODULES if layer(module) in WITHOUT_SPACY]
    code = f"""
import importlib, json, sys
for name in ("spacy", "thinc", "srsly", "confection", "catalogue"):
    sys.modules[name] = None
sys.path.append({str(Path(__file__).parents[1])!r})
for name in {modules}:
    importlib.import_module(name)
import numpy as np
from spacy_ssvm.structures.chain.viterbi import steps_of, viterbi
from spacy_ssvm.structures.tree.projective import eisner
from spacy_ssvm.solvers.dcd import Dcd
from tests.handmade import learnt
labels, heads = np.zeros(3, np.int32), np.zeros(3, np.int32)
tokens, transitions = np.array([[1.0, 0.0], [0.0, 0.5], [0.0, 0.5]]), np.array([[0.0, -2.0], [0.0, 0.0]])
viterbi(tokens, steps_of(transitions), np.zeros(2), np.zeros(2), np.zeros((3, 2)), labels)
eisner(np.array([[0.0, 1.0, 2.0], [0.0, 0.0, 2.0], [0.0, 3.0, 0.0]]), False, heads)
print(json.dumps([labels.tolist(), heads.tolist(), learnt(Dcd())]))
"""
    labels, heads, weights = json.loads(run(code))
    assert labels == [0, 0, 0] and heads == [-1, 2, 0] and weights == learnt(Dcd())


def test_neither_modules_nor_configs_need_a_compiler():
    """A kernel imports it at its first use, so that every module may name it at its top, and spaCy, which resolves a
    factory's whole config when it loads, waits for none."""
    compiling = {
        module for module, path in MODULES.items() if {name.split(".")[0] for name, _ in imported(path)} & COMPILERS
    }
    serving = {
        module for module, path in MODULES.items() if {name.split(".")[0] for name, _ in imported(path)} & OF_EXTRAS
    }
    others = [module for module in MODULES if module not in compiling | serving]
    points = distribution("spacy-ssvm").entry_points
    resolved = {point.module for point in points if point.group != "spacy_cli"}
    assert {module.removeprefix("spacy_ssvm.") for module in resolved} <= set(others)
    factories = [point.name for point in points.select(group="spacy_factories")]
    solvers = [point.name for point in points.select(group="spacy_ssvm_solvers")]
    code = f"""
import importlib, sys, spacy
for name in {others}:
    importlib.import_module("spacy_ssvm." + name if name != "spacy_ssvm" else name)
nlp = spacy.blank("xx")
for factory in {factories}:
    nlp.add_pipe(factory)
for solver in {solvers}:
    spacy.registry.resolve({{"solver": {{"@ssvm_solvers": solver}}}})
corpus = {{"@readers": "spacy-ssvm.Corpus.v1", "path": "x.spacy"}}
spacy.registry.resolve({{"corpora": {{"train": corpus}}}})
print(sorted({COMPILERS} & {{name.split(".")[0] for name in sys.modules}}))
"""
    assert run(code, "-W", "error") == "[]"


def test_a_pipeline_without_our_components_imports_none():
    """spaCy imports the factories and loggers of all installed packages whenever it makes a pipeline."""
    code = "import sys, spacy; spacy.blank('xx'); print(*sys.modules)"
    names = {name.removeprefix("spacy_ssvm.") for name in run(code).split() if name.startswith("spacy_ssvm.")}
    heavy = {"features", "structures", "solvers", "training", "inspect", "corpus"}
    assert "pipeline.factories" in names and "pipeline.component" not in names
    assert not heavy.intersection(map(layer, names))


def test_import_alone_is_quiet_and_light():
    code = "import sys, spacy_ssvm; print(spacy_ssvm.__version__, 'numba' in sys.modules, 'spacy' in sys.modules)"
    assert run(code, "-W", "error") == f"{distribution('spacy-ssvm').version} False False"
