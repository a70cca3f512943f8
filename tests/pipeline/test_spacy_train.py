"""`spacy train` from config to model-last, on a corpus of a few sentences."""

from pathlib import Path

import pytest
import spacy
from spacy.cli.init_config import fill_config, init_config
from spacy.cli.train import train
from spacy.language import Language
from spacy.tokens import DocBin
from spacy.util import load_config

from .toy import EXAMPLES, LANG, NEARLY_UNREGULARISED, SEQUENCES, SMALL, SOLVERS

SCORES = {"ssvm_tagger": "tag_acc", "ssvm_ner": "ents_f", "ssvm_senter": "sents_f", "ssvm_parser": "las"}
ONE_BATCH_PER_EPOCH = {
    "training.batcher": {"@batchers": "spacy.batch_by_sequence.v1", "size": 10**9},
    "training.accumulate_gradient": 1,
    "training.eval_frequency": 1,
    "training.patience": 0,
    "training.max_steps": 0,
    "training.max_epochs": 5,
}
every = pytest.mark.parametrize("factory", EXAMPLES)


@pytest.fixture(scope="module")
def corpora(tmp_path_factory) -> dict[str, Path]:
    paths = {}
    for factory in EXAMPLES:
        nlp = spacy.blank(LANG)
        paths[factory] = tmp_path_factory.mktemp("corpus") / f"{factory}.spacy"
        DocBin(docs=[example.reference for example in EXAMPLES[factory](nlp)]).to_disk(paths[factory])
    return paths


def config(factory: str, corpus: Path, folder: Path, solver: str = "DCD", **overrides) -> Path:
    """A config as `spacy init config` writes it, with one batch per epoch and one solver block exchanged."""
    filled = init_config(lang=LANG, pipeline=[factory], optimize="efficiency")
    filled["components"][factory]["solver"] = {
        "@ssvm_solvers": f"spacy-ssvm.{solver}.v1",
        **NEARLY_UNREGULARISED[solver],
    }
    filled["components"][factory].update(SMALL.get(factory, {}))
    for key, value in {**ONE_BATCH_PER_EPOCH, **overrides}.items():
        block, _, name = key.rpartition(".")
        section = filled
        for part in block.split("."):
            section = section[part]
        section[name] = value
    filled["paths"]["train"] = filled["paths"]["dev"] = str(corpus)
    path = folder / "config.cfg"
    filled.to_disk(path)
    return path


def run(factory: str, corpora: dict[str, Path], folder: Path, **settings) -> Language:
    folder.mkdir(exist_ok=True)
    train(config(factory, corpora[factory], folder, **settings), folder / "out")
    return spacy.load(folder / "out" / "model-last")


def score(nlp: Language, factory: str) -> float:
    return nlp.evaluate(EXAMPLES[factory](nlp))[SCORES[factory]]


@every
def test_init_config_alone(factory, corpora, tmp_path):
    """`spacy init config -p` and `spacy train`, nothing changed but the number of steps."""
    path = tmp_path / "plain.cfg"
    init_config(lang=LANG, pipeline=[factory], optimize="efficiency").to_disk(path)
    train(
        path,
        tmp_path / "out",
        overrides={
            "paths.train": str(corpora[factory]),
            "paths.dev": str(corpora[factory]),
            "training.max_steps": 60,
            "training.eval_frequency": 30,
        },
    )
    assert score(spacy.load(tmp_path / "out" / "model-best"), factory) == 1.0


@every
def test_fill_config_changes_nothing_in_a_filled_one(factory, corpora, tmp_path):
    path = config(factory, corpora[factory], tmp_path)
    fill_config(tmp_path / "filled.cfg", path, silent=True)
    fill_config(tmp_path / "again.cfg", tmp_path / "filled.cfg", silent=True)
    assert (tmp_path / "filled.cfg").read_text() == (tmp_path / "again.cfg").read_text()
    filled = load_config(tmp_path / "filled.cfg")["components"][factory]
    assert {"model", "solver", "scorer"} <= set(filled)
    assert ("label_costs" in filled) == (factory in SEQUENCES)
    assert "tolerance" in filled["solver"]


