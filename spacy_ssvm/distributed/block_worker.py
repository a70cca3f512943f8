"""A worker that learns: a shard of the corpus, and a block of examples of it for each component."""

import hashlib
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from spacy import util
from spacy.language import Language
from spacy.training import Example
from spacy.training.initialize import init_vocab
from spacy.util import registry

from ..files import replace_files
from ..memory import is_limited, return_large
from ..models.protocol import Batch, PartlyKnown, Sharded, is_incomplete
from ..models.resources import digest_of_classes
from ..pipeline.codec import Survey
from ..pipeline.complaints import Warnings, projections
from ..pipeline.component import SsvmPipe
from ..pipeline.learning import load_resources
from ..training import state_file
from ..training.examples import BATCH, Unreadable, encode, in_parts, read_examples
from ..wording import name_of
from .messages import BlockEpoch, Layout, Setup, SparseVector, block_epoch
from .rules import rule_of
from .rules.rule import Block, BlockParts, LearningBlock
from .shared_blocks import check_dimension


@dataclass(frozen=True)
class TrainingShard:
    """The part of a corpus that one worker learns from.

    Attributes:
        config: of the pipeline, interpolated.
        parts: the config of a reader for each part of the corpus in the shard.
        first_part: the number of the first one, from 0, among all n_parts.
        number: of the shard, from 0.
        folder: for the files of its state.
        directory: that paths in the config are relative to.
        code_path: of a file with registered functions.
    """

    config: Any
    parts: tuple[Any, ...]
    first_part: int
    n_parts: int
    number: int
    folder: Path
    directory: Path
    code_path: Path | None = None


class _Encoded(NamedTuple):
    """A component's data set, without Docs, and the batches for it.

    Attributes:
        learnt: the numbers of the examples in these.
        digest: of all.
    """

    data: Sharded
    batches: list[Batch]
    learnt: list[int]
    digest: bytes


@dataclass
class _ComponentBlock:
    """A component's block.

    Attributes:
        data: its examples.
        setup, shared: the arguments of `begin`.
        digest: of the examples.
        epochs: the number of epochs whose steps it has taken.
        latest: an epoch that it has run since.
    """

    block: Block
    data: Sharded
    setup: Setup
    shared: np.ndarray
    digest: bytes
    epochs: int = 0
    latest: BlockEpoch | None = None

    def gold(self) -> list[np.ndarray]:
        """The gold structures that may change."""
        return [self.data.gold(doc) for doc in range(len(self.data.docs))] if is_incomplete(self.data) else []


