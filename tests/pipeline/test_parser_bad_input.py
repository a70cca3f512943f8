"""What a user of `ssvm_parser` gets wrong, and what happens to its files, is said in one sentence."""

import math
import pickle
import random

import numpy as np
import pytest
import spacy
import srsly
from spacy.tokens import Doc, Token
from spacy.training import Example

from spacy_ssvm.models.store import DamagedModel

from .toy import (
    SMALL_TREE,
    STRUCTURES,
    TREES,
    annotation,
    arc_templates,
    blank,
    doc,
    parser_examples,
    templates,
    train,
    trained,
    tree_of,
    weights,
)

FEATURES = SMALL_TREE["features"]


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"structure": "crossing"}, "structure"),
        ({"structure": "projective", "order": 4}, "model.order 1, 2 or 3, .* not 'projective' with 4"),
        ({"structure": "nonprojective", "order": 3}, "model.order .* not 'nonprojective' with 3"),
        ({"structure": "projective", "order": 0}, "model.order .* not 'projective' with 0"),
        ({"max_heads": -1}, "model.max_heads and model.margin must not be negative"),
        ({"margin": -0.5}, "model.max_heads and model.margin must not be negative"),
        ({"features": {**FEATURES, "tags": []}}, "features.tags is empty"),
        ({"features": {**FEATURES, "tags": ["tog"]}}, "tog"),
        ({"features": {**FEATURES, "hash_bits": 4}}, "features.hash_bits must be between 8 and 28, not 4"),
        (
            {"features": {**FEATURES, "label_hash_bits": 40}},
            "features.label_hash_bits must be between 8 and 28, not 40",
        ),
    ],
)
def test_settings_out_of_range(settings, complaint):
    with pytest.raises(ValueError, match=complaint):
        blank("ssvm_parser", model={**SMALL_TREE, **settings})


@pytest.mark.parametrize(
    "text", ["lower[0]", "head.lower", "head.lowr[0]", "head.lower[0]+head.lower[0]", "head.gaz_x[0]"]
)
def test_bad_templates_are_refused_when_the_config_is_read(text):
    with pytest.raises(ValueError) as refusal:
        blank("ssvm_parser", model=arc_templates(text))
    assert f'"{text}"' in str(refusal.value)


def test_models_of_the_other_kind():
    with pytest.raises(ValueError, match=r'\[ssvm_parser\] model must be of the architecture "spacy-ssvm\.Tree\.v1"'):
        blank("ssvm_parser", model=templates("lower[0]"))
    with pytest.raises(ValueError, match=r"\[ssvm_tagger\].*spacy-ssvm\.Chain\.v1"):
        blank("ssvm_tagger", model=SMALL_TREE)


@pytest.mark.parametrize("label", ["", None, 3])
def test_labels_that_are_none(label):
    nlp = blank("ssvm_parser")
    parser = nlp.get_pipe("ssvm_parser")
    with pytest.raises(ValueError, match=r"\[ssvm_parser\] a label must be a non-empty string"):
        parser.add_label(label)
    with pytest.raises(ValueError, match=r"\[ssvm_parser\] a label must be a non-empty string"):
        parser.initialize(lambda: parser_examples(nlp), nlp=nlp, labels=["nsubj", label])
    with pytest.raises(ValueError, match=r"\[ssvm_parser\] initialize: labels must be a list"):
        parser.initialize(lambda: parser_examples(nlp), nlp=nlp, labels="nsubj")


def test_values_that_are_not_finite_name_the_token():
    nlp = blank("ssvm_parser", model=arc_templates("mod._.reading[0]"))
    Token.set_extension("reading", getter=lambda token: math.nan if token.text == "ham" else 1.0, force=True)
    try:
        with pytest.raises(ValueError, match=r'token 2 \("ham"\).*_\.reading has a value that is not finite'):
            nlp.initialize(lambda: parser_examples(nlp, [("Eat blue ham", "ROOT:1 amod:3 obj:1")]))
    finally:
        Token.remove_extension("reading")


