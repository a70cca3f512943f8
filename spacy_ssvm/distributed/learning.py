"""Training by the workers of a Ray cluster: `spacy train` with components whose examples lie with workers."""

import hashlib
import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce
from itertools import pairwise
from operator import getitem
from pathlib import Path
from typing import Any

import numpy as np
from spacy import util
from spacy.language import Language
from spacy.util import registry
from wasabi import msg

from .. import __version__
from ..models.chain.weights import reads_first_pass
from ..models.protocol import Sharded
from ..models.resources import digest_of_classes, release_tables
from ..pipeline.codec import Survey
from ..pipeline.complaints import Warnings, kept_by_workers
from ..pipeline.component import SsvmPipe
from ..pipeline.training_record import TrainingRecord
from ..training.trainer import Trainer
from .block_worker import BlockWorkerProcess, TrainingShard
from .cluster import RESTARTS, TRIES, await_ready, connected, result_of
from .corpus_shards import CONLLU, DOCBIN, deal, dealt_parts
from .folder import locked
from .loop import Checkpoint, run
from .messages import Layout, Setup
from .rules import rule_of
from .shared_blocks import Answers, Send, SharedBlocks, check_dimension, common
from .shared_training import SharedTraining

N_PARTS = 24
"""Parts of a corpus whose sums are added up in a fixed tree: 24 workers, or a divisor of that, get equal numbers."""

NOT_SHARED = ("tokenizer", "after_init", "init_tok2vec")
"""Settings of [initialize] that are for a pipeline that is initialized, which workers do not have."""


def train_by_workers(config: Any, output: Path, n_workers: int, address: str, code_path: Path | None) -> None:
    """Train a pipeline as `spacy train` does, with each part of the training corpus at one of n workers.

    Resumes an equal run that was ended in this folder.

    Args:
        config: with all overrides, not interpolated.
        output: the folder for the pipelines.
        address: of the cluster, as for `apply`.
        code_path: a file with registered functions, which workers import, too.

    Raises:
        ImportError: Ray is not installed.
        ConnectionError: there is no such cluster.
        BlockingIOError: another run writes to the folder.
        ValueError: a component, its solver, a setting or the corpus is not for several workers.
        WorkerDied: a worker cannot start, or has died several times.
        OSError: a file cannot be read or written.
    """
    complete = util.load_model_from_config(config, auto_fill=True)
    names, filled = _trained(complete), complete.config.interpolate()
    output = output.resolve()
    with connected(address, n_workers) as ray, locked(output):
        checkpoint = Checkpoint(output, _identity(filled, n_workers, code_path))
        shards = shards_of(filled, checkpoint, n_workers, n_parts(complete, names, n_workers), code_path)
        kind = ray.remote(BlockWorkerProcess)
        new_worker = kind.options(num_cpus=1, max_restarts=RESTARTS, max_task_retries=TRIES - 1)
        workers = [new_worker.remote(shard) for shard in shards]
        await_ready(ray, [worker.ready.remote() for worker in workers], n_workers)

        def send(method: str, arguments: Sequence[tuple[Any, ...]]) -> Answers:
            begun = [getattr(worker, method).remote(*given) for worker, given in zip(workers, arguments)]
            failure = f"a worker died {TRIES} times in {method}"
            return lambda: [result_of(ray, reference, failure) for reference in begun]

        try:
            run(*initialized(complete, names, send, shards, checkpoint), checkpoint, output)
            # Ends the workers: they may have begun an epoch, and would write to a folder that is removed.
            ray.shutdown()
        except Exception:
            if not checkpoint.has_epochs():
                checkpoint.remove()
            raise
        finally:
            for saved in output.glob("model-*/config.cfg"):
                complete.config.to_disk(saved, interpolate=False)
        checkpoint.remove()


