"""The reader "spacy-ssvm.Corpus.v1", measured against spaCy's own."""

import logging
import re

import pytest
import spacy
from confection import ConfigValidationError
from spacy.tokens import Doc, DocBin
from spacy.training import Corpus, Example
from spacy.training.augment import create_lower_casing_augmenter
from spacy.vocab import Vocab

from spacy_ssvm.corpus import jackknife
from spacy_ssvm.corpus.reader import create_corpus

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
    vocab = Vocab()
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
    """But for boundaries: with gold_preproc each predicted Doc says that it is one sentence."""
    expected = plain(Corpus(path, **settings)(nlp))
    if settings.get("gold_preproc"):
        for predicted, _ in expected:
            predicted["sents"] = [{"start": 0, "end": predicted["tokens"][-1]["end"]}]
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


@pytest.mark.parametrize("settings", [{}, {"gold_preproc": True}])
def test_docs_of_a_memory_zone_are_not_kept(path, nlp, settings):
    """They and their words are freed with it."""
    corpus = create_corpus(path, columns=["tag"], **settings)
    expected = plain(create_corpus(path, columns=["tag"], **settings)(spacy.blank("en")))
    with nlp.memory_zone():
        references = [example.reference for example in corpus(nlp)]
        assert references
    afterwards = list(corpus(nlp))
    assert not any(one is other for one in references for other in (example.reference for example in afterwards))
    assert plain(afterwards) == expected


def test_readers_of_given_tokens_share_the_references(path, nlp):
    """`spacy train` makes two readers; a component recognises the references of the first in those of the second."""
    first, second = (list(create_corpus(path, gold_preproc=True, columns=["tag"])(nlp)) for _ in range(2))
    assert all(one.reference is other.reference for one, other in zip(first, second, strict=True))
    assert not any(one.predicted is other.predicted for one, other in zip(first, second))
    others = create_corpus(path, gold_preproc=True, limit=1)(nlp)
    assert not {id(example.reference) for example in others} & {id(example.reference) for example in first}


def test_augmented_examples_are_not_those_of_another_reader(path, nlp):
    def twice(nlp, example):
        yield from (example, example)

    plain_examples = list(create_corpus(path, gold_preproc=True)(nlp))
    assert len(list(create_corpus(path, gold_preproc=True, augmenter=twice)(nlp))) == 2 * len(plain_examples)


def test_changed_corpus_is_read_anew(path, nlp):
    for gold_preproc in (True, False):
        corpus = create_corpus(path, gold_preproc=gold_preproc)
        for word in ("first", "second, longer"):
            DocBin(docs=[Doc(nlp.vocab, words=[word])]).to_disk(path)
            assert [example.reference[0].text for example in corpus(nlp)] == [word]


def test_two_passes_at_once(path, nlp):
    corpus = create_corpus(path, columns=["tag"])
    expected = plain(create_corpus(path, columns=["tag"])(nlp))
    pairs = list(zip(corpus(nlp), corpus(nlp)))
    assert plain(first for first, _ in pairs) == plain(second for _, second in pairs) == expected


COLUMNS = {"tag": TAGS, "pos": POS, "lemma": LEMMAS, "morph": MORPHS, "norm": [word.lower() for word in WORDS]}


@pytest.mark.parametrize("column", COLUMNS)
def test_column_reaches_the_components_on_gold_tokens(path, nlp, column):
    sentences = list(create_corpus(path, columns=[column], gold_preproc=True)(nlp))[:2]

    def read(name):
        return [
            str(token.morph) if name == "morph" else getattr(token, f"{name}_")
            for example in sentences
            for token in example.predicted
        ]

    assert read(column) == COLUMNS[column]
    assert not any(any(read(name)) for name in {"tag", "pos", "lemma", "morph"} - {column})


def test_misaligned_tokens_get_no_value(path, nlp):
    """ "cannot" is tokenised as gold has it; "New York" is two tokens for one gold word, "annotation" has no tag."""
    nlp.tokenizer.add_special_case("cannot", [{"ORTH": "can"}, {"ORTH": "not"}])
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


def test_unknown_setting_is_refused(path):
    with pytest.raises(ConfigValidationError, match="column"):
        resolve(path=str(path), column=["tag"])


SENTENCES = [
    (["the", "cat", "sleeps"], ["DT", "NN", "VBZ"], ["DET", "NOUN", "VERB"]),
    (["a", "dog", "barks"], ["DT", "NN", "VBZ"], ["DET", "NOUN", "VERB"]),
    (["the", "dog", "eats", "a", "cat"], ["DT", "NN", "VBZ", "DT", "NN"], ["DET", "NOUN", "VERB", "DET", "NOUN"]),
]
REPEATED = SENTENCES * 6


@pytest.fixture(autouse=True)
def _forgotten():
    jackknife._remembered.clear()


def saved(path, docs):
    DocBin(docs=docs).to_disk(path)
    return path


