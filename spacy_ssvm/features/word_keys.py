"""The keys of the attributes of many word types at once; a string's key is as in spaCy's StringStore."""

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple, cast

import numpy as np
from spacy.attrs import LOWER, ORTH
from spacy.strings import StringStore
from spacy.symbols import IDS  # type: ignore[import-not-found]
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..kernels import kernel
from ..word_forms import forms
from .attributes import LEXEME_ATTRIBUTES, LOWER_TEXT, SHORT_SHAPE, TEXT, TEXT_PARTS, WORD, TextPart, shape_character
from .index import ABSENT, Table, look_up, table_of

IS_BLANK = "is_blank"
"""Whether a word is whitespace, regardless of its Lexeme."""
FORMS = (WORD, "lower form", "form with zeros", "lower form with zeros")
"""The names of a word's `forms`."""
_LEXEME_IDS = {**LEXEME_ATTRIBUTES, WORD: ORTH}
_PARTS = {**TEXT_PARTS, **{form: TextPart(form) for form in FORMS[1:]}}
_DIGIT = re.compile(r"\d")
_TESTS: dict[str, Callable[[str, str], bool]] = {
    "has_digit": lambda word, lower: _DIGIT.search(word) is not None,
    "has_hyphen": lambda word, lower: "-" in word,
    "has_upper": lambda word, lower: word != lower,
    IS_BLANK: lambda word, lower: word.isspace(),
}
"""Tests of words, and of their Lexemes' lower-cased texts."""

_FACTOR = np.uint64(0xC6A4A7935BD1E995)
_SEED = np.uint64(1)
"""Constants of MurmurHash64A, and its seed in spaCy."""

_LINE_BREAK = ord("\n")


class _ShapeCharacters(dict[int, str]):
    """Code point → the class of the character in short shapes."""

    def __missing__(self, code: int) -> str:
        found = self[code] = shape_character(chr(code))
        return found


_SHAPE_CHARACTERS = _ShapeCharacters()


@kernel
def _mixed(state, block):
    """The state of MurmurHash64A after one more block of eight bytes."""
    block *= _FACTOR
    block ^= block >> np.uint64(47)
    return (state ^ (block * _FACTOR)) * _FACTOR


@kernel
def _n_more_bytes(code):
    """The number of bytes after the first one that a character has in UTF-8."""
    return int(code > 0x7F) + int(code > 0x7FF) + int(code > 0xFFFF)


@kernel
def _string_hash(characters, first, end):
    """MurmurHash64A of the UTF-8 bytes of the characters first … end − 1."""
    n_bytes = end - first
    for place in range(first, end):
        n_bytes += _n_more_bytes(characters[place])
    state = _SEED ^ (np.uint64(n_bytes) * _FACTOR)
    block, shift = np.uint64(0), np.uint64(0)
    for place in range(first, end):
        code = np.uint64(characters[place])
        n_more = _n_more_bytes(code)
        for k in range(n_more, -1, -1):
            byte = code >> np.uint64(6 * k)
            if k < n_more:
                byte = np.uint64(0x80) | (byte & np.uint64(0x3F))
            elif n_more:
                byte |= (np.uint64(0xF0) << np.uint64(3 - n_more)) & np.uint64(0xFF)
            block |= byte << shift
            shift += np.uint64(8)
            if shift == 64:
                state = _mixed(state, block)
                block, shift = np.uint64(0), np.uint64(0)
    if shift:
        state = (state ^ block) * _FACTOR
    state = (state ^ (state >> np.uint64(47))) * _FACTOR
    return state ^ (state >> np.uint64(47))


@kernel
def _write_keys(characters, starts, shapes, sources, lengths, rows, symbols, keys):
    """Write the keys of P parts of n words to rows of keys, uint64 [A, n]; 0 where a string is shorter, or empty.

    Args:
        characters: uint32, of the strings of all sources, overwritten.
        starts: int64 [S · n + 1], of these strings.
        shapes: the source in whose strings runs of a character, except line breaks, count once; -1 for none.
        sources, lengths: int64 [P], of each part, as `TextPart` has them.
        rows: int64 [P].
        symbols: hash → number, of strings that have one.
    """
    n_words, ends = keys.shape[1], starts[1:].copy()
    if shapes >= 0:
        for shape in range(shapes * n_words, (shapes + 1) * n_words):
            first = end = starts[shape]
            for place in range(first, starts[shape + 1]):
                character = characters[place]
                if end == first or character != characters[end - 1] or character == _LINE_BREAK:
                    characters[end] = character
                    end += 1
            ends[shape] = end
    for part in range(len(sources)):
        length = lengths[part]
        for word in range(n_words):
            first, end = starts[sources[part] * n_words + word], ends[sources[part] * n_words + word]
            key = np.uint64(0)
            if end - first >= max(abs(length), 1):
                if length > 0:
                    end = first + length
                elif length < 0:
                    first = end + length
                key = _string_hash(characters, first, end)
                symbol = look_up(symbols, key)
                if symbol != ABSENT:
                    key = np.uint64(symbol)
            keys[rows[part], word] = key


