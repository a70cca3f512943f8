"""The programs of `projects/recipes`, as their README calls them."""

import os
import subprocess
import sys
from base64 import b64decode
from pathlib import Path

import pytest
import spacy
import srsly
from spacy.tokens import DocBin

from ..corpora import ROOT

RECIPES = ROOT / "projects" / "recipes"
TEXTS = ["One here. Two here.", "Three.", ""]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.to_disk(path := tmp_path_factory.mktemp("recipes") / "model")
    return path


def run(recipe: str, model: Path, source: Path, target: Path, *more: str) -> None:
    srsly.write_jsonl(source, [{"id": number, "text": text} for number, text in enumerate(TEXTS)])
    command = [sys.executable, str(RECIPES / recipe), str(model), str(source), str(target), *more]
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr


def check(model: Path, rows: list[tuple[int, bytes]]) -> None:
    nlp = spacy.load(model)
    assert [number for number, _ in rows] == list(range(len(TEXTS)))
    for (_, content), expected in zip(rows, nlp.pipe(TEXTS)):
        (doc,) = DocBin().from_bytes(content).get_docs(nlp.vocab)
        assert doc.to_json() == expected.to_json()


@pytest.mark.slow
def test_pool(model: Path, tmp_path: Path) -> None:
    run("with_pool.py", model, tmp_path / "in.jsonl", tmp_path / "out.jsonl", "2")
    check(model, [(row["id"], b64decode(row["doc"])) for row in srsly.read_jsonl(tmp_path / "out.jsonl")])


def test_dask(model: Path, tmp_path: Path) -> None:
    pytest.importorskip("dask.distributed")
    run("with_dask.py", model, tmp_path / "in.jsonl", tmp_path / "out")
    rows = [row for path in sorted((tmp_path / "out").iterdir()) for row in srsly.read_jsonl(path)]
    check(model, [(row["id"], b64decode(row["doc"])) for row in rows])


def test_spark(model: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    parquet = pytest.importorskip("pyarrow.parquet")
    run("with_spark.py", model, tmp_path / "in.jsonl", tmp_path / "out.parquet")
    rows = parquet.read_table(tmp_path / "out.parquet").to_pylist()
    check(model, sorted((row["id"], row["doc"]) for row in rows))
