"""Explanations: their reasons add up to the margin, and name what the features read."""

import pickle

import numpy as np
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.strings import get_string_id
from spacy.tokens import Doc, Token

from spacy_ssvm.features.attributes import TEXT_PARTS
from spacy_ssvm.features.extractor import Extractor
from spacy_ssvm.features.names import Source, feature_name
from spacy_ssvm.features.word_classes import WordClasses, pack_classes

from ..page_tags import Tags
from ..pipeline.components import OF_TOKENS, learnt
from ..pipeline.toy import SEQUENCES, STRUCTURES, TREES, arc_templates, blank, doc, parser_examples, tree_of

TEXTS = {
    "ssvm_tagger": ["She eats unheard green ham"],
    "ssvm_morphologizer": ["She eats unheard green ham"],
    "ssvm_ner": ["Anna Berg saw New Paris"],
    "ssvm_senter": ["We saw ham . It is"],
    "ssvm_lemmatizer": ["She liked unheard hams"],
    "ssvm_parser": [words for words, _ in TREES],
}
SLOW = [("projective", 2), ("nonprojective", 1)]
CASES = [
    *(pytest.param(factory, {"solver": ("DCD", "SGD")[k % 2]}, 10_000) for k, factory in enumerate(SEQUENCES)),
    *(
        pytest.param("ssvm_parser", {"model": tree_of(*kind)}, 200, marks=[pytest.mark.slow] if kind in SLOW else [])
        for kind in STRUCTURES
        if kind != ("nonprojective", 2)
    ),
]


def items(factory, analysis):
    """What an analysis of `kbest` consists of, each told from the same at another token."""
    return list(enumerate(analysis)) if factory in OF_TOKENS else analysis


def item(factory, finding):
    """What `items` calls a finding."""
    start, end, label, head = finding.start, finding.end, finding.label, finding.head
    return {
        "ssvm_tagger": (start, label),
        "ssvm_morphologizer": (start, label),
        "ssvm_ner": (start, end, label),
        "ssvm_senter": start,
        "ssvm_lemmatizer": (start, label),
        "ssvm_parser": (head, start, label),
    }[factory]


@pytest.mark.parametrize("factory, settings, k", CASES)
def test_reasons_add_up_to_the_margin(factory, settings, k):
    nlp = learnt(factory, **settings)
    pipe = nlp.get_pipe(factory)
    for words in TEXTS[factory]:
        text = doc(nlp, words)
        ((best, analysis), *others) = pipe.kbest(text, k)
        findings = pipe.explain(text).findings
        assert [item(factory, finding) for finding in findings] == items(factory, analysis)
        for finding in findings:
            without = [(score, other) for score, other in others if item(factory, finding) not in items(factory, other)]
            if without:
                assert finding.margin == pytest.approx(best - without[0][0], abs=1e-5)
            elif len(others) == k - 1:
                assert finding.margin >= best - others[-1][0] - 1e-5
            else:
                assert finding.margin == np.inf and not finding.reasons
                continue
            if without and finding.head is not None:
                arcs = [other[finding.start] for score, other in without if score > without[0][0] - 1e-5]
                assert finding.runner_up in {label if h == m else f"{label} of {text[h]}" for h, m, label in arcs}
            assert sum(reason.gain for reason in finding.reasons) == pytest.approx(finding.margin, abs=1e-5)
            groups = [(reason.feature == "bias", reason.gain <= 0) for reason in finding.reasons]
            gains = [(*group, -abs(reason.gain)) for group, reason in zip(groups, finding.reasons)]
            assert gains == sorted(gains)
            assert finding.head is None or all(reason.gain for reason in finding.reasons)


def test_the_text_has_words_labels_and_reasons():
    nlp = learnt("ssvm_tagger")
    explanation = nlp.get_pipe("ssvm_tagger").explain(doc(nlp, "The cat sleeps"))
    text = explanation.text(3).splitlines()
    assert text[0].startswith("The → DET, ") and " ahead of " in text[0]
    assert len(text) == 3 * (1 + 3)
    assert any("lower[0] = the (DET " in line for line in explanation.text(100).splitlines())


