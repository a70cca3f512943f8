"""The forms of a word under which files of word classes list it, and look it up."""

import re

_DIGIT = re.compile(r"\d")


def normalised(word: str) -> str:
    """The form that is counted and listed: its case is kept, and each decimal digit becomes 0."""
    return word if word.isalpha() else _DIGIT.sub("0", word)


def forms(word: str) -> tuple[str, str, str, str]:
    """The forms to look a word up by: as written, lower-cased, and both with 0 for digits. The first one listed counts.

    The first two come first because files from elsewhere may keep digits.
    """
    zeros = normalised(word)
    return word, word.lower(), zeros, zeros.lower()


def looked_up_as(word: str) -> tuple[str, ...]:
    """The distinct ones of a word's `forms`, in their order."""
    return tuple(dict.fromkeys(forms(word)))
