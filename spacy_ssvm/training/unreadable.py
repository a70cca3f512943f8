"""Examples that cannot be read: they are left out with a warning, and the others are learnt from."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakSet

from spacy.tokens import Doc
from spacy.training import Example

from ..files import listed
from ..wording import name_of


class Unreadable:
    """The examples that a component cannot read; each of them is reported once.

    Args:
        component: the component's name, for messages.
    """

    def __init__(self, component: str) -> None:
        self._component = component
        self._failures: dict[int, tuple[Example, Exception]] = {}
        self._reported: WeakSet[Doc] = WeakSet()

    @contextmanager
    def leaving_out(self, number: int, example: Example) -> Iterator[None]:
        """Note the example if the body of the `with` fails; number: its place in the corpus or batch, from 0."""
        try:
            yield
        except MemoryError:
            raise
        except Exception as error:
            self._failures[number] = example, error

    def report(self, n_examples: int, n_others: int = 0) -> None:
        """Warn of the examples noted since the last report, except examples that an earlier report has named.

        Args:
            n_examples: the size of the corpus or batch.
            n_others: the number of examples that could be read before.

        Raises:
            Exception: none of the examples can be read: the error of the first one, whose cause is not the examples.
        """
        failures, self._failures = self._failures, {}
        if failures and len(failures) == n_examples and not n_others:
            raise next(iter(failures.values()))[1]
        new = {n: (eg, error) for n, (eg, error) in failures.items() if eg.reference not in self._reported}
        if not new:
            return
        self._reported.update(example.reference for example, _ in new.values())
        reasons = [f"{name_of(number, eg.predicted)}: {error}" for number, (eg, error) in new.items()]
        warnings.warn(
            f"[{self._component}] {len(new):,} of {n_examples:,} examples cannot be read and are left out: "
            f"{listed(reasons)}",
            stacklevel=4,
        )
