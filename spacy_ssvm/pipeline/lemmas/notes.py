"""Notes of examples: mappings as growing values, and their text in the file "cfg" of a component.

Adding takes time linear in the addition, and earlier values stay valid: all values of one growth share its log, in
which each change has a time. A value sees the changes before its own time.
"""

import base64
import zlib
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

import srsly

Key = TypeVar("Key")
Value = TypeVar("Value")


class Log(Generic[Key, Value]):
    """Changes in order, n of them so far."""

    def __init__(self) -> None:
        self.n = 0
        self.by_key: dict[Key, list[tuple[int, Value]]] = {}

    def add(self, changes: Mapping[Key, Value]) -> None:
        """Change the values of these keys from now on."""
        for key, value in changes.items():
            self.by_key.setdefault(key, []).append((self.n, value))
            self.n += 1


class Growth(Generic[Key, Value]):
    """A mapping that never changes; `with_changes` makes another one.

    Args:
        first: the value of a key before any change, None for unknown keys.
        n_first: the number of keys that it knows.
        log: the changes so far; None for none.
    """

    def __init__(self, first: Callable[[Key], Value | None], n_first: int, log: Log[Key, Value] | None = None) -> None:
        self._first, self._n_first = first, n_first
        self._log: Log[Key, Value] = Log() if log is None else log
        self._time = self._log.n

    def get(self, key: Key) -> Value | None:
        """The value of a key; None where it is unknown."""
        changed = self.changed(key)
        return self._first(key) if changed is None else changed

    def changed(self, key: Key) -> Value | None:
        """The value of a key; None where it has never changed."""
        for time, value in reversed(self._log.by_key.get(key, ())):
            if time < self._time:
                return value
        return None

    def changes(self) -> dict[Key, Value]:
        """The values of all keys that have changed."""
        values = ((key, self.changed(key)) for key in self._log.by_key)
        return {key: value for key, value in values if value is not None}

    def with_changes(self, changes: Mapping[Key, Value]) -> "Growth[Key, Value] | None":
        """This mapping with other values of these keys. None if there would be more changes than initial keys: the
        caller is to begin anew, with all keys as initial ones, so that adding n keys takes O(n) time.
        """
        if self._time + len(changes) > self._n_first:
            return None
        log = self._log
        if log.n > self._time:
            # Another one has extended the shared log: a new one gets what this one sees of it.
            log = Log()
            log.add(self.changes())
        log.add(changes)
        return Growth(self._first, self._n_first, log)


def pack_text(value: Any) -> str:
    """The text of a value that msgpack can write: msgpack, deflated, in base 64."""
    return base64.b64encode(zlib.compress(srsly.msgpack_dumps(value))).decode()


def unpack_text(text: str) -> Any:
    """The value whose text `pack_text` has made; raises what decoding, inflating or msgpack raises of other texts."""
    return srsly.msgpack_loads(zlib.decompress(base64.b64decode(text, validate=True)))
