"""Docs as columns of 64-bit keys: the only module that reads token attributes for features."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
from spacy.attrs import MORPH, ORTH, SENT_START
from spacy.morphology import Morphology
from spacy.strings import get_string_id
from spacy.tokens import Doc, Token
from spacy.vocab import Vocab

from ..growth import appended, elements, joined_starts, taken_starts, widened
from ..words import WhitespaceTokens, breaks
from .attributes import (
    ANNOTATION_ATTRIBUTES,
    BREAK_BEFORE,
    DOCUMENT_SHAPE,
    EXTENSION,
    GAZETTEER,
    MORPH_FEATURE,
    TOKEN_ATTRIBUTES,
    TYPE_ATTRIBUTES,
    WORD,
    class_part,
)
from .document import shapes_of_others
from .gazetteer import mark_phrases
from .index import Columns, Table
from .word_classes import ClassKeys, WordClasses
from .word_keys import FORMS, IS_BLANK
from .word_types import MAX_VOCABULARIES, Types, WordTypes, foreign, text_of, word_types

_REAL = np.uint64(0xD6E8FEB86659FD93)
"""The key of all real values of an extension."""

_MAX_REAL = float(np.finfo(np.float32).max)


class ColumnReader:
    """Reads the named attributes of Docs.

    Args:
        attributes: names, as `templates` allows them, in column order.
        gazetteers: compiled tables by name.
        classes: word classes that the attributes name.
    """

    def __init__(self, attributes: Sequence[str], gazetteers: dict[str, Table], classes: WordClasses) -> None:
        self.attributes = tuple(attributes)
        self.gazetteers = gazetteers
        token_ids, numbered = {**TOKEN_ATTRIBUTES, **ANNOTATION_ATTRIBUTES}, list(enumerate(self.attributes))
        # Columns by the disjoint groups of attributes; first passes and lemmatizers fill those of no group.
        self._of_type = {column: name for column, name in numbered if name in TYPE_ATTRIBUTES}
        self._of_token = {column: token_ids[name] for column, name in numbered if name in token_ids}
        self._of_gazetteer, self._of_extension, self._of_morph = (
            {column: name.removeprefix(prefix) for column, name in numbered if name.startswith(prefix)}
            for prefix in (GAZETTEER, EXTENSION, MORPH_FEATURE)
        )
        self._of_document, self._of_breaks = (
            [column for column, name in numbered if name == wanted] for wanted in (DOCUMENT_SHAPE, BREAK_BEFORE)
        )
        of_morph = ["morph"] if self._of_morph else []
        self.annotation = list(dict.fromkeys([*filter(ANNOTATION_ATTRIBUTES.__contains__, self.attributes), *of_morph]))
        """The attributes among the columns that other components set: tag, pos, lemma, morph."""
        self._boundaries = [SENT_START] if self._of_document else []
        self._changing = [*self._boundaries, *(ANNOTATION_ATTRIBUTES[name] for name in self.annotation)]
        """spaCy's numbers of the attributes that `read_annotation` reads."""
        of_class = {column: part for column, name in numbered if (part := class_part(name)) is not None}
        self._class_columns, self._class_keys = list(of_class), ClassKeys(classes, list(of_class.values()))
        # A word's key is read from the tokens, but it is a function of the type as well.
        self._words = {column: name for column, name in numbered if name == WORD}
        asked = {IS_BLANK, *self._of_type.values(), *self._words.values(), *(FORMS if of_class else ())}
        asked |= {"lower"} if self._of_gazetteer else set()
        asked |= {"lower", "short_shape"} if self._of_document else set()
        self._asked = sorted(asked)
        self._types: dict[int, WordTypes] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> "ColumnReader":
        """Itself: its memory of word types holds in copies of the vocabulary, too."""
        return self

    def read_annotation(self, doc: Doc) -> bytes:
        """The column values of a Doc that other components may change, as bytes."""
        names = [name for name in self._of_extension.values() if Token.has_extension(name)]
        values = [[token._.get(name) for token in doc] for name in names]
        attributes = doc.to_array(self._changing).tobytes() if self._changing else b""
        return attributes + (repr(values).encode() if values else b"")

    @property
    def of_type(self) -> set[str]:
        """The attributes among the columns that are functions of the word type."""
        return {self.attributes[column] for column in (*self._of_type, *self._words, *self._class_columns)}

    def read(self, docs: Sequence[Doc], vocab: Vocab) -> Columns:
        """The columns of the Docs, one sequence each. Takes the same arguments and raises the same errors as
        `read_types`."""
        return self.read_types(docs, vocab)[0]

    def columns_of_types(self, types: Types, chosen: np.ndarray) -> Columns:
        """The given word types, int64, as one sequence, with keys in the columns of `of_type` only."""
        keys = np.zeros((len(self.attributes), len(chosen)), np.uint64)
        for column, name in (self._of_type | self._words).items():
            keys[column] = types.of(name)[chosen]
        keys[self._class_columns] = self._class_keys.of(types)[:, chosen]
        return Columns(np.array([0, len(chosen)]), keys, np.ones((len(self._of_extension), len(chosen)), np.float32))

    def by_name(self, columns: Columns) -> dict[str, np.ndarray]:
        """The keys of each attribute, uint64 [T]."""
        return dict(zip(self.attributes, columns.keys))

    def check_words(self, types: Types) -> None:
        """Raise WhitespaceTokens if any of the tokens of these types is one: a predictor reads words alone."""
        if types.of(IS_BLANK).take(types.ids, mode="clip").any():
            raise WhitespaceTokens

    def forget_types(self) -> None:
        """Forget all word types; they are numbered from 0 again."""
        for types in list(self._types.values()):
            types.forget()

    def read_types(
        self, docs: Sequence[Doc], vocab: Vocab, others: Sequence[int] = ()
    ) -> tuple[Columns, Types, np.ndarray]:
        """The columns of the Docs, one sequence each, the tokens' types, and other token attributes.

        Args:
            vocab: knows the words of its own Docs, and of Docs whose vocabulary computes no attributes of words.
            others: spaCy's ids of these attributes, whose values are uint64 [T, others]; each Doc is read only once for
                all attributes.

        Raises:
            ValueError: an extension is not registered, or its value is neither None, bool, int, float nor str, or
                is a float that is not finite.
        """
        starts = np.array(list(accumulate(map(len, docs), initial=0)), np.int64)
        morph = [MORPH] if self._of_morph else []
        ids = [ORTH, *self._of_token.values(), *others, *morph, *self._boundaries]
        read = [np.zeros(0, np.uint64), *(doc.to_array(ids).ravel() for doc in docs)]
        tokens = np.concatenate(read).reshape(-1, len(ids))
        keys = np.zeros((len(self.attributes), int(starts[-1])), np.uint64)
        for place, column in enumerate(self._of_token, 1):
            keys[column] = tokens[:, place]
        own, parts = foreign(docs, vocab)
        types = self._types_of(own).read(np.ascontiguousarray(tokens[:, 0]), self._asked, parts)
        # All ids are in range; in its default mode, NumPy would make another copy. The method is a microsecond faster
        # than `np.take`, which for the usual number of columns is a tenth of the time of a short Doc.
        for column, name in self._of_type.items():
            types.of(name).take(types.ids, out=keys[column], mode="clip")
        for column, of_types in zip(self._class_columns, self._class_keys.of(types)):
            of_types.take(types.ids, out=keys[column], mode="clip")
        if self._of_gazetteer:
            lower = types.of("lower")[types.ids]
            for column, name in self._of_gazetteer.items():
                mark_phrases(self.gazetteers[name], starts, lower, keys[column])
        if self._of_document:
            shapes, lower = types.of("short_shape")[types.ids], types.of("lower")[types.ids]
            boundaries = np.ascontiguousarray(tokens[:, -1])
            keys[self._of_document] = shapes_of_others(starts, lower, shapes, boundaries)
        if self._of_breaks and len(docs):
            keys[self._of_breaks] = np.concatenate(list(map(breaks, docs)))
        if self._of_morph:
            analyses, places = np.unique(tokens[:, 1 + len(self._of_token) + len(others)], return_inverse=True)
            for column, name in self._of_morph.items():
                values = [_morph_key(text_of(int(analysis), docs), name) if analysis else 0 for analysis in analyses]
                keys[column] = np.array(values, np.uint64)[places.ravel()]
        reals = np.ones((len(self._of_extension), keys.shape[1]), np.float32)
        for row, (column, name) in enumerate(self._of_extension.items()):
            _read_extension(docs, name, keys[column], reals[row])
        first = 1 + len(self._of_token)
        return Columns(starts, keys, reals), types, tokens[:, first : first + len(others)]

    def _types_of(self, vocab: Vocab) -> WordTypes:
        """The word types of a vocabulary, which are kept for the next Docs of it."""
        found = self._types.get(id(vocab))
        if found is None:
            if len(self._types) >= MAX_VOCABULARIES:
                self._types = {}
            found = self._types[id(vocab)] = word_types(vocab)
        return found


