"""`initialize` and `update`: what is learnt from, what is recognised, what is forgotten, what the weights are."""

import random
import warnings

import numpy as np
import pytest
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch
from thinc.api import Adam

from spacy_ssvm.solvers.learner import fit
from spacy_ssvm.training import training as training_module

from .components import COMPONENTS, LABELS, SCORE, assert_certified, every, learnt, learnt_as
from .toy import (
    DUAL_SOLVERS,
    EXAMPLES,
    SOLVERS,
    TAGGED,
    annotation,
    annotations,
    blank,
    doc,
    ner_examples,
    tagged,
    tagger_examples,
    teach,
    templates,
    train,
    trained,
    weights,
)

NEVER_DONE = {"tolerance": 0.0}


def sentences(number: int) -> list[tuple[str, str]]:
    """Distinct sentences of one pattern with words of their own."""
    return [(f"the noun{i} verb{i}s adj{i}", "DET NOUN VERB ADJ") for i in range(number)]


@every
def test_losses_are_added_up_under_the_component_s_name(factory):
    nlp = blank(factory)
    nlp.rename_pipe(factory, "mine")
    examples, losses = EXAMPLES[factory](nlp), {"mine": 100.0, "other": 1.0}
    nlp.initialize(lambda: examples)
    assert nlp.get_pipe("mine").update(examples, losses=losses) is losses
    first = losses["mine"] - 100
    assert first > 0 and losses["other"] == 1.0
    assert nlp.update(examples, losses=losses)["mine"] >= first + 100
    assert all(isinstance(value, float) for value in losses.values())
    assert [nlp.update(examples, sgd=False)["mine"] for _ in range(20)][-1] < first


@every
def test_optimisers_and_dropout_mean_nothing_here(factory):
    """Whatever spaCy's loop brings along, the model is the same."""
    nlp, losses, sgd = blank(factory), {}, Adam(0.001, use_averages=True)
    examples, component = EXAMPLES[factory](nlp), nlp.get_pipe(factory)
    assert nlp.initialize(lambda: examples) is not None
    for _ in range(10):
        nlp.update(examples, sgd=sgd, losses=losses, drop=0.3)
    component.finish_update(sgd)
    assert component.is_trainable and component.model not in (True, False, None) and set(losses) == {factory}
    with nlp.use_params(sgd.averages or {}):
        assert weights(nlp, factory) == weights(learnt(factory), factory)
    assert annotations(nlp) == annotations(learnt(factory))


@every
def test_examples_with_nothing_to_learn_have_a_loss_of_zero(factory):
    """The training table wants a number for every component, whatever the batch was."""
    nlp = learnt(factory)
    before = weights(nlp, factory)
    bare = Example(doc(nlp, "No gold here"), doc(nlp, "No gold here"))
    for batch in ([Example(Doc(nlp.vocab), Doc(nlp.vocab))], [bare]):
        assert nlp.get_pipe(factory).update(batch) == nlp.update(batch) == {factory: 0.0}
    assert nlp.get_pipe(factory).update([]) == {factory: 0.0} and nlp.update([]) == {}
    assert weights(nlp, factory) == before


@every
def test_examples_without_annotation_are_left_out(factory):
    """Docs without any, empty ones, and those of whitespace only: their only trace is a warning."""
    nlp = blank(factory)
    bare = [Example(doc(nlp, text), doc(nlp, text)) for text in ("No gold here", COMPONENTS[factory].corpus[0][0])]
    spaces = Doc(nlp.vocab, words=[" ", "\n\n", "\t"], spaces=[False] * 3)
    others = [*bare, Example(Doc(nlp.vocab), Doc(nlp.vocab)), Example(spaces, spaces.copy())]
    examples = EXAMPLES[factory](nlp)
    with pytest.warns(UserWarning, match=rf"\[{factory}\] .* of .* (2 of 8 examples have none|no gold head)"):
        nlp.initialize(lambda: [others[0], *examples, *others[1:]])
    train(nlp, [*examples, *others])
    assert weights(nlp, factory) == weights(learnt(factory), factory)


@every
def test_predicted_docs_are_not_annotated_by_learning(factory):
    nlp = blank(factory)
    examples = EXAMPLES[factory](nlp)
    before = [annotation(example.predicted) for example in examples]
    nlp.initialize(lambda: examples)
    for _ in range(3):
        nlp.get_pipe(factory).update(examples)
    assert [annotation(example.predicted) for example in examples] == before


