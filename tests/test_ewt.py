"""On real text: a slice of the English Web Treebank, from the folder that SPACY_SSVM_DATA names."""

import pytest
import spacy
from spacy.training import Example
from spacy.training.converters import conllu_to_docs

from .corpora import examples, needs_ewt, sentences

pytestmark = pytest.mark.slow


@needs_ewt
@pytest.mark.parametrize(
    ("solver", "settings"),
    [
        ("DCD", {"C": 0.1}),
        ("SAP", {"C": 0.1, "rho1": 0.1, "rho2": 0.9}),
        ("Perceptron", {}),
        ("DCDLight", {"C": 0.1}),
        ("MIRA", {}),
        ("SGD", {}),
    ],
)
def test_tagger_on_real_text(solver, settings):
    """1,000 sentences teach every solver some 85 % of the tags, unknown words included; certificates hold."""
    nlp = spacy.blank("en")
    block = {"@ssvm_solvers": f"spacy-ssvm.{solver}.v1", **settings}
    tagger = nlp.add_pipe("ssvm_tagger", config={"solver": block})
    train, dev = examples(nlp, "train", 1000), examples(nlp, "dev", 300)
    nlp.initialize(lambda: train)
    for _ in range(8):
        nlp.update(train)
    assert nlp.evaluate(dev)["tag_acc"] > 0.85
    certificate = tagger.certificate()
    assert (certificate is None) == (solver in ("MIRA", "Perceptron", "SGD"))
    if certificate is not None:
        assert 0 <= certificate.relative_gap < 0.6


@needs_ewt
def test_senter_on_real_text():
    """150 documents of ten sentences teach it more than a rule for final punctuation finds."""
    nlp = spacy.blank("en")
    nlp.add_pipe("ssvm_senter")
    parts = []
    for part, step in (("train", 8), ("dev", 4)):
        chosen = [sentence for k, sentence in enumerate(sentences(part)) if k // 10 % step == 0]
        docs = conllu_to_docs("\n\n".join(chosen), n_sents=10, no_print=True)
        parts.append([Example(nlp.make_doc(doc.text), doc) for doc in docs])
    train, dev = parts
    nlp.initialize(lambda: train)
    for _ in range(6):
        nlp.update(train)
    rule = spacy.blank("en")
    rule.add_pipe("sentencizer")
    by_rule = rule.evaluate([Example(rule.make_doc(eg.text), eg.reference) for eg in dev])["sents_f"]
    assert nlp.evaluate(dev)["sents_f"] > by_rule + 0.05
