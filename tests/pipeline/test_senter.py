"""`ssvm_senter` as a user of spaCy's senter expects it."""

from itertools import pairwise

import numpy as np
import pytest
import spacy
import srsly
from hypothesis import example, given
from hypothesis import strategies as st
from spacy.attrs import SENT_START
from spacy.tokens import Doc
from spacy.training import Example

from .toy import LANG, NEARLY_UNREGULARISED, PARAGRAPHS, SOLVERS, blank, doc, senter_examples, train, trained

TEXT, STARTS = PARAGRAPHS[0]


def starts(doc: Doc) -> str:
    """As the toy corpus has them; "?" where nothing is set."""
    return " ".join({True: "S", False: "I", None: "?"}[token.is_sent_start] for token in doc)


def partly(nlp, text: str, sent_starts: list[bool | None]) -> Example:
    return Example(doc(nlp, text), doc(nlp, text, sent_starts=sent_starts))


@pytest.fixture(scope="module")
def learnt():
    return trained("ssvm_senter")


@pytest.mark.parametrize("solver", SOLVERS)
def test_overfits_a_few_paragraphs(solver):
    nlp = trained("ssvm_senter", 20, solver=solver, solver_settings=NEARLY_UNREGULARISED[solver])
    for text, expected in PARAGRAPHS:
        tokens = nlp(doc(nlp, text))
        assert starts(tokens) == expected
        assert len(list(tokens.sents)) == expected.count("S")


def test_labels_are_those_of_spacy_and_stay():
    nlp = blank("ssvm_senter")
    senter = nlp.get_pipe("ssvm_senter")
    for _ in range(2):
        assert senter.labels == spacy.blank(LANG).add_pipe("senter").labels
        nlp.initialize(lambda: senter_examples(nlp))
    assert "ssvm_senter" not in nlp.pipe_labels
    with pytest.raises(ValueError, match=r"\[ssvm_senter\] a label can only be one of I, S, not 'B'"):
        senter.add_label("B")
    with pytest.raises(ValueError, match=r"\[ssvm_senter\] a label can only be one of I, S, not 'B'"):
        senter.initialize(lambda: senter_examples(nlp), nlp=nlp, labels=["I", "B"])


def test_what_init_labels_saves_is_taken():
    nlp = blank("ssvm_senter")
    examples = senter_examples(nlp)
    senter = nlp.get_pipe("ssvm_senter")
    senter.initialize(lambda: examples, nlp=nlp, labels=list(senter.label_data))
    train(nlp, examples)
    assert senter.to_bytes(exclude=["vocab", "cfg"]) == trained("ssvm_senter").get_pipe("ssvm_senter").to_bytes(
        exclude=["vocab", "cfg"]
    )


def test_score_keys_and_default_weights():
    nlp = trained("ssvm_senter")
    scores = nlp.evaluate(senter_examples(nlp))
    assert scores["sents_f"] == scores["sents_p"] == scores["sents_r"] == 1.0
    assert "sents_per_type" not in scores
    of_spacy = spacy.blank(LANG).get_factory_meta("senter")
    meta = nlp.get_factory_meta("ssvm_senter")
    assert meta.default_score_weights == of_spacy.default_score_weights
    assert set(of_spacy.assigns) <= set(meta.assigns)


def test_annotation_as_zeros_and_ones():
    """To Example.from_dict 0 is what None is, but spaCy's senter takes it for False."""
    nlp = blank("ssvm_senter")
    examples = [
        Example.from_dict(doc(nlp, text), {"sent_starts": [int(label == "S") for label in labels.split()]})
        for text, labels in PARAGRAPHS
    ]
    assert {token.is_sent_start for eg in examples for token in eg.reference} == {True, None}
    nlp.initialize(lambda: examples)
    train(nlp, examples)
    assert starts(nlp(doc(nlp, TEXT))) == STARTS


def test_tokens_that_are_not_set_beside_others_that_are_false_are_completed():
    nlp = blank("ssvm_senter")
    examples = senter_examples(nlp)
    unknown = partly(nlp, "We saw eggs . Eat ham .", [True, False, None, None, None, None, False])
    with pytest.warns(UserWarning, match=r"\[ssvm_senter\] 4 of \d+ training tokens"):
        nlp.initialize(lambda: [*examples, unknown])
    train(nlp, [*examples, unknown])
    assert starts(nlp(unknown.predicted.copy())) == "S I I I S I I"
    assert nlp.get_pipe("ssvm_senter").certificate() is None