@every
def test_frozen_and_disabled_components_learn_nothing(factory):
    """They have no loss, and can annotate for those that learn."""
    nlp = learnt_as({"still": factory, "learning": "ssvm_tagger"})
    still, learning = weights(nlp, "still"), weights(nlp, "learning")
    new = [*EXAMPLES["ssvm_tagger"](nlp, [("Rome is big", "NOUN VERB ADJ")]), *EXAMPLES[factory](nlp)]
    assert set(nlp.update(new, exclude=["still"], annotates=["still"])) == {"learning"}
    with nlp.select_pipes(disable=["still"]):
        assert set(nlp.update(new)) == {"learning"}
    assert nlp.update(new, exclude=["still", "learning"]) == {}
    assert weights(nlp, "still") == still and weights(nlp, "learning") != learning


@every
def test_updating_without_initialize(factory):
    nlp = blank(factory)
    train(nlp, EXAMPLES[factory](nlp), 15)
    assert nlp.evaluate(EXAMPLES[factory](nlp))[SCORE[factory]] == 1


@every
@pytest.mark.parametrize("solver", SOLVERS)
def test_examples_are_recognised_by_content_in_any_order_within_a_batch(factory, solver):
    """Building the same examples anew in each epoch, in another order, gives the very model that keeping them gives."""
    kept = trained(factory, epochs=4, solver=solver)
    nlp = blank(factory, solver=solver)
    nlp.initialize(lambda: EXAMPLES[factory](nlp))
    for _ in range(4):
        nlp.update(random.sample(EXAMPLES[factory](nlp), len(COMPONENTS[factory].corpus)), sgd=False)
    assert nlp.get_pipe(factory).trained.training.epochs == kept.get_pipe(factory).trained.training.epochs
    assert weights(nlp, factory) == weights(kept, factory)


@every
def test_a_solver_without_a_seed_takes_that_of_the_training(factory):
    def model(of_training: int | None, seed: int | None = None) -> bytes:
        nlp = blank(factory, solver="Perceptron", solver_settings={"seed": seed})
        nlp.config["training"]["seed"] = of_training
        teach(nlp, EXAMPLES[factory](nlp), 3)
        assert nlp.get_pipe(factory).solver.seed == seed
        return weights(nlp, factory)

    assert model(1) == model(None, seed=1) == model(2, seed=1)
    assert model(0) == model(None) == model(1, seed=0) != model(1)


@pytest.mark.parametrize("solver", DUAL_SOLVERS)
@pytest.mark.parametrize(
    ("known", "corpus", "size", "epochs"),
    [
        (TAGGED, TAGGED, 4, [6]),
        (TAGGED * 3, TAGGED * 3, 100, [6]),
        (TAGGED[:1], [*TAGGED, *TAGGED[1:]], 100, [5, 6]),
        (TAGGED[:1], [*TAGGED[:4], TAGGED[0], *TAGGED[4:], *TAGGED[1:3]], 4, [5, 6]),
        (TAGGED, [*TAGGED[:4], TAGGED[0], *TAGGED[4:], *TAGGED[1:3]], 4, [5, 6]),
    ],
    ids=["in batches", "known", "unknown", "unknown, in other batches", "in other batches"],
)
def test_an_epoch_ends_when_all_have_been_seen_and_duplicates_count(solver, known, corpus, size, epochs):
    """However they are cut into batches. Copies are examples of their own, told apart in new objects and another order;
    they do not end an epoch.
    """
    nlp = blank("ssvm_tagger", solver=solver, solver_settings=NEVER_DONE)
    nlp.get_pipe("ssvm_tagger").initialize(lambda: tagger_examples(nlp, known), nlp, labels=LABELS["ssvm_tagger"])
    for epoch in range(1, 7):
        examples = tagger_examples(nlp, corpus)
        if known == corpus:
            random.shuffle(examples)
        for batch in minibatch(examples, size):
            nlp.update(batch, sgd=False)
        training = nlp.get_pipe("ssvm_tagger").trained.training
        assert known != corpus or training.epochs == epoch
    assert training.epochs in epochs
    assert len(training) == len(corpus) if size == 100 else len(training) <= len(corpus)
    assert_certified(nlp, "ssvm_tagger")


