"""A worker that learns: a shard of the corpus, and a block of examples of it for each component."""

import hashlib
import os
import warnings
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
from ..solvers.blocks import Block, DualBlock, Figures, kind_of_block
from ..solvers.certificate import Slacks
from ..training import state_file


@dataclass(frozen=True)
class Shard:
    """What one worker learns from.

    config: of the pipeline, whose training corpus is the shard. number: of the shard, from 0. folder: for the files of
    its state. directory: that paths in the config are relative to. code_path: a file with registered functions.
    """

    config: Any
    number: int
    folder: Path
    directory: Path
    code_path: Path | None = None


class Sparse(NamedTuple):
    """What is not zero of a vector: indices int32 [n], ascending, and values float64 [n]."""

    indices: np.ndarray
    values: np.ndarray

    @property
    def nbytes(self) -> int:
        """The size of the message."""
        return int(self.indices.nbytes + self.values.nbytes)

    def digest(self) -> bytes:
        """The same for the same vector."""
        return hashlib.sha256(self.indices.tobytes() + self.values.tobytes()).digest()


def sparse(vector: np.ndarray) -> Sparse:
    """What is not zero of a vector, float64 [d]."""
    indices = np.flatnonzero(vector).astype(np.int32)
    return Sparse(indices, vector[indices])


class Layout(NamedTuple):
    """A block's weights and examples.

    keys, first, width: as `Rows` of its data set. dimension: the number of its weights. seen: as `DataSet.seen`.
    n_examples: their number. is_certified: whether all gold is known, and oracles are exact. reads: the annotation that
    their features read. warnings: what was wrong with them.
    """

    keys: np.ndarray
    first: int
    width: int
    dimension: int
    seen: np.ndarray
    n_examples: int
    is_certified: bool
    reads: tuple[str, ...]
    warnings: list[str]


class Message(NamedTuple):
    """What an epoch has moved; see `solvers.blocks.Moved`."""

    figures: Figures
    removed: Sparse
    direction: Sparse
    mean: Sparse

    @property
    def nbytes(self) -> int:
        """The size of its vectors."""
        return self.removed.nbytes + self.direction.nbytes + self.mean.nbytes

    def digest(self) -> bytes:
        """The same for the same vectors."""
        return hashlib.sha256(self.removed.digest() + self.direction.digest() + self.mean.digest()).digest()


@dataclass
class _Begun:
    """A component's block.

    data: its examples. labels, seed, shared: what it was made with. digest: of the examples. epochs: whose steps it has
    taken. message: of the epoch that it has run since.
    """

    block: Block
    data: DataSet
    labels: list[str]
    seed: int
    shared: np.ndarray
    digest: bytes
    epochs: int = 0
    message: Message | None = None

    def gold(self) -> list[np.ndarray]:
        """The gold structures, as far as they may change."""
        return [self.data.gold(doc) for doc in range(len(self.data.sizes()))] if self.data.is_incomplete() else []


