"""The largest weights of a label and the table of transitions, against what the decoder adds up."""

import logging
import pickle
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from spacy_ssvm.features.names import Source, feature_name
from spacy_ssvm.models.chain.weights import FORMAT
from spacy_ssvm.models.store import NAMES, DamagedModel, store_arrays

from ..pipeline.components import sequences
from ..pipeline.toy import EXAMPLES, SEQUENCES, TAGGED, blank, doc, tagged, tagger_examples, templates, train, trained

ALL = 1_000_000
HASHED = templates("bias", "lower[0]", "lower[-1]+lower[0]", "suffix2[0]", hash_bits=8)


def with_names(factory: str, **settings):
    return trained(factory, save_feature_names=True, **settings)


shared = cache(with_names)
"""A pipeline that no test changes."""


def weights_by_name(pipe, examples) -> dict[tuple[str, str], float]:
    """(label, feature) → weight of all features of some examples, as the decoder adds them up, those of 0 left out."""
    decoder, found = pipe._predictor(), {}
    extractor = decoder.extractor
    for example in examples:
        text, columns = (
            example.predicted,
            pipe.trained.structured.encode([example], [pipe.codec.gold(example)]).columns,
        )
        source = Source(text, extractor.reader.attributes, columns.keys, extractor.classes)
        for token, features in enumerate(decoder.contributions(columns)):
            for number, added in features:
                name = feature_name(extractor.templates[number], source, token)
                found.update(
                    {(label, name): float(weight) for label, weight in zip(pipe.weight_labels, added) if weight}
                )
    return found


@sequences
def test_the_largest_weights_of_a_label_are_those_that_the_decoder_adds(factory):
    nlp = shared(factory)
    pipe = nlp.get_pipe(factory)
    expected = weights_by_name(pipe, EXAMPLES[factory](nlp))
    for label in pipe.weight_labels:
        top = pipe.top_features(label, ALL)
        assert {(label, found.feature): found.weight for found in top} == {
            key: weight for key, weight in expected.items() if key[0] == label
        }
        sizes = [abs(found.weight) for found in top]
        assert sizes == sorted(sizes, reverse=True) and pipe.top_features(label, 3) == top[:3]


def test_an_entity_label_has_the_weights_of_all_its_weight_labels():
    ner = shared("ssvm_ner").get_pipe("ssvm_ner")
    parts = [found for position in "BILU" for found in ner.top_features(f"{position}-GPE", ALL)]
    assert sorted(ner.top_features("GPE", ALL)) == sorted(parts)


def test_features_that_share_a_row_share_its_name():
    nlp = with_names("ssvm_tagger", model=HASHED)
    tagger = nlp.get_pipe("ssvm_tagger")
    expected = weights_by_name(tagger, tagger_examples(nlp))
    found = {
        (top.label, name): top.weight
        for label in tagger.labels
        for top in tagger.top_features(label, ALL)
        for name in top.feature.split(" | ")
    }
    assert found == expected
    assert any(" | " in top.feature for top in tagger.top_features("NOUN", ALL))


@pytest.mark.parametrize("model", [None, HASHED])
def test_names_survive_files_and_learning_on(tmp_path, model):
    settings = {"save_feature_names": True, **({"model": model} if model else {})}
    nlp = trained("ssvm_tagger", **settings)
    tagger = nlp.get_pipe("ssvm_tagger")
    top = tagger.top_features("NOUN", ALL)
    tagger.to_disk(tmp_path / "tagger")
    loaded = blank("ssvm_tagger", **settings)
    again = loaded.get_pipe("ssvm_tagger").from_disk(tmp_path / "tagger")
    assert again.top_features("NOUN", ALL) == top == pickle.loads(pickle.dumps(tagger)).top_features("NOUN", ALL)
    assert (
        again.to_bytes() == tagger.to_bytes() == trained("ssvm_tagger", **settings).get_pipe("ssvm_tagger").to_bytes()
    )
    new = tagged(loaded, "Zebras sleep", "NOUN VERB")
    train(loaded, [*tagger_examples(loaded), new], 2)
    names = {name for found in again.top_features("NOUN", ALL) for name in found.feature.split(" | ")}
    assert "lower[0] = zebras" in names
    assert set(weights_by_name(again, [new])) <= {
        (label, name)
        for label in again.labels
        for found in again.top_features(label, ALL)
        for name in found.feature.split(" | ")
    }
    again.add_label("INTJ")
    assert {name for found in again.top_features("NOUN", ALL) for name in found.feature.split(" | ")} == names


def test_names_are_pruned_with_their_weights():
    whole = with_names("ssvm_tagger").get_pipe("ssvm_tagger")
    pruned = blank("ssvm_tagger").get_pipe("ssvm_tagger")
    pruned.from_bytes(with_names("ssvm_tagger", keep_fraction=0.2).get_pipe("ssvm_tagger").to_bytes())
    kept, before = (set(tagger.top_features("NOUN", ALL)) for tagger in (pruned, whole))
    assert kept < before
    assert len(pruned.model.attrs[NAMES]) < len(whole.from_bytes(whole.to_bytes()).model.attrs[NAMES])