class BlockWorker:
    """Learns from one shard; its methods take the name of the component that is to learn.

    A block's state is written to a file after each step. A worker that replaces a dead one resumes from it. Every
    method may be called again with the same arguments, and then returns the same.
    """

    def __init__(self, shard: TrainingShard) -> None:
        os.chdir(shard.directory)
        if shard.code_path is not None:
            util.import_file("python_code", shard.code_path)
        self._shard = shard
        self.nlp: Language = util.load_model_from_config(shard.config, auto_fill=True)
        _initialize_vocab(self.nlp)
        self._ends: list[int] = []
        """How many examples there are up to the end of each part."""
        self._encoded: dict[str, _Encoded] = {}
        self._begun: dict[str, _ComponentBlock] = {}
        self._warnings: dict[str, list[str]] = {}

    def ready(self) -> None:
        """Returns when the worker has begun."""

    def _examples(self) -> Iterator[Example]:
        """The examples of the shard, the same in each pass."""
        seed = self.nlp.config.interpolate()["training"]["seed"] or 0
        self._ends = []
        n_examples = 0
        for number, reader in enumerate(self._shard.parts, self._shard.first_part):
            # An augmenter may draw random numbers, which are not to be those of the other parts.
            util.fix_random_seed(seed + number)
            for example in registry.resolve({"corpus": reader})["corpus"](self.nlp):
                yield example
                n_examples += 1
            self._ends.append(n_examples)

    def _names(self, numbers: list[int]) -> list[str]:
        """The names of the examples with these numbers."""
        wanted = set(numbers)
        with self.nlp.memory_zone():
            examples = enumerate(self._examples())
            return [name_of(number, example.predicted) for number, example in examples if number in wanted]

    def survey(self, component: str) -> Survey:
        """The survey of the shard's examples, before any is encoded."""
        trained, unreadable = self._pipe(component).trained, Unreadable(component)
        codec, n_examples = trained.codec, 0
        survey = codec.survey([], [])
        with self.nlp.memory_zone():
            for part in in_parts(self._examples()):
                survey.add(read_examples(part, codec, trained.structured, unreadable).survey(codec))
                n_examples += len(part)
            unreadable.report(n_examples)
        return survey

    def encode(self, component: str, setup: Setup) -> np.ndarray:
        """Encode the examples; returns `Sharded.shared` of the shard, which is learnt before the solver learns.

        Raises:
            ValueError: the shard has no examples for the component.
        """
        return_large()
        with self._noting_warnings(component):
            learnt, batches = self._encoded_shard(component, setup)
        if not learnt:
            raise ValueError(
                f"[{component}] there is nothing to learn in part {self._shard.number} of the training corpus, "
                "to which documents are dealt in turn: take fewer workers, or annotate more documents"
            )
        data = self._pipe(component).trained.data_set(batches, setup.seed)
        if not isinstance(data, Sharded):
            raise ValueError(f"[{component}] several workers do not learn models of this kind: use `spacy train`")
        digest = hashlib.sha256()
        for batch in batches:
            digest.update(b"".join(batch.digests()))
        self._encoded[component] = _Encoded(data, batches, learnt, digest.digest())
        return data.shared()

    def _encoded_shard(self, component: str, setup: Setup) -> tuple[list[int], list[Batch]]:
        """The numbers of the examples that there is anything to learn from, ascending, and these as batches, once the
        component has all labels. No example is kept.
        """
        pipe, unreadable = self._pipe(component), Unreadable(component)
        trained = pipe.trained
        load_resources(trained, self.nlp)
        codec = trained.codec.restored(trained.codec.saved._replace(notes=setup.notes))
        trained = trained.with_codec(codec)
        trained = trained.with_labels([label for label in setup.labels if label not in codec.labels])
        codec, learnt, batches = trained.codec, list[int](), list[Batch]()
        n_examples, gaps = 0, codec.gaps({}, {})
        with self.nlp.memory_zone():
            for part in in_parts(self._examples()):
                read = read_examples(part, codec, trained.structured, unreadable)
                encoded = encode(read.annotated(), trained.structured, unreadable, BATCH)
                trained = trained.with_annotation_of([read.examples[number].predicted for number in read.gold])
                learnt += encoded.numbers
                batches += encoded.batches
                gaps.add(codec.gaps(read.examples, read.gold))
                n_examples += len(part)
            unreadable.report(n_examples)
            codec.report_gaps(gaps, Warnings(component))
        pipe.trained = trained
        return learnt, batches

    @contextmanager
    def _noting_warnings(self, component: str) -> Iterator[None]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            yield
        self._warnings.setdefault(component, []).extend(str(warning.message) for warning in caught)

    def begin(self, component: str, setup: Setup, shared: np.ndarray) -> Layout:
        """Take in the examples. shared: the mean of the results of `encode` over all workers.

        Raises:
            ValueError: gold is known in part only, and the block has no epochs in which to complete it.
        """
        if not (self._shard.folder / self._file(component)).is_file():
            self._begun[component] = self._taken_in(component, setup, shared)
            self._save(component)
        begun = self._loaded(component)
        if not isinstance(begun.block, LearningBlock) and is_incomplete(begun.data):
            raise ValueError(
                f"[{component}] several workers do not learn gold annotation that is known in part by "
                f"{type(begun.block.parameters).__name__}: choose DCD"
            )
        data, problem = begun.data, begun.block.problem
        return Layout(
            **data.rows()._asdict(),
            dimension=data.dimension(),
            n_examples=problem.n_examples,
            is_certified=problem.exact and not is_incomplete(data),
            reads=self._pipe(component).trained.record.reads,
            classes=digest_of_classes(self._pipe(component).model),
            warnings=self._warnings[component],
        )

    def epoch(
        self, component: str, number: int, seed: Sequence[int], pace: Any, last_step: Sequence[Any] = ()
    ) -> BlockEpoch:
        """Epoch `number`, from 0, of the block from the common vector.

        Args:
            last_step: the arguments of `step`, after the component, if the block may not have taken the last epoch's
                step.
        """
        if last_step:
            self.step(component, *last_step)
        begun = self._loaded(component)
        if begun.epochs != number:
            raise RuntimeError(
                f"[{component}] a worker is at epoch {begun.epochs}, not {number}: to begin anew, remove "
                f"{self._shard.folder}"
            )
        if begun.latest is None:
            data, block = begun.data, begun.block
            assert isinstance(block, LearningBlock)
            void = data.complete(None, block.weights(block.common)) if is_incomplete(data) else np.zeros(0, np.int64)
            begun.latest = block_epoch(block.epoch(np.random.default_rng(list(seed)), pace, void))
        return begun.latest

    def step(
        self,
        component: str,
        number: int,
        seed: Sequence[int],
        pace: Any,
        digest: bytes,
        eta: float,
        change: SparseVector,
        with_momentum: bool,
    ) -> None:
        """Take the common step of epoch `number`; a worker that has not run the epoch does so.

        Args:
            digest: of the epoch that the block has run.
            eta, change, with_momentum: as of `LearningBlock.step`.

        Raises:
            RuntimeError: the epoch moves something else on this machine than on the one that ran it before.
        """
        begun = self._loaded(component)
        if begun.epochs == number + 1:
            return
        if self.epoch(component, number, seed, pace).digest != digest:
            raise RuntimeError(
                f"[{component}] a worker that takes the place of a dead one has computed other numbers: the machines "
                "differ. Install a wheel with machine code, which is the same on all processors"
            )
        assert isinstance(begun.block, LearningBlock)
        begun.block.step(eta, change, with_momentum)
        begun.epochs, begun.latest = number + 1, None
        self._save(component)

    def ask(self, component: str, method: str, *arguments: Any) -> Any:
        """Call a method of the block that changes nothing."""
        return getattr(self._loaded(component).block, method)(*arguments)

    def _taken_in(self, component: str, setup: Setup, shared: np.ndarray) -> _ComponentBlock:
        if component not in self._encoded:
            self.encode(component, setup)
        found = self._encoded.pop(component)
        data, solver = found.data.with_shared(shared), self._pipe(component).solver
        changed = np.concatenate([data.add(batch) for batch in found.batches])
        with self._noting_warnings(component):
            names_of_parts = self._pipe(component).codec.parts
            Warnings(component)(projections(found.learnt, self._names, data.docs, changed, names_of_parts))
        check_dimension(component, data.dimension())
        ends = np.searchsorted(found.learnt, self._ends)
        parts = [data.docs.examples(docs) for docs in np.split(np.arange(len(found.learnt)), ends[:-1])]
        place = BlockParts(self._shard.first_part, self._shard.n_parts, parts)
        block = rule_of(solver).worker(solver, data.problem(), place)
        return _ComponentBlock(block, data, setup, shared, found.digest)

    def _loaded(self, component: str) -> _ComponentBlock:
        """The component's block, of this worker or from the file of a dead one."""
        if component not in self._begun:
            path = self._shard.folder / self._file(component)
            state = state_file.read(path)
            begun = self._taken_in(component, Setup(**state["setup"]), state["shared"])
            if begun.digest != state["digest"]:
                raise RuntimeError(f"[{component}] {path} is the state of other examples: the corpus has changed")
            begun.block.restore(state["block"])
            for doc, gold in enumerate(state["gold"]):
                assert isinstance(begun.data, PartlyKnown)
                begun.data.set_gold(doc, gold)
            begun.epochs = state["epochs"]
            self._begun[component] = begun
        return self._begun[component]

    def _save(self, component: str) -> None:
        begun = self._begun[component]
        state = {
            "setup": begun.setup._asdict(),
            "shared": begun.shared,
            "digest": begun.digest,
            "epochs": begun.epochs,
            "gold": begun.gold(),
            "block": begun.block.state(),
        }
        replace_files(self._shard.folder, {self._file(component): state_file.parts(state)})

    def _file(self, component: str) -> str:
        return f"{component}-{self._shard.number}.state"

    def _pipe(self, component: str) -> SsvmPipe:
        pipe = self.nlp.get_pipe(component)
        assert isinstance(pipe, SsvmPipe)
        return pipe


class BlockWorkerProcess(BlockWorker):
    """A worker in a process of its own: if its memory is limited, large arrays lie in files of the shard's folder."""

    def __init__(self, shard: TrainingShard) -> None:
        super().__init__(shard)
        if is_limited():
            # Its functions for C import the compiler, which commands and the training process do without.
            from ..kernels.mapped_arrays import map_large_arrays

            map_large_arrays(shard.folder)


def _initialize_vocab(nlp: Language) -> None:
    """Do what `nlp.initialize` does to the vocabulary before it reads the corpus."""
    given = nlp.config.interpolate()["initialize"]
    settings = registry.resolve({name: given[name] for name in ("before_init", "vocab_data", "lookups", "vectors")})
    if settings["before_init"] is not None:
        settings["before_init"](nlp)
    init_vocab(nlp, data=settings["vocab_data"], lookups=settings["lookups"], vectors=settings["vectors"])
