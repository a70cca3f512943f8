"""CoNLL-U in the reader "spacy-ssvm.Corpus.v1", measured against spaCy's converter, and configs for treebanks."""

import re
import warnings
from itertools import chain, combinations
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

from spacy_ssvm.cli import corpus_choices
from spacy_ssvm.corpus.conllu_reader import MAX_SENTENCES, read_blocks
from spacy_ssvm.corpus.description import describe, has_crossing_arcs
from spacy_ssvm.corpus.reader import create_corpus
from spacy_ssvm.distributed.corpus_shards import deal

from ..cli.calling import call, plain, said
from ..corpora import UD

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
TREEBANKS = [
    *(pytest.param(path, 100, id=f"beginning of {path.stem}") for path in sorted(UD.glob("[eh][lu]_*-dev.conllu"))),
    *(pytest.param(path, None, marks=pytest.mark.slow, id=path.stem) for path in sorted(UD.glob("*-dev.conllu"))),
]
"""Files and numbers of their first sentences. Of those by default one has words of several tokens, one no XPOS."""


def saved(path, *sentences):
    path.write_bytes("".join(f"{sentence}\n" for sentence in sentences).encode("utf8", "surrogateescape"))
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
@pytest.mark.parametrize("path, n_sentences", TREEBANKS)
@pytest.mark.parametrize("merge_subtokens", [False, True])
def test_treebanks_are_what_spacy_converts(path, n_sentences, merge_subtokens, tmp_path):
    """But for missing XPOS, for which spaCy puts UPOS."""
    text = "\n\n".join(path.read_text("utf8").split("\n\n")[:n_sentences])
    path = saved(tmp_path / path.name, f"{text}\n")
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
    assert describe(tmp_path / "a.conllu", None).several_roots == 1.0


BAD = [
    ("1\ta\n", "line 3: a word has 10 columns with tabs between them, and this line 2"),
    (OTHER.replace("1\t", "2\t", 1), "line 3: ID is '2', not 1"),
    (OTHER.replace("\t0\t", "\t7\t"), "line 3: HEAD is 7, and the sentence has 1 word"),
    (OTHER.replace("\t0\t", "\tx\t"), "line 3: HEAD is 'x', not a number"),
    *(
        (OTHER.replace("\t_\t0", f"\t{feats}\t0"), f"FEATS is '{feats}', not")
        for feats in ("Case", "A=b=c", "A=b||C=d")
    ),
    *((OTHER.replace("PROPN", tag), f"line 3: UPOS is '{tag}', which UD does not have") for tag in ("NAME", "propn")),
    (f"# text\n{SENTENCE.replace('VERB', 'NAME')}", "line 10: UPOS is 'NAME', which UD does not have"),
    (f"# a\n\n# b\n{OTHER.replace('PROPN', 'NAME')}", "line 6: UPOS is 'NAME', which UD does not have"),
    (OTHER.replace("New York", "Malm\udcf6", 1), "line 3: this is not text in UTF-8"),
    (OTHER.replace("New York", "", 1), "line 3: FORM is empty"),
    (f"1.1\ta{8 * '	_'}\n", "line 3: a sentence has no words"),
    (f"1-2\tab{8 * '	_'}\n{OTHER}", "the words of the multi-word token 'ab' end too early"),
    (f"2-3\tab{8 * '	_'}\n{OTHER}", "ID '2-3' of a multi-word token is not N-M with N = 1"),
    ("1\ta\ta\tX\t_\t_\t2\tx\t_\t_\n2\tb\tb\tX\t_\t_\t1\tx\t_\t_\n", "line 3: the heads form a cycle"),
    ("1\ta\ta\tX\t_\t_\t0\troot\t_\t_\n2\tb\tb\tX\t_\t_\t2\tx\t_\t_\n", "line 4: HEAD is 2, the word itself"),
]


