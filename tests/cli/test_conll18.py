"""CoNLL-U files, Docs, and `spacy ssvm evaluate --conll18`, against the official scorer and by hand."""

import io
import random
import sys
from pathlib import Path

import numpy as np
import pytest
import spacy
import srsly
from pytest import approx
from spacy.language import Language
from spacy.tokens import Doc, DocBin

from spacy_ssvm.cli.conll18 import METRICS, conll18_scores
from spacy_ssvm.corpus.conllu import ConlluFile, conllu

from ..corpora import UD
from .calling import refusal, said

udeval = pytest.importorskip("udtools.udeval", reason="the extra ud is not installed")

# It has words of several tokens.
QUICK = "el_gdt"
DEV_SETS = [
    pytest.param(path, marks=[] if path.name.startswith(QUICK) else pytest.mark.slow)
    for path in sorted(UD.glob("*-ud-dev.conllu"))
]
on_dev_sets = pytest.mark.parametrize(
    "path",
    DEV_SETS or [pytest.param(None, marks=pytest.mark.skip(reason="no UD 2.5 development sets below SPACY_SSVM_DATA"))],
    ids=lambda path: path.name.partition("-")[0] if path else "none",
)

GOLD = """\
# newdoc id = a
# sent_id = a/1
# text = Zum Haus gehen.
1-2	Zum	_	_	_	_	_	_	_	_
1	Zu	zu	ADP	APPR	_	3	case	_	_
2	dem	der	DET	ART	Case=Dat|Definite=Def	3	det	_	_
3	Haus	Haus	NOUN	NN	Case=Dat|Number=Sing|Typo=No	4	obl:arg	_	_
3.1	leer	leer	VERB	_	_	_	_	0:root	_
4	gehen	_	VERB	VVINF	VerbForm=Inf	0	root	_	SpaceAfter=No
5	.	.	PUNCT	$.	_	4	punct	_	_

# newpar
# sent_id = a/2
1	New York	New York	PROPN	NE	_	0	root	_	SpaceAfter=No
2	!	!	PUNCT	$.	_	1	punct	_	_

"""
NLP = spacy.blank("xx")


def official(gold: str, system: str) -> dict[str, tuple[float, float, float]]:
    """The scores as the official script computes them from two files."""
    files = [udeval.load_conllu(io.StringIO(text), "file", {}) for text in (gold, system)]
    scores = udeval.evaluate(*files)
    return {name: (scores[name].precision, scores[name].recall, scores[name].f1) for name in METRICS}


def triples(scores: dict[str, dict[str, float]]) -> dict[str, tuple[float, float, float]]:
    return {name: (score["p"], score["r"], score["f"]) for name, score in scores.items()}


def words_only(text: str) -> str:
    """The file without multi-word tokens and empty nodes."""
    lines = text.split("\n")
    return "\n".join(line for line in lines if not line or line.startswith("#") or line.split("\t")[0].isdigit())


