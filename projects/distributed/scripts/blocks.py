"""The workers of `spacy ssvm train`, as objects of this process: what they learn and send is the same as with Ray."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from spacy import util
from spacy.training import Example

from spacy_ssvm.distributed.block_worker import BlockWorker
from spacy_ssvm.distributed.learning import shards_of, together
from spacy_ssvm.distributed.loop import Checkpoint
from spacy_ssvm.distributed.messages import BlockEpoch, Setup, SparseVector, difference, sparse
from spacy_ssvm.distributed.rules.dual import DualSettings
from spacy_ssvm.distributed.shared_blocks import Answers, SharedBlocks, common
from spacy_ssvm.models.protocol import DataSet

from .tasks import Task

SEED = 0


@dataclass
class Present:
    """In place of a component's training: the weights w, float64 [d], of the features of `data`."""

    data: DataSet
    w: np.ndarray

    def weights(self) -> np.ndarray:
        """The weights to predict with."""
        return self.w


def nbytes(message: Any) -> int:
    """The size of the vectors in a message."""
    if isinstance(message, SparseVector):
        return message.nbytes
    return sum(map(nbytes, message)) if isinstance(message, list | tuple) else 0


class Blocks:
    """K blocks of a task's training examples, each at a worker of its own.

    config: of the task. folder: for files of the workers, which nobody else uses.
    up, down: the bytes that all workers have sent and got.
    """

    def __init__(self, task: Task, config: Any, n_blocks: int, folder: Path) -> None:
        self._task = task
        shards = shards_of(config, Checkpoint(folder, b""), n_blocks, n_blocks)
        self._workers = [BlockWorker(shard) for shard in shards]
        everybody = [()] * n_blocks
        survey = together(self._ask("survey", everybody))
        self._nlp = util.load_model_from_config(config, auto_fill=True)
        self._pipe: Any = self._nlp.get_pipe(task.component)
        for label in survey.new_labels(self._pipe.labels):
            self._pipe.add_label(label)
        self._pipe.codec = self._pipe.codec.with_survey(survey)
        setup = Setup(list(self._pipe.labels), dict(self._pipe.codec.saved.notes), SEED)
        shared = np.mean(self._ask("encode", [(setup,)] * n_blocks), axis=0)
        layouts = self._ask("begin", [(setup, shared)] * n_blocks)
        self._weights = common(layouts)
        self._data = (
            self._pipe.trained.data_set([], SEED).with_shared(shared).of_rows(self._weights.keys, self._weights.seen)
        )
        self.n_examples = sum(layout.n_examples for layout in layouts)
        (corpus,) = util.resolve_dot_names(self._nlp.config.interpolate(), ["corpora.dev"])
        self._dev: list[Example] = list(corpus(self._nlp))
        self._own = [np.zeros(layout.dimension) for layout in layouts]
        """The w of each block."""
        self.up = self.down = 0
        self.shared = SharedBlocks(task.component, n_blocks, self._weights, self.n_examples, True, self._answers)
        """The same blocks for a rule of the package."""

    def __len__(self) -> int:
        return len(self._workers)

    @property
    def dimension(self) -> int:
        """d, the number of all weights."""
        return self._weights.dimension

    def epoch(self, number: int, factor: float) -> list[BlockEpoch]:
        """Epoch `number` on each block; factor: as in `DualSettings`."""
        epochs = self._ask("epoch", [self._epoch(number, block, factor) for block in range(len(self))])
        self.up += nbytes(epochs)
        return epochs

    def step(
        self, number: int, factor: float, epochs: Sequence[BlockEpoch], eta: float, changes: Sequence[SparseVector]
    ) -> None:
        """Move each block's w by η times its change, and its dual variables by η times what its epoch has moved."""
        given = [
            (*self._epoch(number, block, factor), epoch.digest, eta, change.times(eta), False)
            for block, (epoch, change) in enumerate(zip(epochs, changes))
        ]
        self._ask("step", given)
        for w, change in zip(self._own, changes):
            change.add_to(w, eta)

    def send(self, vector: np.ndarray) -> list[SparseVector]:
        """What each block reads of a vector, float64 [d]."""
        parts = [self._weights.part(block, sparse(vector)) for block in range(len(self))]
        self.down += sum(part.nbytes for part in parts)
        return parts

    def sum(self, parts: Sequence[SparseVector]) -> np.ndarray:
        """The sum of the blocks' vectors, float64 [d]."""
        together = np.zeros(self.dimension)
        for block, part in enumerate(parts):
            self._weights.whole(block, part).add_to(together)
        return together

    def dual_sums(self) -> tuple[list[SparseVector], float, float]:
        """Σ α ΔΦ of each block, and Σ αΔ and Σ_i A_i² of all."""
        found = self._ask("ask", [("dual_sum",)] * len(self))
        linear, squares = (math.fsum(sums[k] for sums in found) for k in (1, 2))
        return [part for part, *_ in found], linear, squares

    def squares(self, w: np.ndarray) -> float:
        """Σ ξ² of all examples at w, float64 [d]."""
        parts = [self._weights.part(block, sparse(w)).dense(len(own)) for block, own in enumerate(self._own)]
        changes = [("slacks", difference(part, own)) for part, own in zip(parts, self._own)]
        return math.fsum(part.squares for part in self._ask("ask", changes))

    def score(self, w: np.ndarray) -> float:
        """The score of these weights on the development part, in per cent."""
        self._pipe.trained = replace(self._pipe.trained, training=Present(self._data, w))
        docs = self._pipe.pipe(example.predicted.copy() for example in self._dev)
        examples = [Example(doc, example.reference) for doc, example in zip(docs, self._dev)]
        return 100.0 * float(self._pipe.score(examples)[self._task.score])

    def move_to(self, w: np.ndarray) -> None:
        """Note where a rule of the package has moved all blocks. w: float64 [d]."""
        whole = sparse(w)
        for block, own in enumerate(self._own):
            own[:] = self._weights.part(block, whole).dense(len(own))

    def _epoch(self, number: int, block: int, factor: float) -> tuple[Any, ...]:
        return number, (SEED, number, block), DualSettings(factor)

    def _answers(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> Answers:
        self.down += nbytes(arguments)
        found = [getattr(worker, method)(*given) for worker, given in zip(self._workers, arguments)]
        self.up += nbytes(found)
        return lambda: found

    def _ask(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        return [
            getattr(worker, method)(self._task.component, *given) for worker, given in zip(self._workers, arguments)
        ]