@every
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_trains(factory, solver, corpora, tmp_path, capsys):
    epochs = 25 if solver == "SAP" else 10
    nlp = run(factory, corpora, tmp_path, solver=solver, **{"training.max_epochs": epochs})
    assert score(nlp, factory) == 1.0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.strip()[:1].isdigit()]
    assert len(rows) == epochs
    assert nlp.meta["performance"][SCORES[factory]] == 1.0
    assert f"{factory}_loss" in nlp.meta["performance"]


@every
@pytest.mark.parametrize("max_epochs", [3, 0, -1])
def test_epochs(factory, max_epochs, corpora, tmp_path):
    """A number of epochs, without end, and streamed; each learns the corpus."""
    overrides = {"training.max_epochs": max_epochs, "training.max_steps": 0 if max_epochs > 0 else 20}
    if max_epochs == -1:
        overrides["initialize.components"] = {factory: {}}
    nlp = run(factory, corpora, tmp_path, **overrides)
    assert score(nlp, factory) == 1.0


@every
@pytest.mark.parametrize("reader, max_epochs", [("spacy.Corpus.v1", -1), ("spacy-ssvm.Corpus.v1", 4)])
def test_two_runs_write_the_same_bytes(factory, reader, max_epochs, corpora, tmp_path):
    overrides = {
        "corpora.train": {"@readers": reader, "path": "${paths.train}"},
        "training.max_epochs": max_epochs,
        "training.max_steps": 4,
    }
    for name in ("first", "second"):
        run(factory, corpora, tmp_path / name, **overrides)
    first, second = (
        {
            path.relative_to(tmp_path / name): path.read_bytes()
            for path in sorted((tmp_path / name / "out" / "model-last").rglob("*"))
            if path.is_file()
        }
        for name in ("first", "second")
    )
    assert {path.name for path in first} >= {"model", "cfg", "meta.json", "config.cfg"}
    assert [str(path) for path in first if first[path] != second.get(path)] == []


@every
def test_small_batches(factory, corpora, tmp_path):
    """However the epochs are cut into batches, the corpus is learnt."""
    batches = {"training.batcher": {"@batchers": "spacy.batch_by_sequence.v1", "size": 2, "get_length": None}}
    settings = {"training.max_epochs": 10, "training.eval_frequency": 10, "training.accumulate_gradient": 2}
    assert score(run(factory, corpora, tmp_path, **settings, **batches), factory) == 1.0


def test_at_the_tolerance_training_goes_on_without_changes(corpora, tmp_path):
    """A component cannot end `spacy train`, but it can do nothing: more epochs give the same model."""
    models = []
    for epochs in (20, 25):
        settings = {"training.max_epochs": epochs, "components.ssvm_tagger.solver.tolerance": 0.5}
        nlp = run("ssvm_tagger", corpora, tmp_path / str(epochs), **settings)
        assert nlp.meta["performance"]["ssvm_tagger_loss"] == 0.0
        models.append(nlp.get_pipe("ssvm_tagger").to_bytes(exclude=["vocab"]))
    assert models[0] == models[1]


def test_both_components_and_a_frozen_one(corpora, tmp_path):
    """Freeze a trained tagger and train a recogniser beside it that reads its tags."""
    tagger = run("ssvm_tagger", corpora, tmp_path / "tagger", **{"training.max_epochs": 20})
    path = config("ssvm_ner", corpora["ssvm_ner"], tmp_path, **{"training.max_epochs": 15})
    whole = load_config(path)
    whole["nlp"]["pipeline"] = ["ssvm_tagger", "ssvm_ner"]
    whole["components"]["ssvm_tagger"] = {"source": str(tmp_path / "tagger" / "out" / "model-last")}
    whole["components"]["ssvm_ner"]["model"]["features"]["extra"] = ["tag[0]", "tag[-1]+tag[0]"]
    whole["training"]["frozen_components"] = whole["training"]["annotating_components"] = ["ssvm_tagger"]
    whole.to_disk(path)
    train(path, tmp_path / "out")
    nlp = spacy.load(tmp_path / "out" / "model-last")
    assert score(nlp, "ssvm_ner") == 1.0
    assert nlp.get_pipe("ssvm_tagger").to_bytes(exclude=["vocab"]) == tagger.get_pipe("ssvm_tagger").to_bytes(
        exclude=["vocab"]
    )
