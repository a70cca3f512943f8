"""Compression when training has ended: what the best pipeline is saved with, and what that costs."""

import io
from dataclasses import asdict

import pytest
import spacy
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.training.loop import train

from spacy_ssvm.cli.init_config import make_config
from spacy_ssvm.models import store
from spacy_ssvm.models.packing import EXACT, Packing
from spacy_ssvm.pipeline import compression
from spacy_ssvm.pipeline.compression import CANDIDATES, compress_pipeline

from .components import SCORE, every, learnt, learnt_as
from .toy import EXAMPLES, trained

NOTHING_LEFT = Packing("int8", 1e-9)
"""A packing that keeps the largest weights alone."""


def saved_pipeline(path, factory, **settings):
    """The folder of a trained toy pipeline with its scores, and the pipeline."""
    nlp = learnt(factory, **settings)
    nlp.meta["performance"] = {SCORE[factory]: nlp.evaluate(EXAMPLES[factory](nlp))[SCORE[factory]], "other": 0.5}
    nlp.to_disk(path)
    return nlp


def packings(path):
    """The packing of each component, by the config of a saved pipeline, and whether its weights are exact."""
    nlp = spacy.load(path)
    return {
        name: (Packing(config["weight_dtype"], config["keep_fraction"]), store.is_exact(nlp.get_pipe(name).model))
        for name, config in nlp.config["components"].items()
    }


def size(folder):
    """The bytes of a component's files."""
    return sum(file.stat().st_size for file in folder.iterdir())


@every
def test_a_component_gets_the_smallest_packing_that_costs_nothing(factory, tmp_path, monkeypatch):
    nlp, scores = saved_pipeline(tmp_path, factory), {SCORE[factory]: 1.0}
    before = size(tmp_path / factory)
    monkeypatch.setattr(compression, "CANDIDATES", (NOTHING_LEFT, *CANDIDATES))
    (line,) = compress_pipeline(tmp_path, EXAMPLES[factory], scores)
    ((packing, is_exact),) = packings(tmp_path).values()
    assert packing in compression.CANDIDATES and not is_exact
    nlp.get_pipe(factory).compress(NOTHING_LEFT)
    costs_nothing = nlp.evaluate(EXAMPLES[factory](nlp))[SCORE[factory]] >= nlp.meta["performance"][SCORE[factory]]
    assert costs_nothing == (packing == NOTHING_LEFT)
    after = size(tmp_path / factory)
    assert after < before and line.startswith(f"{factory}: {before / 1e6:.2f} to {after / 1e6:.2f} MB, ")
    again = spacy.load(tmp_path)
    found = again.evaluate(EXAMPLES[factory](again))[SCORE[factory]]
    assert again.meta["performance"] == {SCORE[factory]: found, "other": 0.5}
    assert found >= nlp.meta["performance"][SCORE[factory]]


def test_a_component_stays_exact_where_every_packing_costs_something(tmp_path, monkeypatch):
    saved_pipeline(tmp_path, "ssvm_tagger")
    monkeypatch.setattr(compression, "CANDIDATES", (NOTHING_LEFT,))
    (line,) = compress_pipeline(tmp_path, EXAMPLES["ssvm_tagger"], {"tag_acc": 1.0})
    assert " MB, exact, " in line and packings(tmp_path) == {"ssvm_tagger": (EXACT, True)}


@pytest.mark.parametrize(
    "weights, settings, stays",
    [({"ents_f": 1.0}, {}, "exact"), ({"tag_acc": 1.0}, {"weight_dtype": "float16"}, "as it was loaded")],
)
def test_what_cannot_be_chosen_stays(weights, settings, stays, tmp_path):
    """For a component without a score, and one that is compressed already."""
    saved_pipeline(tmp_path, "ssvm_tagger", **settings)
    model, before = tmp_path / "ssvm_tagger" / "model", packings(tmp_path)
    contents = model.read_bytes()
    (line,) = compress_pipeline(tmp_path, EXAMPLES["ssvm_tagger"], weights)
    assert stays in line and model.read_bytes() == contents and packings(tmp_path) == before


