"""A component's mistakes on a page: a heat map of confusions, strings, sentences that unfold and can be filtered.

Both annotations of a sentence are drawn by displaCy: as spans in the text, or as trees.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from itertools import accumulate, product
from math import sqrt
from typing import Any

from spacy.displacy.render import DependencyRenderer, EntityRenderer
from spacy.tokens import Doc

from ..inspect.parts import NOTHING, ComparedPart, LocatedPart, SentenceTokens
from ..wording import counted
from .page import heading, paragraph, scrolling, table

MAX_LISTED = 20
"""The max numbers of confusions, of strings, and of labels of a heat map, for each component."""
MAX_KINDS = 200
"""The max number of kinds of mistakes that can be chosen."""
MAX_EXPLAINED, MAX_REASONS = 1_000, 20_000
"""Tokens of a Doc that is explained, as each reason takes time in all of it, and characters of an explanation."""
MAX_TOKENS = 60
"""Tokens that are shown together: longer sentences are divided into pieces."""
MAX_PIECES = 300
"""Pieces with mistakes that are shown of each component."""
MAX_DRAWN = 2_000_000
"""Characters of markup for each component, after which mistakes are only listed."""

MAX_CHARACTERS, MAX_IN_TREES = 60, 14
"""Characters that are shown of a token, in lines of text and in trees."""
DIRECTIONS = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])
"""Invisible characters that change the direction of what comes after a token, which are not shown."""
OF_SPANS = {"template": '<mark class="{kind}">{text}<b>{label}</b></mark>'}
OF_COLOURS = {"color": "currentColor", "bg": "none", "font": "inherit"}
OF_TREES = {"distance": 110, "arrow_spacing": 8, "word_spacing": 30, **OF_COLOURS}
STYLED = re.compile(
    ' (?:class="displacy|fill="currentColor|stroke="currentColor|text-anchor="|stroke-width="|style="font)[^"]*"'
)
"""Attributes in displaCy's trees that the page's style has once for all: nearly half of their size."""

Kind = tuple[str, str]
"""The names of a gold part and of a wrong prediction."""


def mistakes_section(pipe: Any, docs: Sequence[Doc], found: Sequence[LocatedPart], name: str, worst: int) -> list[str]:
    """The parts of a page about a component's mistakes.

    Args:
        docs: the predicted Docs.
        found: all parts, right and wrong.
        name: of the component on the page, for references.
        worst: the number of pieces to explain.
    """
    if all(part.is_right for _, part, _ in found):
        return [paragraph("No mistakes.")] if found else []
    pieces = _pieces(found)
    listed = list(pieces)[:MAX_PIECES]
    kinds = Counter(_kind(part) for piece in listed for part in pieces[piece] if not part.is_right)
    numbers = {kind: number for number, (kind, _) in enumerate(_by_count(kinds)[:MAX_KINDS])}
    is_dense = 2 * len(found) > sum(map(len, docs))
    markup: list[str] = []
    size = n_drawn = 0
    for number, piece in enumerate(listed):
        doc, parts, drawing, why = docs[piece.number], pieces[piece], "", ""
        wrong = [part for part in parts if not part.is_right]
        if size < MAX_DRAWN:
            is_tree = any(part.head is not None for part in parts)
            drawing = drawn(doc, piece, wrong if is_dense and not is_tree else parts, f"{name}-{number}")
            n_drawn += 1
        if number < worst and len(doc) <= MAX_EXPLAINED and (reasons := _reasons(pipe, doc, wrong)):
            text = f"<pre>{escape(reasons)}</pre>"
            why = f"<details><summary>Why</summary>{scrolling(text, 'reasons')}</details>"
        markup.append(_folded(doc, piece, wrong, numbers, drawing, why))
        size += len(markup[-1])
    said = f"{counted(len(pieces), 'sentence')} with mistakes, pieces of long ones included, those with the most first"
    said += f"; {len(pieces) - len(listed):,} are left out" if len(listed) < len(pieces) else ""
    said += f"; the first {n_drawn:,} are drawn." if n_drawn < len(listed) else "."
    return [
        *_confusions([part for _, part, _ in found], numbers),
        *_strings(found),
        heading("Mistakes", 3),
        paragraph(said),
        _filtered(kinds, numbers, markup),
    ]


def _kind(part: ComparedPart) -> Kind:
    return part.gold_name, part.predicted_name


def _by_count(counts: Mapping[Any, int]) -> list[tuple[Any, int]]:
    """The largest first; of equal ones in the order of what is counted."""
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


def _pieces(found: Sequence[LocatedPart]) -> dict[SentenceTokens, list[ComparedPart]]:
    """The parts of each sentence with mistakes, or of each piece of a long one; those with the most mistakes first."""
    grouped: dict[SentenceTokens, list[ComparedPart]] = {}
    for (number, start, end), part, _ in found:
        first = start + (part.start - start) // MAX_TOKENS * MAX_TOKENS
        grouped.setdefault(SentenceTokens(number, first, min(first + MAX_TOKENS, end)), []).append(part)
    counts = {piece: sum(not part.is_right for part in parts) for piece, parts in grouped.items()}
    return {piece: grouped[piece] for piece, count in _by_count(counts) if count}


def _confusions(parts: Sequence[ComparedPart], numbers: Mapping[Kind, int]) -> list[str]:
    wrong = Counter(_kind(part) for part in parts if not part.is_right)
    listed = _by_count(wrong)[:MAX_LISTED]
    rows = [(*map(shown, kind), f"{count:,}") for kind, count in listed]
    pairs = scrolling(table(("Gold", "Predicted", "Times"), rows, texts=2), "The most frequent confusions")
    title, said = heading("Confusions", 3), f"{counted(wrong.total(), 'mistake')} of {counted(len(wrong), 'kind')}."
    shade = "Shades are relative: of mistakes to the most frequent one, of what is right to all that gold has."
    drawing = _heat_map(parts, numbers)
    if drawing is None:
        return [title, paragraph(f"{said} The most frequent ones:"), pairs]
    return [title, paragraph(f"{said} {shade}"), drawing, f"<details><summary>As a list</summary>{pairs}</details>"]


def _heat_map(parts: Sequence[ComparedPart], numbers: Mapping[Kind, int]) -> str | None:
    """A table of the labels in the most mistakes, in shaded cells; None if most mistakes are of other labels."""
    wrong = [part for part in parts if not part.is_right]
    involved = Counter(label for part in wrong for label in {part.gold, part.predicted} if label is not None)
    labels: list[str | None] = sorted(label for label, _ in _by_count(involved)[:MAX_LISTED])
    # The last row and column are what is missing, and the last column but one what is elsewhere.
    rows, columns = [*labels, None], [*((label, False) for label in labels), ("", True), (None, False)]
    counts = Counter((part.gold, _column(part)) for part in parts)
    kinds = {(part.gold, _column(part)): _kind(part) for part in wrong}
    times_wrong = [counts[place] for place in product(rows, columns) if place in kinds]
    if 2 * sum(times_wrong) < len(wrong):
        return None
    rows = [row for row in rows if any(counts[row, column] for column in columns)]
    columns = [column for column in columns if any(counts[row, column] for row in rows)]
    elsewhere = "right label, other " + ("head" if any(part.head is not None for part in parts) else "tokens")
    titles = {(label, is_elsewhere): elsewhere if is_elsewhere else _name(label) for label, is_elsewhere in columns}
    totals, largest = Counter(part.gold for part in parts), max(times_wrong)

    def cell(row: str | None, column: tuple[str | None, bool]) -> str:
        times, kind = counts[row, column], kinds.get((row, column))
        if not times:
            return "<td></td>"
        shade = times / totals[row] if kind is None else sqrt(times / largest)
        shown_times = f"{times:,}"
        if kind is not None and kind in numbers:
            said = escape(f"{times:,} times {titles[column]} for {_name(row)}: show them")
            shown_times = f'<button data-kind="{numbers[kind]}" aria-label="{said}">{times:,}</button>'
        right = " right" if kind is None else ""
        return f'<td class="n heat{right}" style="--shade:{100 * shade:.0f}%">{shown_times}</td>'

    head = "".join(f'<th scope="col"><span>{escape(title)}</span></th>' for title in titles.values())
    lines = [f"<table class=map><thead><tr><th>gold ↓ predicted →</th>{head}</tr></thead><tbody>"]
    for row in rows:
        cells = "".join(cell(row, column) for column in columns)
        lines.append(f'<tr><th scope="row">{escape(_name(row))}</th>{cells}</tr>')
    return scrolling("\n".join(lines) + "</tbody></table>", "Heat map of confusions")


def _name(label: str | None) -> str:
    return NOTHING if label is None else shown(label)


def _column(part: ComparedPart) -> tuple[str | None, bool]:
    """The predicted label of a part; all of the right label in another place are one."""
    return ("", True) if part.gold == part.predicted and not part.is_right else (part.predicted, False)


def _strings(found: Sequence[LocatedPart]) -> Iterator[str]:
    """The strings that are most often wrong."""
    texts, wrong = Counter(text for *_, text in found), Counter(text for _, part, text in found if not part.is_right)
    rows = [(shown(text), f"{count:,}", f"{texts[text]:,}") for text, count in _by_count(wrong)[:MAX_LISTED]]
    yield heading("Strings with the most mistakes", 3)
    yield table(("String", "Wrong", "of"), rows)


def _folded(
    doc: Doc, piece: SentenceTokens, wrong: Sequence[ComparedPart], numbers: Mapping[Kind, int], drawing: str, why: str
) -> str:
    """A piece with its wrong tokens marked, which unfolds to markup and the list of its mistakes."""
    tokens = {token for part in wrong for token in range(part.start, part.end)}
    words = [(token in tokens, escape(shown(doc[token].text))) for token in range(piece.start, piece.end)]
    marked = " ".join(f"<mark>{word}</mark>" if is_wrong else word for is_wrong, word in words)
    lines = [f"{shown(doc[p.start : p.end].text)}: {' → '.join(map(shown, _kind(p)))}" for p in wrong]
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    kinds = " ".join(map(str, sorted({numbers[_kind(part)] for part in wrong if _kind(part) in numbers})))
    return (
        f'<details data-kinds="{kinds}"><summary dir="auto">{marked}</summary>{drawing}<ul>{items}</ul>{why}</details>'
    )


def _filtered(kinds: Mapping[Kind, int], numbers: Mapping[Kind, int], markup: Sequence[str]) -> str:
    """The pieces below a form that chooses from them; the page's script shows the form."""
    options = "".join(
        f'<option value="{number}">{escape(" → ".join(map(shown, kind)))} ({kinds[kind]:,})</option>'
        for kind, number in numbers.items()
    )
    form = (
        '<form class="filter" hidden><label>Kind, gold → predicted <select>'
        f'<option value="">all</option>{options}</select></label>'
        '<label>Text <input type="search"></label><output aria-live="polite"></output></form>'
    )
    return f'<div class="mistakes">{form}\n' + "\n".join(markup) + "\n</div>"


