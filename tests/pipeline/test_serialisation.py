"""Saving, loading, pickling, sourcing and freezing the components."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
import spacy
from spacy.language import Language

from spacy_ssvm.models.chain import weights as chain_weights
from spacy_ssvm.models.packing import Packing
from spacy_ssvm.models.tree import weights as tree_weights

from .toy import (
    EXAMPLES,
    LABELLED,
    LANG,
    SEQUENCES,
    SPANS,
    TAGGED,
    annotation,
    annotations,
    blank,
    doc,
    ner_examples,
    tagged,
    tagger_examples,
    train,
    trained,
)

every = pytest.mark.parametrize("factory", EXAMPLES)
labelled = pytest.mark.parametrize("factory", LABELLED)


@every
def test_disk(factory, tmp_path):
    nlp = trained(factory)
    nlp.to_disk(tmp_path)
    again = spacy.load(tmp_path)
    assert again.get_pipe(factory).labels == nlp.get_pipe(factory).labels
    assert annotations(again) == annotations(nlp)


@every
def test_bytes(factory):
    nlp = trained(factory)
    again = blank(factory).from_bytes(nlp.to_bytes())
    assert annotations(again) == annotations(nlp)
    assert again.get_pipe(factory).to_bytes(exclude=["vocab"]) == nlp.get_pipe(factory).to_bytes(exclude=["vocab"])


@every
def test_saving_in_the_middle_of_training_changes_nothing(factory, tmp_path):
    nlp = blank(factory)
    examples = EXAMPLES[factory](nlp)
    nlp.initialize(lambda: examples)
    for _ in range(10):
        nlp.to_disk(tmp_path)
        nlp.to_bytes()
        pickle.dumps(nlp.get_pipe(factory))
        nlp.update(examples, sgd=False)
    straight = trained(factory)
    assert nlp.get_pipe(factory).to_bytes(exclude=["vocab"]) == straight.get_pipe(factory).to_bytes(exclude=["vocab"])


@every
@pytest.mark.parametrize("exclude", [["vocab"], ["strings"], ["vocab", "strings"]])
def test_without_vocab_or_strings(factory, exclude, tmp_path):
    """The labels' strings travel with the component."""
    nlp = trained(factory)
    component = nlp.get_pipe(factory)
    component.to_disk(tmp_path / "component", exclude=exclude)
    for load in (
        lambda pipe: pipe.from_bytes(component.to_bytes(exclude=exclude), exclude=exclude),
        lambda pipe: pipe.from_disk(tmp_path / "component", exclude=exclude),
    ):
        again = blank(factory)
        load(again.get_pipe(factory))
        assert all(label in again.vocab.strings for label in component.labels)
        assert annotations(again) == annotations(nlp)


@every
def test_loading_into_a_vocabulary_that_holds_other_words(factory):
    nlp = trained(factory)
    again = spacy.blank(LANG)
    for word in ("something", "else", "entirely"):
        again.vocab[word]
    again.add_pipe(factory)
    again.get_pipe(factory).from_bytes(nlp.get_pipe(factory).to_bytes(exclude=["vocab"]), exclude=["vocab"])
    assert annotations(again) == annotations(nlp)


@every
def test_docs_of_another_vocabulary(factory):
    """A component can be handed Docs that do not share its vocabulary."""
    nlp = trained(factory)
    stranger = spacy.blank(LANG)
    for text, _ in (*TAGGED, *SPANS, ("Unheard wordings here", "")):
        tokens = nlp.get_pipe(factory)(doc(stranger, text))
        assert annotation(tokens) == annotation(nlp(doc(nlp, text)))


@every
def test_excluding_the_model_keeps_the_present_one(factory):
    nlp, untouched = trained(factory), trained(factory)
    data = trained(factory, epochs=0).get_pipe(factory).to_bytes()
    nlp.get_pipe(factory).from_bytes(data, exclude=["model"])
    assert annotations(nlp) == annotations(untouched)