def test_components_are_judged_by_what_counts(tmp_path):
    """By scores with a weight, or else by those of the table that have none."""
    nlp = learnt_as({"tags": "ssvm_tagger", "names": "ssvm_ner"})
    nlp.meta["performance"] = {}
    nlp.to_disk(tmp_path)
    weights = {"tag_acc": 0.0, "ents_f": 1.0, "ents_p": 0.0, "ents_r": None}
    tags, names = compress_pipeline(tmp_path, EXAMPLES["ssvm_ner"], weights)
    assert tags.startswith("tags: ") and names.startswith("names: ")
    assert "ents_f" in names and "ents_p" not in names and "ents_r" not in names


def trained_by_spacy(path, before_update=None, **settings):
    """The output of a training with what `init-config` writes."""
    corpora = [EXAMPLES[name](spacy.blank("xx")) for name in ("ssvm_tagger", "ssvm_ner")]

    @spacy.registry.readers("spacy_ssvm_tests.both")
    def both():
        return lambda nlp: [
            Example(nlp.make_doc(example.reference.text), example.reference) for part in corpora for example in part
        ]

    config = make_config(["tagger", "ner"], "dcd", "xx")
    for name in ("train", "dev"):
        config["corpora"][name] = {"@readers": "spacy_ssvm_tests.both"}
    config["training"].update(max_epochs=6, before_update=before_update)
    config["training"]["logger"].update(settings)
    output = io.StringIO()
    path.mkdir()
    train(init_nlp(config), path, stdout=output)
    return output.getvalue()


def test_training_compresses_the_best_pipeline_and_leaves_the_last_one_alone(tmp_path):
    output = trained_by_spacy(tmp_path / "small")
    trained_by_spacy(tmp_path / "exact", compress=False)
    small, exact = packings(tmp_path / "small" / "model-best"), packings(tmp_path / "exact" / "model-best")
    assert all(packing in CANDIDATES and not is_exact for packing, is_exact in small.values())
    assert all(part == (EXACT, True) for part in exact.values())
    assert packings(tmp_path / "small" / "model-last") == packings(tmp_path / "exact" / "model-last") == exact
    for name, (packing, _) in small.items():
        (line,) = (line for line in output.splitlines() if line.startswith(f"{name}: ") and " MB, " in line)
        assert packing.weight_dtype in line
    for name in small:
        files = [tmp_path / kind / "model-last" / name / "model" for kind in ("small", "exact")]
        assert files[0].read_bytes() == files[1].read_bytes()


@every
@pytest.mark.parametrize("packing", [EXACT, Packing("int8", 0.7)])
def test_a_training_that_has_ended_is_saved_as_before(factory, packing):
    pipe = trained(factory, **asdict(packing)).get_pipe(factory)
    before = pipe.to_bytes()
    assert pipe.trained.training is not None
    pipe.trained = pipe.trained.ended()
    assert pipe.trained.training is None and pipe.to_bytes() == before


def test_a_solver_whose_state_is_to_be_saved_goes_on():
    pipe = trained("ssvm_tagger", save_solver_state=True).get_pipe("ssvm_tagger")
    training, before = pipe.trained.training, pipe.to_bytes()
    pipe.trained = pipe.trained.ended()
    assert pipe.trained.training is training is not None and pipe.to_bytes() == before


def test_a_training_that_fails_leaves_its_files_as_they_are(tmp_path):
    @spacy.registry.callbacks("spacy_ssvm_tests.failing")
    def failing():
        def before_update(nlp, progress):
            if progress["step"] == 3:
                raise RuntimeError("no more")

        return before_update

    with pytest.raises(RuntimeError, match="no more"):
        trained_by_spacy(tmp_path / "out", {"@callbacks": "spacy_ssvm_tests.failing"})
    assert all(part == (EXACT, True) for part in packings(tmp_path / "out" / "model-best").values())
