"""The wording that messages share: quoted texts, names of examples and tokens."""

from collections.abc import Sequence

from spacy.tokens import Doc

from .words import origin_of, token_of

MAX_QUOTE = 40
"""Characters of a document that a message quotes."""


def quoted(doc: Doc) -> str:
    """The beginning of a Doc's text in quotes, or the reason why a broken Doc has no text."""
    try:
        return quoted_text(origin_of(doc).text)
    except Exception as error:
        return f"(no text: {error})"


def quoted_text(text: str) -> str:
    """The beginning of a text in quotes."""
    return repr(text if len(text) <= MAX_QUOTE else f"{text[:MAX_QUOTE]}…")


def name_of(number: int, doc: Doc, token: int | None = None) -> str:
    """The name of an example, or of one of its tokens: its number, from 0, and the beginning of its text."""
    name = f"example {number}, {quoted(doc)}"
    return name if token is None else f"{name}, token {token_of(doc, token)} ({doc[token].text!r})"


def counted(n: int, noun: str) -> str:
    """A number and a noun, such as "1 token" or "2,000 tokens"."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def token_name(docs: Sequence[Doc], token: int) -> str:
    """The name of a token: its place in its Doc, its text, and the beginning of the Doc's text.

    Args:
        token: its place, from 0, counted through all the Docs.

    Raises:
        IndexError: the Docs have no more than `token` tokens.
    """
    for doc in docs:
        if token < len(doc):
            return f"token {token_of(doc, token)} ({doc[token].text!r}) of {quoted(doc)}"
        token -= len(doc)
    raise IndexError(token)
