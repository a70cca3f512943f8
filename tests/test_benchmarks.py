"""The benchmark project: every experiment of the papers runs on a slice, and the report has all of it."""

import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import srsly

from .test_ewt import DATA, needs_ewt

REPOSITORY = Path(__file__).parents[1]
PROJECT = REPOSITORY / "projects" / "benchmarks"


def needs_extra() -> None:
    """Skip where the `benchmarks` extra is not installed."""
    for package in ("matplotlib", "sklearn", "scipy", "markdown_it"):
        pytest.importorskip(package)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy beside the configs, after its workflow on a slice."""
    needs_extra()
    root = tmp_path_factory.mktemp("repository")
    shutil.copytree(REPOSITORY / "configs", root / "configs")
    made = shutil.ignore_patterns("assets", "data", "smoke", "training", "metrics", "report", "project.lock")
    copy = shutil.copytree(PROJECT, root / "projects" / "benchmarks", ignore=made)
    run = subprocess.run(
        [sys.executable, "-m", "spacy", "project", "run", "smoke"],
        cwd=copy,
        env={**os.environ, "SPACY_SSVM_DATA": str(DATA)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return copy


@pytest.fixture
def judges(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(PROJECT))
    return importlib.import_module("papers.results")


def record(judges: ModuleType, seconds: list[float], scores: list[float]) -> Any:
    rows = [{"epoch": k + 1, "seconds": s, "test": y, "dev": y} for k, (s, y) in enumerate(zip(seconds, scores))]
    return judges.Record({"settings": {}, "weights": 1, "examples": 1, "done": False, "rows": rows})


@pytest.mark.parametrize(
    ("mine", "rival", "expected"),
    [
        (([1, 2, 3], [50, 90, 95]), ([1, 2, 3], [50, 60, 90]), True),
        (([1, 2, 3], [50, 60, 90]), ([1, 2, 3], [50, 90, 95]), False),
        (([1, 2], [50, 90]), ([1, 9], [50, 60]), True),
        (([1, 8], [50, 90]), ([1, 2], [50, 60]), None),
        (([1, 2], [50, 60]), ([1, 2], [50, 60]), None),
        (([1, 2], [50, 60]), ([1, 2], [50, 90]), False),
    ],
)
def test_who_is_sooner_is_open_where_a_run_was_over_too_soon(judges, mine, rival, expected) -> None:
    assert judges.sooner(record(judges, *mine), record(judges, *rival), "test", 90) is expected


def test_an_allowance_of_a_tenth_asks_for_ten_times_the_speed(judges) -> None:
    slow, fast = record(judges, [10, 100], [50, 90]), record(judges, [1, 9], [50, 90])
    assert judges.sooner(fast, slow, "test", 90, allowance=0.1) is True
    assert judges.sooner(fast, record(judges, [10, 80], [50, 90]), "test", 90, allowance=0.1) is False
    assert judges.sooner(fast, record(judges, [10, 80], [50, 60]), "test", 90, allowance=0.1) is None
    assert judges.sooner(fast, record(judges, [10, 95], [50, 60]), "test", 90, allowance=0.1) is True


def test_time_without_anything_to_show_is_lost(judges) -> None:
    mine = record(judges, [3, 4], [80, 95])
    assert judges.ahead(mine, record(judges, [1, 2, 3, 4], [50, 60, 80, 90]), "test") == (2, 4)
    assert judges.ahead(mine, record(judges, [3, 4, 9], [70, 99, 80]), "test", falling=True) == (1, 3)


@pytest.mark.parametrize(
    ("found", "expected", "result"),
    [([True, True], 2, True), ([True], 2, None), ([True, None], 2, None), ([None, False], 3, False)],
)
def test_a_claim_is_confirmed_by_all_of_its_parts(judges, found, expected, result) -> None:
    assert judges.verdict(found, expected) is result


def test_a_choice_among_some_of_the_runs_is_none(judges, tmp_path: Path) -> None:
    runs = importlib.import_module("papers.runs")
    wanted = [runs.run("task", "DCD", 2, C=C) for C in (0.1, 1)]
    row = {"epoch": 1, "seconds": 1.0, "dev": 50.0, "test": 50.0}
    base = {"settings": {}, "weights": 1, "examples": 1, "done": True, "every": 1, "timed": False, "certified": False}
    runs.write({**base, "rows": [row]}, tmp_path / f"{wanted[0].name}.json")
    assert judges.Results(tmp_path).chosen(wanted) is None
    runs.write({**base, "rows": [{**row, "dev": 51.0}]}, tmp_path / f"{wanted[1].name}.json")
    assert judges.Results(tmp_path).chosen(wanted).last["dev"] == 51


def test_a_record_of_another_run_does_not_count(judges) -> None:
    runs = importlib.import_module("papers.runs")
    wanted = runs.run("task", "DCD", 5, timed=True, every=1)
    done = {"timed": True, "certified": False, "every": 1}
    assert wanted.is_shown_by(done)
    assert not any(wanted.is_shown_by(done | other) for other in ({"timed": False}, {"every": 5}))


@pytest.mark.slow
def test_a_paper_alone_asks_for_the_records_that_all_papers_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise its sweep would write shorter runs over longer ones."""
    needs_extra()
    monkeypatch.syspath_prepend(str(PROJECT))
    catalogue = importlib.import_module("papers.catalogue")
    everything = {run.name: run for run in catalogue.find_runs(catalogue.PAPERS)}
    for name, paper in catalogue.PAPERS.items():
        found = catalogue.find_runs([name])
        assert {run.name for run in found} == {run.name for run in paper.RUNS}
        assert all(run == everything[run.name] for run in found)


