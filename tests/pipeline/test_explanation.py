"""Explanations: their reasons add up to the margin, and name what the features read."""

from html.parser import HTMLParser

import numpy as np
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.strings import get_string_id
from spacy.tokens import Doc, Token

from spacy_ssvm.features.attributes import LEXEME_TEXTS
from spacy_ssvm.features.extractor import Extractor
from spacy_ssvm.features.names import feature_name

from .toy import SEQUENCES, blank, doc, templates, trained

TEXTS = {
    "ssvm_tagger": "She eats unheard green ham",
    "ssvm_ner": "Anna Berg saw New Paris",
    "ssvm_senter": "We saw ham . It is",
}


@pytest.mark.parametrize("factory", SEQUENCES)
@pytest.mark.parametrize("solver", ["DCD", "SGD"])
def test_reasons_add_up_to_the_margin(factory, solver):
    nlp = trained(factory, solver=solver)
    pipe, text = nlp.get_pipe(factory), doc(nlp, TEXTS[factory])
    explanation = pipe.explain(text)
    ((best, analysis), *others) = pipe.kbest(text, 10_000)
    assert len(explanation.findings) == len(analysis)
    for finding, part in zip(explanation.findings, analysis):
        named = {
            "ssvm_tagger": finding.label,
            "ssvm_ner": (finding.start, finding.end, finding.label),
            "ssvm_senter": finding.start,
        }[factory]
        assert named == part
        token = finding.start
        without = [s for s, a in others if (a[token] != part if factory == "ssvm_tagger" else part not in a)]
        if not without:
            assert finding.margin == np.inf and not finding.reasons
            continue
        assert finding.margin == pytest.approx(best - without[0], abs=1e-5)
        assert sum(reason.gain for reason in finding.reasons) == pytest.approx(finding.margin, abs=1e-5)
        gains = [abs(reason.gain) for reason in finding.reasons]
        assert gains == sorted(gains, reverse=True)


def test_the_text_has_words_labels_and_reasons():
    nlp = trained("ssvm_tagger")
    explanation = nlp.get_pipe("ssvm_tagger").explain(doc(nlp, "The cat sleeps"))
    text = explanation.text(3).splitlines()
    assert text[0].startswith("The → DET, ") and " ahead of " in text[0]
    assert len(text) == 3 * (1 + 3)
    assert any("lower[0] = the (DET " in line for line in explanation.text(100).splitlines())


class Tags(HTMLParser):
    """The tags that are open, and all links of a page."""

    def __init__(self):
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.anchors: list[str] = []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.links += [values[key] for key in ("href", "src") if key in values]
        self.anchors += [values["id"]] if "id" in values else []
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_stands_alone_and_shows_words_as_they_are():
    nlp = trained("ssvm_ner")
    words = ["Anna", "<b>", "&", "New", "York"]
    page = nlp.get_pipe("ssvm_ner").explain(Doc(nlp.vocab, words=words)).html()
    tags = Tags()
    tags.feed(page)
    assert not tags.open
    assert tags.links and {link.removeprefix("#") for link in tags.links} == set(tags.anchors)
    assert "&lt;b&gt;" in page and "<b>" not in page and "&amp;" in page


def test_empty_and_untrained():
    nlp = trained("ssvm_tagger")
    assert nlp.get_pipe("ssvm_tagger").explain(doc(nlp, "")).findings == ()
    untrained = blank("ssvm_tagger")
    with pytest.raises(ValueError, match=r"\[ssvm_tagger\] has no labels yet"):
        untrained.get_pipe("ssvm_tagger").explain(doc(untrained, "She eats"))


def test_what_is_preset_has_no_alternative():
    nlp = trained("ssvm_ner")
    text = doc(nlp, "ham saw Paris", ents=["B-PER", "I-PER", "O"])
    finding = nlp.get_pipe("ssvm_ner").explain(text).findings[0]
    assert (finding.start, finding.end, finding.label, finding.margin) == (0, 2, "PER", np.inf)


@given(st.text(min_size=1, max_size=8))
def test_texts_of_attributes_have_their_keys(word):
    vocab = spacy.blank("xx").vocab
    text = Doc(vocab, words=[word])
    names = list(LEXEME_TEXTS)
    extractor = Extractor([f"{name}[0]" for name in names], {}, {})
    keys = extractor.reader.read([text], vocab).keys
    for name, template in zip(names, extractor.templates):
        key = int(keys[extractor.reader.attributes.index(name), 0])
        named = feature_name(template, text, 0, extractor.reader.attributes, keys, {})
        assert key == 0 or key == get_string_id(named.removeprefix(f"{name}[0] = "))


def test_names_of_features():
    Token.set_extension("room_of_test", getter=lambda token: len(token.text), force=True)
    nlp = spacy.blank("en")
    text = Doc(nlp.vocab, words=["New", "Berlin", "eats"], tags=["NNP", "NNP", "VBZ"], spaces=[True, False, True])
    extractor = Extractor(
        ["bias", "tag[0]+lower[1]", "is_title[0]", "is_title[0]+shape[-1]", "_.room_of_test[0]", "cluster2[0]"],
        {},
        {"words": np.array([nlp.vocab.strings["Berlin"]], np.uint64), "names": ["0110"]},
    )
    keys = extractor.reader.read([text], nlp.vocab).keys
    names = [
        feature_name(template, text, 1, extractor.reader.attributes, keys, extractor.clusters)
        for template in extractor.templates
    ]
    assert names == [
        "bias",
        "tag[0]+lower[1] = NNP + eats",
        "is_title[0]",
        "is_title[0]+shape[-1] = yes + Xxx",
        "_.room_of_test[0] = 6",
        "cluster2[0] = 01",
    ]
    last = feature_name(extractor.templates[1], text, 2, extractor.reader.attributes, keys, {})
    assert last == "tag[0]+lower[1] = VBZ + outside"


def test_gazetteers_are_named_by_the_place_in_the_phrase(tmp_path):
    (tmp_path / "cities.txt").write_text("New York\n", encoding="utf8")
    model = templates("bias", "gazetteer.city[0]", gazetteers={"city": str(tmp_path / "cities.txt")})
    nlp = trained("ssvm_ner", model=model)
    found = nlp.get_pipe("ssvm_ner").explain(doc(nlp, "Tom met New York"))
    features = {reason.feature for finding in found.findings for reason in finding.reasons}
    assert "gazetteer.city[0] = first" in features
