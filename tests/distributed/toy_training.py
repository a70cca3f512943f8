"""A corpus, commands and results for the tests of training with several workers."""

import sys
from pathlib import Path
from typing import Any

import spacy
from spacy.tokens import Doc, DocBin

from spacy_ssvm.distributed.block_worker import BlockWorker
from spacy_ssvm.distributed.messages import Layout, Setup

from ..pipeline.toy import TREES

CONFIGS = Path(__file__).parents[2] / "configs"
SMALL = (
    "--components.parser.model.features.hash_bits",
    "12",
    "--components.parser.model.features.label_hash_bits",
    "8",
)


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
    options = ["--training.max_epochs", "25", "--training.patience", "0"]
    if solver == "dcd":
        options += ["--components.tagger.solver.tolerance", "0"]
    return [sys.executable, "-m", "spacy", "ssvm", *arguments(corpus, output, f"tagger/{solver}", *options)]


def weights_of(output: Path, model: str = "model-last") -> bytes:
    return (output / model / "tagger" / "model").read_bytes()


def begin(worker: BlockWorker, component: str) -> Layout:
    """Let one worker begin as if it had the whole corpus."""
    survey, codec = worker.survey(component), worker._pipe(component).codec
    setup = Setup(sorted(survey.labels_to_learn()), dict(codec.with_survey(survey).saved.notes), 0)
    return worker.begin(component, setup, worker.encode(component, setup))
