"""spaCy's command line from config to installed package, on a pipeline that it has trained itself."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import spacy
import srsly
import typer.main
from spacy.cli._util import app
from spacy.tokens import DocBin
from spacy.util import load_config
from typer.testing import CliRunner

from spacy_ssvm.cli.app import ssvm

from .components import SCORE, every
from .toy import COMPONENTS, EXAMPLES, LANG, SEQUENCES, weights

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
    filled["components"][factory].update(COMPONENTS[factory].small)
    filled["paths"]["train"] = filled["paths"]["dev"] = str(folder / f"{factory}.spacy")
    filled["training"]["batcher"] = BATCH
    change(filled)
    filled.to_disk(path)
    return path


def score(nlp: spacy.Language, factory: str) -> float:
    return nlp.evaluate(EXAMPLES[factory](nlp))[SCORE[factory]]


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
    assert {"factory", "model", "solver", "scorer", "n_threads"} <= set(filled) and "tolerance" in filled["solver"]
    assert ("label_costs" in filled) == (factory in SEQUENCES)
    call("init", "fill-config", folder / "filled.cfg", folder / "again.cfg")
    assert (folder / "again.cfg").read_text() == (folder / "filled.cfg").read_text()


@every
def test_debug_data(factory, folder):
    """spaCy misses some thousand examples, and can initialize the pipeline with those that there are."""
    output = call("debug", "data", config(factory, folder), "--verbose", "--no-format", expect=1)
    assert f"Training pipeline: {factory}" in output
    assert "Pipeline can be initialized with data" in output and "(minimum 100)" in output


@every
def test_debug_model(factory, folder):
    """All steps before the last pass, and the last one says why it cannot, and what to use instead."""
    arguments = ["debug", "model", config(factory, folder), factory, "--print-step0", "--print-step1", "--print-step2"]
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert "Initialized the model with the training corpus" in result.output
    assert "STEP 2 - after training" in result.output and "Layer 0: model ID" in result.output
    assert isinstance(result.exception, NotImplementedError)
    said = str(result.exception)
    assert "holds weights only" in said
    (command,) = re.findall("`spacy ssvm ([a-z-]+)`", said)
    assert command in typer.main.get_command(ssvm).commands
    (method,) = re.findall(r"the component's (\w+) the features behind", said)
    assert callable(getattr(spacy.blank(LANG).add_pipe(factory), method))


@every
@pytest.mark.parametrize("command", [["evaluate"], ["benchmark", "accuracy"]])
def test_train_and_evaluate(factory, command, folder, trained, tmp_path):
    assert call(*command, trained(factory), folder / f"{factory}.spacy", "--output", tmp_path / "scores.json", "-G")
    assert srsly.read_json(tmp_path / "scores.json")[SCORE[factory]] == 1.0
    assert srsly.read_json(trained(factory) / "meta.json")["performance"][SCORE[factory]] == 1.0


@every
def test_train_with_what_init_config_writes(factory, folder, tmp_path):
    """Nothing is changed but the number of steps."""
    call("init", "config", tmp_path / "plain.cfg", "--lang", LANG, "--pipeline", factory)
    corpora = dict.fromkeys(("paths.train", "paths.dev"), str(folder / f"{factory}.spacy"))
    settings = {**corpora, "training.max_steps": 60, "training.eval_frequency": 30}
    call("train", tmp_path / "plain.cfg", "--output", tmp_path, *options(settings))
    assert score(spacy.load(tmp_path / "model-best"), factory) == 1.0


@every
@pytest.mark.parametrize("reader", ["spacy.Corpus.v1", "spacy-ssvm.Corpus.v1"])
def test_two_runs_write_the_same_bytes(factory, reader, folder, tmp_path):
    """On a stream of spaCy's reader, and in epochs of ours."""

    def change(filled):
        filled["corpora"]["train"] = {"@readers": reader, "path": "${paths.train}"}

    settings = {"training.max_epochs": 4 if "ssvm" in reader else -1, "training.max_steps": 4}
    runs = []
    for name in ("first", "second"):
        train(config(factory, folder, "reader", change), tmp_path / name, settings)
        files = [path for path in sorted((tmp_path / name / "model-last").rglob("*")) if path.is_file()]
        runs.append({str(path.relative_to(tmp_path / name)): path.read_bytes() for path in files})
    assert {Path(name).name for name in runs[0]} >= {"model", "cfg", "meta.json", "config.cfg"}
    assert [name for name in runs[0] | runs[1] if runs[0].get(name) != runs[1].get(name)] == []


