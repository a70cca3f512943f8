"""The README and the pages of docs/ say what is so: their code runs, and their tables and links are those of the code.

The blocks of a page run in order, in a folder with the repository's `configs` and `projects` and the parts of the
quickstart corpus, `train.spacy`, `dev.spacy` and `test.spacy`. Blocks of Python share their names. Blocks of bash are
commands, a line each; those of spaCy run in this process. Blocks of ini are parts of a config, with which is done what
the text beside them says: see `tests/config_blocks.py`.
Of a Dockerfile, only the names of our commands are checked.
A block of text stands after one of Python or bash, and its lines occur in what that prints.
"""

import ast
import inspect
import io
import json
import os
import re
import shlex
import subprocess
import sys
import types
import typing
from collections.abc import Iterable, Iterator, Sequence
from contextlib import redirect_stdout
from functools import cache
from importlib.metadata import distribution
from itertools import islice
from pathlib import Path

import pytest
import spacy
import typer.main
from spacy.cli import app
from spacy.language import Language
from spacy.tokens import DocBin
from spacy.tokens.underscore import Underscore
from spacy.util import load_config, load_model_from_config, logger
from typer.testing import CliRunner

from spacy_ssvm.cli.app import ssvm
from spacy_ssvm.features.arc_templates import parse_arc_template
from spacy_ssvm.features.attributes import (
    ANNOTATION_ATTRIBUTES,
    BREAK_BEFORE,
    DOCUMENT_ATTRIBUTES,
    KNOWN_SCRIPTS,
    NAMED,
    TOKEN_ATTRIBUTES,
    TYPE_ATTRIBUTES,
)
from spacy_ssvm.features.templates import parse_template
from spacy_ssvm.models.chain import weights as chain_weights
from spacy_ssvm.models.store import DIGEST, SHAPE
from spacy_ssvm.models.tree import weights as tree_weights
from spacy_ssvm.registry import ssvm_solvers

from . import config_blocks
from .markdown import Block, anchors, blocks, code_spans, headings, links, prose, tables
from .sources import PACKAGE, dotted, nodes

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
MAX_WORDS = 1500
ENTRY_POINTS = [point for point in distribution("spacy-ssvm").entry_points if point.group.startswith("spacy_")]
SOLVERS = sorted(name for name in ssvm_solvers.get_all() if name.startswith("spacy-ssvm."))
NOT_RUN = {
    "make ": "tests run in one of them, and tests/projects/test_quickstart.py does the other one",
    "pip install ": "the environment stays as it is",
    ".venv/bin/pip install ": "CI installs into a fresh environment",
    "python3 -m venv .venv": "CI installs into a fresh environment",
    "python -m pip install ": "the environment stays as it is",
    "python -m spacy ssvm resources en lists": "needs the packages; commands/start.md has a list without any",
    "python -m spacy ssvm init-config config.cfg --data train.spacy --dev dev.spacy --resources lists": "as above",
    "python -m spacy package output/model-best output ": "slow",
    "python -m spacy project run ": "tests/projects",
    "ray start ": "needs a cluster",
    "cp dist/spacy_ssvm-0.1.0-py3-none-any.whl projects/recipes": "the wheel is not there",
    "podman ": "tests/projects/test_containerfile.py runs the steps",
    'python -m spacy ssvm apply output/model-best "texts/*.jsonl.gz" annotated --workers 64 ': "tests/distributed",
    "python -m spacy ssvm train ": "tests/distributed/test_training.py, where Ray is installed",
    "python -m spacy ssvm serve ": "tests/serve, as it does not end",
    "python -m spacy ssvm warmup": "tests/cli/test_app.py does, as a slow test",
}
"""Commands that are shown and not run here, or, with a space at their end, the beginnings of such, and why."""
TRAINING = ("python -m spacy train ", "python -m spacy ssvm fit ")
FILES = {
    "cities.csv": ["name,country", "Los Angeles,US", "Oslo,NO"],
    "clusters.tsv": ["0010\tOslo", "0011\tParis", "1101\tsays"],
    "lemmas.tsv": ["mice\tNOUN\tmouse", "went\tgo"],
    "lexicon.tsv": ["record\tVB", "plan\tNN"],
}
"""Files that blocks of ini read, and that no command of a page makes."""