def _trained(nlp: Language) -> list[str]:
    """The components that the config trains.

    Raises:
        ValueError: one of them, or a setting, is not for several workers.
    """
    config = nlp.config.interpolate()
    settings = config["training"]
    names = [
        name
        for name, pipe in nlp.pipeline
        if getattr(pipe, "is_trainable", False) and name not in settings["frozen_components"]
    ]
    for name in names:
        pipe = nlp.get_pipe(name)
        if "source" in config["components"][name]:
            raise ValueError(f"[{name}] has a source: several workers train components from the beginning only")
        if not isinstance(pipe, SsvmPipe):
            raise ValueError(
                f"[{name}] cannot be trained with several workers: only components of spacy-ssvm can. "
                "Leave it out, or train it with `spacy train`, and source and freeze it here"
            )
        try:
            rule_of(pipe.solver)
        except ValueError as error:
            raise ValueError(f"[{name}] {error}") from None
        if reads_first_pass(pipe.model):
            raise ValueError(f"[{name}] several workers do not learn templates that read doc.label: leave them out")
    if not names:
        raise ValueError("the config trains no component")
    given = [f"initialize.{key}" for key in NOT_SHARED if config["initialize"].get(key)]
    if given:
        raise ValueError(f"{', '.join(given)}: workers have no initialized pipeline to apply it to; use `spacy train`")
    if settings["annotating_components"]:
        raise ValueError(
            "training.annotating_components: several workers do not read the corpus with it yet; use `spacy train`"
        )
    return names


def n_parts(nlp: Language, names: Sequence[str], n_workers: int) -> int:
    """The number of parts to deal the training corpus out in."""
    blocks = [rule_of(nlp.get_pipe(name).solver).worker for name in names]  # type: ignore[attr-defined]
    return N_PARTS if any(block.in_fixed_parts for block in blocks) else n_workers


def initialized(
    untrained: Language, names: Sequence[str], send: Send, shards: Sequence[TrainingShard], checkpoint: Checkpoint
) -> tuple[Language, dict[str, SharedTraining]]:
    """An initialized pipeline whose components learn by the workers, and their trainings by name.

    Args:
        untrained: the same pipeline, not initialized.
    """
    n_workers = len(shards)
    surveys = {name: together(send("survey", [(name,)] * n_workers)()) for name in names}
    alone = untrained.config.interpolate()
    components = alone.setdefault("initialize", {}).setdefault("components", {})
    are_given = {}
    for name in names:
        pipe, given = untrained.get_pipe(name), components.setdefault(name, {})
        assert isinstance(pipe, SsvmPipe)
        # A reader of labels returns None where there is no file.
        are_given[name] = registry.resolve({"labels": given.get("labels")})["labels"] is not None
        if not are_given[name]:
            given["labels"] = surveys[name].new_labels(pipe.labels)
            surveys[name].require_labels(name, [*pipe.labels, *given["labels"]])
    nlp = _initialized_alone(alone)
    settings = nlp.config.interpolate()["training"]
    seed = settings["seed"] or 0
    # The loop ends after the step, from 0, with the number max_steps.
    limits = settings["max_epochs"], settings["max_steps"] and settings["max_steps"] + 1
    max_epochs = min((limit for limit in limits if limit > 0), default=math.inf)
    trainings = {}
    for name in names:
        pipe = nlp.get_pipe(name)
        assert isinstance(pipe, SsvmPipe)
        pipe.codec = pipe.codec.with_survey(surveys.pop(name))
        setup = Setup(list(pipe.labels), dict(pipe.codec.saved.notes), seed)
        shared = np.mean(send("encode", [(name, setup)] * n_workers)(), axis=0)
        layouts: list[Layout] = send("begin", [(name, setup, shared)] * n_workers)()
        for complaint in dict.fromkeys(complaint for layout in layouts for complaint in layout.warnings):
            warnings.warn(complaint, stacklevel=2)
        if {layout.classes for layout in layouts} != {digest_of_classes(pipe.model)}:
            raise ValueError(
                f"[{name}] workers have read other word classes than the driver: files, vectors or lookups differ from "
                "machine to machine"
            )
        weights = common(layouts)
        check_dimension(name, weights.dimension)
        data = pipe.trained.data_set([], seed)
        assert isinstance(data, Sharded)
        data = data.with_shared(shared).of_rows(weights.keys, weights.seen)
        n_examples = sum(layout.n_examples for layout in layouts)
        is_certified = all(layout.is_certified for layout in layouts)
        blocks = SharedBlocks(name, n_workers, weights, n_examples, is_certified, send)
        solver = pipe.solver.seeded(seed)
        driver = rule_of(solver).driver(solver, blocks, shards[0].n_parts)
        training = SharedTraining(solver, data, driver, blocks, partial(checkpoint.save, name), max_epochs)
        state = checkpoint.state(name)
        if state is not None:
            training.restore(state)
        reads = {annotation for layout in layouts for annotation in layout.reads}
        learn_by(pipe, training, TrainingRecord(tuple(sorted(reads)), are_given[name]))
        trainings[name] = training
    for training in trainings.values():
        training.together = list(trainings.values())
    return nlp, trainings


