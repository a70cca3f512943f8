"""What a component has written to Docs: when it is asked about one of them, its own output is no constraint."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast
from weakref import WeakKeyDictionary

import numpy as np
from spacy.attrs import SENT_START
from spacy.tokens import Doc

from ..models.protocol import Codec, Given, values_of

Predict = Callable[[Sequence[Doc]], Sequence[Any]]


class Writing(NamedTuple):
    """What was written to a Doc.

    n_tokens: its length then. given: what the component found there. prediction: what it wrote.
    """

    n_tokens: int
    given: Given
    prediction: Any


class Written:
    """What one component has written to the Docs that are still in use.

    Docs are recognised as objects. Those from a file, from another process or from `Doc.copy` are unknown. If all
    tokens of an unknown Doc are annotated, what the component would write if it found nothing there counts as its own.
    If only some are, the component has not processed the Doc, and all of its annotation counts as given.
    """

    def __init__(self) -> None:
        self._writings: WeakKeyDictionary[Doc, Writing] = WeakKeyDictionary()

    def given(self, codec: Codec, docs: Sequence[Doc]) -> list[Given]:
        """What the component, which is about to write to these Docs, finds there besides its own."""
        known = self._writings
        return [codec.given(self._known(codec, doc) if doc in known else doc) for doc in docs]

    def note(self, docs: Sequence[Doc], given: Sequence[Given], predictions: Sequence[Any]) -> None:
        """Remember that these predictions were written to the Docs."""
        for doc, found, prediction in zip(docs, given, predictions):
            self._writings[doc] = Writing(len(doc), found, prediction)

    def without_own(self, codec: Codec, doc: Doc, predict: Predict) -> Doc:
        """The Doc as the component would find it: a copy without its own annotation, or the Doc if it has none of that.

        What others have set before or changed since stays. Sentence boundaries are removed if there were none when the
        component wrote. predict: the predictions of the component, for unknown Docs.
        """
        if doc in self._writings:
            return self._known(codec, doc)
        attributes = codec.attributes
        if not attributes or not len(doc) or not doc.has_annotation(attributes[0], require_complete=True):
            return doc
        nothing = np.zeros((len(doc), len(attributes)), np.uint64)
        if codec.sets_starts:
            blank = _copied(doc, attributes, nothing, has_starts=False)
            written = _written(codec, blank, Writing(len(doc), Given(None, False), *predict([blank])))
            shown = *attributes, SENT_START
            if np.array_equal(values_of(written, shown), values_of(doc, shown)):
                return blank
        blank = _copied(doc, attributes, nothing, has_starts=True)
        return _without(codec, doc, blank, Writing(len(doc), Given(), *predict([blank])))

    def _known(self, codec: Codec, doc: Doc) -> Doc:
        writing = self._writings[doc]
        if writing.n_tokens != len(doc):  # retokenised since
            return doc
        values, has_starts = writing.given
        if values is None:
            values = np.zeros((len(doc), len(codec.attributes)), np.uint64)
        return _without(codec, doc, _copied(doc, codec.attributes, values, has_starts), writing)


def _without(codec: Codec, doc: Doc, before: Doc, writing: Writing) -> Doc:
    """The Doc without what was written; before: a copy of it with what was given."""
    attributes = codec.attributes
    present, given = values_of(doc, attributes), values_of(before, attributes)
    left = codec.of_others(present, values_of(_written(codec, before, writing), attributes), given)
    if np.array_equal(left, given):
        return before
    return _copied(doc, attributes, left, writing.given.has_starts)


def _written(codec: Codec, before: Doc, writing: Writing) -> Doc:
    """A copy of a Doc, after writing to it."""
    copy = before.copy()
    codec.write([copy], [writing.prediction], [writing.given])
    return copy


def _copied(doc: Doc, attributes: Sequence[int], values: np.ndarray, has_starts: bool) -> Doc:
    """A copy of a Doc with these values, uint64 [T, A], and with its sentence boundaries or none."""
    copy = doc.copy()
    starts = values_of(doc, [SENT_START])
    if attributes:
        copy.from_array(list(attributes), cast(Any, values))
    if SENT_START not in attributes:
        # Heads imply boundaries.
        copy.from_array([SENT_START], cast(Any, starts if has_starts else np.zeros_like(starts)))
    return copy
