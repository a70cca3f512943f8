"""Solvers of one objective agree on real text, and on trees: a few hundred sentences of the English Web Treebank."""

from functools import cache

import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example
from spacy.training.converters import conllu_to_docs

from spacy_ssvm.solvers.fit import fit
from spacy_ssvm.solvers.parameters import Cpd, Dcd, FrankWolfe, OneSlack, Sap, Sdm, dcd_light

from ..structures.tree.tree_problems import tree_problem
from ..test_ewt import EWT, needs_ewt

TEMPLATES = ["lower[0]", "lower[-1]", "lower[1]", "suffix3[0]", "suffix2[0]", "shape[0]"]
SENTENCES = 300

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


@cache
def tagging():
    """Universal tags, an exact index of the features."""
    nlp = spacy.blank("en")
    sentences = (EWT / "en_ewt-ud-train.conllu").read_text(encoding="utf8").split("\n\n")[:SENTENCES]
    docs = conllu_to_docs("\n\n".join(sentences), n_sents=1, no_print=True)
    references = [Doc(nlp.vocab, words=[t.text for t in doc], pos=[t.pos_ for t in doc]) for doc in docs]
    features = {"@ssvm_features": "spacy-ssvm.Templates.v1", "templates": TEMPLATES}
    model = {"@architectures": "spacy-ssvm.Chain.v1", "features": features}
    tagger = nlp.add_pipe("ssvm_tagger", config={"attr": "pos", "model": model})
    nlp.initialize(lambda: [Example(Doc(nlp.vocab, words=[t.text for t in doc]), doc) for doc in references])
    return tagger._training.data.problem()


def agree(solvers, problem, C, tolerance=9e-5):
    """Each gap is below the tolerance, and no primal objective is further from another."""
    found = {name: fit(make(C, tolerance), problem, max_epochs=5000)[1] for name, make in solvers.items()}
    for certificate in found.values():
        assert -1e-7 <= certificate.relative_gap <= tolerance
    primals = {name: certificate.primal for name, certificate in found.items()}
    assert max(primals.values()) == pytest.approx(min(primals.values()), rel=1e-4), primals
    assert max(certificate.dual for certificate in found.values()) <= min(primals.values()) * (1 + 1e-7)


@needs_ewt
def test_squared_slacks_on_real_text():
    agree(SQUARED, tagging(), C=0.001)


@needs_ewt
def test_linear_slacks_on_real_text():
    agree(LINEAR, tagging(), C=0.01)


def test_squared_slacks_on_trees():
    agree(SQUARED, tree_problem(7, n_examples=30), C=0.01)


def test_linear_slacks_on_trees():
    agree(LINEAR, tree_problem(7, n_examples=30), C=0.02)
