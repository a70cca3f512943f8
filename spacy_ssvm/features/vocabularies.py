"""The vocabulary that knows a Doc's words, where Docs of several vocabularies meet."""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from spacy.strings import StringStore
from spacy.tokens import Doc
from spacy.vocab import Vocab


class Foreign(NamedTuple):
    """Tokens of Docs of another vocabulary. strings: theirs. vocab: the one that knows their words."""

    tokens: slice
    strings: StringStore
    vocab: Vocab


def foreign(docs: Sequence[Doc], vocab: Vocab) -> tuple[Vocab, list[Foreign]]:
    """The vocabulary that Docs share, or else the given one, and the tokens of all Docs that have another one.

    For a Doc whose vocabulary computes no attributes of words, such as `Vocab()`, the given one computes them.
    """
    known = [knowing(doc.vocab, vocab) for doc in docs]
    own = known[0] if known and all(theirs is known[0] for theirs in known) else vocab
    found: list[Foreign] = []
    first = 0
    for doc, theirs in zip(docs, known):
        end = first + len(doc)
        if doc.vocab is not own:
            found.append(Foreign(slice(first, end), doc.vocab.strings, theirs))
        first = end
    return own, found


def knowing(vocab: Vocab, other: Vocab) -> Vocab:
    """This vocabulary, or the other one if this one computes no attributes of words."""
    return vocab if cast(Any, vocab).lex_attr_getters else other


def text_of(key: int, docs: Sequence[Doc]) -> str:
    """The string with this key, in the vocabulary of one of these Docs."""
    stores = (cast(Any, doc.vocab.strings) for doc in docs)
    return next((strings[key] for strings in stores if key in strings), "")
