"""What the conformance tests know of each component, and what they all ask of spaCy."""

from functools import cache

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc

from ..pipeline.toy import EXAMPLES, LANG, PARAGRAPHS, SPANS, TAGGED, TREES, annotation, blank, doc, trained

every = pytest.mark.parametrize("factory", EXAMPLES)
ATTRIBUTE = {"ssvm_tagger": "TAG", "ssvm_ner": "ENT_IOB", "ssvm_senter": "SENT_START", "ssvm_parser": "DEP"}
"""What of a Doc's annotation says that the component has been there."""
GOLD = {
    "ssvm_tagger": ["TAG"],
    "ssvm_ner": ["ENT_IOB", "ENT_TYPE"],
    "ssvm_senter": ["SENT_START"],
    "ssvm_parser": ["HEAD", "DEP"],
}
"""What it learns from."""
SCORE = {"ssvm_tagger": "tag_acc", "ssvm_ner": "ents_f", "ssvm_senter": "sents_f", "ssvm_parser": "las"}
NEW_LABEL = {"ssvm_tagger": "INTJ", "ssvm_ner": "ORG", "ssvm_parser": "vocative"}
"""A label that the toy corpus does not have, of those components whose labels can grow."""
CORPUS = {"ssvm_tagger": TAGGED, "ssvm_ner": SPANS, "ssvm_senter": PARAGRAPHS, "ssvm_parser": TREES}
TEXTS = [text for corpus in CORPUS.values() for text, _ in corpus]


@cache
def saved(factory: str, **settings) -> bytes:
    """A component that has learnt the toy corpus."""
    return trained(factory, **settings).get_pipe(factory).to_bytes()


def learnt(factory: str, **settings) -> Language:
    """A pipeline of a component that was trained and loaded; a new one in each call."""
    return learnt_as({factory: factory}, **settings)


def learnt_as(names: dict[str, str], **settings) -> Language:
    """Trained components in one pipeline: name → factory."""
    nlp = spacy.blank(LANG)
    for name, factory in names.items():
        config = {**blank_config(factory), **settings}
        nlp.add_pipe(factory, name=name, config=config).from_bytes(saved(factory, **settings))
    return nlp


@cache
def blank_config(factory: str) -> dict:
    settings = blank(factory).config["components"][factory]
    return {key: settings[key] for key in ("model", "solver")}


def texts_as_docs(nlp: Language) -> list[Doc]:
    return [doc(nlp, text) for text in TEXTS]


def annotated(nlp: Language) -> list[tuple]:
    return [annotation(tokens) for tokens in nlp.pipe(texts_as_docs(nlp))]


def model_bytes(nlp: Language, name: str) -> bytes:
    return nlp.get_pipe(name).to_bytes(exclude=["vocab"])
