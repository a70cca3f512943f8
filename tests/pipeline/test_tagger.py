"""`ssvm_tagger` as a user of spaCy's tagger expects it."""

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from .toy import LANG, NEARLY_UNREGULARISED, SOLVERS, TAGGED, blank, doc, tagged, tagger_examples, train, trained

ALL_TAGS = ("ADJ", "ADV", "DET", "NOUN", "PRON", "VERB")


@pytest.mark.parametrize("solver", SOLVERS)
def test_overfits_a_few_sentences(solver):
    nlp = trained("ssvm_tagger", 20, solver=solver, solver_settings=NEARLY_UNREGULARISED[solver])
    for text, tags in TAGGED:
        assert [token.tag_ for token in nlp(doc(nlp, text))] == tags.split()


def test_sets_only_the_attribute_it_is_told():
    nlp = trained("ssvm_tagger")
    for token in nlp(doc(nlp, TAGGED[0][0])):
        assert token.tag_ and not token.pos_


def test_attr_pos_writes_and_scores_coarse_tags():
    nlp = blank("ssvm_tagger", attr="pos")
    examples = tagger_examples(nlp, attr="pos")
    nlp.initialize(lambda: examples)
    train(nlp, examples)
    for text, tags in TAGGED:
        tokens = nlp(doc(nlp, text))
        assert [token.pos_ for token in tokens] == tags.split()
        assert not any(token.tag_ for token in tokens)
    scores = nlp.evaluate(examples)
    assert scores["pos_acc"] == 1.0
    assert "tag_acc" not in scores


def test_attr_pos_refuses_labels_that_a_token_cannot_store():
    nlp = blank("ssvm_tagger", attr="pos")
    tagger = nlp.get_pipe("ssvm_tagger")
    with pytest.raises(ValueError, match=r"\[ssvm_tagger\].*'NN'"):
        tagger.add_label("NN")
    with pytest.raises(ValueError, match=r"\[ssvm_tagger\].*'NN'"):
        tagger.initialize(lambda: tagger_examples(nlp, attr="pos"), nlp=nlp, labels=["NOUN", "NN"])


def test_score_keys_and_default_weights():
    nlp = trained("ssvm_tagger")
    scores = nlp.evaluate(tagger_examples(nlp))
    assert scores["tag_acc"] == 1.0
    assert "pos_acc" not in scores
    meta = nlp.get_factory_meta("ssvm_tagger")
    assert meta.default_score_weights == {"tag_acc": 1.0, "pos_acc": None}
    assert set(meta.scores) == {"tag_acc", "pos_acc"}


def test_labels_come_from_the_examples():
    nlp = blank("ssvm_tagger")
    tagger = nlp.get_pipe("ssvm_tagger")
    assert tagger.labels == ()
    nlp.initialize(lambda: tagger_examples(nlp))
    assert tagger.labels == tagger.label_data == ALL_TAGS
    assert nlp.pipe_labels["ssvm_tagger"] == list(ALL_TAGS)


def test_label_data_gives_the_same_model_as_collecting_labels():
    nlp = trained("ssvm_tagger")
    again = blank("ssvm_tagger")
    examples = tagger_examples(again)
    again.get_pipe("ssvm_tagger").initialize(
        lambda: examples, nlp=again, labels=list(nlp.get_pipe("ssvm_tagger").label_data)
    )
    train(again, examples)
    assert again.get_pipe("ssvm_tagger").to_bytes(exclude=["vocab"]) == nlp.get_pipe("ssvm_tagger").to_bytes(
        exclude=["vocab"]
    )


def test_given_labels_keep_their_order_and_may_be_more_than_the_corpus_has():
    nlp = blank("ssvm_tagger")
    tagger = nlp.get_pipe("ssvm_tagger")
    tagger.initialize(lambda: tagger_examples(nlp), nlp=nlp, labels=["X", *reversed(ALL_TAGS), "X"])
    assert tagger.labels == ("X", *reversed(ALL_TAGS))
    train(nlp, tagger_examples(nlp))
    assert [token.tag_ for token in nlp(doc(nlp, TAGGED[0][0]))] == TAGGED[0][1].split()


def test_labels_missing_from_the_given_ones_are_reported():
    nlp = blank("ssvm_tagger")
    with pytest.warns(UserWarning, match=r"\[ssvm_tagger\].*ADV"):
        nlp.get_pipe("ssvm_tagger").initialize(
            lambda: tagger_examples(nlp), nlp=nlp, labels=[tag for tag in ALL_TAGS if tag != "ADV"]
        )
    nlp.update(tagger_examples(nlp))
    assert "ADV" not in nlp.get_pipe("ssvm_tagger").labels


