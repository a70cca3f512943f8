"""A worker that learns: a shard of the corpus, and a block of examples of it for each component."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from spacy import util
from spacy.language import Language
from spacy.training import Example

from ..models.protocol import DataSet
from ..pipeline.component import SsvmPipe
from ..solvers.blocks import Block, DualBlock, Moved, kind_of_block
from ..solvers.certificate import Slacks


class Sparse(NamedTuple):
    """What is not zero of a vector: indices int32 or int64, ascending, and values float64."""

    indices: np.ndarray
    values: np.ndarray

    @property
    def nbytes(self) -> int:
        """The size of the message."""
        return int(self.indices.nbytes + self.values.nbytes)


def sparse(vector: np.ndarray) -> Sparse:
    """What is not zero of a vector, float64 [d]."""
    indices = np.flatnonzero(vector).astype(np.int32)
    return Sparse(indices, vector[indices])


class Layout(NamedTuple):
    """A block's weights: `Rows` of its data set, their number, and how often each row was seen; the number of its
    examples, and the annotation that their features read."""

    keys: np.ndarray
    first: int
    width: int
    dimension: int
    seen: np.ndarray
    n_examples: int
    reads: tuple[str, ...]


class Message(NamedTuple):
    """`Moved` without its zeros."""

    moved: Moved
    direction: Sparse
    mean: Sparse


class BlockWorker:
    """Learns from one shard; methods name a component.

    config: of the pipeline; its training corpus is the shard.
    """

    def __init__(self, config: Any) -> None:
        self._nlp: Language = util.load_model_from_config(config, auto_fill=True)
        (corpus,) = util.resolve_dot_names(self._nlp.config.interpolate(), [config["training"]["train_corpus"]])
        self._examples: list[Example] = list(corpus(self._nlp))
        self._data: dict[str, DataSet] = {}
        self._blocks: dict[str, Block] = {}
        self._encoded: dict[str, Sequence[Any]] = {}

    def labels(self, component: str) -> list[str]:
        """The labels of the shard's examples."""
        return self._pipe(component).labels_of(self._examples)

    def encode(self, component: str, labels: Sequence[str], seed: int) -> np.ndarray:
        """Encode the examples, with all labels of the corpus.

        Returns the `DataSet.index` of what the component has learnt from the shard before its solver learns; empty
        where it has learnt nothing.
        """
        pipe = self._pipe(component)
        self._encoded[component] = pipe.encoded(self._examples, labels, self._nlp)
        self._data[component] = pipe.data_set(self._encoded[component], seed)
        return self._data[component].common()

    def begin(self, component: str, common: np.ndarray) -> Layout:
        """Take in the examples, with the mean of what the workers' `encode` has returned."""
        pipe, data = self._pipe(component), self._data[component].with_common(common)
        for batch in self._encoded.pop(component):
            data.add(batch)
        if data.is_incomplete():
            raise ValueError(f"[{component}] partial annotation is not learnt from by several workers")
        block = self._blocks[component] = kind_of_block(pipe.solver)(pipe.solver, data.problem())
        del self._data[component]
        return Layout(*data.rows(), data.dimension(), data.seen(), block.problem.n_examples, pipe.reads)

    def epoch(self, component: str, seed: Sequence[int]) -> Message:
        """An epoch of the block from the common w."""
        moved = self._blocks[component].epoch(np.random.default_rng(list(seed)))
        nothing = np.zeros(0)
        return Message(moved._replace(direction=nothing, mean=nothing), sparse(moved.direction), sparse(moved.mean))

    def step(self, component: str, eta: float, change: Sparse) -> None:
        """Take the common step."""
        self._blocks[component].step(eta, *change)

    def dual_sum(self, component: str) -> tuple[Sparse, tuple[float, float]]:
        """Σ α ΔΦ of the block, and its Σ αΔ and Σ_i A_i²."""
        block = self._blocks[component]
        assert isinstance(block, DualBlock)
        return sparse(block.dual_sum()), block.dual_sums()

    def slacks(self, component: str, change: Sparse) -> Slacks:
        """Those of the block's examples at w, which differs from the block's w by this change."""
        block = self._blocks[component]
        w = block.w.copy()
        w[change.indices] += change.values
        return block.slacks(w)

    def _pipe(self, component: str) -> SsvmPipe:
        pipe = self._nlp.get_pipe(component)
        assert isinstance(pipe, SsvmPipe)
        return pipe
