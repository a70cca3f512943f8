"""Answers about Docs from a component's present weights: structures, scores, k best, explanations, suggestions."""

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar, cast, overload

from spacy.tokens import Doc
from spacy.training import Example

from ..inspect.confidence import best_analyses, checked_count, checked_min_score, scored_parts
from ..inspect.explanation import Explanation, explain, with_texts
from ..inspect.suggestion import Suggestion, ranked, unsure_words
from ..models.named_parts import NamedPart, ScoredSequence
from ..models.protocol import Predictor, ScoringPredictor
from ..structures import Contradiction
from ..structures.scored import Listing
from ..training.calibration import CalibrationExample
from ..wording import token_name
from ..words import WhitespaceTokens, in_tokens, origin_of, tokens_of, words_of
from .codec import Codec, named_parts
from .complaints import Warnings, unset_annotation

P = ParamSpec("P")
Answer = TypeVar("Answer")
SUGGESTED_TOGETHER = 128
"""The number of Docs whose features `suggest` reads at a time."""
SMALLEST_DOUBTFUL_PROBABILITY = 1e-4
"""`suggest` neglects parts with smaller probabilities: their entropy is below 0.0015 bits."""

ScoredParts = Iterable[tuple[NamedPart, float]]
"""The parts of a Doc, with their scores."""


class OfWords(NamedTuple):
    """A prediction for a Doc with whitespace tokens. words: the Doc of its words, which the prediction is about."""

    words: Doc
    prediction: Any


@dataclass(frozen=True)
class Asking:
    """Answers about Docs by the present weights of a component. All annotation of the Docs acts as a constraint.

    Docs are read without whitespace tokens; answers number the tokens of the original Docs.

    Attributes:
        codec: names the parts of answers.
        predictor: returns a predictor with the present weights.
        beta: β of the distribution P(y) ∝ exp(β · wᵀΦ(x, y)); None if there is none, and scores are margins.
        reads: annotation that features have learnt from.
        warn: issues the component's warnings.
    """

    codec: Codec
    predictor: Callable[[], Predictor]
    beta: float | None
    reads: Sequence[str]
    warn: Warnings

    def prepared(self, docs: Sequence[Doc]) -> Callable[[], Sequence[Any]]:
        """Read the Docs; returns a function that predicts their structures, in any thread: `OfWords` for Docs with
        whitespace tokens."""
        words, predict = self._read(docs, self.predictor())

        def named() -> Sequence[Any]:
            with self._naming(words):
                predictions = predict()
            if words is docs:
                return predictions
            found = zip(docs, words, predictions)
            return [other if own is doc else OfWords(own, other) for doc, own, other in found]

        return named

    def kbest(self, docs: Sequence[Doc], k: int) -> list[list[tuple[float, list[Any]]]]:
        """For each Doc its k best analyses, best first: their scores, and their parts as the codec names them."""
        names, count = named_parts(self.codec), checked_count(self.codec.name, k)
        words, of_docs = self._sequences(docs)
        found = [(doc, best_analyses(sequences, names, count)) for doc, sequences in zip(words, of_docs)]
        return [
            [(score, [names.item(_in_tokens(doc, part)) for part in parts]) for score, parts in analyses]
            for doc, analyses in found
        ]

    def scored(
        self, docs: Sequence[Doc], min_score: float | None, listing: Listing | None = None
    ) -> Iterator[ScoredParts]:
        """For each Doc the parts that score at least `min_score`, and their scores; listing: by default the codec's."""
        for words, parts in self._scored_words(docs, min_score, listing):
            yield ((_in_tokens(words, part), score) for part, score in parts)

    def _scored_words(
        self, docs: Sequence[Doc], min_score: float | None, listing: Listing | None = None
    ) -> Iterator[tuple[Doc, ScoredParts]]:
        """The Doc of each Doc's words, and what `scored` lists, by words."""
        smallest = checked_min_score(self.codec.name, min_score, self.beta is not None)
        names = named_parts(self.codec)
        listing = listing or names.listing
        for words, sequences in zip(*self._sequences(docs)):
            yield words, scored_parts(sequences, names, listing, self.beta, smallest)

    def part_of(self, doc: Doc, of: Any) -> NamedPart:
        """The part of a Doc that an explanation is asked for.

        Raises:
            ValueError: it is none.
        """
        names = named_parts(self.codec)
        try:
            part = names.from_query(of)
            start, end = operator.index(part.start), operator.index(part.end)
            is_part = 0 <= start < end <= len(doc) and isinstance(part.label, str)
        except (TypeError, ValueError):
            is_part = False
        if not is_part or not 0 <= (start if part.head is None else part.head) < len(doc):
            raise ValueError(
                f"[{self.codec.name}] explains {names.query_form}, in a Doc of {len(doc):,} tokens, not {of!r}"
            )
        return part

    def explain(self, doc: Doc, part: NamedPart | None) -> Explanation:
        """The reasons why the parts of a Doc are predicted, or why the given one is, or is not."""
        names, scoring = named_parts(self.codec), self._scoring()
        (words,), sequences = self._read([doc], lambda docs: scoring.explained(docs[0]))
        try:
            asked = None if part is None else self._in_words(words, part)
            explanation = explain([word.text for word in words], sequences, names, asked)
        except ValueError as error:
            raise ValueError(f"[{self.codec.name}] {error}") from None
        tokens = tokens_of(words)
        if tokens is None:
            return explanation
        return with_texts(explanation, [token.text for token in origin_of(words)], tokens.tolist())

    def suggest(self, docs: Sequence[Doc]) -> Iterator[Suggestion]:
        """Rank Docs for annotation, the most useful first."""
        are_probabilities = self.beta is not None
        names = named_parts(self.codec)
        smallest = SMALLEST_DOUBTFUL_PROBABILITY if are_probabilities else names.smallest_doubtful_margin
        texts, lengths = [], []
        for first in range(0, len(docs), SUGGESTED_TOGETHER):
            for doc, parts in self._scored_words(docs[first : first + SUGGESTED_TOGETHER], smallest):
                words = [token.lower_ for token in doc]
                texts.append(unsure_words(words, parts, are_probabilities))
                lengths.append(len(doc))
        return ranked(texts, lengths)

    def calibration_examples(self, docs: Sequence[Doc], examples: Sequence[Example]) -> list[CalibrationExample]:
        """The sequences of these Docs with their scores, and with the known gold annotation of their examples.

        Both are without whitespace tokens.
        """
        parts, found = named_parts(self.codec), []
        for example, sequences in zip(examples, self._sequences(docs)[1]):
            starts = [sequence.first for sequence in sequences]
            known = parts.known(example, list(zip(starts, [*starts[1:], len(example.predicted)])))
            found += [
                CalibrationExample(sequence.scored, gold, parts.listing) for sequence, gold in zip(sequences, known)
            ]
        return found

    def _sequences(self, docs: Sequence[Doc]) -> tuple[Sequence[Doc], list[list[ScoredSequence]]]:
        """The Docs of the words of Docs, and for each its sequences, with the scores of all their structures."""
        return self._read(docs, self._scoring().scored)

    def _read(self, docs: Sequence[Doc], read: Callable[[Sequence[Doc]], Answer]) -> tuple[Sequence[Doc], Answer]:
        """The Docs of the words of Docs, and a predictor's answers about them.

        Warns once of Docs that lack annotation which features have learnt from, or boundaries.
        """
        self.warn.once("annotation", unset_annotation(self.reads, docs))
        complaint = self.codec.complaint([doc for doc in docs if len(doc)])
        self.warn.once("codec", complaint and f"{complaint} (this is said once)")
        try:
            with self._naming(docs):
                return docs, read(docs)
        except WhitespaceTokens:
            words = [words_of(doc) for doc in docs]
        with self._naming(words):
            return words, read(words)

    def _in_words(self, words: Doc, part: NamedPart) -> NamedPart:
        """A part of the Doc that a Doc of words comes from, by words.

        Raises:
            ValueError: it is whitespace, or begins, ends or has a head there.
        """
        tokens = tokens_of(words)
        if tokens is None:
            return part
        numbers = {token: word for word, token in enumerate(tokens.tolist())}
        named = [part.start, part.end - 1, part.start if part.head is None else part.head]
        for token in named:
            if token not in numbers:
                raise ValueError(f"token {token} is whitespace, which has no annotation of its own to explain")
        start, last, head = (numbers[token] for token in named)
        return part._replace(start=start, end=last + 1, head=None if part.head is None else head)

    def _scoring(self) -> ScoringPredictor:
        predictor = self.predictor()
        if not isinstance(predictor, ScoringPredictor):
            raise ValueError(f"[{self.codec.name}] its model only predicts: it has no scores of other structures")
        return predictor

    @contextmanager
    def _naming(self, docs: Sequence[Doc]) -> Iterator[None]:
        """Name the token of a Contradiction."""
        try:
            yield
        except Contradiction as error:
            raise ValueError(f"[{self.codec.name}] {token_name(docs, error.token)}: {error.reason}") from None