def damaged(text: str, seed: int) -> str:
    """The file with a tenth of the values of each column swapped in each sentence, and other valid trees."""
    rng = random.Random(seed)
    sentences = []
    for block in text.strip("\n").split("\n\n"):
        rows = [line.split("\t") for line in block.split("\n")]
        words = [row for row in rows if row[0].isdigit()]
        for column in (2, 3, 4, 5, 7):
            for word in rng.sample(words, -(-len(words) // 10)):
                if column != 7 or word[6] != "0":
                    other = rng.choice(words)
                    if column != 7 or other[6] != "0":
                        word[column] = other[column]
        # A word moves to its grandparent, which keeps the tree a tree.
        for word in rng.sample(words, -(-len(words) // 10)):
            if word[6] != "0" and (grandparent := words[int(word[6]) - 1][6]) != "0":
                word[6] = grandparent
        sentences.append("\n".join("\t".join(row) for row in rows) + "\n\n")
    return "".join(sentences)


def written(path: Path, text: str) -> Path:
    path.write_text(text, "utf8")
    return path


def through_docs(path: Path) -> str:
    return "".join(map(conllu, ConlluFile(path).docs(NLP.vocab)))


@on_dev_sets
def test_a_file_is_the_same_after_docs(path):
    """All but what no score needs: multi-word tokens, enhanced dependencies, MISC and the order of features."""

    def values(text):
        for line in words_only(text).split("\n"):
            row = line.split("\t")
            if row[0].isdigit():
                yield [*row[:5], sorted(row[5].split("|")), *row[6:8]]

    gold, again = path.read_text("utf8"), through_docs(path)
    assert list(values(gold)) == list(values(again))
    assert again.count("\n\n") == gold.count("\n\n")


@on_dev_sets
@pytest.mark.parametrize("n_sentences", [100, pytest.param(None, marks=pytest.mark.slow)])
def test_scores_of_damaged_files_are_the_official_ones(path, n_sentences, tmp_path):
    """The multi-word tokens that the official script sees do not matter, since the words are gold."""
    gold = "".join(f"{block}\n\n" for block in path.read_text("utf8").strip("\n").split("\n\n")[:n_sentences])
    system = damaged(gold, seed=0)
    expected = official(gold, system)
    assert 0.5 < expected["LAS"][2] < 0.97 and expected["CLAS"][0] != expected["CLAS"][1]
    docs = [through_docs(written(tmp_path / "file.conllu", text)) for text in (gold, system)]
    found = triples(conll18_scores(*docs))
    del expected["Tokens"], found["Tokens"]
    assert found == expected


@on_dev_sets
def test_raw_text_has_the_characters_of_the_file(path):
    """Otherwise the scorer refuses it. Vietnamese words contain spaces, at which the tokenizer splits them."""
    file = ConlluFile(path)
    scores = conll18_scores(file.text, "".join(map(conllu, NLP.pipe(file.texts()))))
    assert set(scores) == {"Tokens", "Sentences", "Words"} and scores["Tokens"]["f"] > 0.7 > scores["Sentences"]["f"]


def test_a_toy_by_hand():
    """Five words: two wrong lemmas, a wrong UPOS, a wrong feature, another subtype of a relation, a wrong head."""
    gold = words_only(GOLD).split("# newpar")[0]
    system = gold.replace("Zu\tzu\tADP", "Zu\tZu\tADV").replace("Case=Dat|Definite=Def", "Case=Acc|Definite=Def")
    system = system.replace("obl:arg", "obl:mod").replace("Typo=No", "Typo=Yes").replace("gehen\t_", "gehen\tgeh")
    system = system.replace("4\tpunct", "3\tpunct")
    scores = conll18_scores(gold, system)
    share = {name: score["f"] for name, score in scores.items()}
    assert share == {
        **{name: 1.0 for name in ("Tokens", "Sentences", "Words", "XPOS")},
        "UPOS": 4 / 5,
        "UFeats": 4 / 5,  # Typo is no universal feature
        "AllTags": 3 / 5,
        "Lemmas": 4 / 5,  # any lemma is right for "gehen", whose gold lemma is "_"
        "UAS": 4 / 5,
        "LAS": 4 / 5,  # subtypes do not count
        "CLAS": 1.0,  # the content words are "Haus" and "gehen"
        "MLAS": 1 / 2,  # function words of "Haus" are wrong
        "BLEX": 1.0,
    }


def test_whitespace_is_no_word():
    words, heads = ["\n", "We", "\t", "are", "\u00a0", "here", "now"], [3, 3, 3, 4, 4, 2, 5]
    deps = ["dep", "nsubj", "dep", "cop", "ROOT", "root", "advmod"]
    doc = Doc(NLP.vocab, words=words, heads=heads, deps=deps, spaces=[False] * 7)
    rows = [line.split("\t") for line in conllu(doc).strip().split("\n")]
    assert [(row[1], row[6], row[9]) for row in rows] == [
        ("We", "2", "_"),
        ("are", "0", "_"),
        ("here", "2", "SpaceAfter=No"),
        ("now", "3", "SpaceAfter=No"),
    ]
    assert conllu(Doc(NLP.vocab, words=["\n"])) == conllu(Doc(NLP.vocab)) == ""


def test_a_doc_without_trees_is_valid_and_has_no_attachment_scores():
    doc = Doc(NLP.vocab, words=["a", "b", "c", "d"], tags=["A", "B", "C", "D"], sent_starts=[True, False, True, False])
    text = conllu(doc)
    assert [line.split("\t")[6:8] for line in text.split("\n") if line] == [["0", "_"], ["1", "_"]] * 2
    assert len(udeval.load_conllu(io.StringIO(text), "text", {}).sentences) == 2
    gold = text.replace("\t_\t_\t_\n", "\tdep\t_\t_\n")
    assert "XPOS" in conll18_scores(gold, text) and "UAS" not in conll18_scores(gold, text)
    assert "UAS" not in conll18_scores(text, gold)


def test_a_head_in_another_sentence_is_explained():
    doc = Doc(NLP.vocab, words=["a", "b", "c"], heads=[1, 1, 1], deps=["dep", "ROOT", "dep"])
    doc.from_array(["SENT_START"], np.array([1, -1 % 2**64, 1], np.uint64))
    with pytest.raises(ValueError, match=r'the head of "c" \(token 2\), "b" \(token 1\), lies in another sentence'):
        conllu(doc)


def test_columns_that_are_empty_in_gold_are_right(tmp_path):
    """As for systems of the shared task; `spacy convert` puts UPOS in place of missing XPOS, and taggers learn that."""
    gold = "1\tHi\thi\tINTJ\t_\t_\t0\troot\t_\t_\n\n"
    system = gold.replace("INTJ\t_", "INTJ\tINTJ")
    assert official(gold, system)["XPOS"] == (0.0, 0.0, 0.0)
    scores = triples(conll18_scores(gold, system))
    assert scores == dict.fromkeys(METRICS, (1.0, 1.0, 1.0))


@Language.component("conll18_toy_tagger")
def tagger(doc):
    """Tags by the last letter."""
    for token in doc:
        token.tag_ = "$." if token.text in ".!" else "NN"
    return doc


@pytest.fixture
def model(tmp_path):
    nlp = spacy.blank("xx")
    nlp.add_pipe("conll18_toy_tagger")
    nlp.to_disk(tmp_path / "model")
    return tmp_path / "model"


def scores_of(tmp_path, *arguments):
    output = said("evaluate", *arguments, "--conll18", "--output", tmp_path / "scores.json")
    return srsly.read_json(tmp_path / "scores.json"), output


def no_scores(*arguments):
    return refusal("evaluate", *arguments, "--conll18")


def test_the_command_on_gold_words(model, tmp_path):
    scores, output = scores_of(tmp_path, model, written(tmp_path / "gold.conllu", GOLD))
    assert scores["XPOS"] == approx({"p": 3 / 7, "r": 3 / 7, "f": 3 / 7}) and scores["Words"]["f"] == 1.0
    assert set(scores) == {"Tokens", "Sentences", "Words", "XPOS"}
    assert "XPOS 42.86 42.86 42.86" in output and "Gold tokens: yes" in output
    assert "Metrics that need annotation that is not there: UPOS, UFeats, AllTags, Lemmas, UAS, LAS" in output
    scores, output = scores_of(tmp_path, model, tmp_path / "gold.conllu", "--column", "pos")
    assert scores["UPOS"]["f"] == 1.0 and "given to the components: pos" in output


def test_the_command_on_raw_text(model, tmp_path):
    """Tokens are "Zum", "Haus", "gehen.", "New", "York" and "!", or with a full stop of its own."""
    path = written(tmp_path / "gold.conllu", GOLD)
    scores, output = scores_of(tmp_path, model, path, "--no-gold-preproc")
    assert scores["Tokens"] == approx({"p": 5 / 7, "r": 5 / 6, "f": 10 / 13})
    assert scores["Words"] == approx({"p": 4 / 7, "r": 4 / 7, "f": 4 / 7})
    assert scores["XPOS"]["f"] == approx(3 / 7) and scores["Sentences"]["f"] == 1.0
    assert "Gold tokens: no" in output
    refused = no_scores(model, path, "--no-gold-preproc", "--column", "tag")
    assert "raw text of a .conllu file has no gold columns" in refused


def test_the_command_reads_spacy_files(model, tmp_path):
    file = ConlluFile(written(tmp_path / "gold.conllu", GOLD))
    DocBin(docs=[Doc.from_docs(list(file.docs(NLP.vocab)))]).to_disk(tmp_path / "gold.spacy")
    words, _ = scores_of(tmp_path, model, tmp_path / "gold.conllu")
    gold, _ = scores_of(tmp_path, model, tmp_path / "gold.spacy", "--gold-preproc")
    raw, _ = scores_of(tmp_path, model, tmp_path / "gold.spacy", "--no-gold-preproc")
    assert gold == words and raw["Words"]["f"] < raw["XPOS"]["f"] + 0.5 < 1.5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no sentences"),
        ("1\tHi\thi\tINTJ\t_\t_\t0\troot\t_\t_\n", "does not end with empty line"),
        ("1\tHi\thi\tINTJ\t_\t_\t0\troot\n\n", "10 tab-separated columns at line 1"),
        ("1\tHi\thi\tINTJ\t_\t_\tx\troot\t_\t_\n\n", "Cannot parse HEAD 'x' at line 1"),
        ("1\tHi\thi\tINTJ\t_\t_\t2\troot\t_\t_\n\n", "HEAD '2' points outside of the sentence"),
        ("1\tHi\thi\tHELLO\t_\t_\t0\troot\t_\t_\n\n", "sentence 1 (line 1)"),
        (GOLD.replace("4\tobl", "1\tobl"), "There is a cycle in the sentence that ends at line 11"),
        ("1\tHi\thi\tINTJ\t_\t_\t0\troot\t_\t_\n2\tyo\tyo\tINTJ\t_\t_\t0\troot\t_\t_\n\n", "multiple roots"),
    ],
)
def test_bad_files_are_explained(model, tmp_path, text, message):
    output = no_scores(model, written(tmp_path / "bad.conllu", text))
    assert "No CoNLL 2018 scores of" in output and message in output


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_block_of_comments_is_no_sentence(tmp_path, end):
    """The scorer takes an empty line after comments for a sentence without words; a line ends at no other character."""
    text = "\ufeff# Licence\n\n# Source\n\n" + GOLD.replace("# newpar", "\n# newpar") + "\n# end\n\n"
    path = tmp_path / "gold.conllu"
    path.write_bytes(text.replace("\n", end).encode())
    plain, file = ConlluFile(written(tmp_path / "plain.conllu", GOLD)), ConlluFile(path)
    assert file.texts() == plain.texts() == ["Zum Haus gehen.", "New York!"]
    assert [doc.to_json() for doc in file.docs(NLP.vocab)] == [doc.to_json() for doc in plain.docs(NLP.vocab)]
    assert triples(conll18_scores(file.text, plain.text)) == triples(conll18_scores(plain.text, plain.text))
    path.write_bytes(text.replace("\t0\troot", "\tx\troot", 1).replace("\n", end).encode())
    line = 1 + text[: text.index("\t0\troot")].count("\n")
    with pytest.raises(ValueError, match=f"at line {line}"):
        ConlluFile(path)


def test_the_missing_package_is_named(model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "udtools", None)
    assert "need udtools: pip install udtools" in no_scores(model, written(tmp_path / "gold.conllu", GOLD))
