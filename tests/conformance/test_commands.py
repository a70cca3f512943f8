"""spaCy's command line from config to installed package, on a pipeline that it has trained itself."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import spacy
import srsly
from spacy.cli._util import app
from spacy.tokens import DocBin
from spacy.util import load_config
from typer.testing import CliRunner

from ..pipeline.toy import EXAMPLES, SMALL
from .components import ATTRIBUTE, LANG, SCORE, annotated, every, model_bytes

TO_LEARN = {
    "training.max_epochs": 12,
    "training.max_steps": 0,
    "training.patience": 0,
    "training.eval_frequency": 4,
}
BATCH = {"@batchers": "spacy.batch_by_sequence.v1", "size": 4, "get_length": None}


def call(*arguments, expect: int = 0) -> str:
    """The output of a command, run in this process."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == expect, f"{result.output}\n{result.exception!r}"
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


def options(settings: dict) -> list[str]:
    return [part for key, value in settings.items() for part in (f"--{key}", json.dumps(value).strip('"'))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("commands")
    nlp = spacy.blank(LANG)
    for factory in EXAMPLES:
        DocBin(docs=[example.reference for example in EXAMPLES[factory](nlp)]).to_disk(path / f"{factory}.spacy")
    return path


def config(factory: str, folder: Path, name: str = "config", change=lambda filled: None) -> Path:
    """What `init config` writes, smaller, with the toy corpus, and changed as the test wants it."""
    path = folder / f"{factory}-{name}.cfg"
    call("init", "config", path, "--lang", LANG, "--pipeline", factory, "--force")
    filled = load_config(path)
    filled["components"][factory].update(SMALL.get(factory, {}))
    filled["paths"]["train"] = filled["paths"]["dev"] = str(folder / f"{factory}.spacy")
    filled["training"]["batcher"] = BATCH
    change(filled)
    filled.to_disk(path)
    return path


def train(path: Path, output: Path, settings: dict | None = None) -> spacy.Language:
    call("train", path, "--output", output, *options({**TO_LEARN, **(settings or {})}))
    return spacy.load(output / "model-last")


@pytest.fixture(scope="module")
def trained(folder):
    """factory → folder of a pipeline that `spacy train` has written."""
    made = {}

    def pipeline(factory: str) -> Path:
        if factory not in made:
            train(config(factory, folder), folder / factory)
            made[factory] = folder / factory / "model-best"
        return made[factory]

    return pipeline


@every
def test_init_config_and_fill_config(factory, folder):
    path = config(factory, folder, "short", lambda filled: filled["components"].update({factory: {"factory": factory}}))
    call("init", "fill-config", path, folder / "filled.cfg")
    filled = load_config(folder / "filled.cfg")["components"][factory]
    assert {"factory", "model", "solver", "scorer", "n_threads"} <= set(filled)
    call("init", "fill-config", folder / "filled.cfg", folder / "again.cfg")
    assert (folder / "again.cfg").read_text() == (folder / "filled.cfg").read_text()


@every
def test_init_labels(factory, folder, trained):
    path = config(factory, folder)
    call("init", "labels", path, folder / f"{factory}-labels")
    labels = srsly.read_json(folder / f"{factory}-labels" / f"{factory}.json")
    assert set(labels) == set(spacy.load(trained(factory)).get_pipe(factory).labels)
    given = {"@readers": "spacy.read_labels.v1", "path": str(folder / f"{factory}-labels" / f"{factory}.json")}
    with_labels = config(
        factory,
        folder,
        "labels",
        lambda filled: filled["initialize"]["components"].update({factory: {"labels": given}}),
    )
    nlp = train(with_labels, folder / f"{factory}-with-labels")
    assert model_bytes(nlp, factory) == model_bytes(spacy.load(folder / factory / "model-last"), factory)


@pytest.mark.slow
@every
def test_init_nlp(factory, folder):
    call("init", "nlp", config(factory, folder), folder / f"{factory}-nlp")
    assert spacy.load(folder / f"{factory}-nlp").get_pipe(factory).labels


@every
def test_debug_config(factory, folder):
    assert "Config is valid" in call("debug", "config", config(factory, folder), "--show-variables")


@every
def test_debug_data(factory, folder):
    """spaCy misses some thousand examples, and can initialize the pipeline with those that there are."""
    output = call("debug", "data", config(factory, folder), "--verbose", "--no-format", expect=1)
    assert f"Training pipeline: {factory}" in output
    assert "Pipeline can be initialized with data" in output and "(minimum 100)" in output


@every
def test_train_and_evaluate(factory, folder, trained, tmp_path):
    output = call("evaluate", trained(factory), folder / f"{factory}.spacy", "--output", tmp_path / "scores.json", "-G")
    assert output
    assert srsly.read_json(tmp_path / "scores.json")[SCORE[factory]] == 1.0
    assert srsly.read_json(trained(factory) / "meta.json")["performance"][SCORE[factory]] == 1.0


@every
@pytest.mark.parametrize("max_epochs", [0, 3, -1])
def test_train_for_a_while(factory, max_epochs, folder, tmp_path):
    """Until the number of steps, of epochs, and on a corpus that is streamed."""
    settings = {"training.max_epochs": max_epochs, "training.max_steps": 0 if max_epochs == 3 else 6}
    nlp = train(config(factory, folder), tmp_path, settings)
    assert nlp("Eat ham").has_annotation(ATTRIBUTE[factory])


@every
def test_train_stops_early(factory, folder, tmp_path):
    """With the development score at its best, `patience` ends training, though epochs are left."""
    settings = {**TO_LEARN, "training.max_epochs": 0, "training.max_steps": 400, "training.patience": 24}
    output = call("train", config(factory, folder), "--output", tmp_path, *options(settings))
    steps = [int(row[1]) for row in map(str.split, output.splitlines()) if len(row) > 3 and row[1].isdigit()]
    assert 24 <= steps[-1] < 400 and steps == list(range(0, steps[-1] + 1, 4))
    assert spacy.load(tmp_path / "model-best").meta["performance"][SCORE[factory]] == 1.0


@pytest.mark.slow
@every
def test_train_accumulates_batches(factory, folder, tmp_path):
    nlp = train(config(factory, folder), tmp_path, {"training.accumulate_gradient": 3})
    assert nlp.meta["performance"][SCORE[factory]] == 1.0


@pytest.mark.slow
@every
@pytest.mark.parametrize(
    "augmenter",
    [
        {"@augmenters": "spacy.lower_case.v1", "level": 0.5},
        {
            "@augmenters": "spacy.combined_augmenter.v1",
            "lower_level": 0.3,
            "whitespace_level": 0.5,
            "whitespace_per_token": 0.2,
        }
        | {"whitespace_variants": [" ", "\n"], "orth_level": 0.2, "orth_variants": None},
        {"@augmenters": "spacy.orth_variants.v1", "level": 0.5, "lower": 0.5}
        | {"orth_variants": {"single": [{"tags": ["NOUN"], "variants": ["ham", "jam"]}], "paired": []}},
    ],
    ids=["lower case", "whitespace", "variants"],
)
@pytest.mark.parametrize("max_epochs", [8, -1])
def test_train_on_augmented_examples(factory, augmenter, max_epochs, folder, tmp_path):
    path = config(
        factory, folder, "augmented", lambda filled: filled["corpora"]["train"].update({"augmenter": augmenter})
    )
    nlp = train(path, tmp_path, {"training.max_epochs": max_epochs, "training.max_steps": 16})
    assert nlp.meta["performance"][SCORE[factory]] > 0.5


@every
def test_train_beside_a_sourced_component_that_is_frozen(factory, folder, trained, tmp_path):
    """A trained component of the same kind annotates, and stays byte for byte what it was."""

    def change(filled):
        filled["nlp"]["pipeline"] = ["frozen", factory]
        filled["components"]["frozen"] = {"source": str(trained(factory)), "component": factory}
        filled["training"]["frozen_components"] = filled["training"]["annotating_components"] = ["frozen"]

    nlp = train(config(factory, folder, "frozen", change), tmp_path)
    assert model_bytes(nlp, "frozen") == model_bytes(spacy.load(trained(factory)), factory)
    assert set(nlp.pipe_names) == {"frozen", factory}


@pytest.mark.slow
@every
def test_train_goes_on_from_a_sourced_component(factory, folder, trained, tmp_path):
    def change(filled):
        filled["components"][factory] = {"source": str(trained(factory))}

    nlp = train(config(factory, folder, "sourced", change), tmp_path, {"training.max_epochs": 2})
    assert nlp.meta["performance"][SCORE[factory]] == 1.0


@every
def test_apply(factory, folder, trained, tmp_path):
    (tmp_path / "texts.jsonl").write_text('{"text": "Eat blue ham"}\n{"text": ""}\n{"text": "Is Paris nice ?"}\n')
    call("apply", trained(factory), tmp_path / "texts.jsonl", tmp_path / "out.spacy", "--force")
    nlp = spacy.load(trained(factory))
    docs = list(DocBin().from_disk(tmp_path / "out.spacy").get_docs(nlp.vocab))
    assert [tokens.text for tokens in docs] == ["Eat blue ham", "", "Is Paris nice ?"]
    assert all(tokens.has_annotation(ATTRIBUTE[factory]) for tokens in docs if len(tokens))


@every
def test_benchmark_accuracy(factory, folder, trained, tmp_path):
    call("benchmark", "accuracy", trained(factory), folder / f"{factory}.spacy", "-G", "-o", tmp_path / "scores.json")
    assert srsly.read_json(tmp_path / "scores.json")[SCORE[factory]] == 1.0


@pytest.mark.slow
@every
def test_benchmark_speed(factory, folder, trained):
    call("benchmark", "speed", trained(factory), folder / f"{factory}.spacy", "--batches", "30", "--warmup", "0")


@every
def test_find_threshold(factory, folder, trained):
    """Only entities have a threshold, of the group spans_key; what is not there is named, and no score is invented."""
    arguments = "find-threshold", trained(factory), folder / f"{factory}.spacy", factory
    missing = "spans_possible_f" if factory == "ssvm_ner" else "threshold"
    assert missing in call(*arguments, "threshold", "spans_possible_f", expect=1)
    result = CliRunner().invoke(app, [*map(str, arguments), "keep_fraction", SCORE[factory]])
    assert isinstance(result.exception, ValueError) and "keep_fraction must be above 0" in str(result.exception)


@every
def test_assemble(factory, folder, trained, tmp_path):
    """A pipeline from trained parts; one that was never trained is refused, as it has no labels."""

    def change(filled):
        filled["components"][factory] = {"source": str(trained(factory))}

    call("assemble", config(factory, folder, "assembled", change), tmp_path / "assembled")
    assert annotated(spacy.load(tmp_path / "assembled")) == annotated(spacy.load(trained(factory)))


@pytest.mark.slow
@every
def test_info_and_profile(factory, folder, trained, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where the profile is written
    (tmp_path / "texts.jsonl").write_text('{"text": "Eat blue ham"}\n')
    assert factory in call("info", trained(factory))
    assert "function calls" in call("profile", trained(factory), tmp_path / "texts.jsonl", "-n", "1")


@every
def test_package_requires_this_one(factory, folder, trained, tmp_path):
    """`package` finds out by itself what the pipeline needs."""
    call("package", trained(factory), tmp_path, "--name", factory, "--build", "none", "--force")
    folder_ = next(path for path in tmp_path.iterdir() if path.is_dir())
    meta = srsly.read_json(folder_ / "meta.json")
    assert any(requirement.startswith("spacy-ssvm>=") for requirement in meta["requirements"])
    assert meta["labels"].get(factory) or factory == "ssvm_senter"


@pytest.mark.slow
@every
def test_an_installed_package_loads_by_name(factory, folder, trained, tmp_path):
    pytest.importorskip("setuptools", minversion="70.1", reason="older ones cannot build a wheel by themselves")
    call("package", trained(factory), tmp_path, "--name", f"toy_{factory}", "--build", "sdist", "--force")
    (archive,) = tmp_path.rglob("*.tar.gz")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*install, "--target", str(tmp_path / "site"), str(archive)], check=True, capture_output=True)
    code = f"import spacy; print([t.text for t in spacy.load('{LANG}_toy_{factory}')('Eat blue ham')])"
    result = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.append({str(tmp_path / 'site')!r}); {code}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stdout.strip() == "['Eat', 'blue', 'ham']", result.stderr
