"""The workers of `spacy ssvm train` on this machine, and the pipeline that learns by them."""

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from spacy import util
from spacy.language import Language
from spacy.tokens import DocBin
from spacy.training import Example

from spacy_ssvm.distributed.block_worker import BlockWorker, TrainingShard
from spacy_ssvm.distributed.checkpoint import Checkpoint
from spacy_ssvm.distributed.cluster import connected
from spacy_ssvm.distributed.learning import initialized, shards_of
from spacy_ssvm.distributed.messages import Layout
from spacy_ssvm.distributed.shared_blocks import Answers, Send

from .simulated_network import Call, size

CONFIGS = Path(__file__).resolve().parents[3] / "configs"


@dataclass(frozen=True)
class Task:
    """What is learnt.

    config: in `configs`, such as tagger/dcd. component: its name there. limit: of documents; 0: all. others: settings
    that differ from those of the config, with dots in their names.
    """

    config: str
    component: str
    corpus: Path
    limit: int = 0
    others: dict[str, Any] = field(default_factory=dict)

    def settings(self, train: Path) -> Any:
        """The config, whose training corpus is this file."""
        given = {"paths.train": str(train), "paths.dev": str(self.corpus), "training.accumulate_gradient": 1}
        given |= {"corpora.train.limit": self.limit}
        return util.load_config(CONFIGS / f"{self.config}.cfg", given | self.others)


def n_tokens(corpus: Path, limit: int = 0) -> int:
    """Of the first documents of a .spacy file."""
    return sum(map(len, DocBin().from_disk(corpus).tokens[: limit or None]))


class Asked(NamedTuple):
    """A round of calls to all workers. seconds: of the CPU. down, up: bytes of the arguments and of the results."""

    method: str
    seconds: float
    down: int
    up: int


class Watched:
    """Calls workers of this process, and notes what has been asked in `rounds`. layouts: those of the blocks."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self.rounds: list[Asked] = []
        self.layouts: list[Layout] = []
        self._calls = calls

    def send(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> Answers:
        """Let the workers call this method in turn, so that each has the machine for itself."""
        begin = time.process_time()
        results = [call(method, given) for call, given in zip(self._calls, arguments)]
        seconds = time.process_time() - begin
        self.rounds.append(Asked(method, seconds, size(list(arguments)), size(results)))
        if method == "begin":
            self.layouts = results
        return lambda: results


def n_weights(layouts: Sequence[Layout]) -> int:
    """The number of the weights of all blocks."""
    first = layouts[0]
    if not len(first.keys):
        return first.dimension
    return first.first + first.width * len(np.unique(np.concatenate([layout.keys for layout in layouts])))


class Workers(NamedTuple):
    """The workers of a task. calls: of each. shards: of each. checkpoint: where the driver keeps its state."""

    calls: list[Call]
    shards: list[TrainingShard]
    checkpoint: Checkpoint


@contextmanager
def dealt(task: Task, n_workers: int) -> Iterator[tuple[list[TrainingShard], Checkpoint]]:
    """The parts of a task's corpus, in a folder that is there for so long."""
    with tempfile.TemporaryDirectory() as name:
        checkpoint = Checkpoint(Path(name), b"")
        yield shards_of(task.settings(task.corpus).interpolate(), checkpoint, n_workers, n_workers), checkpoint


@contextmanager
def objects(task: Task, n_workers: int) -> Iterator[Workers]:
    """Workers that are objects of this process."""
    with dealt(task, n_workers) as (shards, checkpoint):

        def call_of(worker: BlockWorker) -> Call:
            return lambda method, given: getattr(worker, method)(*given)

        yield Workers([call_of(BlockWorker(shard)) for shard in shards], shards, checkpoint)


@contextmanager
def processes(task: Task, n_workers: int) -> Iterator[Workers]:
    """Workers that are processes of Ray."""
    with dealt(task, n_workers) as (shards, checkpoint), connected("local", n_workers) as ray:
        new_worker = ray.remote(BlockWorker).options(num_cpus=1)

        def call_of(worker: Any) -> Call:
            return lambda method, given: ray.get(getattr(worker, method).remote(*given))

        yield Workers([call_of(new_worker.remote(shard)) for shard in shards], shards, checkpoint)


def pipeline(task: Task, workers: Workers, send: Send) -> Language:
    """The pipeline, whose component learns by the workers."""
    untrained = util.load_model_from_config(task.settings(task.corpus), auto_fill=True)
    return initialized(untrained, [task.component], send, workers.shards, workers.checkpoint)[0]


def learn_epoch(nlp: Language, component: str, clock: Callable[[], float]) -> float:
    """An epoch of all workers; its seconds by this clock."""
    doc = nlp.make_doc("x")
    begin = clock()
    # Whatever the example is, the workers learn from theirs.
    nlp.get_pipe(component).update([Example(doc, doc.copy())])  # type: ignore[attr-defined]
    return clock() - begin
