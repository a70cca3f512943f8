"""A worker that learns: a shard of the corpus, and a block of examples of it for each component."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from spacy import util
from spacy.language import Language
from spacy.training import Example

from ..files import replace_files
from ..models.protocol import DataSet
from ..pipeline.component import SsvmPipe
from ..solvers.blocks import Block, DualBlock, Moved, kind_of_block
from ..solvers.certificate import Slacks
from ..training import state_file


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


@dataclass
class _Begun:
    """A block, and what it was made of; epochs: whose steps it has taken; moved: it has run an epoch since."""

    block: Block
    labels: list[str]
    seed: int
    common: np.ndarray
    epochs: int = 0
    moved: bool = False


class BlockWorker:
    """Learns from one shard; methods name a component.

    What a block has learnt is written to a file after each step. A worker that takes the place of a dead one goes on
    from there, and a step that it may have taken already is taken once.

    config: of the pipeline; its training corpus is the shard. folder: for the files. number: of the shard.
    """

    def __init__(self, config: Any, folder: Path, number: int) -> None:
        self._nlp: Language = util.load_model_from_config(config, auto_fill=True)
        (corpus,) = util.resolve_dot_names(self._nlp.config.interpolate(), [config["training"]["train_corpus"]])
        self._examples: list[Example] = list(corpus(self._nlp))
        self._folder, self._number = folder, number
        self._encoded: dict[str, tuple[DataSet, Sequence[Any]]] = {}
        self._begun: dict[str, _Begun] = {}

    def labels(self, component: str) -> list[str]:
        """The labels of the shard's examples."""
        return self._pipe(component).labels_of(self._examples)

    def encode(self, component: str, labels: Sequence[str], seed: int) -> np.ndarray:
        """Encode the examples, with all labels of the corpus; returns `DataSet.common` of what is learnt from the shard
        before the solver learns."""
        pipe = self._pipe(component)
        encoded = pipe.encoded(self._examples, labels, self._nlp)
        data = pipe.data_set(encoded, seed)
        self._encoded[component] = data, encoded
        return data.common()

    def begin(self, component: str, labels: Sequence[str], seed: int, common: np.ndarray) -> Layout:
        """Take in the examples, with the mean of what `encode` has returned to all workers."""
        if component not in self._encoded:
            self.encode(component, labels, seed)
        data, encoded = self._encoded.pop(component)
        data = data.with_common(common)
        for batch in encoded:
            data.add(batch)
        if data.is_incomplete():
            raise ValueError(f"[{component}] partial annotation is not learnt from by several workers")
        pipe = self._pipe(component)
        block = kind_of_block(pipe.solver)(pipe.solver, data.problem())
        self._begun[component] = _Begun(block, list(labels), seed, common)
        self._save(component)
        return Layout(*data.rows(), data.dimension(), data.seen(), block.problem.n_examples, pipe.reads)

    def epoch(self, component: str, number: int, seed: Sequence[int]) -> Message:
        """Epoch `number`, from 0, of the block from the common w."""
        begun = self._at(component)
        moved = begun.block.epoch(np.random.default_rng(list(seed)))
        begun.moved = True
        nothing = np.zeros(0)
        return Message(moved._replace(direction=nothing, mean=nothing), sparse(moved.direction), sparse(moved.mean))

    def step(self, component: str, number: int, seed: Sequence[int], eta: float, change: Sparse) -> None:
        """Take the common step of epoch `number`, whose seed is given for a worker that has not run it."""
        begun = self._at(component)
        if begun.epochs > number:
            return
        if not begun.moved:
            self.epoch(component, number, seed)
        begun.block.step(eta, *change)
        begun.epochs, begun.moved = number + 1, False
        self._save(component)

    def dual_sum(self, component: str) -> tuple[Sparse, tuple[float, float]]:
        """Σ α ΔΦ of the block, and its Σ αΔ and Σ_i A_i²."""
        block = self._at(component).block
        assert isinstance(block, DualBlock)
        return sparse(block.dual_sum()), block.dual_sums()

    def slacks(self, component: str, change: Sparse) -> Slacks:
        """Those of the block's examples at w, which differs from the block's w by this change."""
        block = self._at(component).block
        w = block.w.copy()
        w[change.indices] += change.values
        return block.slacks(w)

    def _at(self, component: str) -> "_Begun":
        """What the component has begun, by this worker or by one that has died."""
        if component not in self._begun:
            state = state_file.unpack((self._folder / self._file(component)).read_bytes())
            self.begin(component, state["labels"], state["seed"], state["common"])
            begun = self._begun[component]
            begun.block.restore(state["block"])
            begun.epochs = state["epochs"]
            self._save(component)
        return self._begun[component]

    def _save(self, component: str) -> None:
        block, labels, seed, common, epochs, _ = vars(self._begun[component]).values()
        state = {"labels": labels, "seed": seed, "common": common, "epochs": epochs, "block": block.state()}
        replace_files(self._folder, {self._file(component): state_file.pack(state, state_file.UNCOMPRESSED)})

    def _file(self, component: str) -> str:
        return f"{component}-{self._number}.state"

    def _pipe(self, component: str) -> SsvmPipe:
        pipe = self._nlp.get_pipe(component)
        assert isinstance(pipe, SsvmPipe)
        return pipe
