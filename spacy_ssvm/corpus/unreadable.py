"""Documents that cannot be read: one of them does not keep the others from being learnt or annotated."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from weakref import WeakSet

from spacy.tokens import Doc
from spacy.training import Example

MAX_QUOTE = 40
"""Characters of a document that are shown."""

MAX_NAMED = 3
"""Examples or documents that a message names."""


class Unreadable:
    """The examples that a component cannot read: they are left out, and there is one warning of each.

    component: its name.
    """

    def __init__(self, component: str) -> None:
        self._component = component
        self._found: dict[int, tuple[Example, Exception]] = {}
        self._named: WeakSet[Doc] = WeakSet()

    @contextmanager
    def leaving_out(self, number: int, example: Example) -> Iterator[None]:
        """Note this example if what follows fails; number: its place in the corpus or batch, from 0."""
        try:
            yield
        except Exception as error:
            self._found[number] = example, error

    def report(self, n_examples: int, n_others: int = 0) -> None:
        """Warn of what has been noted since the last report, where that is new.

        n_examples: in the corpus or batch. n_others: examples that the component could read before.

        Raises:
            Exception: what went wrong with the first example, where none could be read: that is no matter of examples.
        """
        found, self._found = self._found, {}
        if found and len(found) == n_examples and not n_others:
            raise next(iter(found.values()))[1]
        new = {n: (eg, error) for n, (eg, error) in found.items() if eg.reference not in self._named}
        if not new:
            return
        self._named.update(example.reference for example, _ in new.values())
        reasons = [f"{name_of(number, eg.predicted)}: {error}" for number, (eg, error) in new.items()]
        warnings.warn(
            f"[{self._component}] {len(new):,} of {n_examples:,} examples cannot be read and are left out: "
            f"{listed(reasons)}",
            stacklevel=4,
        )


def quoted(doc: Doc) -> str:
    """The beginning of a Doc's text, in quotes; a Doc that is broken may have none."""
    try:
        text = doc.text
    except Exception as error:
        return f"(no text: {error})"
    return quoted_text(text)


def quoted_text(text: str) -> str:
    """The beginning of a text, in quotes."""
    return repr(text if len(text) <= MAX_QUOTE else f"{text[:MAX_QUOTE]}…")


def name_of(number: int, doc: Doc) -> str:
    """How messages call the example with this number, from 0."""
    return f"example {number}, {quoted(doc)}"


def names_of(examples: Mapping[int, Example]) -> str:
    """How messages call these examples, by their numbers."""
    return listed([name_of(number, example.predicted) for number, example in examples.items()])


def listed(names: Sequence[str]) -> str:
    """The first of these, and how many more there are."""
    rest = [f"and {len(names) - MAX_NAMED:,} more"] if len(names) > MAX_NAMED else []
    return "; ".join([*names[:MAX_NAMED], *rest])


def token_name(docs: Sequence[Doc], token: int) -> str:
    """How messages call a token, counted through all these Docs."""
    for doc in docs:
        if token < len(doc):
            return f"token {token} ({doc[token].text!r}) of {quoted(doc)}"
        token -= len(doc)
    raise IndexError(token)
