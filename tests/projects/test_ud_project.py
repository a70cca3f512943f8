"""The UD project: files of treebanks, the arithmetic of its tables, the choice of pipelines, and their packages."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import spacy
import srsly

from ..corpora import ROOT

PROJECT = ROOT / "projects" / "ud"


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
    found = {"gold": scores, "tokens_per_second": 1234}
    record = {"prefix": "xx_a", "cpu_seconds": 9.6, "megabytes": 1.0, "dev": found, "test": found}
    record |= {"structure": "projective", "structures": {"projective": record}}
    udpipe = [{"prefix": "xx_a", "scores": {"UPOS": 94.0}}]
    for part in ("dev", "test"):
        page = table.page([record], udpipe, part)
        assert ("no comparison" in page) == (part == "dev")
        assert "Ahead in 1 of 1 cells." in page and "+1.0" in page and "| xx_a | 10 | 1.0 | 1,234 |" in page
        assert "Structure of the parser" not in page


def trained(las: float, seconds: float = 1.0) -> dict[str, object]:
    return {"cpu_seconds": seconds, "dev": {"gold": {"LAS": las}, "tokens_per_second": 2000}}


def test_structures_are_compared_from_a_share_of_crossing_arcs_and_chosen_by_las() -> None:
    structures = script("structures")
    assert structures.compared(0.049) == ["projective"]
    assert structures.compared(0.05) == ["projective", "nonprojective"]
    assert structures.overrides("nonprojective")[1::2] == ["nonprojective", "2"]
    assert structures.overrides(structures.NO_PARSER) == []
    assert structures.chosen({"projective": trained(70.0), "nonprojective": trained(70.1)}) == "nonprojective"
    assert structures.chosen({"projective": trained(70.0), "nonprojective": trained(70.0)}) == "projective"
    assert structures.chosen({"no_parser": {"dev": {"gold": {"UPOS": 90.0}}}}) == "no_parser"


def test_page_shows_both_structures() -> None:
    both = {"projective": trained(70.0, 8.0), "nonprojective": trained(70.12, 9.0)}
    record = {"prefix": "xx_a", "megabytes": 1.0, "structure": "nonprojective", **both["nonprojective"]}
    page = script("table").page([record | {"structures": both}], [], "dev")
    assert "| xx_a | projective | 70.00 | 8 | 2,000 |" in page
    assert "| xx_a | nonprojective, chosen | 70.12 | 9 | 2,000 |" in page


def test_meta_of_a_package_names_treebank_licence_and_scores() -> None:
    package = script("package")
    facts = {row["prefix"]: row for row in srsly.read_jsonl(PROJECT / "treebanks.jsonl")}
    assert set(facts) == {row["prefix"] for row in srsly.read_jsonl(PROJECT / "udpipe.jsonl")}
    row = {"prefix": "tr_imst", "dev": {"gold": {"LAS": 61.2}, "raw": {"LAS": 58.1}, "tokens_per_second": 9}}
    meta = package.meta({"lang": "tr", "performance": {"tag_acc": 0.9}}, row, facts["tr_imst"], "1.0.0")
    assert (meta["name"], meta["license"]) == ("ud_imst", "CC BY-NC-SA 3.0")
    (source,) = meta["sources"]
    assert source["url"] == "https://github.com/UniversalDependencies/UD_Turkish-IMST/tree/r2.5"
    assert meta["performance"] == {"tag_acc": 0.9, "dev_LAS": 0.612, "dev_raw_LAS": 0.581}
    other = package.meta({"lang": "xx", "performance": {}}, {"prefix": "got_b"}, None, "1.0.0")
    assert (other["name"], other["license"]) == ("ud_got_b", "see the treebank")


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
    for absent in ("yy_b", str(tmp_path / "yy_b"), "treebank/yy_b"):
        with pytest.raises(ValueError, match="0 training files"):
            locate.locate(absent, tmp_path)


def treebank(folder: Path) -> None:
    """Sentences of three and five words, in three parts; those of five words have crossing arcs."""
    folder.mkdir()
    nouns = [("Birds", "bird"), ("Children", "child"), ("Teams", "team"), ("Horses", "horse"), ("Dogs", "dog")]
    verbs = [("sing", "sing"), ("ran", "run"), ("wait", "wait"), ("slept", "sleep"), ("left", "leave")]
    noun_tags, verb_tags = "NOUN\tNNS\tNumber=Plur", "VERB\tVBP\tVerbForm=Fin"
    short, long = [], []
    for noun, noun_lemma in nouns:
        for verb, verb_lemma in verbs:
            rows = [
                f"1\t{noun}\t{noun_lemma}\t{noun_tags}\t2\tnsubj\t_\t_",
                f"2\t{verb}\t{verb_lemma}\t{verb_tags}\t0\troot\t_\tSpaceAfter=No",
                "3\t.\t.\tPUNCT\t.\t_\t2\tpunct\t_\t_",
            ]
            short.append("\n".join([f"# text = {noun} {verb}.", *rows]) + "\n\n")
        rows = [
            f"1\t{noun}\t{noun_lemma}\t{noun_tags}\t3\tnsubj\t_\t_",
            f"2\tteams\tteam\t{noun_tags}\t4\tnsubj\t_\t_",
            f"3\tsaw\tsee\t{verb_tags}\t0\troot\t_\t_",
            f"4\tsing\tsing\t{verb_tags}\t3\txcomp\t_\tSpaceAfter=No",
            "5\t.\t.\tPUNCT\t.\t_\t3\tpunct\t_\t_",
        ]
        long.append("\n".join([f"# text = {noun} teams saw sing.", *rows]) + "\n\n")
    parts = {"train": short + long, "dev": short[::4] + long[::2], "test": short[::5] + long[:1]}
    for part, some in parts.items():
        (folder / f"en_a-ud-{part}.conllu").write_text("".join(some), "utf8")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project in a folder of its own, with the pipelines of a treebank with crossing arcs."""
    pytest.importorskip("udtools", reason="the scorer of CoNLL 2018 is not installed")
    made = shutil.ignore_patterns("assets", "training", "metrics", "packages", "project.lock")
    folder = tmp_path_factory.mktemp("project")
    treebank(folder / "treebank")
    project = shutil.copytree(PROJECT, folder / "ud", ignore=made)
    run(project, "all")
    return project


