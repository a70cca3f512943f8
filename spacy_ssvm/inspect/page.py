"""An explanation as a page: displaCy draws arcs or spans, each with a link to its reasons below."""

from collections.abc import Iterator, Sequence
from html import escape
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from spacy import displacy

if TYPE_CHECKING:
    from .explanation import Finding

OF_ARCS = {"distance": 140}
"""displaCy's settings for trees: pixels between words, in place of 175."""


def page(words: Sequence[str], findings: "Sequence[Finding]", max_reasons: int) -> str:
    """A page that needs no other file; findings: spans, or an arc for each word. max_reasons: of each finding."""
    has_arcs = any(finding.head is not None for finding in findings)
    if has_arcs:
        drawn = displacy.render(_sentences(words, findings), "dep", jupyter=False, options=OF_ARCS, manual=True)
    else:
        drawn = displacy.render(_spans(words, findings), "ent", jupyter=False, manual=True)
    sections = [_section(words, number, finding, max_reasons) for number, finding in enumerate(findings, 1)]
    return _PAGE.format(style=_STYLE, drawn=drawn, sections="\n".join(sections))


def _spans(words: Sequence[str], findings: "Sequence[Finding]") -> dict[str, Any]:
    """Entities, tags or starts as displaCy wants them, by characters."""
    starts = [0, *accumulate(len(word) + 1 for word in words)]
    spans = [
        {
            "start": starts[finding.start],
            "end": starts[finding.end] - 1,
            "label": escape(finding.label),
            "kb_id": str(number),
            "kb_url": f"#{number}",
        }
        for number, finding in enumerate(findings, 1)
    ]
    return {"text": " ".join(words), "ents": spans}


def _sentences(words: Sequence[str], findings: "Sequence[Finding]") -> Iterator[dict[str, Any]]:
    """The trees as displaCy wants them, one for each run of words that no arc leaves."""
    places = [sorted((finding.start, finding.start if finding.head is None else finding.head)) for finding in findings]
    reach = list(range(1, len(words) + 1))
    for left, right in places:
        reach[left] = max(reach[left], right + 1)
    ends = [token for token, end in enumerate(accumulate(reach, max), 1) if end == token]
    # displaCy escapes words, but neither tags nor labels.
    drawn = [{"text": word, "tag": f'<a href="#{number}">{number}</a>'} for number, word in enumerate(words, 1)]
    for first, end in pairwise([0, *ends]):
        arcs = [
            {
                "start": left - first,
                "end": right - first,
                "label": escape(finding.label),
                "dir": "left" if finding.start == left else "right",
            }
            for (left, right), finding in zip(places[first:end], findings[first:end])
            if left < right
        ]
        yield {"words": drawn[first:end], "arcs": arcs}


def _section(words: Sequence[str], number: int, finding: "Finding", max_reasons: int) -> str:
    rows = [
        f"<tr><td>{reason.gain:+.2f}</td><td>{escape(words[reason.token])}</td>"
        f"<td>{escape(reason.feature)}</td><td>{escape(reason.label)} {reason.weight:+.2f}</td>"
        f"<td>{escape(reason.other)} {reason.against:+.2f}</td></tr>"
        for reason in finding.reasons[:max_reasons]
    ]
    left = finding.reasons[max_reasons:]
    more = f"<p>{len(left)} more reasons, {sum(r.gain for r in left):+.2f} in all</p>" if left else ""
    return _SECTION.format(
        number=number, title=escape(finding.title(words)), ahead=escape(finding.ahead), rows="".join(rows), more=more
    )


_STYLE = """body { font-family: sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #222; }
.drawn { margin-bottom: 2rem; overflow-x: auto; }
svg { display: block; }
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
<div class="drawn">{drawn}</div>
{sections}
</body>
</html>
"""

_SECTION = """<h2 id="{number}">{number}. {title} <span>{ahead}</span></h2>
<table><tr><th>gain</th><th>at</th><th>feature</th><th>best</th><th>runner-up</th></tr>{rows}</table>
{more}"""
