"""Text that nobody writes, and some does arrive: every component annotates it, and loses none of it."""

import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc, DocBin
from spacy.training import Example

from ..pipeline.toy import EXAMPLES, annotation, doc, train
from .components import ATTRIBUTE, LANG, SCORE, blank, every, learnt

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
@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_text(factory, kind):
    nlp = learnt(factory)
    tokens = nlp(HOSTILE[kind])
    assert tokens.text == HOSTILE[kind]
    assert tokens.has_annotation(ATTRIBUTE[factory], require_complete=True)


@every
def test_hostile_text_is_learnt_from(factory):
    """The gold annotation of the toy corpus on words of another world."""
    nlp = blank(factory)
    words = [word for text in HOSTILE.values() for word in text.split() if word]
    examples = []
    for example in EXAMPLES[factory](nlp):
        reference = example.reference
        strange = [f"{words[token.i % len(words)]}{token.text}" for token in reference]
        attributes = ["TAG", "ENT_IOB", "ENT_TYPE", "HEAD", "DEP"] if factory != "ssvm_senter" else ["SENT_START"]
        gold = Doc(nlp.vocab, words=strange).from_array(attributes, reference.to_array(attributes))
        examples.append(Example(Doc(nlp.vocab, words=strange), gold))
    nlp.initialize(lambda: examples)
    train(nlp, examples, 15)
    assert nlp.evaluate(examples)[SCORE[factory]] == 1


@every
def test_any_words(factory):
    nlp = learnt(factory)
    component = nlp.get_pipe(factory)

    @settings(max_examples=60)
    @given(st.lists(alphabets, max_size=12), st.booleans())
    def annotates(words, spaces):
        tokens = component(Doc(nlp.vocab, words=words, spaces=[spaces] * len(words)))
        assert [token.text for token in tokens] == words
        assert not words or tokens.has_annotation(ATTRIBUTE[factory], require_complete=True)

    annotates()


@every
def test_unpaired_surrogates(factory):
    """spaCy cannot hash them and lets none in, neither as text nor as words."""
    nlp = learnt(factory)
    with pytest.raises(UnicodeEncodeError):
        nlp("Eat \ud800 ham")
    with pytest.raises(UnicodeEncodeError):
        Doc(nlp.vocab, words=["\ud800"])


@every
def test_a_token_of_a_million_characters(factory):
    nlp = learnt(factory)
    long = Doc(nlp.vocab, words=["Eat", "h" * MILLION, "now"])
    assert nlp.get_pipe(factory)(long).has_annotation(ATTRIBUTE[factory], require_complete=True)
    assert len(long[1]) == MILLION


@every
def test_only_whitespace_to_learn_from(factory):
    """Nothing is annotated on it, so it is passed over beside what can be learnt."""
    nlp = blank(factory)
    spaces = Doc(nlp.vocab, words=[" ", "\n\n", "\t"], spaces=[False] * 3)
    examples = [*EXAMPLES[factory](nlp), Example(spaces, spaces.copy())]
    with pytest.warns(UserWarning, match=rf"\[{factory}\]"):
        nlp.initialize(lambda: examples)
    train(nlp, examples, 15)
    assert nlp.evaluate(EXAMPLES[factory](nlp))[SCORE[factory]] == 1


@every
def test_a_broken_doc_in_a_stream_of_thousands(factory, monkeypatch):
    """The error handler gets that Doc alone, and every other one is annotated."""
    nlp = learnt(factory)
    component, failed = nlp.get_pipe(factory), []
    read = component._prepared

    def fails(docs):
        if any(tokens.user_data.get("broken") for tokens in docs):
            raise ValueError("broken")
        return read(docs)

    monkeypatch.setattr(component, "_prepared", fails)
    nlp.set_error_handler(lambda name, proc, docs, error: failed.extend(docs))
    docs = [doc(nlp, f"Eat ham {k}") for k in range(3000)]
    docs[1234].user_data["broken"] = True
    kept = list(nlp.pipe(docs))
    assert failed == [docs[1234]]
    assert kept == docs[:1234] + docs[1235:]
    assert all(tokens.has_annotation(ATTRIBUTE[factory]) for tokens in kept)


@every
def test_annotation_of_hostile_text_is_saved(factory):
    nlp = learnt(factory)
    docs = list(nlp.pipe(HOSTILE.values()))
    again = DocBin().from_bytes(DocBin(docs=docs).to_bytes()).get_docs(spacy.blank(LANG).vocab)
    assert [annotation(tokens) for tokens in again] == [annotation(tokens) for tokens in docs]