@pytest.mark.parametrize("bad, said", BAD)
@pytest.mark.parametrize("settings", [{}, {"gold_preproc": True}, {"gold_tokens": True, "merge_subtokens": True}])
def test_bad_sentences_are_left_out(bad, said, settings, tmp_path):
    """They alone, with the line of the row that is bad."""
    path = saved(tmp_path / "a.conllu", OTHER, bad, SENTENCE, OTHER)
    with pytest.warns(UserWarning, match=r"1 sentences of .* cannot be read and are left out: a.conllu, line") as found:
        read = docs(path, **settings)
    assert len(found) == 1 and said in str(found[0].message) and said in describe(path, None).bad[0]
    good = docs(saved(tmp_path / "good.conllu", OTHER, SENTENCE, OTHER), **settings)
    assert list(map(annotation, read)) == list(map(annotation, good))
    with pytest.raises(ValueError, match=r"none of the sentences of .* can be read: b.conllu, line \d+: ") as found:
        docs(saved(tmp_path / "b.conllu", "", "", bad), **settings)
    assert said in str(found.value)


# Another form of bad sentence is another message; a few say what the commands do with messages.
@pytest.mark.parametrize("bad, said", BAD[::12])
def test_all_commands_name_the_same_bad_sentences(bad, said, tmp_path):
    saved(tmp_path / "en_x-ud-train.conllu", *[OTHER] * 9, *[OTHER.replace("NE", "N")] * 9, bad, OTHER)
    saved(tmp_path / "en_x-ud-dev.conllu", OTHER, bad, OTHER)
    result = init_config(tmp_path / "config.cfg", "--treebank", tmp_path)
    output = plain(result)
    later = re.sub(r"line (\d+):", lambda line: f"line {int(line[1]) + 34}:", said)
    assert result.exit_code == 0 and "2 sentences cannot be read and are left out" in output
    debug = plain(call("debug-data", tmp_path / "config.cfg"))
    assert debug.count(": sentences that the reader cannot read, and leaves out: 1") == 2
    for name, reason in (("train", later), ("dev", said)):
        (message,) = re.findall(rf"en_x-ud-{name}\.conllu, line [^;]*?, in '", output.split("conllu: ")[0] + output)[:1]
        assert reason in message and message in debug


def test_a_sentence_that_is_left_out_takes_nothing_with_it(tmp_path):
    """Neither the mark of its text, nor a place among the documents, nor what is jackknifed."""
    bad = OTHER.replace("PROPN", "NAME")
    marked = [f"# newdoc\n{bad}", OTHER, f"# newpar\n{OTHER}", bad, SENTENCE, f"# newdoc\n{bad}", f"# newdoc\n{OTHER}"]
    path = saved(tmp_path / "a.conllu", *marked)
    (tmp_path / "windows.conllu").write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    for file in (path, tmp_path / "windows.conllu"):
        with pytest.warns(UserWarning, match=r"3 sentences of .*line 2: .*line 9: .*line 21: "):
            assert [len(doc) for doc in docs(file)] == [1, 6, 1]
    with pytest.warns(UserWarning, match="1 sentences of"):
        assert [len(doc) for doc in docs(path, limit=1)] == [1]
    with pytest.warns(UserWarning, match="2 sentences of"):
        assert [len(doc) for doc in docs(path, gold_preproc=True, limit=3)] == [1, 1, 5]
    with pytest.warns(UserWarning, match="3 sentences of"):
        examples = list(create_corpus(path, gold_tokens=True, jackknife=["pos"])(NLP))
    assert all(token.pos_ for example in examples for token in example.predicted)


def test_comments_alone_are_no_sentence(tmp_path):
    header = "\ufeff# Licence: CC BY\n\n# Source: mine\n\n"
    path = saved(tmp_path / "a.conllu", header + SENTENCE, "# newdoc\n", OTHER, "# newpar", "", "\n# end")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [len(doc) for doc in docs(path)] == [5, 1]
        assert not describe(path, None).bad and describe(path, None).n_sentences == 2
    blocks = list(read_blocks(path))
    assert [block.line for block in blocks] == [1, 14] and [block.begins_text for block in blocks] == [False, True]
    assert docs(saved(tmp_path / "none.conllu", header)) == []


