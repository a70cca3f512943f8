"""Components with a label for each token: what tagger, morphologizer and lemmatizer share."""

from collections.abc import Iterable, Sequence
from typing import Any, overload

from spacy.tokens import Doc

from .chain_component import ChainComponent


class TagComponent(ChainComponent):
    """A component that gives each token a tag."""

    @overload
    def scored_tags(self, docs: Doc, min_score: float | None = None) -> dict[tuple[int, str], float]: ...

    @overload
    def scored_tags(
        self, docs: Iterable[Doc], min_score: float | None = None
    ) -> list[dict[tuple[int, str], float]]: ...

    def scored_tags(self, docs: Doc | Iterable[Doc], min_score: float | None = None) -> Any:
        """The score of each (token, tag) of a Doc, a probability or, without `has_probabilities`, a margin.

        docs: a Doc, or Docs, for which the result is a list. min_score: the smallest score that is listed; by default a
        probability of 0.01 or a margin of 0.

        Raises:
            TypeError: `docs` are no Docs.
            ValueError: `min_score` is no such score, or the component has no labels yet.
        """

        def ask(asked: Sequence[Doc]) -> list[dict[tuple[int, str], float]]:
            found = self._scored(asked, min_score)
            return [{(part.start, part.label): score for part, score in of_doc} for of_doc in found]

        return self._in_kind(docs, ask)
