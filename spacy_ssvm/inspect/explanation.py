"""Explanations: the best structure compared with the best one without a part, or with it, as text and on a page."""

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from html import escape
from importlib.resources import files
from itertools import accumulate, pairwise
from string import Template
from typing import Any, NamedTuple

from spacy import displacy

from ..models.named_parts import FactorFeatures, NamedPart, PartNames, ScoredSequence
from ..structures.scored import Factor, Scored

MAX_REASONS = 8
"""Reasons that a text or a page gives for each finding."""

NO_PART = "none"
"""The runner-up of a finding whose tokens have no part at all in the other structure."""

BIAS = "bias"
"""The feature that reads nothing: it tells least about a Doc, and comes last."""


@dataclass(frozen=True)
class Reason:
    """A feature, or a pair of neighbouring labels, with different weights in the best analysis and the runner-up.

    Attributes:
        token: the token where it fires; of an arc, the dependent.
        feature: its template and the values that it reads.
        label: the label there in the best analysis.
        weight: its contribution to the best analysis, which has `label` there.
        other: the label there in the runner-up.
        against: its contribution to the runner-up, which has `other` there.
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


class Comparison(NamedTuple):
    """The comparison of a finding with its runner-up, as in `Finding`."""

    runner_up: str
    reasons: tuple[Reason, ...]


NOTHING_ELSE = Comparison("", ())
"""The comparison of a finding without a runner-up."""


@dataclass(frozen=True)
class Finding:
    """A tag, an entity, a sentence start or an arc: tokens start … end − 1 and their label.

    Attributes:
        start: the first of the tokens.
        end: the token after the last one.
        label: the tag, the label of the entity or of the arc.
        margin: wᵀΦ of the best analysis with the finding less wᵀΦ of the runner-up, which is the best analysis without
            it; ∞ if there is no such analysis. It is negative if the finding is not predicted, −∞ if it is impossible.
        runner_up: the parts of the runner-up at these tokens.
        reasons: first the deciding ones, with the sign of the margin, then the ones of the other sign, the largest
            first, and the bias last; the sum of their gains is the margin.
        head: the head of an arc, where a root is its own head; None for others.
        is_predicted: whether the best analysis has it.
    """

    start: int
    end: int
    label: str
    margin: float
    head: int | None = None
    is_predicted: bool = True
    compare: Callable[[], Comparison] = field(default=lambda: NOTHING_ELSE, repr=False, compare=False)
    """Returns the comparison, which is made on request: naming features takes longer than all other steps."""

    @property
    def runner_up(self) -> str:
        return self._comparison.runner_up

    @property
    def reasons(self) -> tuple[Reason, ...]:
        return self._comparison.reasons

    @cached_property
    def _comparison(self) -> Comparison:
        return self.compare()

    def __reduce__(self) -> tuple[Any, ...]:
        fixed = partial(Comparison, *self._comparison)
        return Finding, (self.start, self.end, self.label, self.margin, self.head, self.is_predicted, fixed)

    def title(self, words: Sequence[str]) -> str:
        """The text of the tokens and the label.

        Args:
            words: the words of the Doc.
        """
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
    """The findings of a component in a Doc.

    Attributes:
        words: the words of the Doc.
        findings: one for each part of the best analysis, or the one that was asked for.
    """

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
        words, findings = self.words, self.findings
        if any(finding.head is not None for finding in findings):
            drawn = displacy.render(_sentences(words, findings), "dep", jupyter=False, options=OF_ARCS, manual=True)
        else:
            drawn = displacy.render(_spans(words, findings), "ent", jupyter=False, manual=True)
        sections = [_section(words, number, finding, max_reasons) for number, finding in enumerate(findings, 1)]
        page = Template((files(__package__) / "static" / "explanation.html").read_text("utf8"))
        return page.substitute(drawn=drawn, sections="\n".join(sections))


def explain(
    words: Sequence[str],
    sequences: Sequence[tuple[ScoredSequence, FactorFeatures[Any]]],
    names: PartNames,
    asked: NamedPart | None = None,
) -> Explanation:
    """Explain each part of the best structure of a Doc, or one part, whether the best structure has it or not.

    Args:
        words: the words of the Doc.
        sequences: the Doc or its sentences, in order, with the features of each.
        names: the component's names of parts.
        asked: the part to explain.

    Raises:
        ValueError: the component does not have its label.
    """
    findings: list[Finding] = []
    ends = [*(sequence.first for sequence, _ in sequences[1:]), len(words)]
    for ((first, scored), features), end in zip(sequences, ends):
        sequence = _Sequence(words, names, first, end, scored, features)
        if asked is None:
            for best in scored.best(1):
                findings += sequence.predicted(best, names.parts(best, first))
        elif first <= asked.start < end:
            findings.append(sequence.finding(asked._replace(part=names.part(asked, first))))
    return Explanation(words, tuple(findings))


def with_texts(explanation: Explanation, texts: Sequence[str], tokens: Sequence[int]) -> Explanation:
    """The explanation for a Doc of tokens with these texts; the explained words are some of them.

    Args:
        tokens: the token of each word.
    """
    return Explanation(texts, tuple(_in_tokens(finding, tokens) for finding in explanation.findings))


def _in_tokens(finding: Finding, tokens: Sequence[int]) -> Finding:
    def compare() -> Comparison:
        reasons = [replace(reason, token=tokens[reason.token]) for reason in finding.reasons]
        return Comparison(finding.runner_up, tuple(reasons))

    start, end = tokens[finding.start], tokens[finding.end - 1] + 1
    head = None if finding.head is None else tokens[finding.head]
    return replace(finding, start=start, end=end, head=head, compare=compare)


class _Sequence(NamedTuple):
    """A Doc of these words, or one of its sentences, tokens first … end − 1, with its scores and features."""

    words: Sequence[str]
    names: PartNames
    first: int
    end: int
    scored: Scored[Any, Any, Any]
    features: FactorFeatures[Any]

    def predicted(self, best: Any, parts: Sequence[NamedPart]) -> Iterator[Finding]:
        """The findings of these parts of the best structure."""
        margins = self.scored.margins_of(best, [part.part for part in parts])
        for part, margin in zip(parts, margins):
            yield Finding(*part[:3], margin, part.head, compare=partial(self.without, part, best))

    def finding(self, part: NamedPart) -> Finding:
        """The finding of a part, which need not be in the best structure, and is not if every one is ruled out."""
        margin, compare = -math.inf, lambda: NOTHING_ELSE
        for best in self.scored.best(1):
            if part.part in [found.part for found in self.names.parts(best, self.first)]:
                return next(self.predicted(best, [part]))
            is_inside = part.end <= self.end and (part.head is None or self.first <= part.head < self.end)
            with_part = self.scored.best_with(part.part) if is_inside else None
            if with_part is not None:
                # The same sum in another order may differ by rounding.
                margin = min(0.0, with_part.score - best.score)
                compare = partial(self.compared, part, with_part, best, False)
        return Finding(*part[:3], margin, part.head, False, compare)

    def without(self, part: NamedPart, best: Any) -> Comparison:
        """The comparison of the best structure with the best one without a part of it."""
        other = self.scored.best_without(best, part.part)
        return NOTHING_ELSE if other is None else self.compared(part, best, other, True)

    def compared(self, part: NamedPart, with_part: Any, other: Any, is_predicted: bool) -> Comparison:
        """The comparison of the best structure with a part and the best one without it: the parts of the runner-up that
        share tokens with the part, and the features with different weights.

        Args:
            is_predicted: whether the first structure is the better one; then reasons for it come first, else reasons
                against it.
        """
        phrases = []
        for found in self.names.parts(other, self.first):
            if found.start < part.end and found.end > part.start:
                same = (found.start, found.end) == (part.start, part.end)
                of = "" if same else f" for {' '.join(self.words[found.start : found.end])}"
                phrases.append(f"{found.phrase(self.words)}{of}")

        def order(reason: Reason) -> tuple[bool, bool, float]:
            decides = reason.gain > 0 if is_predicted else reason.gain < 0
            return reason.feature == BIAS, not decides, -abs(reason.gain)

        reasons = sorted(self._reasons((with_part, other)), key=order)
        return Comparison(" and ".join(phrases) or NO_PART, tuple(reasons))

    def _reasons(self, pair: tuple[Any, Any]) -> Iterator[Reason]:
        """The features with different weights in two structures."""
        factors = [self.scored.factors(structure) for structure in pair]
        contributions: dict[tuple[int, str], _Contribution] = {}
        for side, own in enumerate(factors):
            shared = set(factors[1 - side])
            for factor in own:
                if factor in shared:
                    continue
                for name, weight in self.features.features(factor):
                    feature = contributions.setdefault(
                        (factor.token, name), _Contribution(factor, [0.0, 0.0], [None, None])
                    )
                    feature.weights[side] += weight
                    feature.labels[side] = factor.labels

        @cache
        def texts(factor: Factor) -> list[str]:
            return [self.features.text(structure, factor) for structure in pair]

        for (token, name), (factor, (weight, against), labels) in contributions.items():
            # The same feature of the same labels can fire in different factors.
            if weight != against or labels[0] != labels[1]:
                label, instead = texts(factor)
                yield Reason(self.first + token, name, label, weight, instead, against)


class _Contribution(NamedTuple):
    """A feature of a token: a factor in which it fires, and, for the best structure and the other one, its summed
    weight and its labels."""

    factor: Any
    weights: list[float]
    labels: list[tuple[int, ...] | None]


OF_ARCS = {"distance": 140}
"""displaCy's options for trees: fewer pixels between words than its default of 175."""


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
    numbers = {finding.start: f'<a href="#{number}">{number}</a>' for number, finding in enumerate(findings, 1)}
    drawn = [{"text": word, "tag": numbers.get(token, "")} for token, word in enumerate(words)]
    arcs: list[list[dict[str, Any]]] = [[] for _ in ends]
    for (left, right), finding in zip(places, findings):
        number = bisect_right(ends, left)
        if left < right:
            first = ends[number - 1] if number else 0
            side = "left" if finding.start == left else "right"
            arc = {"start": left - first, "end": right - first, "label": escape(finding.label), "dir": side}
            arcs[number].append(arc)
    for of_sentence, (first, end) in zip(arcs, pairwise([0, *ends])):
        yield {"words": drawn[first:end], "arcs": of_sentence}


def _section(words: Sequence[str], number: int, finding: Finding, max_reasons: int) -> str:
    rows = [
        f"<tr><td>{reason.gain:+.2f}</td><td>{escape(words[reason.token])}</td>"
        f"<td>{escape(reason.feature)}</td><td>{escape(reason.label)} {reason.weight:+.2f}</td>"
        f"<td>{escape(reason.other)} {reason.against:+.2f}</td></tr>"
        for reason in finding.reasons[:max_reasons]
    ]
    left = finding.reasons[max_reasons:]
    more = f"<p>{len(left)} more reasons, {sum(r.gain for r in left):+.2f} in all</p>" if left else ""
    title, ahead = escape(finding.title(words)), escape(finding.ahead)
    header = "<tr><th>gain</th><th>at</th><th>feature</th><th>best</th><th>runner-up</th></tr>"
    heading = f'<h2 id="{number}">{number}. {title} <span>{ahead}</span></h2>'
    return f"{heading}\n<table>{header}{''.join(rows)}</table>\n{more}"
