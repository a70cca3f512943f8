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
