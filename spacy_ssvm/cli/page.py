"""A self-contained page of HTML: headings, tables, text and plots."""

import io
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from .plots import new_figure, save_figure

STYLE = """body { font-family: sans-serif; margin: 2rem auto; max-width: 64rem; padding: 0 1rem; color: #222; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; border-bottom: 1px solid #ccc; }
h3 { font-size: 1rem; margin: 1.4rem 0 0.4rem; }
table { border-collapse: collapse; font-size: 0.9rem; }
td, th { text-align: left; padding: 0.2rem 1.2rem 0.2rem 0; border-bottom: 1px solid #eee; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
p { color: #555; font-size: 0.9rem; }
details { margin: 0.6rem 0; } summary { cursor: pointer; line-height: 1.6; }
mark { background: #f5dddd; padding: 0.1em 0.3em; border-radius: 0.3em; }
pre { font-size: 0.8rem; background: #f7f7f7; padding: 0.6rem; overflow-x: auto; }
svg { max-width: 100%; height: auto; }"""


class Page:
    """A page to which parts are added from top to bottom; texts are escaped.

    Args:
        title: the title of the page, and its first heading.
    """

    def __init__(self, title: str) -> None:
        self._title = escape(title)
        self._parts = [f"<h1>{self._title}</h1>"]

    def heading(self, text: str, level: int = 2) -> None:
        self._parts.append(f"<h{level}>{escape(text)}</h{level}>")

    def text(self, text: str) -> None:
        self._parts.append(f"<p>{escape(text)}</p>")

    def table(self, header: Sequence[str], rows: Sequence[Sequence[Any]], texts: int = 1) -> None:
        """Add a table whose first `texts` columns are text, and the others figures."""

        def row(cells: Sequence[Any], tag: str) -> str:
            kinds = ["" if place < texts else ' class="n"' for place in range(len(cells))]
            parts = [f"<{tag}{kind}>{escape(str(cell))}</{tag}>" for kind, cell in zip(kinds, cells)]
            return f"<tr>{''.join(parts)}</tr>"

        lines = [row(header, "th"), *(row(cells, "td") for cells in rows)]
        self._parts.append("<table>\n" + "\n".join(lines) + "\n</table>")

    def folded(self, words: Sequence[str], marked: Sequence[bool], text: str) -> None:
        """Add a sentence with some words marked; a click on it unfolds the text, of several lines."""
        shown = [f"<mark>{escape(word)}</mark>" if mark else escape(word) for word, mark in zip(words, marked)]
        self._parts.append(f"<details><summary>{' '.join(shown)}</summary><pre>{escape(text)}</pre></details>")

    def plot(self, draw: Callable[[Any], None]) -> None:
        """Add the matplotlib Figure that `draw` fills, or, without matplotlib, a line that says so."""
        try:
            figure = new_figure(9, 3.2)
        except ImportError:
            self.text("No plot: matplotlib is not installed; to get one, run pip install matplotlib.")
            return
        draw(figure)
        drawn = io.StringIO()
        save_figure(figure, drawn, "page")
        self._parts.append(drawn.getvalue()[drawn.getvalue().index("<svg") :])

    def html(self) -> str:
        head = f'<meta charset="utf-8"><title>{self._title}</title><style>\n{STYLE}\n</style>'
        body = "\n".join(self._parts)
        return f'<!DOCTYPE html>\n<html lang="en">\n<head>{head}</head>\n<body>\n{body}\n</body>\n</html>\n'
