"""The lemmas of words that a lemmatizer knows, by form and tags: of its training examples, and of a lexicon.

What is known of a form with exactly these tags decides, else what is known of it with this coarse tag, else what a
lexicon says of the form alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from spacy.attrs import MORPH, ORTH, POS, TAG
from spacy.parts_of_speech import IDS as COARSE_TAGS
from spacy.strings import get_string_id

from ...files import read_records
from . import packed_text
from .edit_scripts import script_of

READ = (ORTH, TAG, POS, MORPH)
"""spaCy's numbers of the token attributes that keys are made of."""
LEVELS = ((0, 1, 2, 3), (0, 2), (0,))
"""The attributes of a key, by their places in READ: all of them, the form and its coarse tag, the form alone."""
LEARNT = LEVELS[:2]
"""Those by which the examples are noted: with other tags, a form may have a lemma that they do not show."""
_MULTIPLIER = np.uint64(0xFF51AFD7ED558CCD)
_SHIFT = np.uint64(32)

Known = Mapping[int, Iterable[str]]
"""Key → the scripts that a word with this key has."""


def keys_of(values: np.ndarray, level: tuple[int, ...]) -> np.ndarray:
    """A key for each row of values of READ, uint64 [T, 4] → uint64 [T]."""
    return mixed(values[:, level])


def mixed(values: np.ndarray) -> np.ndarray:
    """A hash of each row of values, uint64 [T, A] → uint64 [T]."""
    state = np.full(len(values), values.shape[1], np.uint64)
    for column in np.ascontiguousarray(values.T, np.uint64):
        state = (state ^ column) * _MULTIPLIER
        state ^= state >> _SHIFT
    return state


def read_lemma_lexicon(path: str | Path) -> list[tuple[str, str, str]]:
    """Form, coarse tag and lemma of each line of a file; the registered function "spacy-ssvm.LemmaLexicon.v1".

    A line is "form<TAB>lemma" or "form<TAB>coarse tag<TAB>lemma"; without a tag, it is for all of them. Other lines are
    left out, with a warning.

    Raises:
        ValueError: the file, or each of its lines, cannot be read.
    """
    try:
        return [entry for _, entry in read_records(Path(path), _entry)]
    except ValueError as error:
        raise ValueError(f"lemma lexicon: {error}") from error


def _entry(line: str) -> tuple[str, str, str]:
    columns = line.split("\t")
    if len(columns) not in (2, 3) or not columns[0] or not columns[-1]:
        raise ValueError(f"this is neither form<TAB>lemma nor form<TAB>tag<TAB>lemma: {line[:80]!r}")
    tag = columns[1] if len(columns) == 3 else ""
    if tag and tag not in COARSE_TAGS:
        raise ValueError(f"{tag!r} is no coarse tag, such as NOUN")
    return columns[0], tag, columns[-1]


def known_entries(entries: Iterable[tuple[str, str, str]]) -> dict[int, set[str]]:
    """The scripts of a lexicon's entries, by key."""
    known: dict[int, set[str]] = {}
    for form, tag, lemma in entries:
        values = np.array([[get_string_id(form), 0, COARSE_TAGS[tag] if tag else 0, 0]], np.uint64)
        key = int(keys_of(values, LEVELS[1] if tag else LEVELS[2])[0])
        known.setdefault(key, set()).add(str(script_of(form, lemma)))
    return known


@dataclass(frozen=True)
class LemmaLexicon:
    """Scripts by keys, as `keys_of` makes them.

    packed: text for a file; empty if nothing is known.

    Raises:
        ValueError: `pack` has not made the text.
    """

    packed: str = ""

    def __post_init__(self) -> None:
        try:
            keys, sets, scripts, read = self._contents
            known = keys.dtype == np.uint64 and bool((keys[1:] > keys[:-1]).all()) and keys.shape == sets.shape
            known &= all(isinstance(script, str) for members in scripts for script in members)
            known &= all(scripts) and set(read) <= {*range(len(READ))}
            if not known or not ((sets >= 0) & (sets < len(scripts))).all():
                raise ValueError
        except Exception:
            raise ValueError("its lexicon is damaged") from None

    @cached_property
    def _contents(self) -> tuple[np.ndarray, np.ndarray, list[list[str]], list[int]]:
        if not self.packed:
            return np.zeros(0, np.uint64), np.zeros(0, np.int32), [], []
        keys, sets, scripts, read = packed_text.unpack(self.packed)
        return np.frombuffer(keys, np.uint64), np.frombuffer(sets, np.int32), scripts, read

    @property
    def keys(self) -> np.ndarray:
        """Those that are known, uint64 [N], ascending."""
        return self._contents[0]

    @property
    def sets(self) -> np.ndarray:
        """The number in `scripts` of what each key has, int32 [N]."""
        return self._contents[1]

    @property
    def scripts(self) -> Sequence[Sequence[str]]:
        """Distinct sets of scripts, each in order."""
        return self._contents[2]

    @property
    def read(self) -> Sequence[int]:
        """The places in READ of attributes that words had when they were noted; others are not read."""
        return self._contents[3]

    def look_up(self, values: np.ndarray) -> np.ndarray:
        """The number of each token's set of scripts, −1 where nothing is known, int32 [T]. values: uint64 [T, 4], of
        READ."""
        found = np.full(len(values), -1, np.int32)
        values = np.where(np.isin(np.arange(len(READ)), self.read), values, np.uint64(0))
        for level in LEVELS if len(self.keys) else ():
            unknown = np.flatnonzero(found < 0)
            found[unknown] = self._sets_of(keys_of(values[unknown], level))
        return found

    def with_known(self, known: Known, read: Iterable[int] = range(len(READ))) -> "LemmaLexicon":
        """This lexicon, with the scripts of these keys added, which were made of values of `read`."""
        mine = {key: self.scripts[number] for key, number in zip(self.keys.tolist(), self.sets.tolist())}
        added = {key: scripts for key, scripts in known.items() if not set(scripts) <= set(mine.get(key, ()))}
        if not added:
            return self
        every = {**mine, **{key: {*mine.get(key, ()), *scripts} for key, scripts in added.items()}}
        return pack(every, {*self.read, *read})

    def _sets_of(self, keys: np.ndarray) -> np.ndarray:
        places = np.searchsorted(self.keys, keys).clip(max=len(self.keys) - 1)
        return np.asarray(np.where(self.keys[places] == keys, self.sets[places], np.int32(-1)))


def pack(known: Known, read: Iterable[int] = range(len(READ))) -> LemmaLexicon:
    """The lexicon of these keys, which were made of values of `read`."""
    numbers: dict[tuple[str, ...], int] = {}
    ordered = sorted((key, tuple(sorted(scripts))) for key, scripts in known.items())
    sets = [numbers.setdefault(scripts, len(numbers)) for _, scripts in ordered]
    keys = np.array([key for key, _ in ordered], np.uint64)
    contents: Any = [
        keys.tobytes(),
        np.array(sets, np.int32).tobytes(),
        [list(scripts) for scripts in numbers],
        sorted(read),
    ]
    return LemmaLexicon(packed_text.pack(contents))
