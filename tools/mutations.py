"""The mutation check: how many small faults, put into the package one at a time, the tests notice.

    python -m tools.mutations [--seed 0] [--count 40] [--only N] [--files N]

Mutants are drawn in four groups of equal size: kernels, the other code of the solvers, codecs (components and readers
of gold annotation), and files (what is written to disk and read back). For each mutant the test files run, nearest to
the mutated module first, until one of them fails. The exit status is 1 where less than 95 % of the mutants are noticed;
those in `EQUIVALENT` do not count. The tests must pass without a mutant.

A mutant is drawn by a digest of seed, file, line and mutation, so that an edit elsewhere leaves the others drawn. It is
put into a temporary copy of the repository, whose kernel cache has the machine code that the mutant cannot change.
"""

import argparse
import ast
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from importlib.util import resolve_name
from itertools import accumulate, chain, groupby, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "spacy_ssvm"
GROUPS = {
    "kernels": [f"{layer}/**/*.py" for layer in ("features", "structures", "models", "solvers")],
    "solvers": ["solvers/**/*.py"],
    "codecs": [
        f"pipeline/{name}.py"
        for name in ("tagger", "chain_codec", "ner", "entities", "senter", "parser", "arcs", "gold_*")
    ],
    "files": ["models/store.py", "models/packing.py", "models/*/weights.py", "training/state_file.py", "files.py"],
}
"""The files of each group, below the package. Of the first group these are the kernels, of the second all else."""
NOT_COPIED = (".git", ".venv", "build", "dist", "*.egg-info", ".hypothesis", ".*_cache", "__pycache__")
PYTEST = "-x -q -rfE --tb=no --hypothesis-seed=0 -p no:cacheprovider"
FILE_SECONDS, MUTANT_SECONDS = 1200.0, 2400.0
"""A test file that takes longer hangs: the mutant is noticed. Of a mutant that takes longer no further file is run."""

EQUIVALENT = {
    (
        "solvers/l1.py",
        "if magnitudes.sum() <= radius * (1 + 1e-12):",
        "magnitudes.sum() <= radius * (1 + 1e-12) → (magnitudes.sum() < radius * (1 + 1e-12))",
    ): "at equality the projection moves w by rounding",
    (
        "solvers/problem.py",
        "return self.min_cost if self.min_cost < np.inf else 1.0",
        "1.0 → (1.0 + 1)",
    ): "where no mistake costs anything, no loss is above 0",
    (
        "structures/tree/max_marginals.py",
        "if outside == -np.inf or (h > 0 and low <= parts.heads[row] <= high):",
        "outside == -np.inf or (h > 0 and low <= parts.heads[row] <= high) → "
        "(outside == -np.inf and (h > 0 and low <= parts.heads[row] <= high))",
    ): "what it leaves out has −∞ already: it saves time",
    ("features/index.py", "key = max(key, np.uint64(1))", "1 → (1 + 1)"): "a key of 1 is as rare as one of 0",
    (
        "pipeline/parser.py",
        "return [] if any(names.index(name) < place for name in sets) else sets",
        "names.index(name) < place → (names.index(name) <= place)",
    ): "the component at this place is not among these names",
    (
        "models/packing.py",
        'while stream[at : at + 1].tobytes() == b"\\0":',
        "at → (at - 1)",
    ): "no block is copied, and inflating all of them gives the same data",
}
"""Why no test can notice a mutant: (file, text of its line, mutation) → reason."""

SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq},
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.And: ast.Or, ast.Or: ast.And},
}
EXTREMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}


class Mutant(NamedTuple):
    """`before`, the source of a file from byte `start` on, replaced by `after`.

    key: file, text of the line, mutation. kind: of the node. compiled: whether machine code can change.
    """

    group: str
    key: tuple[str, str, str]
    line: int
    kind: str
    start: int
    before: str
    after: str
    compiled: bool