@pytest.mark.parametrize("labels", [{"0": {"NOUN": 3}}, ["NOUN", 3], ["NOUN", ""], "NOUN"])
def test_malformed_labels_are_refused(labels):
    nlp = blank("ssvm_tagger")
    with pytest.raises(ValueError, match=r"\[ssvm_tagger\].*labels?"):
        nlp.get_pipe("ssvm_tagger").initialize(lambda: tagger_examples(nlp), nlp=nlp, labels=labels)


def test_add_label_before_initialize_is_kept():
    nlp = blank("ssvm_tagger")
    tagger = nlp.get_pipe("ssvm_tagger")
    assert tagger.add_label("X") == 1
    assert tagger.add_label("X") == 0
    nlp.initialize(lambda: tagger_examples(nlp))
    assert set(tagger.labels) == {*ALL_TAGS, "X"}


def test_add_label_and_then_only_updates():
    nlp = blank("ssvm_tagger")
    for tag in ALL_TAGS:
        nlp.get_pipe("ssvm_tagger").add_label(tag)
    with pytest.warns(UserWarning, match="1 of 1 examples have none at all"):
        nlp.initialize()
    train(nlp, tagger_examples(nlp), 20)
    assert nlp.evaluate(tagger_examples(nlp))["tag_acc"] == 1.0


def test_add_label_keeps_what_was_learnt():
    nlp = trained("ssvm_tagger")
    nlp.get_pipe("ssvm_tagger").add_label("X")
    assert "X" in nlp.vocab.strings
    assert nlp.evaluate(tagger_examples(nlp))["tag_acc"] == 1.0


@pytest.mark.parametrize("label", ["", 3, None])
def test_add_label_refuses_what_is_no_label(label):
    with pytest.raises(ValueError, match=r"\[ssvm_tagger\] a label"):
        blank("ssvm_tagger").get_pipe("ssvm_tagger").add_label(label)


def test_missing_tags_are_completed():
    nlp = blank("ssvm_tagger")
    known = tagger_examples(nlp)
    partial = [tagged(nlp, "She saw the blue dog", ["PRON", "", "", "ADJ", ""]) for _ in range(3)]
    with pytest.warns(UserWarning, match=r"\[ssvm_tagger\] 9 of 38 training tokens"):
        nlp.initialize(lambda: [*known, *partial])
    assert nlp.get_pipe("ssvm_tagger").labels == ALL_TAGS
    train(nlp, [*known, *partial])
    assert [token.tag_ for token in nlp(doc(nlp, "She saw the blue dog"))] == ["PRON", "VERB", "DET", "ADJ", "NOUN"]


def test_known_tags_of_a_partial_annotation_are_learnt():
    """What is annotated in every example is learnt; what never is stays out of the labels."""
    nlp = blank("ssvm_tagger")
    examples = [tagged(nlp, text, [t if t in ("NOUN", "VERB") else "" for t in tags.split()]) for text, tags in TAGGED]
    with pytest.warns(UserWarning, match="no gold label"):
        nlp.initialize(lambda: examples)
    train(nlp, examples, 20)
    assert nlp.get_pipe("ssvm_tagger").labels == ("NOUN", "VERB")
    for text, tags in TAGGED:
        for token, tag in zip(nlp(doc(nlp, text)), tags.split()):
            assert token.tag_ == tag or tag not in ("NOUN", "VERB")


def test_negated_tags_are_no_labels():
    nlp = blank("ssvm_tagger")
    examples = [*tagger_examples(nlp), tagged(nlp, "Eat green ham", ["VERB", "!NOUN", "NOUN"])]
    with pytest.warns(UserWarning, match="1 of 26 training tokens"):
        nlp.initialize(lambda: examples)
    train(nlp, examples)
    assert nlp.get_pipe("ssvm_tagger").labels == ALL_TAGS


def test_an_exclamation_mark_is_a_tag():
    nlp = blank("ssvm_tagger")
    examples = [tagged(nlp, "Stop it !", ["VERB", "PRON", "!"]), tagged(nlp, "It stops", ["PRON", "VERB"])]
    nlp.initialize(lambda: examples)
    train(nlp, examples)
    assert nlp.get_pipe("ssvm_tagger").labels == ("!", "PRON", "VERB")
    assert nlp(doc(nlp, "Stop it !"))[2].tag_ == "!"


