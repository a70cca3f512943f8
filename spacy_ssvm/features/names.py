"""Features in the words of the templates: "suffix3[0] = ing"."""

from collections.abc import Callable

import numpy as np
from spacy.tokens import Doc, Token

from .attributes import EXTENSION, GAZETTEER, LEXEME_TEXTS, cluster_prefix
from .clusters import cluster_of
from .gazetteer import FIRST, INSIDE, LAST, SINGLE
from .templates import Part, Template

_OF_TOKEN: dict[str, Callable[[Token], str]] = {
    "word": lambda token: token.text,
    "norm": lambda token: token.norm_,
    "lower": lambda token: token.lower_,
    "shape": lambda token: token.shape_,
    "length": lambda token: str(len(token.text)),
    "tag": lambda token: token.tag_,
    "pos": lambda token: token.pos_,
    "lemma": lambda token: token.lemma_,
    "morph": lambda token: str(token.morph) or "_",
    "dep": lambda token: token.dep_,
    "ent_type": lambda token: token.ent_type_,
    "ent_iob": lambda token: token.ent_iob_,
    "sent_start": lambda token: "start" if token.is_sent_start else "inside",
}
_IN_PHRASE = {SINGLE: "alone", FIRST: "first", INSIDE: "inside", LAST: "last"}


def feature_name(
    template: Template, doc: Doc, token: int, attributes: tuple[str, ...], keys: np.ndarray, clusters: dict[int, str]
) -> str:
    """What a template reads at a token where it fires, as "template = values"; flags alone have no value to name.

    attributes, keys: uint64 [C, tokens], the names of the columns and what they hold for this Doc. clusters: word key →
    cluster.
    """
    values = [_value(part, doc, token, attributes, keys, clusters) for part in template.parts]
    return f"{template} = {' + '.join(value or 'yes' for value in values)}" if any(values) else str(template)


def _value(
    part: Part, doc: Doc, token: int, attributes: tuple[str, ...], keys: np.ndarray, clusters: dict[int, str]
) -> str:
    at, name = token + part.offset, part.attribute
    if not 0 <= at < len(doc):
        return "outside"
    word, prefix = doc[at], cluster_prefix(name)
    if name in LEXEME_TEXTS:
        return LEXEME_TEXTS[name](word.lex) or ""
    if name in _OF_TOKEN:
        return _OF_TOKEN[name](word)
    if name.startswith(GAZETTEER):
        return _IN_PHRASE[int(keys[attributes.index(name), at])]
    if name.startswith(EXTENSION):
        return str(word._.get(name[len(EXTENSION) :]))
    if prefix is not None:
        return (cluster_of(clusters, word.lex) or "")[: prefix or None]
    return ""
