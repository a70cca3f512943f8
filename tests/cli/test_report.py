"""`spacy ssvm report`: the page of HTML."""

import re
import subprocess
import sys

import pytest
import spacy
import srsly
from spacy.tokens import Doc, DocBin

from spacy_ssvm.cli.mistakes import drawn
from spacy_ssvm.cli.plots import learning_curve
from spacy_ssvm.inspect.parts import ComparedPart, SentenceTokens

from ..page_tags import Tags
from ..pipeline.toy import EXAMPLES, LANG, parse, trained, tree_of
from .calling import call, refusal, said

HOSTILE = [
    "<script>alert(1)</script>",
    "</details>",
    "\"'&amp;",
    "שלום",
    "\u202eabc",
    "a" * 5000,
    "\n\n",
    "{text}",
    "x\ty",
]


def report(folder, *arguments):
    """The page that the command writes."""
    said("report", *arguments[:2], folder / "page.html", *arguments[2:])
    return (folder / "page.html").read_text("utf8")


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Pipelines of one component each, and corpora with an error in the gold annotation of the first tokens."""
    folder = tmp_path_factory.mktemp("report")
    for factory in EXAMPLES:
        nlp = trained(factory)
        nlp.to_disk(folder / factory)
        DocBin(docs=[example.reference for example in EXAMPLES[factory](nlp)]).to_disk(folder / f"{factory}.spacy")
    nlp = spacy.blank(LANG)
    words, tags = ["Dogs", "&", "<cats>", "eat", "ham"], ["X", "X", "X", "VERB", "NOUN"]
    wrong = [Doc(nlp.vocab, words=words, tags=tags)]
    DocBin(docs=wrong).to_disk(folder / "wrong.spacy")
    return folder


def corpus(path, *docs):
    DocBin(docs=docs).to_disk(path)
    return path


@pytest.mark.parametrize("factory", EXAMPLES)
def test_of_every_component_there_is_a_page(factory, saved, tmp_path):
    """On what it has learnt, on texts without annotation, and on tokens that are not those of its tokenizer."""
    page = Tags(report(tmp_path, saved / factory, saved / f"{factory}.spacy", "--train", saved / f"{factory}.spacy"))
    rights = [row[-1] for row in page.rows if len(row) == 3 and re.fullmatch(r"[\d.]+", row[-1])]
    assert page.n_scripts == 1 and rights and set(rights) == {"100.00"}
    vocab = spacy.blank(LANG).vocab
    path = corpus(tmp_path / "bare.spacy", Doc(vocab, words=["Dogs", "eat", "\n", "ham"]))
    text = report(tmp_path, saved / factory, path)
    assert Tags(text) and "the corpus has no gold annotation of the kind that" in text and "Annotate it" in text


def test_what_is_wrong_is_explained(saved, tmp_path):
    text = report(tmp_path, saved / "ssvm_tagger", saved / "wrong.spacy")
    page = Tags(text)
    assert "3 mistakes of " in text and "2 of 5 are right, 40.00 %." in text
    assert ["X", "NOUN", "2"] in page.rows and ["1–5", "5", "40.00"] in page.rows
    assert "<mark>&lt;cats&gt;</mark>" in text and "<mark>ham</mark> <" not in text
    assert "<li>Dogs: X → NOUN</li>" in text and re.search(r"Dogs → NOUN, \S+ ahead of", text)
    assert "ham → NOUN" not in text and "unknown label" in text and "Percentages are of all weights" in text
    assert text.count('class="wrong"') == 6 and "Why" not in report(
        tmp_path, saved / "ssvm_tagger", saved / "wrong.spacy", "--worst", 0
    )


def test_figures_by_frequency_are_of_the_training_corpus(saved, tmp_path):
    vocab = spacy.blank(LANG).vocab
    train = corpus(tmp_path / "train.spacy", Doc(vocab, words=["Dogs"] * 2 + ["eat"] * 12, tags=["NOUN"] * 14))
    page = Tags(report(tmp_path, saved / "ssvm_tagger", saved / "wrong.spacy", "--train", train))
    for row in (["0", "3", "33.33"], ["2–4", "1", "0.00"], ["10–99", "1", "100.00"]):
        assert row in page.rows


@pytest.mark.parametrize(
    ("starts", "counted"),
    [((0,), "2 sentences, 8 tokens<"), ((0, 2), "2 documents, 4 sentences, 8 tokens<"), ((), "2 documents, 8 tokens<")],
)
def test_documents_and_sentences_are_told_apart(saved, tmp_path, starts, counted):
    vocab, words = spacy.blank(LANG).vocab, ["Dogs", "eat", "cats", "eat"]
    sent_starts = [n in starts for n in range(4)] if starts else None
    docs = [Doc(vocab, words=words, tags=["NOUN", "VERB"] * 2, sent_starts=sent_starts) for _ in range(2)]
    assert counted in report(tmp_path, saved / "ssvm_tagger", corpus(tmp_path / "corpus.spacy", *docs))


def test_what_is_decoded_approximately_has_no_explanation(tmp_path):
    nlp = trained("ssvm_parser", model=tree_of("nonprojective", 2))
    nlp.to_disk(tmp_path / "model")
    path = corpus(tmp_path / "wrong.spacy", parse(nlp, "The cat sleeps", "amod:2 nsubj:3 ROOT:3"))
    page = report(tmp_path, tmp_path / "model", path)
    assert "<li>The: amod → det</li>" in page and page.count("decoded approximately") == 2


def test_margins_and_probabilities_are_compared_with_what_is_right(tmp_path):
    for solver, settings in (("DCD", {}), ("SGD", {"beta": 1.0, "gamma": 0.0})):
        nlp = trained("ssvm_tagger", solver=solver, solver_settings=settings)
        nlp.to_disk(tmp_path / solver)
        path = corpus(tmp_path / "wrong.spacy", Doc(nlp.vocab, words=["Dogs", "eat"], tags=["VERB", "VERB"]))
        text = report(tmp_path, tmp_path / solver, path)
        has_probabilities = solver == "SGD"
        assert ("calibration error" in text) == has_probabilities
        assert ("Predicted parts by margin" in text) != has_probabilities
        rows = Tags(text).rows
        items = [row for row in rows[rows.index(["From", "Items", "Mean", "Right, %"]) + 1 :] if len(row) == 4][:2]
        pipe, doc = nlp.get_pipe("ssvm_tagger"), Doc(nlp.vocab, words=["Dogs", "eat"])
        scores = pipe.scored_tags(doc)
        if not has_probabilities:
            # Of two predicted tags, that of "eat" is right.
            expected = sorted((scores[token, tag], token) for token, tag in enumerate(("NOUN", "VERB")))
            assert items == [[f"{m:.2f}", "1", f"{m:.2f}", ["0.00", "100.00"][token]] for m, token in expected]
        # Otherwise, all tags of 0.01 and more are items.
        n_items = sum(int(row[1]) for row in rows if len(row) == 4 and re.fullmatch(r"0\.\d", row[0]))
        assert n_items == len(scores) or not has_probabilities


def test_hostile_texts_and_labels_stay_texts(tmp_path, saved):
    nlp = spacy.load(saved / "ssvm_tagger")
    tags = ["<img src=x onerror=alert(1)>"] * len(HOSTILE)
    text = report(
        tmp_path, saved / "ssvm_tagger", corpus(tmp_path / "h.spacy", Doc(nlp.vocab, words=HOSTILE, tags=tags))
    )
    page = Tags(text)
    (words,) = [text for text in page.summaries if "script" in text]
    assert words.split()[:5] == [*HOSTILE[:4], "abc"] and "{text}" in words and "a" * 61 not in words
    assert page.n_scripts == 1 and len(text) < 60_000
    nlp = trained("ssvm_parser")
    nlp.to_disk(tmp_path / "model")
    words = [word for word in HOSTILE if word.strip()]
    gold = Doc(nlp.vocab, words=words, heads=[0] * len(words), deps=["<b>x"] * len(words))
    assert Tags(report(tmp_path, tmp_path / "model", corpus(tmp_path / "t.spacy", gold))).n_scripts == 1


def test_many_mistakes_and_long_documents_have_a_page_of_limited_size(saved, tmp_path):
    vocab = spacy.blank(LANG).vocab
    long = Doc(vocab, words=["Dogs", "eat"] * 15_000, tags=["X", "VERB"] * 15_000)
    text = report(tmp_path, saved / "ssvm_tagger", corpus(tmp_path / "long.spacy", long))
    page = Tags(text)
    assert "15,000 mistakes of 1 kind." in text and "500 sentences with mistakes, pieces of long" in text
    assert "; 200 are left out" in text
    assert len(text) < 4_000_000 and max(len(words.split()) for words in page.summaries) == 60


def test_other_tokens_than_those_of_gold(tmp_path):
    """Entities are compared by gold tokens: what ends inside one of these is wrong."""
    nlp = trained("ssvm_ner")
    nlp.to_disk(tmp_path / "model")
    gold = Doc(nlp.vocab, words=["Tom", "met", "Anna", "in", "Ber", "lin", "."], spaces=[1, 1, 1, 1, 0, 0, 0])
    gold.ents = [gold.char_span(0, 3, "PER"), gold.char_span(8, 12, "PER"), gold.char_span(16, 19, "GPE")]
    text = report(tmp_path, tmp_path / "model", corpus(tmp_path / "gold.spacy", gold))
    assert Tags(text) and "3 in the gold annotation, 3 predicted: precision 66.67, recall 66.67" in text


def test_the_learning_curve_is_that_of_the_log(saved, tmp_path, monkeypatch):
    figures = {"epoch": 1, "loss": 7.0, "primal": 4.0, "dual": 3.0, "planes": 2, "outside": None, "non_zeros": 9}
    row = {"epoch": 0, "score": 0.5, "losses": {"ssvm_tagger": 7.0}, "figures": {"ssvm_tagger": figures}}
    certified = {"ssvm_tagger": {"primal": 4.0, "dual": 3.9}}
    later = {**row, "figures": {"ssvm_tagger": {**figures, "epoch": 2, "dual": None}}}
    rows = [row, {**row, "certificates": certified}, later]
    srsly.write_jsonl(tmp_path / "log.jsonl", rows)
    page = report(tmp_path, saved / "ssvm_tagger", saved / "wrong.spacy", "--log", tmp_path / "log.jsonl")
    assert "2.50e-01 ~" in page and "2.50e-02</td>" in page and ">-</td>" in page and "50.00" in page
    assert page.count('<div class="plot"><svg') == 2 and Tags(page)
    for text in ('{"epoch": 0}', "", "E  #  SCORE"):
        (tmp_path / "log.jsonl").write_text(text)
        arguments = saved / "ssvm_tagger", saved / "wrong.spacy", tmp_path / "page.html", "--log"
        assert "no output_file of the logger" in refusal("report", *arguments, tmp_path / "log.jsonl")
    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    without = "".join(learning_curve(rows, "ssvm_tagger"))
    assert without.count("matplotlib is not installed") == 1 and "2.50e-02</td>" in without


def test_calls_that_make_no_sense_are_explained(saved, tmp_path):
    page = tmp_path / "page.html"
    assert "No documents" in refusal("report", saved / "ssvm_tagger", corpus(tmp_path / "none.spacy"), page)
    spacy.blank(LANG).to_disk(tmp_path / "blank")
    assert "no component" in refusal("report", tmp_path / "blank", saved / "wrong.spacy", page)
    assert call("report", saved / "ssvm_tagger", tmp_path / "missing.spacy", page).exit_code == 2
    assert not page.exists()


@pytest.mark.slow
def test_the_same_drawing_in_every_process():
    """Of crossing arcs of one length, which spaCy takes in the order of a set, and of texts."""
    code = """
