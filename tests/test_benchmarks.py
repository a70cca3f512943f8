"""The benchmark project: every experiment of the papers runs on a slice, and the report has all of it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import srsly

from .test_ewt import DATA, needs_ewt

REPOSITORY = Path(__file__).parents[1]
PROJECT = REPOSITORY / "projects" / "benchmarks"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy beside the configs, after its workflow on a slice."""
    for package in ("matplotlib", "sklearn", "scipy", "markdown_it"):
        pytest.importorskip(package)
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