def test_docs_without_annotation_are_left_out():
    nlp = blank("ssvm_senter")
    examples = senter_examples(nlp)
    bare = [Example(doc(nlp, text), doc(nlp, text)) for text in ("Eat blue ham . Eat eggs", "One", TEXT)]
    with pytest.warns(UserWarning, match=r"\[ssvm_senter\] .*; 3 of \d+ examples have none at all"):
        nlp.initialize(lambda: [*examples, *bare])
    train(nlp, [*bare, *examples])
    assert nlp.get_pipe("ssvm_senter").to_bytes(exclude=["vocab"]) == trained("ssvm_senter").get_pipe(
        "ssvm_senter"
    ).to_bytes(exclude=["vocab"])


@st.composite
def two_tokenisations(draw):
    """Lengths of the predicted and of the reference tokens of one text, and which reference tokens start a sentence."""
    length = draw(st.integers(1, 14))
    cuts = st.sets(st.integers(1, length))
    edges = [sorted({0, length, *draw(cuts)}) for _ in range(2)]
    sent_starts = [True, *draw(st.lists(st.booleans(), min_size=len(edges[1]) - 2, max_size=len(edges[1]) - 2))]
    return edges[0], edges[1], sent_starts


@given(drawn=two_tokenisations())
def test_gold_of_tokens_is_that_of_their_characters(learnt, drawn):
    """A token starts a sentence with its first character; one that holds a later boundary cannot say what it does."""
    predicted_edges, edges, sent_starts = drawn
    text = "abcdefghijklmn"

    def tokens(edges: list[int], **annotation) -> Doc:
        words = [text[a:b] for a, b in pairwise(edges)]
        return Doc(learnt.vocab, words=words, spaces=[False] * len(words), **annotation)

    example = Example(tokens(predicted_edges), tokens(edges, sent_starts=sent_starts))
    gold = learnt.get_pipe("ssvm_senter").codec.gold(example).labels
    boundaries = {edge for edge, start in zip(edges, sent_starts) if start}
    for label, a, b in zip(gold, predicted_edges, predicted_edges[1:]):
        if len(edges) == 2 or any(a < boundary < b for boundary in boundaries):
            assert label is None
        else:
            assert label == ("S" if a in boundaries else "I")
    if None not in gold:
        assert [label == "S" for label in gold] == example.get_aligned_sent_starts()


def test_misaligned_tokens_are_missing_and_the_rest_is_learnt():
    nlp = blank("ssvm_senter")
    predicted = Doc(nlp.vocab, words=["Eat", "ham.Eat", "eg", "gs"], spaces=[True, True, False, False])
    reference = Doc(
        nlp.vocab,
        words=["Eat", "ham", ".", "Eat", "eggs"],
        spaces=[True, False, False, True, False],
        sent_starts=[True, False, False, True, False],
    )
    examples = [*senter_examples(nlp), Example(predicted, reference)]
    with pytest.warns(UserWarning, match=r"\[ssvm_senter\] 1 of \d+ training tokens"):
        nlp.initialize(lambda: examples)
    train(nlp, examples)
    assert [token.is_sent_start for token in nlp(predicted.copy())][2:] == [False, False]


@pytest.mark.parametrize("overwrite", [True, False])
def test_overwrite(overwrite):
    nlp = trained("ssvm_senter", overwrite=overwrite)
    wrong: list[bool | None] = [None, True, *([None] * 3), False, *([None] * 6)]
    tokens = nlp(doc(nlp, TEXT, sent_starts=wrong))
    expected = [label == "S" for label in STARTS.split()]
    if not overwrite:
        expected[1], expected[5] = True, False
    assert [token.is_sent_start for token in tokens] == expected


@given(preset=st.lists(st.sampled_from([True, False, None]), min_size=12, max_size=12))
@example(preset=[False, *[None] * 11])
def test_what_is_set_is_kept_and_the_rest_is_filled_in(learnt, preset):
    """Predictions themselves agree with it, so that its neighbours are decided in its light."""
    tokens = doc(learnt, TEXT, sent_starts=preset)
    labels = learnt.get_pipe("ssvm_senter").predict([tokens])[0]
    assert labels[0] == 1
    assert all(label == kept for label, kept in zip(labels[1:], preset[1:]) if kept is not None)
    tokens = learnt(tokens)
    assert all(token.is_sent_start == kept for token, kept in zip(tokens, preset) if kept is not None)
    assert tokens.has_annotation("SENT_START", require_complete=True)


