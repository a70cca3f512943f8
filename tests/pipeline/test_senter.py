"""`ssvm_senter` as a user of spaCy's senter expects it."""

from itertools import pairwise

import numpy as np
import pytest
import spacy
from hypothesis import example, given
from hypothesis import strategies as st
from spacy.attrs import SENT_START
from spacy.tokens import Doc
from spacy.training import Example

from .components import learnt
from .toy import LANG, PARAGRAPHS, blank, doc, senter_examples, teach

TEXT, STARTS = PARAGRAPHS[0]


def starts(doc: Doc) -> str:
    """As the toy corpus has them; "?" where nothing is set."""
    return " ".join({True: "S", False: "I", None: "?"}[token.is_sent_start] for token in doc)


@pytest.fixture(scope="module")
def nlp():
    return learnt("ssvm_senter")


def partly(nlp, text: str, sent_starts: list[bool | None]) -> Example:
    return Example(doc(nlp, text), doc(nlp, text, sent_starts=sent_starts))


def test_labels_are_those_of_spacy_and_stay():
    nlp = blank("ssvm_senter")
    senter = nlp.get_pipe("ssvm_senter")
    for _ in range(2):
        assert senter.labels == spacy.blank(LANG).add_pipe("senter").labels and "ssvm_senter" not in nlp.pipe_labels
        nlp.initialize(lambda: senter_examples(nlp))
    with pytest.raises(NotImplementedError, match=r"\[ssvm_senter\] has the labels I and S"):
        senter.add_label("B")
    with pytest.raises(ValueError, match=r"\[ssvm_senter\] a label can only be one of I, S, not 'B'"):
        senter.initialize(lambda: senter_examples(nlp), nlp=nlp, labels=["I", "B"])


def test_annotation_as_zeros_and_ones():
    """To Example.from_dict 0 is what None is, but spaCy's senter takes it for False."""
    nlp = blank("ssvm_senter")
    examples = [
        Example.from_dict(doc(nlp, text), {"sent_starts": [int(label == "S") for label in labels.split()]})
        for text, labels in PARAGRAPHS
    ]
    assert {token.is_sent_start for eg in examples for token in eg.reference} == {True, None}
    teach(nlp, examples)
    assert starts(nlp(doc(nlp, TEXT))) == STARTS


@st.composite
def two_tokenisations(draw):
    """Lengths of the predicted and of the reference tokens of one text, and which reference tokens start a sentence."""
    length = draw(st.integers(1, 14))
    cuts = st.sets(st.integers(1, length))
    edges = [sorted({0, length, *draw(cuts)}) for _ in range(2)]
    sent_starts = [True, *draw(st.lists(st.booleans(), min_size=len(edges[1]) - 2, max_size=len(edges[1]) - 2))]
    return edges[0], edges[1], sent_starts


@given(drawn=two_tokenisations())
def test_gold_of_tokens_is_that_of_their_characters(nlp, drawn):
    """A token starts a sentence with its first character; one that holds a later boundary cannot say what it does."""
    predicted_edges, edges, sent_starts = drawn
    text = "abcdefghijklmn"

    def tokens(edges: list[int], **annotation) -> Doc:
        words = [text[a:b] for a, b in pairwise(edges)]
        return Doc(nlp.vocab, words=words, spaces=[False] * len(words), **annotation)

    example = Example(tokens(predicted_edges), tokens(edges, sent_starts=sent_starts))
    gold = nlp.get_pipe("ssvm_senter").codec.gold(example).labels
    boundaries = {edge for edge, start in zip(edges, sent_starts) if start}
    for label, a, b in zip(gold, predicted_edges, predicted_edges[1:]):
        if any(a < boundary < b for boundary in boundaries):
            assert label is None
        else:
            assert label == ("S" if a in boundaries else "I")
    if None not in gold:
        assert [label == "S" for label in gold] == example.get_aligned_sent_starts()


@given(preset=st.lists(st.sampled_from([True, False, None]), min_size=12, max_size=12))
@example(preset=[False, *[None] * 11])
def test_what_is_set_is_kept_and_the_rest_is_filled_in(nlp, preset):
    """Predictions themselves agree with it, so that its neighbours are decided in its light."""
    tokens = doc(nlp, TEXT, sent_starts=preset)
    labels = nlp.get_pipe("ssvm_senter").predict([tokens])[0]
    assert labels[0] == 1
    assert all(label == kept for label, kept in zip(labels[1:], preset[1:]) if kept is not None)
    tokens = nlp(tokens)
    assert all(token.is_sent_start == kept for token, kept in zip(tokens, preset) if kept is not None)
    assert tokens.has_annotation("SENT_START", require_complete=True)


def test_a_parsed_doc_is_taken():
    nlp = learnt("ssvm_senter", overwrite=True)
    tree = {"heads": [0, 0, 0, 0, 3], "deps": ["ROOT", "dobj", "punct", "conj", "dobj"]}
    before = doc(nlp, "Eat ham . Eat eggs", **tree)
    after = nlp(before.copy())
    assert starts(before) == "S I I I I" and starts(after) == "S I I S I"
    assert set(after.to_array(SENT_START).astype(np.int64)) == {1, -1}
    for attribute in ("HEAD", "DEP"):
        assert np.array_equal(after.to_array(attribute), before.to_array(attribute))


def test_a_text_that_begins_within_a_sentence_starts_one():
    nlp = blank("ssvm_senter")
    teach(nlp, [*senter_examples(nlp), partly(nlp, "and ham . Eat eggs", [False, False, False, True, False])])
    assert starts(nlp(doc(nlp, "and ham . Eat eggs"))) == "S I I S I"


def test_untrained_is_an_error_as_it_is_in_spacy():
    nlp = blank("ssvm_senter")
    for untrained in (nlp, blank("ssvm_senter").from_bytes(nlp.to_bytes())):
        with pytest.raises(ValueError, match=r"\[ssvm_senter\] is not trained yet"):
            untrained("text")


def test_documents_of_single_sentences_are_nothing_to_learn_from():
    nlp = spacy.blank(LANG)
    nlp.add_pipe("ssvm_senter")
    reference = Doc(nlp.vocab, words=["One", "sentence", "."], sent_starts=[True, False, False])
    with pytest.warns(UserWarning, match="no training Doc has more than one sentence"):
        nlp.initialize(lambda: [Example(nlp.make_doc("One sentence ."), reference)])
