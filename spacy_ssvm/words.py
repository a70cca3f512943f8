"""The words of a Doc: a Doc without its whitespace tokens, which learning and prediction do not see.

spaCy's tokenizer makes tokens of line breaks and of repeated spaces. Components see the Doc of the words alone, and
their annotation of a word is the annotation of its token.
"""

from dataclasses import dataclass
from threading import Lock
from typing import Any, cast

import numpy as np
from spacy.attrs import (
    DEP,
    ENT_IOB,
    ENT_TYPE,
    HEAD,
    LEMMA,
    MORPH,
    NORM,
    POS,
    SENT_START,
    SPACY,
    TAG,
)
from spacy.tokens import Doc, Span
from spacy.training import Example

BREAKS = ("none", "spaces", "line break", "blank line")
"""Whitespace tokens before a word: none, some without a line break, with one line break, with more."""
_COPYING = Lock()
"""No other thread finds a Doc without its user data and gives that back."""
_ORIGIN = "spacy_ssvm.words"
"""The key in the `user_data` of a Doc of words."""
_COPIED = (NORM, TAG, POS, MORPH, LEMMA, ENT_IOB, ENT_TYPE)
_INSIDE, _BEGIN = 1, 3
"""Values of spaCy's ENT_IOB."""
_EXTENSION = "._."
"""The first part of spaCy's keys of extension attributes in `user_data`; a name and characters follow."""


class WhitespaceTokens(Exception):
    """Docs of words were expected, but these have whitespace tokens. Few have any, and checking ahead costs time."""


@dataclass(frozen=True)
class Origin:
    """The Doc that words come from. tokens: int64 [W], the token of each word."""

    doc: Doc
    tokens: np.ndarray

    def __deepcopy__(self, _: Any) -> "Origin":
        # Copies of a Doc of words have the same origin.
        return self


def words_of(doc: Doc) -> Doc:
    """The Doc of a Doc's words, with their annotation; the Doc itself if it has no whitespace tokens.

    A head that is whitespace is replaced by its own head. A sentence that starts on whitespace starts at the next word,
    and an entity begins and ends at its first and last word. A word before a whitespace token has a space after it. The
    words below a whitespace root have no head, unless there is only one, which then is the root.
    """
    texts = [token.text for token in doc]
    if not any(map(str.isspace, texts)):
        return doc
    is_space = np.array([text.isspace() for text in texts])
    tokens = np.flatnonzero(~is_space)
    followed = (np.asarray(doc.to_array(SPACY)) != 0) | np.append(is_space[1:], False)
    words = Doc(doc.vocab, [texts[token] for token in tokens], followed[tokens].tolist())
    words.has_unknown_spaces = doc.has_unknown_spaces
    if len(tokens):
        values = np.asarray(doc.to_array([*_COPIED, HEAD, DEP, SENT_START]), np.uint64).reshape(len(doc), -1)
        next_word = np.searchsorted(tokens, np.arange(len(doc)))
        _copy_annotation(words, values, is_space, tokens, next_word)
        _copy_spans(doc, words, next_word)
    words.user_data = _user_data(doc, words, tokens)
    words.user_data[_ORIGIN] = Origin(doc, tokens)
    return words


def copy_of(doc: Doc) -> Doc:
    """A copy of a Doc with a shallow copy of its user data, which may hold objects that cannot be copied."""
    with _COPYING:
        data, doc.user_data = doc.user_data, {}
        try:
            copy = doc.copy()
        finally:
            doc.user_data = data
    copy.user_data = dict(data)
    return copy


def example_of_words(example: Example) -> Example:
    """The example of the words of both Docs; the example itself if they have no whitespace tokens."""
    predicted, reference = words_of(example.predicted), words_of(example.reference)
    is_same = predicted is example.predicted and reference is example.reference
    return example if is_same else Example(predicted, reference)


def origin_of(words: Doc) -> Doc:
    """The Doc that a Doc of words comes from: the Doc itself if it had no whitespace tokens."""
    origin: Origin | None = words.user_data.get(_ORIGIN)
    return words if origin is None else origin.doc


def tokens_of(words: Doc) -> np.ndarray | None:
    """The token of each word of a Doc of words in its original Doc, int64 [W]; None if that is the same Doc."""
    origin: Origin | None = words.user_data.get(_ORIGIN)
    return None if origin is None else origin.tokens


def token_of(words: Doc, word: int) -> int:
    """The token of a word of a Doc of words, in the Doc that it comes from."""
    tokens = tokens_of(words)
    return word if tokens is None else int(tokens[word])


