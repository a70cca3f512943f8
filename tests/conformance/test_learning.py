"""`initialize`, `update` and what surrounds them in a training loop."""

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Adam

from ..pipeline.toy import EXAMPLES, annotation, doc, train
from .components import ATTRIBUTE, CORPUS, GOLD, SCORE, annotated, blank, every, learnt, learnt_as, model_bytes

WITNESSED: list[Doc] = []


@Language.component("conformance_witness")
def witness(tokens: Doc) -> Doc:
    WITNESSED.append(tokens.copy())
    return tokens


@every
def test_predicting_before_any_update(factory):
    """spaCy evaluates at step 0; whatever the weights are, every token gets an annotation."""
    nlp = blank(factory)
    nlp.initialize(lambda: EXAMPLES[factory](nlp))
    assert nlp(doc(nlp, "A few words")).has_annotation(ATTRIBUTE[factory])
    assert SCORE[factory] in nlp.evaluate(EXAMPLES[factory](nlp))


@every
def test_a_few_examples_are_learnt_saved_and_loaded(factory, tmp_path):
    nlp = blank(factory)
    nlp.initialize(lambda: EXAMPLES[factory](nlp))
    train(nlp, EXAMPLES[factory](nlp), 15)
    nlp.to_disk(tmp_path)
    for pipeline in (nlp, spacy.load(tmp_path), blank(factory).from_bytes(nlp.to_bytes())):
        assert pipeline.evaluate(EXAMPLES[factory](pipeline))[SCORE[factory]] == 1


@every
@pytest.mark.parametrize("sgd", [None, False, Adam(0.001)], ids=["None", "False", "Adam"])
def test_any_optimiser_is_taken(factory, sgd):
    nlp = blank(factory)
    optimiser = nlp.initialize(lambda: EXAMPLES[factory](nlp))
    assert optimiser is not None
    losses = {}
    for _ in range(15):
        losses = nlp.update(EXAMPLES[factory](nlp), sgd=sgd, losses=losses, drop=0.2)
    assert set(losses) == {factory}
    assert nlp.evaluate(EXAMPLES[factory](nlp))[SCORE[factory]] == 1


@every
def test_losses_are_added_up_under_the_component_s_name(factory):
    nlp = blank(factory)
    nlp.rename_pipe(factory, "mine")
    nlp.initialize(lambda: EXAMPLES[factory](nlp))
    losses = {"mine": 100.0, "other": 1.0}
    nlp.update(EXAMPLES[factory](nlp), losses=losses)
    assert losses["mine"] > 100 and losses["other"] == 1.0
    assert all(isinstance(value, float) for value in losses.values())


@every
def test_examples_with_nothing_to_learn_have_a_loss_of_zero(factory):
    """The training table wants a number for every component, whatever the batch was."""
    nlp = learnt(factory)
    before = model_bytes(nlp, factory)
    bare = Example(doc(nlp, "No gold here"), doc(nlp, "No gold here"))
    for batch in ([], [Example(Doc(nlp.vocab), Doc(nlp.vocab))], [bare]):
        assert nlp.get_pipe(factory).update(batch) == {factory: 0.0}
        if batch:
            assert nlp.update(batch) == {factory: 0.0}
    assert model_bytes(nlp, factory) == before


@every
def test_examples_may_be_annotated_in_part(factory):
    """Docs without any annotation, and empty ones, beside others that are complete."""
    nlp = blank(factory)
    bare = Example(doc(nlp, "No gold here"), doc(nlp, "No gold here"))
    examples = [bare, *EXAMPLES[factory](nlp), Example(Doc(nlp.vocab), Doc(nlp.vocab))]
    with pytest.warns(UserWarning, match=rf"\[{factory}\] .* of .* (training tokens|examples)"):
        nlp.initialize(lambda: examples)
    train(nlp, examples, 15)
    assert nlp.evaluate(EXAMPLES[factory](nlp))[SCORE[factory]] == 1


