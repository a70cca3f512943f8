"""CoNLL-U in the reader "spacy-ssvm.Corpus.v1", measured against spaCy's converter, and configs for treebanks."""

import os
from itertools import combinations
from pathlib import Path

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import DocBin
from spacy.training.converters import conllu_to_docs
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from spacy.util import load_config, load_config_from_str, load_model_from_config
from typer.testing import CliRunner

from spacy_ssvm.cli import treebank_choices
from spacy_ssvm.cli.app import ssvm
from spacy_ssvm.corpus.conllu_reader import MAX_SENTENCES, Sentence, Word, doc_of, merged, parse, read_blocks
from spacy_ssvm.corpus.reader import create_corpus
from spacy_ssvm.corpus.treebank import has_crossing_arcs, look_at

NLP = spacy.blank("xx")
SENTENCE = """# sent_id = 1
1-2\tZum\t_\t_\t_\t_\t_\t_\t_\t_
1\tZu\tzu\tADP\tAPPR\t_\t3\tcase\t_\t_
2\tdem\tder\tDET\tART\tCase=Dat\t3\tdet\t_\t_
3\tHaus\tHaus\tNOUN\tNN\tCase=Dat\t4\tobl\t_\t_
3.1\tdas\tdas\tPRON\tPDS\t_\t_\t_\t4:obj\t_
4\tgehen\t_\tVERB\tVVINF\tVerbForm=Inf\t0\troot\t_\tSpaceAfter=No
5\t.\t.\tPUNCT\t$.\t_\t4\tpunct\t_\t_
"""
OTHER = "1\tNew York\tNew York\tPROPN\tNE\t_\t0\troot\t_\t_\n"
TREEBANKS = sorted((Path(os.environ.get("SPACY_SSVM_DATA", "none")) / "ud-2.5").glob("*-dev.conllu"))


def saved(path, *sentences):
    path.write_text("".join(f"{sentence}\n" for sentence in sentences), "utf8")
    return path


def docs(path, **settings):
    return [example.reference for example in create_corpus(path, **settings)(NLP)]


def annotation(doc, names=("text", "whitespace_", "tag_", "pos_", "lemma_", "dep_", "morph", "head")):
    return [[token.head.i if name == "head" else str(getattr(token, name)) for name in names] for token in doc]


def test_a_doc_has_the_words(tmp_path):
    (doc,) = docs(saved(tmp_path / "a.conllu", SENTENCE, OTHER))
    assert [token.text for token in doc] == ["Zu", "dem", "Haus", "gehen", ".", "New York"]
    assert doc.text == "Zudem Haus gehen. New York " and [token.head.i for token in doc] == [2, 2, 3, 3, 3, 5]
    assert [len(sentence) for sentence in doc.sents] == [5, 1]
    assert doc[3].lemma_ == "" and doc[1].lemma_ == "der" and doc[3].dep_ == "ROOT"


def test_multi_word_tokens_can_be_merged(tmp_path):
    (doc,) = docs(saved(tmp_path / "a.conllu", SENTENCE), merge_subtokens=True)
    assert doc.text == "Zum Haus gehen. " and [token.head.i for token in doc] == [1, 2, 2, 2]
    assert (doc[0].tag_, doc[0].pos_, doc[0].lemma_, str(doc[0].morph)) == ("APPR_ART", "ADP", "zu der", "Case=Dat")


@pytest.mark.skipif(not TREEBANKS, reason="SPACY_SSVM_DATA does not name a folder with ud-2.5")
@pytest.mark.parametrize("path", TREEBANKS, ids=lambda path: path.stem)
@pytest.mark.parametrize("merge_subtokens", [False, True])
def test_treebanks_are_what_spacy_converts(path, merge_subtokens):
    """But for missing XPOS, for which spaCy puts UPOS."""
    text = path.read_text("utf8")
    expected = conllu_to_docs(text, n_sents=1, merge_subtokens=merge_subtokens, no_print=True)
    found = docs(path, gold_preproc=True, merge_subtokens=merge_subtokens)
    names = ["text", "whitespace_", "pos_", "lemma_", "dep_", "morph", "head", *["tag_"] * ("hu_" not in path.name)]
    for ours, theirs in zip(found, expected, strict=True):
        assert annotation(ours, names) == annotation(theirs, names)


