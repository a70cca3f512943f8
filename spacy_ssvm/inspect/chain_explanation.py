"""Explanations of label sequences: what tells the best one from the best one without a tag or an entity."""

from collections.abc import Callable, Sequence

import numpy as np
from spacy.tokens import Doc

from ..features.hashing import Columns
from ..features.names import Source, feature_name
from ..models.chain.predictor import ChainDecoder
from ..structures.chain.potentials import Lattice, Potentials, best_of_others, best_through, k_best, max_lattice
from .explanation import Explanation, Finding, Reason

Parts = Callable[[np.ndarray], list[tuple[int, int, str]]]
"""What labels, int32 [tokens], say: first token, token behind and label of each finding."""


def explain(
    doc: Doc, decoder: ChainDecoder, columns: Columns, potentials: Potentials, names: Sequence[str], parts: Parts
) -> Explanation:
    """Explain what `parts` makes of the best labels of a Doc.

    columns, potentials: of this Doc alone. names: of the weight labels.
    """
    words = [token.text for token in doc]
    if not words:
        return Explanation(words, ())
    lattice = max_lattice(potentials)
    best = k_best(potentials, 1)[0][0]
    others, through = best_of_others(lattice.through()), lattice.through()
    reasons = _Reasons(doc, decoder, columns, lattice, names, best)
    findings = []
    for first, end, label in parts(best):
        place = np.arange(first, end)
        token = first + int(np.argmax(others[place, best[place]]))
        if others[token, best[token]] == -np.inf:
            findings.append(Finding(first, end, label, np.inf, "", ()))
            continue
        found = through[token].copy()
        found[best[token]] = -np.inf
        runner_up = best_through(lattice, token, int(found.argmax()), best)
        instead = [
            f"{other} for {' '.join(words[other_start:other_end])}"
            if (other_start, other_end) != (first, end)
            else other
            for other_start, other_end, other in parts(runner_up)
            if other_start < end and other_end > first
        ]
        ahead = max(0.0, -float(others[token, best[token]]))
        findings.append(Finding(first, end, label, ahead, " and ".join(instead) or "none", reasons.between(runner_up)))
    return Explanation(words, tuple(findings))


class _Reasons:
    """What the features of a Doc add to its best labels."""

    def __init__(
        self,
        doc: Doc,
        decoder: ChainDecoder,
        columns: Columns,
        lattice: Lattice,
        names: Sequence[str],
        best: np.ndarray,
    ) -> None:
        self._transitions = lattice.potentials.transitions
        self._names = names
        self._best = best
        extractor = decoder.extractor
        source = Source(doc, extractor.reader.attributes, columns.keys, extractor.clusters)
        self._features = [
            [(feature_name(extractor.templates[number], source, token), added) for number, added in features]
            for token, features in enumerate(decoder.contributions(columns))
        ]

    def between(self, other: np.ndarray) -> tuple[Reason, ...]:
        """Those that tell the best labels from others, int32 [tokens], largest gains first."""
        found, names = [], self._names
        for token in range(len(other)):
            here, there = int(self._best[token]), int(other[token])
            if here != there:
                for feature, added in self._features[token]:
                    weight, against = float(added[here]), float(added[there])
                    if weight != 0 or against != 0:
                        found.append(Reason(token, feature, names[here], weight, names[there], against))
            if token and (here != there or self._best[token - 1] != other[token - 1]):
                before, before_there = int(self._best[token - 1]), int(other[token - 1])
                found.append(
                    Reason(
                        token,
                        "label before",
                        f"{names[before]} {names[here]}",
                        float(self._transitions[before, here]),
                        f"{names[before_there]} {names[there]}",
                        float(self._transitions[before_there, there]),
                    )
                )
        return tuple(sorted(found, key=lambda reason: -abs(reason.gain)))