@pytest.mark.parametrize("factory", TEXTS)
def test_what_is_compared_later_is_what_was_asked_about(factory):
    """Changes of the Doc do not change it, and it can be sent to another process."""
    nlp = learnt(factory)
    pipe = nlp.get_pipe(factory)
    text = doc(nlp, TEXTS[factory][0])
    expected = pipe.explain(text).text()
    explanation, sent = pipe.explain(text), pickle.loads(pickle.dumps(pipe.explain(text)))
    for token in text:
        token.tag_, token.pos_, token.lemma_ = "other", "X", "other"
    with text.retokenize() as retokenizer:
        retokenizer.merge(text[:2])
    assert explanation.text() == sent.text() == expected
    assert sent == explanation


def test_a_runner_up_without_any_part_is_said_in_words():
    nlp = learnt("ssvm_ner")
    explanation = nlp.get_pipe("ssvm_ner").explain(doc(nlp, "Anna Berg saw Paris"))
    assert {"none"} <= {finding.runner_up for finding in explanation.findings}
    assert " ahead of the best analysis without it" in explanation.text() and "none" not in explanation.text()


def names_of_arcs(tokens: list[str], heads: list[int]) -> list[set[str]]:
    """What the templates below read at each token, after the definition; heads: as in a Doc."""
    names = []
    for mod, head in enumerate(heads):
        root = head == mod
        h, m = "root" if root else tokens[head], tokens[mod]
        far = mod + 1 if root else abs(head - mod)
        distance = f"{far if far < 5 else '5–6'} to the {'right' if root or head < mod else 'left'}"
        way = "root" if root else "right" if head < mod else "left"
        lefts = tokens[mod - 1] if mod else "outside"
        found = {
            f"head.lower[0]+mod.lower[0]+distance = {h} + {m} + {distance}",
            f"mod.lower[-1]+direction = {lefts} + {way}",
            f"label by head.lower[0]+mod.lower[0]+direction = {h} + {m} + {way}",
            f"label by mod.lower[0] = {m}",
        }
        left, right = (0, mod) if root else (min(head, mod) + 1, max(head, mod))
        found |= {f"mod.lower[0]+between.lower = {m} + {word}" for word in tokens[left:right]}
        inner = range(mod + 1, head) if mod < head else reversed(range(-1 if root else head + 1, mod))
        siblings = [t for t in inner if t >= 0 and not root and heads[t] == head and t != head]
        found.add(f"mod.lower[0]+sib.lower[0] = {m} + {tokens[siblings[0]] if siblings else 'none'}")
        if not root:
            above = heads[head]
            grand, to = ("root", "right") if above == head else (tokens[above], "right" if above < head else "left")
            found.add(f"mod.lower[0]+grand.lower[0]+direction = {m} + {grand} + {to} and {way}")
        names.append(found)
    return names


def test_features_of_arcs_have_the_names_of_what_they_read():
    model = arc_templates(
        "head.lower[0]+mod.lower[0]+distance",
        "mod.lower[-1]+direction",
        "mod.lower[0]+between.lower",
        "mod.lower[0]+sib.lower[0]",
        "mod.lower[0]+grand.lower[0]+direction",
        order=3,
    )
    nlp = learnt("ssvm_parser", model=model)
    said = set()
    for words, _ in TREES:
        explanation = nlp.get_pipe("ssvm_parser").explain(doc(nlp, words))
        expected = names_of_arcs(words.lower().split(), [finding.head for finding in explanation.findings])
        for reason in (reason for finding in explanation.findings for reason in finding.reasons if reason.weight):
            assert reason.feature in expected[reason.token]
            said.add(reason.feature.partition(" = ")[0])
    assert len(said) == 7


def test_words_beyond_the_sentence_are_outside():
    nlp = learnt("ssvm_parser", model=arc_templates("mod.lower[1]", "mod.lower[0]+head.lower[0]"))
    text = doc(nlp, "Dogs eat ham Dogs eat", sent_starts=[True, False, False, True, False])
    findings = nlp.get_pipe("ssvm_parser").explain(text).findings
    features = {reason.feature for finding in findings for reason in finding.reasons if reason.token == 2}
    assert {finding.head for finding in findings[:3]} <= {0, 1, 2} and {f.head for f in findings[3:]} <= {3, 4}
    assert not any(feature.startswith("mod.lower[1] = dogs") for feature in features)


