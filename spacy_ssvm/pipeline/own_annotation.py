"""A record of a component's annotation of Docs, so that its own annotation does not constrain its answers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast
from weakref import WeakKeyDictionary

import numpy as np
from spacy.attrs import ENT_IOB, SENT_START
from spacy.tokens import Doc

from ..words import copy_of
from .codec import Codec, Given, values_of
from .entities import IOB_BEGIN, IOB_INSIDE, IOB_OUTSIDE

Predict = Callable[[Sequence[Doc]], Sequence[Any]]


class Prediction(NamedTuple):
    """A prediction that was written to a Doc.

    Attributes:
        n_words: of the Doc then.
        given: the annotation found there.
        prediction: as written.
    """

    n_words: int
    given: Given
    prediction: Any


class OwnAnnotation:
    """The annotation that one component has written to the Docs that are still in use.

    Docs are recognised by identity, and read and written as Docs of words, `words.words_of`. Docs from a file, from
    another process or from `Doc.copy` are unknown. If all words of an unknown Doc are annotated, annotation that the
    component would write to the bare Doc counts as its own. If only some are, the component has not processed the Doc,
    and all of its annotation counts as given.
    """

    def __init__(self) -> None:
        self._predictions: WeakKeyDictionary[Doc, Prediction] = WeakKeyDictionary()

    def given(self, codec: Codec, docs: Sequence[Doc], words: Sequence[Doc]) -> list[Given]:
        """The annotation besides its own that the component finds on these words of Docs, before it writes to them."""
        return [given_annotation(codec, doc) for doc in self.without_remembered(codec, docs, words)]

    def without_remembered(self, codec: Codec, docs: Sequence[Doc], words: Sequence[Doc]) -> list[Doc]:
        """The words; where the component has written to these very Docs, copies without that."""
        return self._without(codec, words, self._remembered(docs, words))

    def remember(
        self, docs: Sequence[Doc], words: Sequence[Doc], given: Sequence[Given], predictions: Sequence[Any]
    ) -> None:
        """Remember that these predictions were written to the words of the Docs."""
        for doc, of_doc, found, prediction in zip(docs, words, given, predictions):
            self._predictions[doc] = Prediction(len(of_doc), found, prediction)

    def without_own(self, codec: Codec, docs: Sequence[Doc], words: Sequence[Doc], predict: Predict) -> list[Doc]:
        """The words of the Docs without the component's own annotation: copies, or the given ones if there is none.

        What others have set before or changed since stays. Sentence boundaries are removed if there were none when the
        component wrote. predict: the predictions of the component, for unknown Docs.
        """
        writings = self._remembered(docs, words)
        unknown = [n for n, doc in enumerate(docs) if doc not in self._predictions and _is_annotated(codec, words[n])]
        if codec.sets_starts:
            predicted = _predicted(codec, words, unknown, predict, Given(None, False))
            shown = [*codec.attributes, SENT_START]
            for number, writing, after in zip(unknown, predicted, _written(codec, words, unknown, predicted)):
                if np.array_equal(values_of(after, shown), values_of(words[number], shown)):
                    writings[number] = writing
            unknown = [number for number in unknown if number not in writings]
        writings |= zip(unknown, _predicted(codec, words, unknown, predict, Given()))
        return self._without(codec, words, writings)

    def _remembered(self, docs: Sequence[Doc], words: Sequence[Doc]) -> dict[int, Prediction]:
        """The predictions that were written, by the Doc's number; Docs that were retokenised since are left out."""
        found = ((number, self._predictions.get(doc)) for number, doc in enumerate(docs))
        return {number: writing for number, writing in found if writing and writing.n_words == len(words[number])}

    def _without(self, codec: Codec, docs: Sequence[Doc], writings: Mapping[int, Prediction]) -> list[Doc]:
        """The Docs, without the written annotation where there is a writing."""
        left, numbers, attributes = list(docs), list(writings), codec.attributes
        for number, after in zip(numbers, _written(codec, docs, numbers, writings.values())):
            doc, given = docs[number], writings[number].given
            values = _values(codec, doc, given)
            present, written = values_of(doc, attributes), values_of(after, attributes)
            if not np.array_equal(present, written):
                values = without_written(attributes, present, written, values)
            left[number] = _copied(codec, doc, given, values)
        return left


