"""`ssvm_tagger` as a user of spaCy's tagger expects it."""

import pytest
import spacy
from spacy.training import Example

from .toy import LANG, TAGGED, blank, doc, tagged, tagger_examples, teach, train


def test_attr_pos_writes_and_scores_coarse_tags():
    nlp = blank("ssvm_tagger", attr="pos")
    examples = teach(nlp, tagger_examples(nlp, attr="pos"))
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


def test_an_exclamation_mark_is_a_tag():
    nlp = blank("ssvm_tagger")
    teach(nlp, [tagged(nlp, "Stop it !", ["VERB", "PRON", "!"]), tagged(nlp, "It stops", ["PRON", "VERB"])])
    assert nlp.get_pipe("ssvm_tagger").labels == ("!", "PRON", "VERB")
    assert nlp(doc(nlp, "Stop it !"))[2].tag_ == "!"


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


def test_a_negative_tag_is_unlearnt_as_in_spacy():
    nlp = blank("ssvm_tagger")
    teach(nlp, tagger_examples(nlp), 20)
    text = "I like blue eggs"
    assert nlp(doc(nlp, text))[0].tag_ == "PRON"
    train(nlp, [tagged(nlp, text, ["!PRON", "VERB", "ADJ", "NOUN"])], 20)
    found = [token.tag_ for token in nlp(doc(nlp, text))]
    assert found[0] != "PRON" and found[1:] == ["VERB", "ADJ", "NOUN"]
    assert not any(label.startswith("!") for label in nlp.get_pipe("ssvm_tagger").labels)
