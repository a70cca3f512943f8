"""`spacy ssvm fit`: the commands that it gives, what a user reads at the end, and how an interrupted run goes on."""

import os
import shlex

import pytest
import spacy
from spacy.tokens import Doc, DocBin
from spacy.util import load_config

from spacy_ssvm.cli import fit
from spacy_ssvm.cli.fit import Plan
from spacy_ssvm.pipeline.component import SsvmPipe

from .calling import refusal, said

VOCAB = spacy.blank("xx").vocab
NAMES = ["Ann", "Bo", "Cid", "Dora", "Eve"]


def doc(number):
    words = [NAMES[number % 5], "sees", NAMES[number % 3], "in", "Oslo", "."]
    return Doc(VOCAB, words, ents=["B-PER", "O", "B-PER", "O", "B-LOC", "O"])


def saved(path, n):
    DocBin(docs=map(doc, range(n))).to_disk(path)
    return path


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    """A training corpus; the development corpus is so small that nothing is tuned. Training takes two epochs."""
    monkeypatch.setattr(fit, "_plan", lambda config, seconds: Plan(0, 2))
    saved(tmp_path / "dev.spacy", 5)
    return saved(tmp_path / "train.spacy", 30)


def commands(folder):
    return [line for line in (folder / "commands.sh").read_text().splitlines() if not line.startswith("#")]


def test_a_corpus_becomes_a_pipeline(tmp_path):
    """All of it, with a development part that is kept back."""
    train, out = saved(tmp_path / "train.spacy", 30), tmp_path / "out"
    text = said("fit", train, out, "--lang", "te")
    assert "There is no development corpus: 3 of 30 documents" in text
    assert "The development corpus has 3 sentences. Scores on fewer than 20 say little" in text
    assert "model-best" in text and "ents_f" in text and "report.html" in text and "Done" not in text
    assert [" ".join(shlex.split(line)[3:5]) for line in commands(out)] == [
        "ssvm init-config",
        f"train {out / 'config.cfg'}",
        "ssvm report",
    ]
    assert [ent.text for ent in spacy.load(out / "model-best")("Ann sees Bo in Oslo .").ents] == ["Ann", "Bo", "Oslo"]
    again = said("fit", train, out, "--lang", "te")
    assert again.count("This was done before the interruption") == 3 and "ents_f" in again


def test_an_interrupted_run_goes_on(corpus, tmp_path, monkeypatch):
    out = tmp_path / "out"
    learn = SsvmPipe.update

    def interrupted(*args, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(SsvmPipe, "update", interrupted)
    assert "The same command goes on with the step that was interrupted" in refusal("fit", corpus, out)
    assert len(commands(out)) == 1 and not (out / "model-best").exists()
    before = (out / "config.cfg").stat().st_mtime_ns
    monkeypatch.setattr(SsvmPipe, "update", learn)
    monkeypatch.delattr(fit, "_plan")  # It is known.
    text = said("fit", corpus, out)
    assert text.count("This was done before the interruption") == 1 and len(commands(out)) == 3
    assert (out / "config.cfg").stat().st_mtime_ns == before and (out / "report.html").exists()
    assert load_config(out / "model-best" / "config.cfg")["training"]["max_epochs"] == 2


def test_results_are_not_mixed(corpus, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    assert "has other files: name a folder of its own" in refusal("fit", corpus, out)
    (out / "mine.txt").unlink()
    (out / "commands.sh").write_text(f"# python -m spacy ssvm fit {corpus} {out}\nls\n")
    wrong = refusal("fit", corpus, out, "--lang", "nl")
    assert f"has the results of another command: python -m spacy ssvm fit {corpus} {out}. Name another folder" in wrong
    assert fit.begun(out, "other", corpus, [], force=True).done == []


def test_results_of_files_that_have_changed_are_not_taken(tmp_path):
    columns, lists, out = (tmp_path / name for name in ("columns", "lists", "out"))
    for folder in (columns, lists, out):
        folder.mkdir()
    sources = [columns / "train_1.conll", columns / "train_2.conll", lists / "city.txt", tmp_path / "dev.conll"]
    for path in sources:
        path.write_text("Oslo\tB-LOC\n")
        os.utime(path, (1e9, 1e9))
    run = fit.begun(out, "own", columns, [lists, sources[-1]], force=False)
    run.done.append("ls")
    run.save()
    for path in sources:
        path.touch()
        assert fit.begun(out, "own", columns, [lists, sources[-1]], force=False).done == ["ls"]
        path.write_text("Ulm\tB-LOC\n")
        os.utime(path, (1e9, 1e9))
        with pytest.raises(ValueError, match=f"{path.name} has changed since"):
            fit.begun(out, "own", columns, [lists, sources[-1]], force=False)
        path.write_text("Oslo\tB-LOC\n")


def test_what_cannot_be_learnt_is_said(tmp_path):
    out, train = tmp_path / "out", tmp_path / "train.spacy"
    assert "there is no file or folder" in refusal("fit", train, out) and not out.exists()
    saved(train, 1)
    assert "1 document, so there is nothing to divide. Name one with --dev" in refusal("fit", train, out)
    fit.begun(out, "another one", train, [], force=False)


def test_what_is_tried(tmp_path):
    config = {
        "nlp": {"pipeline": ["tagger", "ner"]},
        "components": {"ner": {"model": {"features": {"document": False}}}},
    }
    assert [*fit._grids(config, 1000)] == [("ner", ["label_costs.O=1,0.5,0.3", "C=0.03,0.1,0.3"])]
    assert [*fit._grids(config, 4)] == [("ner", ["label_costs.O=1,0.5,0.3"])]
    config["components"]["ner"]["model"]["features"]["document"] = True
    assert [*fit._grids(config, 6)] == [("ner", ["label_costs.O=1,0.5,0.3", "model.features.document=true,false"])]
    assert [*fit._grids(config, 7)] == [("ner", list(fit.TRIED["ner"]))] and not [*fit._grids(config, 0)]


def test_time_becomes_numbers(tmp_path, monkeypatch):
    """A pilot says what an epoch takes."""
    saved(tmp_path / "dev.spacy", 30)
    config = {
        "paths": {"dev": str(tmp_path / "dev.spacy")},
        "corpora": {"dev": {}},
        "training": {"max_epochs": 15},
    }
    monkeypatch.setattr(fit, "_pilot", lambda config: (10.0, 2.0))
    assert fit._plan(config, None) == (1000, None)
    plan = fit._plan(config, 100)
    assert plan.epochs == 15 and plan.trials == 2
    assert fit._plan(config, 20) == (0, 1)


@pytest.mark.slow
def test_all_of_it(tmp_path):
    """Trials, and a pipeline that has learnt from the development corpus, too."""
    saved(tmp_path / "dev.spacy", 25)
    out = tmp_path / "out"
    (out / "train-and-dev").mkdir(parents=True)
    (out / "train-and-dev" / "old.spacy").write_text("")
    train = saved(tmp_path / "train.spacy", 60)
    text = said("fit", train, out, "--minutes", 1, "--learn-dev", "--force")
    assert "Best: label_costs.O =" in text and "with-dev/model-last" in text
    assert [shlex.split(line)[4] for line in commands(out)].count("tune") == 1
    assert sorted(path.name for path in (out / "train-and-dev").iterdir()) == ["dev-0.spacy", "train-0.spacy"]
    spacy.load(out / "with-dev" / "model-last")