def _reasons(pipe: Any, doc: Doc, wrong: Sequence[ComparedPart]) -> str:
    """The explanation of a component's wrong predictions in a Doc, and of the gold parts that it missed."""
    try:
        explanation = pipe.explain(doc)
    except ValueError as error:  # approximate decoding has no exact margins
        return str(error)
    places = [place for part in wrong for place in (part[:2], part.elsewhere if part.head is None else None) if place]
    findings = [f for f in explanation.findings if any(f.start < end and start < f.end for start, end in places)]
    unknown = []
    for part in wrong:
        missed = pipe.codec.parts.missed(part)
        try:
            findings += [] if missed is None else pipe.explain(doc, missed).findings
        except ValueError as error:  # a label that the component does not have
            unknown.append(f"{doc[part.start : part.end].text} → {part.gold_name}: {error}")
    findings.sort(key=lambda finding: finding.start)
    return "\n".join(filter(None, [str(replace(explanation, findings=tuple(findings)).text()), *unknown]))[:MAX_REASONS]


def drawn(doc: Doc, piece: SentenceTokens, parts: Sequence[ComparedPart], name: str) -> str:
    """Both annotations of a piece as trees, or as spans in the text.

    Args:
        parts: those to draw.
        name: of the drawing, for references in it.
    """
    draw = _tree if any(part.head is not None for part in parts) else _spans
    direction = doc.vocab.writing_system.get("direction", "ltr")
    words = [doc[token].text for token in range(piece.start, piece.end)]
    figures = []
    for side in ("gold", "predicted"):
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
    starts = [0, *accumulate(len(text) + 1 for text in texts)]
    spans: list[dict[str, Any]] = []
    for start, end, label, kind in sorted(_sides(parts, is_predicted)):
        start, end = max(0, start - first), min(end - first, len(words))
        # Entities of other tokens can share one.
        if start < end and (not spans or starts[start] >= spans[-1]["end"]):
            place = {"start": starts[start], "end": starts[end] - 1}
            spans.append({**place, "label": escape(shown(label)), "params": {"kind": kind}})
    parsed = {"text": " ".join(texts), "ents": spans, "settings": {"direction": direction}}
    return EntityRenderer(OF_SPANS).render([parsed], minify=True)


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
        distinct = {(arc["start"], arc["end"], arc["label"]) for arc in arcs}
        for start, end, label in sorted(distinct, key=lambda arc: (arc[1] - arc[0], arc)):
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