def test_where_docs_begin(tmp_path):
    plain = saved(tmp_path / "plain.conllu", *[OTHER] * 23)
    assert [len(doc) for doc in docs(plain)] == [10, 10, 3]
    assert [len(doc) for doc in docs(plain, gold_preproc=True)] == [1] * 23
    marked = saved(tmp_path / "marked.conllu", "# newdoc id = a\n" + OTHER, *[OTHER] * 12, "# newpar\n" + OTHER)
    assert [len(doc) for doc in docs(marked)] == [13, 1]
    long = saved(tmp_path / "long.conllu", "# newdoc\n" + OTHER, *[OTHER] * MAX_SENTENCES)
    assert [len(doc) for doc in docs(long)] == [MAX_SENTENCES, 1]


def test_a_folder_has_both_kinds(tmp_path):
    saved(tmp_path / "a.conllu", SENTENCE)
    DocBin(docs=docs(tmp_path / "a.conllu")).to_disk(tmp_path / "b.spacy")
    first, second = docs(tmp_path)
    assert annotation(first) == annotation(second)


def test_documents_with_gold_tokens(tmp_path):
    path = saved(tmp_path / "a.conllu", SENTENCE, OTHER)
    (split,) = create_corpus(path)(NLP)
    (gold,) = create_corpus(path, gold_tokens=True)(NLP)
    assert [split.predicted[0].text] == ["Zudem"]
    assert [token.text for token in gold.predicted] == [token.text for token in gold.reference]
    assert not gold.predicted.has_annotation("SENT_START")


def test_several_roots_are_one_sentence(tmp_path):
    two = "1\ta\ta\tX\t_\t_\t0\troot\t_\t_\n2\tb\tb\tX\t_\t_\t0\troot\t_\t_\n"
    (doc,) = docs(saved(tmp_path / "a.conllu", two, two))
    assert [len(sentence) for sentence in doc.sents] == [2, 2]
    assert look_at(tmp_path / "a.conllu").several_roots == 1.0


@pytest.mark.parametrize(
    "bad, said",
    [
        ("1\ta\n", "line 3: a word has 10 columns with tabs between them, and this line 2"),
        (OTHER.replace("1\t", "2\t", 1), "line 3: ID is '2', not 1"),
        (OTHER.replace("\t0\t", "\t7\t"), "line 3: HEAD is 7, and the sentence has 1 word"),
        (OTHER.replace("\t0\t", "\tx\t"), "line 3: HEAD is 'x', not a number"),
        (OTHER.replace("\t_\t0", "\tCase\t0"), "line 3: FEATS is 'Case', not of the form"),
        (OTHER.replace("PROPN", "NAME"), "NAME"),
        (OTHER.replace("New York", "", 1), "line 3: FORM is empty"),
        ("# only a comment\n", "line 3: a sentence has no words"),
        ("1-2\tab\t_\t_\t_\t_\t_\t_\t_\t_\n" + OTHER, "the words of the multi-word token 'ab' end too early"),
        ("2-3\tab\t_\t_\t_\t_\t_\t_\t_\t_\n" + OTHER, "ID '2-3' of a multi-word token is not N-M with N = 1"),
        ("1\ta\ta\tX\t_\t_\t2\tx\t_\t_\n2\tb\tb\tX\t_\t_\t1\tx\t_\t_\n", "line 3: the heads form a cycle"),
        ("1\ta\ta\tX\t_\t_\t0\troot\t_\t_\n2\tb\tb\tX\t_\t_\t2\tx\t_\t_\n", "line 4: HEAD is 2, the word itself"),
    ],
)
def test_bad_sentences_are_left_out(bad, said, tmp_path):
    path = saved(tmp_path / "a.conllu", OTHER, bad, OTHER)
    with pytest.warns(
        UserWarning, match=r"1 documents of .* cannot be read and are left out: a.conllu, line 3"
    ) as found:
        assert len(docs(path, gold_preproc=True)) == 2
    assert said in str(found[0].message)
    with pytest.raises(ValueError, match=r"none of the documents of .* can be read"):
        docs(saved(tmp_path / "b.conllu", bad))