def in_tokens(words: Doc, start: int, end: int, head: int | None) -> tuple[int, int, int | None]:
    """The tokens start … end − 1 of these words in the Doc that they come from, and the head, if there is one."""
    return token_of(words, start), token_of(words, end - 1) + 1, None if head is None else token_of(words, head)


def breaks(words: Doc) -> np.ndarray:
    """The whitespace tokens before each word of a Doc of words, uint64 [W], numbers of BREAKS."""
    found = np.zeros(len(words), np.uint64)
    tokens, doc = tokens_of(words), origin_of(words)
    if tokens is None:
        return found
    first = np.append(0, tokens[:-1] + 1)
    for word in np.flatnonzero(first[: len(tokens)] < tokens).tolist():
        text = "".join(token.text for token in doc[int(first[word]) : int(tokens[word])])
        found[word] = min(len(f"{text}.".splitlines()), len(BREAKS) - 1)
    return found


def _copy_annotation(
    words: Doc, values: np.ndarray, is_space: np.ndarray, tokens: np.ndarray, next_word: np.ndarray
) -> None:
    """Write the annotation of W words among T tokens.

    Args:
        values: uint64 [T, A], of the attributes _COPIED, HEAD, DEP and SENT_START.
        is_space: bool [T].
        tokens: int64 [W].
        next_word: int64 [T], each token's word, or the next one.
    """
    iob, (offsets, dep, start) = values[:, _COPIED.index(ENT_IOB)], values.T[-3:]
    starts = start[tokens]
    starts[next_word[(start == 1) & (next_word < len(tokens))]] = 1
    # Where sentences are known, the first word starts one, as it would without whitespace before it.
    if tokens[0] > 0:
        starts[0] = start[: tokens[0] + 1].any()
    copied = values[tokens, : len(_COPIED)]
    begun = next_word[is_space & (iob == _BEGIN) & (next_word < len(tokens))]
    column = copied[:, _COPIED.index(ENT_IOB)]
    column[begun[column[begun] == _INSIDE]] = _BEGIN
    words.from_array(list(_COPIED), cast(Any, copied))
    if dep.any():
        heads, labels = _heads(np.arange(len(dep)) + offsets.astype(np.int64), dep, is_space, tokens, words)
        tree = np.stack([(next_word[heads] - np.arange(len(tokens))).view(np.uint64), labels], axis=1)
        words.from_array([HEAD, DEP], cast(Any, tree))
    words.from_array([SENT_START], cast(Any, starts))


def _heads(
    heads: np.ndarray, dep: np.ndarray, is_space: np.ndarray, tokens: np.ndarray, words: Doc
) -> tuple[np.ndarray, np.ndarray]:
    """The closest word above each word, as a token, int64 [W], itself for a root, and the label, uint64 [W]."""
    above, labels = heads[tokens], dep[tokens]
    for _ in range(len(heads)):
        passing = is_space[above] & (heads[above] != above)
        if not passing.any():
            break
        above[passing] = heads[above[passing]]
    orphaned = np.flatnonzero(is_space[above])
    roots, counts = np.unique(above[orphaned], return_counts=True)
    is_only = np.isin(above[orphaned], roots[counts == 1])
    labels[orphaned[is_only]] = words.vocab.strings.add("ROOT")
    labels[orphaned[dep[above[orphaned]] == 0]] = 0
    above[orphaned] = tokens[orphaned]
    return above, labels


def _copy_spans(doc: Doc, words: Doc, next_word: np.ndarray) -> None:
    """Copy the groups of spans, without the whitespace at their edges."""
    bounds = np.append(next_word, len(words))
    for key, group in doc.spans.items():
        found = [(int(bounds[span.start]), int(bounds[span.end]), span.label) for span in group]
        words.spans[key] = [Span(words, start, end, label=label) for start, end, label in found if start < end]


def _user_data(doc: Doc, words: Doc, tokens: np.ndarray) -> dict[Any, Any]:
    """The user's data, with extension attributes moved to the places of words."""
    if not doc.user_data:
        return {}
    places = {doc[token].idx: words[word].idx for word, token in enumerate(tokens.tolist())}
    found = {}
    for key, value in doc.user_data.items():
        if isinstance(key, tuple) and len(key) == 4 and key[0] == _EXTENSION and key[2] is not None:
            if key[3] is not None or key[2] not in places:
                continue  # Of a span, or of whitespace.
            key = (*key[:2], places[key[2]], None)
        found[key] = value
    return found
