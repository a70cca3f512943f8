"""Explanations of trees: what tells the best one of a sentence from the best one without an arc or its label."""

from collections.abc import Iterator, Sequence

import numpy as np
from spacy.tokens import Doc

from ..features.arc_extractor import ArcExtractor
from ..features.arc_hashing import read_sentence
from ..features.arc_names import Place, arc_feature_name
from ..features.names import Source
from ..models.tree.data import Trees
from ..models.tree.factors import Piece, fired, pieces
from ..structures.tree.potentials import LabelledTree, Potentials, best_without, k_best
from .explanation import Explanation, Finding, Reason, arc_phrase
from .tree_analyses import Terms

OF_LABELS = "label by "
"""What is put before the name of a feature that is of an arc's label, as the arc itself may have the same."""


def explain(
    doc: Doc,
    trees: Trees,
    scored: Sequence[Potentials],
    weights: np.ndarray,
    extractor: ArcExtractor,
    names: Sequence[str],
) -> Explanation:
    """Explain the arcs of the best trees of a Doc's sentences.

    trees: these sentences. scored: their scores. weights: float32 [d]. names: of the weight labels.
    """
    source = Source(doc, extractor.reader.attributes, trees.columns.keys, extractor.clusters)
    words = [token.text for token in doc]
    findings: list[Finding] = []
    for sentence, given in enumerate(scored):
        reasons = _Reasons(trees, sentence, weights, extractor, source, names)
        for best in k_best(given, 1):
            for place in range(len(best.heads)):
                token, head, label = reasons.arc(best, place)
                other = best_without(given, best, place)
                if other is None:
                    findings.append(Finding(token, token + 1, label, np.inf, "", (), head))
                    continue
                findings.append(
                    Finding(
                        token,
                        token + 1,
                        label,
                        max(0.0, best.score - other.score),
                        arc_phrase(words, *reasons.arc(other, place)),
                        reasons.between(best, other),
                        head,
                    )
                )
    return Explanation(words, tuple(findings))


class _Reasons:
    """What the features of a sentence add to its trees."""

    def __init__(
        self,
        trees: Trees,
        sentence: int,
        weights: np.ndarray,
        extractor: ArcExtractor,
        source: Source,
        names: Sequence[str],
    ) -> None:
        self._trees = trees
        self._weights = weights
        self._templates = extractor.templates
        self._source = source
        self._read = read_sentence(trees.columns, trees.program, sentence)
        self._first, self._end = trees.columns.starts[sentence : sentence + 2].tolist()
        self._terms = Terms(self._first, names)
        self._words = [token.text for token in source.doc]
        self._known: dict[Piece, list[tuple[str, float]]] = {}

    def arc(self, tree: LabelledTree, place: int) -> tuple[int, int, str]:
        """Token, head and label of an arc of a tree; place: of the token in the sentence, from 0 on."""
        head, label = int(tree.heads[place]), int(tree.labels[place])
        return self._first + place, self._terms.head(head, place + 1), self._terms.label(head, label)

    def between(self, best: LabelledTree, other: LabelledTree) -> tuple[Reason, ...]:
        """The features that tell the best tree from another, largest gains first."""
        mine, theirs = (pieces(tree, self._trees.shape) for tree in (best, other))
        added: dict[tuple[int, str], list[float]] = {}
        for side, those in enumerate((mine - theirs, theirs - mine)):
            for piece in sorted(those):
                for feature, weight in self._features(piece):
                    added.setdefault((piece.modifier - 1, feature), [0.0, 0.0])[side] += weight
        said = [self._said(best), self._said(other)]
        reasons = [
            Reason(self._first + place, feature, said[0][place], weight, said[1][place], against)
            for (place, feature), (weight, against) in added.items()
            if weight != against
        ]
        return tuple(sorted(reasons, key=lambda reason: -abs(reason.gain)))

    def _said(self, tree: LabelledTree) -> list[str]:
        return [arc_phrase(self._words, *self.arc(tree, place)) for place in range(len(tree.heads))]

    def _features(self, piece: Piece) -> list[tuple[str, float]]:
        if piece not in self._known:
            self._known[piece] = list(self._named(piece))
        return self._known[piece]

    def _named(self, piece: Piece) -> Iterator[tuple[str, float]]:
        words = {"head": piece.head, "mod": piece.modifier, "sib": piece.third, "grand": piece.third}
        for feature in fired(self._trees, self._read, self._weights, piece):
            place = Place(self._first, self._end, words, feature.between, feature.distance)
            name = arc_feature_name(self._templates[feature.template], self._source, place)
            yield OF_LABELS * (piece.kind == "label") + name, feature.added