def test_text_must_be_utf8(tmp_path):
    (tmp_path / "a.conllu").write_bytes(OTHER.encode() + b"\n# \xff\n")
    with pytest.raises(ValueError, match=r"a.conllu, line 3: this is not text in UTF-8"):
        docs(tmp_path / "a.conllu")


def sentence_of(heads):
    return Sentence([Word("a", "", "", "", "", head, "", True) for head in heads], [], 0)


@given(st.lists(st.integers(0, 7), min_size=1, max_size=8))
def test_crossing_arcs(heads):
    heads = [min(head, len(heads) - 1) for head in heads]
    arcs = [sorted((place, -1 if head == place else head)) for place, head in enumerate(heads)]
    crossing = any(a < x < b < y or x < a < y < b for (a, b), (x, y) in combinations(arcs, 2))
    assert has_crossing_arcs(sentence_of(heads)) == crossing


# init-config --treebank


def init_config(*arguments):
    return CliRunner().invoke(ssvm, ["init-config", *map(str, arguments)])


@pytest.fixture
def treebank(tmp_path):
    folder = tmp_path / "treebank"
    folder.mkdir()
    for part in ("train", "dev"):
        saved(folder / f"de_toy-ud-{part}.conllu", *[SENTENCE, OTHER] * 12)
    return folder


def config_of(*arguments):
    result = init_config("-", *arguments)
    assert result.exit_code == 0, result.output
    return load_config_from_str(result.stdout), result.stdout


def test_a_treebank_with_all_columns(treebank):
    config, text = config_of("--treebank", treebank)
    assert config["nlp"]["lang"] == "de"
    assert config["paths"]["train"].endswith("de_toy-ud-train.conllu")
    assert config["paths"]["dev"].endswith("de_toy-ud-dev.conllu")
    # UPOS decides XPOS here.
    assert config["nlp"]["pipeline"] == ["senter", "pos_tagger", "morphologizer", "lemmatizer", "parser"]
    assert "# components.tagger: none: XPOS follows from UPOS" in text
    assert not config["components"]["morphologizer"]["overwrite"], "the coarse tag is that of the pos_tagger"
    assert "# corpora.train.merge_subtokens: 12 multi-word tokens are divided" in text
    train = config["corpora"]["train"]
    assert train["gold_tokens"] and not train["merge_subtokens"] and not train["gold_preproc"]
    assert config_of("--treebank", treebank, "--merge-subtokens")[0]["corpora"]["train"]["merge_subtokens"]
    load_model_from_config(config)


def test_components_are_those_of_the_annotation(tmp_path):
    saved(tmp_path / "qaa_x-train.conllu", *[OTHER, OTHER.replace("NE", "NN")] * 2)
    config, text = config_of("-t", tmp_path / "qaa_x-train.conllu")
    assert config["nlp"]["lang"] == "xx" and "spaCy has no language qaa" in text
    assert config["nlp"]["pipeline"] == ["senter", "tagger", "pos_tagger", "lemmatizer", "parser"]
    assert config["paths"]["dev"] is None and "There is no development file" in text
    bare = "1\ta\t_\t_\tX\t_\t_\t_\t_\t_\n"
    saved(tmp_path / "x.conllu", bare, bare)
    config, _ = config_of("-t", tmp_path / "x.conllu", "-l", "en")
    assert config["nlp"]["pipeline"] == ["senter", "tagger"] and config["nlp"]["lang"] == "en"