def attempt(project: Path, name: str, treebanks: str) -> subprocess.CompletedProcess[str]:
    variables = ["--vars.treebanks", treebanks, "--vars.epochs", "1"]
    command = [sys.executable, "-m", "spacy", "project", "run", name, ".", *variables]
    return subprocess.run(command, cwd=project, capture_output=True, text=True)


def run(project: Path, name: str) -> str:
    done = attempt(project, name, str(project.parent / "treebank"))
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def row_of(project: Path) -> dict[str, Any]:
    (row,) = srsly.read_jsonl(project / "metrics" / "en_a.jsonl")
    return row


def model_of(project: Path, structure: str) -> Path:
    return project / "training" / "en_a" / structure / "model-best"


@pytest.mark.slow
def test_workflow_keeps_the_better_structure_and_does_nothing_twice(project: Path) -> None:
    row = row_of(project)
    assert set(row["structures"]) == {"projective", "nonprojective"} and row["structure"] == "nonprojective"
    las = {name: found["dev"]["gold"]["LAS"] for name, found in row["structures"].items()}
    assert las["projective"] < las["nonprojective"] == row["dev"]["gold"]["LAS"] == 100
    for structure, order in {"projective": 3, "nonprojective": 2}.items():
        config = spacy.util.load_config(model_of(project, structure) / "config.cfg")
        model = config["components"]["parser"]["model"]
        assert (model["structure"], model["order"]) == (structure, order)
    assert row["dev"]["gold"]["UPOS"] == 100 and row["dev"]["raw"]["Words"] > 0
    assert row["cpu_seconds"] > 0 and row["megabytes"] > 0 and row["dev"]["tokens_per_second"] > 0
    assert "test" not in row
    assert "| en_a | nonprojective, chosen | 100.00 |" in (project / "training" / "dev.md").read_text("utf8")
    learnt = {name: (model_of(project, name) / "meta.json").stat().st_mtime_ns for name in las}
    assert run(project, "test").count("of en_a-ud-") == 1
    assert row_of(project)["dev"] == row["dev"]
    assert row_of(project)["test"]["gold"]["LAS"] == 100
    assert learnt == {name: (model_of(project, name) / "meta.json").stat().st_mtime_ns for name in las}
    assert "| en_a | ours | 100.0 |" in (project / "training" / "test.md").read_text("utf8")


