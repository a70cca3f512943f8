"""The values that predictions have as token attributes, by vocabulary, and Docs that get them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, cast

import numpy as np
from spacy.attrs import DEP, ENT_IOB, ENT_TYPE, HEAD, LEMMA, MORPH, ORTH, POS, SENT_START, TAG
from spacy.morphology import Morphology
from spacy.parts_of_speech import SPACE
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..words import origin_of, tokens_of
from .codec import Given, values_of
from .entities import IOB_BEGIN, IOB_INSIDE, IOB_OUTSIDE
from .gold_trees import ROOT, UNNAMED

ValuesOf = Callable[[Vocab, Sequence[Doc], Sequence[Any]], np.ndarray]
"""A function (vocabulary, Docs, predictions) → spaCy's values of A attributes of all T tokens, uint64 [T, A]."""


def with_values(
    docs: Iterable[Doc], predictions: Sequence[Any], given: Sequence[Given], values_of: ValuesOf
) -> Iterator[tuple[Doc, Any, np.ndarray, Given]]:
    """The Docs that have tokens, their predictions, the predictions' values, uint64 [tokens, A], and `given`."""
    rows = [row for row in zip(docs, predictions, given) if len(row[0])]
    for vocab, group in groupby(rows, lambda row: row[0].vocab):
        of_vocab = list(group)
        together = values_of(vocab, [doc for doc, _, _ in of_vocab], [prediction for _, prediction, _ in of_vocab])
        first = 0
        for doc, prediction, before in of_vocab:
            yield doc, prediction, together[first : first + len(doc)], before
            first += len(doc)


def write_values(
    attributes: Sequence[int],
    overwrite: bool,
    docs: Iterable[Doc],
    predictions: Sequence[Any],
    given: Sequence[Given],
    values_of: ValuesOf,
) -> None:
    """Set A attributes of all tokens of Docs. overwrite: replace given values."""
    for doc, _, values, before in with_values(docs, predictions, given, values_of):
        if not overwrite and before.values is not None:
            values = np.where(before.values != 0, before.values, values)
        doc.from_array(list(attributes), cast(Any, values))


WHITESPACE_TAG = "_SP"
"""spaCy's tag of whitespace."""


def write_origin(words: Doc, attributes: Sequence[int]) -> None:
    """Write the attributes of a Doc of words to the Doc that it comes from; whitespace gets them as in spaCy.

    Whitespace has both a fine and a coarse tag, no morphological features, and its text for a lemma. It depends on the
    word before it, the first one on the word after it, and only the first sentence starts there. It is in an entity if
    the words on both sides are. Without any words, the first token is the root.

    Args:
        words: a Doc of words; the Doc that it comes from has whitespace tokens.
        attributes: the written ones.
    """
    doc, tokens = origin_of(words), tokens_of(words)
    assert tokens is not None
    is_space = np.ones(len(doc), np.bool_)
    is_space[tokens] = False
    spaces = np.flatnonzero(is_space)
    columns = {attribute: np.zeros(len(doc), np.uint64) for attribute in attributes}
    for attribute, values in zip(attributes, values_of(words, attributes).T):
        columns[attribute][tokens] = values
    next_word = np.searchsorted(tokens, spaces)
    if TAG in columns or POS in columns:
        for attribute in {TAG, POS}.difference(columns):
            columns[attribute] = values_of(doc, [attribute])[:, 0]
        columns[TAG][spaces], columns[POS][spaces] = doc.vocab.strings.add(WHITESPACE_TAG), SPACE
    if MORPH in columns:
        columns[MORPH][spaces] = doc.vocab.strings.add(Morphology.EMPTY_MORPH)
    if LEMMA in columns:
        columns[LEMMA][spaces] = values_of(doc, [ORTH])[spaces, 0]
    if ENT_IOB in columns:
        after = np.append(tokens, spaces[:1])[next_word]
        is_inside = columns[ENT_IOB][after] == IOB_INSIDE
        columns[ENT_IOB][spaces] = np.where(is_inside, IOB_INSIDE, IOB_OUTSIDE)
        columns[ENT_TYPE][spaces] = np.where(is_inside, columns[ENT_TYPE][after], np.uint64(0))
        _keep_entities(doc, is_space, columns)
    if HEAD in columns:
        heads = np.arange(len(tokens)) + columns[HEAD][tokens].view(np.int64)
        above = np.zeros(len(doc), np.int64)
        above[tokens] = tokens[heads]
        above[spaces] = tokens[(next_word - 1).clip(min=0)] if len(tokens) else 0
        columns[HEAD] = (above - np.arange(len(doc))).view(np.uint64)
        columns[DEP][spaces] = doc.vocab.strings.add(UNNAMED)
        if not len(tokens):
            columns[DEP][0] = doc.vocab.strings.add(ROOT)
    starts = columns.pop(SENT_START, None)
    if columns:
        doc.from_array(list(columns), cast(Any, np.stack(list(columns.values()), axis=1)))
    if starts is not None or HEAD in columns:
        doc.from_array([SENT_START], cast(Any, _starts(words, tokens, spaces)))


def _keep_entities(doc: Doc, is_space: np.ndarray, columns: dict[int, np.ndarray]) -> None:
    """Keep blocked whitespace, and whitespace at the edges of earlier entities whose words remain an entity: the
    component has not set these. An entity of words that such whitespace divides becomes two.

    Args:
        is_space: bool [T].
        columns: the values to write of ENT_IOB and ENT_TYPE, uint64 [T], changed in place.
    """
    before = values_of(doc, [ENT_IOB, ENT_TYPE])
    now = columns[ENT_IOB], columns[ENT_TYPE]
    is_kept = is_space & (before[:, 0] == IOB_BEGIN) & (before[:, 1] == 0)
    for entity in doc.ents:
        tokens = np.arange(entity.start, entity.end)
        inner = tokens[~is_space[tokens]]
        expected = np.where(inner == inner[:1], IOB_BEGIN, IOB_INSIDE)
        if (now[0][inner] == expected).all() and (now[1][inner] == entity.label).all():
            is_kept[tokens] = True
    for column, values in zip(now, before.T):
        column[is_kept] = values[is_kept]
    for place in (1 + np.flatnonzero(is_kept[:-1] & ~is_kept[1:] & (now[0][1:] == IOB_INSIDE))).tolist():
        word = place + int(np.argmin(np.append(is_space[place:], False)))
        now[0][place:word], now[1][place:word] = IOB_OUTSIDE, 0
        if word < len(doc) and now[0][word] == IOB_INSIDE:
            now[0][word] = IOB_BEGIN


def _starts(words: Doc, tokens: np.ndarray, spaces: np.ndarray) -> np.ndarray:
    """SENT_START of words at these tokens and of whitespace at these, uint64 [T].

    Whitespace before the first word belongs to its sentence, which begins at the first token.
    """
    starts = np.zeros(len(tokens) + len(spaces), np.int64)
    starts[tokens] = values_of(words, [SENT_START])[:, 0].view(np.int64)
    if starts.any() or not len(tokens):
        starts[spaces] = -1
        starts[tokens[:1]] = -1
        starts[0] = 1
    return starts.view(np.uint64)