@pytest.mark.parametrize("factory", ["ssvm_ner", "ssvm_parser"])
def test_the_page_stands_alone_and_links_each_finding_to_its_reasons(factory):
    nlp = learnt(factory)
    words = ["She", "<b>", "eats", "&", "New", "York", "Nothing"]
    text = Doc(nlp.vocab, words=words, sent_starts=[True, *[False] * 5, True])
    explanation = nlp.get_pipe(factory).explain(text)
    page = explanation.html()
    tags = Tags(page)
    links = [f"#{number + 1}" for number in range(len(explanation.findings))]
    assert [link for link in tags.links if link in links] == links and {link[1:] for link in links} <= set(tags.ids)
    assert "&lt;b&gt;" in page and "<b>" not in page and "&amp;" in page
    if factory == "ssvm_parser":
        assert page.count("<svg") == 2 and page.count('class="displacy-arrow"') == len(words) - 2
        assert "Nothing → ROOT, nothing else is possible" in explanation.text()
    else:
        assert page.count("<mark") == len(links) > 0


def test_empty_and_untrained():
    nlp = learnt("ssvm_tagger")
    assert nlp.get_pipe("ssvm_tagger").explain(doc(nlp, "")).findings == ()
    for factory in ("ssvm_tagger", "ssvm_parser"):
        untrained = blank(factory)
        with pytest.raises(ValueError, match=rf"\[{factory}\] has no labels yet"):
            untrained.get_pipe(factory).explain(doc(untrained, "She eats"))
    initialized = blank("ssvm_parser")
    initialized.initialize(lambda: parser_examples(initialized))
    parser = initialized.get_pipe("ssvm_parser")
    assert parser.explain(doc(initialized, "")).findings == () and parser.kbest(doc(initialized, ""), 2) == [(0.0, [])]
    explanation = parser.explain(doc(initialized, "x y"))
    assert all(not finding.reasons and not finding.margin for finding in explanation.findings)
    assert explanation.text().count(", 0.00 ahead of ") == 2


@given(st.text(min_size=1, max_size=8))
def test_texts_of_attributes_have_their_keys(word):
    vocab = spacy.blank("xx").vocab
    text = Doc(vocab, words=[word])
    names = list(TEXT_PARTS)
    extractor = Extractor([f"{name}[0]" for name in names], {}, {})
    keys = extractor.reader.read([text], vocab).keys
    for name, template in zip(names, extractor.templates):
        key = int(keys[extractor.reader.attributes.index(name), 0])
        named = feature_name(template, Source(text, extractor.reader.attributes, keys, WordClasses({})), 0)
        assert key == 0 or key == get_string_id(named.removeprefix(f"{name}[0] = "))


def test_names_of_features():
    Token.set_extension("room_of_test", getter=lambda token: len(token.text), force=True)
    nlp = spacy.blank("en")
    text = Doc(nlp.vocab, words=["New", "Berlin", "eats"], tags=["NNP", "NNP", "VBZ"], spaces=[True, False, True])
    text[1].set_morph("Case=Acc,Nom|Number=Sing")
    extractor = Extractor(
        [
            "bias",
            "tag[0]+lower[1]",
            "is_title[0]",
            "is_title[0]+shape[-1]",
            "_.room_of_test[0]",
            "cluster2[0]",
            "morph.Case[0]",
        ],
        {},
        pack_classes({"cluster": {nlp.vocab.strings["Berlin"]: "0110"}}),
    )
    keys = extractor.reader.read([text], nlp.vocab).keys
    source = Source(text, extractor.reader.attributes, keys, extractor.classes)
    names = [feature_name(template, source, 1) for template in extractor.templates]
    assert names == [
        "bias",
        "tag[0]+lower[1] = NNP + eats",
        "is_title[0]",
        "is_title[0]+shape[-1] = yes + Xxx",
        "_.room_of_test[0] = 6",
        "cluster2[0] = 01",
        "morph.Case[0] = Acc,Nom",
    ]
    last = feature_name(extractor.templates[1], source, 2)
    assert last == "tag[0]+lower[1] = VBZ + outside"