@pytest.mark.parametrize("solver", SOLVERS)
def test_repeated_references_in_one_batch(solver):
    """The repetition begins a new epoch: the same as two updates."""
    once, twice = (blank("ssvm_tagger", solver=solver) for _ in range(2))
    for nlp, repeat in ((once, 1), (twice, 2)):
        examples = tagger_examples(nlp)
        nlp.initialize(lambda examples=examples: examples)
        for _ in range(4 // repeat):
            nlp.update(examples * repeat, sgd=False)
    assert len({nlp.get_pipe("ssvm_tagger").trained.training.epochs for nlp in (once, twice)}) == 1
    assert weights(once, "ssvm_tagger") == weights(twice, "ssvm_tagger")


def test_beyond_the_tolerance_only_new_examples_are_learnt():
    nlp = trained("ssvm_tagger", epochs=60)
    assert nlp.get_pipe("ssvm_tagger").trained.training.finished
    before = weights(nlp, "ssvm_tagger")
    assert nlp.update(tagger_examples(nlp), sgd=False) == {"ssvm_tagger": 0.0}
    assert weights(nlp, "ssvm_tagger") == before
    train(nlp, [tagged(nlp, "Eat ham", ["NOUN", "ADV"])], 30)
    assert weights(nlp, "ssvm_tagger") != before
    assert_certified(nlp, "ssvm_tagger")


def test_missing_annotation_in_an_endless_stream(monkeypatch):
    """Completions follow the weights there too: an unknown label is not learnt as the first label."""
    monkeypatch.setattr(training_module, "MAX_NEW", 10)
    nlp = blank("ssvm_tagger", model=templates("lower[0]", "lower_prefix3[0]"), solver_settings={"C": 1.0})
    full = sentences(60)
    nlp.initialize(lambda: tagger_examples(nlp, full[:5]))
    train(nlp, tagger_examples(nlp, full[:5]), 5)
    with pytest.warns(UserWarning, match="online"):
        for batch in minibatch(full[5:], 4):
            nlp.update([tagged(nlp, text, ["DET", "", "", "ADJ"]) for text, _ in batch], sgd=False)
    assert nlp.evaluate(tagger_examples(nlp, full))["tag_acc"] == 1.0


def test_a_mixture_of_old_and_new_is_no_stream_of_surplus(monkeypatch):
    monkeypatch.setattr(training_module, "MAX_NEW", 10)
    nlp = blank("ssvm_tagger", solver_settings=NEVER_DONE)
    known = tagger_examples(nlp)
    nlp.initialize(lambda: known)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for fresh in minibatch(sentences(40), 4):
            nlp.update([*known, *tagger_examples(nlp, fresh)], sgd=False)
    assert_certified(nlp, "ssvm_tagger")


@pytest.mark.parametrize("solver", SOLVERS)
def test_changing_tags_replace_what_was_learnt_from_the_old_ones(solver):
    """As the tagger learns, the features of the recogniser change: planes of the old features leave w."""
    nlp = blank("ssvm_tagger")
    block = {"@ssvm_solvers": f"spacy-ssvm.{solver}.v1", **(NEVER_DONE if solver in DUAL_SOLVERS else {})}
    nlp.add_pipe("ssvm_ner", config={"model": templates("bias", "word[0]", "tag[0]", "tag[-1]"), "solver": block})
    examples = ner_examples(nlp)
    for token in (token for example in examples for token in example.reference):
        token.tag_ = "NNP" if token.text[0].isupper() else "NN"
    nlp.initialize(lambda: examples)
    for _ in range(12):
        nlp.update(examples, sgd=False, annotates=["ssvm_tagger"])
        if solver in DUAL_SOLVERS:
            assert_certified(nlp, "ssvm_ner")
    training = nlp.get_pipe("ssvm_ner").trained.training
    assert len(training) == len(examples)
    assert training.epochs == 12
    if solver != "SAP":  # its ρ₁ leaves no weight of so few examples
        assert nlp.evaluate(examples)["ents_f"] == 1.0


@pytest.mark.parametrize("are_kept", [True, False])
def test_changing_features_are_not_new(monkeypatch, are_kept):
    """Neither where a reader keeps the references, nor where it makes them anew for each epoch."""
    monkeypatch.setattr(training_module, "MAX_NEW", 10)
    nlp = blank("ssvm_ner", model=templates("word[0]", "tag[0]"), solver_settings=NEVER_DONE)
    references = [example.reference for example in ner_examples(nlp)]
    nlp.initialize(lambda: [Example(doc(nlp, reference.text), reference) for reference in references])
    with pytest.warns(UserWarning) as caught:
        for epoch in range(8):
            examples = []
            for reference in references if are_kept else [example.reference for example in ner_examples(nlp)]:
                predicted = Doc(nlp.vocab, words=[t.text for t in reference], tags=[f"T{epoch}"] * len(reference))
                examples.append(Example(predicted, reference))
            nlp.update(examples, sgd=False)
    assert ["has changed between two epochs" in str(warning.message) for warning in caught] == [True]
    assert len(nlp.get_pipe("ssvm_ner").trained.training) == len(references)
    assert_certified(nlp, "ssvm_ner")


@every
def test_a_problem_can_be_solved_outside_of_spacys_loop(factory):
    """`fit` on the component's problem learns what `update` learns, and its weights predict and are saved alike."""
    nlp, kept = blank(factory), trained(factory, epochs=5)
    nlp.initialize(lambda: EXAMPLES[factory](nlp))
    pipe = nlp.get_pipe(factory)
    learner, certificate = fit(pipe.solver, pipe.problem(), max_epochs=50)
    assert 0 <= certificate.relative_gap <= 0.01
    pipe.set_weights(learner.prediction_weights())
    assert annotations(nlp) == annotations(trained(factory, epochs=50))
    again = blank(factory).from_bytes(nlp.to_bytes())
    assert annotations(again) == annotations(nlp)
    with pytest.raises(ValueError, match="call initialize first"):
        pipe.problem()
    with pytest.raises(ValueError, match="must be of shape"):
        kept.get_pipe(factory).set_weights(np.zeros(3))
    with pytest.raises(ValueError, match="call initialize first"):
        blank(factory).get_pipe(factory).set_weights(np.zeros(3))


@every
def test_update_goes_on_from_weights_that_were_set(factory):
    """The perceptron has nothing to learn where they are right already."""
    nlp, expected = blank(factory, solver="Perceptron"), annotations(trained(factory, solver="Perceptron", epochs=30))
    examples, pipe = EXAMPLES[factory](nlp), nlp.get_pipe(factory)
    nlp.initialize(lambda: examples)
    learner, _ = fit(pipe.solver, pipe.problem(), max_epochs=30)
    pipe.set_weights(learner.prediction_weights())
    assert annotations(nlp) == expected
    assert nlp.update(examples, sgd=False) == {factory: 0.0} and annotations(nlp) == expected


def test_a_problem_has_no_gaps():
    """What is unknown is completed once, so that its certificate holds."""
    nlp = blank("ssvm_tagger", solver_settings={"C": 1.0})
    examples = [*tagger_examples(nlp), tagged(nlp, "Eat green ham", ["VERB", "", "NOUN"])]
    said = rf"1 of 26 training tokens have no gold label.* 0 of {len(examples)} examples have none at all"
    with pytest.warns(UserWarning, match=said):
        nlp.initialize(lambda: examples)
    _, certificate = fit(nlp.get_pipe("ssvm_tagger").solver, nlp.get_pipe("ssvm_tagger").problem(), max_epochs=200)
    assert 0 <= certificate.relative_gap <= 0.01


@pytest.mark.parametrize("is_loaded", [False, True])
def test_gold_that_was_edited_in_place_is_read_again(is_loaded):
    """As in a notebook: look at the prediction, edit the reference, update with the same example."""
    nlp = blank("ssvm_tagger")
    examples = tagger_examples(nlp)
    teach(nlp, examples, 5)
    if is_loaded:
        nlp = blank("ssvm_tagger").from_bytes(nlp.to_bytes())
        examples = tagger_examples(nlp)
        nlp.update(examples)
    reference = examples[0].reference
    others = sorted({token.tag_ for example in examples for token in example.reference} - {reference[0].tag_})
    reference[0].tag_ = others[0]
    n_known = len(nlp.get_pipe("ssvm_tagger").trained.training)
    train(nlp, examples[:1], 10)
    assert [token.tag_ for token in nlp(doc(nlp, reference.text))] == [token.tag_ for token in reference]
    assert len(nlp.get_pipe("ssvm_tagger").trained.training) == n_known


@pytest.mark.parametrize("factory, document", [("ssvm_ner", False), ("ssvm_ner", True), ("ssvm_parser", False)])
def test_a_forked_training_goes_on_by_itself(factory, document):
    block = {"@ssvm_features": "spacy-ssvm.NerFeatures.v1", "document": document}
    model = {"model": {"@architectures": "spacy-ssvm.Chain.v1", "features": block}} if factory == "ssvm_ner" else {}
    nlp = blank(factory, **model)
    pipe, examples = nlp.get_pipe(factory), EXAMPLES[factory](nlp)
    teach(nlp, examples, 1)
    before, fork = pipe.to_bytes(), pipe.trained.forked()
    nlp.update(examples)
    once = pipe.to_bytes()
    pipe.trained = fork
    assert pipe.to_bytes() == before != once
    nlp.update(examples)
    assert pipe.to_bytes() == once
