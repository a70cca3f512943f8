"""What `[initialize]` gives to the vocabulary, and so to features, of a pipeline and its workers."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
import srsly
from spacy import util
from spacy.tokens import Doc, DocBin
from spacy.training.initialize import init_nlp

from spacy_ssvm.distributed.block_worker import BlockWorker
from spacy_ssvm.distributed.learning import train_by_workers
from spacy_ssvm.distributed.shared_blocks import Send
from spacy_ssvm.models.resources import digest_of_classes

from .toy_training import CONFIGS, begin, begun, in_process, shard_of, toy_docs, write_corpus

CODE = """
import spacy
from spacy.lookups import Lookups


@spacy.registry.callbacks("toy-workers.Norm.v1")
def norm():
    def set_norm(nlp):
        nlp.vocab["The"].norm_ = "determiner"

    return set_norm


@spacy.registry.misc("toy-workers.Clusters.v1")
def clusters():
    lookups = Lookups()
    lookups.add_table("lexeme_cluster", {"the": 0b1, "The": 0b1, "dog": 0b110, "cat": 0b110, "sleeps": 0b010})
    return lookups
"""


pytest.importorskip("sklearn")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a corpus, vectors of most of its words, attributes of two words, and code."""
    write_corpus(tmp_path / "train.spacy")
    nlp = spacy.blank("en")
    docs = list(DocBin().from_disk(tmp_path / "train.spacy").get_docs(nlp.vocab))
    words, rng = sorted({token.text for doc in docs for token in doc}), np.random.default_rng(0)
    vectors = spacy.blank("en")
    for word in words[1:]:
        vectors.vocab.set_vector(word, rng.normal(size=8).astype(np.float32))
    vectors.to_disk(tmp_path / "vectors")
    srsly.write_jsonl(tmp_path / "vocab.jsonl", [{"orth": words[0], "norm": "zero"}, {"orth": words[1], "norm": "one"}])
    (tmp_path / "code.py").write_text(CODE)
    util.import_file("python_code", tmp_path / "code.py")
    return tmp_path


def config_of(place: Path) -> Any:
    """Features of vectors, a table of clusters, and norms; L-BFGS, whose weights do not depend on workers."""
    train = {"paths.train": str(place / "train.spacy"), "paths.dev": str(place / "train.spacy")}
    config = util.load_config(CONFIGS / "tagger" / "dcd.cfg", train)
    config["training"] |= {"max_epochs": 4, "patience": 0}
    config["components"]["tagger"]["solver"] = {"@ssvm_solvers": "spacy-ssvm.LBFGS.v1"}
    features = config["components"]["tagger"]["model"]["features"]
    features["clusters"] = {"table": {"@misc": "spacy-ssvm.LookupsClusters.v1"}}
    features["classes"] = {"vectors": {"@misc": "spacy-ssvm.VectorClasses.v1", "n_classes": 5}}
    features["extra"] = ["norm[0]"]
    config["initialize"] |= {
        "vectors": str(place / "vectors"),
        "vocab_data": str(place / "vocab.jsonl"),
        "lookups": {"@misc": "toy-workers.Clusters.v1"},
        "before_init": {"@callbacks": "toy-workers.Norm.v1"},
    }
    return config


def worker_of(place: Path, config: Any) -> BlockWorker:
    """A worker that learns from the whole corpus."""
    return BlockWorker(shard_of(config, place / "state"))


def test_a_worker_has_the_features_of_the_pipeline(place: Path) -> None:
    nlp, worker = init_nlp(config_of(place)), worker_of(place, config_of(place))
    pipe: Any = nlp.get_pipe("tagger")
    layout = begin(worker, "tagger")
    assert worker.nlp.get_pipe("tagger").labels == pipe.labels
    assert layout.classes == digest_of_classes(pipe.model)
    sources = pipe.model.attrs["clusters"]["sources"]
    assert len(sources) == 2 and all(len(names) > 1 for names, _ in sources.values())
    keys = pipe.trained.training.data.rows()[0]
    assert len(keys) and np.array_equal(np.sort(layout.keys), np.sort(keys))


def test_a_worker_has_the_lexemes_of_the_pipeline(place: Path) -> None:
    """Without vectors, as spaCy drops the attributes of lexemes when it loads these."""
    config = config_of(place)
    config["initialize"]["vectors"] = None
    del config["components"]["tagger"]["model"]["features"]["classes"]["vectors"]
    nlp, worker = init_nlp(config), worker_of(place, config)
    assert {lexeme.norm_ for lexeme in worker.nlp.vocab} >= {"zero", "one", "determiner"}
    pipe: Any = nlp.get_pipe("tagger")
    layout = begin(worker, "tagger")
    assert np.array_equal(np.sort(layout.keys), np.sort(pipe.trained.training.data.rows()[0]))


def test_workers_with_other_classes_are_refused(place: Path, tmp_path: Path) -> None:
    def send_by(workers: Sequence[BlockWorker]) -> Send:
        workers[1].nlp.vocab.lookups.get_table("lexeme_cluster").set("cat", 0b1)
        return in_process(workers)

    with pytest.raises(ValueError, match=r"\[tagger\] workers have read other word classes than the driver"):
        begun(config_of(place), tmp_path, 2, send_by)


def test_callbacks_after_initialization_are_refused(place: Path) -> None:
    config = config_of(place)
    config["initialize"] |= {"after_init": {"@callbacks": "toy-workers.Norm.v1"}, "init_tok2vec": "tok2vec.bin"}
    with pytest.raises(ValueError, match=r"after_init, initialize\.init_tok2vec: workers have no initialized"):
        train_by_workers(config, place / "out", 1, "local", None)


@pytest.mark.slow
@pytest.mark.usefixtures("ray")
def test_workers_learn_what_one_process_learns(place: Path) -> None:
    """Up to rounding, as L-BFGS does."""
    config_of(place).to_disk(place / "config.cfg")
    found = []
    for command in (["train"], ["ssvm", "train", "--workers", "2"]):
        output = place / command[0]
        run = [sys.executable, "-m", "spacy", *command, str(place / "config.cfg"), "--output", str(output)]
        code = "--code", str(place / "code.py")
        done = subprocess.run([*run, *code], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        found.append(spacy.load(output / "model-last"))
        assert found[-1].vocab.vectors.shape == found[0].vocab.vectors.shape
        assert not found[-1].vocab.lookups.has_table("lexeme_cluster")
    alone, shared = pipes = [nlp.get_pipe("tagger") for nlp in found]
    assert digest_of_classes(shared.model) == digest_of_classes(alone.model)
    assert shared.count_weights()[0] == alone.count_weights()[0]
    for doc in toy_docs(found[0].vocab):
        words = [token.text for token in doc]
        analyses = [pipe.kbest(Doc(nlp.vocab, words=words), 5) for nlp, pipe in zip(found, pipes)]
        scores, tags = zip(*([list(part) for part in zip(*best)] for best in analyses))
        np.testing.assert_allclose(*scores, atol=1e-3)
        assert tags[0][0] == tags[1][0] == [token.tag_ for token in doc]
    meta = [json.loads((place / command / "model-last" / "meta.json").read_text()) for command in ("train", "ssvm")]
    assert meta[0]["performance"]["tag_acc"] == meta[1]["performance"]["tag_acc"] == 1.0
