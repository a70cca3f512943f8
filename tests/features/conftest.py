import numpy as np
import pytest
import spacy
from spacy.tokens import Doc, Token

LATIN = "The QUICK brown iPhone-4 14:05 1999 3.14 e-mail me@example.org https://example.org/x $ € . ... -- ( U.S.A. ß"
MIXED = "naïve Straße ÉCOLE İstanbul ǅ ﬁne x² ٣٤ 東京 Привет देवनागरी e\u0301te\u0301 👍 👩\u200d👩\u200d👧 a\u200db _x_"
SHORT = "case NOUN agent one twenty-one ab abc abcd abcde abcdef"
WORDS = [*LATIN.split(), *MIXED.split(), *SHORT.split(), " ", "\n\n", "\t", "\xa0"]


@pytest.fixture(scope="session")
def nlp():
    return spacy.blank("en")


@pytest.fixture
def extensions():
    """Registers extensions of tokens by their default values, and takes them away again."""
    names = []

    def register(**defaults):
        for name, default in defaults.items():
            Token.set_extension(name, default=default, force=True)
            names.append(name)

    yield register
    for name in names:
        Token.remove_extension(name)


@pytest.fixture
def annotated(nlp):
    """A Doc with every annotation that a template can read, on some of its tokens."""
    rng = np.random.default_rng(0)

    def some(values):
        return [values[k] for k in rng.integers(len(values), size=len(WORDS))]

    doc = Doc(
        nlp.vocab,
        words=WORDS,
        spaces=[bool(k % 3) for k in range(len(WORDS))],
        tags=some(["", "NN", "VB"]),
        pos=some(["", "NOUN", "VERB"]),
        lemmas=some(["", "be", "go"]),
        morphs=some(["", "Number=Sing", "Number=Plur"]),
        sent_starts=[True, *some([True, False, None])[1:]],
        ents=some(["O", "B-ORG", "B-DATE"]),
    )
    for token, dep in zip(doc, some(["", "nsubj", "obj"])):
        token.dep_ = dep
    return doc
