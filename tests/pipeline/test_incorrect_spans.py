"""Spans that are known to be no entities, as spaCy's `ner` takes them: `incorrect_spans_key`."""

import pytest
import spacy
from spacy.tokens import Doc, Span
from spacy.training import Example

from .toy import LANG, SPANS, blank, doc, ner_examples, train, trained

KEY = "incorrect"
UNSEEN = [("Anna Berg calls Tom .", 0, 2, "PER"), ("Tom met Paris .", 2, 3, "GPE")]
"""What the toy model takes for entities; that they are none is all that is known."""


def incorrect(nlp, text, start, end, label, **annotation) -> Example:
    reference = doc(nlp, text, **annotation)
    reference.spans[KEY] = [Span(reference, start, end, label=label)]
    return Example(doc(nlp, text), reference)


def entities(nlp, text) -> set[tuple[int, int, str]]:
    return {(entity.start, entity.end, entity.label_) for entity in nlp(doc(nlp, text)).ents}


def ner(**config):
    return trained("ssvm_ner", incorrect_spans_key=KEY, **config)


@pytest.mark.filterwarnings("ignore:.*have no gold label")
@pytest.mark.parametrize("solver", ["DCD", "MIRA", "FrankWolfe"])
@pytest.mark.parametrize("unseen", UNSEEN)
def test_they_are_unlearnt_and_nothing_else_is(solver, unseen):
    text, start, end, label = unseen
    nlp = ner(solver=solver)
    assert (start, end, label) in entities(nlp, text)
    examples = [*ner_examples(nlp), incorrect(nlp, text, start, end, label)]
    train(nlp, examples, 20)
    assert (start, end, label) not in entities(nlp, text)
    assert nlp.evaluate(ner_examples(nlp))["ents_f"] == 1.0


def test_without_the_key_they_are_not_read():
    nlp = trained("ssvm_ner")
    before = nlp.get_pipe("ssvm_ner").to_bytes(exclude=["vocab"])
    nlp.update([incorrect(nlp, *UNSEEN[0])], sgd=False)
    assert nlp.get_pipe("ssvm_ner").to_bytes(exclude=["vocab"]) == before


@pytest.mark.slow
@pytest.mark.parametrize("text_and_span", UNSEEN)
def test_spacys_own_component_reads_the_same(text_and_span):
    """Both unlearn it from the same examples."""
    text, *span = text_and_span
    nlp = spacy.blank(LANG)
    nlp.add_pipe("ner", config={"incorrect_spans_key": KEY})
    examples = ner_examples(nlp)
    optimizer = nlp.initialize(lambda: examples)
    for _ in range(30):
        nlp.update(examples, sgd=optimizer)
    examples.append(incorrect(nlp, text, *span))
    for _ in range(30):
        nlp.update(examples, sgd=optimizer)
    assert tuple(span) not in entities(nlp, text)


def test_a_wrong_boundary_does_not_rule_out_the_right_one():
    nlp = ner()
    text = "Tom Berg calls Anna !"
    examples = [*ner_examples(nlp), incorrect(nlp, text, 0, 1, "PER", ents=["", "", "O", "B-PER", "O"])]
    train(nlp, examples, 20)
    assert (0, 1, "PER") not in entities(nlp, text)
    assert (0, 2, "PER") in entities(nlp, text)


def test_a_span_that_is_an_entity_and_is_none():
    nlp = ner()
    clash = incorrect(nlp, "Anna left", 0, 1, "PER", ents=["B-PER", "O"])
    before = nlp.get_pipe("ssvm_ner").to_bytes(exclude=["vocab"])
    reason = r'\[ssvm_ner\] "Anna", tokens 0 to 0, is annotated .* doc\.spans\["incorrect"\]'
    with pytest.warns(UserWarning, match=f"1 of 1 examples cannot be read and are left out: .*{reason}"):
        nlp.update([clash], sgd=False)
    assert nlp.get_pipe("ssvm_ner").to_bytes(exclude=["vocab"]) == before


def test_other_tokens_and_unknown_labels_are_no_matter():
    """Spans that do not fit the predicted tokens are passed over, and so are labels that nothing is learnt of."""
    nlp = ner()
    reference = Doc(nlp.vocab, words=["Anna", "Ham", "left"])
    reference.spans[KEY] = [Span(reference, 0, 1, label="PER"), Span(reference, 2, 3, label="NORP")]
    predicted = Doc(nlp.vocab, words=["Anna Ham", "left"], spaces=[True, False])
    train(nlp, [*ner_examples(nlp), Example(predicted, reference)], 2)
    assert nlp.get_pipe("ssvm_ner").labels == ("GPE", "PER")


@pytest.mark.filterwarnings("ignore:.*have no gold label")
def test_they_are_part_of_what_an_example_is():
    """The same text with and without one are two examples."""
    nlp = ner()
    examples = ner_examples(nlp)
    bare = Example(doc(nlp, UNSEEN[0][0]), doc(nlp, UNSEEN[0][0], ents=["", "", "", "", "O"]))
    nlp.update([*examples, bare], sgd=False)
    known = len(nlp.get_pipe("ssvm_ner").trained.training)
    nlp.update([*examples, incorrect(nlp, *UNSEEN[0], ents=["", "", "", "", "O"])], sgd=False)
    assert len(nlp.get_pipe("ssvm_ner").trained.training) == known + 1


@pytest.mark.filterwarnings("ignore:.*have no gold label")
def test_initialize_takes_docs_that_have_nothing_else():
    nlp = blank("ssvm_ner", incorrect_spans_key=KEY)
    examples = [*ner_examples(nlp), incorrect(nlp, *UNSEEN[0])]
    nlp.initialize(lambda: examples)
    assert len(nlp.get_pipe("ssvm_ner").trained.training) == len(SPANS) + 1
