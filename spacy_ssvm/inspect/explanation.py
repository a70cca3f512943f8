"""Why a component predicts what it does: each part of the best structure against the best structure without it."""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from ..models.scored import Factor, FactorFeatures, NamedPart, PartNames, ScoredSequence

MAX_REASONS = 8
"""Of each finding, in a text or on a page."""


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

    def title(self, words: Sequence[str]) -> str:
        """The tokens and what is found; words: of the Doc."""
        found = NamedPart(self.start, self.end, self.label, self.head)
        return f"{' '.join(words[self.start : self.end])} → {found.phrase(words)}"

    @property
    def ahead(self) -> str:
        """What the finding is ahead of, and by how much."""
        if self.margin == math.inf:
            return "nothing else is possible"
        return f"{self.margin:.2f} ahead of {self.runner_up}"


@dataclass(frozen=True)
class Explanation:
    """The findings of a component in a Doc of these words."""

    words: Sequence[str]
    findings: tuple[Finding, ...]

    def text(self, max_reasons: int = MAX_REASONS) -> str:
        """Each finding with at most so many of its reasons, a line each."""
        lines = []
        for finding in self.findings:
            lines.append(f"{finding.title(self.words)}, {finding.ahead}")
            for reason in finding.reasons[:max_reasons]:
                weights = f"{reason.label} {reason.weight:+.2f}, {reason.other} {reason.against:+.2f}"
                lines.append(f"    {reason.gain:+.2f}  {self.words[reason.token]}: {reason.feature} ({weights})")
        return "\n".join(lines)

    def html(self, max_reasons: int = MAX_REASONS) -> str:
        """A page that needs no other file: displaCy's drawing of the findings, then the reasons of each."""
        from .page import page

        return page(self.words, self.findings, max_reasons)


def explain(
    words: Sequence[str], sequences: Iterable[tuple[ScoredSequence, FactorFeatures[Any]]], names: PartNames
) -> Explanation:
    """Explain each part of the best structures of a Doc.

    words: of the Doc. sequences: the Doc or its sentences, in order, with the features of each. names: the component's.
    """
    findings = []
    for (first, scored), features in sequences:
        for best in scored.best(1):
            factors = scored.factors(best)
            for part in names.parts(best, first):
                other = scored.best_without(best, part.part)
                if other is None:
                    findings.append(Finding(part.start, part.end, part.label, math.inf, "", (), part.head))
                    continue
                margin = max(0.0, best.score - other.score)
                instead = _instead(words, part, names.parts(other, first))
                reasons = _reasons(first, features, (best, other), (factors, scored.factors(other)))
                findings.append(Finding(part.start, part.end, part.label, margin, instead, reasons, part.head))
    return Explanation(words, tuple(findings))


def _instead(words: Sequence[str], part: NamedPart, others: Iterable[NamedPart]) -> str:
    """What the runner-up has at the tokens of a part."""
    phrases = []
    for other in others:
        if other.start < part.end and other.end > part.start:
            same = (other.start, other.end) == (part.start, part.end)
            phrase = other.phrase(words)
            phrases.append(phrase if same else f"{phrase} for {' '.join(words[other.start : other.end])}")
    return " and ".join(phrases) or "none"


def _reasons(
    first: int, features: FactorFeatures[Any], pair: tuple[Any, Any], factors: tuple[Collection[Factor], ...]
) -> tuple[Reason, ...]:
    """The features that tell the best structure from another, largest gains first.

    pair: both structures. factors: of each of them.
    """
    added: dict[tuple[int, str], _Added] = {}
    for side, own in enumerate(factors):
        shared = set(factors[1 - side])
        for factor in own:
            if factor in shared:
                continue
            for name, weight in features.features(factor):
                feature = added.setdefault((factor.token, name), _Added(factor, [0.0, 0.0], [None, None]))
                feature.weights[side] += weight
                feature.labels[side] = factor.labels

    @cache
    def texts(factor: Factor) -> list[str]:
        return [features.text(y, factor) for y in pair]

    reasons = []
    for (token, name), (factor, (weight, against), labels) in added.items():
        # The same feature of the same labels can fire in different factors.
        if weight != against or labels[0] != labels[1]:
            label, instead = texts(factor)
            reasons.append(Reason(first + token, name, label, weight, instead, against))
    return tuple(sorted(reasons, key=lambda reason: -abs(reason.gain)))


class _Added(NamedTuple):
    """A feature of a token: a factor in which it fires, and what it adds to the best structure and to the other one,
    for which labels."""

    factor: Any
    weights: list[float]
    labels: list[tuple[int, ...] | None]
