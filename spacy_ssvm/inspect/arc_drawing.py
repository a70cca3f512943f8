"""Dependency trees as drawings, SVG, in the manner of displaCy: words in a row, arcs with their labels above them."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

LETTER, GAP = 9, 22
"""Pixels: of a letter, and between words."""

LEVEL, BASE = 21, 20
"""Pixels: from an arc to the next higher one, and above the highest."""


class Arc(NamedTuple):
    """Of tokens; a root, which is its own head, has its label below it."""

    token: int
    head: int
    label: str


def drawing(words: Sequence[str], arcs: Sequence[Arc], link: str) -> str:
    """A drawing for each run of words that no arc leaves; the label of arc k links to the anchor `link` with k."""
    runs: list[list[int]] = []
    reach = 0
    for token in range(len(words)):
        if token >= reach:
            runs.append([])
        runs[-1].append(token)
        ends = [max(arc.token, arc.head) for arc in arcs if min(arc.token, arc.head) == token]
        reach = max(reach, token + 1, *(end + 1 for end in ends))
    return "\n".join(_drawn(words, run, arcs, link) for run in runs)


def _drawn(words: Sequence[str], run: Sequence[int], arcs: Sequence[Arc], link: str) -> str:
    inside = [(number, arc) for number, arc in enumerate(arcs) if run[0] <= arc.token <= run[-1]]
    levels = _levels([arc for _, arc in inside])
    labels = {arc.token: arc.label for _, arc in inside}
    centres, right = {}, GAP
    for token in run:
        width = LETTER * max(len(words[token]), len(labels.get(token, "")))
        centres[token] = right + width // 2
        right += width + GAP
    # A cubic curve rises by three quarters of what its control points do.
    floor = BASE + LEVEL * max(levels.values(), default=0)
    parts = [f'<text class="word" x="{centres[token]}" y="{floor + 24}">{escape(words[token])}</text>' for token in run]
    for number, arc in inside:
        head, token, height = centres[arc.head], centres[arc.token], LEVEL * levels[arc]
        middle, place = token, floor + 44
        if arc.head != arc.token:
            side, middle, place = 6 if head < token else -6, (head + token) // 2, floor - height - 4
            top = floor - height * 4 // 3
            parts.append(
                f'<path d="M{head + side},{floor} C{head + side},{top} {token},{top} {token},{floor - 5}"/>'
                f'<path class="tip" d="M{token},{floor} l-4,-8 h8 z"/>'
            )
        parts.append(f'<a href="#{link}{number}"><text x="{middle}" y="{place}">{escape(arc.label)}</text></a>')
    return f'<svg width="{right}" height="{floor + 54}">{"".join(parts)}</svg>'


def _levels(arcs: Sequence[Arc]) -> dict[Arc, int]:
    """How high each arc is: above all that lie within it, so that labels do not meet."""
    levels: dict[Arc, int] = {}
    for arc in sorted(arcs, key=lambda arc: abs(arc.token - arc.head)):
        first, last = sorted((arc.token, arc.head))
        below = [levels[other] for other in levels if min(other[:2]) < last and max(other[:2]) > first]
        levels[arc] = 1 + max(below, default=0) if first < last else 0
    return levels