# Entities


ENTITIES = ["B-PER", "I-PER", "L-PER", "U-PER", "name=B-PER", "name=I-PER", "NE=B-LOC", "NE=I-LOC", "NE=L-LOC"]
OTHERS = ["_", "O", "name=O", "NE=B-Per", "E-PER", "Xname=B-PER", "I-LOC|B-PER", "O|B-PER", "SpaceAfter=No|name=I-PER"]


@st.composite
def sentences_with_entities(draw, tags=ENTITIES * 3 + OTHERS):
    order = draw(st.permutations(range(1, draw(st.integers(1, 6)) + 1)))
    heads = {order[0]: 0}
    heads.update((order[k], draw(st.sampled_from(order[:k]))) for k in range(1, len(order)))
    rows, end = [], 0
    for k in range(1, len(order) + 1):
        misc = draw(st.sampled_from(tags))
        if k > end and draw(st.booleans()):
            end = min(len(order), k + draw(st.integers(0, 2)))
            rows.append(f"{k}-{end}\tm{k}{'	_' * 7}\t{draw(st.sampled_from(tags))}")
        rows.append(f"{k}\tw{k}\tw{k}\tX\tT\t_\t{heads[k]}\t{'dep' if heads[k] else 'root'}\t_\t{misc}")
    return "".join(f"{row}\n" for row in rows)


def entities(docs):
    return [[(token.text, token.ent_iob_, token.ent_type_) for token in doc] for doc in docs]


@given(
    st.one_of(
        st.lists(sentences_with_entities(), min_size=1, max_size=3),
        st.lists(sentences_with_entities(["_", "name=O", "O"]), min_size=1, max_size=2),
    )
)
def test_entities_are_those_that_spacy_converts(tmp_path_factory, written):
    path = saved(tmp_path_factory.mktemp("entities") / "a.conllu", *written)
    for merge_subtokens in (False, True):
        converted = conllu_to_docs(path.read_text("utf8"), 2, merge_subtokens=merge_subtokens, no_print=True)
        found = docs(path, gold_preproc=True, merge_subtokens=merge_subtokens)
        expected = entities(converted)
        whole = docs(path, merge_subtokens=merge_subtokens)
        assert [*chain(*entities(found))] == [*chain(*entities(whole))] == [*chain(*expected)]
        assert all(doc.has_annotation("ENT_IOB") == whole[0].has_annotation("ENT_IOB") for doc in found)


def row(number, word, misc):
    return f"{number}\t{word}\t{word}\tX\t_\t_\t{int(number > 1)}\t{'dep' if number > 1 else 'root'}\t_\t{misc}\n"


WITH_ENTITIES = [
    row(1, "Ada", "name=B-PER") + row(2, "Berg", "name=I-PER") + row(3, "Bo", "SpaceAfter=No|name=B-PER"),
    row(1, "Oslo", "NE=U-GPE"),
    row(1, "It", "_") + row(2, "rains", "_"),
]


def test_entities_in_misc_are_learnt(tmp_path):
    train = saved(tmp_path / "train.conllu", *WITH_ENTITIES * 5)
    nlp = spacy.blank("xx")
    nlp.add_pipe("ssvm_ner")
    examples = list(create_corpus(train, gold_tokens=True)(nlp))
    found = [[(ent.text, ent.label_) for ent in example.reference.ents] for example in examples]
    assert found[0][:4] == [("Ada Berg", "PER"), ("Bo", "PER"), ("Oslo", "GPE"), ("Ada Berg", "PER")]
    nlp.initialize(lambda: examples)
    assert nlp.get_pipe("ssvm_ner").labels == ("GPE", "PER")
    for _ in range(5):
        nlp.update(examples)
    assert nlp.evaluate(examples)["ents_f"] == 1.0


