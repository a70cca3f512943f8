"""Docs of several vocabularies: what is known of a word in one of them says nothing of the others."""

import pytest
import spacy
from spacy.attrs import LOWER, SHAPE
from spacy.tokens import Doc
from spacy.vocab import Vocab

from .components import TEXTS, every, learnt
from .toy import LANG, annotation, annotations, blank, tagger_examples, teach

UNSEEN = ["Unheard Wordings here", "3 zebras sleep in Oslo .", "WE SAW HER ?"]


def odd_vocab() -> Vocab:
    """One in which all words look alike."""
    alike = {LOWER: lambda text: "ham", SHAPE: lambda text: "xxx"}
    return Vocab(lex_attr_getters={**spacy.blank(LANG).vocab.lex_attr_getters, **alike})


VOCABS = {"bare": Vocab, "of another pipeline": lambda: spacy.blank(LANG).vocab, "odd": odd_vocab}


@every
@pytest.mark.parametrize("kind", VOCABS)
def test_docs_of_another_vocabulary_leave_later_ones_as_they_are(factory, kind):
    texts = [*TEXTS, *UNSEEN]
    undisturbed = learnt(factory)
    expected = [annotation(undisturbed(Doc(undisturbed.vocab, words=text.split()))) for text in texts]
    nlp = learnt(factory)
    pipe, other = nlp.get_pipe(factory), VOCABS[kind]()
    alone = [annotation(pipe(Doc(other, words=text.split()))) for text in texts]
    assert [annotation(pipe(Doc(nlp.vocab, words=text.split()))) for text in texts] == expected
    # Neither does it matter for them what was read before, or comes in the same batch.
    docs = [Doc(vocab, words=text.split()) for text in texts for vocab in (nlp.vocab, other, VOCABS[kind]())]
    found = [annotation(tokens) for tokens in learnt(factory).get_pipe(factory).pipe(docs)]
    assert found[::3] == expected and found[1::3] == found[2::3] == alone
    if kind != "odd":
        assert alone == expected


@every
def test_a_component_that_was_sourced_reads_docs_of_its_new_pipeline(factory):
    source, nlp = learnt(factory), spacy.blank(LANG)
    nlp.add_pipe(factory, name="another", source=source)
    assert nlp.get_pipe("another").vocab is not nlp.vocab
    with nlp.memory_zone():
        assert annotations(nlp) == annotations(learnt(factory))
    words = len(source.vocab.strings)
    nlp("Unheard wordings everywhere")
    assert len(source.vocab.strings) == words, "the vocabulary of the source does not grow"


def test_patterns_read_words_of_their_own_vocabulary():
    rule = {"patterns": [[{"LOWER": "ham"}]], "allow": ["VERB"]}
    nlp = blank("ssvm_tagger", patterns=[rule])
    teach(nlp, tagger_examples(nlp))
    tagger = nlp.get_pipe("ssvm_tagger")
    for vocab in (Vocab(), odd_vocab(), nlp.vocab):
        found = tagger(Doc(vocab, words=["Dogs", "sleep", "HAM", "Eggs"]))
        assert found[2].tag_ == "VERB" and found[3].tag_ == "NOUN"
