"""Drawings of mistakes by spaCy's displaCy: the gold annotation of a sentence above the predicted one."""

import re
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from spacy.displacy import DependencyRenderer, EntityRenderer
from spacy.tokens import Doc

from ..inspect.parts import NOTHING, ComparedPart
from ..inspect.tallies import SentenceTokens

MAX_CHARACTERS, MAX_IN_TREES = 60, 14
"""Characters that are shown of a token, in lines of text and in trees."""
DIRECTIONS = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])
"""Invisible characters that change the direction of what comes after a token, which are not shown."""
OF_SPANS = {"template": '<mark class="{kind}">{text}<b>{label}</b></mark>'}
OF_TREES = {
    "distance": 110,
    "arrow_spacing": 8,
    "word_spacing": 30,
    "color": "currentColor",
    "bg": "none",
    "font": "inherit",
}

STYLED = re.compile(
    ' (?:class="displacy|fill="currentColor|stroke="currentColor|text-anchor="|stroke-width="|style="font)[^"]*"'
)
"""Attributes in displaCy's trees that the page's style has once for all: nearly half of their size."""


def drawn(doc: Doc, piece: SentenceTokens, parts: Sequence[ComparedPart], name: str) -> str:
    """Both annotations of a piece as trees, or as spans in the text.

    Args:
        parts: those to draw.
        name: of the drawing, for references in it.
    """
    draw = _tree if any(part.head is not None for part in parts) else _spans
    direction = doc.vocab.writing_system.get("direction", "ltr")
    figures = []
    for side in ("gold", "predicted"):
        words = [doc[token].text for token in range(piece.start, piece.end)]
        drawing = draw(words, piece.start, parts, side == "predicted", f"{name}-{side}", direction)
        figures.append(f"<figure><figcaption>{side}</figcaption>{drawing}</figure>")
    return "".join(figures)


def shown(text: str, max_characters: int = MAX_CHARACTERS) -> str:
    """A text in one line of limited length; whitespace is visible where there is nothing else."""
    one_line = " ".join(text.translate(DIRECTIONS).split()) or ("⏎" if "\n" in text else "␣")
    return one_line if len(one_line) <= max_characters else f"{one_line[:max_characters]}…"


def _spans(
    words: Sequence[str], first: int, parts: Sequence[ComparedPart], is_predicted: bool, name: str, direction: str
) -> str:
    texts = [shown(word) for word in words]
    starts = [0]
    for text in texts:
        starts.append(starts[-1] + len(text) + 1)
    spans: list[dict[str, Any]] = []
    for start, end, label, kind in sorted(_sides(parts, is_predicted)):
        start, end = max(0, start - first), min(end - first, len(words))
        # Entities of other tokens can share one.
        if start < end and (not spans or starts[start] >= spans[-1]["end"]):
            place = {"start": starts[start], "end": starts[end] - 1}
            spans.append({**place, "label": escape(shown(label)), "params": {"kind": kind}})
    settings = {"direction": direction}
    return EntityRenderer(OF_SPANS).render(
        [{"text": " ".join(texts), "ents": spans, "settings": settings}], minify=True
    )


def _sides(parts: Sequence[ComparedPart], is_predicted: bool) -> Iterator[tuple[int, int, str, str]]:
    """The tokens of each part on one side, its label, and whether it is right or wrong."""
    for part in parts:
        label = part.predicted if is_predicted else part.gold
        if label is not None:
            start, end = (part.elsewhere if is_predicted else None) or part[:2]
            yield start, end, label, "right" if part.is_right else "wrong"


class TreeRenderer(DependencyRenderer):
    """displaCy's drawing of trees, the same one in every process, with wrong arcs in a class of their own."""

    wrong: frozenset[int] = frozenset()

    def render_arrow(self, label: str, start: int, end: int, direction: str, i: int) -> str:
        arrow = super().render_arrow(label, start, end, direction, i)
        return f'<g class="wrong">{arrow}</g>' if i in self.wrong else arrow

    def get_levels(self, arcs: list[dict[str, Any]]) -> dict[tuple[int, int, str], int]:
        # spaCy takes arcs of one length in the order of a set.
        heights = [0] * max((arc["end"] for arc in arcs), default=0)
        levels = {}
        for start, end, label in sorted(
            {(arc["start"], arc["end"], arc["label"]) for arc in arcs}, key=lambda arc: (arc[1] - arc[0], arc)
        ):
            levels[start, end, label] = level = max(heights[start:end]) + 1
            heights[start:end] = [level] * (end - start)
        return levels


def _tree(
    words: Sequence[str], first: int, parts: Sequence[ComparedPart], is_predicted: bool, name: str, direction: str
) -> str:
    texts = [{"text": shown(word, MAX_IN_TREES), "tag": ""} for word in words]
    arcs: list[dict[str, Any]] = []
    wrong = set()
    for part in parts:
        head = part.elsewhere[0] if is_predicted and part.elsewhere else part.head
        label = shown((part.predicted if is_predicted else part.gold) or NOTHING)
        token, above = part.start - first, part.start - first if head is None else head - first
        if token == above or not 0 <= above < len(words):
            mark = "" if part.is_right else "✗ "
            texts[token]["tag"] = escape(mark + (label if token == above else f"{label} of a token not shown"))
            continue
        if not part.is_right:
            wrong.add(len(arcs))
            texts[token]["tag"] = "✗"
        left, right = sorted((token, above))
        arcs.append({"start": left, "end": right, "label": escape(label), "dir": "left" if left == token else "right"})
    renderer = TreeRenderer(OF_TREES)
    renderer.direction, renderer.wrong = direction, frozenset(wrong)
    svg = STYLED.sub("", renderer.render_svg(name, texts, arcs))
    return f'<div class="scroll tree" tabindex="0" role="region" aria-label="tree">{" ".join(svg.split())}</div>'
