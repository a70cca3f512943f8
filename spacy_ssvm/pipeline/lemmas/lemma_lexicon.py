"""The lemmas of words that a lemmatizer knows, by form and tags, from training examples and a lexicon.

An entry for a form with exactly these tags decides, else an entry for it with this coarse tag, else a lexicon's entry
for the form alone. A survey notes the scripts of words in examples, by how they occur, and their lemmas.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from spacy.attrs import MORPH, ORTH, POS, TAG
from spacy.parts_of_speech import IDS as COARSE_TAGS
from spacy.strings import get_string_id

from ...features.index import ABSENT, mixed, places_in
from ...files import read_records
from ..codec import Survey
from .edit_scripts import script_of
from .notes import Growth, pack_text, unpack_text

READ = (ORTH, TAG, POS, MORPH)
"""spaCy's IDs of the token attributes from which keys are made."""
LEVELS = ((0, 1, 2, 3), (0, 2), (0,))
"""The attributes of a key, by their places in READ: all of them, the form and its coarse tag, the form alone."""
LEARNT = LEVELS[:2]
"""The levels at which examples are noted: with other tags, a form may have a lemma unseen in them."""

Known = Mapping[int, Iterable[str]]
"""Key → the scripts that a word with this key has."""

MIN_SHARE = 0.01
"""The min share of a lemma among a form's occurrences with certain tags, to be known for the form."""


def keys_of(values: np.ndarray, level: tuple[int, ...]) -> np.ndarray:
    """A key for each row of values of READ, uint64 [T, 4] → uint64 [T]."""
    return mixed(values[:, level])


def only(values: np.ndarray, read: Collection[int]) -> np.ndarray:
    """These values, uint64 [T, 4], of READ, with zeros for the attributes that are not in `read`, by their places."""
    return np.where(np.isin(np.arange(len(READ)), list(read)), values, np.uint64(0))


def read_lemma_lexicon(path: str | Path) -> list[tuple[str, str, str]]:
    """Form, coarse tag and lemma of each line of a file; the registered function "spacy-ssvm.LemmaLexicon.v1".

    A line is "form<TAB>lemma" or "form<TAB>coarse tag<TAB>lemma"; without a tag, it is for all of them. Other lines are
    left out, with a warning. Whitespace around a column is no part of it.

    Raises:
        ValueError: the file, or each of its lines, cannot be read, or there is no line.
    """
    try:
        entries = [entry for _, entry in read_records(Path(path), _entry)]
        if not entries:
            raise ValueError(f"{path} is empty")
    except ValueError as error:
        raise ValueError(f"lemma lexicon: {error}") from error
    return entries


def _entry(line: str) -> tuple[str, str, str]:
    columns = list(map(str.strip, line.split("\t")))
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


class First(NamedTuple):
    """The contents of a file. keys: uint64 [N], ascending. sets: int32 [N], each key's place in `scripts`. scripts:
    distinct sets, each in order."""

    keys: np.ndarray
    sets: np.ndarray
    scripts: list[list[str]]

    def sets_of(self, keys: np.ndarray) -> np.ndarray:
        """The number of the set of each key, −1 where nothing is known, int32."""
        places = places_in(self.keys, keys)
        return np.asarray(np.where(places != ABSENT, self.sets[places], np.int32(-1)))

    def get(self, key: int) -> Sequence[str] | None:
        """The scripts of a key; None where nothing is known."""
        number = int(self.sets_of(np.array([key], np.uint64))[0]) if len(self.keys) else -1
        return self.scripts[number] if number >= 0 else None


NOTHING = First(np.zeros(0, np.uint64), np.zeros(0, np.int32), [])