def _initialized_alone(config: Any) -> Language:
    """A pipeline as spaCy's `init_nlp` makes it, but without a training corpus; labels are given."""
    settings = config["training"]
    if settings["seed"] is not None:
        util.fix_random_seed(settings["seed"])
    sourced = util.get_sourced_components(config)
    nlp = util.load_model_from_config(config, auto_fill=True)
    # Those with a source that are not frozen have nothing to train.
    with nlp.select_pipes(disable=[*settings["frozen_components"], *sourced]):
        nlp.initialize()
    return nlp


def learn_by(pipe: SsvmPipe, training: Trainer, record: TrainingRecord) -> None:
    """Let a component learn by this training: its `update` asks for an epoch. record: the facts of this training."""
    Warnings(pipe.name)(kept_by_workers(pipe.settings))
    release_tables(pipe.model, pipe.vocab)
    pipe.trained = replace(pipe.trained, training=training, record=record, awaits_update=False)


def together(surveys: Sequence[Survey]) -> Survey:
    """The survey of all examples: the first survey, with the others added."""
    survey, *others = surveys
    for other in others:
        survey.add(other)
    return survey


def _identity(config: Any, n_workers: int, code_path: Path | None) -> bytes:
    """A digest of all inputs of a run: the interpolated config, and the present state of all files that it names."""
    digest = hashlib.sha256(f"{__version__} {n_workers} {config.to_str()}".encode())
    for path in [*sorted(_paths(config)), *([code_path] if code_path else [])]:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            found = file.stat()
            digest.update(f"{file} {found.st_size} {found.st_mtime_ns}".encode())
    return digest.digest()


def _paths(value: Any) -> set[Path]:
    """The files and folders that are named anywhere in a config."""
    if isinstance(value, dict):
        return set().union(*map(_paths, value.values()))
    if isinstance(value, list | tuple):
        return set().union(*map(_paths, value))
    return {Path(value)} if isinstance(value, str) and value and Path(value).exists() else set()


def _reader(config: Any) -> dict[str, Any]:
    """The config of the training corpus.

    Raises:
        ValueError: it is no block of its own, or has no path.
    """
    name = config["training"]["train_corpus"]
    *above, last = name.split(".")
    reader = reduce(getitem, above, config).get(last)
    if not isinstance(reader, dict):
        raise ValueError(f"training.train_corpus: {name} is no block of its own")
    if not reader.get("path"):
        raise ValueError(
            "the training corpus has no path: give --paths.train a .spacy or .conllu file, or a folder of them"
        )
    return reader


def shards_of(
    config: Any, checkpoint: Checkpoint, n_workers: int, n_parts: int, code_path: Path | None = None
) -> list[TrainingShard]:
    """The workers' shards of the training corpus, as an earlier run has dealt it out, or newly.

    Args:
        config: of the pipeline, interpolated.
        n_parts: to deal it out in; fewer if there are fewer documents.

    Raises:
        ValueError: the corpus has no path, no files of a format that is read, or fewer parts than there are workers.
        OSError: the folder cannot be written to.
    """
    reader, folder = _reader(config), checkpoint.folder
    if checkpoint.exists():
        msg.info(f"Going on with the run that was ended in {folder.parent}")
    else:
        checkpoint.remove()
        folder.mkdir()
        limit = reader.get("limit") or 0
        # spaCy's own reader reads no CoNLL-U.
        formats = (DOCBIN,) if reader["@readers"] == "spacy.Corpus.v1" else (DOCBIN, CONLLU)
        is_by_sentence = bool(reader.get("gold_preproc"))
        dealt = deal(Path(reader["path"]), folder, n_parts, limit if limit > 0 else None, formats, is_by_sentence)
        if len(dealt) < n_workers:
            checkpoint.remove()
            raise ValueError(f"{reader['path']} has {len(dealt)} parts, fewer than the {n_workers} workers")
        checkpoint.begin()
    paths = dealt_parts(folder)
    n_parts = len(paths)
    without_limit = {"limit": 0} if "limit" in reader else {}
    parts = [{**reader, "path": str(path), **without_limit} for path in paths]
    bounds = [worker * n_parts // n_workers for worker in range(n_workers + 1)]
    code = code_path and code_path.resolve()
    return [
        TrainingShard(config, tuple(parts[first:end]), first, n_parts, number, folder, Path.cwd(), code)
        for number, (first, end) in enumerate(pairwise(bounds))
    ]