SLOW = {
    "ask/calibration",
    "ask/confidence",
    "ask/constraints",
    "ask/explanations",
    "ask/reports",
    "reference/commands/score",
    "reference/commands/train",
    "start/coming-from-spacy",
    "train/arc-templates",
    "train/distilling",
    "train/templates",
    "train/treebanks",
    "train/tuning",
    "train/tuning-workers",
}
"""Pages whose blocks take more than four seconds, but for the first ones; others have every kind of block."""


def id_of(page: Path) -> str:
    """The path of a page within docs/, without its ending."""
    return page.relative_to(DOCS if page.is_relative_to(DOCS) else ROOT).with_suffix("").as_posix()


page_of_docs = pytest.mark.parametrize("page", PAGES, ids=id_of)
page_that_runs = pytest.mark.parametrize(
    "page", [pytest.param(page, id=id_of(page), marks=[pytest.mark.slow] * (id_of(page) in SLOW)) for page in PAGES]
)


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    """The parts of the quickstart corpus, ten documents of it, and FILES."""
    folder = tmp_path_factory.mktemp("corpora")
    split = ROOT / "projects" / "quickstart" / "scripts" / "split.py"
    corpus = ROOT / "projects" / "quickstart" / "corpus"
    subprocess.run([sys.executable, split, corpus, folder], check=True, capture_output=True)
    run_spacy(["convert", str(folder), str(folder), "--converter", "conllu", "--n-sents", "5"])
    docs = DocBin().from_disk(folder / "train.spacy").get_docs(spacy.blank("en").vocab)
    DocBin(docs=islice(docs, 10), store_user_data=True).to_disk(folder / "tiny.spacy")
    for name, lines in FILES.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), "utf8")
    config_blocks.english_clusters(folder)
    return [*sorted(folder.glob("*.spacy")), *(folder / name for name in FILES)]


@pytest.fixture
def folder(corpora, tmp_path, monkeypatch):
    """Where the blocks of a page run; what they change in spaCy is undone."""
    for path in (ROOT / "configs", ROOT / "projects", *corpora):
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    monkeypatch.setattr(Underscore, "token_extensions", dict(Underscore.token_extensions))
    level = logger.level
    yield tmp_path
    logger.setLevel(level)


def run_spacy(arguments: list[str]) -> str:
    """The output of `python -m spacy` with these arguments."""
    result = CliRunner().invoke(app, arguments, prog_name="python -m spacy")
    assert result.exit_code == 0, f"{shlex.join(arguments)}: {result.output} {result.exception!r}"
    return result.output


def commands(code: str) -> Iterator[str]:
    """The commands of a block, a line each, but for lines that end in a backslash or within quotes."""
    lines = ""
    for line in code.replace("\\\n", " ").splitlines():
        lines += line.partition("  # ")[0]
        if lines.count("'") % 2 == 0:
            if lines.strip():
                yield lines.strip()
            lines = ""
        else:
            lines += " "


def files_here() -> tuple[tuple[str, bytes], ...]:
    """The files that the blocks of a page have made, and what is in them."""
    paths = (Path(folder, name) for folder, _, names in os.walk(".") for name in names)
    return tuple((path.as_posix(), path.read_bytes()) for path in sorted(paths) if not path.is_symlink())


@cache
def trained(command: str, given: tuple[tuple[str, bytes], ...]) -> tuple[str, tuple[tuple[str, bytes], ...]]:
    """What a command prints and all files then: pages that train alike, with the same files given, do so once."""
    return run_spacy(shlex.split(command)[3:]), files_here()


def is_among(command: str, named: Iterable[str]) -> bool:
    return any(command == one or (one.endswith(" ") and command.startswith(one)) for one in named)


def run_commands(code: str) -> str:
    output = []
    for command in commands(code):
        if is_among(command, NOT_RUN):
            continue
        if command.startswith(TRAINING):
            printed, made = trained(command, files_here())
            for name, content in made:
                Path(name).parent.mkdir(parents=True, exist_ok=True)
                Path(name).write_bytes(content)
            output.append(printed)
        elif command.startswith("python -m spacy "):
            output.append(run_spacy(shlex.split(command)[3:]))
        else:
            result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
            assert result.returncode == 0, f"{command}: {result.stdout} {result.stderr}"
            output.append(result.stdout)
    return "".join(output)