def test_other_annotation_is_kept_and_a_parsed_doc_taken():
    nlp = trained("ssvm_senter", overwrite=True)
    before = doc(
        nlp,
        "Eat ham . Eat eggs",
        tags=["VB", "NN", ".", "VB", "NNS"],
        heads=[0, 0, 0, 0, 3],
        deps=["ROOT", "dobj", "punct", "conj", "dobj"],
        ents=["O", "B-FOOD", "O", "O", "O"],
    )
    after = nlp(before.copy())
    assert starts(before) == "S I I I I" and starts(after) == "S I I S I"
    for attribute in ("TAG", "HEAD", "DEP", "ENT_IOB", "ENT_TYPE"):
        assert np.array_equal(after.to_array(attribute), before.to_array(attribute))


def test_empty_docs_and_docs_of_one_token():
    nlp = trained("ssvm_senter")
    senter = nlp.get_pipe("ssvm_senter")
    assert len(nlp(Doc(nlp.vocab))) == 0
    docs = list(senter.pipe([Doc(nlp.vocab), doc(nlp, "Ham"), doc(nlp, TEXT), Doc(nlp.vocab)]))
    assert [starts(tokens) for tokens in docs] == ["", "S", STARTS, ""]
    assert list(senter.pipe([])) == []
    before = senter.to_bytes(exclude=["vocab"])
    train(nlp, [Example(Doc(nlp.vocab), Doc(nlp.vocab)), partly(nlp, "Ham", [True])], 1)
    assert senter.update([]) == {"ssvm_senter": 0.0}
    assert senter.to_bytes(exclude=["vocab"]) == before


def test_a_text_that_begins_within_a_sentence_starts_one():
    nlp = blank("ssvm_senter")
    examples = [*senter_examples(nlp), partly(nlp, "and ham . Eat eggs", [False, False, False, True, False])]
    nlp.initialize(lambda: examples)
    train(nlp, examples)
    assert starts(nlp(doc(nlp, "and ham . Eat eggs"))) == "S I I S I"


def test_line_breaks_are_learnt():
    nlp = blank("ssvm_senter")
    words = ["Dear", "Anna", "\n\n", "thanks", "for", "ham", "\n", "and", "eggs", "\n\n", "bye"]
    sent_starts = [label == "S" for label in "SIISIIIIIIS"]
    examples = [Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words, sent_starts=sent_starts))]
    nlp.initialize(lambda: examples)
    train(nlp, examples, 20)
    unseen = ["Hello", "\n\n", "we", "ate", "\n", "dogs", "\n\n", "eggs"]
    assert starts(nlp(Doc(nlp.vocab, words=unseen))) == "S I S I I I I S"


def test_untrained_is_an_error_as_it_is_in_spacy():
    nlp = blank("ssvm_senter")
    with pytest.raises(ValueError, match=r"\[ssvm_senter\] is not trained yet"):
        nlp("text")
    again = blank("ssvm_senter").from_bytes(nlp.to_bytes())
    with pytest.raises(ValueError, match=r"\[ssvm_senter\] is not trained yet"):
        again("text")


def test_other_labels_in_a_file_are_refused():
    nlp = trained("ssvm_senter")
    senter = nlp.get_pipe("ssvm_senter")
    fields = srsly.msgpack_loads(senter.to_bytes())
    fields["cfg"] = fields["cfg"].replace(b'"I","S"', b'"S","I"')
    data = srsly.msgpack_dumps(fields)
    with pytest.raises(ValueError, match=r"\[ssvm_senter\].*cannot be loaded.*labels"):
        blank("ssvm_senter").get_pipe("ssvm_senter").from_bytes(data)


def test_raw_text_and_the_array_that_spacy_stores():
    nlp = trained("ssvm_senter")
    tokens = nlp("I like green eggs. Eat blue ham.")
    assert [sentence.text for sentence in tokens.sents] == ["I like green eggs.", "Eat blue ham."]
    assert set(tokens.to_array(SENT_START).astype(np.int64)) == {1, -1}
    assert nlp.analyze_pipes()["problems"]["ssvm_senter"] == []


def test_documents_of_single_sentences_are_nothing_to_learn_from():
    nlp = spacy.blank(LANG)
    nlp.add_pipe("ssvm_senter")
    reference = Doc(nlp.vocab, words=["One", "sentence", "."], sent_starts=[True, False, False])
    with pytest.warns(UserWarning, match="no training Doc has more than one sentence"):
        nlp.initialize(lambda: [Example(nlp.make_doc("One sentence ."), reference)])