import spacy
from spacy.tokens import Doc
from spacy_ssvm.cli.mistakes import drawn
from spacy_ssvm.inspect.parts import ComparedPart, SentenceTokens
doc = Doc(spacy.blank("xx").vocab, words=["a", "b", "c", "d", "e"])
arcs = [ComparedPart(n, n + 1, f"g{n}", f"p{n}", (n + 2) % 5, (n // 2, n // 2 + 1)) for n in range(5)]
spans = [ComparedPart(0, 2, "A", "B", None, (1, 3))]
print(drawn(doc, SentenceTokens(0, 0, 5), arcs, "x"), drawn(doc, SentenceTokens(0, 0, 5), spans, "y"))
"""
    drawings = set()
    for seed in ("0", "1", "2"):
        run = subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        )
        drawings.add(run.stdout)
    assert len(drawings) == 1 and "<svg" in drawings.pop()


def test_the_same_page_again(saved, tmp_path):
    arguments = saved / "ssvm_parser", saved / "ssvm_parser.spacy"
    assert report(tmp_path, *arguments) == report(tmp_path, *arguments)


def test_text_from_right_to_left_is_drawn_so():
    vocab = spacy.blank("he").vocab
    doc = Doc(vocab, words=["שלום", "עולם", "<b>", "\n"])
    arcs = [
        ComparedPart(0, 1, "a", "b", 1),
        ComparedPart(1, 2, "root", "root", 1),
        ComparedPart(2, 3, "c", "c", 9, (0, 1)),
    ]
    tree = drawn(doc, SentenceTokens(0, 0, 4), arcs, "x")
    assert tree.count("direction: rtl") == 2 and "✗ c of a token not shown" in tree and "&lt;b&gt;" in tree
    # Parts that begin or end elsewhere are cut, and of two that overlap, as gold of other tokens can, one is drawn.
    spans = [ComparedPart(0, 3, "A", None), ComparedPart(1, 2, "B", None), ComparedPart(3, 9, None, "C")]
    text = drawn(doc, SentenceTokens(0, 1, 4), spans, "x")
    assert text.count("direction: rtl") == 2 and "<b>A</b>" in text and "<b>B</b>" not in text and "<b>C</b>" in text
    assert "⏎" in text
