"""Explanations: the best structure compared with the best one without a part, or with it, as text and on a page."""

import math
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from spacy import displacy

from ..models.scored import Factor, FactorFeatures, NamedPart, PartNames, ScoredSequence

MAX_REASONS = 8
"""Reasons that a text or a page gives for each finding."""

NO_PART = "none"
"""The runner-up of a finding whose tokens have no part at all in the other structure."""

BIAS = "bias"
"""The feature that reads nothing: it says least about a Doc, and comes last."""


@dataclass(frozen=True)
class Reason:
    """A feature, or a pair of neighbouring labels, with different weights in the best analysis and the runner-up.

    token: the token where it fires; of an arc, the dependent. weight: its contribution to the best analysis, which has
    `label` there. against: its contribution to the runner-up, which has `other` there.
    """

    token: int
    feature: str
    label: str
    weight: float
    other: str
    against: float

    @property
    def gain(self) -> float:
        """Its contribution to the margin."""
        return self.weight - self.against


@dataclass(frozen=True)
class Finding:
    """A tag, an entity, a sentence start or an arc: tokens start … end − 1 and their label.

    margin: wᵀΦ of the best analysis with the finding less wᵀΦ of the runner-up, which is the best analysis without it;
    ∞ if there is no such analysis. It is negative for what is not predicted, and −∞ for what is impossible. runner_up:
    the parts of the runner-up at these tokens. reasons: those that decide first, which have the sign of the margin,
    then those of the other sign, the largest first, and the bias last; the sum of their gains is the margin. head: the
    head of an arc, where a root is its own head; None for others. is_predicted: whether the best analysis has it.
    """

    start: int
    end: int
    label: str
    margin: float
    runner_up: str
    reasons: tuple[Reason, ...]
    head: int | None = None
    is_predicted: bool = True

    def title(self, words: Sequence[str]) -> str:
        """The text of the tokens and the label; words: the words of the Doc."""
        part = NamedPart(self.start, self.end, self.label, self.head)
        return f"{' '.join(words[self.start : self.end])} → {part.phrase(words)}"

    @property
    def ahead(self) -> str:
        """The margin and the runner-up in words."""
        if self.margin == math.inf:
            return "nothing else is possible"
        if self.margin == -math.inf:
            return "not predicted: constraints, the first pass or existing annotation rule it out"
        runner_up = "the best analysis without it" if self.runner_up == NO_PART else self.runner_up
        if self.is_predicted:
            return f"{self.margin:.2f} ahead of {runner_up}"
        return f"not predicted: {-self.margin:.2f} behind {runner_up}"


@dataclass(frozen=True)
class Explanation:
    """The findings of a component in a Doc of these words."""

    words: Sequence[str]
    findings: tuple[Finding, ...]

    def text(self, max_reasons: int = MAX_REASONS) -> str:
        """A line for each finding, followed by a line for each of its first `max_reasons` reasons."""
        lines = []
        for finding in self.findings:
            lines.append(f"{finding.title(self.words)}, {finding.ahead}")
            for reason in finding.reasons[:max_reasons]:
                weights = f"{reason.label} {reason.weight:+.2f}, {reason.other} {reason.against:+.2f}"
                lines.append(f"    {reason.gain:+.2f}  {self.words[reason.token]}: {reason.feature} ({weights})")
        return "\n".join(lines)

    def html(self, max_reasons: int = MAX_REASONS) -> str:
        """A self-contained page: displaCy's drawing of the findings, then the reasons of each."""
        return page(self.words, self.findings, max_reasons)


def explain(
    words: Sequence[str],
    sequences: Iterable[tuple[ScoredSequence, FactorFeatures[Any]]],
    names: PartNames,
    asked: NamedPart | None = None,
) -> Explanation:
    """Explain each part of the best structure of a Doc, or one part, whether the best structure has it or not.

    words: the words of the Doc. sequences: the Doc or its sentences, in order, with the features of each. names: the
    component's names of parts. asked: the part to explain.

    Raises:
        ValueError: the component does not have its label.
    """
    if asked is not None:
        return Explanation(words, _explained(words, list(sequences), names, asked))
    findings = []
    for (first, scored), features in sequences:
        for best in scored.best(1):
            factors = scored.factors(best)
            for part in names.parts(best, first):
                other = scored.best_without(best, part.part)
                without = None if other is None else (other, scored.factors(other))
                findings.append(_finding(words, part, names, first, features, (best, factors), without))
    return Explanation(words, tuple(findings))


