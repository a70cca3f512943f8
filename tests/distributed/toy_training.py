"""A corpus, workers, commands and results for the tests of training with several workers."""

import sys
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import spacy
from spacy import util
from spacy.language import Language
from spacy.tokens import Doc, DocBin

from spacy_ssvm.distributed.block_worker import BlockWorker, TrainingShard
from spacy_ssvm.distributed.learning import initialized, n_parts, shards_of
from spacy_ssvm.distributed.loop import Checkpoint, run
from spacy_ssvm.distributed.messages import Layout, Setup
from spacy_ssvm.distributed.shared_blocks import Answers, Send
from spacy_ssvm.distributed.shared_training import SharedTraining

from ..corpora import ROOT
from ..pipeline.toy import TREES

CONFIGS = ROOT / "configs"
SMALL = (
    "--components.parser.model.features.hash_bits",
    "12",
    "--components.parser.model.features.label_hash_bits",
    "8",
)
LONG = {"training.max_epochs": 25, "training.patience": 0}
"""Overrides for a run that can be killed before it ends."""


def toy_docs(vocab: Any) -> list[Doc]:
    found = []
    for text, tree in TREES:
        arcs = [part.split(":") for part in tree.split()]
        tags = [label.upper() for label, _ in arcs]
        heads, deps = [int(head) - 1 for _, head in arcs], [label for label, _ in arcs]
        words, morphs = text.split(), ["Root=Yes" if dep == "ROOT" else "" for dep in deps]
        lemmas = [word.lower().removesuffix("s") for word in words]
        analyses = {"tags": tags, "pos": ["X"] * len(tags), "morphs": morphs, "lemmas": lemmas}
        found.append(Doc(vocab, words=words, heads=heads, deps=deps, **analyses))
    return found


def write_corpus(path: Path) -> None:
    """A .spacy file of 24 documents."""
    DocBin(docs=toy_docs(spacy.blank("en").vocab) * 4).to_disk(path)


def arguments(corpus: Path, output: Path, config: str, *options: str) -> list[str]:
    paths = [f"--paths.{part}={corpus}" for part in ("train", "dev")]
    return ["train", str(CONFIGS / f"{config}.cfg"), "--output", str(output), "--workers", "2", *paths, *options]


def long_run(corpus: Path, output: Path, solver: str = "dcd") -> list[str]:
    options = [f"--{setting}={value}" for setting, value in LONG.items()]
    if solver == "dcd":
        options += ["--components.tagger.solver.tolerance", "0"]
    return [sys.executable, "-m", "spacy", "ssvm", *arguments(corpus, output, f"tagger/{solver}", *options)]


def weights_of(output: Path, model: str = "model-last") -> bytes:
    return (output / model / "tagger" / "model").read_bytes()


def shard_of(config: Any, folder: Path, number: int = 0) -> TrainingShard:
    """The whole corpus, as the shard of one worker."""
    config = config.interpolate()
    folder.mkdir(exist_ok=True)
    return TrainingShard(config, (config["corpora"]["train"],), 0, 1, number, folder, Path.cwd())


def in_process(workers: Sequence[BlockWorker]) -> Send:
    """The calls of workers that are objects of this process."""

    def send(method: str, arguments: Sequence[tuple[Any, ...]]) -> Answers:
        found = [getattr(worker, method)(*given) for worker, given in zip(workers, arguments)]
        return lambda: found

    return send


def begun(config: Any, output: Path, n_workers: int, send_by: Any = in_process) -> tuple[Language, Any, Checkpoint]:
    """A pipeline that is initialized by workers of this process, the trainings of its components, and a checkpoint."""
    untrained = util.load_model_from_config(config, auto_fill=True)
    output.mkdir(exist_ok=True)
    checkpoint, names = Checkpoint(output, b"toy"), untrained.pipe_names
    dealt = n_parts(untrained, names, n_workers)
    shards = shards_of(untrained.config.interpolate(), checkpoint, n_workers, dealt)
    send = send_by([BlockWorker(shard) for shard in shards])
    return *initialized(untrained, names, send, shards, checkpoint), checkpoint


def train(config: Any, output: Path, n_workers: int, send_by: Any = in_process) -> dict[str, SharedTraining]:
    """The trainings of a run whose workers are objects of this process."""
    nlp, trainings, checkpoint = begun(config, output, n_workers, send_by)
    run(nlp, trainings, checkpoint, output, StringIO())
    return trainings


def begin(worker: BlockWorker, component: str) -> Layout:
    """Let one worker begin as if it had the whole corpus."""
    survey, codec = worker.survey(component), worker.nlp.get_pipe(component).codec
    setup = Setup(sorted(survey.labels_to_learn()), dict(codec.with_survey(survey).saved.notes), 0)
    return worker.begin(component, setup, worker.encode(component, setup))
