"""Saving, loading, pickling, compressing and sourcing."""

import pickle
import pickletools
import subprocess
import sys

import pytest
import spacy
import srsly

from spacy_ssvm.models.packing import Packing
from spacy_ssvm.pipeline.lemmas.edit_scripts import script_of

from .components import SCORE, every, learnt, texts_as_docs, written
from .toy import (
    EXAMPLES,
    LANG,
    PARAGRAPHS,
    SEQUENCES,
    annotation,
    annotations,
    blank,
    doc,
    morph_label,
    tagged,
    tagger_examples,
    teach,
    trained,
    weights,
)

COMPRESSED = {"weight_dtype": "int8", "keep_fraction": 0.5}
PRESET = {
    "ssvm_tagger": ("Eat blue ham", {"tags": ["", "X", ""]}, ["VERB", "X", "NOUN"]),
    "ssvm_morphologizer": (
        "Eat blue ham",
        {"pos": ["", "X", ""]},
        ["POS=VERB", "Degree=Pos|POS=X", morph_label("NOUN")],
    ),
    "ssvm_lemmatizer": ("Dogs sleep", {"lemmas": ["mine", ""]}, [str(script_of("Dogs", "mine")), "lower|0>|0>"]),
    "ssvm_senter": (PARAGRAPHS[0][0], {"sent_starts": [None, True, *[None] * 3, False, *[None] * 6]}, [0, 1, 9]),
    "ssvm_parser": (
        "Eat blue ham !",
        {"heads": [3, 3, 3, 3], "deps": ["x", "x", "x", "ROOT"]},
        [(3, 0, "x"), (3, 1, "x"), (3, 2, "x"), (3, 3, "ROOT")],
    ),
}
"""A text, what is on its Doc, and what a component that keeps that makes of it."""


@every
def test_a_pipeline_is_saved_and_loaded(factory, tmp_path):
    """In a folder that has an older one, in bytes, and with nothing but its config."""
    untrained = blank(factory)
    untrained.initialize(lambda: EXAMPLES[factory](untrained))
    untrained.to_disk(tmp_path)
    nlp = trained(factory)
    nlp.to_disk(tmp_path)
    data = nlp.to_bytes()
    by_config = spacy.blank(LANG).from_config(nlp.config).from_bytes(data)
    for again in (spacy.load(tmp_path), blank(factory).from_bytes(data), by_config):
        assert again.get_pipe(factory).labels == nlp.get_pipe(factory).labels
        assert annotations(again) == annotations(nlp)
        assert again.evaluate(EXAMPLES[factory](again))[SCORE[factory]] == 1
        assert weights(again, factory) == weights(nlp, factory)


@every
def test_a_file_that_is_missing_or_may_not_be_read_is_no_damage(factory, tmp_path):
    """The error is that of the system, and names the component and the file."""
    nlp = learnt(factory)
    component, expected = nlp.get_pipe(factory), annotations(nlp)
    for name in ("cfg", "model"):
        component.to_disk(tmp_path)
        (tmp_path / name).unlink()
        with pytest.raises(FileNotFoundError, match=rf"\[{factory}\] the saved component cannot be loaded: .*{name}"):
            component.from_disk(tmp_path)
        (tmp_path / name).mkdir()
        with pytest.raises(OSError, match=rf"\[{factory}\] the saved component cannot be loaded: .*{name}"):
            component.from_disk(tmp_path)
        (tmp_path / name).rmdir()
    assert annotations(nlp) == expected


@every
@pytest.mark.parametrize("exclude", [[], ["vocab"], ["strings"], ["cfg"], ["model"], ["cfg", "vocab", "model"]])
def test_fields_can_be_left_out(factory, exclude, tmp_path):
    """The labels' strings travel with the component."""
    nlp, again = learnt(factory), blank(factory)
    component, pipe = nlp.get_pipe(factory), again.get_pipe(factory)
    data = component.to_bytes(exclude=exclude)
    component.to_disk(tmp_path, exclude=exclude)
    assert {file.name for file in tmp_path.iterdir()} == {*srsly.msgpack_loads(data)}
    assert {*srsly.msgpack_loads(data)} == {"cfg", "vocab", "model"} - {*exclude}
    if not {"cfg", "model"} & {*exclude}:
        for load, source in ((pipe.from_bytes, data), (pipe.from_disk, tmp_path)):
            assert load(source, exclude=exclude) is pipe
            assert all(label in again.vocab.strings for label in component.labels)
            assert annotations(again) == annotations(nlp) and weights(again, factory) == weights(nlp, factory)


def learnt_weights(nlp, factory) -> dict[str, bytes]:
    """The arrays of the model in memory."""
    model = nlp.get_pipe(factory).model
    return {name: model.get_param(name).tobytes() for name in model.param_names}


