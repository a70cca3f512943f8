"""`spacy ssvm train`: training by the workers of a Ray cluster, some of which are killed."""

import gc
import signal
import subprocess
import sys
import time
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from spacy import util
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.training.initialize import init_nlp

from spacy_ssvm.corpus.reader import SentenceCorpus
from spacy_ssvm.distributed.block_worker import BlockWorker, TrainingShard
from spacy_ssvm.distributed.corpus_shards import DOCBIN, deal, dealt_parts
from spacy_ssvm.distributed.messages import Setup
from spacy_ssvm.distributed.rules.dual import DualSettings
from spacy_ssvm.distributed.rules.mean import DescentSettings
from spacy_ssvm.distributed.shared_blocks import Send

from ..cli.calling import refusal
from .toy import descendants, send
from .toy_training import (
    CONFIGS,
    LONG,
    SMALL,
    arguments,
    begin,
    begun,
    in_process,
    long_run,
    shard_of,
    toy_docs,
    train,
    weights_of,
    write_corpus,
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "train.spacy"
    write_corpus(path)
    return path


def refused(corpus: Path, output: Path, config: str, *options: str) -> str:
    return refusal(*arguments(corpus, output, config, *options))


def test_each_document_is_dealt_once(corpus: Path, tmp_path: Path) -> None:
    shards = deal(corpus, tmp_path, 5)
    vocab = spacy.blank("en").vocab
    found = [doc for shard in shards for doc in DocBin().from_disk(shard).get_docs(vocab)]
    assert sorted(map(str, found)) == sorted(map(str, toy_docs(vocab) * 4))
    assert {len(DocBin().from_disk(shard)) for shard in shards} == {4, 5}
    assert any(token.dep_ == "nsubj" for token in found[0])
    assert sum(len(DocBin().from_disk(shard)) for shard in deal(corpus, tmp_path / "few", 3, limit=7)) == 7


def test_parts_of_several_files_are_read_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vocab = spacy.blank("en").vocab
    (tmp_path / "corpus").mkdir()
    texts = [f"word{number} ." for number in range(20)]
    for first in range(0, 20, 4):
        docs = [Doc(vocab, words=text.split()) for text in texts[first : first + 4]]
        DocBin(docs=docs).to_disk(tmp_path / "corpus" / f"{first:02}.spacy")
    monkeypatch.setattr("spacy_ssvm.distributed.corpus_shards.ENOUGH", 6)
    parts = deal(tmp_path / "corpus", tmp_path / "dealt", 3)
    assert parts == dealt_parts(tmp_path / "dealt")
    for number, part in enumerate(parts):
        files = sorted(part.iterdir())
        assert len(files) > 1
        stored = [DocBin().from_disk(file) for file in files]
        assert [doc.text.strip() for bin in stored for doc in bin.get_docs(vocab)] == texts[number::3]
        # Of the files that the documents come from, and of no others.
        assert all("word0" not in bin.strings for bin in stored[1:])


SENTENCE = "1\tOne{0}\t_\tNUM\t_\t_\t0\troot\t_\t_\n2\t.\t_\tPUNCT\t_\t_\t1\tpunct\t_\t_\n\n"
"""In CoNLL-U, to be given a number."""


@pytest.mark.parametrize("mark", ["# newpar", "# newdoc id = a", ""])
def test_texts_of_conllu_files_stay_together(tmp_path: Path, mark: str) -> None:
    rows = [(f"{mark}\n" if mark and number % 7 == 3 else "") + SENTENCE.format(number) for number in range(64)]
    (tmp_path / "corpus").mkdir()
    for name, first in ("a", 0), ("b", 33):
        (tmp_path / "corpus" / f"{name}.conllu").write_text("".join(rows[first : first + 33]))
    nlp = spacy.blank("en")

    def read(path: Path) -> list[str]:
        return [example.reference.text for example in SentenceCorpus(path, gold_preproc=False)(nlp)]

    whole, limited = read(tmp_path / "corpus"), deal(tmp_path / "corpus", tmp_path / "few", 2, limit=5)
    assert len(whole) > 6
    for number, part in enumerate(deal(tmp_path / "corpus", tmp_path / "dealt", 3)):
        assert read(part) == whole[number::3]
    assert [read(part) for part in limited] == [whole[0:5:2], whole[1:5:2]]


def test_corpora_that_cannot_be_dealt_are_refused(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"is no \.spacy or \.conllu file"):
        deal(tmp_path / "empty", tmp_path, 2)
    with pytest.raises(ValueError, match=r"train\.conllu is no \.spacy file, and no folder of them: convert"):
        deal(tmp_path / "train.conllu", tmp_path, 2, formats=[DOCBIN])
    (tmp_path / "bad.spacy").write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"bad\.spacy"):
        deal(tmp_path / "bad.spacy", tmp_path, 2)


