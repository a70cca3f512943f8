"""A loaded component that learns from a few examples: these are right, and the rest of its annotation stays."""

import numpy as np
import pytest
from spacy.tokens import Doc
from spacy.training import Example

from spacy_ssvm.models.chain.completion import new_labels_ruled_out
from spacy_ssvm.models.chain.data import dimension
from spacy_ssvm.models.chain.weights import split
from spacy_ssvm.models.frequency import NEW_LABEL_COST, exponents, rates
from spacy_ssvm.models.packing import unpack_numbers
from spacy_ssvm.models.tree.data import n_rows
from spacy_ssvm.solvers.dcd import Dcd
from spacy_ssvm.solvers.perceptron import Perceptron
from spacy_ssvm.solvers.sap import Sap

from .components import COMPONENTS, NEW_LABEL, SCORE, every, learnt, sequences
from .toy import (
    EXAMPLES,
    SMALL_TREE,
    annotations,
    blank,
    morphs_of,
    ner_examples,
    tagged,
    teach,
    templates,
    train,
    trained,
)

CORRECTED = {
    "ssvm_tagger": {"tags": ["DET", "NOUN", "VERB", "ADV"]},
    "ssvm_morphologizer": morphs_of(["DET", "NOUN", "VERB", "ADV"]),
    "ssvm_ner": {"ents": ["O", "O", "O", "B-GPE"]},
    "ssvm_senter": {"sent_starts": [True, False, False, True]},
    "ssvm_lemmatizer": {"lemmas": ["the", "zebra", "see", "Ulm"]},
    "ssvm_parser": {"heads": [1, 2, 2, 2], "deps": ["det", "nsubj", "ROOT", "nmod"]},
}
WORDS = ["The", "zebra", "sees", "Ulm"]


def corrected(nlp, factory: str) -> Example:
    return Example(Doc(nlp.vocab, words=WORDS), Doc(nlp.vocab, words=WORDS, **CORRECTED[factory]))


def seen(pipe) -> np.ndarray | None:
    structured = pipe.trained.structured
    counts = structured.load().seen
    return unpack_numbers(counts, n_rows(structured.shape)) if pipe.name == "ssvm_parser" else counts


@every
def test_one_correction_is_learnt_at_once_and_everything_else_stays(factory):
    nlp = learnt(factory)
    nlp.resume_training()
    example, before = corrected(nlp, factory), annotations(nlp, [COMPONENTS[factory].corpus])
    assert nlp.evaluate([example])[SCORE[factory]] < 1.0
    nlp.update([corrected(nlp, factory)], sgd=False)
    assert nlp.evaluate([corrected(nlp, factory)])[SCORE[factory]] == 1.0
    assert annotations(nlp, [COMPONENTS[factory].corpus]) == before
    assert nlp.get_pipe(factory).certificate() is None


@sequences
@pytest.mark.parametrize("solver", [Perceptron(), Dcd(), Sap()], ids=lambda solver: type(solver).__name__)
def test_another_solver_goes_on_from_all_weights_of_a_corrected_component(factory, solver):
    nlp = learnt(factory)
    pipe = nlp.get_pipe(factory)
    nlp.update([corrected(nlp, factory)], sgd=False)
    n_rows, before = len(pipe.trained.structured.load().keys), annotations(nlp)
    pipe.retune(solver)
    assert len(pipe.trained.training.data.features) >= n_rows and annotations(nlp) == before
    nlp.update(EXAMPLES[factory](nlp), sgd=False)
    assert nlp.evaluate(EXAMPLES[factory](nlp))[SCORE[factory]] > 0.9


def test_a_head_that_the_first_pass_drops_is_learnt():
    nlp = learnt("ssvm_parser", model={**SMALL_TREE, "margin": 0.0})
    words, tree = ["The", "dog", "sleeps"], {"heads": [0, 0, 0], "deps": ["ROOT", "nsubj", "obj"]}
    example = Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words, **tree))
    nlp.update([example], sgd=False)
    found = nlp.get_pipe("ssvm_parser")(Doc(nlp.vocab, words=words))
    assert [token.head.i for token in found] == tree["heads"]