def test_without_the_setting_nothing_is_saved_of_names(caplog):
    plain, named = (trained("ssvm_tagger", save_feature_names=named).get_pipe("ssvm_tagger") for named in (False, True))
    with caplog.at_level(logging.INFO, "spacy"):
        size = len(plain.to_bytes())
        assert not caplog.records
        named_size = len(named.to_bytes())
    assert NAMES not in plain.model.attrs
    (message,) = (record.getMessage() for record in caplog.records)
    cost = len(named.from_bytes(named.to_bytes()).model.attrs[NAMES])
    assert f"the names of the features take {cost:,} of the model's " in message
    assert cost < named_size - size < cost + 100
    # What a file without names is loaded over is forgotten.
    named.from_bytes(plain.to_bytes())
    assert named.to_bytes() == plain.to_bytes()
    with pytest.raises(ValueError, match="save_feature_names = true"):
        named.top_features("NOUN")


def test_features_of_before_names_were_collected_have_none():
    nlp = blank("ssvm_tagger", save_feature_names=True)
    tagger = nlp.get_pipe("ssvm_tagger").from_bytes(trained("ssvm_tagger").get_pipe("ssvm_tagger").to_bytes())
    train(nlp, [tagged(nlp, "Zebras sleep", "NOUN VERB")], 1)
    names = {found.feature for found in tagger.top_features("NOUN", ALL)}
    assert {"?", "lower[0] = zebras"} <= names


def test_values_of_real_features_are_one_feature():
    from spacy.tokens import Token

    Token.set_extension("heat_of_test", getter=lambda token: len(token.text) / 7, force=True)
    tagger = with_names("ssvm_tagger", model=templates("bias", "_.heat_of_test[0]")).get_pipe("ssvm_tagger")
    names = [found.feature for found in tagger.top_features("NOUN", ALL)]
    assert sorted(names) == ["_.heat_of_test[0] = number", "bias"]


def test_what_cannot_be_listed_is_refused():
    tagger = shared("ssvm_tagger").get_pipe("ssvm_tagger")
    with pytest.raises(ValueError, match=r"unknown label 'XYZ': the labels are ADJ, ADV"):
        tagger.top_features("XYZ")
    with pytest.raises(ValueError, match="n must be a whole number of at least 1, not 0"):
        tagger.top_features("NOUN", 0)
    untrained = blank("ssvm_tagger", save_feature_names=True).get_pipe("ssvm_tagger")
    for ask in (lambda: untrained.top_features("NOUN"), lambda: untrained.transitions):
        with pytest.raises(ValueError, match="has no labels yet"):
            ask()
    nlp = blank("ssvm_tagger", save_feature_names=True)
    nlp.initialize(lambda: tagger_examples(nlp))
    assert nlp.get_pipe("ssvm_tagger").top_features("NOUN") == []


@pytest.mark.parametrize("damage", [lambda names: names[:-3], lambda names: names[:0], lambda names: None, list])
def test_damaged_names_are_refused(damage):
    tagger = shared("ssvm_tagger").get_pipe("ssvm_tagger")
    loaded = blank("ssvm_tagger", save_feature_names=True).get_pipe("ssvm_tagger").from_bytes(tagger.to_bytes())
    before, model = loaded.to_bytes(), loaded.model.copy()
    model.attrs[NAMES] = damage(model.attrs[NAMES])
    arrays = {name: model.get_param(name) for name in model.param_names if name not in ("shape", "digest")}
    store_arrays(model, arrays, model.get_param("shape")[2:], loaded.weight_labels, version=FORMAT)
    other = blank("ssvm_tagger").get_pipe("ssvm_tagger").from_bytes(tagger.to_bytes())
    other.trained = replace(other.trained, model=model)
    with pytest.raises(DamagedModel, match="the names of its features are damaged"):
        loaded.from_bytes(other.to_bytes())
    assert loaded.to_bytes() == before


@pytest.mark.parametrize("factory", [factory for factory in SEQUENCES if factory != "ssvm_lemmatizer"])
def test_transitions_are_what_neighbouring_labels_add(factory):
    nlp = trained(factory)
    pipe = nlp.get_pipe(factory)
    labels, weights = pipe.transitions
    text = doc(nlp, TAGGED[0][0])
    (((_, scored),),) = pipe._predictor().scored([text])
    assert labels == pipe.weight_labels
    assert np.array_equal(weights == -np.inf, scored.transitions < -1e29)
    assert np.array_equal(np.where(weights == -np.inf, 0, weights), np.where(weights == -np.inf, 0, scored.transitions))
    lines = pipe.transitions.text().split("\n")
    table = [line.split() for line in lines if line.strip("- ")]
    assert table[0] == list(labels)
    assert [row[0] for row in table[1:]] == list(labels)
    assert table[1][1:] == ["-" if weight == -np.inf else f"{weight:+.2f}" for weight in weights[0]]
    assert (factory == "ssvm_ner") == any("-" in row[1:] for row in table[1:])
