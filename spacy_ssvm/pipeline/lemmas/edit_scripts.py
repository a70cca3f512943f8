"""Edit scripts: how a lemma is made from a form, so that the same script serves other forms.

A script sets the case of the form, and replaces letters at both ends: "lower|0>|3>y" turns "Studies" into "study". A
lemma that has no letter in common with its form is a script for that form alone: "lower=went>go". As in Chrupała (2006)
and Straka et al. (2016).
"""

import re
from collections.abc import Callable
from difflib import SequenceMatcher
from functools import lru_cache
from typing import NamedTuple

CASES: dict[str, Callable[[str], str]] = {
    "lower": str.lower,
    "same": str,
    "title": lambda form: form[:1].upper() + form[1:].lower(),
    "upper": str.upper,
}
"""Name of a case → the form in this case; of cases with equal results, the first one is taken."""
MAX_PAIRS = 1 << 18
"""Pairs of form and lemma whose scripts are remembered."""
_SPECIAL = re.compile(r"[\\>]")
_TEXT = r"((?:[^\\>]|\\.)*)"
_CASE = "|".join(CASES)
_SCRIPT = re.compile(rf"({_CASE})\|(\d+)>{_TEXT}\|(\d+)>{_TEXT}", re.DOTALL)
_WHOLE = re.compile(rf"({_CASE})={_TEXT}>{_TEXT}", re.DOTALL)


class EditScript(NamedTuple):
    """case: a key of CASES. n_prefix, n_suffix: the number of letters that are removed from both ends of the form in
    this case; at least one must stay. prefix, suffix: their replacements.
    """

    case: str
    n_prefix: int
    prefix: str
    n_suffix: int
    suffix: str

    def __str__(self) -> str:
        return f"{self.case}|{self.n_prefix}>{_escaped(self.prefix)}|{self.n_suffix}>{_escaped(self.suffix)}"

    def apply(self, form: str) -> str | None:
        """The lemma of a form; None if the script does not apply to it."""
        cased = CASES[self.case](form)
        end = len(cased) - self.n_suffix
        return self.prefix + cased[self.n_prefix : end] + self.suffix if end > self.n_prefix else None

    @property
    def size(self) -> int:
        """The number of letters that are removed or added."""
        return self.n_prefix + len(self.prefix) + self.n_suffix + len(self.suffix)


class WholeForm(NamedTuple):
    """A script for one form: its case, the form in this case, and the lemma."""

    case: str
    form: str
    lemma: str

    def __str__(self) -> str:
        return f"{self.case}={_escaped(self.form)}>{_escaped(self.lemma)}"

    def apply(self, form: str) -> str | None:
        """The lemma of a form; None if the script does not apply to it."""
        return self.lemma if CASES[self.case](form) == self.form else None

    @property
    def size(self) -> int:
        """The number of letters that are removed or added."""
        return len(self.form) + len(self.lemma)


Script = EditScript | WholeForm


def parse_script(text: str) -> Script:
    """The script that `str` has written.

    Raises:
        ValueError: the text is no script.
    """
    match, whole = _SCRIPT.fullmatch(text), _WHOLE.fullmatch(text)
    if match is not None:
        case, n_prefix, prefix, n_suffix, suffix = match.groups()
        return EditScript(case, int(n_prefix), _plain(prefix), int(n_suffix), _plain(suffix))
    if whole is None:
        raise ValueError(f"{text!r} is no edit script, such as lower|0>|3>y or lower=went>go")
    return WholeForm(whole[1], _plain(whole[2]), _plain(whole[3]))


@lru_cache(maxsize=MAX_PAIRS)
def script_of(form: str, lemma: str) -> Script:
    """The script that makes the lemma of the form: the one that removes and adds the fewest letters.

    It keeps the longest common substring of both, the first one in the form.
    """
    return min((_script(case, form, lemma) for case in distinct_cases(form)), key=lambda script: script.size)


def distinct_cases(form: str) -> list[str]:
    """The names of the cases whose results differ from earlier ones: lower, title and upper for "dog"."""
    cased = {change(form): case for case, change in reversed(CASES.items())}
    return [case for case in CASES if case in cased.values()]


def _script(case: str, form: str, lemma: str) -> Script:
    cased = CASES[case](form)
    # The first one of the longest in the form, and the first occurrence of it in the lemma.
    first, first_of_lemma, length = SequenceMatcher(None, cased, lemma, autojunk=False).find_longest_match()
    if not length:
        return WholeForm(case, cased, lemma)
    end, end_of_lemma = first + length, first_of_lemma + length
    return EditScript(case, first, lemma[:first_of_lemma], len(cased) - end, lemma[end_of_lemma:])


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", text)


def _plain(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL)
