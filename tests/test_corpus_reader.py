"""The reader "spacy-ssvm.Corpus.v1", measured against spaCy's own."""

import pytest
import spacy
from confection import ConfigValidationError
from spacy.tokens import Doc, DocBin
from spacy.training import Corpus
from spacy.training.augment import create_lower_casing_augmenter

from spacy_ssvm.pipeline.corpus import create_corpus

WORDS = ["She", "can", "not", "go", ".", "I", "do", "n't", "know", "New York", "!"]
TAGS = ["PRP", "MD", "RB", "VB", ".", "PRP", "VBP", "RB", "VB", "NNP", "."]
POS = ["PRON", "AUX", "PART", "VERB", "PUNCT", "PRON", "AUX", "PART", "VERB", "PROPN", ""]
LEMMAS = ["she", "can", "not", "go", ".", "I", "do", "not", "know", "New York", ""]
MORPHS = ["Case=Nom", "VerbForm=Fin", "", "VerbForm=Inf", "", "Case=Nom", "", "", "", "Number=Sing", ""]
SPACES = [True, False, True, False, True, True, False, True, True, False, False]


@pytest.fixture
def nlp():
    return spacy.blank("en")


@pytest.fixture
def path(tmp_path):
    """Three Docs: "cannot" is one gold word too many for the tokenizer, "New York" one too few."""
    vocab = spacy.blank("en").vocab
    whole = Doc(
        vocab,
        words=WORDS,
        spaces=SPACES,
        tags=TAGS,
        pos=POS,
        lemmas=LEMMAS,
        morphs=MORPHS,
        sent_starts=[k in (0, 5) for k in range(len(WORDS))],
        ents=["B-PER", *["O"] * 8, "B-GPE", "O"],
    )
    bare = Doc(vocab, words=["No", "annotation", "here"])
    one = Doc(vocab, words=["Yes"], tags=["UH"])
    DocBin(docs=[whole, bare, one], store_user_data=True).to_disk(tmp_path / "corpus.spacy")
    return tmp_path / "corpus.spacy"


def plain(examples):
    return [(example.predicted.to_json(), example.reference.to_json()) for example in examples]


@pytest.mark.parametrize(
    "settings", [{}, {"gold_preproc": True}, {"limit": 2}, {"max_length": 6}, {"gold_preproc": True, "limit": 1}]
)
def test_without_columns_the_examples_are_spacys(path, nlp, settings):
    expected = plain(Corpus(path, **settings)(nlp))
    assert plain(create_corpus(path, **settings)(nlp)) == expected
    assert expected


def test_every_pass_gives_the_same_examples(path, nlp):
    corpus = create_corpus(path, columns=["tag", "pos"])
    expected = plain(create_corpus(path, columns=["tag", "pos"])(nlp))
    for _ in range(3):
        examples = list(corpus(nlp))
        assert plain(examples) == expected
        for example in examples:
            for token in example.predicted:
                token.tag_ = "CHANGED"
    assert plain(corpus(spacy.blank("en"))) == expected


def test_pass_that_is_broken_off_does_no_harm(path, nlp):
    corpus = create_corpus(path, columns=["tag"])
    expected = plain(create_corpus(path, columns=["tag"])(nlp))
    next(iter(corpus(nlp)))
    assert plain(corpus(nlp)) == expected


def test_two_passes_at_once(path, nlp):
    corpus = create_corpus(path, columns=["tag"])
    expected = plain(create_corpus(path, columns=["tag"])(nlp))
    pairs = list(zip(corpus(nlp), corpus(nlp)))
    assert plain(first for first, _ in pairs) == plain(second for _, second in pairs) == expected


def test_corpus_of_another_vocabulary(path):
    corpus = create_corpus(path, columns=["tag"])
    for _ in range(2):
        other = spacy.blank("en")
        for example in corpus(other):
            assert example.predicted.vocab is other.vocab and example.reference.vocab is other.vocab


