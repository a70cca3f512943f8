"""Docs far longer than a sentence: their memory grows as they do, and their annotation is complete."""

import tracemalloc
from itertools import cycle, islice

import pytest
from spacy.tokens import Doc

from .toy import EXAMPLES, trained

every = pytest.mark.parametrize("factory", EXAMPLES)
MILLION = 1_000_000


def long_doc(nlp, factory, n_tokens):
    """The training texts one after the other; a parser is told where sentences start."""
    references = [example.reference for example in EXAMPLES[factory](nlp)]
    words = islice(cycle(token.text for tokens in references for token in tokens), n_tokens)
    starts = islice(cycle(token.i == 0 for tokens in references for token in tokens), n_tokens)
    return Doc(nlp.vocab, words=list(words), sent_starts=list(starts) if factory == "ssvm_parser" else None)


def peak(component, doc):
    """The most memory in bytes that prediction has at a time, but for what kernels take for a sentence."""
    tracemalloc.start()
    component.predict([doc])
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


@every
def test_memory_grows_as_the_doc_does(factory):
    nlp = trained(factory)
    component = nlp.get_pipe(factory)
    small, large = (long_doc(nlp, factory, n_tokens) for n_tokens in (5_000, 50_000))
    component.predict([small, large])  # tables that stay grow with the largest batch
    assert peak(component, large) < 11 * peak(component, small)
    assert peak(component, large) < 1500 * len(large)


@pytest.mark.slow
@every
def test_a_million_tokens(factory):
    nlp = trained(factory)
    tokens = nlp(long_doc(nlp, factory, MILLION))
    assert {
        "ssvm_tagger": tokens.has_annotation("TAG", require_complete=True),
        "ssvm_ner": tokens.has_annotation("ENT_IOB", require_complete=True) and len(tokens.ents) > MILLION / 20,
        "ssvm_senter": tokens.has_annotation("SENT_START", require_complete=True),
        "ssvm_parser": tokens.has_annotation("DEP", require_complete=True),
    }[factory]