class BlockWorker:
    """Learns from one shard; methods name a component.

    What a block has learnt is written to a file after each step. A worker that takes the place of a dead one goes on
    from there. Every method may be called again with the same arguments, and then returns the same.
    """

    def __init__(self, shard: Shard) -> None:
        os.chdir(shard.directory)
        if shard.code_path is not None:
            util.import_file("python_code", shard.code_path)
        self._shard = shard
        self._nlp: Language = util.load_model_from_config(shard.config, auto_fill=True)
        settings = self._nlp.config.interpolate()
        (corpus,) = util.resolve_dot_names(settings, [settings["training"]["train_corpus"]])
        # An augmenter may draw random numbers, which are not to be those of the other shards.
        util.fix_random_seed((settings["training"]["seed"] or 0) + shard.number)
        self._examples: list[Example] = list(corpus(self._nlp))
        self._encoded: dict[str, tuple[DataSet, Sequence[Any], bytes]] = {}
        """The components' data sets, without Docs, the examples for these, and a digest of them."""
        self._begun: dict[str, _Begun] = {}
        self._warnings: dict[str, list[str]] = {}

    def ready(self) -> None:
        """Returns when the shard is read."""

    def labels(self, component: str) -> list[str]:
        """The labels of the shard's examples."""
        return self._pipe(component).labels_of(self._examples)

    def encode(self, component: str, labels: Sequence[str], seed: int) -> np.ndarray:
        """Encode the examples, with all labels of the corpus; returns `DataSet.shared` of what is learnt from the shard
        before the solver learns.

        Raises:
            ValueError: the shard has no examples for the component.
        """
        pipe = self._pipe(component)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            encoded = pipe.encoded(self._examples, labels, self._nlp)
        self._warnings[component] = [str(warning.message) for warning in caught]
        digests = [digest for batch in encoded for digest in batch.digests()]
        if not digests:
            raise ValueError(
                f"[{component}] there is nothing to learn in part {self._shard.number} of the training corpus, which "
                "has every document whose turn it is: take fewer workers, or annotate more documents"
            )
        data = pipe.data_set(encoded, seed)
        self._encoded[component] = data, encoded, hashlib.sha256(b"".join(digests)).digest()
        return data.shared()

    def begin(self, component: str, labels: Sequence[str], seed: int, shared: np.ndarray) -> Layout:
        """Take in the examples, with the mean of what `encode` has returned to all workers."""
        begun = self._begun[component] = self._taken_in(component, labels, seed, shared)
        self._save(component)
        data, problem = begun.data, begun.block.problem
        return Layout(
            *data.rows(),
            dimension=data.dimension(),
            seen=data.seen(),
            n_examples=problem.n_examples,
            is_certified=problem.exact and not data.is_incomplete(),
            reads=self._pipe(component).reads,
            warnings=self._warnings[component],
        )

    def epoch(self, component: str, number: int, seed: Sequence[int], factor: float) -> Message:
        """Epoch `number`, from 0, of the block from the common w; factor: as in `Block.epoch`."""
        begun = self._at(component, number)
        if begun.message is None:
            data, block = begun.data, begun.block
            void = data.complete(None, block.w) if data.is_incomplete() else np.zeros(0, np.int64)
            moved = block.epoch(np.random.default_rng(list(seed)), factor, void)
            begun.message = Message(moved.figures, *map(sparse, moved[1:]))
        return begun.message

    def step(
        self,
        component: str,
        number: int,
        seed: Sequence[int],
        factor: float,
        digest: bytes,
        eta: float,
        removed: Sparse,
        change: Sparse,
    ) -> None:
        """Take the common step of epoch `number`; a worker that has not run the epoch does so.

        digest: of the message that the block has sent. removed, change: the sums of all blocks.

        Raises:
            RuntimeError: the epoch moves something else on this machine than on the one that ran it before.
        """
        begun = self._loaded(component)
        if begun.epochs == number + 1:
            return
        message = self.epoch(component, number, seed, factor)
        if message.digest() != digest:
            raise RuntimeError(
                f"[{component}] a worker that takes the place of a dead one has computed other numbers: the machines "
                "differ. Install a wheel with machine code, which is the same on all processors"
            )
        begun.block.step(eta, change, removed)
        begun.epochs, begun.message = number + 1, None
        self._save(component)

    def dual_sum(self, component: str, number: int) -> tuple[Sparse, tuple[float, float]]:
        """Σ α ΔΦ of the block after so many epochs, and its Σ αΔ and Σ_i A_i²."""
        block = self._at(component, number).block
        assert isinstance(block, DualBlock)
        return sparse(block.dual_sum()), block.dual_sums()

    def slacks(self, component: str, number: int, change: Sparse) -> Slacks:
        """Those of the block's examples at w, which differs from the block's w by this change."""
        return self._at(component, number).block.slacks(change)

    def _taken_in(self, component: str, labels: Sequence[str], seed: int, shared: np.ndarray) -> _Begun:
        if component not in self._encoded:
            self.encode(component, labels, seed)
        data, encoded, digest = self._encoded.pop(component)
        data = data.with_shared(shared)
        for batch in encoded:
            data.add(batch)
        solver = self._pipe(component).solver
        block = kind_of_block(solver)(solver, data.problem())
        return _Begun(block, data, list(labels), seed, shared, digest)

    def _loaded(self, component: str) -> _Begun:
        """The component's block, of this worker or as one that has died has left it."""
        if component not in self._begun:
            path = self._shard.folder / self._file(component)
            state = state_file.unpack(path.read_bytes())
            begun = self._taken_in(component, state["labels"], state["seed"], state["shared"])
            if begun.digest != state["digest"]:
                raise RuntimeError(f"[{component}] {path} is the state of other examples: the corpus has changed")
            begun.block.restore(state["block"])
            for doc, gold in enumerate(state["gold"]):
                begun.data.set_gold(doc, gold)
            begun.epochs = state["epochs"]
            self._begun[component] = begun
        return self._begun[component]

    def _at(self, component: str, number: int) -> _Begun:
        """The same, after so many epochs."""
        begun = self._loaded(component)
        if begun.epochs != number:
            raise RuntimeError(f"[{component}] a worker is at epoch {begun.epochs}, not {number}: its file is older")
        return begun

    def _save(self, component: str) -> None:
        begun = self._begun[component]
        state = {
            "labels": begun.labels,
            "seed": begun.seed,
            "shared": begun.shared,
            "digest": begun.digest,
            "epochs": begun.epochs,
            "gold": begun.gold(),
            "block": begun.block.state(),
        }
        replace_files(self._shard.folder, {self._file(component): state_file.pack(state, state_file.UNCOMPRESSED)})

    def _file(self, component: str) -> str:
        return f"{component}-{self._shard.number}.state"

    def _pipe(self, component: str) -> SsvmPipe:
        pipe = self._nlp.get_pipe(component)
        assert isinstance(pipe, SsvmPipe)
        return pipe