@every
def test_an_example_that_is_right_changes_no_byte(factory):
    nlp = learnt(factory)
    pipe = nlp.get_pipe(factory)
    before = pipe.to_bytes(exclude=["vocab"])
    losses = nlp.update(EXAMPLES[factory](nlp), sgd=False)
    assert losses == {factory: 0.0}
    loads = [blank(factory).get_pipe(factory).from_bytes(data) for data in (pipe.to_bytes(), before)]
    for mine, others in zip(*(pipe.trained.structured.load()[:2] for pipe in loads)):
        for part, other in zip(mine, others) if isinstance(mine, tuple) else [(mine, others)]:
            assert np.array_equal(part, other)


@every
def test_training_from_zero_saves_how_often_features_were_seen(factory):
    nlp = trained(factory)
    once = seen(blank(factory).from_bytes(nlp.to_bytes()).get_pipe(factory))
    assert once.dtype == np.uint8 and once.max() > 1
    twice = blank(factory)
    teach(twice, [*EXAMPLES[factory](twice), *EXAMPLES[factory](twice)])
    assert seen(blank(factory).from_bytes(twice.to_bytes()).get_pipe(factory)).max() > once.max()


def test_a_feature_of_every_token_is_counted_once_a_token():
    nlp = blank("ssvm_tagger", model=templates("bias", "lower[0]"))
    examples = [tagged(nlp, "the dog sleeps", "DET NOUN VERB"), tagged(nlp, "the cat eats", "DET NOUN VERB")]
    teach(nlp, examples)
    pipe = blank("ssvm_tagger", model=templates("bias", "lower[0]")).from_bytes(nlp.to_bytes()).get_pipe("ssvm_tagger")
    counts = np.array([6, 2, 1, 1, 1, 1])
    assert sorted(seen(pipe).tolist()) == sorted(exponents(counts, None).tolist())


def test_rates_are_the_inverse_of_the_counts_up_to_rounding():
    counts = np.array([0, 1, 2, 3, 10, 1000, 10**6])
    assert np.allclose(rates(exponents(counts, None)) * (1 + counts), 1, rtol=0.42)
    assert exponents(np.array([1, 100]), np.array([5], np.uint8)).tolist() == [5, 7]


def test_training_that_gets_new_labels_is_no_correction():
    """Its solver goes on, from the weights, and so does its certificate."""
    nlp = blank("ssvm_ner")
    examples = ner_examples(nlp)
    teach(nlp, examples[:2], 2)
    nlp.get_pipe("ssvm_ner").add_label("ORG")
    train(nlp, examples, 3)
    assert nlp.get_pipe("ssvm_ner").certificate() is not None


@every
def test_by_setting_the_solver_goes_on_from_the_weights(factory):
    nlp = learnt(factory, corrections=False)
    train(nlp, EXAMPLES[factory](nlp), 2)
    assert (nlp.get_pipe(factory).certificate() is not None) == nlp.get_pipe(
        factory
    ).trained.training.data.problem().exact


POSITIVE = {"ssvm_tagger": {"tags": ["", "", "", "INTJ"]}, "ssvm_ner": {"ents": ["", "", "", "B-ORG"]}}
"""Only a token of a new label is annotated."""


def positive(nlp, factory: str) -> Example:
    return Example(Doc(nlp.vocab, words=WORDS), Doc(nlp.vocab, words=WORDS, **POSITIVE[factory]))


