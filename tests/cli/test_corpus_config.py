"""`spacy ssvm init-config --data`: configs for corpora of all formats, with the reasons for their settings."""

import pytest
import spacy
from spacy.tokens import Doc, DocBin
from spacy.training.converters import iob_to_docs
from spacy.training.initialize import init_nlp
from spacy.util import load_config, load_config_from_str, load_model_from_config

from spacy_ssvm.cli.settings import CHUNK_TEMPLATES
from spacy_ssvm.corpus.description import describe, find_files
from spacy_ssvm.corpus.reader import SentenceCorpus

from .calling import call, refusal, said

NLP = spacy.blank("xx")
VOCAB = NLP.vocab
NAMES = ["Ann", "Bo", "Cid", "Dora"]


def sentence(number):
    """Words, tags and entities of a sentence."""
    return [NAMES[number % 4], "sees", "Oslo", "."], ["NE", "VB", "NE", "PT"], ["B-PER", "O", "B-LOC", "O"]


def doc(*numbers, tags=True, ents=True, starts=True):
    words, pos, names = ([one for part in parts for one in part] for parts in zip(*map(sentence, numbers)))
    firsts = [place % 4 == 0 for place in range(len(words))]
    return Doc(
        VOCAB, words, tags=pos if tags else None, ents=names if ents else None, sent_starts=firsts if starts else None
    )


def saved(path, *docs):
    DocBin(docs=docs).to_disk(path)
    return path


def config_of(*arguments):
    result = call("init-config", "-", *arguments)
    assert result.exit_code == 0, result.output
    return load_config_from_str(result.stdout), result.stdout


def test_documents_of_entities(tmp_path):
    path = saved(tmp_path / "train.spacy", *[doc(n, n + 1, n + 2) for n in range(20)])
    config, text = config_of("--data", path)
    assert config["nlp"]["pipeline"] == ["senter", "tagger", "ner"] and config["nlp"]["lang"] == "xx"
    assert config["components"]["ner"]["model"]["features"]["document"] is True
    assert config["corpora"]["train"]["gold_tokens"] and not config["corpora"]["train"]["gold_preproc"]
    assert "# components.ner: 120 entities with 2 labels" in text and "3.0 sentences and 12 words" in text
    config, text = config_of("--data", path, "--pipeline", "ner")
    assert config["nlp"]["pipeline"] == ["ner"] and "components.tagger: none: --pipeline does not name it" in text
    for part in ("train", "dev"):
        corpus = config["corpora"][part]
        assert corpus["columns"] == ["sent_start"] and not corpus["gold_preproc"], "entities end with sentences"


def test_sentences_of_entities(tmp_path):
    path = saved(tmp_path / "train.spacy", *map(doc, range(20)))
    config, text = config_of("--data", path, "--lang", "te")
    assert config["nlp"]["pipeline"] == ["tagger", "ner"]
    assert config["nlp"]["lang"] == "te" and config["corpora"]["dev"]["gold_preproc"]
    features = config["components"]["ner"]["model"]["features"]
    assert not features["document"] and "lower[-1]+lower[0]+lower[1]" in features["extra"]
    assert "no word lists: make some by python -m spacy ssvm resources te FOLDER" in text


def test_an_entity_recogniser_alone_reads_sentences_unless_there_are_documents(tmp_path):
    for docs in [doc(0, 1, 2)], [doc(n) for n in range(20)], [doc(0, 1), *map(doc, range(19))]:
        saved(tmp_path / "dev.spacy", doc(0, 1))
        config, _ = config_of("--data", saved(tmp_path / "train.spacy", *docs), "--pipeline", "ner")
        for part in ("train", "dev"):
            corpus = config["corpora"][part]
            assert corpus["gold_preproc"] and corpus["gold_tokens"] and corpus["columns"] is None


def test_one_doc_is_learnt_from_sentence_by_sentence(tmp_path):
    path, dev = saved(tmp_path / "train.spacy", doc(*range(9))), saved(tmp_path / "dev.spacy", doc(0), doc(1))
    config, text = config_of("--data", path)
    assert config["nlp"]["pipeline"] == ["tagger", "ner"] and config["corpora"]["train"]["gold_preproc"]
    assert "the training corpus is one Doc" in text and config["paths"]["dev"] == str(dev)
    dev.unlink()
    text = refusal("init-config", tmp_path / "a.cfg", "--data", path)
    assert "has 1 document, so there is nothing to divide. Name one with --dev, or save the sentences as Docs" in text


