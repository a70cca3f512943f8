"""Examples as one set of flat arrays that grows: examples have tokens, and tokens have parts, such as features."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from ..features.columns import join_columns, take_columns, with_more_columns
from ..features.index import Columns
from ..growth import appended, elements, joined_starts, shared, taken_starts
from ..solvers.problem import Extent, Problem
from .documents import Documents
from .protocol import DataSet

S = TypeVar("S", bound=Any)
"""A NamedTuple of arrays."""


class Levels(NamedTuple):
    """The fields of a NamedTuple by what their arrays belong to; all other fields are the same for all examples.

    Attributes:
        examples: the first token of each example, int64 [n + 1], or `Columns` of the tokens.
        tokens: arrays [T].
        part_starts: the first part of each token, int64 [T + 1], if tokens have parts.
        parts: arrays [F].
        ones: one more of these, float32, which is empty where all are 1.
    """

    examples: str
    tokens: tuple[str, ...]
    part_starts: str | None = None
    parts: tuple[str, ...] = ()
    ones: str | None = None

    def joined(self, chunks: Sequence[S]) -> S:
        """The examples of several tuples, one after the other."""

        def all_of(name: str) -> list[Any]:
            return [getattr(chunk, name) for chunk in chunks]

        fields: dict[str, Any] = {name: np.concatenate(all_of(name)) for name in (*self.tokens, *self.parts)}
        first = all_of(self.examples)
        fields[self.examples] = join_columns(first) if isinstance(first[0], Columns) else joined_starts(first)
        if self.part_starts is not None:
            fields[self.part_starts] = joined_starts(all_of(self.part_starts))
        if self.ones is not None and any(map(len, all_of(self.ones))):
            fields[self.ones] = np.concatenate([self._written_out(chunk) for chunk in chunks])
        return chunks[0]._replace(**fields)

    def with_more(self, some: S, more: S) -> S:
        """`joined` of these two, but the result shares memory with the first one, which it replaces."""
        fields: dict[str, Any] = {
            name: appended(getattr(some, name), getattr(more, name)) for name in (*self.tokens, *self.parts)
        }
        for name in filter(None, (self.examples, self.part_starts)):
            first, others = getattr(some, name), getattr(more, name)
            is_columns = isinstance(first, Columns)
            fields[name] = with_more_columns(first, others) if is_columns else appended(first, others[1:] + first[-1])
        if self.ones is not None and len(getattr(some, self.ones)) + len(getattr(more, self.ones)):
            fields[self.ones] = appended(self._written_out(some), self._written_out(more))
        return some._replace(**fields)

    def with_shared_parts(self, some: S) -> S:
        """The examples with shared arrays of parts, which are large and never change."""
        return some._replace(**{name: shared(getattr(some, name)) for name in self.parts})

    def taken(self, some: S, examples: np.ndarray) -> S:
        """These examples, int64, in this order; of n examples, number n stands for an empty one."""
        first = getattr(some, self.examples)
        starts = first.starts if isinstance(first, Columns) else first
        starts = np.append(starts, starts[-1])
        tokens = elements(starts, examples)
        fields: dict[str, Any] = {name: getattr(some, name)[tokens] for name in self.tokens}
        if isinstance(first, Columns):
            fields[self.examples] = take_columns(first._replace(starts=starts), examples)
        else:
            fields[self.examples] = taken_starts(starts, examples)
        if self.part_starts is not None:
            part_starts = getattr(some, self.part_starts)
            parts = elements(part_starts, tokens)
            fields |= {name: getattr(some, name)[parts] for name in self.parts}
            fields[self.part_starts] = taken_starts(part_starts, tokens)
            if self.ones is not None and len(getattr(some, self.ones)):
                fields[self.ones] = getattr(some, self.ones)[parts]
        return some._replace(**fields)

    def count(self, some: Any) -> int:
        """The number of examples."""
        first = getattr(some, self.examples)
        return len(first.starts if isinstance(first, Columns) else first) - 1

    def _written_out(self, some: Any) -> np.ndarray:
        """The array of `ones`, with all its ones."""
        values: np.ndarray = getattr(some, self.ones or "")
        return values if len(values) else np.ones(len(getattr(some, self.parts[0])), np.float32)


class Growing(Generic[S]):
    """Examples that are added in chunks; changes in the arrays of `joined` persist.

    Args:
        levels: of the examples' fields.
        extent: finds the extent of a chunk.
        empty: no examples, for data sets that are read before any is added.
        docs: where the examples of each Doc are, so far none.
    """

    def __init__(
        self, levels: Levels, extent: Callable[[S], Extent], empty: S | None = None, docs: Documents | None = None
    ) -> None:
        self.docs = Documents() if docs is None else docs
        self.levels, self._extent_of = levels, extent
        self._joined = empty
        self._extent: Extent | None = None
        """The extent of the joined examples; None before any is joined."""
        self._chunks: list[S] = []

    def add(self, chunk: S, sizes: np.ndarray) -> int:
        """Append a chunk, whose Docs have so many examples, int64; returns the number of the first one."""
        self._chunks.append(chunk)
        first, self.docs = self.docs.n_examples, self.docs.with_more(sizes)
        return first

    def joined(self) -> S:
        """All examples as one set of arrays."""
        if self._chunks:
            more = self._chunks[0] if len(self._chunks) == 1 else self.levels.joined(self._chunks)
            self._chunks, extent = [], self._extent_of(more)
            if self._extent is None:
                self._joined, self._extent = self.levels.with_shared_parts(more), extent
            else:
                self._joined = self.levels.with_more(self._joined, more)
                self._extent = self._extent.with_more(extent)
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
        self._joined = self.levels.taken(self.joined(), examples)
        self._extent = self._extent_of(self._joined)

    def add_cost(self, cost: float) -> None:
        """Note a new cost of mistakes."""
        self._extent = self.extent()._replace(min_cost=min(self.extent().min_cost, cost))


class ExampleSet(DataSet, Generic[S]):
    """A data set over examples that grow. Others inherit from it.

    As it is, each Doc of a batch is one example, its gold is known and possible, and features have fixed weights.
    """

    def __init__(self, examples: Growing[S]) -> None:
        self.examples = examples
        self._problem: Problem | None = None

    @property
    def docs(self) -> Documents:
        return self.examples.docs

    @abstractmethod
    def make_problem(self) -> Problem:
        """The problem of all examples."""

    @abstractmethod
    def without_docs(self) -> DataSet: ...

    def add(self, encoded: Any) -> np.ndarray:
        self.examples.add(encoded, np.ones(self.examples.levels.count(encoded), np.int64))
        self._problem = None
        return np.zeros(0, np.int64)

    def reserve(self, sizes: np.ndarray) -> None:
        n, self.examples.docs = self.docs.n_examples, self.docs.with_more(sizes)
        self.keep(np.append(np.arange(n), np.full(int(sizes.sum()), n)))

    def replace_by_last(self, docs: list[int]) -> None:
        order, self.examples.docs = self.docs.replaced_by_last(docs)
        self.keep(order)

    def keep(self, examples: np.ndarray) -> None:
        """Keep these examples only, int64, in this order; the number of all examples stands for an empty one."""
        self.examples.keep(examples)
        self._problem = None

    def problem(self) -> Problem:
        if self._problem is None:
            self._problem = self.make_problem()
        return self._problem

    def dimension(self) -> int:
        return self.problem().dimension

    def state(self) -> list[np.ndarray]:
        return [np.zeros(0, np.int64)]