def run_python(code: str, names: dict, page: Path, line: int) -> str:
    output = io.StringIO()
    with redirect_stdout(output):
        exec(compile("\n" * (line - 1) + code, str(page), "exec"), names)
    return output.getvalue()


# Blocks that learn from little warn of it.
@pytest.mark.filterwarnings("ignore::UserWarning")
@page_that_runs
def test_the_blocks_of_a_page_run(page, folder):
    names: dict = {"__name__": "docs"}
    output = None
    for block in blocks(page):
        place = f"{id_of(page)}, line {block.line}"
        if block.language == "python":
            output = run_python(block.code, names, page, block.line)
        elif block.language == "bash":
            output = run_commands(block.code)
        elif block.language == "dockerfile":
            named = re.findall(r"python -m spacy ssvm ([a-z-]+)", block.code)
            assert named and set(named) <= set(typer.main.get_command(ssvm).commands), place
        elif block.language == "ini":
            config_blocks.check(block)
            output = None
        elif block.language == "text":
            assert output is not None, f"{place}: text that no block prints"
            rest = " ".join(output.split())
            for line in block.code.splitlines():
                found = " ".join(line.split())
                assert found in rest, f"{place}: {found!r} is not in what is printed: {output}"
                rest = rest[rest.index(found) + len(found) :]
        else:
            pytest.fail(f"{place}: a block of {block.language or 'no language'} says nothing about how to check it")


@page_that_runs
def test_overrides_in_the_text_are_settings(page, folder):
    """Those of our components, corpora and initialization, on a config with the components that they name."""
    for span in config_blocks.override_spans(page.read_text("utf8")):
        if not re.match(r"--(components|corpora|initialize|training)\.", span):
            continue
        names = dict.fromkeys(re.findall(r"--components\.(\w+)", span)) or ["parser"]
        config_blocks.init_config(Path("written.cfg"), ["--pipeline", ",".join(names)])
        given = load_config("written.cfg", overrides=config_blocks.overrides(f"`{span}`"))
        filled = load_model_from_config(given, auto_fill=True).config
        assert not config_blocks.dropped(given, filled), f"{id_of(page)}: {span}"


THRESHOLD, COST = "[components.ner]\nthreshold = 0.3", "[components.ner.label_costs]\nO = 0.3"


@pytest.mark.parametrize(
    "said, code, wrong",
    [
        ("It is so:", COST, "has to say one of"),
        ("Add this section, or replace this section:", THRESHOLD, "has to say one of"),
        ("Add this section:", THRESHOLD, "already exists"),
        ("Add this section:", "[initialize.lookups]\n@misc = 1", "conflicting values"),
        ("Replace this setting, `--components.ner.threshold 0.4`:", THRESHOLD, "by overrides"),
        ("Add this setting:", THRESHOLD, "is there"),
        ("Replace this setting:", COST, "to replace"),
        ("`spacy ssvm init-config -p ner` writes this:", THRESHOLD, "is no part of"),
    ],
)
def test_a_block_of_ini_that_does_not_do_what_is_said_of_it_is_found(said, code, wrong, folder):
    with pytest.raises(Exception, match=wrong):
        config_blocks.check(Block("ini", f"{code}\n", 1, said, ""))


@page_of_docs
def test_links_lead_somewhere(page):
    for link in links(page):
        if re.match(r"https?:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), f"{id_of(page)} links to {link}"
        if anchor:
            assert anchor in anchors(target), f"{id_of(page)} links to {link}; there are {sorted(anchors(target))}"


def test_the_navigation_has_every_page():
    named = re.findall(r"\S+\.md", (ROOT / "mkdocs.yml").read_text("utf8"))
    assert sorted(named) == sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))


def test_every_page_is_two_clicks_from_the_readme():
    pages = [ROOT / "README.md"]
    for _ in range(2):
        targets = ((page, link.partition("#")[0]) for page in pages for link in links(page) if "://" not in link)
        pages += {(page.parent / path).resolve() for page, path in targets if path.endswith(".md")}
    assert {id_of(page) for page in PAGES if page not in pages} == set()