def shard(corpus: Path, folder: Path, component: str, solver: str = "dcd", **overrides: Any) -> TrainingShard:
    given = {"paths.train": str(corpus), "paths.dev": str(corpus), **overrides}
    if component == "parser":
        given |= {"components.parser.model.features.hash_bits": 12}
    return shard_of(util.load_config(CONFIGS / component / f"{solver}.cfg", given), folder)


some_components = pytest.mark.parametrize(
    "component",
    ["parser", *(pytest.param(name, marks=pytest.mark.slow) for name in ("tagger", "morphologizer", "lemmatizer"))],
)


def begun_worker(shard: TrainingShard, component: str) -> BlockWorker:
    worker = BlockWorker(shard)
    layout = begin(worker, component)
    # Each token is an example of a lemmatizer.
    assert layout.n_examples == (88 if component == "lemmatizer" else 24) and layout.dimension > 0
    return worker


@some_components
def test_a_worker_goes_on_where_a_dead_one_was(corpus: Path, tmp_path: Path, component: str) -> None:
    whole = begun_worker(shard(corpus, tmp_path / "whole", component), component)
    its_shard = shard(corpus, tmp_path / "lost", component)
    lost = begun_worker(its_shard, component)
    for number in range(2):
        seed, pace = (0, number), DualSettings(2.0, 0.2 * number)
        epoch = whole.epoch(component, number, seed, pace)
        # Called twice, as when the answer was lost.
        assert whole.epoch(component, number, seed, pace) is epoch
        found = lost.epoch(component, number, seed, pace)
        assert found.digest == epoch.digest and found.moved.sums == epoch.moved.sums
        arguments = component, number, seed, pace, epoch.digest, 0.5, epoch.moved.direction, True
        whole.step(*arguments)
        # Dead before the step, and after it, but before it could say so.
        lost = BlockWorker(its_shard)
        lost.step(*arguments)
        lost = BlockWorker(its_shard)
        lost.step(*arguments)
    sums, found_sums = (worker.ask(component, "dual_sum") for worker in (whole, lost))
    assert sums[0].digest() == found_sums[0].digest() and sums[1] == found_sums[1]


def test_states_of_other_epochs_examples_and_numbers_are_refused(corpus: Path, tmp_path: Path) -> None:
    its_shard = shard(corpus, tmp_path, "tagger")
    worker = begun_worker(its_shard, "tagger")
    with pytest.raises(RuntimeError, match="is at epoch 0, not 3: to begin anew"):
        worker.epoch("tagger", 3, (0,), DualSettings())
    epoch = worker.epoch("tagger", 0, (0,), DualSettings())
    with pytest.raises(RuntimeError, match="has computed other numbers"):
        worker.step("tagger", 0, (0,), DualSettings(), b"", 1.0, epoch.moved.direction, True)
    other = BlockWorker(shard(corpus, tmp_path, "tagger", **{"corpora.train.limit": 20}))
    with pytest.raises(RuntimeError, match="is the state of other examples"):
        other.epoch("tagger", 0, (0,), DualSettings())