def test_misaligned_tokens_are_missing_and_the_rest_is_learnt():
    nlp = blank("ssvm_tagger")
    predicted = Doc(nlp.vocab, words=["I", "like", "greeneggs", "to", "day"], spaces=[True, True, True, False, False])
    reference = Doc(
        nlp.vocab,
        words=["I", "like", "green", "eggs", "today"],
        spaces=[True, True, False, True, False],
        tags=["PRON", "VERB", "ADJ", "NOUN", "ADV"],
    )
    examples = [*tagger_examples(nlp), Example(predicted, reference)]
    with pytest.warns(UserWarning, match=r"\[ssvm_tagger\] 1 of 28 training tokens"):
        nlp.initialize(lambda: examples)
    train(nlp, examples)
    tags = [token.tag_ for token in nlp(predicted.copy())]
    assert tags[:2] == ["PRON", "VERB"]
    assert tags[3:] == ["ADV", "ADV"]


@pytest.mark.parametrize("overwrite", [True, False])
def test_overwrite(overwrite):
    nlp = trained("ssvm_tagger", overwrite=overwrite)
    tokens = nlp(doc(nlp, "Eat blue ham", tags=["", "X", ""]))
    assert [token.tag_ for token in tokens] == ["VERB", "ADJ" if overwrite else "X", "NOUN"]


def test_tagging_keeps_other_annotation():
    nlp = trained("ssvm_tagger")
    before = doc(
        nlp,
        "Eat blue ham",
        pos=["VERB", "ADJ", "NOUN"],
        lemmas=["eat", "blue", "ham"],
        heads=[0, 2, 0],
        deps=["ROOT", "amod", "dobj"],
        ents=["O", "O", "B-FOOD"],
    )
    after = nlp(before.copy())
    for attribute in ("POS", "LEMMA", "HEAD", "DEP", "ENT_IOB", "ENT_TYPE", "SENT_START"):
        assert np.array_equal(after.to_array(attribute), before.to_array(attribute))


def test_empty_docs():
    nlp = trained("ssvm_tagger")
    tagger = nlp.get_pipe("ssvm_tagger")
    assert len(nlp(Doc(nlp.vocab))) == 0
    docs = list(tagger.pipe([Doc(nlp.vocab), doc(nlp, "Eat blue ham"), Doc(nlp.vocab)]))
    assert [len(d) for d in docs] == [0, 3, 0]
    assert [token.tag_ for token in docs[1]] == ["VERB", "ADJ", "NOUN"]
    assert list(tagger.pipe([])) == []
    empty = Example(Doc(nlp.vocab), Doc(nlp.vocab))
    train(nlp, [empty])
    train(nlp, [empty, *tagger_examples(nlp)], 1)
    assert nlp.update([], sgd=False) == {}
    assert tagger.update([]) == {"ssvm_tagger": 0.0}


def test_whitespace_tokens_are_tagged_like_others():
    nlp = blank("ssvm_tagger")
    words = ["Eat", " \n ", "ham", "\n"]
    examples = [Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words, tags=["VERB", "_SP", "NOUN", "_SP"]))]
    nlp.initialize(lambda: examples)
    train(nlp, examples)
    assert [token.tag_ for token in nlp(Doc(nlp.vocab, words=words))] == ["VERB", "_SP", "NOUN", "_SP"]
    assert [token.tag_ for token in nlp(Doc(nlp.vocab, words=["\n"]))] == ["_SP"]


def test_raw_text_through_the_whole_pipeline():
    nlp = trained("ssvm_tagger")
    assert [token.tag_ for token in nlp("Eat blue ham")] == ["VERB", "ADJ", "NOUN"]
    assert nlp.analyze_pipes()["problems"]["ssvm_tagger"] == []


def test_two_taggers_in_one_pipeline():
    nlp = spacy.blank(LANG)
    nlp.add_pipe("ssvm_tagger", name="fine")
    nlp.add_pipe("ssvm_tagger", name="coarse", config={"attr": "pos"})
    examples = [
        Example(doc(nlp, text), doc(nlp, text, tags=[t.lower() for t in tags.split()], pos=tags.split()))
        for text, tags in TAGGED
    ]
    nlp.initialize(lambda: examples)
    losses = {}
    for _ in range(10):
        nlp.update(examples, sgd=False, losses=losses)
    assert set(losses) == {"fine", "coarse"}
    for token in nlp(doc(nlp, "Eat blue ham")):
        assert token.tag_ == token.pos_.lower()
