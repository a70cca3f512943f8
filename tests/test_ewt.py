"""On real text: a slice of the English Web Treebank, from the folder that SPACY_SSVM_DATA names."""

import os
from functools import cache
from pathlib import Path

import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example
from spacy.training.converters import conllu_to_docs

DATA = Path(os.environ.get("SPACY_SSVM_DATA", Path(__file__).parents[2] / "shared" / "data"))
EWT = DATA / "ud_english_ewt"
needs_ewt = pytest.mark.skipif(not EWT.is_dir(), reason=f"no English Web Treebank in {EWT}: set SPACY_SSVM_DATA")


def sentences(part: str) -> list[str]:
    return (EWT / f"en_ewt-ud-{part}.conllu").read_text(encoding="utf8").strip().split("\n\n")


@cache
def tagged(part: str, number: int) -> list[tuple[list[str], list[str]]]:
    """Words and tags of the first sentences."""
    docs = conllu_to_docs("\n\n".join(sentences(part)[:number]), n_sents=1, no_print=True)
    return [([t.text for t in doc], [t.tag_ for t in doc]) for doc in docs]


def examples(nlp, part: str, number: int) -> list[Example]:
    return [
        Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words, tags=tags))
        for words, tags in tagged(part, number)
    ]


@needs_ewt
@pytest.mark.parametrize(
    ("solver", "settings"),
    [
        ("DCD", {"C": 0.1}),
        ("SAP", {"C": 0.1, "rho1": 0.1, "rho2": 0.9}),
        ("Perceptron", {}),
        # A certificate, exact zeros and neither: the sample. `pytest -m slow` has the others.
        *(
            pytest.param(*more, marks=pytest.mark.slow)
            for more in [("DCDLight", {"C": 0.1}), ("MIRA", {}), ("SGD", {})]
        ),
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
