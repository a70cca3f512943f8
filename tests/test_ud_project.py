"""The UD project: files of treebanks, and the arithmetic of its tables."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import srsly

PROJECT = Path(__file__).parents[1] / "projects" / "ud"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"ud_{name}", PROJECT / "scripts" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_differences_averages_and_cells_ahead() -> None:
    table = script("table")
    first = table.differences({"UPOS": 95.0, "LAS": 70.0, "XPOS": 90.0}, {"UPOS": 94.0, "LAS": 72.0})
    second = table.differences({"UPOS": 90.0}, {"UPOS": 90.0})
    assert first == {"UPOS": 1.0, "LAS": -2.0}
    assert table.n_ahead([first, second]) == (1, 3)
    assert table.averages([first, second]) == {"UPOS": 0.5, "LAS": -2.0}


def test_page_says_that_dev_is_no_comparison() -> None:
    table = script("table")
    scores = {"UPOS": 95.0}
    record = {"prefix": "xx_a", "cpu_seconds": 9.6, "megabytes": 1.0}
    record |= {"dev": {"gold": scores}, "test": {"gold": scores}}
    udpipe = [{"prefix": "xx_a", "scores": {"UPOS": 94.0}}]
    for part in ("dev", "test"):
        page = table.page([record], udpipe, part)
        assert ("no comparison" in page) == (part == "dev")
        assert "Ahead in 1 of 1 cells." in page and "+1.0" in page and "| xx_a | 10 | 1.0 |" in page


def test_published_figures_are_complete() -> None:
    rows = list(srsly.read_jsonl(PROJECT / "udpipe.jsonl"))
    metrics = set(script("table").METRICS)
    assert len(rows) == 7
    for row in rows:
        assert metrics - set(row["scores"]) == ({"XPOS"} if row["prefix"] == "hu_szeged" else set())
        assert row["scores"]["AllTags"] <= row["scores"]["UPOS"] and row["scores"]["LAS"] <= row["scores"]["UAS"]


def test_treebanks_by_prefix_folder_and_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    locate = script("locate")
    folder = tmp_path / "treebank"
    folder.mkdir()
    for part in ("train", "dev"):
        (folder / f"xx_a-ud-{part}.conllu").touch()
    prefix = folder / "xx_a-ud"
    monkeypatch.setenv("SPACY_SSVM_DATA", str(tmp_path))
    for source in (str(prefix), str(folder), "xx_a"):
        assert locate.locate(source, tmp_path) == prefix
    assert locate.part(prefix, "dev").name == "xx_a-ud-dev.conllu"
    with pytest.raises(ValueError, match="no file"):
        locate.part(prefix, "test")
    with pytest.raises(ValueError, match="0 training files"):
        locate.locate("yy_b", tmp_path)


def treebank(folder: Path) -> None:
    """Sentences of three and four words, in three parts."""
    folder.mkdir()
    words = [("Birds", "bird"), ("Children", "child"), ("Teams", "team"), ("Horses", "horse"), ("Dogs", "dog")]
    verbs = [("sing", "sing"), ("ran", "run"), ("wait", "wait"), ("slept", "sleep"), ("left", "leave")]
    blocks = []
    for noun, noun_lemma in words:
        for verb, verb_lemma in verbs:
            rows = [
                f"1\t{noun}\t{noun_lemma}\tNOUN\tNNS\tNumber=Plur\t2\tnsubj\t_\t_",
                f"2\t{verb}\t{verb_lemma}\tVERB\tVBP\tVerbForm=Fin\t0\troot\t_\tSpaceAfter=No",
                "3\t.\t.\tPUNCT\t.\t_\t2\tpunct\t_\t_",
            ]
            blocks.append("\n".join([f"# text = {noun} {verb}.", *rows]) + "\n\n")
    for part, some in {"train": blocks, "dev": blocks[::4], "test": blocks[::5]}.items():
        (folder / f"en_a-ud-{part}.conllu").write_text("".join(some), "utf8")


def test_workflow_runs_and_does_nothing_twice(tmp_path: Path) -> None:
    pytest.importorskip("udtools", reason="the scorer of CoNLL 2018 is not installed")
    made = shutil.ignore_patterns("assets", "training", "metrics", "project.lock")
    project = shutil.copytree(PROJECT, tmp_path / "ud", ignore=made)
    treebank(tmp_path / "treebank")
    variables = ["--vars.treebanks", str(tmp_path / "treebank"), "--vars.epochs", "1"]

    def run(name: str) -> str:
        command = [sys.executable, "-m", "spacy", "project", "run", name, ".", *variables]
        done = subprocess.run(command, cwd=project, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("all")
    row = project / "metrics" / "en_a.jsonl"
    (record,) = srsly.read_jsonl(row)
    assert record["dev"]["gold"]["UPOS"] == record["dev"]["gold"]["LAS"] == 100
    assert record["dev"]["raw"]["Words"] > 0 and record["cpu_seconds"] > 0 and record["megabytes"] > 0
    assert "test" not in record
    model, before = project / "training" / "en_a-ud" / "model" / "meta.json", row.stat().st_mtime_ns
    learnt = model.stat().st_mtime_ns
    assert "CoNLL 2018" not in run("all")
    assert row.stat().st_mtime_ns == before
    run("test")
    (record,) = srsly.read_jsonl(row)
    assert record["test"]["gold"]["LAS"] == 100 and model.stat().st_mtime_ns == learnt
    assert "| en_a | ours | 100.0 |" in (project / "training" / "test.md").read_text("utf8")
