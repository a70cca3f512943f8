"""Train and score the pipelines of treebanks: TRAINING METRICS ASSETS PART JOBS TREEBANK … [--section.key value …].

PART is dev, which also trains where there is no pipeline, or test, which only scores. JOBS: how many treebanks are
worked on at a time, by processes of this machine, or with --address by the workers of a Ray cluster, which have all
folders at the same paths. Overrides of the config come last.

TRAINING/TREEBANK/STRUCTURE has a pipeline and its `record.json`: what its training took, and its scores; beside it,
`STRUCTURE.log` has the output of the training. What is there stays, and an interrupted run goes on with what is
missing. METRICS/TREEBANK.jsonl has the record of the structure that is chosen on the development set, and in
`structures` those of all.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import spacy
import srsly

from spacy_ssvm.cli.corpus_choices import choose
from spacy_ssvm.corpus.description import describe
from spacy_ssvm.distributed.cluster import map_unordered
from spacy_ssvm.files import replace_files

from .locate import locate, part
from .scores import f1_on_text, f1_on_words, tokens_per_second
from .structures import NO_PARSER, chosen, compared, overrides

SCORES = {"gold": f1_on_words, "raw": f1_on_text, "tokens_per_second": tokens_per_second}
"""What a part of a record has → how it is computed from the pipeline and a .conllu file."""
MODEL, RECORD = "model-best", "record.json"


def cpu_seconds() -> float:
    """Of all commands that are done, and of their children."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run_spacy(*command: str, log: Path) -> None:
    """Run a command of spaCy's; its output goes to `log`.

    Raises:
        RuntimeError: it failed.
    """
    with log.open("w") as output:
        done = subprocess.run([sys.executable, "-m", "spacy", *command], stdout=output, stderr=subprocess.STDOUT)
    if done.returncode:
        raise RuntimeError(f"`spacy {command[0]}` ended with exit code {done.returncode}: its output is in {log}")


def structures(corpus: Path) -> list[str]:
    """The structures to train on this training file."""
    treebank = describe(corpus, None)
    return compared(treebank.crossing) if "parser" in choose(treebank).components else [NO_PARSER]


def train(config: Path, folder: Path, settings: list[str]) -> None:
    """Train a pipeline into a folder, which appears when all is done. settings: overrides of the config."""
    unfinished = folder.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    before, log = cpu_seconds(), folder.with_suffix(".log")
    print(f"{folder}: training; its output is in {log}", flush=True)
    run_spacy("train", str(config), "--output", str(unfinished), *settings, log=log)
    seconds = cpu_seconds() - before
    size = sum(file.stat().st_size for file in (unfinished / MODEL).rglob("*") if file.is_file())
    srsly.write_json(unfinished / RECORD, {"cpu_seconds": round(seconds, 1), "megabytes": round(size / 1e6, 2)})
    shutil.rmtree(unfinished / "model-last", ignore_errors=True)
    unfinished.rename(folder)


def score(folder: Path, name: str, corpus: Path) -> dict[str, Any]:
    """The record of a pipeline, with all scores of this part: those that were missing are computed and saved."""
    record = srsly.read_json(folder / RECORD)
    found = record.setdefault(name, {})
    if missing := [kind for kind in SCORES if kind not in found]:
        print(f"{folder}: {', '.join(missing)} of {corpus.name}", flush=True)
        nlp = spacy.load(folder / MODEL)
        found |= {kind: SCORES[kind](nlp, corpus) for kind in missing}
        replace_files(folder, {RECORD: srsly.json_dumps(record, indent=2).encode()})
    return record


def build(source: str, name: str, training: Path, metrics: Path, assets: Path, settings: list[str]) -> None:
    """Bring the pipelines and the row of a treebank up to date."""
    prefix = locate(source, assets)
    treebank = prefix.name.removesuffix("-ud")
    folder, corpus, held_out = training / treebank, part(prefix, "train"), part(prefix, "dev")
    names = structures(corpus)
    if missing := [structure for structure in names if not (folder / structure).exists()]:
        if name == "test":
            raise ValueError(f"{source} has no pipeline {folder / missing[0]}: run the workflow `all` first")
        config = folder / "config.cfg"
        folder.mkdir(parents=True, exist_ok=True)
        log = folder / "config.log"
        run_spacy("ssvm", "init-config", str(config), "--treebank", str(corpus), "--force", log=log)
        for structure in missing:
            train(config, folder / structure, [*overrides(structure), *settings])
    records = {structure: score(folder / structure, "dev", held_out) for structure in names}
    best = chosen(records)
    if name != "dev":
        records[best] = score(folder / best, name, part(prefix, name))
    row = {"prefix": treebank, "structure": best, **records[best], "structures": records}
    replace_files(metrics, {f"{treebank}.jsonl": srsly.json_dumps(row).encode() + b"\n"})


def builds(
    name: str, training: Path, metrics: Path, assets: Path, settings: list[str], directory: Path
) -> Callable[[str], tuple[str, str | None]]:
    """A function that brings a treebank up to date; it returns the treebank, and its error if it failed."""
    # Workers of a cluster begin in another folder.
    os.chdir(directory)

    def attempt(source: str) -> tuple[str, str | None]:
        try:
            build(source, name, training, metrics, assets, settings)
        except Exception as error:
            return source, str(error)
        return source, None

    return attempt


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for folder in ("training", "metrics", "assets"):
        parser.add_argument(folder, type=Path)
    parser.add_argument("part", choices=["dev", "test"])
    parser.add_argument("jobs", type=int)
    parser.add_argument("treebanks", nargs="+")
    parser.add_argument("--address", nargs="?")
    given, settings = parser.parse_known_args()
    begin = partial(builds, given.part, given.training, given.metrics, given.assets, settings, Path.cwd())
    # Processes, since the CPU seconds of a command are those that its process's children have taken meanwhile.
    done = map_unordered(begin(), begin, dict.fromkeys(given.treebanks), given.jobs, given.address, str)
    failed = {source: error for source, error in done if error is not None}
    for source, error in failed.items():
        print(f"{source}: {error}", file=sys.stderr)
    if failed:
        sys.exit(1)


if __name__ == "__main__":
    main()