def test_a_file_without_entities_says_what_to_do(tmp_path):
    path = saved(tmp_path / "train.conllu", OTHER, SENTENCE)
    nlp = spacy.blank("xx")
    nlp.add_pipe("ssvm_ner")
    with pytest.raises(ValueError, match=r"has a label to learn: .*\.conllu file, .* tags in MISC, such as name=B-PER"):
        nlp.initialize(lambda: create_corpus(path)(nlp))


def test_workers_get_the_same_sentences_and_entities(tmp_path):
    """Whether entities are annotated is a matter of each file."""
    bad = OTHER.replace("PROPN", "NAME")
    folder = tmp_path / "corpus"
    folder.mkdir()
    saved(folder / "a.conllu", "# end of a header\n", bad, *WITH_ENTITIES, *[OTHER, bad] * 20)
    saved(folder / "b.conllu", *[f"# newdoc\n{OTHER}", OTHER, bad] * 5, f"# newdoc\n{bad}")
    with pytest.warns(UserWarning, match=r"27 sentences of .*corpus cannot be read .* a.conllu, line 3: "):
        whole = docs(folder)
    for n_parts in (1, 3):
        with pytest.warns(UserWarning, match=r"27 sentences of .*corpus cannot be read .* a.conllu, line 3: "):
            parts = deal(folder, tmp_path / f"dealt{n_parts}", n_parts)
        dealt = [docs(part) for part in parts]
        assert sum(map(len, dealt)) == len(whole)
        for number, part in enumerate(dealt):
            mine = whole[number::n_parts]
            assert list(map(annotation, part)) == list(map(annotation, mine)) and entities(part) == entities(mine)
    known = [doc.has_annotation("ENT_IOB") for doc in whole]
    assert known == sorted(known, reverse=True) and {*known} == {True, False}
    saved(folder / "a.conllu", bad)
    saved(folder / "b.conllu", bad, bad)
    with pytest.raises(ValueError, match="none of the sentences of"):
        deal(folder, tmp_path / "none", 2)


@given(st.lists(st.integers(0, 7), min_size=1, max_size=8))
def test_crossing_arcs(heads):
    heads = [min(head, len(heads) - 1) for head in heads]
    arcs = [sorted((place, -1 if head == place else head)) for place, head in enumerate(heads)]
    crossing = any(a < x < b < y or x < a < y < b for (a, b), (x, y) in combinations(arcs, 2))
    assert has_crossing_arcs(heads) == crossing


# init-config --treebank


def init_config(*arguments):
    return call("init-config", *arguments)


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
    assert config["nlp"]["pipeline"] == ["senter", "tagger", "pos_tagger", "morphologizer", "lemmatizer", "parser"]
    assert not config["components"]["morphologizer"]["overwrite"], "the coarse tag is that of the pos_tagger"
    assert "# corpora.train.merge_subtokens: 12 multi-word tokens are divided" in text
    train = config["corpora"]["train"]
    assert train["gold_tokens"] and not train["merge_subtokens"] and not train["gold_preproc"]
    assert config_of("--treebank", treebank, "--merge-subtokens")[0]["corpora"]["train"]["merge_subtokens"]
    load_model_from_config(config)


def test_components_are_those_of_the_annotation(tmp_path):
    saved(tmp_path / "qaa_x-train.conllu", *[OTHER, OTHER.replace("NE", "NN")] * 6)
    config, text = config_of("-t", tmp_path / "qaa_x-train.conllu")
    assert config["nlp"]["lang"] == "xx" and "spaCy has no language qaa" in text
    assert config["nlp"]["pipeline"] == ["senter", "tagger", "pos_tagger", "lemmatizer", "parser"]
    assert config["paths"]["dev"] is None
    bare = "1\ta\t_\t_\tX\t_\t_\t_\t_\t_\n"
    saved(tmp_path / "x.conllu", *[bare] * 12)
    config, _ = config_of("-t", tmp_path / "x.conllu", "-l", "en")
    assert config["nlp"]["pipeline"] == ["senter", "tagger"] and config["nlp"]["lang"] == "en"