def test_clusters_that_cannot_be_read(tmp_path):
    features = {**FEATURES, "clusters": str(tmp_path / "none.txt")}
    nlp = blank("ssvm_parser", model={**SMALL_TREE, "features": features})
    with pytest.raises((ValueError, OSError), match=r"none\.txt"):
        nlp.initialize(lambda: parser_examples(nlp))


def test_gold_that_cannot_be_learnt_is_counted_each_time_with_its_reason():
    nlp = blank("ssvm_parser")
    crossing = ("a b c d", "x:3 y:4 ROOT:3 z:3")
    other_sentence = Example(
        Doc(nlp.vocab, words=["Eat", "ham"], sent_starts=[True, True]),
        Doc(nlp.vocab, words=["Eat", "ham"], heads=[0, 0], deps=["ROOT", "obj"]),
    )
    with pytest.warns(UserWarning) as caught:
        nlp.initialize(lambda: [*parser_examples(nlp, [*TREES, crossing]), other_sentence])
    messages = [str(warning.message) for warning in caught if "which no training Doc has" not in str(warning.message)]
    assert len(messages) == 2
    assert "1 of 28 gold heads lie in another sentence" in messages[0]
    assert "1 of 8 examples have annotation that this component cannot produce" in messages[1]


@pytest.mark.parametrize(("structure", "order"), STRUCTURES)
def test_projected_gold_keeps_the_certificate(structure, order):
    """A gold tree that the structure has not would give negative slacks."""
    nlp = blank("ssvm_parser", model=tree_of(structure, order), solver_settings={"tolerance": 0.0, "C": 1.0})
    crossing = ("a b c d e", "x:3 y:4 ROOT:3 z:3 x:2")
    examples = parser_examples(nlp, [*TREES, crossing])
    if structure == "projective":
        with pytest.warns(UserWarning, match="1 of 7 examples"):
            nlp.initialize(lambda: examples)
    else:
        nlp.initialize(lambda: examples)
    for _ in range(6):
        nlp.update(examples, sgd=False)
        if (structure, order) != ("nonprojective", 2):
            certificate = nlp.get_pipe("ssvm_parser").certificate()
            assert certificate.gap >= -1e-9 * certificate.primal
    tokens = nlp(doc(nlp, crossing[0]))
    right = sum(token.head.i + 1 == int(arc.split(":")[1]) for token, arc in zip(tokens, crossing[1].split()))
    assert (right == 5) == (structure == "nonprojective")


@pytest.fixture(scope="module")
def saved() -> bytes:
    return trained("ssvm_parser", 3).get_pipe("ssvm_parser").to_bytes(exclude=["vocab"])


def test_bytes_that_were_changed_anywhere_are_refused_or_mean_the_same(saved):
    """Some at random, and some of the beginning and the end, where names and settings are."""
    nlp, intact = trained("ssvm_parser", 1), blank("ssvm_parser")
    intact.get_pipe("ssvm_parser").from_bytes(saved, exclude=["vocab"])
    right = [annotation(intact(doc(intact, text))) for text, _ in TREES]
    before = weights(nlp, "ssvm_parser")
    rng = random.Random(0)
    refused = 0
    for place in [*range(0, 40, 3), *rng.sample(range(len(saved)), 30), *range(len(saved) - 40, len(saved), 3)]:
        damaged = bytearray(saved)
        damaged[place] ^= 1 << rng.randrange(8)
        loaded = pickle.loads(pickle.dumps(nlp.get_pipe("ssvm_parser")))
        try:
            loaded.from_bytes(bytes(damaged), exclude=["vocab"])
        except DamagedModel as error:
            assert str(error).startswith("[ssvm_parser] the saved component cannot be loaded")
            assert loaded.to_bytes(exclude=["vocab"]) == before
            refused += 1
        else:
            assert [annotation(loaded(doc(nlp, text))) for text, _ in TREES] == right
    assert refused > 30


