"""The lemmas that a lemmatizer knows, and which of them a form can have: an unseen form often has a known lemma.

In training, every lemma is known from its own form. So a lemma counts for a form only if it is that of another form.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from .edit_scripts import CASES, EditScript, distinct_cases
from .packed_text import pack, unpack

SEVERAL = ""
"""Stands for the forms of a lemma that has more than one."""


@dataclass(frozen=True)
class KnownLemmas:
    """Lemmas with their forms, lower-cased.

    packed: text for a file; empty if nothing is known.

    Raises:
        ValueError: `with_pairs` has not made the text.
    """

    packed: str = ""

    def __post_init__(self) -> None:
        try:
            known = all(isinstance(text, str) for pair in self.forms.items() for text in pair)
        except Exception:
            known = False
        if not known:
            raise ValueError("its lemmas are damaged")

    @cached_property
    def forms(self) -> dict[str, str]:
        """The form of each lemma, or SEVERAL."""
        if not self.packed:
            return {}
        lemmas, forms = unpack(self.packed)
        return dict(zip(lemmas, forms, strict=True))

    @cached_property
    def beginnings(self) -> set[str]:
        """All beginnings of lemmas."""
        return {lemma[:end] for lemma in self.forms for end in range(len(lemma) + 1)}

    def with_pairs(self, pairs: Iterable[tuple[str, str]]) -> "KnownLemmas":
        """These lemmas and those of other pairs of form and lemma; the same object if they say nothing new."""
        forms = dict(self.forms)
        for form, lemma in pairs:
            form = form.lower()
            if forms.setdefault(lemma, form) != form:
                forms[lemma] = SEVERAL
        if forms == self.forms:
            return self
        lemmas = sorted(forms)
        return KnownLemmas(pack([lemmas, [forms[lemma] for lemma in lemmas]]))

    def is_known(self, form: str, lemma: str) -> bool:
        """Whether a form other than this one, which is lower-cased, has the lemma."""
        return self.forms.get(lemma, form) != form


class Candidates:
    """The known lemmas that scripts make of a form.

    scripts: those of the labels, by number; scripts for single forms make none.
    """

    def __init__(self, scripts: Sequence[object], lemmas: KnownLemmas) -> None:
        self._lemmas = lemmas
        self._endings: dict[tuple[str, int, str, int], list[tuple[str, int]]] = {}
        self._sizes: dict[int, int] = {}
        for number, script in enumerate(scripts):
            if isinstance(script, EditScript):
                key = script.case, script.n_prefix, script.prefix, script.n_suffix
                self._endings.setdefault(key, []).append((script.suffix, number))
                self._sizes[number] = script.size

    def of_form(self, form: str, max_number: int) -> list[int]:
        """The numbers of the scripts, those that change the fewest letters first."""
        lower, found = form.lower(), []
        beginnings, is_known = self._lemmas.beginnings, self._lemmas.is_known
        cased = {case: CASES[case](form) for case in distinct_cases(form)}
        for (case, n_prefix, prefix, n_suffix), endings in self._endings.items():
            text = cased.get(case, "")
            end = len(text) - n_suffix
            if end > n_prefix:
                stem = prefix + text[n_prefix:end]
                if stem in beginnings:
                    found += [number for suffix, number in endings if is_known(lower, stem + suffix)]
        return sorted(found, key=lambda number: (self._sizes[number], number))[:max_number]
