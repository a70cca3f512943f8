"""Which vocabulary knows the words of a Doc, where Docs of several come together."""

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


def foreign(docs: Sequence[Doc], vocab: Vocab) -> list[Foreign]:
    """The tokens of Docs that are not of this vocabulary, in order.

    Where theirs computes no attributes of words, as that of `Vocab()` does not, this one knows them.
    """
    found: list[Foreign] = []
    if all(doc.vocab is vocab for doc in docs):
        return found
    first = 0
    for doc in docs:
        theirs, end = doc.vocab, first + len(doc)
        if theirs is not vocab:
            found.append(Foreign(slice(first, end), theirs.strings, knowing(theirs, vocab)))
        first = end
    return found


def knowing(vocab: Vocab, other: Vocab) -> Vocab:
    """This vocabulary, or the other one if this one computes no attributes of words."""
    return vocab if cast(Any, vocab).lex_attr_getters else other


def text_of(key: int, docs: Sequence[Doc]) -> str:
    """The string with this key, in the vocabulary of one of these Docs."""
    stores = (cast(Any, doc.vocab.strings) for doc in docs)
    return next((strings[key] for strings in stores if key in strings), "")