@pytest.fixture
def tagged(tmp_path):
    """18 Docs whose tags their words tell; in one, all tags are wrong."""
    vocab = Vocab()
    docs = [Doc(vocab, words=words, tags=tags, pos=pos) for words, tags, pos in REPEATED]
    docs[7] = Doc(vocab, words=REPEATED[7][0], tags=["NN", "VBZ", "DT"], pos=["NOUN", "VERB", "DET"])
    return saved(tmp_path / "tagged.spacy", docs)


@pytest.mark.parametrize("names", [["tag"], ["pos"], ["tag", "pos"], ["pos", "tag", "pos"]])
def test_jackknifed_columns_are_predicted_from_other_documents(tagged, nlp, names):
    examples = list(create_corpus(tagged, jackknife=names)(nlp))
    for example, (words, tags, pos) in zip(examples, REPEATED, strict=True):
        assert [token.text for token in example.predicted] == words
        assert [token.tag_ for token in example.predicted] == (tags if "tag" in names else [""] * len(words))
        assert [token.pos_ for token in example.predicted] == (pos if "pos" in names else [""] * len(words))
    assert [token.tag_ for token in examples[7].reference] == ["NN", "VBZ", "DT"]


def test_features_are_jackknifed(tmp_path, nlp):
    """There are 101 of them, which are decoded as many labels are."""
    morphs = [f"Number=Sing|Case={name}" for name in ("Nom", "Acc")]
    words = [[f"a{k}", "the", f"b{k}"] for k in range(50)] * 3
    docs = [
        Doc(nlp.vocab, words=w, pos=["NOUN", "DET", "VERB"], morphs=[morphs[0] + w[0], "", morphs[1] + w[2]])
        for w in words
    ]
    expected = [[(token.pos_, str(token.morph)) for token in doc] for doc in docs]
    examples = list(create_corpus(saved(tmp_path / "m.spacy", docs), jackknife=["morph", "tag", "pos"][::2])(nlp))
    found = [[(token.pos_, str(token.morph)) for token in example.predicted] for example in examples]
    for k in (0, 1):
        assert {pair[k] for doc in found for pair in doc} <= {pair[k] for doc in expected for pair in doc}
    right = sum(a == b for x, y in zip(found, expected) for a, b in zip(x, y))
    assert right > 0.9 * 450


def test_given_and_jackknifed_columns_together(tagged, nlp):
    example = list(create_corpus(tagged, columns=["tag"], jackknife=["pos"])(nlp))[7]
    assert [(token.tag_, token.pos_) for token in example.predicted] == [
        ("NN", "DET"),
        ("VBZ", "NOUN"),
        ("DT", "VERB"),
    ]


def test_two_readers_jackknife_once(tagged, nlp, caplog):
    """One makes the examples of `initialize`, the other those of `update`; each is read twice, once only in part."""
    with caplog.at_level(logging.INFO, "spacy"):
        passes = []
        for corpus in (create_corpus(tagged, jackknife=["tag"]), create_corpus(tagged, jackknife=["tag"])):
            next(iter(corpus(nlp)))
            passes += [plain(corpus(nlp)), plain(corpus(nlp))]
        passes.append(plain(create_corpus(tagged, jackknife=["tag"])(spacy.blank("en"))))
    assert all(found == passes[0] for found in passes)
    (line,) = [record.getMessage() for record in caplog.records if "Jackknifed" in record.getMessage()]
    assert line.startswith(f'Jackknifed column "tag" of {tagged}: 5 folds, accuracy 95.45, ')


def test_changed_corpus_is_jackknifed_anew(tagged, nlp):
    list(create_corpus(tagged, jackknife=["tag"])(nlp))
    saved(tagged, [Doc(nlp.vocab, words=words, tags=["X"] * len(words)) for words, _, _ in REPEATED])
    examples = list(create_corpus(tagged, jackknife=["tag"])(nlp))
    assert {token.tag_ for example in examples for token in example.predicted} == {"X"}


def test_large_corpus_is_jackknifed_in_parts(tmp_path, nlp, monkeypatch, caplog):
    tags = [[*tags, "CD"] for _, tags, _ in REPEATED * 4]
    words = [[*words, f"number{number}"] for number, (words, _, _) in enumerate(REPEATED * 4)]
    docs = [Doc(nlp.vocab, words=words, tags=tags) for words, tags in zip(words, tags)]
    corpus = create_corpus(saved(tmp_path / "large.spacy", docs), jackknife=["tag"])
    monkeypatch.setattr("spacy_ssvm.corpus.reader.MAX_CACHED", 130)
    with caplog.at_level(logging.INFO, "spacy"):
        examples = list(corpus(nlp))
    assert [[token.tag_ for token in example.predicted] for example in examples] == tags
    assert caplog.text.count("Jackknifed") == 5


