"""The lemmas that a lemmatizer knows, and which of them a form can have: an unseen form often has a known lemma.

In training, every lemma is known from its own form. So a lemma counts for a form only if another form has it.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from .edit_scripts import CASES, EditScript, distinct_cases
from .notes import Growth, pack_text, unpack_text

SEVERAL = ""
"""The mark of a lemma that has more than one form."""


class KnownLemmas:
    """Lemmas with their forms, lower-cased. It does not change: `with_pairs` makes another one.

    Args:
        first: the form of each lemma to begin with, or SEVERAL.
        growth: these, with changes since; without it, there are none.
        beginnings: of all lemmas; without any, they are computed when they are needed.
    """

    def __init__(
        self,
        first: dict[str, str] | None = None,
        growth: Growth[str, str] | None = None,
        beginnings: set[str] | None = None,
    ) -> None:
        self._first = {} if first is None else first
        self._growth = Growth(self._first.get, len(self._first)) if growth is None else growth
        self._beginnings = set[str]() if beginnings is None else beginnings
        self._packed: str | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KnownLemmas) and (other is self or other.forms() == self.forms())

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return unpack_lemmas, (self.packed,)

    @property
    def packed(self) -> str:
        """Text for a file; empty if nothing is known."""
        if self._packed is None:
            forms = self.forms()
            lemmas = sorted(forms)
            self._packed = pack_text([lemmas, [forms[lemma] for lemma in lemmas]]) if lemmas else ""
        return self._packed

    def forms(self) -> dict[str, str]:
        """The form of each lemma, or SEVERAL."""
        return {**self._first, **self._growth.changes()}

    @property
    def beginnings(self) -> set[str]:
        """All beginnings of lemmas, and perhaps some that only values made from this one know."""
        if not self._beginnings:
            self._beginnings.update(*map(_beginnings, self.forms()))
        return self._beginnings

    def with_pairs(self, pairs: Iterable[tuple[str, str]]) -> "KnownLemmas":
        """These lemmas and more pairs of form and lemma; the same object if these say nothing new."""
        changes: dict[str, str] = {}
        for form, lemma in pairs:
            form = form.lower()
            known = changes.get(lemma, self._growth.get(lemma))
            if known not in (form, SEVERAL):
                changes[lemma] = form if known is None else SEVERAL
        if not changes:
            return self
        growth = self._growth.with_changes(changes)
        if growth is None:
            return KnownLemmas({**self.forms(), **changes})
        beginnings = self.beginnings
        beginnings.update(*map(_beginnings, changes))
        return KnownLemmas(self._first, growth, beginnings)

    def is_known(self, form: str, lemma: str) -> bool:
        """Whether a form other than this lower-cased one has the lemma."""
        known = self._growth.get(lemma)
        return known is not None and known != form


def unpack_lemmas(packed: str) -> KnownLemmas:
    """The lemmas in the text of `KnownLemmas.packed`.

    Raises:
        ValueError: the text is none of these.
    """
    try:
        lemmas, forms = unpack_text(packed) if packed else ([], [])
        known = dict(zip(lemmas, forms, strict=True))
        if not all(isinstance(text, str) for pair in known.items() for text in pair):
            raise ValueError
    except Exception:
        raise ValueError("its lemmas are damaged") from None
    return KnownLemmas(known)


def _beginnings(lemma: str) -> list[str]:
    return [lemma[:end] for end in range(len(lemma) + 1)]


class Endings:
    """Groups of scripts that differ only in the letters put at the end, and which of them make known lemmas of a form.

    Args:
        scripts: of the labels, by number; scripts for single forms are left out.
    """

    def __init__(self, scripts: Sequence[object]) -> None:
        self.by_beginning: dict[tuple[str, int, str, int], list[tuple[str, int]]] = {}
        """Case, letters removed, prefix and letters removed at the end → suffix and number of each script."""
        self.sizes: dict[int, int] = {}
        """The size of each script, by number."""
        for number, script in enumerate(scripts):
            if isinstance(script, EditScript):
                key = script.case, script.n_prefix, script.prefix, script.n_suffix
                self.by_beginning.setdefault(key, []).append((script.suffix, number))
                self.sizes[number] = script.size

    def candidates(self, form: str, lemmas: KnownLemmas, max_number: int) -> list[int]:
        """The numbers of the scripts that make known lemmas of a form; the ones that change the fewest letters come
        first."""
        lower, found = form.lower(), []
        beginnings, is_known = lemmas.beginnings, lemmas.is_known
        cased = {case: CASES[case](form) for case in distinct_cases(form)}
        for (case, n_prefix, prefix, n_suffix), endings in self.by_beginning.items():
            text = cased.get(case, "")
            end = len(text) - n_suffix
            if end > n_prefix:
                stem = prefix + text[n_prefix:end]
                if stem in beginnings:
                    found += [number for suffix, number in endings if is_known(lower, stem + suffix)]
        return sorted(found, key=lambda number: (self.sizes[number], number))[:max_number]
