"""Examples as one set of flat arrays that grows: examples have tokens, and tokens have parts, such as features."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from ..features.columns import join_columns, take_columns, with_more_columns
from ..features.index import Columns
from ..features.ranges import elements, joined_starts, taken_starts
from ..growth import appended
from ..solvers.problem import Extent

S = TypeVar("S", bound=Any)
"""A NamedTuple of arrays."""


class Levels(NamedTuple):
    """The fields of a NamedTuple by what their arrays belong to; all other fields are the same for all examples.

    examples: the first token of each example, int64 [n + 1], or `Columns` of the tokens. tokens: arrays [T].
    part_starts: the first part of each token, int64 [T + 1]. parts: arrays [F]. ones: one more of these, float32, which
    is empty where all are 1.
    """

    examples: str
    tokens: tuple[str, ...]
    part_starts: str
    parts: tuple[str, ...]
    ones: str | None = None


class Growing(Generic[S]):
    """Examples that are added in chunks; what is changed in the arrays of `joined` stays.

    levels: of their fields. extent: finds the extent of a chunk. empty: no examples; None if there are always some.
    """

    def __init__(self, levels: Levels, extent: Callable[[S], Extent], empty: S | None = None) -> None:
        self._levels, self._extent_of = levels, extent
        self._joined = empty
        self._extent: Extent | None = None
        """The extent of the joined examples; None before any is joined."""
        self._chunks: list[S] = []

    def add(self, chunk: S) -> None:
        """Append examples."""
        self._chunks.append(chunk)

    def joined(self) -> S:
        """All examples as one set of arrays."""
        if self._chunks:
            more = self._chunks[0] if len(self._chunks) == 1 else _joined(self._levels, self._chunks)
            self._chunks, extent = [], self._extent_of(more)
            if self._extent is None:
                self._joined, self._extent = more, extent
            else:
                self._joined, self._extent = (
                    _with_more(self._levels, self._joined, more),
                    self._extent.with_more(extent),
                )
        assert self._joined is not None
        return self._joined

    def extent(self) -> Extent:
        """The extent of all examples."""
        joined = self.joined()
        if self._extent is None:
            self._extent = self._extent_of(joined)
        return self._extent

    def keep(self, examples: np.ndarray) -> None:
        """Keep these examples only, int64, in this order; the number of all examples stands for an empty one."""
        self._joined = _taken(self._levels, self.joined(), examples)
        self._extent = self._extent_of(self._joined)

    def add_cost(self, cost: float) -> None:
        """Note that mistakes have got this cost."""
        self._extent = self.extent()._replace(min_cost=min(self.extent().min_cost, cost))


def _joined(levels: Levels, chunks: Sequence[S]) -> S:
    def all_of(name: str) -> list[Any]:
        return [getattr(chunk, name) for chunk in chunks]

    fields: dict[str, Any] = {name: np.concatenate(all_of(name)) for name in (*levels.tokens, *levels.parts)}
    first = all_of(levels.examples)
    fields[levels.examples] = join_columns(first) if isinstance(first[0], Columns) else joined_starts(first)
    fields[levels.part_starts] = joined_starts(all_of(levels.part_starts))
    if levels.ones is not None and any(map(len, all_of(levels.ones))):
        fields[levels.ones] = np.concatenate([_ones(levels, chunk) for chunk in chunks])
    return chunks[0]._replace(**fields)


def _with_more(levels: Levels, some: S, more: S) -> S:
    """`_joined` of these two, but the result shares memory with the first one, which it replaces."""
    fields: dict[str, Any] = {
        name: appended(getattr(some, name), getattr(more, name)) for name in (*levels.tokens, *levels.parts)
    }
    for name in (levels.examples, levels.part_starts):
        first, others = getattr(some, name), getattr(more, name)
        is_columns = isinstance(first, Columns)
        fields[name] = with_more_columns(first, others) if is_columns else appended(first, others[1:] + first[-1])
    if levels.ones is not None and len(getattr(some, levels.ones)) + len(getattr(more, levels.ones)):
        fields[levels.ones] = appended(_ones(levels, some), _ones(levels, more))
    return some._replace(**fields)


def _taken(levels: Levels, all_examples: S, examples: np.ndarray) -> S:
    """These examples, int64; of n examples, number n stands for an empty one."""
    first, part_starts = getattr(all_examples, levels.examples), getattr(all_examples, levels.part_starts)
    columns = first if isinstance(first, Columns) else None
    starts = first if columns is None else columns.starts
    starts = np.append(starts, starts[-1])
    tokens = elements(starts, examples)
    parts = elements(part_starts, tokens)
    fields: dict[str, Any] = {name: getattr(all_examples, name)[tokens] for name in levels.tokens}
    fields |= {name: getattr(all_examples, name)[parts] for name in levels.parts}
    fields[levels.examples] = (
        taken_starts(starts, examples) if columns is None else take_columns(columns._replace(starts=starts), examples)
    )
    fields[levels.part_starts] = taken_starts(part_starts, tokens)
    if levels.ones is not None and len(getattr(all_examples, levels.ones)):
        fields[levels.ones] = getattr(all_examples, levels.ones)[parts]
    return all_examples._replace(**fields)


def _ones(levels: Levels, chunk: Any) -> np.ndarray:
    """The array of `ones`, written out."""
    values: np.ndarray = getattr(chunk, levels.ones or "")
    return values if len(values) else np.ones(len(getattr(chunk, levels.parts[0])), np.float32)