@page_of_docs
def test_a_page_is_short(page):
    n_words = len(page.read_text("utf8").split())
    assert n_words <= MAX_WORDS, f"{n_words} words: divide the page by what its readers want"


def test_pages_named_in_the_package_are_there():
    sources = [path for folder in ("spacy_ssvm", "tools") for path in (ROOT / folder).rglob("*.py")]
    named = {name for path in sources for name in re.findall(r"docs/[\w/-]+\.md", path.read_text("utf8"))}
    assert [name for name in sorted(named) if not (ROOT / name).is_file()] == []


def test_what_is_not_run_is_still_there():
    commands = {line.strip() for page in PAGES for block in blocks(page) for line in block.code.splitlines()}
    assert [named for named in NOT_RUN if not any(is_among(command, [named]) for command in commands)] == []


# Tables of parameters


PLAIN = {bool: "bool", int: "int", float: "float", str: "str", Path: "path", typing.Any: "any"}


def spelled(annotation) -> str:
    """A type as the tables spell it; what may be null is said by the default."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation in PLAIN:
        return PLAIN[annotation]
    if origin is typing.Literal:
        return ", ".join(f'"{argument}"' for argument in arguments)
    if origin in (typing.Union, types.UnionType):
        kinds = [spelled(argument) for argument in arguments if argument is not types.NoneType]
        return ", ".join(kind for kind in kinds if kind != "str" or "path" not in kinds)
    if origin in (list, Sequence):
        return f"list[{spelled(arguments[0])}]"
    if origin is dict:
        return f"dict[{', '.join(map(spelled, arguments))}]"
    return "block"


def in_config(value) -> str:
    """A default as a config writes it."""
    if isinstance(value, dict) and any(key.startswith("@") for key in value):
        (name,) = (found for key, found in value.items() if key.startswith("@"))
        settings = {key: found for key, found in value.items() if key[0] != "@" and not isinstance(found, dict)}
        return ", ".join([name, *(f"{key} = {in_config(found)}" for key, found in settings.items())])
    if value == float("inf"):
        return '"inf"'
    return json.dumps(value)


@cache
def registered() -> dict[str, object]:
    return {point.name: point.load() for point in ENTRY_POINTS if point.group != "spacy_cli"}


def parameters(name: str) -> dict[str, tuple[str, str]]:
    """The type and the default of each parameter that a config can give to what is registered under this name."""
    function = registered()[name]
    defaults = Language.get_factory_meta(name).default_config if Language.has_factory(name) else {}
    hints = typing.get_type_hints(function.__init__ if inspect.isclass(function) else function)
    found = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in ("nlp", "name") and defaults:
            continue
        default = defaults.get(parameter.name, parameter.default)
        written = "required" if default is inspect.Parameter.empty else in_config(default)
        # A block can be of any type for the code: see `AnyParameters`.
        is_block = isinstance(default, dict) and any(key.startswith("@") for key in default)
        found[parameter.name] = "block" if is_block else spelled(hints[parameter.name]), written
    return found


TABLES = [(page, table) for page in PAGES for table in tables(page)]
PARAMETER_TABLES = [
    (page, name, table)
    for page, table in TABLES
    if table.header[:3] == ["parameter", "type", "default"]
    for name in code_spans(table.heading)
]
OF_ALL_COMPONENTS = [row for _, table in TABLES if table.heading == "Settings of all components" for row in table.rows]


@pytest.mark.parametrize(
    "page, name, table", PARAMETER_TABLES, ids=lambda given: given if isinstance(given, str) else ""
)
def test_a_table_of_parameters_is_that_of_the_code(page, name, table):
    assert table.header == ["parameter", "type", "default", "meaning"]
    rows = [*table.rows, *(OF_ALL_COMPONENTS if Language.has_factory(name) else [])]
    found = {row[0].strip("`"): (row[1], row[2].strip("`")) for row in rows}
    expected = parameters(name)
    missing, surplus = sorted(set(expected) - set(found)), sorted(set(found) - set(expected))
    assert not missing and not surplus, f"{id_of(page)}, {name}: rows missing {missing}, rows of no parameter {surplus}"
    wrong = {key: (found[key], "is in truth", expected[key]) for key in expected if found[key] != expected[key]}
    assert not wrong, f"{id_of(page)}, {name}: {wrong}"
    assert all(row[3] for row in rows)


def test_everything_that_a_config_can_name_is_documented():
    in_tables = {name for _, name, _ in PARAMETER_TABLES}
    named = {span for page in PAGES for line in prose(page) for span in code_spans(line)}
    for point in ENTRY_POINTS:
        if point.group in ("spacy_cli", "spacy_ssvm_models") or point.name in SOLVERS:
            continue
        takes_some = bool(parameters(point.name))
        assert point.name in (in_tables if takes_some else named), f"{point.name} is on no page of docs/"


def test_the_components_scores_and_annotation():
    rows = [row for _, table in TABLES if table.header == ["factory", "assigns", "scores"] for row in table.rows]
    found = {row[0].strip("`"): (code_spans(row[1]), code_spans(row[2])) for row in rows}
    for name in (point.name for point in ENTRY_POINTS if point.group == "spacy_factories"):
        meta = Language.get_factory_meta(name)
        scores = [key if weight is None else f"{key} = {weight}" for key, weight in meta.default_score_weights.items()]
        assert found.pop(name) == (list(meta.assigns), scores)
    assert not found


# Solvers


SOLVER_ROWS = {
    row[0].strip("`"): row[1] for _, table in TABLES if table.header[0] == "`@ssvm_solvers`" for row in table.rows
}
PARAMETERS = {
    name: (row[1], row[2])
    for _, table in TABLES
    if table.header == ["parameter", "type", "range", "meaning"]
    for row in table.rows
    for name in code_spans(row[0])
}
IN_AND_OUT = {
    "> 0": ([1e-9, 7.5], [0, -1, "nan", "inf"]),
    "≥ 0": ([0, 7.5], [-1e-9, "nan", "inf"]),
    "0, 1, 2, …": ([0, 7], [-1, 0.5]),
    "1, 2, …": ([1, 7], [0, 1.5]),
    "true, false": ([True, False], [1, "true"]),
}
"""Range → values that a parameter takes, and values that it refuses."""


def test_every_solver_is_on_a_page():
    assert sorted(SOLVER_ROWS) == SOLVERS


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_parameters_of_a_solver_are_those_of_the_code(solver):
    found = [span for span in code_spans(SOLVER_ROWS[solver]) if span]
    expected = {name: default for name, (_, default) in parameters(solver).items() if name != "seed"}
    assert dict(span.split(" = ") for span in found) == expected
    assert parameters(solver)["seed"] == ("int", "null")


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_solver_takes_what_is_in_range_and_nothing_else(solver):
    make = ssvm_solvers.get(solver)
    for name, (kind, _) in parameters(solver).items():
        written, given = PARAMETERS[name][0], PARAMETERS[name][1].partition(";")[0]
        assert written == kind, f"{solver}, {name}"
        choices = [text.strip('"') for text in code_spans(given)]
        inside, outside = IN_AND_OUT.get(given) or ((choices, ["neither"]) if choices else ([], []))
        assert inside, f"{name}: a range has to be one of {', '.join(IN_AND_OUT)} or of values in backticks"
        for value in inside:
            make(**{**({"beta": 1.0} if name == "gamma" else {}), name: value})
        for value in outside:
            if (name, value) == ("beta", "inf"):
                continue
            with pytest.raises(ValueError, match=name):
                make(**{name: value})


# Templates


def test_every_attribute_is_in_a_table():
    found = []
    for row in (row for _, table in TABLES if table.header[0] == "attribute" for row in table.rows):
        for span in code_spans(row[0]):
            first, _, last = span.partition("…")
            if last:
                stem = first.rstrip("0123456789")
                found += [f"{stem}{n}" for n in range(int(first[len(stem) :]), int(last.removeprefix(stem)) + 1)]
            else:
                found.append(span)
    known = [*TYPE_ATTRIBUTES, *TOKEN_ATTRIBUTES, *ANNOTATION_ATTRIBUTES, *DOCUMENT_ATTRIBUTES, *KNOWN_SCRIPTS]
    assert sorted(found) == sorted([*known, BREAK_BEFORE, "cluster", "clusterN", "clusterN.NAME", *NAMED])


@page_of_docs
def test_templates_in_the_text_can_be_read(page):
    spans = [span for line in prose(page) for span in code_spans(line)]
    for template in (span for span in spans if re.fullmatch(r"[\w.+\[\]-]+\[-?\d+\][\w.+\[\]-]*", span)):
        is_arc = re.match(r"(head|mod|sib|grand|between)\.", template)
        (parse_arc_template if is_arc else parse_template)(template)


# Commands


def test_the_options_of_the_commands():
    group = typer.main.get_command(ssvm)
    headed = [heading for page in PAGES for heading in headings(page) if heading.startswith("`spacy ssvm ")]
    assert sorted(headed) == sorted(f"`spacy ssvm {name}`" for name in group.commands)
    assert set(group.commands) <= set((DOCS / "start" / "install.md").read_text("utf8").splitlines())
    described = {
        table.heading: {row[0]: row[1].strip("`") for row in table.rows}
        for _, table in TABLES
        if table.header == ["argument", "default", "meaning"]
    }
    for name, command in group.commands.items():
        defaults = inspect.signature(command.callback).parameters
        expected = {}
        for parameter in command.params:
            is_option = parameter.param_type_name == "option"
            names = [*parameter.opts, *parameter.secondary_opts] if is_option else [parameter.name]
            default = defaults[parameter.name].default
            named = {None: "", inspect.Parameter.empty: "required"}
            written = "no" if default is False else named.get(default, str(default))  # 0 is no flag
            expected[", ".join(f"`{one}`" for one in names)] = written
        assert described.get(f"`spacy ssvm {name}`", {}) == expected


# Model file


def test_the_arrays_of_a_model_file():
    described = [(page, table) for page, table in TABLES if table.header == ["array", "type", "holds"]]
    assert all(f"format {chain_weights.FORMAT}" in page.read_text("utf8") for page, _ in described)
    arrays = {table.heading: {row[0].strip("`"): row[1] for row in table.rows} for _, table in described}
    common = {SHAPE: "int64", DIGEST: "uint64"}
    names = {"Chains": chain_weights.TYPES, "Trees": tree_weights.TYPES}
    assert arrays == {
        "Of every model": common,
        **{
            heading: {name: " or ".join(dtype.__name__ for dtype in types) for name, types in kinds.items()}
            for heading, kinds in names.items()
        },
    }


# Messages


def texts_in(nodes: Iterable[ast.AST]) -> list[str]:
    """Every string among these nodes as one text, "…" for what is filled in."""
    return [text for node in nodes if isinstance(node, ast.JoinedStr | ast.Constant) and (text := text_of(node))]


def text_of(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) if isinstance(part, ast.Constant) else "…" for part in node.values)
    text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
    return re.sub(r"%(?:\.\d+)?[sdf]", "…", text).replace("%%", "%")


WARNS = ("warnings.warn", "warn", "self.warn", "self._learning.warn", "LOGGER.warning")


def messages(header: str) -> list[str]:
    """What is quoted in the first column of the tables with this header."""
    chosen = [table for _, table in TABLES if table.header[0] == header]
    return [span for table in chosen for row in table.rows for span in code_spans(row[0])]


def test_messages_are_quoted_as_they_are():
    texts, quoted = texts_in(node for found in nodes().values() for node in found), messages("message")
    assert len(quoted) > 40 and min(map(len, quoted)) > 15, "a quotation has to tell one message from others"
    assert [message for message in quoted if not any(message in text for text in texts)] == []
    errors = ast.walk(ast.parse(Path(spacy.errors.__file__).read_text("utf8")))
    spacys = [re.sub(r"{\w*}", "…", text) for text in texts_in(errors)]
    assert [message for message in messages("message of spaCy") if not any(message in text for text in spacys)] == []


def test_every_warning_is_explained():
    """Errors say what to do; warnings come by the way, and are looked up."""
    quoted = messages("message")
    for path, found in nodes().items():
        for node in found:
            if isinstance(node, ast.Call) and dotted(node.func) in WARNS:
                text = text_of(node.args[0])
                if re.fullmatch(r"[…\[\] ()a-z]*", text):
                    continue  # what it passes on is checked where it is written
                place = f"{path.relative_to(PACKAGE)}, line {node.lineno}"
                assert any(message in text for message in quoted), f"{place}: no row in docs/reference/messages: {text}"
