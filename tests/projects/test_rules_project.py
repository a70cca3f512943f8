"""The project that measures rules for learning from blocks: its runs on a toy corpus, and what it makes of them."""

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.tokens import DocBin

from ..corpora import ROOT
from ..distributed.toy_training import toy_docs

pytestmark = pytest.mark.slow
PROJECT = ROOT / "projects" / "distributed"
DUAL = ("momentum", "search", "plain", "cocoa+", "cocoa", "once")
"""Rules with dual variables."""


def run(module: str, *arguments: str | Path) -> str:
    """What a script prints."""
    command = [sys.executable, "-m", f"scripts.{module}", *map(str, arguments)]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def metrics(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records of all rules with two workers, and of some with one."""
    folder = tmp_path_factory.mktemp("rules")
    docs = toy_docs(spacy.blank("en").vocab)
    for part in ("train", "dev"):
        DocBin(docs=docs * 4).to_disk(folder / f"ewt-{part}.spacy")
    runs = [f"{rule},2" for rule in (*DUAL, "mira", "perceptron")] + [f"{rule},1" for rule in DUAL]
    run("measure", "tags", *runs, "--data", folder, "--metrics", folder / "metrics", "--epochs", "12", "--gap", "0.1")
    return folder / "metrics"


def records(metrics: Path) -> dict[str, Any]:
    return {row["run"]: row["rows"] for row in map(json.loads, (metrics / "tags.jsonl").read_text().splitlines())}


def test_all_rules_learn_the_same_problem(metrics: Path) -> None:
    found = records(metrics)
    primals = [row["primal"] for rows in found.values() for row in rows]
    duals = [row["dual"] for run, rows in found.items() if run.split(",")[0] in DUAL for row in rows]
    assert 0 < max(duals) <= min(primals)
    assert all(row["dual"] is None for run in ("mira,2", "perceptron,2") for row in found[run])
    for run in ("search,1", "search,2", "plain,2", "cocoa,2", "cocoa+,2"):
        rising = [row["dual"] for row in found[run]]
        assert rising == sorted(rising)
    assert all(rows[-1]["score"] > 90 for run, rows in found.items() if run != "once,2")


def test_with_one_worker_rules_without_search_are_one(metrics: Path) -> None:
    found = records(metrics)
    figures = [[(row["primal"], row["dual"], row["score"]) for row in found[f"{name},1"]] for name in DUAL[3:]]
    assert figures[0] == figures[1] == figures[2]
    assert [row["dual"] for row in found["momentum,1"]] == [row["dual"] for row in found["search,1"]]


def test_bytes_add_up_except_where_weights_are_sent_once(metrics: Path) -> None:
    for run, rows in records(metrics).items():
        sent = [row["up"] + row["down"] for row in rows]
        if run.startswith("once"):
            assert all(row["down"] == 0 < row["up"] for row in rows)
        else:
            assert all(before <= after for before, after in itertools.pairwise(sent))
            assert rows[0]["down"] >= rows[0]["up"] > 0 or run == "perceptron,2" or run == "mira,2"


def test_report_shows_all_runs(metrics: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    run("report", metrics, tmp_path)
    assert {path.name for path in tmp_path.glob("*.svg")} == {"workers.svg", "rules-2.svg"}
    drawn = (tmp_path / "rules-2.svg").read_text("utf8")
    assert all(title in drawn for title in ("CoCoA+", "averaging once", "MIRA", "perceptron", "line search"))
    lines = (tmp_path / "tables.md").read_text("utf8").splitlines()
    assert sum(line.startswith("| EWT, XPOS") for line in lines) == 2 + 8