LANGUAGES = {
    "te": "te-train te_mtg-ud-train te.train train.te TE-ud-train tel_mtg-ud-train te",
    "xx": "gl-train gl_ctg-ud-train ud-train train corpus",
}


@pytest.mark.parametrize("name, lang", [(name, lang) for lang, names in LANGUAGES.items() for name in names.split()])
def test_the_language_is_that_of_the_file(name, lang, tmp_path):
    path = saved(tmp_path / f"{name}.conllu", *[OTHER] * 3)
    result = init_config(tmp_path / "out.cfg", "-t", path)
    assert result.exit_code == 0 and load_config(tmp_path / "out.cfg")["nlp"]["lang"] == lang
    assert ("nlp.lang is xx: spaCy has no language gl" in plain(result)) == name.startswith("gl")
    assert "--lang names" in result.output or lang != "xx"


def test_a_language_that_spacy_does_not_have_becomes_xx(tmp_path):
    for lang, expected in (("gl", "xx"), ("punctuation", "xx"), ("xx", "xx"), ("te", "te"), ("tel", "te")):
        result = init_config(tmp_path / "out.cfg", "-p", "tagger", "--lang", lang, "--force")
        assert result.exit_code == 0 and load_config(tmp_path / "out.cfg")["nlp"]["lang"] == expected
        said = f"nlp.lang is xx: spaCy has no language {lang}" in plain(result)
        assert said == (lang in ("gl", "punctuation"))


def decided(*xpos):
    """A sentence whose UPOS decides XPOS: NOUN, VERB and PUNCT have these."""
    rows = zip(("Haus", "fällt", "."), ("NOUN", "VERB", "PUNCT"), xpos, (2, 0, 2), ("nsubj", "root", "punct"))
    return "".join(f"{k}\t{form}\t_\t{u}\t{x}\t_\t{h}\t{d}\t_\t_\n" for k, (form, u, x, h, d) in enumerate(rows, 1))


def test_tags_that_follow_from_coarse_ones_are_set(tmp_path):
    """By spaCy's component, which takes a table; TAG is scored in training and in evaluation."""
    for part in ("train", "dev"):
        saved(tmp_path / f"de_x-{part}.conllu", *[decided("NN", 'V"V', "_")] * 20)
    config, text = config_of("-t", tmp_path)
    assert config["nlp"]["pipeline"] == ["senter", "pos_tagger", "attribute_ruler", "parser"]
    assert "# components.tagger: none: XPOS follows from UPOS, by the patterns of the attribute_ruler" in text
    assert init_config(tmp_path / "config.cfg", "--treebank", tmp_path).exit_code == 0
    small = {f"components.parser.model.features.{name}": 10 for name in ("hash_bits", "label_hash_bits")}
    config = load_config(tmp_path / "config.cfg", overrides={"training.max_epochs": 3, **small})
    (tmp_path / "out").mkdir()
    train(init_nlp(config), tmp_path / "out")
    nlp = spacy.load(tmp_path / "out" / "model-best")
    assert [(token.pos_, token.tag_) for token in nlp("Haus fällt .")] == [
        ("NOUN", "NN"),
        ("VERB", 'V"V'),
        ("PUNCT", ""),
    ]
    assert nlp.meta["performance"]["tag_acc"] == nlp.meta["performance"]["pos_acc"] == 1.0
    assert "TAG 100.00" in said("evaluate", tmp_path / "out" / "model-best", tmp_path / "de_x-dev.conllu")


def test_tags_that_a_table_cannot_hold_are_learnt(tmp_path):
    """spaCy's configs double the dollar sign each time they are read without variables, and written."""
    config, text = config_of("-t", saved(tmp_path / "de_x-train.conllu", *[decided("NN", "VV", "$.")] * 20))
    assert config["nlp"]["pipeline"] == ["senter", "tagger", "pos_tagger", "parser"]
    assert "# components.tagger: 100 % of the words have XPOS, some with $" in text
    config, _ = config_of(
        "-t", saved(tmp_path / "de_x-train.conllu", decided("NN", "VV", "PT"), decided("NE", "VV", "PT"))
    )
    assert "tagger" in config["nlp"]["pipeline"]