def _explained(
    words: Sequence[str],
    sequences: Sequence[tuple[ScoredSequence, FactorFeatures[Any]]],
    names: PartNames,
    asked: NamedPart,
) -> tuple[Finding, ...]:
    """The finding of one part, which need not be in the best structure; none if every structure is ruled out."""
    starts = [sequence.first for sequence, _ in sequences]
    number = bisect_right(starts, asked.start) - 1
    (first, scored), features = sequences[number]
    end = [*starts[1:], len(words)][number]
    part = asked._replace(part=names.part(asked, first))
    impossible = Finding(*asked[:3], -math.inf, "", (), asked.head, is_predicted=False)
    for best in scored.best(1):
        if part.part in [found.part for found in names.parts(best, first)]:
            with_part, without = best, scored.best_without(best, part.part)
        else:
            is_inside = asked.end <= end and (asked.head is None or first <= asked.head < end)
            with_part, without = scored.best_with(part.part) if is_inside else None, best
        if with_part is None:
            return (impossible,)
        chosen, other = (None if y is None else (y, scored.factors(y)) for y in (with_part, without))
        return (_finding(words, part, names, first, features, chosen, other, with_part is best),)
    return (impossible,)


def _finding(
    words: Sequence[str],
    part: NamedPart,
    names: PartNames,
    first: int,
    features: FactorFeatures[Any],
    chosen: Any,
    other: Any,
    is_predicted: bool = True,
) -> Finding:
    """The best structure with a part and the best one without it, None if there is none, each with its factors."""
    if other is None:
        return Finding(*part[:3], math.inf, "", (), part.head)
    margin = chosen[0].score - other[0].score
    # The same sum in another order may differ by rounding.
    margin = max(0.0, margin) if is_predicted else min(0.0, margin)
    runner_up = _runner_up(words, part, names.parts(other[0], first))
    reasons = _reasons(first, features, (chosen[0], other[0]), (chosen[1], other[1]), is_predicted)
    return Finding(*part[:3], margin, runner_up, reasons, part.head, is_predicted)


def _runner_up(words: Sequence[str], part: NamedPart, others: Iterable[NamedPart]) -> str:
    """The parts of the runner-up, `others`, that share tokens with a part."""
    phrases = []
    for other in others:
        if other.start < part.end and other.end > part.start:
            same = (other.start, other.end) == (part.start, part.end)
            phrase = other.phrase(words)
            phrases.append(phrase if same else f"{phrase} for {' '.join(words[other.start : other.end])}")
    return " and ".join(phrases) or NO_PART


def _reasons(
    first: int,
    features: FactorFeatures[Any],
    pair: tuple[Any, Any],
    factors: tuple[Collection[Factor], ...],
    is_predicted: bool,
) -> tuple[Reason, ...]:
    """The features with different weights in the best structure with a part and in the best one without it.

    pair: both structures. factors: the factors of each. is_predicted: whether the first structure is the better one:
    whether reasons for it come first, or reasons against it.
    """
    contributions: dict[tuple[int, str], _Contribution] = {}
    for side, own in enumerate(factors):
        shared = set(factors[1 - side])
        for factor in own:
            if factor in shared:
                continue
            for name, weight in features.features(factor):
                feature = contributions.setdefault(
                    (factor.token, name), _Contribution(factor, [0.0, 0.0], [None, None])
                )
                feature.weights[side] += weight
                feature.labels[side] = factor.labels

    @cache
    def texts(factor: Factor) -> list[str]:
        return [features.text(y, factor) for y in pair]

    reasons = []
    for (token, name), (factor, (weight, against), labels) in contributions.items():
        # The same feature of the same labels can fire in different factors.
        if weight != against or labels[0] != labels[1]:
            label, instead = texts(factor)
            reasons.append(Reason(first + token, name, label, weight, instead, against))

    def order(reason: Reason) -> tuple[bool, bool, float]:
        decides = reason.gain > 0 if is_predicted else reason.gain < 0
        return reason.feature == BIAS, not decides, -abs(reason.gain)

    return tuple(sorted(reasons, key=order))


class _Contribution(NamedTuple):
    """A feature of a token: a factor in which it fires, and, for the best structure and the other one, its summed
    weight and its labels."""

    factor: Any
    weights: list[float]
    labels: list[tuple[int, ...] | None]


OF_ARCS = {"distance": 140}
"""displaCy's options for trees: fewer pixels between words than its default of 175."""


def page(words: Sequence[str], findings: Sequence[Finding], max_reasons: int) -> str:
    """A self-contained page of HTML.

    findings: spans, or an arc for each word. max_reasons: the number of reasons for each finding.
    """
    has_arcs = any(finding.head is not None for finding in findings)
    if has_arcs:
        drawn = displacy.render(_sentences(words, findings), "dep", jupyter=False, options=OF_ARCS, manual=True)
    else:
        drawn = displacy.render(_spans(words, findings), "ent", jupyter=False, manual=True)
    sections = [_section(words, number, finding, max_reasons) for number, finding in enumerate(findings, 1)]
    return _PAGE.format(style=_STYLE, drawn=drawn, sections="\n".join(sections))


def _spans(words: Sequence[str], findings: Sequence[Finding]) -> dict[str, Any]:
    """Entities, tags or starts in displaCy's format, by characters."""
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


def _sentences(words: Sequence[str], findings: Sequence[Finding]) -> Iterator[dict[str, Any]]:
    """Trees in displaCy's format, one for each run of words that no arc leaves."""
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


def _section(words: Sequence[str], number: int, finding: Finding, max_reasons: int) -> str:
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
