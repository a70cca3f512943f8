"""`spacy ssvm train`: training by the workers of a Ray cluster, some of which are killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from spacy import util
from spacy.tokens import Doc, DocBin
from typer.testing import CliRunner

from spacy_ssvm.cli.app import ssvm
from spacy_ssvm.distributed.block_worker import BlockWorker
from spacy_ssvm.distributed.corpus_shards import deal

from ..pipeline.toy import TREES
from .toy import descendants

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
        found.append(Doc(vocab, words=text.split(), tags=tags, pos=["X"] * len(tags), heads=heads, deps=deps))
    return found


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "train.spacy"
    DocBin(docs=toy_docs(spacy.blank("en").vocab) * 4).to_disk(path)
    return path


def arguments(corpus: Path, output: Path, config: str, *options: str) -> list[str]:
    paths = [f"--paths.{part}={corpus}" for part in ("train", "dev")]
    return ["train", str(CONFIGS / f"{config}.cfg"), "--output", str(output), "--workers", "2", *paths, *options]


def refused(corpus: Path, output: Path, config: str, *options: str) -> str:
    result = CliRunner().invoke(ssvm, arguments(corpus, output, config, *options))
    assert result.exit_code == 1
    return " ".join(result.output.split())


def test_each_document_is_dealt_once(corpus: Path, tmp_path: Path) -> None:
    shards = deal(corpus, tmp_path / "shards", 5)
    vocab = spacy.blank("en").vocab
    found = [doc for shard in shards for doc in DocBin().from_disk(shard).get_docs(vocab)]
    assert sorted(map(str, found)) == sorted(map(str, toy_docs(vocab) * 4))
    assert {len(DocBin().from_disk(shard)) for shard in shards} == {4, 5}
    assert any(token.dep_ == "nsubj" for token in found[0])


def test_corpora_that_cannot_be_dealt_are_refused(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has 24 documents, fewer than the 25 workers"):
        deal(corpus, tmp_path / "shards", 25)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"is no \.spacy file"):
        deal(tmp_path / "empty", tmp_path / "shards", 2)
    (tmp_path / "bad.spacy").write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"bad\.spacy"):
        deal(tmp_path / "bad.spacy", tmp_path / "shards", 2)


@pytest.mark.parametrize("component", ["tagger", "parser"])
def test_a_worker_goes_on_where_a_dead_one_was(corpus: Path, tmp_path: Path, component: str) -> None:
    overrides = {"paths.train": str(corpus), "paths.dev": str(corpus)}
    if component == "parser":
        overrides |= {"components.parser.model.features.hash_bits": 12}
    config = util.load_config(CONFIGS / component / "dcd.cfg", overrides).interpolate()

    def begin(folder: Path) -> BlockWorker:
        folder.mkdir()
        worker = BlockWorker(config, folder, 0)
        labels = worker.labels(component)
        layout = worker.begin(component, labels, 0, worker.encode(component, labels, 0))
        assert layout.n_examples == 24 and layout.dimension > 0
        return worker

    whole, lost = begin(tmp_path / "whole"), begin(tmp_path / "lost")
    for number in range(4):
        seed = (0, number)
        wanted = whole.epoch(component, number, seed)
        found = lost.epoch(component, number, seed)
        assert np.array_equal(found.direction.indices, wanted.direction.indices)
        assert np.array_equal(found.direction.values, wanted.direction.values)
        whole.step(component, number, seed, 0.5, wanted.direction)
        # Dead before the step, and after it, but before it could say so.
        lost = BlockWorker(config, tmp_path / "lost", 0)
        lost.step(component, number, seed, 0.5, wanted.direction)
        lost = BlockWorker(config, tmp_path / "lost", 0)
        lost.step(component, number, seed, 0.5, wanted.direction)
    sums, found_sums = whole.dual_sum(component), lost.dual_sum(component)
    assert np.array_equal(sums[0].values, found_sums[0].values) and sums[1] == found_sums[1]


def test_error_names_the_extra(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert 'pip install "spacy-ssvm[ray]"' in refused(corpus, tmp_path / "out", "tagger/dcd")


def test_what_learns_alone_is_refused(corpus: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    assert "[tagger] its solver, Sgd, does not learn by several workers" in refused(corpus, output, "tagger/sgd")
    assert "[lemmatizer] does not learn by several workers: ssvm_tagger" in refused(corpus, output, "lemmatizer/dcd")


class TestWithRay:
    @pytest.fixture(autouse=True)
    def ray(self) -> None:
        pytest.importorskip("ray")
        if sys.platform != "linux":
            pytest.skip("finds the workers in /proc")

    def test_pipeline_is_that_of_spacy_train(self, corpus: Path, tmp_path: Path) -> None:
        output = tmp_path / "out"
        run = [sys.executable, "-m", "spacy", "ssvm", *arguments(corpus, output, "parser/dcd", *SMALL)]
        done = subprocess.run([*run, "--training.max_epochs", "12"], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "LAS" in done.stdout and "tagger: primal" in done.stdout
        nlp = spacy.load(output / "model-best")
        for doc in toy_docs(nlp.vocab):
            parsed = nlp(Doc(nlp.vocab, words=[token.text for token in doc]))
            assert [token.tag_ for token in parsed] == [token.tag_ for token in doc]
            assert [token.head.i for token in parsed] == [token.head.i for token in doc]
        assert nlp.config["corpora"]["train"]["@readers"] == "spacy-ssvm.Corpus.v1"
        assert "labels" not in nlp.config["initialize"]["components"].get("tagger", {})

    def test_killed_workers_change_nothing(self, corpus: Path, tmp_path: Path) -> None:
        models = []
        for output in (tmp_path / "quiet", tmp_path / "killed"):
            options = ("--training.max_epochs", "25", "--training.patience", "0")
            options += ("--components.tagger.solver.tolerance", "0")
            run = [sys.executable, "-m", "spacy", "ssvm", *arguments(corpus, output, "tagger/dcd", *options)]
            started = subprocess.Popen(run, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            n_killed, deadline = 0, time.monotonic() + 200
            while started.poll() is None and time.monotonic() < deadline:
                time.sleep(0.05)
                names = descendants(started.pid)
                workers = [number for number, name in names.items() if name.startswith("ray::BlockWork")]
                if output.name == "killed" and n_killed < 2 and workers and (output / "model-last").exists():
                    os.kill(workers[n_killed % len(workers)], signal.SIGKILL)
                    n_killed += 1
                    time.sleep(1.0)
            assert started.poll() == 0
            assert n_killed == (2 if output.name == "killed" else 0)
            models.append((output / "model-last" / "tagger" / "model").read_bytes())
        assert models[0] == models[1]
