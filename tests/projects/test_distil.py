"""The distil project: raw text, mixing, completing and comparing; and all of it on the quickstart corpus."""

import importlib
import os
import shutil
import subprocess
import sys
from types import ModuleType
from zipfile import ZipFile

import pytest
import spacy
import srsly
from spacy.tokens import Doc, DocBin
from spacy.training import Example

from ..corpora import ROOT
from ..pipeline.toy import TAGGED, blank, tagger_examples
from ..pipeline.toy import train as train_all

PROJECT = ROOT / "projects" / "distil"


def script(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A script of the project, whose package has a common name."""
    monkeypatch.syspath_prepend(str(PROJECT))
    for known in [known for known in sys.modules if known.partition(".")[0] == "scripts"]:
        monkeypatch.delitem(sys.modules, known)
    return importlib.import_module(f"scripts.{name}")


def test_blocks_of_articles_become_lines_of_one_file(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    news = script("news", monkeypatch)
    assert list(news.articles("Rain \r\nIt rained.\r\n\r\n \nHay\nMuch  hay.\n")) == [
        ["Rain", "It rained."],
        ["Hay", "Much hay."],
    ]
    with ZipFile(tmp_path / "abc.zip", "w") as archive:
        for member in news.MEMBERS:
            archive.writestr(member, "\n\n".join(f"{member}\n{n}" for n in range(news.BLOCK * news.PERIOD)))
    news.split_news(tmp_path / "abc.zip", tmp_path)
    lines = {part: (tmp_path / f"{part}.txt").read_text("utf8").split() for part in ("train", "dev", "test")}
    assert {part: len(found) for part, found in lines.items()} == {"train": 1800, "dev": 100, "test": 100}
    assert lines["dev"][1:50:2] == [str(n) for n in range(3 * news.BLOCK, 4 * news.BLOCK)]
    words = [word for member in news.MEMBERS for n in range(500) for word in (member, str(n))]
    assert sorted(word for found in lines.values() for word in found) == sorted(words)


def test_gold_files_lie_as_often_as_they_count(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    mix = script("mix", monkeypatch)
    vocab = spacy.blank("en").vocab
    (tmp_path / "silver").mkdir()
    for name in ("silver/a", "silver/b", "gold"):
        DocBin(docs=[Doc(vocab, words=[name])]).to_disk(tmp_path / f"{name}.spacy")
    mix.mix(tmp_path / "silver", tmp_path / "gold.spacy", tmp_path / "both", 3)
    files = sorted((tmp_path / "both").iterdir())
    found = [doc.text.strip() for file in files for doc in DocBin().from_disk(file).get_docs(vocab)]
    assert found == ["gold"] * 3 + ["silver/a", "silver/b"]


@pytest.mark.parametrize("solver", ["DCD", "OneSlack"])
def test_a_sentence_that_is_there_twice_counts_twice(solver: str) -> None:
    """The optimum of two copies of each sentence is that of twice the C."""
    found = []
    for copies, C in ((1, 0.2), (2, 0.1)):
        nlp = blank("ssvm_tagger", solver=solver, solver_settings={"C": C, "tolerance": 1e-5})
        examples = tagger_examples(nlp, TAGGED * copies)
        nlp.initialize(lambda examples=examples: examples)
        train_all(nlp, examples, 300)
        found.append(nlp.get_pipe("ssvm_tagger").certificate())
    assert found[0].relative_gap < 1e-3 and found[1].relative_gap < 1e-3
    assert found[0].primal == pytest.approx(found[1].primal, rel=2e-3)


def test_what_the_teacher_leaves_out_is_left_open(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    new_label = script("new_label", monkeypatch)
    vocab = spacy.blank("en").vocab
    DocBin(docs=[Doc(vocab, words=["May", "saw", "Ulm"], ents=["B-PERSON", "O", "O"])]).to_disk(tmp_path / "a.spacy")
    new_label.new_label(tmp_path / "a.spacy", tmp_path / "opened")
    (doc,) = DocBin().from_disk(tmp_path / "opened" / "000000.spacy").get_docs(vocab)
    assert [token.ent_iob_ for token in doc] == ["B", "", ""] and doc.ents[0].label_ == "PERSON"


def test_agreement_is_the_score_of_the_student(monkeypatch: pytest.MonkeyPatch) -> None:
    compare = script("compare", monkeypatch)
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "CITY", "pattern": "Oslo"}])
    silver = [nlp("From Oslo to Ulm"), nlp("Oslo again")]
    silver[0].ents = []
    found = compare.agreement(nlp, silver)
    assert found["ents_f"] == pytest.approx(2 / 3) and found["token_acc"] == 1 and "tag_acc" not in found
    speeds = compare.speeds({"a": nlp.pipe, "b": nlp.pipe}, ["Oslo again"] * 50)
    assert set(speeds) == {"a", "b"} and min(speeds.values()) > 0
    page = compare.table(
        {"agreement": found, "speed": speeds, "megabytes": {"student": 1.26, "teacher": 12}, "gold": speeds}
        | {"speed": {"student": 20000.4, "teacher": 5000}, "gold": {"student": 0.9, "teacher": 0.91}}
    )
    assert "| agreement: entities, F1 | 66.7 |" in page and "| tokens per CPU second | 20,000 | 5,000 |" in page
    assert "| tags on gold annotation | 90.0 | 91.0 |" in page and "| MB | 1.3 | 12.0 |" in page


def run(folder, *arguments: str) -> None:
    environment = {**os.environ, "PATH": f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"}
    result = subprocess.run(
        [sys.executable, "-m", "spacy", "project", "run", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.slow
def test_the_project_runs_on_the_quickstart_corpus(tmp_path) -> None:
    """The teacher has learnt from it, and the student is to learn what the teacher says of the same texts."""
    corpus = ROOT / "projects" / "quickstart"
    subprocess.run([sys.executable, corpus / "scripts" / "split.py", corpus / "corpus", tmp_path], check=True)
    folder = tmp_path / "distil"
    shutil.copytree(PROJECT, folder, ignore=shutil.ignore_patterns("__pycache__", "assets", "data", "training"))
    (folder / "data" / "texts").mkdir(parents=True)
    (folder / "assets").mkdir()
    nlp = spacy.blank("en")
    for part in ("train", "dev", "test"):
        blocks = (tmp_path / f"{part}.conllu").read_text("utf8").split("\n\n")
        texts = [line[9:] for block in blocks for line in block.splitlines() if line.startswith("# text = ")]
        (folder / "data" / "texts" / f"{part}.txt").write_text("".join(f"{text}\n" for text in texts), "utf8")
    gold = [nlp(text) for text in ("The Rhine is long .", "We saw the Rhine .")]
    for doc, place in zip(gold, (1, 3)):
        doc.set_ents([spacy.tokens.Span(doc, place, place + 1, label="RIVER")])
    DocBin(docs=gold).to_disk(folder / "assets" / "gold.spacy")
    teacher = spacy.blank("en")
    teacher.add_pipe("sentencizer")
    teacher.add_pipe("ssvm_ner")
    train = DocBin().from_disk(_converted(tmp_path / "train.conllu", tmp_path)).get_docs(teacher.vocab)
    examples = [Example(Doc(teacher.vocab, words=[token.text for token in doc]), doc) for doc in train]
    teacher.initialize(lambda: examples)
    for _ in range(3):
        teacher.update(examples)
    teacher.to_disk(tmp_path / "teacher")
    given = ["--vars.teacher", str(tmp_path / "teacher"), "--vars.components", "ner", "--vars.epochs", "2"]
    for command in ("annotate", "config", "train", "compress", "compare", "curve", "gold", "new-label"):
        run(folder, command, ".", *given, "--vars.limits", "40,80")
    figures = srsly.read_json(folder / "training" / "small.json")
    assert figures["agreement"]["ents_f"] > 0.3 and set(figures["speed"]) == {"student", "teacher"}
    assert (folder / "training" / "curve" / "curve.md").read_text("utf8").count("\n") == 4
    assert "RIVER" in spacy.load(folder / "training" / "with-label" / "model-best").get_pipe("ner").labels


def _converted(path, folder):
    subprocess.run([sys.executable, "-m", "spacy", "convert", path, folder, "--converter", "conllu"], check=True)
    return folder / path.with_suffix(".spacy").name