@pytest.mark.parametrize("factory", POSITIVE)
def test_what_a_correction_leaves_open_stays_as_the_loaded_model_predicts_it(factory):
    """A new label, of which only positives are annotated, spreads to no other token."""
    nlp = learnt(factory)
    before = annotations(nlp, [COMPONENTS[factory].corpus])
    attribute = "tag_" if factory == "ssvm_tagger" else "ent_type_"
    predicted = [getattr(token, attribute) for token in nlp(Doc(nlp.vocab, words=WORDS))]
    for _ in range(3):
        nlp.update([positive(nlp, factory)], sgd=False)
    found = [getattr(token, attribute) for token in nlp(Doc(nlp.vocab, words=WORDS))]
    assert found == [*predicted[:3], NEW_LABEL[factory]]
    assert annotations(nlp, [COMPONENTS[factory].corpus]) == before
    data = nlp.get_pipe(factory).trained.training.data
    assert not data.is_incomplete() and (data.problem().data.costs == [1, 1, 1, NEW_LABEL_COST]).all()


def test_a_completion_has_no_label_that_has_no_weight():
    """Whatever the scores of learnt labels are: here all of them are negative."""
    vector = np.zeros(dimension(3, 2))
    split(vector, 3)[1][:, :2] = -5.0
    before = vector.copy()
    with new_labels_ruled_out(vector, np.array([False, False, True])):
        transitions, rows = split(vector, 3)
        assert (transitions[2] < -1e5).all() and (transitions[:, 2] < -1e5).all() and (transitions[:2, :2] == 0).all()
        assert np.array_equal(rows, split(before, 3)[1])
    assert np.array_equal(vector, before)


def have_new(nlp, factory: str) -> list[bool] | None:
    """Which of the examples of its training have a new label; None where no label is new."""
    found = nlp.get_pipe(factory).trained.training.data.problem().corrections.have_new_labels
    return None if found is None else found.tolist()


@pytest.mark.parametrize("factory", POSITIVE)
@pytest.mark.parametrize("is_added_before", [True, False])
def test_only_examples_of_new_labels_are_more_than_corrections(factory, is_added_before):
    nlp = learnt(factory)
    if is_added_before:
        nlp.get_pipe(factory).add_label(NEW_LABEL[factory])
        nlp = blank(factory).from_bytes(nlp.to_bytes())
    else:
        nlp.update([corrected(nlp, factory)], sgd=False)
        assert have_new(nlp, factory) is None
    nlp.update([corrected(nlp, factory), positive(nlp, factory)], sgd=False)
    assert have_new(nlp, factory) == [False, True]
    nlp = blank(factory).from_bytes(nlp.to_bytes())
    nlp.update([positive(nlp, factory)], sgd=False)
    assert have_new(nlp, factory) is None, "it is not new any more"


def test_by_setting_the_solver_completes_before_each_epoch():
    nlp = learnt("ssvm_ner", corrections=False)
    nlp.update([positive(nlp, "ssvm_ner")], sgd=False)
    assert nlp.get_pipe("ssvm_ner").trained.training.data.is_incomplete()


def test_a_tree_that_is_annotated_in_part_is_completed_once_too():
    nlp = learnt("ssvm_parser")
    predicted = nlp(Doc(nlp.vocab, words=WORDS, sent_starts=[True, False, False, False]))
    before = [(token.head.i, token.dep_) for token in predicted]
    deps = ["", "", "", "vocative"]
    gold = Doc(nlp.vocab, words=WORDS, heads=[token.head.i for token in predicted], deps=deps)
    nlp.update([Example(Doc(nlp.vocab, words=WORDS), gold)], sgd=False)
    after = nlp(Doc(nlp.vocab, words=WORDS, sent_starts=[True, False, False, False]))
    assert [(token.head.i, token.dep_) for token in after] == [*before[:3], (before[3][0], "vocative")]
    assert not nlp.get_pipe("ssvm_parser").trained.training.data.is_incomplete()


def test_training_from_zero_warns_where_nothing_is_known_to_be_outside_entities():
    nlp = blank("ssvm_ner")
    with pytest.warns(UserWarning, match="no training token is known to be outside entities"):
        nlp.initialize(lambda: [positive(nlp, "ssvm_ner")])