@pytest.mark.parametrize(
    "change",
    [
        {"labels": ["nsubj"]},
        {"labels": "nsubj"},
        {"labels": [1, 2]},
        {"multi_root": "no"},
        {"labels": None},
    ],
)
def test_a_cfg_that_does_not_fit(saved, change):
    fields = srsly.msgpack_loads(saved)
    fields["cfg"] = srsly.json_dumps({**srsly.json_loads(fields["cfg"]), **change})
    nlp = blank("ssvm_parser")
    with pytest.raises(DamagedModel, match=r"\[ssvm_parser\]"):
        nlp.get_pipe("ssvm_parser").from_bytes(srsly.msgpack_dumps(fields), exclude=["vocab"])
    assert nlp.get_pipe("ssvm_parser").labels == ()
    assert nlp.get_pipe("ssvm_parser").cfg["multi_root"] is False


@pytest.mark.parametrize("attribute", ["hash_bits", "structure", "order", "max_heads", "arcs", "first_pass"])
def test_model_settings_that_were_changed(attribute):
    nlp = trained("ssvm_parser", 3)
    parser = nlp.get_pipe("ssvm_parser")
    parser.from_bytes(parser.to_bytes(exclude=["vocab"]))
    change = {
        "hash_bits": 60,
        "structure": "nonprojective",
        "order": 1,
        "max_heads": 1,
        "arcs": ["x"],
        "first_pass": [],
    }
    parser.model.attrs[attribute] = change[attribute]
    data = parser.model.to_bytes()
    fresh = trained("ssvm_parser", 1)
    before = [annotation(fresh(doc(fresh, text))) for text, _ in TREES]
    fields = srsly.msgpack_loads(fresh.get_pipe("ssvm_parser").to_bytes(exclude=["vocab"]))
    fields["model"] = data
    with pytest.raises(DamagedModel, match="cannot be loaded"):
        fresh.get_pipe("ssvm_parser").from_bytes(srsly.msgpack_dumps(fields), exclude=["vocab"])
    assert [annotation(fresh(doc(fresh, text))) for text, _ in TREES] == before


def test_files_that_are_missing(tmp_path):
    nlp = trained("ssvm_parser", 1)
    for name in ("cfg", "model"):
        nlp.get_pipe("ssvm_parser").to_disk(tmp_path / name, exclude=["vocab"])
        (tmp_path / name / name).unlink()
        with pytest.raises(DamagedModel):
            blank("ssvm_parser").get_pipe("ssvm_parser").from_disk(tmp_path / name, exclude=["vocab"])


def test_a_tagger_s_file():
    data = trained("ssvm_tagger", 1).get_pipe("ssvm_tagger").to_bytes(exclude=["vocab"])
    with pytest.raises(DamagedModel):
        blank("ssvm_parser").get_pipe("ssvm_parser").from_bytes(data, exclude=["vocab"])


def test_examples_without_anything_to_learn_change_nothing():
    nlp = trained("ssvm_parser", 3)
    before = weights(nlp, "ssvm_parser")
    empty = Example(Doc(nlp.vocab), Doc(nlp.vocab))
    bare = Example(doc(nlp, "Eat ham"), doc(nlp, "Eat ham"))
    cyclic = Example(
        Doc(nlp.vocab, words=["a", "b", "c"], sent_starts=[True, False, False]),
        Doc(nlp.vocab, words=["a", "b", "c"], heads=[0, 1, 2], deps=["x"] * 3),
    )
    cyclic.reference.from_array(["HEAD"], np.array([1, -1, -1]).astype(np.int64).view(np.uint64))
    losses = nlp.update([empty, bare, cyclic], sgd=False)
    assert losses == {"ssvm_parser": 0.0}
    assert nlp.get_pipe("ssvm_parser").update([]) == {"ssvm_parser": 0.0}
    assert weights(nlp, "ssvm_parser") == before
    train(nlp, parser_examples(nlp), 10)
    assert nlp.evaluate(parser_examples(nlp))["las"] == 1.0


def test_what_a_newer_version_wrote_is_refused_as_such(tmp_path):
    nlp = trained("ssvm_parser", 1)
    model = nlp.get_pipe("ssvm_parser").model
    nlp.to_bytes()
    shape = model.get_param("shape").copy()
    shape[0] += 1
    model.set_param("shape", shape)
    nlp.get_pipe("ssvm_parser")._learnt.training = None
    nlp.to_disk(tmp_path)
    with pytest.raises(DamagedModel, match="newer version"):
        spacy.load(tmp_path)