def test_a_successor_descends_at_the_common_rate(corpus: Path, tmp_path: Path) -> None:
    its_shard = shard(corpus, tmp_path, "tagger", "sgd")
    worker = begun_worker(its_shard, "tagger")
    trials = worker.ask("tagger", "trials", 2.0)
    assert np.array_equal(BlockWorker(its_shard).ask("tagger", "trials", 2.0), trials)
    for number in range(3):
        settings = "tagger", number, (0, number), DescentSettings(2.0, 0.125)
        epoch, successor = worker.epoch(*settings), BlockWorker(its_shard)
        found = successor.epoch(*settings)
        assert found.digest == epoch.digest and found.moved.loss == epoch.moved.loss
        worker.step(*settings, epoch.digest, 0.5, epoch.moved.direction, True)


@some_components
def test_examples_are_let_go_once_they_are_encoded(
    corpus: Path, tmp_path: Path, component: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[weakref.ref[Doc]] = []
    init = Example.__init__

    def noting(self: Example, predicted: Doc, reference: Doc, **settings: Any) -> None:
        init(self, predicted, reference, **settings)
        read.extend(map(weakref.ref, (predicted, reference)))

    monkeypatch.setattr("spacy_ssvm.corpus.reader.Example", type("Noting", (Example,), {"__init__": noting}))
    begun_worker(shard(corpus, tmp_path, component), component)
    gc.collect()
    assert len(read) > 48 and not any(doc() for doc in read)


def lemmatizer(docs: list[Doc], folder: Path, **initialize: Any) -> Any:
    """The config of a lemmatizer, whose training corpus has these Docs; initialize: its settings there."""
    DocBin(docs=docs).to_disk(folder / "words.spacy")
    paths = {f"paths.{part}": str(folder / "words.spacy") for part in ("train", "dev")}
    config = util.load_config(CONFIGS / "lemmatizer" / "dcd.cfg", paths)
    config["nlp"]["pipeline"] = ["lemmatizer"]
    config["components"] = {"lemmatizer": config["components"]["lemmatizer"]}
    config["corpora"]["train"]["jackknife"] = None
    config["initialize"]["components"] = {"lemmatizer": initialize}
    return config


def test_words_are_known_from_all_shards(tmp_path: Path) -> None:
    """A script may be too rare at each worker, and a word have another lemma at another one."""
    vocab = spacy.blank("en").vocab
    lemmas = ["see", "saw", "see", "leaf", "leave", "leaf"]
    words = [["saw", "geese"]] * 3 + [["leaves", "geese"]] * 3
    docs = [Doc(vocab, words=pair, lemmas=[lemma, "goose"]) for pair, lemma in zip(words, lemmas)]
    config, workers = lemmatizer(docs, tmp_path), []

    def send_by(made: list[BlockWorker]) -> Send:
        workers.extend(made)
        return in_process(made)

    expected: Any = init_nlp(config).get_pipe("lemmatizer")
    assert len(expected.labels) == 3
    nlp, _, _ = begun(config, tmp_path / "out", 3, send_by)
    for found in (nlp, *(worker.nlp for worker in workers)):
        assert found.get_pipe("lemmatizer").cfg == expected.cfg


def test_corpora_without_labels_are_refused(tmp_path: Path) -> None:
    bare = Doc(spacy.blank("en").vocab, words=["One", "."])
    with pytest.raises(ValueError, match=r"\[lemmatizer\] none of the 2 training examples has a label to learn"):
        begun(lemmatizer([bare, bare], tmp_path), tmp_path / "out", 2)


@pytest.mark.parametrize("labels", [None, {"@readers": "spacy.read_labels.v1", "path": "none.json"}])
def test_labels_that_are_not_there_are_those_of_the_corpus(tmp_path: Path, labels: Any) -> None:
    config = lemmatizer(toy_docs(spacy.blank("en").vocab), tmp_path, labels=labels)
    nlp, _, _ = begun(config, tmp_path / "out", 2)
    pipe: Any = nlp.get_pipe("lemmatizer")
    assert len(pipe.labels) == 2 and not pipe.cfg["labels_are_given"]


def test_more_weights_than_messages_can_number_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spacy_ssvm.distributed.shared_blocks.MAX_DIMENSION", 10)
    docs = toy_docs(spacy.blank("en").vocab)
    with pytest.raises(ValueError, match=r"\[lemmatizer\] has .* weights, .* several workers learn 10 at most"):
        begun(lemmatizer(docs, tmp_path), tmp_path / "out", 2)


def test_projected_trees_are_named(tmp_path: Path) -> None:
    docs = toy_docs(spacy.blank("en").vocab)
    words = ["It", "crosses", "them", "here", "now", "."]
    docs.insert(2, Doc(docs[0].vocab, words=words, tags=["X"] * 6, heads=[1, 1, 4, 1, 1, 2], deps=["ROOT"] * 6))
    DocBin(docs=docs).to_disk(tmp_path / "crossing.spacy")
    its_shard = shard(tmp_path / "crossing.spacy", tmp_path / "state", "parser")
    worker = BlockWorker(its_shard)
    layout = begin(worker, "parser")
    expected = f"1 of {len(docs)} examples have annotation that this component cannot produce"
    (found,) = [complaint for complaint in layout.warnings if expected in complaint]
    assert found.endswith("learnt instead: example 2, 'It crosses them here now . '")


def test_shards_without_annotation_are_refused(tmp_path: Path) -> None:
    bare = Doc(spacy.blank("en").vocab, words=["One", "."])
    DocBin(docs=[bare, bare]).to_disk(tmp_path / "bare.spacy")
    worker = BlockWorker(shard(tmp_path / "bare.spacy", tmp_path / "state", "tagger"))
    with pytest.raises(ValueError, match=r"\[tagger\] there is nothing to learn in part 0"):
        worker.encode("tagger", Setup(["X", "Y"], {}, 0))


def test_error_names_the_extra(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert 'pip install "spacy-ssvm[ray]"' in refused(corpus, tmp_path / "out", "tagger/dcd")


def test_gold_known_in_part_is_refused_for_sums(tmp_path: Path) -> None:
    docs = toy_docs(spacy.blank("en").vocab)
    docs[0][0].tag_ = ""
    DocBin(docs=docs).to_disk(tmp_path / "partial.spacy")
    config = util.load_config(CONFIGS / "tagger" / "dcd.cfg", {"paths.train": str(tmp_path / "partial.spacy")})
    config["components"]["tagger"]["solver"] = {"@ssvm_solvers": "spacy-ssvm.LBFGS.v1"}
    worker = BlockWorker(shard_of(config, tmp_path / "state"))
    with pytest.raises(ValueError, match="do not learn gold annotation that is known in part by Lbfgs"):
        begin(worker, "tagger")


def test_what_learns_alone_is_refused(corpus: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    batch = "--components.tagger.solver.batch", "true"
    assert "its solver, Sap, cannot be used with several workers" in refused(corpus, output, "tagger/sap", *batch)
    config = util.load_config(CONFIGS / "tagger" / "dcd.cfg")
    config["components"]["other"] = {"factory": "senter"}
    config["nlp"]["pipeline"].append("other")
    config.to_disk(tmp_path / "other.cfg")
    complaint = "[other] cannot be trained with several workers: only components of spacy-ssvm can"
    assert complaint in refused(corpus, output, str(tmp_path / "other"))
    options = "--training.annotating_components", '["tagger"]'
    assert "training.annotating_components: several workers do not" in refused(corpus, output, "tagger/dcd", *options)


def test_more_workers_than_documents_are_refused(corpus: Path, tmp_path: Path) -> None:
    config = util.load_config(CONFIGS / "tagger" / "dcd.cfg", {"paths.train": str(corpus)})
    with pytest.raises(ValueError, match="has 24 parts, fewer than the 25 workers"):
        begun(config, tmp_path / "out", 25)
    assert not list((tmp_path / "out").iterdir())


@pytest.mark.usefixtures("ray")
class TestWithRay:
    def test_killed_workers_change_nothing(self, corpus: Path, tmp_path: Path) -> None:
        """They learn what objects of one process learn."""
        output = tmp_path / "killed"
        started = subprocess.Popen(long_run(corpus, output), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        n_killed, deadline = 0, time.monotonic() + 600
        while started.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
            names = descendants(started.pid)
            workers = [number for number, name in names.items() if name.startswith("ray::BlockWork")]
            if n_killed < 2 and workers and (output / "model-last").exists():
                n_killed += send(workers[n_killed % len(workers)], signal.SIGKILL)
                time.sleep(1.0)
        assert started.poll() == 0 and n_killed == 2
        given = {"paths.train": str(corpus), "paths.dev": str(corpus), "components.tagger.solver.tolerance": 0.0}
        train(util.load_config(CONFIGS / "tagger" / "dcd.cfg", LONG | given), tmp_path / "quiet", 2)
        assert weights_of(output) == weights_of(tmp_path / "quiet")

    @pytest.mark.slow
    def test_pipeline_is_that_of_spacy_train(self, corpus: Path, tmp_path: Path) -> None:
        output = tmp_path / "out"
        run = [sys.executable, "-m", "spacy", "ssvm", *arguments(corpus, output, "ud/dcd", *SMALL)]
        done = subprocess.run([*run, "--training.max_epochs", "12"], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "LAS" in done.stdout and "tagger: primal" in done.stdout
        nlp = spacy.load(output / "model-best")
        for doc in toy_docs(nlp.vocab):
            parsed = nlp(Doc(nlp.vocab, words=[token.text for token in doc]))
            for attribute in ("tag_", "pos_", "morph", "lemma_", "head"):
                found, gold = ([str(getattr(token, attribute)) for token in tokens] for tokens in (parsed, doc))
                assert found == gold, attribute
        assert nlp.config["corpora"]["train"]["@readers"] == "spacy-ssvm.Corpus.v1"
        assert "labels" not in nlp.config["initialize"]["components"].get("tagger", {})

    @pytest.mark.slow
    @pytest.mark.parametrize("solver", ["dcd", "sgd"])
    def test_killed_run_goes_on(self, corpus: Path, tmp_path: Path, solver: str) -> None:
        run, output = long_run(corpus, tmp_path / "killed", solver), tmp_path / "killed"
        started = subprocess.Popen(run, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not (output / "model-best").exists() and started.poll() is None:
            time.sleep(0.02)
        started.kill()
        assert started.wait() == -signal.SIGKILL and (output / "ssvm-workers").exists()
        done = subprocess.run(run, capture_output=True, text=True, timeout=200)
        assert done.returncode == 0 and "Going on with the run" in done.stderr + done.stdout
        assert not (output / "ssvm-workers").exists()
        run = long_run(corpus, tmp_path / "quiet", solver)
        quiet = subprocess.run(run, capture_output=True, text=True, timeout=200)
        assert quiet.returncode == 0
        assert weights_of(output) == weights_of(tmp_path / "quiet")
        assert weights_of(output, "model-best") == weights_of(tmp_path / "quiet", "model-best")
        # From where it was ended.
        rows = rows_of(done.stdout)
        assert rows and rows == rows_of(quiet.stdout)[-len(rows) :]


def rows_of(table: str) -> list[list[str]]:
    """The rows of the training table, without speeds."""
    return [line.split()[:4] for line in table.splitlines() if line.strip()[:1].isdigit()]
