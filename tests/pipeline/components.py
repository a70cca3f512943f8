"""Trained toy components, and what they are asked; `toy.COMPONENTS` has what the tests know of each of them."""

import json
from functools import cache

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc

from spacy_ssvm.pipeline.lemmas.edit_scripts import distinct_cases, parse_script

from .toy import (
    COMPONENTS,
    EXAMPLES,
    LABELLED,
    LANG,
    LEMMATISED,
    PARAGRAPHS,
    SEQUENCES,
    SPANS,
    TAGGED,
    TREES,
    blank,
    doc,
    trained,
    tree_of,
)

every = pytest.mark.parametrize("factory", EXAMPLES)
labelled = pytest.mark.parametrize("factory", LABELLED)
sequences = pytest.mark.parametrize("factory", SEQUENCES)
ATTRIBUTE = {factory: component.gold[0] for factory, component in COMPONENTS.items()}
SCORE = {factory: component.score for factory, component in COMPONENTS.items()}
LABELS = {factory: component.labels for factory, component in COMPONENTS.items()}
NEW_LABEL = {factory: COMPONENTS[factory].new_label for factory in LABELLED}
SVM = {"solver": "DCD"}
CRF = {"solver": "SGD", "solver_settings": {"beta": 1.0, "gamma": 0.0, "C": 1.0}}
OF_TOKENS = ("ssvm_tagger", "ssvm_morphologizer", "ssvm_lemmatizer")
"""Components whose analyses have a label for each token."""
ORDER_1 = {"ssvm_parser": {"model": tree_of("projective", 1)}}
"""A solver whose components have margins, one whose components have probabilities, and what parsers need for these."""
TEXTS = [text for corpus in (TAGGED, SPANS, PARAGRAPHS, TREES, LEMMATISED) for text, _ in corpus]


def written(factory: str, tokens: Doc) -> list:
    """What a component has written to a Doc, as its `kbest` puts it."""
    return COMPONENTS[factory].written(tokens)


def scored(factory: str, pipe, tokens: Doc, *settings) -> dict:
    """The scores of tags, entities, sentence starts or edit scripts of a Doc."""
    (found,) = getattr(pipe, COMPONENTS[factory].scored)([tokens], *settings)
    if factory != "ssvm_lemmatizer":
        return found
    scores = {}
    for (token, lemma), score in found.items():
        form = tokens[token].text
        # A script with the same lemma as another one may be longer than that which `script_of` finds.
        (script,) = (
            label
            for label in pipe.labels
            if parse_script(label).case in distinct_cases(form) and parse_script(label).apply(form) == lemma
        )
        scores[token, script] = score
    return scores


_SAVED: dict[str, bytes] = {}


def saved(factory: str, **settings) -> bytes:
    """A component that has learnt the toy corpus."""
    key = json.dumps([factory, settings], sort_keys=True)
    if key not in _SAVED:
        _SAVED[key] = trained(factory, **settings).get_pipe(factory).to_bytes()
    return _SAVED[key]


def learnt(factory: str, **settings) -> Language:
    """A pipeline of a component that was trained, once in all, and loaded; a new one in each call."""
    nlp = blank(factory, **settings)
    nlp.get_pipe(factory).from_bytes(saved(factory, **settings))
    return nlp


def learnt_as(names: dict[str, str]) -> Language:
    """Trained components in one pipeline: name → factory."""
    nlp = spacy.blank(LANG)
    for name, factory in names.items():
        nlp.add_pipe(factory, name=name, config=blank_config(factory)).from_bytes(saved(factory))
    return nlp


@cache
def blank_config(factory: str) -> dict:
    settings = blank(factory).config["components"][factory]
    return {key: settings[key] for key in ("model", "solver")}


def texts_as_docs(nlp: Language) -> list[Doc]:
    return [doc(nlp, text) for text in TEXTS]


def assert_certified(nlp: Language, factory: str) -> None:
    """Weak duality holds, and w is still the sum of the planes: re-summing it changes it by rounding only."""
    learner = nlp.get_pipe(factory).trained.training._learner
    before = learner.prediction_weights().copy()
    certificate = learner.certificate()
    assert (certificate is not None) == learner.problem.exact
    assert certificate is None or certificate.gap >= -1e-9 * max(1.0, certificate.primal)
    np.testing.assert_allclose(learner.prediction_weights(), before, atol=1e-6)