def test_the_corpus_itself_is_not_overwritten(tmp_path):
    path = saved(tmp_path / "news-train.spacy", *map(doc, range(20)))
    before = path.read_bytes()
    text = refusal("init-config", tmp_path / "news.cfg", "--data", path, "--force")
    assert "would be overwritten: give the config another name" in text and path.read_bytes() == before
    said("init-config", tmp_path / "other.cfg", "--data", path)


@pytest.mark.parametrize("others, costs", [(11, None), (12, {"O": 0.3})])
def test_the_costs_of_rare_entities(others, costs, tmp_path):
    """2 words of 28 or of 30 are in entities."""
    plain = [Doc(VOCAB, ["So", "."], ents=["O", "O"]) for _ in range(others + 1)]
    path = saved(tmp_path / "train.spacy", doc(0, tags=False), *plain)
    assert describe(path, None).in_entities == 2 / (6 + 2 * others)
    config, text = config_of("--data", path)
    assert config["components"]["ner"].get("label_costs") == costs
    assert ("of the words are in entities, less than 7 %" in text) == (costs is not None)


def test_a_chunker_is_only_chosen_by_name(tmp_path):
    path = saved(tmp_path / "train.spacy", *map(doc, range(20)))
    config, text = config_of("--data", path, "--pipeline", "chunker")
    assert config["nlp"]["pipeline"] == ["chunker"] and config["corpora"]["dev"]["columns"] == ["tag"]
    chosen = config["components"]["chunker"]["model"]["features"]["templates"]
    assert set(chosen) > set(CHUNK_TEMPLATES) and "# components.chunker.model.features.templates: " in text


@pytest.mark.parametrize(
    "without, arguments, complaint",
    [
        ({"tags": False, "ents": False}, [], "has no annotation to learn: XPOS, UPOS, LEMMA, HEAD or entities"),
        ({"tags": False}, ["-p", "tagger"], "does not annotate: tagger: none: 0 % of the words have XPOS"),
        ({"tags": False}, ["-p", "chunker"], "does not annotate what a chunker learns: XPOS"),
        ({"ents": False}, ["-p", "tagger,ner"], "ner: none: no word is in an entity"),
        ({}, ["-p", "tager"], "there is no component tager"),
        ({}, ["-d", "none.spacy"], "there is no file or folder none.spacy"),
    ],
)
def test_what_cannot_be_chosen_is_explained(without, arguments, complaint, tmp_path):
    path = saved(tmp_path / "train.spacy", *[doc(n, **without) for n in range(20)])
    assert complaint in refusal("init-config", tmp_path / "a.cfg", "--data", path, *arguments)
    assert not (tmp_path / "a.cfg").exists()


def test_annotated_shards_are_a_corpus(tmp_path):
    shards, dev = tmp_path / "silver", saved(tmp_path / "dev.spacy", *map(doc, range(5)))
    shards.mkdir()
    for number in range(2):
        saved(shards / f"{number:06}.spacy", *map(doc, range(10)))
    said("init-config", tmp_path / "a.cfg", "--data", shards, "--dev", dev)
    assert load_config(tmp_path / "a.cfg")["paths"]["train"] == str(shards)
    assert "to which files would be added" in refusal("init-config", shards / "out" / "a.cfg", "--data", shards)
    (shards / "000001.spacy").rename(shards / "a-dev.spacy")
    assert "has no file *train*" in refusal("init-config", tmp_path / "b.cfg", "--data", shards)


@pytest.mark.parametrize("name", ["none.spacy", "data.json", "empty"])
def test_a_path_without_corpus(name, tmp_path):
    (tmp_path / "data.json").write_text("{}")
    (tmp_path / "empty").mkdir()
    complaint = {"none.spacy": "there is no file", "data.json": "spacy convert", "empty": "has no file *train*"}[name]
    assert complaint in refusal("init-config", tmp_path / "a.cfg", "--data", tmp_path / name)


# Columns


DUTCH = """-DOCSTART- -DOCSTART- O
De Art O
Boer N B-PER
Jan N I-PER

Hij Pron O
\t
-DOCSTART- -DOCSTART- O

Gent N I-LOC
Oslo N B-LOC
"""


def read(path):
    return (example.reference for example in SentenceCorpus(path)(NLP))


def test_columns_become_docs(tmp_path):
    path = tmp_path / "ned.train"
    path.write_text(DUTCH)
    first, second = read(path)
    assert [token.text for token in first] == ["De", "Boer", "Jan", "Hij"] and first[0].tag_ == "Art"
    assert [(ent.text, ent.label_) for ent in first.ents] == [("Boer Jan", "PER")] and len([*first.sents]) == 2
    assert [(ent.text, ent.label_) for ent in second.ents] == [("Gent", "LOC"), ("Oslo", "LOC")]
    assert first.has_unknown_spaces


