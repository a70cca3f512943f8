"""Counts from which a pipeline's scores are computed, for each document; the counts of a sample are sums of these."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from spacy.language import Language
from spacy.scorer import Scorer
from spacy.tokens import Token
from spacy.training import Example

from ..pipeline.parser_scores import count
from ..words import example_of_words

Counts = tuple[int, int]
"""Twice the number of right predictions, and the number of predictions and of gold parts, in one or all documents.

Their ratio is F1, or, where there is one prediction for each gold part, accuracy.
"""


class CountingScorer(Scorer):
    """spaCy's scorer, which also counts, document by document.

    Args:
        names: the scores to count for.

    Attributes:
        counts: float64 [documents, scores, 2], `Counts`; None if one of the scores is not a ratio of such counts.
    """

    def __init__(self, nlp: Language, names: Iterable[str]) -> None:
        super().__init__(nlp)
        self._names = list(names)
        self.counts: np.ndarray | None = None

    def score(self, examples: Iterable[Example], **settings: Any) -> dict[str, Any]:
        examples = list(examples)
        if all(name in COUNTS for name in self._names):
            of_words = map(example_of_words, examples)
            self.counts = np.array([[COUNTS[name](example) for name in self._names] for example in of_words], float)
        return super().score(examples, **settings)


def _counted(predicted: set[Any], gold: set[Any]) -> Counts:
    return 2 * len(predicted & gold), len(predicted) + len(gold)


def _morph(token: Token) -> int:
    morph: Any = token.morph  # spaCy's types lack its key.
    return int(morph.key)


def _tokens(value_of: Callable[[Token], int]) -> Callable[[Example], Counts]:
    """value_of: spaCy's number of the scored annotation, 0 where unknown."""

    def counts(example: Example) -> Counts:
        to_gold = example.alignment.x2y
        gold = {token.i: value_of(token) for token in example.reference if value_of(token)}
        single = [token for token in example.predicted if to_gold.lengths[token.i] == 1]
        predicted = {(int(to_gold[token.i][0]), value_of(token)) for token in single}
        return _counted({part for part in predicted if part[0] in gold}, set(gold.items()))

    return counts


def _entities(example: Example) -> Counts:
    reference, to_gold = example.reference, example.alignment.x2y
    if not reference.has_annotation("ENT_IOB"):
        return 0, 0
    places = [(entity.label_, to_gold[entity.start : entity.end]) for entity in example.predicted.ents]
    spans = [(label, int(place[0]), int(place[-1]) + 1) for label, place in places if len(place)]
    known = [span for span in spans if all(token.ent_iob for token in reference[span[1] : span[2]])]
    gold = {(entity.label_, entity.start, entity.end) for entity in reference.ents}
    # Of several entities in the place of one, only the first is right.
    return 2 * len(gold.intersection(known)), len(known) + len(gold)


def _sentences(example: Example) -> Counts:
    if not example.reference.has_annotation("SENT_START"):
        return 0, 0
    found = example.predicted.sents if example.predicted.has_annotation("SENT_START") else ()
    aligned = example.get_aligned_spans_x2y(found)
    gold = {(sentence.start, sentence.end) for sentence in example.reference.sents}
    return _counted({(sentence.start, sentence.end) for sentence in aligned}, gold)


def _arcs(part: str) -> Callable[[Example], Counts]:
    def counts(example: Example) -> Counts:
        found = count(example)
        return 2 * int(getattr(found, part)), found.gold + found.predicted

    return counts


COUNTS: dict[str, Callable[[Example], Counts]] = {
    "tag_acc": _tokens(lambda token: token.tag),
    "pos_acc": _tokens(lambda token: token.pos),
    "morph_acc": _tokens(_morph),
    "lemma_acc": _tokens(lambda token: token.lemma),
    "ents_f": _entities,
    "sents_f": _sentences,
    "uas": _arcs("heads"),
    "las": _arcs("arcs"),
}
