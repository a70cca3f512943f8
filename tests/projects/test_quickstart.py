"""The quickstart project: its corpus is sound, its scripts and configs fit the package, its workflow runs."""

import importlib.util
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest
import spacy
import srsly
from spacy import util
from spacy.lang.en.tokenizer_exceptions import TOKENIZER_EXCEPTIONS
from spacy.tokens import DocBin

from spacy_ssvm.solvers.parameters import Parameters

from ..corpora import ROOT

PROJECT = ROOT / "projects" / "quickstart"
FILES = ("news", "mail", "reports")
SOLVERS_WITH_CERTIFICATE = {"DCDLight", "DCD", "SAP"}


class Sentence(NamedTuple):
    """One block of a CoNLL-U file: its comments by name and its rows of columns."""

    comments: dict[str, str]
    rows: list[list[str]]

    @property
    def entities(self) -> list[str]:
        """The BILUO tag of each token."""
        return [value for row in self.rows for key, value in _misc(row) if key == "NE"]


def _misc(row: list[str]) -> list[tuple[str, str]]:
    return [(key, value) for key, _, value in (part.partition("=") for part in row[9].split("|"))]


def _parse(block: str) -> Sentence:
    lines = block.strip().split("\n")
    comments = dict(re.fullmatch(r"# (\w+) = (.+)", line).groups() for line in lines if line.startswith("#"))
    return Sentence(comments, [line.split("\t") for line in lines if not line.startswith("#")])


def _read(path: Path) -> list[Sentence]:
    return [_parse(block) for block in path.read_text("utf8").split("\n\n") if block.strip()]


@pytest.fixture(scope="module")
def corpus() -> dict[str, list[Sentence]]:
    return {name: _read(PROJECT / "corpus" / f"{name}.conllu") for name in FILES}


@pytest.fixture(scope="module")
def sentences(corpus: dict[str, list[Sentence]]) -> list[Sentence]:
    return [sentence for name in FILES for sentence in corpus[name]]


