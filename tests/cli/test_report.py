"""`spacy ssvm report`: the page, and the mistakes that it is about."""

import re
import sys
from html.parser import HTMLParser

import pytest
import spacy
import srsly
from spacy.tokens import Doc, DocBin
from spacy.training import Example, biluo_to_iob

from spacy_ssvm.cli.page import Page
from spacy_ssvm.inspect.parts import Mistake

from ..pipeline.toy import EXAMPLES, LANG, blank, doc, parse, tagged, trained, tree_of
from .calling import call, refusal, said

VOID = ("meta",)


class Tags(HTMLParser):
    """Checks that all tags are closed in order; collects what refers to other files."""

    def __init__(self, text):
        super().__init__()
        self.open, self.outside = [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.outside += [values[key] for key in ("src", "href", "xlink:href") if values.get(key, "#")[:1] != "#"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


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


@pytest.mark.parametrize("factory", EXAMPLES)
def test_of_every_component_there_is_a_page(factory, saved, tmp_path):
    page = report(tmp_path, saved / factory, saved / f"{factory}.spacy")
    assert not Tags(page).outside
    assert "100.00" in page and "None." in page and "DCD" in page.upper()


def test_what_is_wrong_is_explained(saved, tmp_path):
    page = report(tmp_path, saved / "ssvm_tagger", saved / "wrong.spacy")
    assert not Tags(page).outside
    assert "<td>X</td>" in page and "3 in all. The most frequent confusions:" in page and "40.00" in page
    assert "Click a sentence" in page and "Percentages are of all weights" in page
    assert page.count("<mark>") == 3 and "<mark>&lt;cats&gt;</mark>" in page and "<mark>ham</mark>" not in page
    assert "Dogs: NOUN predicted, X in the gold annotation" in page and re.search(r"Dogs → NOUN, \S+ ahead of", page)
    assert "ham → NOUN" not in page and "unknown label" in page
    assert "<details>" not in report(tmp_path, saved / "ssvm_tagger", saved / "wrong.spacy", "--worst", 0)


@pytest.mark.parametrize(
    ("starts", "counted"),
    [((0,), "2 sentences, 8 tokens;"), ((0, 2), "2 documents, 4 sentences, 8 tokens;"), ((), "2 documents, 8 tokens;")],
)
def test_documents_and_sentences_are_told_apart(saved, tmp_path, starts, counted):
    vocab, words = spacy.blank(LANG).vocab, ["Dogs", "eat", "cats", "eat"]
    sent_starts = [n in starts for n in range(4)] if starts else None
    docs = [Doc(vocab, words=words, tags=["NOUN", "VERB"] * 2, sent_starts=sent_starts) for _ in range(2)]
    DocBin(docs=docs).to_disk(tmp_path / "corpus.spacy")
    assert counted in report(tmp_path, saved / "ssvm_tagger", tmp_path / "corpus.spacy")


def test_what_is_decoded_approximately_has_no_explanation(tmp_path):
    nlp = trained("ssvm_parser", model=tree_of("nonprojective", 2))
    nlp.to_disk(tmp_path / "model")
    DocBin(docs=[parse(nlp, "The cat sleeps", "amod:2 nsubj:3 ROOT:3")]).to_disk(tmp_path / "wrong.spacy")
    page = report(tmp_path, tmp_path / "model", tmp_path / "wrong.spacy")
    assert "The: det predicted, amod in the gold annotation" in page and "decoded approximately" in page


def test_the_learning_curve_is_that_of_the_log(saved, tmp_path):
    figures = {"epoch": 1, "loss": 7.0, "primal": 4.0, "dual": 3.0, "planes": 2, "outside": None, "non_zeros": 9}
    row = {"epoch": 0, "score": 0.5, "losses": {"ssvm_tagger": 7.0}, "figures": {"ssvm_tagger": figures}}
    certified = {"ssvm_tagger": {"primal": 4.0, "dual": 3.9}}
    later = {**row, "figures": {"ssvm_tagger": {**figures, "epoch": 2, "dual": None}}}
    srsly.write_jsonl(tmp_path / "log.jsonl", [row, {**row, "certificates": certified}, later])
    page = report(tmp_path, saved / "ssvm_tagger", saved / "wrong.spacy", "--log", tmp_path / "log.jsonl")
    assert "2.50e-01 ~" in page and "2.50e-02</td>" in page and ">-</td>" in page and "50.00" in page
    assert page.count("<svg") == 1
    for text in ('{"epoch": 0}', "", "E  #  SCORE"):
        (tmp_path / "log.jsonl").write_text(text)
        arguments = saved / "ssvm_tagger", saved / "wrong.spacy", tmp_path / "page.html", "--log"
        assert "no output_file of the logger" in refusal("report", *arguments, tmp_path / "log.jsonl")


def test_calls_that_make_no_sense_are_explained(saved, tmp_path):
    DocBin(docs=[]).to_disk(tmp_path / "none.spacy")
    page = tmp_path / "page.html"
    assert "No documents" in refusal("report", saved / "ssvm_tagger", tmp_path / "none.spacy", page)
    spacy.blank(LANG).to_disk(tmp_path / "blank")
    assert "no component" in refusal("report", tmp_path / "blank", saved / "wrong.spacy", page)
    assert call("report", saved / "ssvm_tagger", tmp_path / "missing.spacy", page).exit_code == 2
    assert not page.exists()


def test_mistakes_of_entities():
    nlp = blank("ssvm_ner")

    def found(gold, predicted):
        n = len(gold.split())
        words = [f"w{k}" for k in range(n)]
        spans = Doc(nlp.vocab, words=words, ents=biluo_to_iob(predicted.split()))
        reference = Doc(nlp.vocab, words=words, ents=[tag if tag != "-" else "" for tag in biluo_to_iob(gold.split())])
        return nlp.get_pipe("ssvm_ner").codec.parts.mistakes(Example(spans, reference))

    assert found("B-PER L-PER O U-GPE", "B-PER L-PER O U-GPE") == []
    assert found("U-PER O O", "U-GPE O O") == [Mistake(0, 1, "PER", "GPE")]
    assert found("B-PER L-PER O", "U-PER O O") == [Mistake(0, 2, "PER", "PER, other tokens")]
    assert found("U-PER O O", "O O U-GPE") == [Mistake(0, 1, "PER", "-"), Mistake(2, 3, "-", "GPE")]
    assert found("U-PER - -", "U-PER O U-GPE") == []
    assert found("- O -", "O U-GPE O") == [Mistake(1, 2, "-", "GPE")]


def test_mistakes_of_trees_and_starts():
    nlp = blank("ssvm_parser")
    text = "The cat sleeps"
    gold = parse(nlp, text, "det:2 nsubj:3 ROOT:3")

    def found(arcs):
        return nlp.get_pipe("ssvm_parser").codec.parts.mistakes(Example(parse(nlp, text, arcs), gold))

    assert found("det:2 nsubj:3 ROOT:3") == found("det:2 nsubj:3 root:3") == []
    assert found("det:2 obj:3 ROOT:3") == [Mistake(1, 2, "nsubj", "obj", 2)]
    assert found("det:3 nsubj:3 ROOT:3") == [Mistake(0, 1, "det", "det, other head", 1)]
    starts = blank("ssvm_senter")
    one, other = (doc(starts, text, sent_starts=marks) for marks in ([True, False, True], [True, True, None]))
    both = [Mistake(1, 2, "start", "no start"), Mistake(2, 3, "no start", "start")]
    assert starts.get_pipe("ssvm_senter").codec.parts.mistakes(Example(one, other)) == both
    other = doc(starts, text, sent_starts=[True, False, None])
    assert starts.get_pipe("ssvm_senter").codec.parts.mistakes(Example(one, other)) == []


def test_mistakes_of_tags():
    nlp = blank("ssvm_tagger")
    one = tagged(nlp, "Dogs eat green ham", ["NOUN", "", "!ADJ", "NOUN"])
    one.predicted.from_array(["TAG"], doc(nlp, "a b c d", tags=["VERB"] * 4).to_array(["TAG"]).reshape(-1, 1))
    assert nlp.get_pipe("ssvm_tagger").codec.parts.mistakes(one) == [
        Mistake(0, 1, "NOUN", "VERB"),
        Mistake(3, 4, "NOUN", "VERB"),
    ]


def test_a_page_without_matplotlib(monkeypatch):
    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    page = Page("a < b")
    page.plot(lambda figure: None)
    assert "matplotlib is not installed" in page.html() and "a &lt; b" in page.html()