@pytest.mark.slow
@needs_ewt
class TestSmoke:
    def test_every_run_has_a_record(self, project: Path) -> None:
        """But those of the data that no one has fetched."""
        listed = subprocess.run(
            [sys.executable, "-c", "from papers.catalogue import *; print(*(r.name for r in find_runs(PAPERS)))"],
            cwd=project,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        done = {str(path.relative_to(project / "smoke" / "metrics")) for path in project.glob("smoke/metrics/*/*.json")}
        missing = {name for name in listed if f"{name}.json" not in done}
        assert len(listed) > 250
        assert {name.split("/")[0] for name in missing} == {"classes-covertype", "classes-sector"}

    def test_records_hold_what_was_learnt(self, project: Path) -> None:
        for path in project.glob("smoke/metrics/*/*.json"):
            record = srsly.read_json(path)
            rows = record["rows"]
            assert 1 <= len(rows) <= 2
            assert 0 <= rows[-1]["test"] <= 100
            assert 0 < rows[-1]["non_zeros"] <= record["weights"]
            assert 0 <= rows[0]["seconds"] <= rows[-1]["seconds"]
            if rows[-1].get("gap") is not None:
                assert rows[-1]["dual"] <= rows[-1]["primal"] * (1 + 1e-9)

    def test_the_report_shows_every_table_and_figure(self, project: Path) -> None:
        text = (project / "smoke" / "report" / "report.md").read_text("utf8")
        html = (project / "smoke" / "report" / "report.html").read_text("utf8")
        plots = re.findall(r"\]\((plots/[\w-]+\.svg)\)", text)
        assert len(plots) == len(set(plots)) == 10
        assert html.count("data:image/svg+xml;base64,") == len(plots) and "plots/" not in html
        assert all((project / "smoke" / "report" / plot).stat().st_size for plot in plots)
        for heading in ("Table 1", "Tables III and IV", "Table V", "Table II:", "Table III", "Table IV", "Figure 4"):
            assert heading in text
        assert text.count("the paper") > 20

    def test_an_interrupted_sweep_goes_on(self, project: Path) -> None:
        """Only the run whose record is gone is done again."""
        records = sorted(project.glob("smoke/metrics/classes-digits/*.json"))
        before = {path: path.stat().st_mtime_ns for path in records}
        records[0].unlink()
        command = [sys.executable, "-m", "papers.sweep", "--epochs", "2", "--data", "smoke/data"]
        run = subprocess.run([*command, "--metrics", "smoke/metrics"], cwd=project, capture_output=True, text=True)
        assert run.returncode == 0, run.stdout + run.stderr
        after = {path: path.stat().st_mtime_ns for path in sorted(project.glob("smoke/metrics/classes-digits/*.json"))}
        assert after.keys() == before.keys()
        assert [path for path in records if after[path] != before[path]] == records[:1]
