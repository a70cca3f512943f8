"""The attributes that templates can name, and functions that read them from word types or tokens.

Every value becomes a 64-bit key. Key 0 means "no value", and a template with such a part does not fire.
"""

import difflib
import re
from collections.abc import Callable
from typing import NamedTuple

from spacy.attrs import DEP, ENT_IOB, ENT_TYPE, LEMMA, MORPH, NORM, ORTH, POS, SENT_START, SPACY, TAG
from spacy.lexeme import Lexeme
from spacy.strings import get_string_id

MAX_AFFIX = 8


def _affix(length: int, suffix: bool, lower: bool) -> Callable[[Lexeme], str | None]:
    def read(lexeme: Lexeme) -> str | None:
        text = lexeme.lower_ if lower else lexeme.text
        if len(text) < length:
            return None
        return text[-length:] if suffix else text[:length]

    return read


def _key(read: Callable[[Lexeme], str | None]) -> Callable[[Lexeme], int]:
    def key(lexeme: Lexeme) -> int:
        text = read(lexeme)
        return 0 if text is None else int(get_string_id(text))

    return key


def _flag(test: Callable[[Lexeme], bool]) -> Callable[[Lexeme], int]:
    return lambda lexeme: int(bool(test(lexeme)))


def _short_shape(lexeme: Lexeme) -> str:
    """The shape with runs of the same character class written once: "Boeing-747" → "Xx-0"."""
    shape = re.sub(r"[^\W\d_]", lambda c: "X" if c[0].isupper() else "x", re.sub(r"\d", "0", lexeme.text))
    return re.sub(r"(.)\1+", r"\1", shape)


def _has(pattern: str) -> Callable[[Lexeme], int]:
    found = re.compile(pattern).search
    return lambda lexeme: int(found(lexeme.text) is not None)


LEXEME_TEXTS: dict[str, Callable[[Lexeme], str | None]] = {
    "short_shape": _short_shape,
    **{f"prefix{n}": _affix(n, False, False) for n in range(1, MAX_AFFIX + 1)},
    **{f"suffix{n}": _affix(n, True, False) for n in range(1, MAX_AFFIX + 1)},
    **{f"lower_prefix{n}": _affix(n, False, True) for n in range(1, MAX_AFFIX + 1)},
    **{f"lower_suffix{n}": _affix(n, True, True) for n in range(1, MAX_AFFIX + 1)},
}
"""Attributes of a word type whose values are strings that spaCy does not store."""

LEXEME_ATTRIBUTES: dict[str, Callable[[Lexeme], int]] = {
    "lower": lambda lexeme: int(lexeme.lower),
    "shape": lambda lexeme: int(lexeme.shape),
    "length": lambda lexeme: len(lexeme.text),
    "is_alpha": _flag(lambda lexeme: lexeme.is_alpha),
    "is_digit": _flag(lambda lexeme: lexeme.is_digit),
    "is_lower": _flag(lambda lexeme: lexeme.is_lower),
    "is_upper": _flag(lambda lexeme: lexeme.is_upper),
    "is_title": _flag(lambda lexeme: lexeme.is_title),
    "is_punct": _flag(lambda lexeme: lexeme.is_punct),
    "is_space": _flag(lambda lexeme: lexeme.is_space),
    "is_stop": _flag(lambda lexeme: lexeme.is_stop),
    "is_currency": _flag(lambda lexeme: lexeme.is_currency),
    "like_num": _flag(lambda lexeme: lexeme.like_num),
    "like_url": _flag(lambda lexeme: lexeme.like_url),
    "like_email": _flag(lambda lexeme: lexeme.like_email),
    "has_digit": _has(r"\d"),
    "has_hyphen": _has("-"),
    "has_upper": _flag(lambda lexeme: lexeme.text != lexeme.lower_),
    **{name: _key(read) for name, read in LEXEME_TEXTS.items()},
}
"""Attributes of a word type, which are computed once per type from its Lexeme."""

WORD = "word"
TOKEN_ATTRIBUTES: dict[str, int] = {WORD: ORTH, "norm": NORM, "has_space": SPACY}
"""Attributes of a token that its tokenizer sets, by spaCy's attribute id."""

ANNOTATION_ATTRIBUTES: dict[str, int] = {
    "tag": TAG,
    "pos": POS,
    "lemma": LEMMA,
    "morph": MORPH,
    "dep": DEP,
    "ent_type": ENT_TYPE,
    "ent_iob": ENT_IOB,
    "sent_start": SENT_START,
}
"""Attributes of a token that another component or the corpus reader sets, by spaCy's attribute id."""

MORPH_FEATURE = "morph."
"""Before the name of a morphological feature, such as `morph.Case`, whose values are those of the feature."""

DOCUMENT_SHAPE = "doc.shape"
"""The short shape of most other occurrences of a word in its Doc."""
DOCUMENT_LABEL = "doc.label"
"""The label that a first pass gives most other occurrences of a word in its Doc."""
DOCUMENT_ATTRIBUTES = (DOCUMENT_SHAPE, DOCUMENT_LABEL)
"""Attributes of the document around a word."""

BREAK_BEFORE = "break_before"
"""The whitespace tokens before a word, of which the Docs that features read have none: see `words.breaks`."""

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
        name in LEXEME_ATTRIBUTES
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
    known = [*TOKEN_ATTRIBUTES, *LEXEME_ATTRIBUTES, *ANNOTATION_ATTRIBUTES, *DOCUMENT_ATTRIBUTES, *KNOWN_SCRIPTS]
    known += [BREAK_BEFORE, CLUSTER, *NAMED]
    close = difflib.get_close_matches(name, known, 3)
    return f"did you mean {' or '.join(close)}?" if close else f"known are {', '.join(sorted(known))}"