def _in_tokens(words: Doc, part: NamedPart) -> NamedPart:
    """A part of a Doc of words, by tokens of the Doc that they come from."""
    start, end, head = in_tokens(words, part.start, part.end, part.head)
    return part._replace(start=start, end=end, head=head)


class AskedOfDocs(Protocol[P, Answer]):
    """A function that answers about a Doc, or gives the list of answers about Docs."""

    @overload
    def __call__(self, docs: Doc, *args: P.args, **kwargs: P.kwargs) -> Answer: ...

    @overload
    def __call__(self, docs: Iterable[Doc], *args: P.args, **kwargs: P.kwargs) -> list[Answer]: ...


class MethodOfDocs(Protocol[P, Answer]):
    """A method of a component that answers as `AskedOfDocs`."""

    def __get__(self, pipe: Any, owner: Any = None) -> AskedOfDocs[P, Answer]: ...


def of_docs(ask: Callable[Concatenate[Any, Sequence[Doc], P], Iterable[Answer]]) -> MethodOfDocs[P, Answer]:
    """A method that takes a Doc, or an iterable of Docs, and returns the answer about it, or the list of answers.

    Args:
        ask: the method for a sequence of Docs without the component's own annotation, as its `_without_own` returns
            them.
    """

    @wraps(ask)
    def asked(self: Any, docs: Doc | Iterable[Doc], *args: P.args, **kwargs: P.kwargs) -> Any:
        answers = list(ask(self, self._without_own(docs), *args, **kwargs))
        return answers[0] if isinstance(docs, Doc) else answers

    return cast(MethodOfDocs[P, Answer], asked)


def as_docs(docs: Doc | Iterable[Doc]) -> list[Doc]:
    """These Docs as a list; a single Doc counts as one, as for spaCy's components."""
    return [docs] if isinstance(docs, Doc) else list(docs)


def checked_docs(name: str, docs: Any) -> list[Doc]:
    """These Docs, or this single one. name: of the component, for messages.

    Raises:
        TypeError: these are no Docs.
    """
    asked = as_docs(docs)
    for doc in asked:
        if not isinstance(doc, Doc):
            raise TypeError(f"[{name}] asks for a Doc, or for an iterable of Docs, not for {docs!r}")
    return asked
