"""The first pass of chains, whose labels of a word's other occurrences in the Doc are an attribute."""

from functools import partial

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from spacy_ssvm.models.chain.weights import as_vector
from spacy_ssvm.models.store import DamagedModel
from spacy_ssvm.pipeline import trained_state
from spacy_ssvm.training import first_pass

TEMPLATES = ["bias", "lower[0]", "lower[-1]", "short_shape[0]"]
READS_LABELS = ["doc.label[0]", "doc.label[0]+short_shape[0]"]
SOLVER = {"@ssvm_solvers": "spacy-ssvm.DCD.v1", "C": 1.0}


def pipeline(extra=READS_LABELS, hash_bits=None, **config):
    nlp = spacy.blank("en")
    features = {"@ssvm_features": "spacy-ssvm.Templates.v1", "templates": TEMPLATES + extra, "hash_bits": hash_bits}
    model = {"@architectures": "spacy-ssvm.Chain.v1", "features": features}
    nlp.add_pipe("ssvm_ner", config={"model": model, "solver": SOLVER, **config})
    return nlp


def documents(nlp, n, seed=0):
    """Documents of two names, a person and a place, which no other has; only the words before one of two tell which."""
    rng = np.random.default_rng(seed)
    examples = []
    for _ in range(n):
        names = ["".join(rng.choice(list("abcdefghij"), 6)).title() for _ in range(2)]
        order = [0, 1] if rng.random() < 0.5 else [1, 0]
        words = []
        ents = []
        for kind in order:
            words += [("mr", "in")[kind], names[kind], "and", names[kind], "."]
            ents += ["O", ("B-PER", "B-LOC")[kind]] * 2 + ["O"]
        reference = Doc(nlp.vocab, words=words, ents=ents)
        examples.append(Example(Doc(nlp.vocab, words=words), reference))
    return examples


def trained(nlp, n=40, epochs=5):
    examples = documents(nlp, n)
    nlp.initialize(partial(list, examples))
    for _ in range(epochs):
        nlp.update(examples)
    return examples


def entities(nlp, examples):
    docs = list(nlp.pipe([example.reference.copy() for example in unannotated(nlp, examples)]))
    return [[(ent.start, ent.end, ent.label_) for ent in doc.ents] for doc in docs]


def unannotated(nlp, examples):
    docs = [Doc(nlp.vocab, words=[token.text for token in example.reference]) for example in examples]
    return [Example(doc, doc) for doc in docs]


@pytest.fixture(scope="module")
def nlp():
    made = pipeline()
    trained(made)
    return made


def test_other_occurrences_tell_what_a_word_is(nlp):
    plain = pipeline(extra=[])
    trained(plain)
    new = documents(nlp, 50, seed=1)
    assert nlp.evaluate(new)["ents_f"] == 1.0
    assert plain.evaluate(documents(plain, 50, seed=1))["ents_f"] < 0.9


def test_jackknifed_labels_come_from_chains_that_have_not_seen_the_document(monkeypatch):
    """Another annotation of a document changes those of others alone."""
    found = []
    learn = first_pass.learnt_first_pass
    monkeypatch.setattr(
        trained_state, "learnt_first_pass", lambda *arguments: found.append(learn(*arguments)) or found[-1]
    )
    for changed in (False, True):
        made = pipeline()
        examples = documents(made, 20)
        if changed:
            reference = examples[7].reference
            reference.set_ents([spacy.tokens.Span(reference, 0, 1, "LOC"), spacy.tokens.Span(reference, 4, 5, "PER")])
        made.initialize(partial(list, examples))
    before, after = (list(learnt.jackknifed.values()) for learnt in found)
    assert len(before) == len(after) == 20
    assert before[7].tolist() == after[7].tolist()
    assert as_vector(found[0].weights).tolist() != as_vector(found[1].weights).tolist()


@pytest.mark.parametrize(("hash_bits", "weight_dtype"), [(None, "float32"), (12, "int8")])
def test_saved_and_loaded(hash_bits, weight_dtype):
    made = pipeline(hash_bits=hash_bits, weight_dtype=weight_dtype)
    trained(made)
    new = documents(made, 20, seed=1)
    loaded = pipeline(hash_bits=hash_bits, weight_dtype=weight_dtype).from_bytes(made.to_bytes())
    assert loaded.to_bytes() == made.to_bytes()
    assert entities(loaded, new) == entities(made, new)


def test_batches_and_single_docs(nlp):
    new = documents(nlp, 10, seed=1)
    assert entities(nlp, new) == [entities(nlp, [one])[0] for one in new]


def test_analyses(nlp):
    pipe = nlp.get_pipe("ssvm_ner")
    doc = documents(nlp, 1, seed=2)[0].predicted
    best = entities(nlp, [Example(doc, doc)])[0]
    assert pipe.kbest(doc, 2)[0][1] == best
    named = pipe.explain(doc).text(30)
    assert "doc.label[0] = PER, all of 1" in named and "doc.label[0]+short_shape[0] = LOC, all of 1 + Xx" in named


def test_a_damaged_first_pass_is_refused(nlp):
    for name in ("transitions", "keys", "indices", "values"):
        damaged = pipeline().from_bytes(nlp.to_bytes())
        model = damaged.get_pipe("ssvm_ner").model
        array = model.get_param(f"first_pass_{name}").copy()
        array.flat[-1] += 1
        model.set_param(f"first_pass_{name}", array)
        with pytest.raises(DamagedModel, match="digest"):
            pipeline().get_pipe("ssvm_ner").from_bytes(damaged.get_pipe("ssvm_ner").to_bytes())


def test_other_chains_have_no_first_pass():
    names = pipeline(extra=["doc.shape[0]"]).get_pipe("ssvm_ner").model.param_names
    assert not [name for name in names if name.startswith("first_pass")]


def test_learning_goes_on_with_the_same_first_pass(nlp):
    loaded = pipeline().from_bytes(nlp.to_bytes())
    model = loaded.get_pipe("ssvm_ner").model
    before = {name: model.get_param(name) for name in model.param_names if name.startswith("first_pass")}
    assert before
    more = documents(loaded, 10, seed=3)
    loaded.update(more)
    for example in more:
        example.predicted.ents = []
    again = pipeline().from_bytes(loaded.to_bytes())
    for name, values in before.items():
        assert again.get_pipe("ssvm_ner").model.get_param(name).tolist() == values.tolist()
    assert again.evaluate(documents(again, 20, seed=1))["ents_f"] == 1.0


def test_resumed_training_equals_training_in_one_go():
    """Documents that come back get the labels that were jackknifed."""
    straight, halted = (pipeline(save_solver_state=True) for _ in range(2))
    trained(straight, epochs=6)
    trained(halted, epochs=2)
    resumed = pipeline(save_solver_state=True).from_bytes(halted.to_bytes())
    examples = documents(resumed, 40)
    for _ in range(4):
        resumed.update(examples)
    assert resumed.get_pipe("ssvm_ner").to_bytes() == straight.get_pipe("ssvm_ner").to_bytes()


def test_without_examples_nothing_is_read():
    made = pipeline()
    made.get_pipe("ssvm_ner").add_label("PER")
    made.get_pipe("ssvm_ner").add_label("LOC")
    made.initialize()
    for _ in range(3):
        made.update(documents(made, 10))
    loaded = pipeline().from_bytes(made.to_bytes())
    new = documents(loaded, 5, seed=1)
    assert entities(loaded, new) == entities(made, new)
    assert "doc.label" not in loaded.get_pipe("ssvm_ner").explain(new[0].predicted).text(30)