SCHEMES = {
    "I-A I-A O I-B": [(0, 2, "A"), (3, 4, "B")],
    "I-A B-A I-A I-B": [(0, 1, "A"), (1, 3, "A"), (3, 4, "B")],
    "B-X L-X U-X O": [(0, 2, "X"), (2, 3, "X")],
    "B-X I-X E-X S-X": [(0, 3, "X"), (3, 4, "X")],
}


@pytest.mark.parametrize("tags", SCHEMES)
def test_schemes_of_entities(tags, tmp_path):
    """IOB, IOB2, BILUO and IOBES."""
    path = tmp_path / "a.iob"
    path.write_text("".join(f"w\t{tag}\n" for tag in tags.split()))
    (found,) = read(path)
    assert [(ent.start, ent.end, ent.label_) for ent in found.ents] == SCHEMES[tags]


def test_a_line_may_be_a_sentence(tmp_path):
    """As in the .iob files of spaCy."""
    text = "New|NNP|I-LOC York|NNP|I-LOC .|.|O\nHe|PRP|O saw|VBD|O  Ada|NNP|B-PER Bo|NNP|B-PER\n"
    path = tmp_path / "a.iob"
    path.write_text(text)
    found, expected = read(path), iob_to_docs(text, n_sents=1, no_print=True)
    for ours, theirs in zip(found, expected, strict=False):
        assert [(token.text, token.tag_) for token in ours] == [(token.text, token.tag_) for token in theirs]
        assert [(ent.text, ent.label_) for ent in ours.ents] == [(ent.text, ent.label_) for ent in theirs.ents] != []
    assert next(found, None) is None


def test_white_space_within_and_around_columns(tmp_path):
    path = tmp_path / "a.conll"
    path.write_text("# a\n# \n10\u00a0000 CD O\neuros  NN O\nAnn\tNN\t B-PER\n")
    (found,) = read(path)
    assert [(token.text, token.tag_) for token in found] == [("10\u00a0000", "CD"), ("euros", "NN"), ("Ann", "NN")]
    assert [ent.text for ent in found.ents] == ["Ann"]


def test_words_of_long_documents_stay_as_they_are(tmp_path):
    path = tmp_path / "a.conll"
    path.write_text("-DOCSTART- O\n\n" + "a@b-c.de O\ncan't O\nNew-York, B-LOC\n\n" * 3)
    examples = [*SentenceCorpus(path, max_length=5)(NLP)]
    assert [token.text for token in examples[0].predicted] == ["a@b-c.de", "can't", "New-York,"] and len(examples) == 3


def test_a_folder_is_read_as_its_names_say(tmp_path):
    """Or not at all: a corpus of several files is all that is in its folder."""

    def parts(name, *files):
        for file in files:
            (tmp_path / name / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / file).write_text(f"{file}\tB-X\n")
        return tmp_path / name

    for folder in (
        parts("a", "train_1.conll", "train_2.conll", "test.tsv"),
        parts("b", "train_1.conllu", "train_2.conllu", "test/test.conllu"),
        parts("c", "train_1.conll", "train_2.conll", "old/e.spacy"),
    ):
        with pytest.raises(ValueError, match="has several files of a kind"):
            find_files(folder)
    folder = parts("d", "Train_valid.conll", "Valid.conll", "test.conll")
    assert find_files(folder) == (folder / "Train_valid.conll", folder / "Valid.conll")
    folder = parts("e", "x/0.conllu", "y/0.conllu")
    assert find_files(folder) == (folder, None)
    folder = parts("f", "train.txt", "dev.txt")
    said("init-config", folder / "config.cfg", "--data", folder)
    assert "may have been made of columns" in refusal("init-config", folder / "config.cfg", "--data", folder, "--force")


def test_words_with_a_bar_are_no_sentences(tmp_path):
    path = tmp_path / "a.iob"
    path.write_text("New|B-LOC York|I-LOC\n\nHe|O |  left|O\n\n|\tO\na|b\tO\n")
    with pytest.warns(UserWarning, match=r"1 sentences of .* a\.iob, line 3: the last of several columns"):
        found = [[token.text for token in doc] for doc in read(path)]
    assert found == [["New", "York"], ["|", "a|b"]]


