"""The lemmas of words that a lemmatizer knows, by form and tags: of its training examples, and of a lexicon.

What is known of a form with exactly these tags decides; else what is known of it with this coarse tag, if that is a
single lemma.
"""

import base64
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import srsly
from spacy.attrs import MORPH, ORTH, POS, TAG

READ = (ORTH, TAG, POS, MORPH)
"""spaCy's numbers of the token attributes that a key is made of."""
_COARSE = [0, 2]
_MULTIPLIER = np.uint64(0xFF51AFD7ED558CCD)
_SHIFT = np.uint64(32)

Known = Mapping[int, Iterable[str]]
"""Key → the scripts that a word with this key has."""


def keys_of(values: np.ndarray) -> np.ndarray:
    """A key for each row of values of READ, uint64 [T, 4] → uint64 [T]."""
    return mixed(values)


def coarse_keys_of(values: np.ndarray) -> np.ndarray:
    """The same of the form and its coarse tag only."""
    return mixed(values[:, _COARSE])


def mixed(values: np.ndarray) -> np.ndarray:
    """A hash of each row of values, uint64 [T, A] → uint64 [T]."""
    state = np.full(len(values), values.shape[1], np.uint64)
    for column in np.ascontiguousarray(values.T, np.uint64):
        state = (state ^ column) * _MULTIPLIER
        state ^= state >> _SHIFT
    return state


@dataclass(frozen=True)
class LemmaLexicon:
    """Scripts by keys, as `keys_of` and `coarse_keys_of` make them.

    packed: text for a file; empty if nothing is known.

    Raises:
        ValueError: `pack` has not made the text.
    """

    packed: str = ""

    def __post_init__(self) -> None:
        try:
            keys, sets, scripts = self._contents
            known = keys.dtype == np.uint64 and bool((keys[1:] > keys[:-1]).all()) and keys.shape == sets.shape
            known &= all(isinstance(script, str) for members in scripts for script in members)
            if not known or not all(scripts) or not ((sets >= 0) & (sets < len(scripts))).all():
                raise ValueError
        except Exception:
            raise ValueError("its lexicon is damaged") from None

    @cached_property
    def _contents(self) -> tuple[np.ndarray, np.ndarray, list[list[str]]]:
        if not self.packed:
            return np.zeros(0, np.uint64), np.zeros(0, np.int32), []
        keys, sets, scripts = srsly.msgpack_loads(zlib.decompress(base64.b64decode(self.packed, validate=True)))
        return np.frombuffer(keys, np.uint64), np.frombuffer(sets, np.int32), scripts

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

    def look_up(self, values: np.ndarray) -> np.ndarray:
        """The number of each token's set of scripts, −1 where nothing is known, int32 [T]. values: uint64 [T, 4], of
        READ."""
        if not len(self.keys):
            return np.full(len(values), -1, np.int32)
        found = self._sets_of(keys_of(values))
        unknown = np.flatnonzero(found < 0)
        coarse = self._sets_of(coarse_keys_of(values[unknown]))
        found[unknown] = np.where((coarse >= 0) & self._are_single[coarse], coarse, -1)
        return found

    def with_known(self, known: Known) -> "LemmaLexicon":
        """This lexicon, with the scripts of these keys added."""
        mine = {key: self.scripts[number] for key, number in zip(self.keys.tolist(), self.sets.tolist())}
        added = {key: scripts for key, scripts in known.items() if not set(scripts) <= set(mine.get(key, ()))}
        return pack({**mine, **{key: {*mine.get(key, ()), *scripts} for key, scripts in added.items()}}) if added else self

    def _sets_of(self, keys: np.ndarray) -> np.ndarray:
        places = np.searchsorted(self.keys, keys).clip(max=len(self.keys) - 1)
        return np.where(self.keys[places] == keys, self.sets[places], np.int32(-1))

    @cached_property
    def _are_single(self) -> np.ndarray:
        return np.array([len(members) == 1 for members in self.scripts], np.bool_)


def pack(known: Known) -> LemmaLexicon:
    """The lexicon of these keys."""
    numbers: dict[tuple[str, ...], int] = {}
    ordered = sorted((key, tuple(sorted(scripts))) for key, scripts in known.items())
    sets = [numbers.setdefault(scripts, len(numbers)) for _, scripts in ordered]
    keys = np.array([key for key, _ in ordered], np.uint64)
    contents: Any = [keys.tobytes(), np.array(sets, np.int32).tobytes(), [list(scripts) for scripts in numbers]]
    return LemmaLexicon(base64.b64encode(zlib.compress(srsly.msgpack_dumps(contents))).decode())
