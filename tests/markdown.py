"""What the tests of the documentation read of a Markdown page: blocks of code, tables, headings, links."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class Block(NamedTuple):
    """Fenced code; line: of its first line of code, from 1."""

    language: str
    code: str
    line: int


class Table(NamedTuple):
    """heading: above it. header, rows: cells without their escapes."""

    heading: str
    header: list[str]
    rows: list[list[str]]


def blocks(page: Path) -> list[Block]:
    """The fenced code of a page, indented or not."""
    found, fence, language, code, first = [], None, "", [], 0
    for number, line in enumerate(page.read_text("utf8").splitlines(), 1):
        mark = re.match(r"(\s*)```(\S*)\s*$", line)
        if mark is None:
            if fence is not None:
                code.append(line.removeprefix(fence))
        elif fence is None:
            fence, language, code, first = mark[1], mark[2], [], number + 1
        else:
            found.append(Block(language, "\n".join(code) + "\n", first))
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