@every
def test_tokens_may_differ_from_those_of_the_gold(factory):
    """A predicted token that is two in the gold; the tokens around it are learnt all the same."""
    nlp = blank(factory)
    examples = []
    for reference in (example.reference for example in EXAMPLES[factory](nlp)):
        words = [token.text for token in reference]
        gold = Doc(nlp.vocab, words=words, spaces=[len(words) == 1, *[True] * (len(words) - 1)])
        gold.from_array(GOLD[factory], reference.to_array(GOLD[factory]))
        joined = ["".join(words[:2]), *words[2:]]
        examples.append(Example(Doc(nlp.vocab, words=joined, spaces=[True] * len(joined)), gold))
    nlp.initialize(lambda: examples)
    train(nlp, examples, 15)
    for example in examples:
        predicted, known = nlp(example.predicted.copy()), example.get_aligned(ATTRIBUTE[factory])
        found = predicted.to_array(ATTRIBUTE[factory])
        wrong = [k for k in range(2, len(predicted)) if known[k] is not None and known[k] != int(found[k])]
        assert not wrong or factory == "ssvm_senter", (predicted, wrong)


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
def test_an_annotating_component_sets_what_it_has_learnt(factory):
    """Those after it in the pipeline see its annotation while they learn."""
    nlp = blank(factory)
    nlp.add_pipe("conformance_witness")
    # Of Docs of one token spaCy says that they have sentence starts.
    examples = [example for example in EXAMPLES[factory](nlp) if len(example.predicted) > 1]
    nlp.initialize(lambda: examples)
    for annotates in (["conformance_witness"], [factory, "conformance_witness"]):
        WITNESSED.clear()
        nlp.update(examples, annotates=annotates)
        seen = [tokens.has_annotation(ATTRIBUTE[factory]) for tokens in WITNESSED]
        assert seen == [factory in annotates] * len(examples)


@every
def test_a_frozen_component_learns_nothing_and_has_no_loss(factory):
    nlp = learnt(factory)
    before = model_bytes(nlp, factory)
    losses = {}
    nlp.update(EXAMPLES[factory](nlp, CORPUS[factory][:1]), losses=losses, exclude=[factory])
    assert losses == {}
    assert model_bytes(nlp, factory) == before


@every
def test_a_frozen_component_can_annotate(factory):
    nlp = learnt_as({"frozen": factory, "learning": "ssvm_tagger"})
    before = model_bytes(nlp, "frozen")
    examples = EXAMPLES["ssvm_tagger"](nlp)
    losses = nlp.update(examples, exclude=["frozen"], annotates=["frozen"])
    assert set(losses) == {"learning"}
    assert model_bytes(nlp, "frozen") == before


@every
def test_disabled_components_learn_nothing(factory):
    nlp = learnt(factory)
    before = model_bytes(nlp, factory)
    with nlp.select_pipes(disable=[factory]):
        assert nlp.update(EXAMPLES[factory](nlp, CORPUS[factory][:1])) == {}
    assert model_bytes(nlp, factory) == before


@every
def test_what_training_loops_ask(factory):
    nlp = learnt(factory)
    component, before = nlp.get_pipe(factory), annotated(nlp)
    assert component.is_trainable
    assert component.model not in (True, False, None)
    optimiser = Adam(0.001, use_averages=True)
    component.finish_update(optimiser)
    with nlp.use_params(optimiser.averages or {}):
        assert annotated(nlp) == before
    assert annotated(nlp) == before


@every
def test_resume_training_keeps_what_was_learnt(factory):
    nlp = learnt(factory)
    before = annotated(nlp)
    assert nlp.resume_training() is not None
    assert annotated(nlp) == before
    train(nlp, EXAMPLES[factory](nlp), 10)
    assert nlp.evaluate(EXAMPLES[factory](nlp))[SCORE[factory]] == 1


@every
def test_initialize_without_examples_of_one_s_own(factory):
    """`nlp.initialize()` hands over an empty example, as `spacy assemble` does: there is nothing to learn from it."""
    nlp = blank(factory)
    if factory == "ssvm_senter":
        with pytest.warns(UserWarning, match="nothing to learn"):
            nlp.initialize()
    else:
        with pytest.raises(ValueError, match=rf"\[{factory}\].*label"):
            nlp.initialize()


@every
def test_updating_without_initialize(factory):
    nlp = blank(factory)
    train(nlp, EXAMPLES[factory](nlp), 15)
    assert nlp.evaluate(EXAMPLES[factory](nlp))[SCORE[factory]] == 1


@every
def test_two_of_a_kind_learn_independently(factory):
    nlp = blank(factory)
    config = nlp.config["components"][factory]
    nlp.add_pipe(factory, name="second", config={"model": config["model"], "solver": {**config["solver"], "seed": 7}})
    nlp.initialize(lambda: EXAMPLES[factory](nlp))
    losses = {}
    for _ in range(3):
        nlp.update(EXAMPLES[factory](nlp), losses=losses)
    alone = blank(factory)
    alone.initialize(lambda: EXAMPLES[factory](alone))
    for _ in range(3):
        alone.update(EXAMPLES[factory](alone))
    assert set(losses) == {factory, "second"}
    assert model_bytes(nlp, factory) == model_bytes(alone, factory) != model_bytes(nlp, "second")