class LemmaLexicon:
    """Scripts by keys, as `keys_of` makes them. A value: `with_known` makes another lexicon, which shares what it can.

    Args:
        first: the contents of a file.
        read: the places in READ of attributes that words had in training; others are not read.
        growth: the contents, with changes since; without it, there are none.
        packed: text for a file; None if it is made when it is needed.
    """

    def __init__(
        self,
        first: First = NOTHING,
        read: Sequence[int] = (),
        growth: Growth[int, Sequence[str]] | None = None,
        packed: str | None = None,
    ) -> None:
        self._first, self.read = first, read
        self._growth = Growth(first.get, len(first.keys)) if growth is None else growth
        self._packed = "" if first is NOTHING and growth is None else packed

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LemmaLexicon) and (other is self or other.packed == self.packed)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return unpack_lexicon, (self.packed,)

    @property
    def packed(self) -> str:
        """Text for a file; empty if nothing is known."""
        if self._packed is None:
            self._packed = pack_lexicon(self.known(), self.read).packed
        return self._packed

    def known(self) -> dict[int, Sequence[str]]:
        """The scripts of each key."""
        keys, sets, scripts = self._first
        return {**{key: scripts[number] for key, number in zip(keys.tolist(), sets.tolist())}, **self._growth.changes()}

    @property
    def scripts(self) -> Sequence[Sequence[str]]:
        """Distinct sets of scripts, each in order."""
        return self._changed[1]

    @cached_property
    def _changed(self) -> tuple[dict[int, int], list[Sequence[str]]]:
        """The number of the present set of each key that was not in the file, or with another set, and all sets."""
        changes, scripts = self._growth.changes(), self._first.scripts
        numbers = {tuple(members): number for number, members in enumerate(scripts)}
        changed = {key: numbers.setdefault(tuple(members), len(numbers)) for key, members in changes.items()}
        return changed, [list(members) for members in numbers]

    def look_up(self, values: np.ndarray) -> np.ndarray:
        """The number of each token's set of scripts, −1 where nothing is known, int32 [T]. values: uint64 [T, 4], of
        READ."""
        found = np.full(len(values), -1, np.int32)
        values = only(values, self.read)
        for level in LEVELS if len(self._first.keys) else ():
            unknown = np.flatnonzero(found < 0)
            found[unknown] = self._sets_of(keys_of(values[unknown], level))
        return found

    def with_known(self, known: Known, read: Iterable[int] = range(len(READ))) -> "LemmaLexicon":
        """This lexicon with the scripts of these keys added. read: the places in READ of their attributes."""
        mine = {key: self._growth.get(key) or () for key in known}
        added = {
            key: sorted({*mine[key], *scripts}) for key, scripts in known.items() if not set(scripts) <= set(mine[key])
        }
        if not added:
            return self
        growth, read = self._growth.with_changes(added), sorted({*self.read, *read})
        if growth is None:
            return pack_lexicon({**self.known(), **added}, read)
        return LemmaLexicon(self._first, read, growth)

    def _sets_of(self, keys: np.ndarray) -> np.ndarray:
        sets, changed = self._first.sets_of(keys), self._changed[0]
        if changed:
            added = np.array([changed.get(key, -1) for key in keys.tolist()], np.int32)
            sets = np.where(added >= 0, added, sets)
        return sets


def unpack_lexicon(packed: str) -> LemmaLexicon:
    """The lexicon in the text of `LemmaLexicon.packed`.

    Raises:
        ValueError: the text is none of these.
    """
    if not packed:
        return LemmaLexicon()
    try:
        keys, sets, scripts, read = unpack_text(packed)
        first = First(np.frombuffer(keys, np.uint64), np.frombuffer(sets, np.int32), scripts)
        known = bool((first.keys[1:] > first.keys[:-1]).all()) and first.keys.shape == first.sets.shape
        known &= all(isinstance(script, str) for members in scripts for script in members)
        known &= all(scripts) and set(read) <= {*range(len(READ))}
        if not known or not ((first.sets >= 0) & (first.sets < len(scripts))).all():
            raise ValueError
    except Exception:
        raise ValueError("its lexicon is damaged") from None
    return LemmaLexicon(first, read, packed=packed)


def pack_lexicon(known: Known, read: Iterable[int] = range(len(READ))) -> LemmaLexicon:
    """The lexicon of these keys, which are of values of `read`."""
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
    return unpack_lexicon(pack_text(contents))


@dataclass
class WordSurvey(Survey):
    """A survey that notes words, too.

    Attributes:
        scripts: how often each word has each script; a word is its values of `lemma_lexicon.READ`.
        pairs: of form and lemma.
        read: the places in READ of attributes that words have.
        min_count: how often a script must occur to be learnt, unless it is of corrections.
    """

    scripts: dict[tuple[int, ...], Counter[str]] = field(default_factory=dict)
    pairs: set[tuple[str, str]] = field(default_factory=set)
    read: set[int] = field(default_factory=set)
    min_count: int = 1

    def add(self, others: Survey) -> None:
        super().add(others)
        assert isinstance(others, WordSurvey)
        for word, counts in others.scripts.items():
            self.scripts.setdefault(word, Counter()).update(counts)
        self.pairs |= others.pairs
        self.read |= others.read

    def labels_to_learn(self) -> set[str]:
        min_count = 1 if self.of_corrections else self.min_count
        return {label for label, count in self.label_counts.items() if count >= min_count}

    def known(self, read: Collection[int]) -> dict[int, set[str]]:
        """The scripts of each word, without those that are errors of annotation rather than other lemmas, by keys that
        are made of the values of `read`, places in READ.
        """
        found: dict[int, Counter[str]] = {}
        values = only(np.array(list(self.scripts), np.uint64).reshape(-1, len(READ)), read)
        for level in LEARNT:
            for key, counts in zip(keys_of(values, level).tolist(), self.scripts.values()):
                found.setdefault(key, Counter()).update(counts)
        min_share = 0.0 if self.of_corrections else MIN_SHARE
        return {key: _frequent(counts, min_share) for key, counts in found.items()}


def _frequent(counts: Counter[str], min_share: float) -> set[str]:
    min_count = min_share * counts.total()
    return {label for label, count in counts.items() if count >= min_count}