@pytest.mark.slow
def test_interrupted_run_goes_on_with_what_is_missing(project: Path) -> None:
    before = row_of(project)
    finished, interrupted = model_of(project, "nonprojective"), model_of(project, "projective").parent
    learnt = (finished / "meta.json").stat().st_mtime_ns
    shutil.rmtree(interrupted)
    left = interrupted.with_name("projective.unfinished")
    (left / "model-best").mkdir(parents=True)
    (project / "training" / "en_a" / "config.cfg").write_text("[nlp]\n", "utf8")
    record = srsly.read_json(finished.parent / "record.json")
    del record["dev"]["raw"], record["dev"]["tokens_per_second"]
    srsly.write_json(finished.parent / "record.json", record)
    output = run(project, "dev")
    assert "nonprojective: raw, tokens_per_second of en_a-ud-dev.conllu" in output
    assert "/projective: gold, raw, tokens_per_second of en_a-ud-dev.conllu" in output
    assert (finished / "meta.json").stat().st_mtime_ns == learnt and not left.exists()
    after = row_of(project)
    for structure, found in after["structures"].items():
        for kind in ("gold", "raw"):
            assert found["dev"][kind] == before["structures"][structure]["dev"][kind]
        assert found["dev"]["tokens_per_second"] > 0


@pytest.mark.slow
def test_treebank_that_fails_is_named_and_does_not_stop_the_others(project: Path) -> None:
    files = project.parent / "treebank"
    broken, incomplete = project.parent / "broken", project.parent / "incomplete"
    for folder in (broken, incomplete):
        folder.mkdir()
    shutil.copy(files / "en_a-ud-train.conllu", incomplete / "en_i-ud-train.conllu")
    for part in ("train", "dev"):
        (broken / f"en_b-ud-{part}.conllu").write_text("1\tDogs\n\n", "utf8")
    record = model_of(project, "projective").parent / "record.json"
    known = srsly.read_json(record)
    srsly.write_json(record, {key: value for key, value in known.items() if key != "dev"})
    done = attempt(project, "dev", f"{incomplete} nowhere {broken} {files}")
    assert done.returncode == 1
    assert f"has no file {incomplete / 'en_i-ud-dev.conllu'}" in done.stderr
    assert "nowhere: 0 training files" in done.stderr and "en_b-ud-train.conllu" in done.stderr
    assert srsly.read_json(record)["dev"]["gold"] == known["dev"]["gold"]


@pytest.mark.slow
def test_comparison_with_spacy_has_scores_of_both(project: Path) -> None:
    folder = project.parent
    command = [sys.executable, "-m", "scripts.beside_spacy", *("training", "metrics", "assets", "dev")]
    subprocess.run([*command, str(folder / "treebank"), "--training.max_epochs", "1"], cwd=project, check=True)
    ours, peer = srsly.read_jsonl(project / "metrics" / "beside_spacy" / "en_a.jsonl")
    assert (ours["system"], peer["system"]) == ("ours", "spaCy")
    assert set(peer["dev"]["gold"]) >= {"UPOS", "Lemmas"} and peer["cpu_seconds"] > 0
    assert ours["dev"]["gold"]["Lemmas"] == 100
    assert "| ours | 100.00 |" in (project / "training" / "en_a" / "beside_spacy.md").read_text("utf8")


def test_nothing_to_package_is_an_error(tmp_path: Path) -> None:
    folder = str(tmp_path)
    command = ["-m", "scripts.package", folder, folder, "treebanks.jsonl", folder, "1.0.0"]
    done = subprocess.run([sys.executable, *command], cwd=PROJECT, capture_output=True, text=True)
    assert done.returncode == 1 and f"{folder} has no treebank" in done.stderr


@pytest.mark.slow
def test_package_is_installed_and_annotates_text(project: Path) -> None:
    pytest.importorskip("build", reason="the package build is not installed")
    run(project, "package")
    (wheel,) = (project / "packages").iterdir()
    assert wheel.name == "en_ud_a-1.0.0-py3-none-any.whl"
    site, away = project.parent / "site", project.parent / "away"
    away.mkdir()
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target"]
    subprocess.run([*install, str(site), str(wheel)], check=True)
    code = (
        "import spacy, srsly; nlp = spacy.load('en_ud_a'); doc = nlp('Dogs wait.'); "
        "print(srsly.json_dumps([nlp.meta, [[w.text, w.pos_, w.lemma_, w.head.i, w.dep_] for w in doc]]))"
    )
    paths = os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=away, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    meta, words = srsly.json_loads(done.stdout.splitlines()[-1])
    assert words == [
        ["Dogs", "NOUN", "dog", 1, "nsubj"],
        ["wait", "VERB", "wait", 1, "ROOT"],
        [".", "PUNCT", ".", 1, "punct"],
    ]
    assert meta["license"] == "see the treebank" and meta["sources"][0]["name"] == "en_a"
    assert meta["performance"]["dev_LAS"] == 1 and 0 < meta["performance"]["dev_raw_Words"] <= 1
    assert any(requirement.startswith("spacy-ssvm") for requirement in meta["requirements"])