@lru_cache(maxsize=1 << 14)
def _morph_key(analysis: str, name: str) -> int:
    """The key of the value that a morphological feature has in an analysis; 0 if it has none."""
    value = Morphology.feats_to_dict(analysis).get(name)
    return 0 if value is None else int(get_string_id(value))


def _read_extension(docs: Sequence[Doc], name: str, keys: np.ndarray, reals: np.ndarray) -> None:
    if not Token.has_extension(name):
        raise ValueError(
            f"a feature template reads {EXTENSION}{name}, but the extension is not registered: "
            f'call Token.set_extension("{name}", …) before the pipeline is used'
        )
    row = 0
    for number, doc in enumerate(docs):
        for token in doc:
            try:
                keys[row], reals[row] = _extension_key(token._.get(name))
            except ValueError as error:
                raise ValueError(
                    f'token {token.i} ("{token.text}") of Doc {number} in the batch: {EXTENSION}{name} {error}'
                ) from None
            row += 1


def _extension_key(value: Any) -> tuple[np.uint64, float]:
    """A category for str, int and bool (None and False: no value), a real value for float; NumPy's scalars as these."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or value is False:
        return np.uint64(0), 1.0
    if isinstance(value, float):
        if not abs(value) <= _MAX_REAL:
            raise ValueError(f"has a value that is not finite in 32 bits: {value!r}")
        return _REAL, value
    if isinstance(value, str | int):
        return np.uint64(get_string_id(f"{type(value).__name__}:{value}")), 1.0
    raise ValueError(f"is of type {type(value).__name__}; features can be None, bool, int, float or str")


def take_columns(columns: Columns, chosen: np.ndarray) -> Columns:
    """The columns of the given sequences only, int64, in this order."""
    tokens = elements(columns.starts, chosen)
    return Columns(
        taken_starts(columns.starts, chosen),
        np.ascontiguousarray(columns.keys[:, tokens]),
        np.ascontiguousarray(columns.reals[:, tokens]),
    )


def with_more_columns(columns: Columns, more: Columns) -> Columns:
    """`join_columns` of these two, with room for more, in memory that is shared with `columns`."""
    n, more_tokens = int(columns.starts[-1]), int(more.starts[-1])
    keys, reals = (widened(part, n, n + more_tokens) for part in columns[1:])
    keys[:, n : n + more_tokens], reals[:, n : n + more_tokens] = more.keys, more.reals
    return Columns(appended(columns.starts, more.starts[1:] + n), keys, reals)


def join_columns(parts: Sequence[Columns]) -> Columns:
    """The columns one after the other."""
    return Columns(
        joined_starts([part.starts for part in parts]),
        np.concatenate([part.keys for part in parts], axis=1),
        np.concatenate([part.reals for part in parts], axis=1),
    )