def replacements(node: ast.AST) -> Iterator[tuple[Any, str]]:
    """Parts of a node, each with the source of a mutation."""

    def altered(**fields: object) -> tuple[ast.AST, str]:
        return node, f"({ast.unparse(type(node)(**dict(ast.iter_fields(node)) | fields))})"

    match node:
        case ast.Compare(ops=operators):
            for k, operator in enumerate(operators):
                if type(operator) in SWAPS:
                    yield altered(ops=[*operators[:k], SWAPS[type(operator)](), *operators[k + 1 :]])
        case ast.BinOp(op=operator) | ast.BoolOp(op=operator) if type(operator) in SWAPS:
            yield altered(op=SWAPS[type(operator)]())
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield node, f"({ast.unparse(operand)})"
        case ast.Name(id=name) if name in EXTREMES:
            yield node, EXTREMES[name]
        case ast.Attribute(attr=name) if name in EXTREMES:
            yield altered(attr=EXTREMES[name])
        case ast.Constant(value=bool(value)):
            yield node, str(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield from ((node, f"({value!r} {sign} 1)") for sign in "+-")
        case ast.AugAssign():
            yield node, "pass"
        case ast.Slice(lower=lower, upper=upper):
            for bound in filter(None, (lower, upper)):
                yield from ((bound, f"({ast.unparse(bound)} {sign} 1)") for sign in "+-")


def sites(node: ast.AST, function: ast.FunctionDef | None = None) -> Iterator[tuple[ast.AST, ast.FunctionDef | None]]:
    """The nodes that may be mutated, each with the outermost function in whose body it is."""
    logs = isinstance(node, ast.Call) and re.match(r"(LOGGER|logger|logging|warnings)\.", ast.unparse(node.func))
    if logs or isinstance(node, ast.Raise | ast.JoinedStr):
        return
    yield node, function
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and field not in ("annotation", "returns", "decorator_list"):
                own = node if isinstance(node, ast.FunctionDef) and field == "body" else None
                yield from sites(child, function or own)


def mutants_of(group: str, path: Path) -> Iterator[Mutant]:
    source = path.read_bytes()
    lines = source.splitlines(keepends=True)
    offsets = [0, *accumulate(map(len, lines))]
    for node, function in sites(ast.parse(source)):
        in_kernel = function is not None and any(ast.unparse(one) == "kernel" for one in function.decorator_list)
        if in_kernel == (group == "kernels") or group not in ("kernels", "solvers"):
            for part, after in replacements(node):
                start = offsets[part.lineno - 1] + part.col_offset
                before = source[start : offsets[part.end_lineno - 1] + part.end_col_offset].decode()
                text = lines[part.lineno - 1].decode().strip()
                key = path.relative_to(PACKAGE).as_posix(), text, f"{before} → {after}"
                # Constants are compiled into kernels.
                compiled, kind = in_kernel or function is None, type(node).__name__
                yield Mutant(group, key, part.lineno, kind, start, before, after, compiled)


@cache
def mutants() -> dict[str, list[Mutant]]:
    """All mutants, by group."""
    found = {}
    for group, patterns in GROUPS.items():
        paths = [sorted(PACKAGE.glob(pattern)) for pattern in patterns]
        assert all(paths), f"{group}: a file was moved"
        found[group] = [mutant for path in chain(*paths) for mutant in mutants_of(group, path)]
    return found


def draw(seed: int, count: int) -> list[Mutant]:
    """As many of each group, and of each kind as long as there are any; no two of them on lines that are the same."""
    drawn = []
    for mutants_of_group in mutants().values():
        ranked = sorted(mutants_of_group, key=lambda mutant: hashlib.sha256(repr((seed, mutant.key)).encode()).digest())
        lines = sorted({mutant.key[:2]: mutant for mutant in ranked}.values(), key=lambda mutant: mutant.kind)
        turns = zip_longest(*(list(same) for _, same in groupby(lines, key=lambda mutant: mutant.kind)))
        drawn += list(filter(None, chain(*turns)))[: count // len(GROUPS)]
    return drawn


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@cache
def imports() -> dict[str, set[str]]:
    """The modules of the package, the tests and the tools that each of them imports, wherever in its source."""
    folders = (PACKAGE, ROOT / "tests", ROOT / "tools")
    paths = {module_name(path): path for folder in folders for path in folder.rglob("*.py")}
    found: dict[str, set[str]] = {}
    for name, path in paths.items():
        package = name if path.stem == "__init__" else name.rpartition(".")[0]
        names: set[str] = set()
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                module = resolve_name("." * node.level + (node.module or ""), package)
                names |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
        found[name] = names & paths.keys()
    return found


def distances(module: str) -> dict[str, int]:
    """How many imports lead to a module from each of those that depend on it."""
    found, frontier = {module: 0}, {module}
    while frontier:
        frontier = {name for name, names in imports().items() if name not in found and names & frontier}
        found |= dict.fromkeys(frontier, 1 + max(found.values()))
    return found


def nearest_tests(path: str) -> list[str]:
    """Test files: named after the module, importing it, of its layer, of whole pipelines, and needing it.

    Among those of a layer, the files that mention the module most come first: a solver is imported by its name alone.
    """
    distance = distances(module_name(PACKAGE / path))
    layers, stem = [Path(path).parts[0], "pipeline"], Path(path).stem.replace("_", "")
    ranked = []
    for name in imports():
        layer, test = name.split(".")[1:2], name.rpartition(".")[2]
        # These reach components by their names alone.
        is_of_all = name.count(".") == 1 or layer in (["cli"], ["inspect"], ["projects"], ["serve"])
        if test.startswith("test_") and (name in distance or layer[0] in layers or is_of_all):
            place, steps = layers.index(layer[0]) if layer[0] in layers else len(layers), distance.get(name, 100)
            source = (ROOT / f"{name.replace('.', '/')}.py").read_text(encoding="utf8")
            mentions = source.lower().replace("_", "").count(stem)
            ranked.append((test != f"test_{Path(path).stem}", steps > 1, place, -mentions, steps, name))
    return [f"{name.replace('.', '/')}.py" for *_, name in sorted(ranked)]


def seed_cache(mutant: Mutant, folder: Path, environment: dict[str, str]) -> None:
    """Copy machine code that does not depend on what is mutated, with the digest of the mutated sources."""
    from spacy_ssvm.kernels.disk_cache import cache_folders, source_digest

    code = "from spacy_ssvm.kernels import source_digest; print(source_digest().hex())"
    run = subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True)
    stale = [f"{name}." for name in distances(module_name(PACKAGE / mutant.key[0]))] if mutant.compiled else []
    target = folder / PACKAGE.name / "__pycache__"
    target.mkdir(exist_ok=True)
    for path in cache_folders()[0].glob("*.nbc"):
        content = path.read_bytes()
        current = content[:32] == hashlib.sha256(source_digest() + content[32:]).digest()
        if run.stdout and current and not path.name.startswith(tuple(stale)):
            digest = hashlib.sha256(bytes.fromhex(run.stdout) + content[32:]).digest()
            (target / path.name).write_bytes(digest + content[32:])


def noticed_by(mutant: Mutant, n_files: int | None) -> str | None:
    """The test that fails, or the file with one that never ends, of the nearest files."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutant-") as temporary:
        folder, log = Path(temporary) / "repository", Path(temporary) / "log"
        shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*NOT_COPIED))
        source = (PACKAGE / mutant.key[0]).read_bytes()
        rest = source[mutant.start :].removeprefix(mutant.before.encode())
        (folder / PACKAGE.name / mutant.key[0]).write_bytes(source[: mutant.start] + mutant.after.encode() + rest)
        environment = {**os.environ, "PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": ""}
        seed_cache(mutant, folder, environment)
        for test in nearest_tests(mutant.key[0])[:n_files]:
            if time.monotonic() - began > MUTANT_SECONDS:
                break
            command = [sys.executable, "-m", "pytest", *PYTEST.split(), test]
            with log.open("wb") as out:
                run = subprocess.Popen(command, cwd=folder, env=environment, stdout=out, start_new_session=True)
            try:
                status = run.wait(FILE_SECONDS)  # 0: all passed. 5: none was selected.
            except subprocess.TimeoutExpired:
                return f"{test} (timeout)"
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(run.pid, signal.SIGKILL)  # And what the tests have started.
            if status not in (0, 5):
                failed = re.search(r"^(?:FAILED|ERROR) (\S+)", log.read_text(), re.MULTILINE)
                return failed[1] if failed else test
    return None


def judge(number: int, mutant: Mutant, n_files: int | None) -> bool | None:
    """Try a mutant and print its row; returns whether it was noticed, None if no test can."""
    began, reason = time.monotonic(), EQUIVALENT.get(mutant.key)
    test = None if reason else noticed_by(mutant, n_files)
    result = f"equivalent: {reason}" if reason else test or "MISSED"
    columns = number, mutant.group, f"{mutant.key[0]}:{mutant.line}", mutant.key[-1], result
    print(*columns, f"{time.monotonic() - began:.0f} s", sep=" | ", flush=True)
    return None if reason else test is not None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=40, help="of mutants, all groups together")
    parser.add_argument("--only", type=int, metavar="N", help="try the mutant of this number alone, from 0")
    parser.add_argument("--files", type=int, metavar="N", help="run the N nearest test files at most")
    options = parser.parse_args()
    drawn = list(enumerate(draw(options.seed, options.count)))
    chosen = drawn if options.only is None else [drawn[options.only]]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        judged = [found for found in pool.map(lambda pair: judge(*pair, options.files), chosen) if found is not None]
    print(f"{sum(judged)} of {len(judged)} mutants noticed")
    return int(sum(judged) < 0.95 * len(judged))


if __name__ == "__main__":
    sys.exit(main())
