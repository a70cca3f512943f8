"""Solvers of one objective agree on real text: tags and trees of sentences of the English Web Treebank."""

from functools import cache

import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example
from spacy.training.converters import conllu_to_docs

from spacy_ssvm.solvers.dcd import Cpd, Dcd, dcd_light
from spacy_ssvm.solvers.frank_wolfe import FrankWolfe
from spacy_ssvm.solvers.learner import fit
from spacy_ssvm.solvers.one_slack import OneSlack
from spacy_ssvm.solvers.sap import Sap
from spacy_ssvm.solvers.sdm import Sdm

from ..corpora import EWT, needs_ewt

TEMPLATES = ["lower[0]", "lower[-1]", "lower[1]", "suffix3[0]", "suffix2[0]", "shape[0]"]
SENTENCES = 300
TREES = 50

SQUARED = {
    "DCD-SSVM": lambda C, tolerance: Dcd(C=C, delta=0, tolerance=tolerance),
    "DCD-Light": lambda C, tolerance: dcd_light(C=C, delta=0, tolerance=tolerance),
    "CPD": lambda C, tolerance: Cpd(C=C, delta=0, tolerance=tolerance),
}
LINEAR = {
    "SAP": lambda C, tolerance: Sap(C=C, rho1=0, rho2=1, tolerance=tolerance),
    "1-slack": lambda C, tolerance: OneSlack(C=C, tolerance=tolerance),
    "FW": lambda C, tolerance: FrankWolfe(C=C, tolerance=tolerance),
    "SDM": lambda C, tolerance: Sdm(C=C, tolerance=tolerance),
}


def sentences(number):
    """The first sentences of the training part: tokens with universal tags and trees."""
    text = (EWT / "en_ewt-ud-train.conllu").read_text(encoding="utf8").split("\n\n")[:number]
    return list(conllu_to_docs("\n\n".join(text), n_sents=1, no_print=True))


def examples(nlp, docs):
    return [Example(Doc(nlp.vocab, words=[t.text for t in doc], pos=[t.pos_ for t in doc]), doc) for doc in docs]


@cache
def tagging():
    """Universal tags, an exact index of the features."""
    nlp = spacy.blank("en")
    docs = [Doc(nlp.vocab, words=[t.text for t in d], pos=[t.pos_ for t in d]) for d in sentences(SENTENCES)]
    features = {"@ssvm_features": "spacy-ssvm.Templates.v1", "templates": TEMPLATES}
    model = {"@architectures": "spacy-ssvm.Chain.v1", "features": features}
    tagger = nlp.add_pipe("ssvm_tagger", config={"attr": "pos", "model": model})
    nlp.initialize(lambda: examples(nlp, docs))
    return tagger.problem()


@cache
def parsing():
    """First-order projective trees with labels, gold universal tags."""
    nlp = spacy.blank("en")
    features = {"@ssvm_features": "spacy-ssvm.ParserFeatures.v1", "tags": ["pos"], "hash_bits": 20}
    model = {"@architectures": "spacy-ssvm.Tree.v1", "features": features, "order": 1}
    parser = nlp.add_pipe("ssvm_parser", config={"model": model})
    nlp.initialize(lambda: examples(nlp, sentences(TREES)))
    return parser.problem()


def agree(solvers, problem, C, tolerance=9e-5):
    """Each gap is below the tolerance, and no primal objective is further from another."""
    found = {name: fit(make(C, tolerance), problem, max_epochs=5000)[1] for name, make in solvers.items()}
    for certificate in found.values():
        assert -1e-7 <= certificate.relative_gap <= tolerance
    primals = {name: certificate.primal for name, certificate in found.items()}
    assert max(primals.values()) == pytest.approx(min(primals.values()), rel=1e-4), primals
    assert max(certificate.dual for certificate in found.values()) <= min(primals.values()) * (1 + 1e-7)


@needs_ewt
@pytest.mark.slow
def test_squared_slacks_on_tags():
    agree(SQUARED, tagging(), C=0.001)


@needs_ewt
@pytest.mark.slow
def test_linear_slacks_on_tags():
    agree(LINEAR, tagging(), C=0.01)


@needs_ewt
@pytest.mark.slow
def test_squared_slacks_on_trees():
    agree(SQUARED, parsing(), C=0.001)


@needs_ewt
@pytest.mark.slow
def test_linear_slacks_on_trees():
    agree(LINEAR, parsing(), C=0.001)