def test_the_parser_reads_features_that_the_tags_leave_open(tmp_path):
    word = "1\tHaus\tHaus\tNOUN\tNN\tCase={}\t0\troot\t_\t_\n"
    cases = {"open": ["Nom", "Dat"], "decided": ["Nom"] * 19 + ["Dat"]}
    for name, values in cases.items():
        path = saved(tmp_path / f"{name}.conllu", *map(word.format, values))
        config, text = config_of("-t", path)
        features, reads = config["components"]["parser"]["model"]["features"], name == "open"
        assert ("morph" in features["tags"]) == features["lemmas"] == reads
        assert config["corpora"]["train"]["columns"] == (["lemma"] if reads else None)
        assert "morph" in config["components"]["lemmatizer"]["model"]["features"]["tags"]
        assert ("no morph: FEATS follow from the tags of 95 % of the words" in text) != reads
    assert look_at(path).feats_by_tags == 0.95


def test_taggers_read_long_affixes_of_small_treebanks(treebank, monkeypatch):
    for large in (72, 73):
        monkeypatch.setattr(treebank_choices, "LARGE", large)
        config, text = config_of("-t", treebank)
        extra = config["components"]["pos_tagger"]["model"]["features"]["extra"]
        assert extra == (treebank_choices.LONG_AFFIXES if large == 73 else None)
        assert ("# components.*tagger.model.features.extra:" in text) == (large == 73)


def test_the_structure_is_that_of_the_trees(tmp_path):
    heads = [3, 4, 0, 3]
    crossing = "".join(f"{k}\ta\ta\tX\t_\t_\t{head}\tx\t_\t_\n" for k, head in enumerate(heads, 1))
    config, _ = config_of("-t", saved(tmp_path / "x.conllu", crossing, *[OTHER] * 4))
    assert config["components"]["parser"]["model"]["structure"] == "nonprojective"
    config, _ = config_of("-t", saved(tmp_path / "x.conllu", crossing, *[OTHER] * 5))
    assert config["components"]["parser"]["model"]["structure"] == "projective"


def test_train_on_a_treebank(treebank, tmp_path):
    assert init_config(tmp_path / "config.cfg", "--treebank", treebank).exit_code == 0
    config = load_config(tmp_path / "config.cfg", overrides={"training.max_epochs": 1})
    (tmp_path / "out").mkdir()
    train(init_nlp(config), tmp_path / "out")
    doc = spacy.load(tmp_path / "out" / "model-last")("Haus gehen.")
    assert doc.has_annotation("DEP") and doc.has_annotation("LEMMA") and doc.has_annotation("POS")


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["-t", "{}", "-p", "tagger"], "--pipeline and --treebank cannot be combined"),
        (["--merge-subtokens"], "--merge-subtokens needs --treebank"),
        (["-t", "{}/none"], "there is no file or folder"),
        (["-t", "{}/empty"], "has no file *train*.conllu"),
        (["-t", "{}/several"], "several files of a kind (a-train.conllu; b-train.conllu)"),
        (["-t", "{}/bare.conllu"], "has no annotation to learn"),
        (["-t", "{}/none.conllu"], "has no sentences that can be read"),
    ],
)
def test_what_the_command_cannot_write_is_explained(arguments, said, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "several").mkdir()
    for name in ("a-train", "b-train", "c-dev"):
        saved(tmp_path / "several" / f"{name}.conllu", OTHER)
    saved(tmp_path / "bare.conllu", "1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n")
    saved(tmp_path / "none.conllu")
    result = init_config(tmp_path / "out.cfg", *(argument.format(tmp_path) for argument in arguments))
    assert result.exit_code == 1 and not (tmp_path / "out.cfg").exists()
    assert said in " ".join(result.stdout.split())


def test_a_merged_sentence_keeps_its_tree(tmp_path):
    (block,) = read_blocks(saved(tmp_path / "a.conllu", SENTENCE))
    sentence = parse(block)
    assert sentence.n_empty == 1 and merged(merged(sentence)) == merged(sentence)
    assert len(doc_of([merged(sentence)] * 2, NLP.vocab)) == 8