def test_a_treebank_without_development_file_is_divided(tmp_path, monkeypatch):
    """As split does, for a file, a file of any name and a folder of several."""
    (tmp_path / "several files").mkdir()
    for name in (
        "gl_x-ud-train.conllu",
        "gl.conllu",
        "several files/gl_x-train-a.conllu",
        "several files/gl_x-train-b.conllu",
    ):
        saved(tmp_path / name, *[SENTENCE] * 30)
    monkeypatch.chdir(tmp_path)
    for place, path in enumerate(("gl_x-ud-train.conllu", "gl.conllu", "several files")):
        said("split", path, "train.conllu", "dev.conllu")
        text = said("init-config", f"{place}.cfg", "-t", path)
        assert "There is no development corpus: " in text and "are kept back, as spacy ssvm split keeps them" in text
        config = load_config(f"{place}.cfg")
        assert config["nlp"]["lang"] == "xx" and "spaCy has no language gl" in text
        for part in ("train", "dev"):
            assert config["paths"][part] == f"{place}-{part}.conllu"
            assert Path(config["paths"][part]).read_bytes() == Path(f"{part}.conllu").read_bytes()
            Path(f"{part}.conllu").unlink()
        said("init-config", f"{place}.cfg", "-t", path, "--force")
        Path(f"{place}.cfg").unlink()
        said("init-config", f"{place}.cfg", "-t", path)
        Path(f"{place}.cfg").unlink()
        Path(f"{place}-dev.conllu").write_text("mine")
        assert f"{place}-dev.conllu exists: use --force" in plain(init_config(f"{place}.cfg", "-t", path))
        assert init_config("-", "-t", path).exit_code == 0, "without a file, there is none for the parts either"


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
    assert describe(path, None).feats_by_tags == 0.95


def test_taggers_read_long_affixes_of_small_treebanks(treebank, monkeypatch):
    for large in (72, 73):
        monkeypatch.setattr(corpus_choices, "LARGE_TREEBANK", large)
        config, text = config_of("-t", treebank)
        extra = config["components"]["pos_tagger"]["model"]["features"]["extra"]
        assert extra == (corpus_choices.LONG_AFFIXES if large == 73 else None)
        assert ("# components.*tagger.model.features.extra:" in text) == (large == 73)


def test_the_structure_is_that_of_the_trees(tmp_path):
    heads = [3, 4, 0, 3]
    crossing = "".join(f"{k}\ta\ta\tX\t_\t_\t{head}\tx\t_\t_\n" for k, head in enumerate(heads, 1))
    config, _ = config_of("-t", saved(tmp_path / "x.conllu", crossing, *[OTHER] * 4))
    assert config["components"]["parser"]["model"]["structure"] == "nonprojective"
    config, _ = config_of("-t", saved(tmp_path / "x.conllu", crossing, *[OTHER] * 5))
    assert config["components"]["parser"]["model"]["structure"] == "projective"


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--merge-subtokens", "--dev", "{}"], "--dev, --merge-subtokens needs --data"),
        (["-t", "{}/several"], "several files of a kind (a-train.conllu; b-train.conllu)"),
        (["-t", "{}/none.conllu"], "there is nothing to divide"),
        (["-t", "{}/none.conllu", "-d", "{}/bare.conllu"], "has no sentences that can be read"),
    ],
)
def test_what_the_command_cannot_write_is_explained(arguments, said, tmp_path):
    (tmp_path / "several").mkdir()
    for name in ("a-train", "b-train", "c-dev"):
        saved(tmp_path / "several" / f"{name}.conllu", OTHER)
    saved(tmp_path / "bare.conllu", *["1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n"] * 2)
    saved(tmp_path / "none.conllu")
    result = init_config(tmp_path / "out.cfg", *(argument.format(tmp_path) for argument in arguments))
    assert result.exit_code == 1 and not (tmp_path / "out.cfg").exists()
    assert said in plain(result)