@every
def test_a_failed_load_changes_nothing(factory):
    nlp, untouched = trained(factory), trained(factory)
    data = trained(factory, epochs=1).get_pipe(factory).to_bytes()
    for damaged in (data[: len(data) // 2], data[:-40] + bytes(40)):
        with pytest.raises(ValueError, match="cannot be loaded"):
            nlp.get_pipe(factory).from_bytes(damaged)
        assert annotations(nlp) == annotations(untouched)
    assert nlp.get_pipe(factory).to_bytes(exclude=["vocab"]) == untouched.get_pipe(factory).to_bytes(exclude=["vocab"])


@labelled
def test_an_untrained_component_round_trips(factory, tmp_path):
    nlp = blank(factory)
    nlp.to_disk(tmp_path)
    assert spacy.load(tmp_path).get_pipe(factory).labels == ()
    nlp.get_pipe(factory).add_label("X")
    again = blank(factory).from_bytes(nlp.to_bytes())
    assert again.get_pipe(factory).labels == ("X",)
    assert len(again("text")) == 1


@every
def test_pickling(factory):
    nlp = trained(factory)
    again = pickle.loads(pickle.dumps(nlp.get_pipe(factory)))
    assert again.to_bytes(exclude=["vocab"]) == nlp.get_pipe(factory).to_bytes(exclude=["vocab"])
    for text, _ in (*TAGGED, *SPANS):
        assert annotation(again(doc(nlp, text))) == annotation(nlp(doc(nlp, text)))


@pytest.mark.parametrize("factory", SEQUENCES)
def test_a_loaded_hashed_model_predicts_the_same(factory, tmp_path):
    name = {"ssvm_tagger": "TaggerFeatures", "ssvm_ner": "NerFeatures", "ssvm_senter": "SenterFeatures"}[factory]
    features = {"@ssvm_features": f"spacy-ssvm.{name}.v1", "hash_bits": 10}
    nlp = trained(factory, model={"@architectures": "spacy-ssvm.Chain.v1", "features": features})
    nlp.to_disk(tmp_path)
    assert annotations(spacy.load(tmp_path)) == annotations(nlp)


@every
@pytest.mark.parametrize("trained_before", [True, False], ids=["after training", "after loading"])
def test_several_processes(factory, trained_before, tmp_path):
    nlp = trained(factory)
    if not trained_before:
        nlp.to_disk(tmp_path)
        nlp = spacy.load(tmp_path)
    texts = [text for text, _ in (*TAGGED, *SPANS)] * 5
    alone = [annotation(tokens) for tokens in nlp.pipe(texts)]
    assert [annotation(tokens) for tokens in nlp.pipe(texts, n_process=2, batch_size=7)] == alone


def _both_trained() -> Language:
    nlp = spacy.blank(LANG)
    nlp.add_pipe("ssvm_tagger")
    nlp.add_pipe("ssvm_ner")
    examples = [*tagger_examples(nlp), *ner_examples(nlp)]
    with pytest.warns(UserWarning, match="6 of 12 examples have none at all"):
        nlp.initialize(lambda: examples)
    train(nlp, examples)
    return nlp


def test_both_components_learn_from_examples_that_are_annotated_for_one():
    nlp = _both_trained()
    tagger, ner = trained("ssvm_tagger"), trained("ssvm_ner")
    assert nlp.get_pipe("ssvm_tagger").to_bytes(exclude=["vocab"]) == tagger.get_pipe("ssvm_tagger").to_bytes(
        exclude=["vocab"]
    )
    assert nlp.get_pipe("ssvm_ner").to_bytes(exclude=["vocab"]) == ner.get_pipe("ssvm_ner").to_bytes(exclude=["vocab"])


def test_sourcing():
    source = _both_trained()
    nlp = spacy.blank(LANG)
    nlp.add_pipe("ssvm_ner", source=source)
    nlp.add_pipe("ssvm_tagger", source=source, name="tags")
    assert nlp.pipe_names == ["ssvm_ner", "tags"]
    assert annotations(nlp) == annotations(source)


@every
def test_a_sourced_component_learns_on(factory):
    """Its vocabulary is still that of the pipeline it comes from; the Docs are not."""
    source = trained(factory)
    nlp = spacy.blank(LANG)
    nlp.add_pipe(factory, source=source)
    corpus = {
        "ssvm_tagger": [("Zebras graze quietly", "NOUN VERB ADV")],
        "ssvm_ner": [("Zoe visited Quito", "U-PER O U-GPE")],
        "ssvm_senter": [("Zoe left / Zebras graze", "S I S I I")],
        "ssvm_parser": [("Zebras graze quietly", "nsubj:2 ROOT:2 advmod:2")],
    }[factory]
    examples = EXAMPLES[factory](nlp, corpus)
    nlp.resume_training()
    train(nlp, examples, 20)
    tokens = nlp(doc(nlp, corpus[0][0]))
    gold = examples[0].reference
    assert annotation(tokens) == annotation(gold)


@every
def test_sourcing_and_saving(factory, tmp_path):
    source = trained(factory)
    nlp = spacy.blank(LANG)
    nlp.add_pipe(factory, source=source)
    nlp.to_disk(tmp_path)
    assert annotations(spacy.load(tmp_path)) == annotations(source)


def test_frozen_components_do_not_change():
    nlp = _both_trained()
    before = nlp.get_pipe("ssvm_ner").to_bytes(exclude=["vocab"])
    tagger_before = nlp.get_pipe("ssvm_tagger").to_bytes(exclude=["vocab"])
    losses = {}
    examples = [*tagger_examples(nlp, [("Rome is big", "NOUN VERB ADJ")]), *ner_examples(nlp)]
    nlp.update(examples, sgd=False, losses=losses, exclude=["ssvm_ner"])
    assert set(losses) == {"ssvm_tagger"}
    assert nlp.get_pipe("ssvm_ner").to_bytes(exclude=["vocab"]) == before
    assert nlp.get_pipe("ssvm_tagger").to_bytes(exclude=["vocab"]) != tagger_before


def test_select_pipes():
    nlp = _both_trained()
    with nlp.select_pipes(enable="ssvm_tagger"):
        tokens = nlp(doc(nlp, SPANS[0][0]))
        assert not tokens.ents
        assert tokens[0].tag_
        losses = {}
        nlp.update(tagger_examples(nlp), sgd=False, losses=losses)
        assert set(losses) == {"ssvm_tagger"}
    assert nlp(doc(nlp, SPANS[0][0])).ents


@every
def test_the_error_handler_sees_only_the_bad_doc(factory, monkeypatch):
    nlp = trained(factory)
    component = nlp.get_pipe(factory)
    predict = component.predict

    def fails_on_boom(docs):
        docs = list(docs)
        if any(token.text == "boom" for tokens in docs for token in tokens):
            raise ValueError("boom")
        return predict(docs)

    monkeypatch.setattr(component, "predict", fails_on_boom)
    failed = []
    nlp.set_error_handler(lambda name, proc, docs, error: failed.append((name, [d.text.strip() for d in docs])))
    docs = list(nlp.pipe([doc(nlp, text) for text in ("Eat blue ham", "boom", "Is Paris nice ?")]))
    assert [tokens.text.strip() for tokens in docs] == ["Eat blue ham", "Is Paris nice ?"]
    assert failed == [(factory, ["boom"])]


@every
def test_without_error_handler_errors_are_raised(factory, monkeypatch):
    nlp = trained(factory)
    monkeypatch.setattr(nlp.get_pipe(factory), "set_annotations", lambda docs, predictions: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        list(nlp.pipe(["text"]))


@labelled
def test_resuming_from_a_loaded_pipeline_with_new_labels(factory, tmp_path):
    trained(factory).to_disk(tmp_path)
    nlp = spacy.load(tmp_path)
    old = nlp.get_pipe(factory).labels
    corpus = {
        "ssvm_tagger": [("Wow , ham !", "INTJ PUNCT NOUN PUNCT")],
        "ssvm_ner": [("Acme Corp hired Tom", "B-ORG L-ORG O U-PER")],
        "ssvm_parser": [("Wow , ham !", "discourse:3 punct:3 ROOT:3 punct:3")],
    }[factory]
    examples = [*EXAMPLES[factory](nlp), *EXAMPLES[factory](nlp, corpus)]
    nlp.resume_training()
    train(nlp, examples, 20)
    new = nlp.get_pipe(factory).labels
    assert new[: len(old)] == old
    added = {"ssvm_tagger": {"INTJ", "PUNCT"}, "ssvm_ner": {"ORG"}, "ssvm_parser": {"discourse"}}
    assert set(new) - set(old) == added[factory]
    for example in examples:
        assert annotation(nlp(example.predicted.copy())) == annotation(example.reference)
    again = blank(factory).from_bytes(nlp.to_bytes())
    assert annotations(again) == annotations(nlp)


def test_weights_survive_widening():
    """New labels come with zero weights: until they are learnt, nothing else changes."""
    nlp = trained("ssvm_ner")
    before = annotations(nlp)
    nlp.get_pipe("ssvm_ner").add_label("ORG")
    tokens = annotations(nlp)
    assert [[e for e in ents if e[2] != "ORG"] for _, ents, *_ in tokens] == [list(ents) for _, ents, *_ in before]


@every
def test_initialize_again_starts_from_zero(factory):
    nlp = trained(factory)
    examples = EXAMPLES[factory](nlp)
    nlp.initialize(lambda: examples)
    train(nlp, examples)
    assert nlp.get_pipe(factory).to_bytes(exclude=["vocab"]) == trained(factory).get_pipe(factory).to_bytes(
        exclude=["vocab"]
    )


def test_the_model_holds_no_strings_of_the_corpus():
    """Only labels and templates are kept as text."""
    nlp = blank("ssvm_tagger")
    examples = [*tagger_examples(nlp), tagged(nlp, "Confidential ham", "ADJ NOUN")]
    nlp.initialize(lambda: examples)
    train(nlp, examples)
    data = nlp.get_pipe("ssvm_tagger").to_bytes(exclude=["vocab"])
    assert b"onfidential" not in data
    assert b"NOUN" in data


@every
def test_predictions_of_a_batch_equal_those_of_single_docs(factory):
    nlp = trained(factory)
    docs = [doc(nlp, text) for text, _ in (*TAGGED, *SPANS)]
    together = nlp.get_pipe(factory).predict(docs)
    for tokens, prediction in zip(docs, together):
        assert np.array_equal(nlp.get_pipe(factory).predict([tokens])[0], prediction)
        assert np.atleast_2d(prediction).shape[1] == len(tokens)


COMPRESSED = {"weight_dtype": "int8", "keep_fraction": 0.5}


def model_bytes(nlp, factory):
    return nlp.get_pipe(factory).to_bytes(exclude=["vocab", "cfg"])


@every
def test_a_compressed_file_is_smaller_and_stays_as_it_is(factory, tmp_path):
    """Loading and saving it again neither prunes nor rounds a second time."""
    nlp = trained(factory, **COMPRESSED)
    nlp.to_disk(tmp_path)
    again = spacy.load(tmp_path)
    assert len(model_bytes(again, factory)) < 0.8 * len(model_bytes(trained(factory), factory))
    assert model_bytes(again, factory) == model_bytes(nlp, factory)
    annotations(again)
    assert model_bytes(again, factory) == model_bytes(nlp, factory)


@every
@pytest.mark.parametrize("values", ["float16", "int8"])
def test_rounded_weights_predict_the_same_here(factory, values, tmp_path):
    nlp = trained(factory, weight_dtype=values)
    nlp.to_disk(tmp_path)
    assert annotations(spacy.load(tmp_path)) == annotations(nlp) == annotations(trained(factory))


@every
def test_compressing_at_saving_changes_nothing_in_memory(factory, tmp_path):
    """Training goes on with the weights that have been learnt, and so does prediction, in other processes too."""
    nlp, straight = blank(factory, weight_dtype="int8", keep_fraction=0.01), trained(factory)
    examples = EXAMPLES[factory](nlp)
    nlp.initialize(lambda: examples)
    for _ in range(10):
        nlp.to_disk(tmp_path)
        nlp.to_bytes()
        nlp.update(examples, sgd=False)
    assert annotations(nlp) == annotations(straight)
    sent = pickle.loads(pickle.dumps(nlp.get_pipe(factory)))
    assert sent.to_bytes(exclude=["vocab"]) == nlp.get_pipe(factory).to_bytes(exclude=["vocab"])
    assert [annotation(sent(doc(nlp, text))) for text, _ in (*TAGGED, *SPANS)] == [
        annotation(nlp(doc(nlp, text))) for text, _ in (*TAGGED, *SPANS)
    ]
    assert annotations(spacy.load(tmp_path)) != annotations(nlp)


@every
def test_a_failed_load_leaves_exact_weights(factory):
    nlp = trained(factory, weight_dtype="int8", keep_fraction=0.01)
    with pytest.raises(ValueError, match="cannot be loaded"):
        nlp.get_pipe(factory).from_bytes(b"")
    assert annotations(nlp) == annotations(trained(factory))


@labelled
def test_a_new_label_does_not_compress(factory):
    nlp = trained(factory, weight_dtype="int8", keep_fraction=0.01)
    exact = trained(factory)
    for pipeline in (nlp, exact):
        pipeline.get_pipe(factory).add_label("X")
    assert annotations(nlp) == annotations(exact)
    assert len(model_bytes(nlp, factory)) < len(model_bytes(exact, factory))
    loaded = blank(factory, weight_dtype="int8", keep_fraction=0.5).from_bytes(
        trained(factory, weight_dtype="int8", keep_fraction=0.5).to_bytes()
    )
    before = annotations(loaded)
    loaded.get_pipe(factory).add_label("X")
    assert annotations(blank(factory, weight_dtype="int8", keep_fraction=0.5).from_bytes(loaded.to_bytes())) == before


@every
def test_compressing_later_is_as_compressing_at_once(factory, tmp_path):
    trained(factory).to_disk(tmp_path)
    nlp = spacy.load(tmp_path)
    nlp.get_pipe(factory).compress(Packing(**COMPRESSED))
    assert annotations(nlp) == annotations(trained(factory))
    at_once = trained(factory, **COMPRESSED)
    assert model_bytes(nlp, factory) == model_bytes(at_once, factory)
    again = blank(factory).from_bytes(nlp.to_bytes())
    with pytest.raises(ValueError, match="compressed already"):
        again.get_pipe(factory).compress(Packing())


@every
def test_training_goes_on_from_compressed_weights(factory):
    nlp = blank(factory, **COMPRESSED).from_bytes(trained(factory, **COMPRESSED).to_bytes())
    examples = EXAMPLES[factory](nlp)
    nlp.resume_training()
    train(nlp, examples)
    for example in examples:
        assert annotation(nlp(example.predicted.copy())) == annotation(example.reference)


@pytest.mark.parametrize(
    ("setting", "value"), [("weight_dtype", "int4"), ("keep_fraction", 0.0), ("keep_fraction", 2.0)]
)
def test_packings_that_do_not_exist_are_refused(setting, value):
    with pytest.raises(ValueError, match=setting):
        blank("ssvm_tagger", **{setting: value})


@every
def test_weights_are_unpacked_once(factory, tmp_path, monkeypatch):
    trained(factory).to_disk(tmp_path)
    calls = []
    for module in (chain_weights, tree_weights):
        load = module.load
        monkeypatch.setattr(module, "load", lambda *given, load=load: calls.append(1) or load(*given))
    nlp = spacy.load(tmp_path)
    annotations(nlp)
    assert len(calls) == 1


@pytest.mark.parametrize("factory", SEQUENCES)
def test_loading_needs_no_compiler(factory, tmp_path):
    trained(factory).to_disk(tmp_path)
    code = (
        f"import sys, spacy; spacy.load({str(tmp_path)!r}); print([m for m in ('numba', 'scipy') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.stdout.strip() == "[]", result.stderr


@pytest.mark.parametrize("factory", ["ssvm_tagger", "ssvm_senter", "ssvm_parser"])
def test_overwrite_can_be_set_when_loading(factory, tmp_path):
    """A component that was saved without it keeps what is on a Doc; loaded with it, it does not."""
    nlp = trained(factory, overwrite=False)
    nlp.to_disk(tmp_path)
    words = "She eats green apples"
    preset = {
        "ssvm_tagger": {"tags": ["X"] * 4},
        "ssvm_senter": {"sent_starts": [1, 1, 1, 1]},
        "ssvm_parser": {"heads": [3, 3, 3, 3], "deps": ["x", "x", "x", "ROOT"]},
    }[factory]
    alone = annotation(nlp(doc(nlp, words)))
    for overwrite in (False, True):
        loaded = spacy.load(tmp_path, config={"components": {factory: {"overwrite": overwrite}}})
        assert loaded.get_pipe(factory).codec.overwrite is overwrite
        given = doc(loaded, words, **preset)
        before = annotation(given)
        assert before != alone
        assert annotation(loaded(given)) == (alone if overwrite else before)
