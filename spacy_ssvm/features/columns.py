"""Docs as columns of 64-bit keys: the only module that reads token attributes for features."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from spacy.attrs import MORPH, ORTH, SENT_START
from spacy.lexeme import Lexeme
from spacy.morphology import Morphology
from spacy.strings import get_string_id
from spacy.tokens import Doc, Token
from spacy.vocab import Vocab

from ..growth import appended, widened
from ..kernels import kernel
from ..words import WhitespaceTokens, breaks
from .attributes import (
    ANNOTATION_ATTRIBUTES,
    BREAK_BEFORE,
    DOCUMENT_LABEL,
    DOCUMENT_SHAPE,
    EXTENSION,
    GAZETTEER,
    KNOWN_SCRIPTS,
    LEXEME_ATTRIBUTES,
    MORPH_FEATURE,
    TOKEN_ATTRIBUTES,
    WORD,
    class_part,
)
from .document import shapes_of_others
from .gazetteer import mark_phrases
from .index import Columns, Table, empty_table, grown, insert, n_rows
from .ranges import elements, joined_starts, taken_starts
from .vocabularies import Foreign, foreign, text_of
from .word_classes import WordClasses

_REAL = np.uint64(0xD6E8FEB86659FD93)
"""The key of all real values of an extension."""

_MAX_REAL = float(np.finfo(np.float32).max)

MAX_TYPES = 1 << 20
"""A `TypeTable` with more word types is cleared, so that memory is bounded on endless text."""

MAX_VOCABULARIES = 8
"""So is one with the words of more vocabularies, which it keeps alive."""

_OF_VOCABULARY = 0x9E3779B97F4A7C15
"""The keys of a word in several vocabularies differ by multiples of this."""


@kernel
def _intern(table, orths, ids, new):
    """Write the ids, int64 [T], of word keys, uint64 [T], and the keys that are new. Returns the number of new keys."""
    n_new = 0
    for token in range(len(orths)):
        before = table.counts[0]
        ids[token] = insert(table, orths[token])
        if table.counts[0] > before:
            new[n_new] = orths[token]
            n_new += 1
    return n_new


class Generation:
    """Word types that were numbered together; what is stored about them should not outlive it."""


class Types(NamedTuple):
    """The word types of T tokens.

    Attributes:
        ids: int64 [T], the type of each token, below V.
        keys: uint64 [attributes, V], of all types so far; callers must not modify them.
        generation: equal ids of the same generation are the same type.
    """

    ids: np.ndarray
    keys: np.ndarray
    generation: Generation


OfTypes = Callable[[Sequence[Lexeme]], Sequence[int] | np.ndarray]
"""The keys of an attribute, one for each of several word types."""


class TypeTable:
    """The keys of attributes for each word type read so far; a word of two vocabularies is of two types."""

    def __init__(self, attributes: Sequence[OfTypes]) -> None:
        self._attributes = tuple(attributes)
        self._table: Table
        self._keys: np.ndarray
        self._vocabs: list[Vocab]
        self._generation: Generation
        self.clear()

    def read(self, orths: np.ndarray, vocab: Vocab, foreign: Sequence[Foreign] = ()) -> Types:
        """The types of the words with these keys, uint64 [T], as `vocab` knows them, but for `foreign` ones."""
        if n_rows(self._table) > MAX_TYPES or len(self._vocabs) > MAX_VOCABULARIES:
            self.clear()
        self._make_room(len(orths))
        keys = self._keys_in(orths, vocab, foreign)
        ids = np.empty(len(orths), np.int64)
        new = np.empty(len(orths), np.uint64)
        known = n_rows(self._table)
        n_new = _intern(self._table, keys, ids, new)
        if n_new:
            try:
                lexemes = _lexemes(orths, keys, new[:n_new], vocab, foreign)
                self._read_new(known, lexemes)
            except BaseException:
                self.clear()
                raise
        return Types(ids, self._keys[:, : known + n_new], self._generation)

    def clear(self) -> None:
        """Forget all types; ids start from 0 again."""
        self._table = empty_table()
        self._keys = np.zeros((len(self._attributes), 0), np.uint64)
        self._vocabs = []
        self._generation = Generation()

    def _keys_in(self, orths: np.ndarray, vocab: Vocab, foreign: Sequence[Foreign]) -> np.ndarray:
        """The keys of these words in their vocabularies, uint64 [T]; those of the first vocabulary are theirs."""
        salt = self._salt(vocab)
        if not salt and not foreign:
            return orths
        salts = np.full(len(orths), salt, np.uint64)
        for part in foreign:
            salts[part.tokens] = self._salt(part.vocab)
        return orths ^ salts

    def _salt(self, vocab: Vocab) -> int:
        if not any(known is vocab for known in self._vocabs):
            self._vocabs.append(vocab)
        number = next(number for number, known in enumerate(self._vocabs) if known is vocab)
        return number * _OF_VOCABULARY % (1 << 64)

    def _read_new(self, known: int, lexemes: Sequence[Lexeme]) -> None:
        end = known + len(lexemes)
        if end > self._keys.shape[1]:
            larger = np.zeros((len(self._attributes), 2 * end), np.uint64)
            larger[:, :known] = self._keys[:, :known]
            self._keys = larger
        for row, attribute in zip(self._keys, self._attributes):
            row[known:end] = attribute(lexemes)

    def _make_room(self, n_tokens: int) -> None:
        needed = 2 * (n_rows(self._table) + n_tokens)
        if needed > len(self._table.keys):
            self._table = grown(self._table, 1 << needed.bit_length())


class ColumnReader:
    """Reads the named attributes of Docs.

    Args:
        attributes: names, as `templates` allows them, in column order.
        gazetteers: compiled tables by name.
        classes: those that the attributes name.
    """

    def __init__(self, attributes: Sequence[str], gazetteers: dict[str, Table], classes: WordClasses) -> None:
        self.attributes = tuple(attributes)
        self.gazetteers = gazetteers
        token_ids = {**TOKEN_ATTRIBUTES, **ANNOTATION_ATTRIBUTES}
        of_type: dict[int, OfTypes] = {}
        self._of_token: dict[int, int] = {}
        self._of_gazetteer: dict[int, str] = {}
        self._of_extension: dict[int, str] = {}
        self._of_morph: dict[int, str] = {}
        self._of_document: list[int] = []
        self._of_breaks: list[int] = []
        for column, name in enumerate(self.attributes):
            part = class_part(name)
            if name in token_ids:
                self._of_token[column] = token_ids[name]
            elif name.startswith(GAZETTEER):
                self._of_gazetteer[column] = name[len(GAZETTEER) :]
            elif name.startswith(EXTENSION):
                self._of_extension[column] = name[len(EXTENSION) :]
            elif name.startswith(MORPH_FEATURE):
                self._of_morph[column] = name[len(MORPH_FEATURE) :]
            elif name == DOCUMENT_SHAPE:
                self._of_document.append(column)
            elif name == BREAK_BEFORE:
                self._of_breaks.append(column)
            elif part is not None:
                of_type[column] = classes.keys(*part)
            elif name not in (DOCUMENT_LABEL, *KNOWN_SCRIPTS):
                of_type[column] = _of_each(name)
        # A word's key is read from the tokens, but it is a function of the type as well.
        words = [column for column, name in enumerate(self.attributes) if name == WORD]
        self._type_columns = np.array(list(of_type), np.int64)
        self._all_type_columns = np.array([*of_type, *words], np.int64)
        orths = [lambda lexemes: [lexeme.orth for lexeme in lexemes]] * len(words)
        also = ["short_shape", "lower"] if self._of_document else ["lower"]
        self._types = TypeTable([*of_type.values(), *orths, _are_whitespace, *map(_of_each, also)])
        self._lock = Lock()

    def __deepcopy__(self, memo: dict[int, Any]) -> "ColumnReader":
        """Itself: what it remembers of word types holds in copies of the vocabulary, too."""
        return self

    @property
    def annotation(self) -> list[str]:
        """The attributes among the columns that other components set: tag, pos, lemma, morph."""
        of_morph = ["morph"] if self._of_morph else []
        return list(dict.fromkeys([*filter(ANNOTATION_ATTRIBUTES.__contains__, self.attributes), *of_morph]))

    def read_annotation(self, doc: Doc) -> bytes:
        """The column values of a Doc that other components may change, as bytes."""
        names = filter(Token.has_extension, self._of_extension.values())
        values = [[token._.get(name) for token in doc] for name in names]
        ids: list[int | str] = [*self._boundaries, *(ANNOTATION_ATTRIBUTES[name] for name in self.annotation)]
        return (doc.to_array(ids).tobytes() if ids else b"") + (repr(values).encode() if values else b"")

    @property
    def _boundaries(self) -> list[int]:
        """spaCy's number of sentence boundaries, if a column depends on them."""
        return [SENT_START] if self._of_document else []

    @property
    def of_type(self) -> set[str]:
        """The attributes among the columns that are functions of the word type."""
        return {self.attributes[column] for column in self._all_type_columns}

    def read(self, docs: Sequence[Doc], vocab: Vocab) -> Columns:
        """The columns of the Docs, one sequence each. Takes the same arguments and raises the same errors as
        `read_types`."""
        return self.read_types(docs, vocab)[0]

    def columns_of_types(self, types: Types, chosen: np.ndarray) -> Columns:
        """The given word types, int64, as sequences of one token, with keys in the columns of `of_type` only."""
        keys = np.zeros((len(self.attributes), len(chosen)), np.uint64)
        keys[self._all_type_columns] = types.keys[: len(self._all_type_columns), chosen]
        return Columns(np.arange(len(chosen) + 1), keys, np.ones((len(self._of_extension), len(chosen)), np.float32))

    def by_name(self, columns: Columns) -> dict[str, np.ndarray]:
        """The keys of each attribute, uint64 [T]."""
        return dict(zip(self.attributes, columns.keys))

    def check_words(self, types: Types) -> None:
        """Raise WhitespaceTokens if any of the tokens of these types is one: a predictor reads words alone."""
        if np.take(types.keys[len(self._all_type_columns)], types.ids, mode="clip").any():
            raise WhitespaceTokens

    def forget_types(self) -> None:
        """Forget all word types; they are numbered from 0 again."""
        with self._lock:
            self._types.clear()

    def read_types(
        self, docs: Sequence[Doc], vocab: Vocab, others: Sequence[int] = ()
    ) -> tuple[Columns, Types, np.ndarray]:
        """The columns of the Docs, one sequence each, the tokens' types, and other token attributes.

        Args:
            vocab: knows the words of its own Docs, and of those whose vocabulary computes no attributes of words.
            others: spaCy's ids of these attributes, whose values are uint64 [T, others]; each Doc is read only once for
                all attributes.

        Raises:
            ValueError: an extension is not registered, or its value is neither None, bool, int, float nor str, or
                is a float that is not finite.
        """
        starts = np.zeros(len(docs) + 1, np.int64)
        np.cumsum([len(doc) for doc in docs], out=starts[1:])
        morph = [MORPH] if self._of_morph else []
        ids = [ORTH, *self._of_token.values(), *others, *morph, *self._boundaries]
        read = [np.zeros(0, np.uint64), *(doc.to_array(ids).ravel() for doc in docs)]
        tokens = np.concatenate(read).reshape(-1, len(ids))
        keys = np.zeros((len(self.attributes), int(starts[-1])), np.uint64)
        for place, column in enumerate(self._of_token, 1):
            keys[column] = tokens[:, place]
        with self._lock:
            types = self._types.read(np.ascontiguousarray(tokens[:, 0]), vocab, foreign(docs, vocab))
        for row, column in enumerate(self._type_columns):
            # All ids are in range; in its default mode, NumPy would make another copy.
            np.take(types.keys[row], types.ids, out=keys[column], mode="clip")
        if self._of_gazetteer:
            lower = types.keys[-1][types.ids]
            for column, name in self._of_gazetteer.items():
                mark_phrases(self.gazetteers[name], starts, lower, keys[column])
        if self._of_document:
            shapes, lower = types.keys[-2:, types.ids]
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