def test_train_on_files_of_another_format(folder, tmp_path):
    """spaCy's reader warns of them and yields nothing; the last line of the output says what to do."""
    (tmp_path / "train.tsv").write_text("Dogs\tN\n")
    path = config("ssvm_tagger", folder)
    arguments = ["train", str(path), "--paths.train", str(tmp_path / "train.tsv")]
    with pytest.warns(UserWarning, match="W090"), pytest.raises(TypeError) as caught:
        CliRunner().invoke(app, arguments, catch_exceptions=False)
    last_line = str(caught.value).splitlines()[-1]
    assert re.search(r'paths\.train, ".*train\.tsv", a \.spacy or \.conllu file .* python -m spacy convert$', last_line)


@pytest.mark.slow
@every
@pytest.mark.parametrize("max_epochs", [8, -1])
def test_train_on_augmented_examples(factory, max_epochs, folder, tmp_path):
    """With words in lower case, with more whitespace, and with other words."""
    levels = {"lower_level": 0.3, "whitespace_level": 0.5, "whitespace_per_token": 0.2, "orth_level": 0.3}
    words = {"single": [{"tags": ["NOUN"], "variants": ["ham", "jam"]}], "paired": []}
    augmenter = {"@augmenters": "spacy.combined_augmenter.v1", **levels}
    augmenter |= {"whitespace_variants": [" ", "\n"], "orth_variants": words}
    path = config(factory, folder, "augmented", lambda filled: filled["corpora"]["train"].update(augmenter=augmenter))
    nlp = train(path, tmp_path, {"training.max_epochs": max_epochs, "training.max_steps": 16})
    assert nlp.meta["performance"][SCORE[factory]] > 0.5


def test_train_on_what_a_frozen_component_writes(folder, trained, tmp_path):
    def change(filled):
        filled["nlp"]["pipeline"] = ["ssvm_tagger", "ssvm_ner"]
        filled["components"]["ssvm_tagger"] = {"source": str(trained("ssvm_tagger"))}
        filled["components"]["ssvm_ner"]["model"]["features"]["extra"] = ["tag[0]", "tag[-1]+tag[0]"]
        filled["training"]["frozen_components"] = filled["training"]["annotating_components"] = ["ssvm_tagger"]

    nlp = train(config("ssvm_ner", folder, "tags", change), tmp_path, {"training.max_epochs": 15})
    assert score(nlp, "ssvm_ner") == 1.0
    assert weights(nlp, "ssvm_tagger") == weights(spacy.load(trained("ssvm_tagger")), "ssvm_tagger")


@every
def test_two_runs_equal_one(factory, folder, tmp_path):
    """A sourced component is not initialized, but learns on."""

    def run(name: str, epochs: int, component: dict) -> Path:
        def change(filled):
            made = filled["components"][factory]
            filled["components"][factory] = component if "source" in component else {**made, **component}
            filled["training"].update(batcher={**BATCH, "size": 10**9}, accumulate_gradient=1)

        settings = {"training.max_epochs": epochs, "training.eval_frequency": 1}
        train(config(factory, folder, f"run-{name}", change), tmp_path / name, settings)
        return tmp_path / name / "model-last" / factory

    first = run("first", 2, {"save_solver_state": True})
    second = run("second", 3, {"source": str(first.parent)})
    once = run("once", 5, {"save_solver_state": True})
    for name in ("cfg", "model", "state"):
        assert (second / name).read_bytes() == (once / name).read_bytes()


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
