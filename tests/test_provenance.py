"""Tables and figures of the documentation: the command below each is there, and makes it of what the repository has."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import srsly
import typer.main

from spacy_ssvm.cli.app import ssvm

ROOT = Path(__file__).parents[1]
RESULTS = [path for path in sorted(ROOT.glob("projects/*/*.md")) if path.name != "README.md"]
PAGES = [ROOT / "README.md", *RESULTS, *sorted((ROOT / "docs").rglob("*.md"))]
DRAWN = "images/drawn/"
"""Images with this in their paths are drawn by hand, and show no figures."""
PROJECTS = sorted(path.parent for path in ROOT.glob("projects/*/project.yml"))
ONCE = "Measured once: no command repeats it."
MAX_ONCE = 9
"""Tables that no command makes. Write a command for the next one."""


def figures(page: Path) -> Iterator[tuple[str, str]]:
    """The first line of each image and of each table with columns of numbers, and the paragraph after it."""
    paragraphs = re.split(r"\n{2,}", page.read_text("utf8"))
    for shown, after in zip(paragraphs, [*paragraphs[1:], ""]):
        lines = shown.splitlines()
        is_table = len(lines) > 1 and re.fullmatch(r"\|[-:| ]+\|", lines[1]) and "-:" in lines[1]
        if is_table or (shown.startswith("![") and DRAWN not in shown):
            yield lines[0], after


def commands(paragraph: str) -> list[str]:
    """The commands that a paragraph shows."""
    return [" ".join(code.split()) for code in re.findall(r"`(python -m [^`]+)`", paragraph)]


@cache
def entries_of(project: Path) -> dict[str, Any]:
    return srsly.read_yaml(project / "project.yml")


def is_there(command: str) -> bool:
    """Whether a project has this command, or `spacy ssvm` has it."""
    words = shlex.split(command)[3:]
    if words[0] == "ssvm":
        return words[1] in typer.main.get_command(ssvm).commands
    assert words[:2] == ["project", "run"], command
    name, folder, *options = words[2:]
    project = entries_of(ROOT / folder)
    named = {option.removeprefix("--vars.") for option in options[::2]}
    return named <= set(project["vars"]) and name in {*project["workflows"], *(c["name"] for c in project["commands"])}


def test_each_table_of_figures_names_the_commands_that_make_it() -> None:
    once = 0
    for page in PAGES:
        for shown, after in figures(page):
            place = f"{page.name}: {shown[:80]}"
            if after.strip() == ONCE:
                once += 1
                continue
            assert after.startswith("Made by "), f"{place}: no line below it says what makes it"
            found = commands(after)
            assert 1 <= len(found) <= 2, place
            assert all(map(is_there, found)), f"{place}: {after}"
    assert once <= MAX_ONCE


@pytest.mark.parametrize("project", PROJECTS, ids=lambda path: path.name)
def test_commands_of_a_project_run_what_is_there(project: Path) -> None:
    """Modules of the project with a `main`, its scripts, and spaCy."""
    entries = entries_of(project)
    names = {entry["name"] for entry in entries["commands"]}
    assert all(names.issuperset(steps) for steps in entries["workflows"].values())
    for entry in entries["commands"]:
        for line in entry["script"]:
            python, *words = shlex.split(line)
            assert python == "python", line
            if words[0] != "-m":
                assert (project / words[0]).is_file(), line
            elif words[1] != "spacy":
                module = project.joinpath(*words[1].split("."))
                path = module / f"{words[2]}.py" if (module / "__main__.py").is_file() else module.with_suffix(".py")
                assert path.is_file() and re.search(r"^def main\(|__main__", path.read_text("utf8"), re.MULTILINE), line


@pytest.mark.parametrize(
    ("project", "module", "tables", "page"),
    [
        ("benchmarks", ["accuracy", "report"], ["metrics"], "accuracy.md"),
        pytest.param("benchmarks", ["papers", "report"], ["metrics"], "papers.md", marks=pytest.mark.slow),
        ("benchmarks", ["speed", "report"], ["metrics"], "speed.md"),
        ("benchmarks", ["scaling", "report"], ["metrics", "../distributed/metrics"], "scaling.md"),
        pytest.param("distributed", ["scripts.report"], ["metrics"], "tables.md", marks=pytest.mark.slow),
    ],
)
def test_pages_are_those_that_the_metrics_make(
    project: str, module: list[str], tables: list[str], page: str, tmp_path: Path
) -> None:
    for package in ("matplotlib", "sklearn", "pycrfsuite"):
        pytest.importorskip(package)
    folder = ROOT / "projects" / project
    subprocess.run([sys.executable, "-m", *module, *tables, str(tmp_path)], cwd=folder, check=True)
    assert (tmp_path / page).read_text("utf8") == (folder / "report" / page).read_text("utf8")
    plots = {path.relative_to(tmp_path) for path in tmp_path.rglob("*.svg")}
    assert all((folder / "report" / plot).is_file() for plot in plots)


def test_plots_of_the_documentation_are_those_that_the_metrics_make(tmp_path: Path) -> None:
    """Byte for byte with the version of Matplotlib that has drawn them, which the files name."""
    matplotlib, *_ = map(pytest.importorskip, ("matplotlib", "sklearn", "pycrfsuite"))
    folder = ROOT / "projects" / "benchmarks"
    subprocess.run([sys.executable, "-m", "plots", "draw", "metrics", str(tmp_path)], cwd=folder, check=True)
    committed = {path.name: path.read_text("utf8") for path in (ROOT / "docs" / "images" / "plots").glob("*.svg")}
    drawn = {path.name: path.read_text("utf8") for path in (tmp_path / "plots").glob("*.svg")}
    assert sorted(drawn) == sorted(committed)
    for name, plot in drawn.items():
        if f"Matplotlib v{matplotlib.__version__}," in committed[name]:
            assert plot == committed[name], f"{name}: python -m spacy project run plots projects/benchmarks"
