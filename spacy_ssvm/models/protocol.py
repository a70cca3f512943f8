"""What a model offers to training, prediction and inspection, whatever its structure."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ..solvers.problem import Problem


class DataSet(ABC):
    """The Docs that are learnt from, as examples of a solver; a Doc can hold several of them.

    What a component encodes has three methods besides what its data set reads: `take(docs)`, only these Docs of it;
    `digests()`, 16 bytes for each Doc that are equal for equal input and annotation; and, of a batch without Docs,
    `reserved(sizes)`, Docs of so many examples without tokens, whose places others can take.
    """

    impossible: str
    """An example of what the structure does not allow, for a warning."""

    @abstractmethod
    def add(self, encoded: Any) -> np.ndarray:
        """Append Docs; returns which of them, int64, had to be projected onto what the structure allows."""

    @abstractmethod
    def replace_by_last(self, docs: list[int]) -> None:
        """Let the last Docs, those added last, take the places of these; both in the same order."""

    @abstractmethod
    def problem(self) -> Problem:
        """All examples; the same object until something is added or replaced."""

    @abstractmethod
    def dimension(self) -> int:
        """Present length of the weight vector."""

    @abstractmethod
    def examples_of(self, docs: np.ndarray) -> np.ndarray:
        """The examples, int64, that these Docs, int64, consist of."""

    @abstractmethod
    def is_incomplete(self) -> bool:
        """Whether anything is unknown of any gold structure."""

    @abstractmethod
    def complete(self, docs: np.ndarray | None, weights: np.ndarray) -> np.ndarray:
        """Set what is unknown of the gold structures of these Docs, int64, or of all, to what these weights predict.

        Returns the examples that have changed, int64: what was learnt from their old completion is void.
        """

    @abstractmethod
    def index(self) -> np.ndarray:
        """What decides which weight a feature has, besides the features' own description; a component gives it back."""

    @abstractmethod
    def sizes(self) -> np.ndarray:
        """How many examples each Doc has, int64 [n]."""

    @abstractmethod
    def gold(self, doc: int) -> np.ndarray:
        """The gold structures of a Doc as they are completed by now, int32."""

    @abstractmethod
    def set_gold(self, doc: int, gold: np.ndarray) -> None:
        """Go back to what `gold` has returned for the same Doc.

        Raises:
            ValueError: that is no gold structure of this Doc.
        """

    @abstractmethod
    def emptied(self) -> "DataSet":
        """A data set without Docs that goes on with the same features."""
