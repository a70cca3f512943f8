"""The edit scripts that tokens may have: by their forms and, in prediction, by the lexicon."""

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any

import numpy as np
from spacy.strings import get_string_id
from spacy.tokens import Doc

from ...features.attributes import KNOWN_SCRIPTS
from ...features.word_types import text_of
from ...models.chain.space import TokenKinds
from ...structures import FORBIDDEN
from ...structures.chain.constraints import Constraints, unconstrained, with_fixed
from .edit_scripts import CASES, EditScript, WholeForm, distinct_cases, parse_script, script_of
from .known_lemmas import Endings, KnownLemmas
from .lemma_lexicon import READ, LemmaLexicon

MAX_WORDS = 1 << 15
"""Words whose scripts or lemmas are remembered, some 15 MB: a long process meets far more than a text repeats."""
CODECS = 16
"""The number of tuples of labels whose derived tables are cached."""


class ScriptKinds(TokenKinds):
    """The kinds of tokens of a lemmatizer with these labels, which are edit scripts.

    Args:
        lexicon: of known words; it limits their scripts in prediction, not in training, where all words are known.
        lemmas: of the examples, for features.
        overwrite: existing lemmas are no limits.
    """

    attributes = READ

    def __init__(self, labels: tuple[str, ...], lexicon: LemmaLexicon, lemmas: KnownLemmas, overwrite: bool) -> None:
        self._labels, self._lexicon, self._lemmas, self._overwrite = labels, lexicon, lemmas, overwrite
        self._known_kinds: dict[int, int] = {}
        self._known_scripts: dict[int, list[int]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        # A copied lexicon numbers its sets anew: the limits of this one are not those of the copy.
        return ScriptKinds, (self._labels, self._lexicon, self._lemmas, self._overwrite)

    @cached_property
    def limits(self) -> "ScriptLimits":
        """The scripts of each kind."""
        return ScriptLimits(self._labels, self._lexicon)

    def constraints(self) -> Constraints:
        limits = np.where(self.limits.allowed, 0.0, FORBIDDEN)
        return with_fixed(unconstrained(len(self._labels))._replace(token=limits))

    def to_learn(self, docs: Sequence[Doc], values: np.ndarray, gold: np.ndarray) -> np.ndarray:
        return self._of_forms(docs, values)

    def _of_forms(self, docs: Sequence[Doc], values: np.ndarray) -> np.ndarray:
        """The kind of each token by the scripts that apply to its form, int32 [T]."""
        orths, places = np.unique(values[:, 0], return_inverse=True)
        if not docs:
            return np.zeros(0, np.int32)
        known = self._known_kinds
        if len(known) > MAX_WORDS:
            known.clear()
        kinds, limits = [], _form_limits(self._labels)
        for orth in orths.tolist():
            if orth not in known:
                known[orth] = limits.of_form(text_of(orth, docs))
            kinds.append(known[orth])
        return np.array(kinds, np.int32)[places.ravel()]

    def to_predict(self, docs: Sequence[Doc], values: np.ndarray) -> np.ndarray:
        known = self._lexicon.look_up(values)
        rows = np.append(self.limits.of_sets, -1)[known]
        kinds = np.where(rows >= 0, rows, self._of_forms(docs, values)).astype(np.int32)
        if self._overwrite or not any(doc.has_annotation("LEMMA") for doc in docs):
            return kinds
        numbers = {label: number for number, label in enumerate(self._labels)}
        for place, token in enumerate(chain.from_iterable(docs)):
            if token.lemma:
                # Lemmas whose script is no label stay, too.
                label = numbers.get(str(script_of(token.text, token.lemma_)))
                kinds[place] = kinds[place] if label is None else len(self.limits.allowed) + label
        return kinds

    def write_columns(
        self, docs: Sequence[Doc], values: np.ndarray, kinds: np.ndarray, columns: Mapping[str, np.ndarray]
    ) -> None:
        marked = [columns[name] for name in KNOWN_SCRIPTS if name in columns]
        tokens = np.arange(len(kinds))
        if (kinds >= len(_form_limits(self._labels).allowed)).any():  # never in training
            tokens = np.flatnonzero(kinds < len(self.limits.allowed))
        if not marked or not len(tokens):
            return
        known = self._known_scripts
        if len(known) > MAX_WORDS:
            known.clear()
        orths, places = np.unique(values[tokens, 0], return_inverse=True)
        rows = np.zeros((len(orths), len(KNOWN_SCRIPTS)), np.uint64)
        for row, orth in zip(rows, orths.tolist()):
            if orth not in known:
                found = _endings(self._labels).candidates(text_of(orth, docs), self._lemmas, len(KNOWN_SCRIPTS))
                known[orth] = [int(get_string_id(self._labels[number])) for number in found]
            row[: len(known[orth])] = known[orth]
        for number, column in enumerate(marked):
            column[tokens] = rows[places.ravel(), number]


class FormLimits:
    """The scripts that a form may have, as kinds: by length and case, and by the form where a script is for it alone.

    A case with the same result as an earlier one is left out: every lemma has one script.

    allowed: bool [K, L].
    """

    def __init__(self, labels: tuple[str, ...]) -> None:
        scripts = scripts_of(labels)
        removed = [s.n_prefix + s.n_suffix if isinstance(s, EditScript) else 0 for s in scripts]
        self._longest = max(removed, default=0) + 1
        is_whole = np.array([isinstance(script, WholeForm) for script in scripts], np.bool_)
        names = list(CASES)
        cases = np.array([names.index(script.case) for script in scripts], np.int64)
        rows = []
        for length in range(1, self._longest + 1):
            for mask in range(1 << len(names)):
                rows.append(~is_whole & (np.array(removed, np.int64) < length) & (mask >> cases & 1).astype(np.bool_))
        self._wholes: dict[tuple[str, str], int] = {}
        for number, script in enumerate(scripts):
            if isinstance(script, WholeForm):
                key = script.case, script.form
                if key not in self._wholes:
                    self._wholes[key] = len(rows)
                    rows.append(~is_whole & (np.array(removed, np.int64) < len(script.form)))
                rows[self._wholes[key]][number] = True
        self.allowed = np.array(rows, np.bool_).reshape(len(rows), len(labels))

    def of_form(self, form: str) -> int:
        """The kind of a form."""
        cases = distinct_cases(form)
        for case in cases:
            row = self._wholes.get((case, CASES[case](form)))
            if row is not None:
                return row
        mask = sum(1 << place for place, case in enumerate(CASES) if case in cases)
        return (min(len(form), self._longest) - 1) * (1 << len(CASES)) + mask


class ScriptLimits:
    """The scripts that tokens may have, as kinds of tokens: first by `FormLimits`, then by sets of the lexicon.

    allowed: bool [K, L]. of_sets: int64 [S], the kind of each set of the lexicon, −1 where none of its scripts is a
    label; single labels are the kinds that `with_fixed` adds. unlabelled: bool [S], whether none of them is a label.
    """

    def __init__(self, labels: tuple[str, ...], lexicon: LemmaLexicon) -> None:
        rows = list(_form_limits(labels).allowed)
        numbers = {label: number for number, label in enumerate(labels)}
        of_sets = []
        for members in lexicon.scripts:
            found = [numbers[script] for script in members if script in numbers]
            if len(found) > 1:
                rows.append(np.isin(np.arange(len(labels)), found))
            of_sets.append((len(rows) - 1 if len(found) > 1 else -2 - found[0]) if found else -1)
        # What no script applies to is left to the setting `backoff`.
        self.allowed = np.array([row if row.any() else ~row for row in rows], np.bool_).reshape(len(rows), len(labels))
        sets = np.array(of_sets, np.int64)
        self.of_sets = np.where(sets < -1, len(rows) - 2 - sets, sets)
        self.unlabelled = sets == -1


# Each update makes another codec, mostly with the same labels.


@lru_cache(maxsize=CODECS)
def scripts_of(labels: tuple[str, ...]) -> list[EditScript | WholeForm]:
    return [parse_script(label) for label in labels]


@lru_cache(maxsize=CODECS)
def _form_limits(labels: tuple[str, ...]) -> FormLimits:
    return FormLimits(labels)


@lru_cache(maxsize=CODECS)
def _endings(labels: tuple[str, ...]) -> Endings:
    return Endings(scripts_of(labels))
