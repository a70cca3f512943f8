"""Why a component has found what it has found, as data, as text and as a page."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from .arc_drawing import Arc, drawing

MAX_REASONS = 8
"""Of each finding, in a text or on a page."""

LINK = "f"
"""What the anchors of findings begin with, before their number."""


@dataclass(frozen=True)
class Reason:
    """A feature, or a pair of neighbouring labels, that tells the best analysis from the runner-up.

    token: where it fires; of an arc, the one that has the head. weight: what it adds to the best analysis, which has
    `label` there; against: what it adds to the runner-up, which has `other`.
    """

    token: int
    feature: str
    label: str
    weight: float
    other: str
    against: float

    @property
    def gain(self) -> float:
        """By how much it puts the best analysis ahead."""
        return self.weight - self.against


@dataclass(frozen=True)
class Finding:
    """A tag, an entity, a sentence start or an arc: tokens start … end − 1 and their label.

    margin: by how much wᵀΦ of the best analysis is ahead of that of the runner-up, the best one without the finding; ∞
    where there is none. runner_up: what that has in its place. reasons: the largest gains first, of either sign; their
    sum is the margin. head: of an arc, where a root is its own head; None for others.
    """

    start: int
    end: int
    label: str
    margin: float
    runner_up: str
    reasons: tuple[Reason, ...]
    head: int | None = None


def arc_phrase(words: Sequence[str], token: int, head: int, label: str) -> str:
    """An arc as a text says it; a root is its own head."""
    return label if head == token else f"{label} of {words[head]}"


@dataclass(frozen=True)
class Explanation:
    """The findings of a component in a Doc of these words."""

    words: Sequence[str]
    findings: tuple[Finding, ...]

    def text(self, max_reasons: int = MAX_REASONS) -> str:
        """Each finding with at most so many of its reasons, a line each."""
        lines = []
        for finding in self.findings:
            lines.append(f"{self._phrase(finding)} → {self._said(finding)}, {_ahead(finding)}")
            for reason in finding.reasons[:max_reasons]:
                weights = f"{reason.label} {reason.weight:+.2f}, {reason.other} {reason.against:+.2f}"
                lines.append(f"    {reason.gain:+.2f}  {self.words[reason.token]}: {reason.feature} ({weights})")
        return "\n".join(lines)

    def html(self, max_reasons: int = MAX_REASONS) -> str:
        """A page that needs no other file: the words with the findings marked, then each finding's reasons."""
        sections = [self._section(number, finding, max_reasons) for number, finding in enumerate(self.findings)]
        arcs = [
            Arc(finding.start, finding.head, finding.label) for finding in self.findings if finding.head is not None
        ]
        words = drawing(self.words, arcs, LINK) if arcs else self._marked()
        return _PAGE.format(style=_STYLE, words=words, sections="\n".join(sections))

    def _phrase(self, finding: Finding) -> str:
        return " ".join(self.words[finding.start : finding.end])

    def _said(self, finding: Finding) -> str:
        if finding.head is None:
            return finding.label
        return arc_phrase(self.words, finding.start, finding.head, finding.label)

    def _marked(self) -> str:
        parts, at = [], 0
        for number, finding in enumerate(self.findings):
            parts += [escape(word) for word in self.words[at : finding.start]]
            mark = f'{escape(self._phrase(finding))} <a href="#{LINK}{number}">{escape(finding.label)}</a>'
            parts.append(f"<mark>{mark}</mark>")
            at = finding.end
        return " ".join([*parts, *(escape(word) for word in self.words[at:])])

    def _section(self, number: int, finding: Finding, max_reasons: int) -> str:
        rows = [
            f"<tr><td>{reason.gain:+.2f}</td><td>{escape(self.words[reason.token])}</td>"
            f"<td>{escape(reason.feature)}</td><td>{escape(reason.label)} {reason.weight:+.2f}</td>"
            f"<td>{escape(reason.other)} {reason.against:+.2f}</td></tr>"
            for reason in finding.reasons[:max_reasons]
        ]
        left = len(finding.reasons) - len(rows)
        more = (
            f"<p>{left} more reasons, {sum(r.gain for r in finding.reasons[max_reasons:]):+.2f} in all</p>"
            if left > 0
            else ""
        )
        title = escape(f"{self._phrase(finding)} → {self._said(finding)}")
        return _SECTION.format(
            anchor=f"{LINK}{number}", title=title, ahead=escape(_ahead(finding)), rows="".join(rows), more=more
        )


def _ahead(finding: Finding) -> str:
    if finding.margin == math.inf:
        return "nothing else is possible"
    return f"{finding.margin:.2f} ahead of {finding.runner_up}"


_STYLE = """body { font-family: sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #222; }
.words { line-height: 2.4; font-size: 1.1rem; margin-bottom: 2rem; overflow-x: auto; }
svg { display: block; }
svg path { fill: none; stroke: #555; }
svg .tip { fill: #555; stroke: none; }
svg text { text-anchor: middle; font-size: 13px; font-weight: bold; fill: #134; stroke: #fff; stroke-width: 4px;
  paint-order: stroke; }
svg .word { font-size: 16px; font-weight: normal; fill: #222; }
mark { background: #dde8f5; padding: 0.3em 0.4em; border-radius: 0.35em; }
mark a { font-size: 0.7em; font-weight: bold; text-decoration: none; color: #134; vertical-align: middle; }
h2 { font-size: 1rem; margin: 1.6rem 0 0.3rem; }
h2 span { font-weight: normal; color: #555; }
table { border-collapse: collapse; font-size: 0.9rem; }
td, th { text-align: left; padding: 0.15rem 0.8rem 0.15rem 0; border-bottom: 1px solid #eee; vertical-align: top; }
td:first-child { font-variant-numeric: tabular-nums; text-align: right; }
p { color: #555; font-size: 0.85rem; margin: 0.3rem 0; }"""

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Explanation</title><style>
{style}
</style></head>
<body>
<div class="words">{words}</div>
{sections}
</body>
</html>
"""

_SECTION = """<h2 id="{anchor}">{title} <span>{ahead}</span></h2>
<table><tr><th>gain</th><th>at</th><th>feature</th><th>best</th><th>runner-up</th></tr>{rows}</table>
{more}"""