def _lexemes(
    orths: np.ndarray, keys: np.ndarray, new: np.ndarray, vocab: Vocab, foreign: Sequence[Foreign]
) -> list[Lexeme]:
    """The lexemes of words with new keys, uint64 [n], among the keys that `TypeTable` has for the words, uint64 [T]."""
    if keys is orths:
        return [vocab[orth] for orth in new.tolist()]
    places = {key: place for place, key in enumerate(keys.tolist())}
    ends = [part.tokens.stop for part in foreign]
    found = []
    for key in new.tolist():
        place = places[key]
        orth, number = int(orths[place]), bisect_right(ends, place)
        if number < len(foreign) and foreign[number].tokens.start <= place:
            found.append(foreign[number].vocab[foreign[number].strings[orth]])
        else:
            found.append(vocab[orth])
    return found


def _of_each(name: str) -> OfTypes:
    """The keys of an attribute of LEXEME_ATTRIBUTES."""
    attribute = LEXEME_ATTRIBUTES[name]
    return lambda lexemes: [attribute(lexeme) for lexeme in lexemes]


def _are_whitespace(lexemes: Sequence[Lexeme]) -> list[int]:
    return [lexeme.text.isspace() for lexeme in lexemes]


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
    """The given sequences only, int64, in this order."""
    tokens = elements(columns.starts, chosen)
    return Columns(
        taken_starts(columns.starts, chosen),
        np.ascontiguousarray(columns.keys[:, tokens]),
        np.ascontiguousarray(columns.reals[:, tokens]),
    )


def with_more_columns(columns: Columns, more: Columns) -> Columns:
    """`join_columns` of these two, but with room for further ones, in memory that is shared with `columns`."""
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