@pytest.mark.parametrize("suffix", [".conll", ".ner"])
def test_a_folder_may_have_several_files_of_columns_and_others(suffix, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    for number in range(2):
        (folder / f"te_train{number}{suffix}").write_text(f"Bob\tB-per\nsleeps{number}\tO\n\n" * 20)
    (folder / "README.txt").write_text("Bob sleeps.\n")
    text = said("init-config", tmp_path / "config.cfg", "--data", folder)
    assert "Language te, components ner" in text and "has columns, and is converted: it has 40 documents" in text


@pytest.mark.parametrize("dev", ["dev", "valid"])
def test_a_folder_of_columns_is_converted(dev, tmp_path):
    folder = tmp_path / "wnut"
    folder.mkdir()
    for part in ("train", dev, "test"):
        (folder / f"te_{part}.conll").write_text("Bob\tB-per\nsleeps\tO\n\t\n😀\tO\nso\tO\n\n" * 5)
    text = said("init-config", tmp_path / "config.cfg", "--data", folder)
    assert "Language te, components ner" in text and "has columns, and is converted: it has 10 documents" in text
    config = load_config(tmp_path / "config.cfg")
    assert config["paths"]["train"] == str(tmp_path / "config-train.spacy")
    assert describe(tmp_path / "config-dev.spacy", None).entities == {"per": 5}
    nlp = init_nlp(config)
    assert nlp.get_pipe("ner").labels == ("per",)
    load_model_from_config(config)
    assert "save it to one" in refusal("init-config", "-", "--data", folder)
    beside = said("init-config", tmp_path / "other.cfg", "--data", folder / "te_train.conll")
    assert f"te_{dev}.conll has columns" in beside


def test_comments_before_a_sentence_are_no_words(tmp_path):
    path = tmp_path / "a.iob2"
    path.write_text("# source = x\n#\thttp://y\n#Bob\tB-per\t \n\n-DOCSTART- O\n# z\n# O\nBob\tB-per\n")
    found = [[token.text for token in doc] for doc in read(path)]
    assert found == [["#Bob"], ["#", "Bob"]]


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        (b"1\tBob\tB-per\n2\tate\tO\n", "line 3: the first column has numbers"),
        (b"Zo\xeb\tB-per\n", "line 3: this is not"),
    ],
)
def test_a_sentence_that_cannot_be_read_leaves_others(lines, complaint, tmp_path):
    path = tmp_path / "a.iob2"
    path.write_bytes(b"Bob\tB-per\n\n" + lines + b"\nAda\tB-per\n")
    with pytest.warns(UserWarning, match=rf"1 sentences of .* a\.iob2, {complaint}"):
        assert [doc.text.strip() for doc in read(path)] == ["Bob", "Ada"]


def test_a_file_in_another_encoding_is_refused(tmp_path):
    path = tmp_path / "te.conll"
    path.write_bytes("Zoë B-PER\n\nÅsa B-PER\n\nAnn B-PER\n".encode("latin-1"))
    said = refusal("init-config", tmp_path / "a.cfg", "--data", path)
    assert "most of the sentences" in said and "te.conll, line 1: this is not text in UTF-8" in said


def test_a_line_without_tag_is_named(tmp_path):
    path = tmp_path / "a.conll"
    path.write_text("Bob B-PER\n\nsleeps VB\n")
    with pytest.warns(
        UserWarning, match=r"1 sentences of .* a.conll, line 3: the last of several columns is to be the"
    ):
        assert len([*read(path)]) == 1
    path.write_text("Bob NN\n")
    with pytest.raises(ValueError, match=r"none of the sentences of .* can be read: a.conll, line 1"):
        [*read(path)]


def test_development_entities_without_training_labels_are_named(tmp_path):
    train = saved(tmp_path / "train.spacy", *map(doc, range(20)))
    other = Doc(VOCAB, ["Rome", "Ann"], ents=["B-CITY", "B-PER"], tags=["NE", "NE"])
    for dev, complaint in (
        (other, "1 of its 2 entities have labels that the training corpus does not have: CITY"),
        (doc(1, ents=False), "It has no entities"),
    ):
        path = saved(tmp_path / "dev.spacy", dev)
        assert complaint in config_of("--data", train, "--dev", path)[1]


def test_development_docs_that_are_training_docs_are_named(tmp_path):
    train = saved(tmp_path / "train.spacy", *[doc(n, n + 1, n + 2, n // 4) for n in range(20)])
    for n_new, are_named in ((2, True), (30, False)):
        new = [doc(n, n, n, n % 3, n % 5, n % 7) for n in range(n_new)]
        dev = saved(tmp_path / "dev.spacy", doc(1, 2, 3, 0), doc(2, 3, 4, 0), *new)
        _, text = config_of("--data", train, "--dev", dev, "--pipeline", "ner")
        assert (f"2 of its {n_new + 2} Docs are training Docs, too" in text) == are_named
