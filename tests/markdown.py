"""What the tests of the documentation read of a Markdown page: blocks of code, tables, headings, links."""

import re
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple


class Block(NamedTuple):
    """Fenced code.

    line: of its first line of code, from 1. before: the paragraph above it, and above other blocks in between. after:
    all text up to the next heading or the next block of the same language.
    """

    language: str
    code: str
    line: int
    before: str
    after: str


class Table(NamedTuple):
    """heading: above it. header, rows: cells without their escapes."""

    heading: str
    header: list[str]
    rows: list[list[str]]


def blocks(page: Path) -> list[Block]:
    """The fenced code of a page, indented or not."""
    lines = page.read_text("utf8").splitlines()
    found: list[Block] = []
    paragraph: list[str] = []
    before, fence, language, first = "", None, "", 0
    for number, line in enumerate([*lines, ""], 1):
        mark = re.match(r"(\s*)```(\S*)\s*$", line)
        if fence is None and mark is None:
            paragraph = [*paragraph, line] if line.strip() else []
            before = "\n".join(paragraph) or before
        elif fence is None and mark is not None:
            fence, language, first, paragraph = mark[1], mark[2], number + 1, []
        elif mark is not None and fence is not None:
            code = "\n".join(inner.removeprefix(fence) for inner in lines[first - 1 : number - 1]) + "\n"
            end = re.compile(rf"#{{1,6}} |\s*```{language}$")
            rest = takewhile(lambda text, end=end: not end.match(text), lines[number:])
            found.append(Block(language, code, first, before, "\n".join(rest)))
            fence = None
    assert fence is None, f"{page} ends within a block"
    return found


def prose(page: Path) -> Iterator[str]:
    """The lines that are not fenced code."""
    inside = False
    for line in page.read_text("utf8").splitlines():
        if line.lstrip().startswith("```"):
            inside = not inside
        elif not inside:
            yield line


def headings(page: Path) -> list[str]:
    """The texts of all headings."""
    return [line.lstrip("#").strip() for line in prose(page) if re.match(r"#{1,6} ", line)]


def anchors(page: Path) -> set[str]:
    """What a link to a heading of this page ends with, as GitHub makes it."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings(page)}


def links(page: Path) -> list[str]:
    """The targets of all links and images."""
    return re.findall(r"\]\(([^)\s]+)\)", "\n".join(prose(page)))


def code_spans(text: str) -> list[str]:
    """What stands between backticks."""
    return re.findall(r"`([^`]+)`", text)


def tables(page: Path) -> list[Table]:
    """All tables with the headings that they stand under."""
    found: list[Table] = []
    heading, rows = "", []
    for line in [*prose(page), ""]:
        if line.startswith("|"):
            rows.append([cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
            continue
        if rows:
            assert all(len(row) == len(rows[0]) for row in rows), f"{page.name}, {heading}: rows of unlike length"
            found.append(Table(heading, rows[0], rows[2:]))
            rows = []
        if re.match(r"#{1,6} ", line):
            heading = line.lstrip("#").strip()
    return found
