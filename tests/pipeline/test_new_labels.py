"""New labels where training, its state and predictions are under way: what was there before stays."""

import copy
import pickle
import re
import warnings

import numpy as np
import pytest

from spacy_ssvm.distributed.learning import learn_by
from spacy_ssvm.pipeline import learning
from spacy_ssvm.pipeline.training_record import NO_RECORD

from .components import COMPONENTS, LABELS, NEW_LABEL, SCORE, every, labelled, learnt, saved, scored, written
from .toy import EXAMPLES, annotations, blank, doc, train, trained, weights

NEW = {
    "ssvm_tagger": [("Wow ham sleeps", "INTJ NOUN VERB")],
    "ssvm_morphologizer": [("Wow ham sleeps", "INTJ NOUN VERB")],
    "ssvm_ner": [("Acme hired Tom", "U-ORG O U-PER")],
    "ssvm_parser": [("Wow Tom", "vocative:2 ROOT:2")],
    "ssvm_lemmatizer": [("zabcdefghi sleep", "zx sleep")],
}
"""A text whose first token has the label of NEW_LABEL."""


def in_parts(factory: str, n_parts: int, n_known: int, epochs: int = 4, **settings) -> tuple[bytes, float]:
    """A component that knows some examples, after batches of all in parts, and the loss of the last one."""
    nlp = blank(factory, **settings)
    nlp.config["training"]["accumulate_gradient"] = n_parts
    examples = [*EXAMPLES[factory](nlp), *EXAMPLES[factory](nlp, NEW.get(factory, []))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nlp.initialize(lambda: examples[:n_known])
        for _ in range(epochs):
            losses: dict[str, float] = {}
            for k in range(n_parts):
                part = examples[k * len(examples) // n_parts : (k + 1) * len(examples) // n_parts]
                nlp.update(part, sgd=False, losses=losses)
            nlp.get_pipe(factory).finish_update(None)
    return weights(nlp, factory), losses[factory]


@every
@pytest.mark.parametrize("n_known", [1, 3])
def test_a_batch_in_parts_with_new_labels_teaches_the_same_as_a_whole_one(factory, n_known):
    whole = in_parts(factory, 1, n_known)
    assert in_parts(factory, 3, n_known) == whole
    assert in_parts(factory, 7, n_known) == whole


@every
@pytest.mark.parametrize("corrections", [True, False])
def test_after_resume_training_the_first_batch_shows_whether_there_are_parts(factory, corrections):
    """`spacy train` shows a sourced component no config, but ends each batch."""

    def learn(nlp, n_parts):
        examples, losses = EXAMPLES[factory](nlp), {}
        for k in range(n_parts):
            nlp.update(examples[k::n_parts], losses=losses, sgd=False)
        in_update = losses[factory]
        nlp.get_pipe(factory).finish_update(None)
        return in_update, losses[factory]

    nlp = blank(factory, corrections=corrections).from_bytes(trained(factory, 1, corrections=corrections).to_bytes())
    nlp.resume_training()
    for n_parts in (1, 1, 3):
        in_update, together = learn(nlp, n_parts)
        assert in_update == together
    whole = copy.deepcopy(nlp)
    for _ in range(2):
        assert learn(nlp, 3) == (0, learn(whole, 1)[1])
    assert weights(nlp, factory) == weights(whole, factory)


def test_an_optimizer_ends_a_batch_that_comes_in_parts():
    """As with spaCy's components, whose `update` learns at once if it is given one."""
    nlp = blank("ssvm_tagger")
    nlp.config["training"]["accumulate_gradient"] = 2
    examples = EXAMPLES["ssvm_tagger"](nlp)
    nlp.initialize(lambda: examples)
    pipe = nlp.get_pipe("ssvm_tagger")
    assert pipe.update(examples)["ssvm_tagger"] == 0.0
    assert pipe.update(examples, sgd=nlp.create_optimizer())["ssvm_tagger"] > 0.0


@labelled
def test_known_parts_that_are_not_kept_are_learnt_before_a_new_label(factory, monkeypatch):
    monkeypatch.setattr(learning, "MAX_KEPT", 0)
    nlp = blank(factory)
    nlp.config["training"]["accumulate_gradient"] = 2
    known, new = EXAMPLES[factory](nlp), EXAMPLES[factory](nlp, NEW[factory])
    pipe, losses = nlp.get_pipe(factory), {}
    nlp.initialize(lambda: known)
    for part in (known, new):
        nlp.update(part, sgd=False, losses=losses)

    pipe.finish_update(None)
    assert losses[factory] > 0 and nlp.evaluate(known)[SCORE[factory]] > 0.5
    assert set(pipe.labels) == {*LABELS[factory], NEW_LABEL[factory]}


def with_low_scores(factory: str):
    """A component all of whose labels score below zero."""
    nlp = trained(factory, 3)
    pipe = nlp.get_pipe(factory)
    pipe.set_weights(-0.1 - np.abs(pipe.trained.training.weights_by_row()))
    return nlp


@labelled
def test_a_label_that_is_only_added_changes_nothing(factory):
    new = NEW_LABEL[factory]
    for nlp in (with_low_scores(factory), learnt(factory)):
        pipe, before = nlp.get_pipe(factory), annotations(nlp)
        assert pipe.add_label(new) == 1
        assert annotations(nlp) == before
        again = blank(factory)
        again.get_pipe(factory).from_bytes(pipe.to_bytes())
        unpickled = pickle.loads(pickle.dumps(nlp))
        assert annotations(again) == annotations(unpickled) == before
        text = doc(nlp, "Eat ham zabcdefghi")
        assert not any(new in str(part) for _, parts in pipe.kbest(text, 5) for part in parts)
        assert not any(new in str(part) for part in scored_parts(factory, pipe, text))
        # Until something has been learnt of it.
        examples = EXAMPLES[factory](again, NEW[factory])
        assert again.evaluate(examples)[SCORE[factory]] < 1.0
        train(again, examples, 20)
        assert again.evaluate(examples)[SCORE[factory]] == 1.0
        assert "unlearnt" not in again.get_pipe(factory).cfg


def scored_parts(factory, pipe, text) -> list:
    if factory == "ssvm_parser":
        return list(pipe.scored_parses(text, -1e9)[1])
    return list(scored(factory, pipe, text, -1e9))


@labelled
def test_other_examples_teach_nothing_of_an_added_label(factory):
    nlp = learnt(factory)
    pipe, new = nlp.get_pipe(factory), NEW_LABEL[factory]
    pipe.add_label(new)
    train(nlp, EXAMPLES[factory](nlp)[:2], 2)
    assert pipe.cfg["unlearnt"] == [new]
    assert not any(new in str(part) for text in annotations(nlp) for part in text)


@labelled
def test_patterns_can_force_an_added_label(factory):
    new, word = NEW_LABEL[factory], "zabcdefghi"
    nlp = blank(factory, patterns=[{"patterns": [[{"ORTH": word}]], "allow": [new]}])
    nlp.get_pipe(factory).from_bytes(saved(factory))
    nlp.get_pipe(factory).add_label(new)
    for text in (f"Eat {word} ham", f"Dogs eat {word}"):
        found = [part for part in written(factory, nlp(doc(nlp, text))) if new in str(part)]
        assert len(found) == 1
    # What patterns leave open is no reason to predict it.
    label = LABELS[factory][-1]
    nlp = blank(factory, patterns=[{"patterns": [[{}]], "forbid": [label]}])
    nlp.get_pipe(factory).from_bytes(saved(factory))
    expected = annotations(nlp)
    nlp.get_pipe(factory).add_label(new)
    assert annotations(nlp) == expected


@labelled
def test_labels_that_were_given_are_fixed_until_training_is_resumed(factory):
    new, given = NEW_LABEL[factory], list(LABELS[factory])
    nlp, loaded = blank(factory), blank(factory)
    examples = EXAMPLES[factory](nlp)
    nlp.get_pipe(factory).initialize(lambda: examples, nlp=nlp, labels=given)
    said = (rf"\[{factory}\] .* not given: {re.escape(new)}; .* saved and loaded", r"nlp\.resume_training is called")
    for pipeline, message in zip((nlp, loaded), said):
        with pytest.warns(UserWarning, match=message) as caught:
            train(pipeline, [*examples, *EXAMPLES[factory](pipeline, NEW[factory])], 3)
        assert len([warning for warning in caught if "not given" in str(warning.message)]) == 1
        assert list(pipeline.get_pipe(factory).labels) == given
        loaded.from_bytes(nlp.to_bytes())
    loaded.resume_training()
    train(loaded, EXAMPLES[factory](loaded, NEW[factory]), 1)
    assert list(loaded.get_pipe(factory).labels) == [*given, new]


def test_several_workers_keep_neither_the_state_nor_names():
    nlp = blank("ssvm_tagger", save_solver_state=True, save_feature_names=True)
    nlp.initialize(lambda: EXAMPLES["ssvm_tagger"](nlp))
    tagger = nlp.get_pipe("ssvm_tagger")
    said = r"it learns by several workers, and so has no state of the solver and no names of features to save"
    with pytest.warns(UserWarning, match=said):
        learn_by(tagger, tagger.trained.training, NO_RECORD)


@pytest.mark.parametrize("factory", ["ssvm_tagger", "ssvm_ner"])
def test_a_long_doc_with_new_labels_is_learnt_in_pieces(factory):
    """Also where most of its pieces have no new label."""
    nlp, corpus = learnt(factory), COMPONENTS[factory].corpus
    before = annotations(nlp, [corpus])
    sentences = [corpus[k % len(corpus)] for k in range(150)]
    for k in (50, 100, 150):
        sentences.insert(k, NEW[factory][0])
    (example,) = EXAMPLES[factory](nlp, [tuple(map(" ".join, zip(*sentences)))])
    assert len(example.predicted) > 500
    nlp.update([example], sgd=False)
    assert nlp.evaluate([example])[SCORE[factory]] == 1.0 and annotations(nlp, [corpus]) == before
    have_new = nlp.get_pipe(factory).trained.training.data.problem().corrections.have_new_labels
    assert 0 < have_new.sum() <= 3 < len(have_new)
