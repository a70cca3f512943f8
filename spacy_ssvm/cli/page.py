"""A self-contained page of HTML: its parts are strings of markup, made from texts that are escaped here."""

from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any, NamedTuple


class Bar(NamedTuple):
    """A cell of a table with a share, from 0 to 1, as percentage and as bar."""

    share: float

    def markup(self) -> str:
        return f'<td class="n bar" style="--share:{100 * self.share:.2f}%">{100 * self.share:.2f}</td>'


class Cell(NamedTuple):
    """A cell of a heat map.

    Attributes:
        shade: from 0 to 1.
        kind: the number of the kind of mistakes that a click on the cell shows; None without a click.
    """

    times: int
    shade: float
    is_right: bool
    kind: int | None


def heading(text: str, level: int = 2) -> str:
    return f"<h{level}>{escape(text)}</h{level}>"


def paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def scrolling(markup: str, name: str) -> str:
    """A region for what may be wider than the page: it scrolls by itself, by keyboard, too."""
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(name)}">{markup}</div>'


def table(header: Sequence[str], rows: Sequence[Sequence[Any]], texts: int = 1) -> str:
    """A table whose first `texts` columns are text, and the others figures."""

    def cell(value: Any, place: int, tag: str) -> str:
        kind = "" if place < texts else ' class="n"'
        return value.markup() if isinstance(value, Bar) else f"<{tag}{kind}>{escape(str(value))}</{tag}>"

    def row(cells: Sequence[Any], tag: str) -> str:
        return f"<tr>{''.join(cell(value, place, tag) for place, value in enumerate(cells))}</tr>"

    lines = [f"<thead>{row(header, 'th')}</thead><tbody>", *(row(cells, "td") for cells in rows)]
    return "<table>" + "\n".join(lines) + "</tbody></table>"


def heat_map(rows: Sequence[str], columns: Sequence[str], cells: Sequence[Sequence[Cell]], name: str) -> str:
    """A table with shaded cells. name: what it shows, in words; rows are gold and columns predicted."""

    def shaded(cell: Cell, row: str, column: str) -> str:
        if not cell.times:
            return "<td></td>"
        count = f"{cell.times:,}"
        if cell.kind is not None:
            said = escape(f"{count} times {column} for {row}: show them")
            count = f'<button data-kind="{cell.kind}" aria-label="{said}">{count}</button>'
        right = " right" if cell.is_right else ""
        return f'<td class="n heat{right}" style="--shade:{100 * cell.shade:.0f}%">{count}</td>'

    head = "".join(f'<th scope="col"><span>{escape(column)}</span></th>' for column in columns)
    lines = [f"<table class=map><thead><tr><th>gold ↓ predicted →</th>{head}</tr></thead><tbody>"]
    for row, of_row in zip(rows, cells):
        found = "".join(shaded(cell, row, column) for cell, column in zip(of_row, columns))
        lines.append(f'<tr><th scope="row">{escape(row)}</th>{found}</tr>')
    return scrolling("\n".join(lines) + "</tbody></table>", name)


def contents(links: Mapping[str, str]) -> str:
    """Links to sections, which stay in sight. links: a text for the name of each section."""
    listed = "".join(f'<li><a href="#{name}">{escape(text)}</a></li>' for name, text in links.items())
    return f"<nav><ul>{listed}</ul></nav>"


def page(title: str, parts: Sequence[str]) -> str:
    """The whole page: a heading, and these parts from top to bottom."""
    static = files(__package__) / "static"
    style, script = ((static / name).read_text("utf8") for name in ("report.css", "report.js"))
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>"
    )
    body = "\n".join([f"<main><h1>{escape(title)}</h1>", *parts, f"</main><script>\n{script}</script>"])
    return f'<!DOCTYPE html>\n<html lang="en">\n<head>{head}</head>\n<body>\n{body}\n</body>\n</html>\n'