def given_annotation(codec: Codec, doc: Doc) -> Given:
    """The annotation that a component finds on a Doc, to which it has written nothing."""
    attributes = codec.attributes
    has_starts = SENT_START not in codec.space.constraining or doc.has_annotation(SENT_START)
    # `has_annotation` leaves out the first token's boundary.
    is_start = SENT_START in attributes and len(doc) > 0 and doc[0].is_sent_start is not None
    is_any = is_start or any(map(doc.has_annotation, attributes))
    return Given(values_of(doc, attributes) if is_any else None, has_starts)


def without_written(
    attributes: Sequence[int], present: np.ndarray, written: np.ndarray, before: np.ndarray
) -> np.ndarray:
    """The present values of A attributes without the written ones, uint64 [T, A].

    Entities are compared as a whole: an extended one is not the written one. present, written, before: uint64 [T, A],
    the values now, directly after writing, and before.
    """
    is_same = (present == written).all(axis=1, keepdims=True)
    if ENT_IOB not in attributes:
        return np.where(is_same, before, present)
    own = _entities(written) - _entities(before)
    left = np.where((present[:, :1] == IOB_OUTSIDE) & is_same, before, present)
    for first, end, label in _entities(present):
        if (first, end, label) in own:
            left[first:end] = before[first:end]
    return left


def _entities(values: np.ndarray) -> set[tuple[int, int, int]]:
    """The first token, the end and the label of each entity; values: ENT_IOB and ENT_TYPE, uint64 [T, 2]."""
    iob, label = values.T
    inside = np.append(iob, 0) == IOB_INSIDE
    spans = set()
    for first in np.flatnonzero((iob == IOB_BEGIN) & (label != 0)).tolist():
        end = first + 1 + int(np.argmin(inside[first + 1 :]))
        spans.add((first, end, int(label[first])))
    return spans


def _is_annotated(codec: Codec, doc: Doc) -> bool:
    """Whether all tokens have the annotation that the component sets."""
    attributes = codec.attributes
    return bool(attributes and len(doc) and doc.has_annotation(attributes[0], require_complete=True))


def _values(codec: Codec, doc: Doc, given: Given) -> np.ndarray:
    """The values found on a Doc, uint64 [T, A]; 0 for none."""
    return np.zeros((len(doc), len(codec.attributes)), np.uint64) if given.values is None else given.values


def _predicted(
    codec: Codec, docs: Sequence[Doc], numbers: Sequence[int], predict: Predict, given: Given
) -> list[Prediction]:
    """The predictions for the Docs with these numbers, made as if there were no annotation of its own on them."""
    blank = [_copied(codec, docs[number], given) for number in numbers]
    predictions = predict(blank) if blank else []
    return [Prediction(len(doc), given, prediction) for doc, prediction in zip(blank, predictions)]


def _written(codec: Codec, docs: Sequence[Doc], numbers: Sequence[int], writings: Iterable[Prediction]) -> list[Doc]:
    """Copies of the Docs with these numbers, each as directly after the component wrote to it."""
    writings = list(writings)
    copies = [_copied(codec, docs[number], given) for number, (_, given, _) in zip(numbers, writings)]
    if copies:
        codec.write(copies, [writing.prediction for writing in writings], [writing.given for writing in writings])
    return copies


def _copied(codec: Codec, doc: Doc, given: Given, values: np.ndarray | None = None) -> Doc:
    """A copy of a Doc with these values, uint64 [T, A], by default the given ones, and with its sentence boundaries, or
    none if none are given."""
    copy, starts = copy_of(doc), values_of(doc, [SENT_START])
    if codec.attributes:
        copy.from_array(list(codec.attributes), cast(Any, _values(codec, doc, given) if values is None else values))
    if SENT_START not in codec.attributes:
        # Heads imply boundaries.
        copy.from_array([SENT_START], cast(Any, starts if given.has_starts else np.zeros_like(starts)))
    return copy