def test_misaligned_and_missing_tags_are_predicted(tmp_path, nlp):
    """ "dogcat" is one token for two gold words; one Doc is not annotated, one says only what a tag is not."""
    docs = [Doc(nlp.vocab, words=words, tags=tags) for words, tags, _ in REPEATED]
    docs[4] = Doc(nlp.vocab, words=["the", "dog", "cat"], spaces=[True, False, False], tags=["DT", "NN", "NN"])
    docs[5] = Doc(nlp.vocab, words=["the", "cat", "sleeps"])
    docs[6] = Doc(nlp.vocab, words=["the", "cat", "sleeps"], tags=["DT", "!VBZ", ""])
    docs[8] = Doc(nlp.vocab, words=["!", "!"], tags=["!", "!"])
    docs[11] = Doc(nlp.vocab, words=["!"], tags=["!"])
    examples = list(create_corpus(saved(tmp_path / "corpus.spacy", docs), jackknife=["tag"], columns=["pos"])(nlp))
    assert len(examples) == len(docs)
    predicted = [[token.tag_ for token in example.predicted] for example in examples]
    assert predicted[4][0] == "DT" and len(predicted[4]) == 2 and predicted[4][1] in {"DT", "NN", "VBZ", "!"}
    assert predicted[5] == predicted[6] == ["DT", "NN", "VBZ"]
    assert predicted[8] == ["!", "!"] and predicted[11] == ["!"]


def test_augmented_examples_are_jackknifed(tagged, nlp):
    corpus = create_corpus(tagged, jackknife=["pos"], augmenter=create_lower_casing_augmenter(0.5))
    for _ in range(2):
        examples = list(corpus(nlp))
        assert [[token.pos_ for token in example.predicted] for example in examples] == [pos for _, _, pos in REPEATED]


def test_nothing_to_jackknife_is_explained(tmp_path, nlp):
    bare = saved(tmp_path / "bare.spacy", [Doc(nlp.vocab, words=["a", "b"], tags=["X", "Y"])] * 3)
    message = (
        rf'cannot jackknife column "pos" of {re.escape(str(bare))}: none of its 3 examples has gold values; remove the'
    )
    with pytest.raises(ValueError, match=message):
        list(create_corpus(bare, jackknife=["tag", "pos"])(nlp))
    words = SENTENCES[0][0] + SENTENCES[1][0]
    tags = SENTENCES[0][1] + SENTENCES[1][1]
    starts = [True, False, False, True, False, False]
    one = saved(tmp_path / "one.spacy", [Doc(nlp.vocab, words=words, tags=tags, sent_starts=starts)])
    with pytest.raises(ValueError, match=r"1 of its 1 examples .*gold_preproc = true"):
        list(create_corpus(one, jackknife=["tag"])(nlp))
    assert len(list(create_corpus(one, jackknife=["tag"], gold_preproc=True)(nlp))) == 2


@pytest.mark.parametrize("kept", [0, 1])
def test_empty_documents_are_passed_on(tagged, nlp, kept):
    """spaCy's Corpus drops them, but an augmenter can make some."""

    def emptied(nlp, example):
        yield from [Example(Doc(nlp.vocab), Doc(nlp.vocab)), *[example] * kept]

    examples = list(create_corpus(tagged, jackknife=["pos"], augmenter=emptied)(nlp))
    found = [[token.pos_ for token in example.predicted] for example in examples]
    assert found == [row for _, _, pos in REPEATED for row in [[], *[pos] * kept]]


def test_jackknifing_is_named_in_configs(tagged, nlp):
    corpus = resolve(path=str(tagged), jackknife=["tag"], folds=3, seed=7)
    assert (corpus.folds, corpus.seed) == (3, 7)
    assert plain(corpus(nlp)) == plain(create_corpus(tagged, jackknife=["tag"])(nlp))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        *(({"columns": [name]}, rf"columns names \['{name}'\]; it can name .*'tag'") for name in ("TAG", "ent_type")),
        ({"columns": ["tag", "upos"]}, r"columns names \['upos'\]; it can name .*'tag'"),
        ({"path": None}, r"no path: set \[paths\] .*--paths\.train"),
        ({"jackknife": ["tag", "lemma"]}, r"jackknife names \['lemma'\]; it can name \['tag', 'pos', 'morph'\]"),
        ({"jackknife": ["tag"], "columns": ["pos", "tag"]}, r"both columns and jackknife name \['tag'\]"),
        ({"jackknife": ["tag"], "folds": 1}, "folds must be at least 2, not 1"),
        ({"jackknife": ["tag"], "seed": -1}, "seed must not be negative, not -1"),
    ],
)
def test_bad_settings_are_refused(path, settings, message):
    with pytest.raises(ValueError, match=message):
        resolve(**{"path": str(path), **settings})


@pytest.mark.parametrize(
    ("name", "said"),
    [("none.spacy", "there is no file or folder"), ("train.json", "spacy convert"), ("folder", "does not contain")],
)
def test_a_path_without_a_corpus_is_named_with_its_setting(tmp_path, nlp, name, said):
    (tmp_path / "train.json").write_text("{}")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "train.tsv").write_text("word\tTAG\n")
    nlp.config["paths"] = {"train": str(tmp_path / name), "dev": None}
    with pytest.raises(ValueError, match=rf"{name}\" \(paths\.train\).*{said}|{said}.*{name}\" \(paths\.train\)"):
        list(create_corpus(tmp_path / name)(nlp))


def test_nothing_at_the_path(tmp_path, nlp):
    with pytest.warns(UserWarning, match="contains no .spacy or .conllu file"):
        assert list(create_corpus(tmp_path)(nlp)) == []
