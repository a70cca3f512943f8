"""The attributes that templates can name, and their sources in words and tokens.

Every value becomes a 64-bit key. Key 0 means "no value", and a template with such a part does not fire.
"""

import difflib
import re
from typing import NamedTuple

from spacy import attrs
from spacy.lexeme import Lexeme

MAX_AFFIX = 8


def _ids(*names: str) -> dict[str, int]:
    """spaCy's ids of attributes, whose names it writes in capitals."""
    return {name: attrs.IDS[name.upper()] for name in names}


LEXEME_ATTRIBUTES = _ids(
    *("lower", "shape", "length", "is_alpha", "is_digit", "is_lower", "is_upper", "is_title", "is_punct", "is_space"),
    *("is_stop", "is_currency", "like_num", "like_url", "like_email"),
)
"""Attributes of a word type that its Lexeme has, by spaCy's attribute id."""

TEXT_FLAGS = ("has_digit", "has_hyphen", "has_upper")
"""Attributes of a word type that tell about its text."""

TEXT, LOWER_TEXT, SHORT_SHAPE = "text", "lower text", "short_shape"


class TextPart(NamedTuple):
    """A string of a word: the first `length` characters of another one, its last ones if negative, or all with 0.

    Attributes:
        source: TEXT, LOWER_TEXT, from its Lexeme, or SHORT_SHAPE.
    """

    source: str
    length: int = 0

    def of(self, lexeme: Lexeme) -> str | None:
        """The part of this word's string; None if it is shorter."""
        text = lexeme.lower_ if self.source == LOWER_TEXT else lexeme.text
        if self.source == SHORT_SHAPE:
            text = re.sub(r"(.)\1+", r"\1", "".join(map(shape_character, text)))
        if len(text) < abs(self.length):
            return None
        return text[self.length :] if self.length < 0 else text[: self.length or None]


def shape_character(character: str) -> str:
    """The class of a character in a short shape, where its runs are written once: "Boeing-747" → "Xx-0"."""
    if character.isdecimal():
        return "0"
    return character if not character.isalnum() else "X" if character.isupper() else "x"


TEXT_PARTS: dict[str, TextPart] = {
    "short_shape": TextPart(SHORT_SHAPE),
    **{f"prefix{n}": TextPart(TEXT, n) for n in range(1, MAX_AFFIX + 1)},
    **{f"suffix{n}": TextPart(TEXT, -n) for n in range(1, MAX_AFFIX + 1)},
    **{f"lower_prefix{n}": TextPart(LOWER_TEXT, n) for n in range(1, MAX_AFFIX + 1)},
    **{f"lower_suffix{n}": TextPart(LOWER_TEXT, -n) for n in range(1, MAX_AFFIX + 1)},
}
"""Attributes of a word type whose values are strings that spaCy does not store."""

TYPE_ATTRIBUTES = (*LEXEME_ATTRIBUTES, *TEXT_FLAGS, *TEXT_PARTS)
"""Attributes of a word type, which are read once per type."""

WORD = "word"
TOKEN_ATTRIBUTES: dict[str, int] = {WORD: attrs.ORTH, "norm": attrs.NORM, "has_space": attrs.SPACY}
"""Attributes of a token that its tokenizer sets, by spaCy's attribute id."""

ANNOTATION_ATTRIBUTES = _ids("tag", "pos", "lemma", "morph", "dep", "ent_type", "ent_iob", "sent_start")
"""Attributes of a token that another component or the corpus reader sets, by spaCy's attribute id."""

MORPH_FEATURE = "morph."
"""The prefix of attributes that are single morphological features, such as `morph.Case`."""

DOCUMENT_SHAPE = "doc.shape"
"""The short shape of most other occurrences of a word in its Doc."""
DOCUMENT_LABEL = "doc.label"
"""The label that a first pass gives most other occurrences of a word in its Doc."""
DOCUMENT_ATTRIBUTES = (DOCUMENT_SHAPE, DOCUMENT_LABEL)
"""Attributes of the document around a word."""

BREAK_BEFORE = "break_before"
"""The whitespace tokens before a word; the Docs that features read lack them: see `words.breaks`."""

KNOWN_SCRIPTS = tuple(f"known_lemma{n}" for n in range(1, 5))
"""The edit scripts by which a lemmatizer makes lemmas that it knows of the form, the smallest first."""

GAZETTEER = "gazetteer."
CLUSTER = "cluster"
CLASS = "class."
EXTENSION = "_."
NAME = re.compile(r"[\w.]+", re.ASCII)
"""Names that a gazetteer, clusters or classes may have."""
_CLASS = re.compile(rf"{CLUSTER}([1-9]\d*)?(\.{NAME.pattern})?|{re.escape(CLASS)}{NAME.pattern}", re.ASCII)


class ClassPart(NamedTuple):
    """The first `prefix` characters of a word's class, all of it with prefix = 0.

    Attributes:
        source: "cluster" for the clusters of a single source, "cluster.NAME" or "class.NAME".
    """

    source: str
    prefix: int


def class_part(name: str) -> ClassPart | None:
    """The word class that "cluster", "cluster4", "cluster4.NAME" or "class.NAME" reads; None for other attributes."""
    match = _CLASS.fullmatch(name)
    if match is None:
        return None
    if name.startswith(CLASS):
        return ClassPart(name, 0)
    return ClassPart(CLUSTER + (match[2] or ""), int(match[1] or 0))


NAMED = ("cluster.NAME", "class.NAME", "gazetteer.NAME", "_.NAME", "morph.NAME")
"""Attributes that a config, or a treebank, gives names to."""


def is_attribute(name: str) -> bool:
    """Whether a template may name the attribute; resources and extensions are checked only when they are used."""
    return (
        name in TYPE_ATTRIBUTES
        or name in TOKEN_ATTRIBUTES
        or name in ANNOTATION_ATTRIBUTES
        or name in DOCUMENT_ATTRIBUTES
        or name == BREAK_BEFORE
        or name in KNOWN_SCRIPTS
        or class_part(name) is not None
        or any(name.startswith(group) and len(name) > len(group) for group in (GAZETTEER, EXTENSION, MORPH_FEATURE))
    )


def suggestions(name: str) -> str:
    """The end of a message about an unknown attribute: similar names, or all known ones."""
    known = [*TOKEN_ATTRIBUTES, *TYPE_ATTRIBUTES, *ANNOTATION_ATTRIBUTES, *DOCUMENT_ATTRIBUTES, *KNOWN_SCRIPTS]
    known += [BREAK_BEFORE, CLUSTER, *NAMED]
    close = difflib.get_close_matches(name, known, 3)
    return f"did you mean {' or '.join(close)}?" if close else f"known are {', '.join(sorted(known))}"
