"""An issue of a corpus, and the places where it occurs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from spacy.tokens import Doc

from ..unreadable import quoted, quoted_text

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True)
class Issue:
    """severity: "error" for what training refuses, drops or changes; "warning" for what can cost accuracy; "info" else.

    corpus: "train" or "dev". what: the name of the issue, in the plural. count: how often it occurs. where: places or
    labels. remedy: what to do, and why. total: the number of things that were checked, where that says something.
    """

    severity: Severity
    corpus: str
    what: str
    count: int
    where: tuple[str, ...]
    remedy: str
    total: int | None = None


def issues(
    severity: Severity, corpus: str, what: str, where: Sequence[str], remedy: str, total: int | None = None
) -> list[Issue]:
    """One issue of all these places, if there are any."""
    return [Issue(severity, corpus, what, len(where), tuple(where), remedy, total)] if where else []


def place(document: str, doc: Doc, first: int, end: int) -> str:
    """The tokens first … end − 1 of a Doc, quoted."""
    tokens = f"token {first}" if end == first + 1 else f"tokens {first}-{end - 1}"
    return f"{document}, {tokens}: {quoted_text(doc[first:end].text)}"


def whole(document: str, doc: Doc) -> str:
    """A Doc, by its first words."""
    return f"{document}: {quoted(doc)}"