@every
@pytest.mark.parametrize("packing", [{}, {"weight_dtype": "int8", "keep_fraction": 0.01}], ids=["exact", "compressed"])
def test_saving_changes_nothing_in_memory(factory, packing, tmp_path):
    """Training goes on with the weights that have been learnt; predictions are those of the file, in other processes
    too."""
    nlp = blank(factory, **packing)
    examples = EXAMPLES[factory](nlp)
    nlp.initialize(lambda: examples)
    for _ in range(10):
        nlp.to_disk(tmp_path)
        nlp.to_bytes()
        pickle.dumps(nlp.get_pipe(factory))
        nlp.update(examples, sgd=False)
    nlp.to_disk(tmp_path)
    nlp.get_pipe(factory).trained.store()
    assert learnt_weights(nlp, factory) == learnt_weights(learnt(factory), factory)
    sent = pickle.loads(pickle.dumps(nlp.get_pipe(factory)))
    assert sent.to_bytes(exclude=["vocab"]) == weights(nlp, factory)
    assert [annotation(sent(tokens)) for tokens in texts_as_docs(nlp)] == annotations(nlp)
    assert annotations(spacy.load(tmp_path)) == annotations(nlp)
    assert bool(packing) == (annotations(nlp) != annotations(learnt(factory)))


@every
@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
def test_pickling(factory, protocol):
    nlp = learnt(factory, n_threads=2)
    component, stranger = nlp.get_pipe(factory), spacy.blank(LANG)
    again = pickle.loads(pickle.dumps(component, protocol))
    for name in ("name", "labels", "solver", "settings"):
        assert getattr(again, name) == getattr(component, name)
    assert again.to_bytes(exclude=["vocab"]) == weights(nlp, factory)
    for example in EXAMPLES[factory](stranger):
        assert annotation(again(example.predicted)) == annotation(example.reference)


@every
def test_nothing_in_a_saved_pipeline_is_pickled(factory, tmp_path):
    """A file from elsewhere cannot run code."""
    learnt(factory).to_disk(tmp_path)
    for path in (tmp_path / factory).rglob("*"):
        if path.is_file():
            with pytest.raises(ValueError):
                list(pickletools.genops(path.read_bytes()))


@every
def test_settings_of_the_pipeline_that_loads(factory, tmp_path):
    """What is said at loading counts for how a component works, what is in the file for what it has learnt."""
    nlp = learnt(factory)
    nlp.to_disk(tmp_path)
    again = spacy.load(tmp_path, config={"components": {factory: {"n_threads": 2, "solver": {"seed": 3}}}})
    component = again.get_pipe(factory)
    assert component.settings.n_threads == 2 and component.solver.seed == 3
    assert annotations(again) == annotations(nlp)


@pytest.mark.parametrize("overwrite", [True, False])
@pytest.mark.parametrize("factory", PRESET)
def test_overwrite(factory, overwrite, tmp_path):
    """Without it, what is on a Doc stays; what is said at loading counts."""
    text, preset, kept = PRESET[factory]
    learnt(factory, overwrite=not overwrite).to_disk(tmp_path)
    loaded = spacy.load(tmp_path, config={"components": {factory: {"overwrite": overwrite}}})
    for nlp in (learnt(factory, overwrite=overwrite), loaded):
        assert nlp.get_pipe(factory).codec.overwrite is overwrite
        alone = written(factory, nlp(doc(nlp, text)))
        assert written(factory, nlp(doc(nlp, text, **preset))) == (alone if overwrite else kept) and alone != kept


def test_the_model_holds_no_strings_of_the_corpus():
    """Only labels and templates are kept as text."""
    nlp = blank("ssvm_tagger")
    teach(nlp, [*tagger_examples(nlp), tagged(nlp, "Confidential ham", "ADJ NOUN")])
    data = nlp.get_pipe("ssvm_tagger").to_bytes(exclude=["vocab"])
    assert b"onfidential" not in data
    assert b"NOUN" in data


def test_loading_needs_no_compiler(tmp_path):
    for factory in SEQUENCES:
        learnt(factory).to_disk(tmp_path / factory)
    code = f"""import sys, spacy
for factory in {SEQUENCES}: spacy.load({str(tmp_path)!r} + "/" + factory)
print([module for module in ("numba", "scipy") if module in sys.modules])"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.stdout.strip() == "[]", result.stderr


def packed(nlp, factory):
    return nlp.get_pipe(factory).to_bytes(exclude=["vocab", "cfg"])


@every
def test_compressing_later_is_as_compressing_at_once(factory):
    nlp = learnt(factory)
    nlp.get_pipe(factory).compress(Packing(**COMPRESSED))
    assert annotations(nlp) == annotations(learnt(factory, **COMPRESSED))
    assert packed(nlp, factory) == packed(learnt(factory, **COMPRESSED), factory)
    again = blank(factory).from_bytes(nlp.to_bytes())
    with pytest.raises(ValueError, match="compressed already"):
        again.get_pipe(factory).compress(Packing())


def test_a_model_that_is_loaded_with_another_config_says_so():
    saved = trained("ssvm_parser").to_bytes()
    order_1 = {"@architectures": "spacy-ssvm.Tree.v1", "features": {"@ssvm_features": "spacy-ssvm.ParserFeatures.v1"}}
    with pytest.warns(UserWarning, match=r"\[ssvm_parser\] is loaded with the .*order.* not with those of the config"):
        blank("ssvm_parser", model={**order_1, "order": 1}).from_bytes(saved)
