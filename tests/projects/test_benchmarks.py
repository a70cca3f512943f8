"""The benchmark project: its experiments run on a slice, and the report has all of it.

As slow tests where the `benchmarks` extra is installed: a part of them, which CI runs, and all of them.
"""

import importlib
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import spacy
from spacy.tokens import Doc, DocBin

from spacy_ssvm.features.extractor import Extractor
from spacy_ssvm.features.index import add_features, empty_table

from ..corpora import DATA, ROOT, needs_ewt

PROJECT = ROOT / "projects" / "benchmarks"


def needs_extra() -> None:
    """Skip where the `benchmarks` extra is not installed."""
    for package in ("matplotlib", "sklearn", "scipy"):
        pytest.importorskip(package)


def run(project: Path, *command: str) -> str:
    """What a Python command prints there."""
    environment = {**os.environ, "SPACY_SSVM_DATA": str(DATA)}
    done = subprocess.run([sys.executable, *command], cwd=project, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def copied(folder: Path) -> Path:
    """The project beside the configs, without anything that it has made."""
    needs_extra()
    shutil.copytree(ROOT / "configs", folder / "configs")
    shutil.copytree(PROJECT.with_name("distributed") / "metrics", folder / "projects" / "distributed" / "metrics")
    made = shutil.ignore_patterns("assets", "data", "smoke", "training", "metrics", "report", "project.lock")
    return Path(shutil.copytree(PROJECT, folder / "projects" / "benchmarks", ignore=made))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy after its workflow on a slice."""
    copy = copied(tmp_path_factory.mktemp("repository"))
    run(copy, "-m", "spacy", "project", "run", "smoke")
    return copy


@pytest.fixture(scope="module")
def part(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy after all solvers' runs on one corpus and one measurement of speed, on a slice."""
    copy = copied(tmp_path_factory.mktemp("repository"))
    run(copy, "-m", "shared.convert", "assets", "smoke/data", "ewt", "brown", "--limit", "40")
    smoke = ["--data", "smoke/data", "--metrics", "smoke/metrics"]
    run(copy, "-m", "papers", "sweep", "--papers", "solvers", "--epochs", "2", "--jobs", "1", *smoke)
    run(copy, "-m", "papers", "report", "smoke/metrics", "smoke/report")
    run(copy, "-m", "speed", "run", "growth", "--rounds", "1", "--limit", "40", *smoke)
    run(copy, "-m", "speed", "report", "smoke/metrics", "smoke/report")
    return copy


def listed(project: Path, papers: list[str]) -> set[str]:
    """The names of the runs of these papers."""
    code = f"from papers.catalogue import *; print(*(run.name for run in find_runs({papers})), sep='\\n')"
    return set(run(project, "-c", code).splitlines())


def table(path: Path) -> dict[str, dict[str, Any]]:
    """The rows of a table of metrics, in the order of the file."""
    return {row.pop("run"): row for row in map(json.loads, path.read_text("utf8").splitlines())}


def tables_of_papers(project: Path) -> list[Path]:
    """The tables of metrics that the papers' runs have made."""
    return [path for path in project.glob("smoke/metrics/*.jsonl") if path.stem not in ("speed", "scaling")]


def recorded(project: Path) -> set[str]:
    """The names of the papers' runs that have a record."""
    tables = {path.stem: table(path) for path in tables_of_papers(project)}
    return {f"{task}/{row}" for task, rows in tables.items() for row in rows}


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
    runs, metrics = (importlib.import_module(name) for name in ("papers.runs", "shared.metrics"))
    wanted = [runs.run("task", "DCD", 2, C=C) for C in (0.1, 1)]
    row = {"epoch": 1, "seconds": 1.0, "dev": 50.0, "test": 50.0}
    base = {"settings": {}, "weights": 1, "examples": 1, "done": True, "every": 1, "timed": False, "certified": False}
    metrics.write(tmp_path, "task", wanted[0].row, {**base, "rows": [row]})
    assert judges.Results(tmp_path).chosen(wanted) is None
    metrics.write(tmp_path, "task", wanted[1].row, {**base, "rows": [{**row, "dev": 51.0}]})
    assert judges.Results(tmp_path).chosen(wanted).last["dev"] == 51


def test_a_row_is_replaced_and_the_others_stay_as_they_are(judges, tmp_path: Path) -> None:
    metrics = importlib.import_module("shared.metrics")
    assert metrics.read(tmp_path, "task") == {}
    for name, value in (("b", 0.1 + 0.2), ("a", 1), ("b", 2 / 3), ("c", None)):
        metrics.write(tmp_path, "task", name, {"value": value})
    assert metrics.read(tmp_path, "task") == {"a": {"value": 1}, "b": {"value": 2 / 3}, "c": {"value": None}}
    assert [path.name for path in tmp_path.iterdir()] == ["task.jsonl"]
    text = (tmp_path / "task.jsonl").read_text()
    with pytest.raises(ValueError, match="JSON compliant"):
        metrics.write(tmp_path, "task", "d", {"value": float("nan")})
    assert (tmp_path / "task.jsonl").read_text() == text


def test_rows_of_the_repository_are_where_their_runs_look_for_them(judges) -> None:
    runs = importlib.import_module("papers.runs")
    for path in (PROJECT / "metrics").glob("*.jsonl"):
        rows = table(path)
        assert list(rows) == sorted(rows)
        for name, record in rows.items():
            if "task" in record:
                run = runs.run(record["task"], record["solver"], record["epochs"], **record["settings"])
                assert (run.task, run.row) == (path.stem, name)


def test_a_record_of_another_run_does_not_count(judges) -> None:
    runs = importlib.import_module("papers.runs")
    wanted = runs.run("task", "DCD", 5, timed=True, every=1)
    done = {"timed": True, "certified": False, "every": 1}
    assert wanted.is_shown_by(done)
    assert not any(wanted.is_shown_by(done | other) for other in ({"timed": False}, {"every": 5}))


@pytest.mark.slow
@pytest.mark.parametrize("part", ["accuracy", "papers", "speed", "scaling"])
def test_each_command_of_a_part_explains_itself(
    part: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    needs_extra()
    pytest.importorskip("pycrfsuite")
    monkeypatch.syspath_prepend(str(PROJECT))
    entry = importlib.import_module("shared.commands")
    commands = entry.find_commands(part)
    monkeypatch.setattr(sys, "argv", [part])
    entry.call(part)
    listed = capsys.readouterr().out
    assert len(commands) > 1 and all(f"  {name} " in listed and summary in listed for name, summary in commands.items())
    for name in commands:
        monkeypatch.setattr(sys, "argv", [part, name, "--help"])
        with pytest.raises(SystemExit) as ended:
            entry.call(part)
        assert not ended.value.code and f"usage: python -m {part} {name}" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", [part, "nothing"])
    with pytest.raises(SystemExit, match="has no command nothing"):
        entry.call(part)


def test_traffic_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """A vector has as many entries as its part has tokens, and a worker gets twice as many back from two workers."""
    monkeypatch.syspath_prepend(str(PROJECT))
    traffic = importlib.import_module("scaling.traffic")
    law = traffic.PowerLaw
    model = traffic.Traffic(up=law(1.0, 1.0), back=law(1.0, 1.0), weights=law(3.0, 1.0))
    # One worker sends a vector; two send two vectors of 4 entries each, and get 8.
    assert [model.n_bytes(8, workers) for workers in (1, 2)] == [12 * (8 + 8), 12 * (2 * 2 * 4 + 2 * 8)]
    # Four workers get all weights that they read, 6 each, not 8.
    assert model.n_bytes(8, 4) == 12 * (4 * 2 * 2 + 4 * 6)
    measured = {workers: (12.0 * n * 8, 12.0 * workers * 8) for workers, n in ((1, 1), (2, 2), (4, 2))}
    found = traffic.fit_traffic(8.0, measured, law(3.0, 1.0))
    for mine, true in ((found.up, model.up), (found.back, model.back)):
        assert (mine.factor, mine.exponent) == pytest.approx((true.factor, true.exponent))


def speed(monkeypatch: pytest.MonkeyPatch, module: str) -> ModuleType:
    needs_extra()
    pytest.importorskip("pycrfsuite")
    monkeypatch.syspath_prepend(str(PROJECT))
    return importlib.import_module(f"speed.{module}")


def test_contenders_take_turns_and_only_running_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = speed(monkeypatch, "clock")
    now, log = [0], []

    def contender(name: str, seconds: list[int]) -> Any:
        times = iter(seconds)

        def prepare() -> int:
            now[0] += 1000
            return next(times)

        def run(prepared: int) -> None:
            now[0] += prepared
            log.append(name)

        return clock.Contender(prepare, run)

    contenders = {"a": contender("a", [99, 1, 2, 10]), "b": contender("b", [99, 3, 4, 50])}
    seconds = clock.race(contenders, 3, lambda: now[0])
    assert log == ["a", "b"] * 4
    assert seconds == {"a": [1, 2, 10], "b": [3, 4, 50]}
    assert clock.ratio(seconds, "b", "a") == 3


def test_a_child_process_is_measured_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = speed(monkeypatch, "clock")
    idle = clock.spend(["-c", "import os, time; time.sleep(1); print(os.environ['WORD'])"], WORD="word")
    assert idle.output == "word\n"
    assert 0 < idle.cpu < idle.wall
    with pytest.raises(RuntimeError, match="NameError"):
        clock.spend(["-c", "nothing"])


def test_what_counts_as_met(monkeypatch: pytest.MonkeyPatch) -> None:
    bars = speed(monkeypatch, "bars")
    assert [bars.Bar("", value, at_least=2).met for value in (1.9, 2, None)] == [False, True, None]
    assert [bars.Bar("", value, at_most=0).met for value in (0, 1)] == [True, False]
    assert bars.Bar("", 1).met is None
    assert bars.missing("name", "why", at_most=3, unit="MB").row() == [
        *("name", None, "not measured: why", None, "≤ 3 MB", None)
    ]


def test_peak_memory_is_that_of_the_process_alone() -> None:
    """Not that of its parent, this one, which has loaded far more."""
    code = "from shared.peak_memory import *; a = peak_memory(); b = bytearray(300_000_000); print(a, peak_memory())"
    child = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, check=True)
    before, after = map(float, child.stdout.split())
    assert before < 50 and 300 < after < 350


@pytest.mark.parametrize("factory", ["ssvm_tagger", "ssvm_ner"])
def test_crfsuite_gets_the_features_that_our_templates_make(monkeypatch: pytest.MonkeyPatch, factory: str) -> None:
    """Those of two tokens are the same string if and only if they are the same row of ours."""
    crf = speed(monkeypatch, "crf")
    nlp = spacy.blank("en")
    templates = nlp.add_pipe(factory).model.attrs["templates"]
    sentences = [["The", "U.S.-based", "CO2", "costs", "1,000", "€"], ["the", "THE", "Co-op", "a"], ["x"]]
    features, extractor = crf.Features(templates), Extractor(templates, {}, {})
    columns = extractor.reader.read([Doc(nlp.vocab, words=words) for words in sentences], nlp.vocab)
    _, starts, rows, _ = add_features(columns, extractor.program, empty_table())
    plain = [found for words in sentences for found in features.plain(words)]
    for way in (features.memoised, features.memoised):
        assert [sorted(found) for words in sentences for found in way(words)] == [sorted(found) for found in plain]
    ours = [rows[a:b].tolist() for a, b in itertools.pairwise(starts)]
    assert [len(set(found)) for found in plain] == [len(set(found)) for found in ours]
    for a, b in itertools.combinations(range(len(plain)), 2):
        assert len(set(plain[a]) & set(plain[b])) == len(set(ours[a]) & set(ours[b]))


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
@pytest.mark.parametrize("made", ["part", pytest.param("project", id="Smoke")])
def test_records_of_the_papers_hold_what_was_learnt_in_two_epochs_at_most(
    made: str, request: pytest.FixtureRequest
) -> None:
    records = [record for path in tables_of_papers(request.getfixturevalue(made)) for record in table(path).values()]
    assert records
    for record in records:
        rows = record["rows"]
        assert 1 <= len(rows) <= 2
        assert 0 <= rows[-1]["test"] <= 100
        assert 0 < rows[-1]["non_zeros"] <= record["weights"]
        assert 0 <= rows[0]["seconds"] <= rows[-1]["seconds"]
        if rows[-1].get("gap") is not None:
            assert rows[-1]["dual"] <= rows[-1]["primal"] * (1 + 1e-9)


@pytest.mark.slow
@needs_ewt
class TestPart:
    def test_every_run_has_a_record(self, part: Path) -> None:
        """But those of the corpora that were not converted."""
        expected = {name for name in listed(part, ["solvers"]) if name.startswith("pos-ewt/")}
        assert len(expected) > 20 and recorded(part) == expected

    def test_the_report_shows_what_there_is(self, part: Path) -> None:
        text = (part / "smoke" / "report" / "papers.md").read_text("utf8")
        table = text.partition("Tags of EWT, with the tagger's features")[2].split("\n\n")[1]
        assert len(re.findall(r"^\| [^|]+ \| 2 \| ", table, re.MULTILINE)) == len(recorded(part))
        speed_text = (part / "smoke" / "report" / "speed.md").read_text("utf8")
        assert "Growth with the corpus" in speed_text and "Not measured yet: unseen, prediction, token" in speed_text


@pytest.mark.slow
@needs_ewt
class TestSmoke:
    def test_every_run_has_a_record(self, project: Path) -> None:
        """But those of the data that no one has fetched."""
        expected = listed(project, ["dcd", "lse", "dca", "sap", "solvers"])
        missing = expected - recorded(project)
        assert len(expected) > 250
        assert {name.split("/")[0] for name in missing} == {"classes-covertype", "classes-sector"}

    def test_the_report_shows_every_table_and_figure(self, project: Path) -> None:
        text = (project / "smoke" / "report" / "papers.md").read_text("utf8")
        plots = re.findall(r"\]\((plots/[\w-]+\.svg)\)", text)
        assert len(plots) == len(set(plots)) == 10
        assert all((project / "smoke" / "report" / plot).stat().st_size for plot in plots)
        for heading in ("Table 1", "Tables III and IV", "Table V", "Table II:", "Table III", "Table IV", "Figure 4"):
            assert heading in text
        assert text.count("the paper") > 20

    def test_an_interrupted_sweep_goes_on(self, project: Path) -> None:
        """Only the run whose record is gone is done again."""
        path = project / "smoke" / "metrics" / "classes-digits.jsonl"
        others = {other: other.stat().st_mtime_ns for other in path.parent.iterdir() if other != path}
        before = table(path)
        path.write_text("".join(path.read_text("utf8").splitlines(keepends=True)[1:]), "utf8")
        run(project, "-m", "papers", "sweep", "--epochs", "2", "--data", "smoke/data", "--metrics", "smoke/metrics")
        after = table(path)
        assert list(after) == list(before)
        assert all(after[name] == before[name] for name in list(before)[1:])
        assert others == {other: other.stat().st_mtime_ns for other in path.parent.iterdir() if other != path}

    def test_speed_has_a_record_and_a_row_of_everything(self, project: Path) -> None:
        """But what takes hours to train; and no slice is without its figures."""
        records = table(project / "smoke" / "metrics" / "speed.jsonl")
        assert len(records) == 11 and all(record["figures"] for record in records.values())
        text = (project / "smoke" / "report" / "speed.md").read_text("utf8")
        rows = [line.split(" | ") for line in text.split("## Machine")[0].splitlines() if line.startswith("| ")][2:]
        for what in ["Prediction", "Training", "Two", "Size", "Loading", "Memory", "Start", "First", "Compiled"]:
            found = [row for row in rows if row[0].startswith(f"| {what}")]
            assert found, what
            assert all("not measured" in row[2] or re.search(r"\d", row[3]) for row in found)
        second = [row for row in rows if row[0].startswith("| Compiled by the second process")]
        assert second and all(row[3] == "0 kernels" for row in second)
        scaling = table(project / "smoke" / "metrics" / "scaling.jsonl")
        growth = [row for run, row in scaling.items() if run.startswith("growth")]
        assert len(scaling) == len(growth) + 2 and all(row["seconds"] >= 0 for row in growth)
        assert "## Annotation" in (project / "smoke" / "report" / "scaling.md").read_text("utf8")
        for name in ("lengths", "token", "growth", "memory"):
            assert (project / "smoke" / "report" / "plots" / f"speed-{name}.svg").stat().st_size


def test_samples_of_a_learning_curve_contain_smaller_ones(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(PROJECT))
    curves = importlib.import_module("accuracy.learning_curves")
    vocab = spacy.blank("en").vocab
    DocBin(docs=[Doc(vocab, [f"w{n}"]) for n in range(9)]).to_disk(tmp_path / "all.spacy")
    texts = []
    for size in (2, 5):
        path = curves.part(str(tmp_path / "all.spacy"), size, tmp_path)
        texts.append({doc.text for doc in DocBin().from_disk(path).get_docs(vocab)})
    assert texts[0] < texts[1] and [len(found) for found in texts] == [2, 5]


@pytest.mark.slow
def test_times_of_updates_are_printed_by_fifths() -> None:
    corpus = ROOT / "projects" / "quickstart" / "corpus" / "mail.conllu"
    command = "-m", "speed", "update_times", str(corpus), "--updates", "5", "--predicts", "--components", "ssvm_senter"
    rows = [line.split() for line in run(PROJECT, *command).splitlines()[1:]]
    assert [" ".join(row[:-7]) for row in rows] == ["no component", "ssvm_senter"]
    assert all(float(number) >= 0 for row in rows for number in row[-7:-2])