@pytest.fixture(scope="module")
def splitter() -> ModuleType:
    spec = importlib.util.spec_from_file_location("quickstart_split", PROJECT / "scripts" / "split.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_corpus_is_large_enough_and_repeats_nothing(sentences: list[Sentence]) -> None:
    assert len(sentences) >= 300
    assert sum(len(sentence.rows) for sentence in sentences) >= 4000
    for comment in ("sent_id", "text"):
        assert len({sentence.comments[comment] for sentence in sentences}) == len(sentences)


def test_columns(sentences: list[Sentence]) -> None:
    for sentence in sentences:
        assert all(len(row) == 10 and all(row) for row in sentence.rows), sentence.comments
        assert [row[0] for row in sentence.rows] == [str(n) for n in range(1, len(sentence.rows) + 1)]
        for _, form, lemma, upos, xpos, _, _, label, _, _ in sentence.rows:
            assert "_" not in (form, lemma, upos, xpos, label), sentence.comments


def test_tokens_are_those_of_the_tokenizer(sentences: list[Sentence]) -> None:
    tokenizer = spacy.blank("en").tokenizer
    tokenizer.rules = TOKENIZER_EXCEPTIONS  # The other tests do without.
    for sentence in sentences:
        spaced = "".join(row[1] + ("" if ("SpaceAfter", "No") in _misc(row) else " ") for row in sentence.rows)
        assert spaced.rstrip() == sentence.comments["text"]
        assert [token.text for token in tokenizer(sentence.comments["text"])] == [row[1] for row in sentence.rows]


def test_trees_are_projective_and_have_one_root_and_no_cycle(sentences: list[Sentence]) -> None:
    for sentence in sentences:
        heads = [0, *(int(row[6]) for row in sentence.rows)]
        assert heads[1:].count(0) == 1, sentence.comments
        assert [row[7] == "root" for row in sentence.rows] == [head == 0 for head in heads[1:]], sentence.comments
        arcs = [sorted(arc) for arc in enumerate(heads)][1:]
        assert not any(a[0] < b[0] < a[1] < b[1] for a in arcs for b in arcs), sentence.comments
        ancestors = list(range(len(heads)))
        for _ in heads:
            ancestors = [heads[token] for token in ancestors]
        assert not any(ancestors), sentence.comments


def test_entities_are_legal_biluo(sentences: list[Sentence]) -> None:
    labels = Counter()
    for sentence in sentences:
        tags = sentence.entities
        assert len(tags) == len(sentence.rows), sentence.comments
        sequence = " ".join(tags)
        assert re.fullmatch(r"(?:(?:O|U-[A-Z]+|B-([A-Z]+)(?: I-\1)* L-\1)(?: |$))+", sequence), sequence
        labels.update(tag[2:] for tag in tags if tag[0] in "BU")
    assert set(labels) == {"PERSON", "ORG", "GPE", "DATE", "MONEY"}
    assert min(labels.values()) >= 50


def test_split_is_stratified_complete_and_independent_of_order(splitter: ModuleType) -> None:
    texts: list[str] = []
    for name in FILES:
        blocks = splitter.read_sentences(PROJECT / "corpus" / f"{name}.conllu")
        parts = splitter.split(blocks)
        assert sorted(block for part in parts.values() for block in part) == sorted(blocks)
        for part, share in {"train": 0.70, "dev": 0.15, "test": 0.15}.items():
            assert abs(len(parts[part]) - share * len(blocks)) <= 1
        assert splitter.split(blocks[::-1]) == parts
        texts += [_parse(block).comments["text"] for part in parts.values() for block in part]
    assert len(set(texts)) == len(texts)


def test_config_is_complete() -> None:
    overrides = {"paths.train": "train.spacy", "paths.dev": "dev.spacy"}
    config = util.load_config(PROJECT / "configs" / "quickstart.cfg", overrides)
    nlp = util.load_model_from_config(config, auto_fill=False)
    assert nlp.pipe_names == ["senter", "tagger", "parser", "ner"]
    assert nlp.config.interpolate() == config.interpolate()


def test_solvers_that_are_compared() -> None:
    blocks = util.load_config(PROJECT / "configs" / "solvers.cfg")
    assert len(blocks) >= 6
    assert all(block["@ssvm_solvers"] == f"spacy-ssvm.{name}.v1" for name, block in blocks.items())
    for name in blocks:
        assert isinstance(util.registry.resolve({name: blocks[name]})[name], Parameters)


def test_readme_of_the_corpus_counts_correctly(corpus: dict[str, list[Sentence]]) -> None:
    readme = (PROJECT / "corpus" / "README.md").read_text("utf8")
    for name in FILES:
        tags = [tag for sentence in corpus[name] for tag in sentence.entities]
        n_entities = sum(tag[0] in "BU" for tag in tags)
        assert f"| `{name}.conllu` | {len(corpus[name])} | {len(tags):,} | {n_entities} |" in readme


@pytest.mark.slow
def test_workflow(tmp_path: Path, corpus: dict[str, list[Sentence]]) -> None:
    generated = shutil.ignore_patterns("data", "training", "metrics", "project.lock")
    project = shutil.copytree(PROJECT, tmp_path / "quickstart", ignore=generated)
    run = subprocess.run(
        [sys.executable, "-m", "spacy", "project", "run", "all"], cwd=project, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout + run.stderr

    nlp = spacy.load(project / "training" / "model-best")
    docs = {
        part: list(DocBin().from_disk(project / "data" / f"{part}.spacy").get_docs(nlp.vocab))
        for part in ("train", "dev", "test")
    }
    tags = [tag for name in FILES for sentence in corpus[name] for tag in sentence.entities]
    entities = [entity for part in docs.values() for doc in part for entity in doc.ents]
    assert sum(map(len, docs.values())) == sum(map(len, corpus.values()))
    assert Counter(entity.label_ for entity in entities) == Counter(tag[2:] for tag in tags if tag[0] in "BU")

    scores = {name: srsly.read_json(project / "metrics" / f"{name}.json") for name in ("raw", "gold")}
    floors = {"sents_f": 0.90, "tag_acc": 0.90, "uas": 0.80, "las": 0.75, "ents_f": 0.80}
    for part in scores.values():
        assert part["token_acc"] == 1.0
        assert all(part[score] >= floor for score, floor in floors.items()), part
    # boundaries are given away where each document is a sentence
    assert scores["gold"]["sents_f"] == 1.0

    comparison = srsly.read_json(project / "metrics" / "comparison.json")
    assert set(comparison) == {"senter", "tagger", "parser", "ner"}
    for results in comparison.values():
        assert set(results) == set(util.load_config(PROJECT / "configs" / "solvers.cfg"))
        for solver, row in results.items():
            assert row["score"] >= 70 and row["epochs"] >= 1 and row["non_zero_weights"] > 0
            assert (row["relative_gap"] is not None) == (solver in SOLVERS_WITH_CERTIFICATE)
            assert (row["planes"] is not None) == (solver in SOLVERS_WITH_CERTIFICATE)
            assert row["relative_gap"] is None or 0 <= row["relative_gap"] < 0.6

    assert "Boston (GPE)" in run.stdout
    assert "nsubj(moved, Priya)" in run.stdout and "root(moved)" in run.stdout
    doc = nlp("Harbor Bank opened an office in Lisbon on Monday. The manager is Anna Weber.")
    assert [sentence.root.text for sentence in doc.sents] == ["opened", "Anna"]
    assert [(entity.text, entity.label_) for entity in next(doc.sents).ents] == [
        ("Harbor Bank", "ORG"),
        ("Lisbon", "GPE"),
        ("Monday", "DATE"),
    ]
