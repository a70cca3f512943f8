"""What the tests know of each component: a component is a line in each of these tables, and the spec holds for it."""

import json
from functools import cache

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc

from spacy_ssvm.pipeline.analyses import joined
from spacy_ssvm.pipeline.lemmas.edit_scripts import distinct_cases, parse_script, script_of

from .toy import (
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
    morph_label,
    trained,
    tree_of,
)

LEMMA_LABELS = {
    str(script_of(form, lemma)) for text, lemmas in LEMMATISED for form, lemma in zip(text.split(), lemmas.split())
}
every = pytest.mark.parametrize("factory", EXAMPLES)
labelled = pytest.mark.parametrize("factory", LABELLED)
sequences = pytest.mark.parametrize("factory", SEQUENCES)
ATTRIBUTE = {
    "ssvm_tagger": "TAG",
    "ssvm_morphologizer": "MORPH",
    "ssvm_ner": "ENT_IOB",
    "ssvm_senter": "SENT_START",
    "ssvm_parser": "DEP",
    "ssvm_lemmatizer": "LEMMA",
}
"""What of a Doc's annotation says that the component has been there."""
SPACYS = {
    "ssvm_tagger": "tagger",
    "ssvm_morphologizer": "morphologizer",
    "ssvm_ner": "ner",
    "ssvm_senter": "senter",
    "ssvm_parser": "parser",
    "ssvm_lemmatizer": "trainable_lemmatizer",
}
"""spaCy's component that it replaces."""
GOLD = {
    "ssvm_tagger": ["TAG"],
    "ssvm_morphologizer": ["MORPH", "POS"],
    "ssvm_ner": ["ENT_IOB", "ENT_TYPE"],
    "ssvm_senter": ["SENT_START"],
    "ssvm_parser": ["HEAD", "DEP"],
    "ssvm_lemmatizer": ["LEMMA"],
}
"""What it learns from."""
SCORE = {
    "ssvm_tagger": "tag_acc",
    "ssvm_morphologizer": "morph_acc",
    "ssvm_ner": "ents_f",
    "ssvm_senter": "sents_f",
    "ssvm_parser": "las",
    "ssvm_lemmatizer": "lemma_acc",
}
LABELS = {
    "ssvm_tagger": ("ADJ", "ADV", "DET", "NOUN", "PRON", "VERB"),
    "ssvm_morphologizer": tuple(sorted(map(morph_label, ("ADJ", "ADV", "DET", "NOUN", "PRON", "VERB")))),
    "ssvm_ner": ("GPE", "PER"),
    "ssvm_senter": ("I", "S"),
    "ssvm_parser": ("ROOT", "amod", "case", "det", "nmod", "nsubj", "obj", "punct"),
    "ssvm_lemmatizer": tuple(sorted(LEMMA_LABELS)),
}
"""Those of the toy corpus."""
SCORED = {
    "ssvm_tagger": "scored_tags",
    "ssvm_morphologizer": "scored_tags",
    "ssvm_ner": "scored_ents",
    "ssvm_senter": "scored_starts",
    "ssvm_parser": "scored_parses",
    "ssvm_lemmatizer": "scored_lemmas",
}
"""The method that scores its annotation."""
NEW_LABEL = {
    "ssvm_tagger": "INTJ",
    "ssvm_morphologizer": "POS=INTJ",
    "ssvm_ner": "ORG",
    "ssvm_parser": "vocative",
    "ssvm_lemmatizer": "lower|0>|9>x",
}
"""A label that the toy corpus does not have, of those components whose labels can grow."""
SVM = {"solver": "DCD"}
CRF = {"solver": "SGD", "solver_settings": {"beta": 1.0, "gamma": 0.0, "C": 1.0}}
OF_TOKENS = ("ssvm_tagger", "ssvm_morphologizer", "ssvm_lemmatizer")
"""Components whose analyses have a label for each token."""
ORDER_1 = {"ssvm_parser": {"model": tree_of("projective", 1)}}
"""A solver whose components have margins, one whose components have probabilities, and what parsers need for these."""
CORPUS = {
    "ssvm_tagger": TAGGED,
    "ssvm_morphologizer": TAGGED,
    "ssvm_ner": SPANS,
    "ssvm_senter": PARAGRAPHS,
    "ssvm_parser": TREES,
    "ssvm_lemmatizer": LEMMATISED,
}
TEXTS = [text for corpus in (TAGGED, SPANS, PARAGRAPHS, TREES, LEMMATISED) for text, _ in corpus]


def written(factory: str, tokens: Doc) -> list:
    """What a component has written to a Doc, as its `kbest` puts it."""
    return {
        "ssvm_tagger": lambda: [token.tag_ for token in tokens],
        "ssvm_morphologizer": lambda: [joined(token.pos_, str(token.morph)) for token in tokens],
        "ssvm_ner": lambda: [(entity.start, entity.end, entity.label_) for entity in tokens.ents],
        "ssvm_senter": lambda: [token.i for token in tokens if token.is_sent_start],
        "ssvm_parser": lambda: [(token.head.i, token.i, token.dep_) for token in tokens],
        "ssvm_lemmatizer": lambda: [str(script_of(token.text, token.lemma_)) for token in tokens],
    }[factory]()


def scored(factory: str, pipe, tokens: Doc, *settings) -> dict:
    """The scores of tags, entities, sentence starts or edit scripts of a Doc."""
    (found,) = getattr(pipe, SCORED[factory])([tokens], *settings)
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
