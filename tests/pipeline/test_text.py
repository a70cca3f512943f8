"""Text that nobody writes, and some does arrive: every component annotates it, and loses none of it."""

import tracemalloc
from itertools import cycle, islice

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc, DocBin

from .components import ATTRIBUTE, every, learnt
from .toy import EXAMPLES, LANG, annotation

MILLION = 1_000_000
HOSTILE = {
    "control": "Eat\x00blue\x07ham\x1b[31m \x7f\x85 now",
    "emoji": "👩‍👩‍👧‍👦 eats 🍳🥓 👍🏽 🇩🇪 ❤️",
    "scripts": "Anna 吃 яйца בבית и мисо汤 ﷽ ａｂｃ",
    "right to left": "أحمد يعيش في \u202eNew York\u202c .",
    "combining": "e\u0301" * 3 + " Z\u0334\u0335\u0336\u0337algo \u200d\u200b\ufeff",
    "beyond the first plane": "𝔊𝔬𝔱𝔥𝔦𝔠 𐍈 𒀭 \U0010fffd",
    "not characters": "\ufffe\uffff \U000e0001 \ue000",
    "one word": "a" * 5000,
    "punctuation": "!?" * 50 + " ... --- ''' \"\"\"",
    "urls": "http://x.y/?a=b&c[]=%20#frag user@host.example 1,000.00€ 3:45pm",
    "one character": "x",
    "template": "lower[0]+bias %s {0} $(x) \\N{DASH}",
}
alphabets = st.one_of(
    st.text(min_size=1, max_size=12),
    st.text(st.characters(categories=("Cc", "Cf", "Zs", "Zl", "Zp", "Co", "Cn")), min_size=1),
    st.text("👩‍👦\u0301\u202eאب汉Aa0 \n\t.", min_size=1),
)


@every
def test_hostile_text(factory):
    """Its annotation can be saved, too."""
    docs = list(learnt(factory).pipe(HOSTILE.values()))
    for tokens, text in zip(docs, HOSTILE.values(), strict=True):
        assert tokens.text == text
        assert tokens.has_annotation(ATTRIBUTE[factory], require_complete=True)
    again = DocBin().from_bytes(DocBin(docs=docs).to_bytes()).get_docs(spacy.blank(LANG).vocab)
    assert [annotation(tokens) for tokens in again] == [annotation(tokens) for tokens in docs]


@every
def test_any_words(factory):
    nlp = learnt(factory)
    component = nlp.get_pipe(factory)

    @given(st.lists(alphabets, max_size=12), st.booleans())
    def annotates(words, spaces):
        tokens = component(Doc(nlp.vocab, words=words, spaces=[spaces] * len(words)))
        assert [token.text for token in tokens] == words
        assert not words or tokens.has_annotation(ATTRIBUTE[factory], require_complete=True)

    annotates()


@every
def test_a_token_of_a_million_characters(factory):
    nlp = learnt(factory)
    long = Doc(nlp.vocab, words=["Eat", "h" * MILLION, "now"])
    assert nlp.get_pipe(factory)(long).has_annotation(ATTRIBUTE[factory], require_complete=True)
    assert len(long[1]) == MILLION


def long_doc(nlp, factory, n_tokens):
    """The training texts one after the other; a parser is told where sentences start."""
    references = [example.reference for example in EXAMPLES[factory](nlp)]
    words = islice(cycle(token.text for tokens in references for token in tokens), n_tokens)
    starts = islice(cycle(token.i == 0 for tokens in references for token in tokens), n_tokens)
    return Doc(nlp.vocab, words=list(words), sent_starts=list(starts) if factory == "ssvm_parser" else None)


def peak(component, tokens):
    """The most memory in bytes that prediction has at a time, but for what kernels take for a sentence."""
    tracemalloc.start()
    component.predict([tokens])
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


@every
def test_memory_grows_as_the_doc_does(factory):
    nlp = learnt(factory)
    component = nlp.get_pipe(factory)
    small, large = (long_doc(nlp, factory, n_tokens) for n_tokens in (1_500, 15_000))
    component.predict([small, large])  # tables that stay grow with the largest batch
    assert peak(component, large) < 11 * peak(component, small)
    assert peak(component, large) < 1500 * len(large)


@pytest.mark.slow
@every
def test_a_million_tokens(factory):
    nlp = learnt(factory)
    tokens = nlp(long_doc(nlp, factory, MILLION))
    assert tokens.has_annotation(ATTRIBUTE[factory], require_complete=True)
    assert factory != "ssvm_ner" or len(tokens.ents) > MILLION / 20
