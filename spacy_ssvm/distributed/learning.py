"""Training by the workers of a Ray cluster: `spacy train` with components whose examples lie with workers."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from spacy import util
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from spacy.util import registry

from ..pipeline.component import SsvmPipe
from ..pipeline.ner import SsvmNer
from ..pipeline.parser import SsvmParser
from ..pipeline.senter import SsvmSenter
from ..pipeline.tagger import SsvmTagger
from ..solvers.blocks import kind_of_block
from . import corpus_shards
from .block_worker import BlockWorker, Layout
from .cluster import RESTARTS, TRIES, connected, result_of
from .shared_training import Ask, SharedTraining, common

SHARDS = "shards"
"""The folder of the workers' corpora, in that of the results."""

KINDS = (SsvmTagger, SsvmSenter, SsvmNer, SsvmParser)
"""Components that learn by several workers: what they learn before their solvers can be shared."""


@registry.readers("spacy-ssvm.EpochOfWorkers.v1")  # type: ignore[untyped-decorator]
def epoch_of_workers() -> Callable[[Language], Iterator[Example]]:
    """In place of a training corpus: an example without annotation for each epoch of the workers."""

    def read(nlp: Language) -> Iterator[Example]:
        words = ["x", "y", "z"]
        yield Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words))

    return read


def train_by_workers(config: Any, output: Path, n_workers: int, address: str) -> None:
    """Train a pipeline as `spacy train` does, with each part of the training corpus at one of n workers.

    config: with all overrides. output: the folder for the pipelines. address: of the cluster, as for `apply`.

    Raises:
        ImportError: Ray is not installed.
        ConnectionError: there is no such cluster.
        ValueError: a component, its solver or the corpus is not for several workers.
        WorkerDied: a worker cannot start, or has died.
        OSError: a file cannot be read or written.
    """
    names = _trained(config)
    with connected(address, n_workers) as ray:
        shards = _deal(config, output, n_workers)
        remote = ray.remote(BlockWorker).options(num_cpus=1, max_restarts=RESTARTS, max_task_retries=TRIES - 1)
        workers = [
            remote.remote(_with_corpus(config, {**_reader(config), "path": str(shard)}), shard.parent, number)
            for number, shard in enumerate(shards)
        ]

        def ask(method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
            begun = [getattr(worker, method).remote(*given) for worker, given in zip(workers, arguments)]
            return [result_of(ray, reference, f"a worker died {TRIES} times in {method}") for reference in begun]

        nlp = _initialized(config, names, ask, n_workers)
        own = config.copy()
        train(nlp, output)
        for folder in output.glob("model-*"):
            _restore_config(folder, own)
    shutil.rmtree(output / SHARDS)


def _trained(config: Any) -> list[str]:
    """The components that the config trains.

    Raises:
        ValueError: one of them does not learn by several workers.
    """
    nlp = util.load_model_from_config(config, auto_fill=True)
    frozen = nlp.config.interpolate()["training"]["frozen_components"]
    names = [name for name, pipe in nlp.pipeline if getattr(pipe, "is_trainable", False) and name not in frozen]
    for name in names:
        pipe = nlp.get_pipe(name)
        if not isinstance(pipe, KINDS):
            raise ValueError(
                f"[{name}] does not learn by several workers: ssvm_tagger, ssvm_senter, ssvm_ner and ssvm_parser do. "
                "Name it in training.frozen_components, or train without --workers"
            )
        try:
            kind_of_block(pipe.solver)
        except ValueError as error:
            raise ValueError(f"[{name}] {error}") from None
    if not names:
        raise ValueError("the config trains no component")
    return names


def _initialized(config: Any, names: Sequence[str], ask: Ask, n_workers: int) -> Language:
    """The pipeline, whose components learn by the workers."""
    labels = {name: sorted(set().union(*ask("labels", [(name,)] * n_workers))) for name in names}
    alone = _with_corpus(config, {"@readers": "spacy-ssvm.EpochOfWorkers.v1"})
    for name, found in labels.items():
        settings = alone.setdefault("initialize", {}).setdefault("components", {}).setdefault(name, {})
        settings.setdefault("labels", found)
    nlp = init_nlp(alone)
    seed = nlp.config.interpolate()["training"]["seed"] or 0
    for name in names:
        pipe = nlp.get_pipe(name)
        assert isinstance(pipe, SsvmPipe)
        encoded = ask("encode", [(name, labels[name], seed)] * n_workers)
        shared = np.mean(encoded, axis=0)
        layouts: list[Layout] = ask("begin", [(name, labels[name], seed, shared)] * n_workers)
        weights = common(layouts)
        data = pipe.data_set([], seed).with_common(shared).of_rows(weights.keys, weights.seen)
        n_examples = sum(layout.n_examples for layout in layouts)
        training = SharedTraining(name, pipe.solver.seeded(seed), data, weights, ask, n_examples)
        pipe.learn_by(training, layouts[0].reads)
    return nlp


def _reader(config: Any) -> dict[str, Any]:
    """The settings of the training corpus."""
    section: Any = config.interpolate()
    for part in section["training"]["train_corpus"].split("."):
        section = section[part]
    return dict(section)


def _with_corpus(config: Any, reader: dict[str, Any]) -> Any:
    """The config with another training corpus."""
    changed = config.interpolate()
    *above, last = changed["training"]["train_corpus"].split(".")
    section = changed
    for part in above:
        section = section[part]
    section[last] = reader
    return changed


def _deal(config: Any, output: Path, n_workers: int) -> list[Path]:
    path = _reader(config).get("path")
    if path is None:
        raise ValueError("the reader of the training corpus has no path: several workers need files")
    return corpus_shards.deal(Path(path).resolve(), output.resolve() / SHARDS, n_workers)


def _restore_config(folder: Path, config: Any) -> None:
    """Save the config that was given with a pipeline, in place of the one that it was trained by."""
    saved = util.load_config(folder / "config.cfg")
    for section in ("corpora", "initialize"):
        if section in config:
            saved[section] = config[section]
    saved.to_disk(folder / "config.cfg")