@pytest.mark.parametrize(
    ("column", "gold"), [("tag", TAGS), ("pos", POS), ("lemma", LEMMAS), ("norm", [w.lower() for w in WORDS])]
)
def test_column_reaches_the_components_on_gold_tokens(path, nlp, column, gold):
    sentences = list(create_corpus(path, columns=[column], gold_preproc=True)(nlp))[:2]
    read = [getattr(token, f"{column}_") for example in sentences for token in example.predicted]
    if column == "norm":
        expected = [token.norm_ for example in sentences for token in example.reference]
        assert read == expected
    else:
        assert read == gold
    others = {"tag", "pos", "lemma"} - {column}
    for example in sentences:
        assert not any(getattr(token, f"{name}_") for token in example.predicted for name in others)


def test_morphology_is_a_column(path, nlp):
    sentences = list(create_corpus(path, columns=["morph"], gold_preproc=True)(nlp))[:2]
    read = [str(token.morph) for example in sentences for token in example.predicted]
    assert read == MORPHS


def test_misaligned_tokens_get_no_value(path, nlp):
    """ "cannot" is tokenised as gold has it; "New York" is two tokens for one gold word, "annotation" has no tag."""
    whole, bare, one = create_corpus(path, columns=["tag", "lemma"])(nlp)
    by_word = {token.text: (token.tag_, token.lemma_) for token in whole.predicted}
    reference = {token.text: (token.tag_, token.lemma_) for token in whole.reference}
    aligned = [word for word in by_word if word in reference]
    assert len(aligned) >= 8 and set(by_word) - set(aligned)
    assert all(by_word[word] == reference[word] for word in aligned)
    expected = whole.get_aligned("TAG", as_string=True)
    assert [token.tag_ for token in whole.predicted] == [tag or "" for tag in expected]
    assert not any(token.tag_ for token in bare.predicted)
    assert [token.tag_ for token in one.predicted] == ["UH"]


def test_token_over_several_gold_words_gets_no_value(tmp_path, nlp):
    gold = Doc(nlp.vocab, words=["wo", "n't", "x", "y"], spaces=[False, True, False, False], tags=["A", "B", "C", "D"])
    DocBin(docs=[gold]).to_disk(tmp_path / "corpus.spacy")
    nlp.tokenizer = spacy.tokenizer.Tokenizer(nlp.vocab)
    (example,) = create_corpus(tmp_path / "corpus.spacy", columns=["tag"])(nlp)
    assert [(token.text, token.tag_) for token in example.predicted] == [("won't", ""), ("xy", "")]


def test_augmented_examples_are_drawn_anew_and_carry_columns(path, nlp):
    corpus = create_corpus(path, columns=["tag"], gold_preproc=True, augmenter=create_lower_casing_augmenter(0.5))
    passes = {tuple(example.text for example in corpus(nlp)) for _ in range(20)}
    assert len(passes) > 1
    for example in corpus(nlp):
        assert [token.tag_ for token in example.predicted] == [token.tag_ for token in example.reference]


def resolve(**settings):
    return spacy.registry.resolve({"corpus": {"@readers": "spacy-ssvm.Corpus.v1", **settings}})["corpus"]


def test_reader_is_named_in_configs(path, nlp):
    corpus = resolve(path=str(path), columns=["tag"], gold_preproc=True, max_length=0, limit=0, augmenter=None)
    assert plain(corpus(nlp)) == plain(create_corpus(path, columns=["tag"], gold_preproc=True)(nlp))


@pytest.mark.parametrize("columns", [["tag", "upos"], ["TAG"], ["ent_type"]])
def test_unknown_column_is_refused(path, columns):
    with pytest.raises(ValueError, match=rf"columns names \['{columns[-1]}'\]; it can name .*'tag'"):
        resolve(path=str(path), columns=columns)


def test_missing_path_is_explained():
    with pytest.raises(ValueError, match=r"no path: set \[paths\] .*--paths\.train"):
        resolve(path=None)


def test_unknown_setting_is_refused(path):
    with pytest.raises(ConfigValidationError, match="column"):
        resolve(path=str(path), column=["tag"])


def test_nothing_at_the_path(tmp_path, nlp):
    with pytest.warns(UserWarning, match="Could not locate any .spacy files"):
        assert list(create_corpus(tmp_path / "none")(nlp)) == []