@cache
def _symbols() -> Table:
    """Hash → number, of the strings that spaCy numbers itself."""
    names, strings = {name: number for name, number in IDS.items() if name}, cast(Any, StringStore())
    table = table_of(np.array([strings[name.encode()] for name in names], np.uint64), 0)
    used = table.keys != 0
    table.rows[used] = np.array(list(names.values()), np.int32)[table.rows[used]]
    return table


class _Plan(NamedTuple):
    """The reading of some attributes, and their rows in the result.

    Attributes:
        lexeme_ids: spaCy's of `lexeme_rows`.
        tests: of words and of their lower-cased texts, and their rows.
        sources: whose strings to read.
        shapes, part_sources, part_lengths, part_rows: of the sources and of the parts, as `_write_keys` has them.
    """

    lexeme_ids: list[int]
    lexeme_rows: list[int]
    tests: dict[Callable[[str, str], bool], int]
    sources: list[str]
    shapes: int
    part_sources: np.ndarray
    part_lengths: np.ndarray
    part_rows: np.ndarray


@lru_cache
def _plan(names: tuple[str, ...]) -> _Plan:
    rows = {name: row for row, name in enumerate(names)}
    of_lexemes, tests, parts = ([name for name in names if name in known] for known in (_LEXEME_IDS, _TESTS, _PARTS))
    sources = list(dict.fromkeys(_PARTS[name].source for name in parts))
    return _Plan(
        [_LEXEME_IDS[name] for name in of_lexemes],
        [rows[name] for name in of_lexemes],
        {_TESTS[name]: rows[name] for name in tests},
        sources,
        sources.index(SHORT_SHAPE) if SHORT_SHAPE in sources else -1,
        np.array([sources.index(_PARTS[name].source) for name in parts], np.int64),
        np.array([_PARTS[name].length for name in parts], np.int64),
        np.array([rows[name] for name in parts], np.int64),
    )


def keys_of_words(names: tuple[str, ...], words: Sequence[str], vocab: Vocab) -> np.ndarray:
    """The keys of attributes of n words, as a vocabulary knows them, uint64 [A, n].

    Args:
        names: of TYPE_ATTRIBUTES, of FORMS, or IS_BLANK.
        words: not empty, as in Docs.
    """
    plan, strings = _plan(names), cast(Any, vocab.strings)
    keys = np.empty((len(names), len(words)), np.uint64)
    lexemes = np.asarray(Doc(vocab, words=list(words)).to_array([ORTH, LOWER, *plan.lexeme_ids]))
    keys[plan.lexeme_rows] = lexemes.T[2:]
    lower = [word if key == low else strings[low] for word, (key, low) in zip(words, lexemes[:, :2].tolist())]
    for test, row in plan.tests.items():
        keys[row] = list(map(test, words, lower))
    if plan.sources:
        _write_part_keys(plan, words, lower, keys)
    return keys


def _write_part_keys(plan: _Plan, words: Sequence[str], lower: Sequence[str], keys: np.ndarray) -> None:
    """Write the keys of parts of words' strings; lower: the words as their Lexemes have them lower-cased."""
    texts: dict[str, Sequence[str]] = {TEXT: words, LOWER_TEXT: lower, SHORT_SHAPE: words}
    if not {*FORMS}.isdisjoint(plan.sources):
        of_words = list(map(forms, words))
        texts.update({form: [found[k] for found in of_words] for k, form in enumerate(FORMS)})
    joined = ["".join(texts[source]) for source in plan.sources]
    if plan.shapes >= 0:
        joined[plan.shapes] = joined[plan.shapes].translate(_SHAPE_CHARACTERS)
    # Kernels refuse bytes, which cannot be written.
    characters = np.frombuffer(bytearray("".join(joined), "utf-32-le"), np.uint32)
    starts = np.zeros(len(plan.sources) * len(words) + 1, np.int64)
    np.cumsum([len(text) for source in plan.sources for text in texts[source]], out=starts[1:])
    _write_keys(characters, starts, plan.shapes, plan.part_sources, plan.part_lengths, plan.part_rows, _symbols(), keys)
