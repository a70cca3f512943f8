"""Workers pass over whitespace tokens: two of them learn the same from Docs with whitespace as from those without."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy import util
from spacy.tokens import DocBin, Span
from spacy.training import Example

from spacy_ssvm.distributed.block_worker import BlockWorker
from spacy_ssvm.distributed.learning import initialized, shards_of
from spacy_ssvm.distributed.loop import Checkpoint, run
from spacy_ssvm.distributed.shared_blocks import Answers

from ..pipeline.toy import variant
from .toy_training import CONFIGS, toy_docs


def corpus(path: Path, places: list[int]) -> Path:
    """12 Docs, with whitespace before the words at these places, in descending order."""
    nlp = spacy.blank("en")
    docs = toy_docs(nlp.vocab)
    for doc in docs:
        doc.ents = [Span(doc, 0, min(2, len(doc)), label="THING")]
    with_space = [variant(nlp, Example(doc.copy(), doc), places).reference for doc in docs]
    DocBin(docs=with_space * 2).to_disk(path)
    return path


def trained(path: Path, folder: Path, component: str) -> dict[str, bytes]:
    """The files of a pipeline that two workers, which are objects of this process, have trained in two epochs."""
    paths = {f"paths.{part}": str(path) for part in ("train", "dev")}
    settings = util.load_config(CONFIGS / component / "dcd.cfg", {**paths, "training.max_epochs": 2})
    if component == "parser":
        settings["components"][component]["model"]["features"]["hash_bits"] = 12
    untrained, checkpoint = util.load_model_from_config(settings, auto_fill=True), Checkpoint(folder, b"")
    shards = shards_of(untrained.config.interpolate(), checkpoint, 2, 2)
    workers = [BlockWorker(shard) for shard in shards]

    def send(method: str, arguments: Sequence[tuple[Any, ...]]) -> Answers:
        return lambda: [getattr(worker, method)(*given) for worker, given in zip(workers, arguments)]

    run(*initialized(untrained, untrained.pipe_names, send, shards, checkpoint), checkpoint, folder, io.StringIO())
    model = folder / "model-last"
    return {str(file.relative_to(model)): file.read_bytes() for file in model.glob("*/model")}


@pytest.mark.parametrize("component", [pytest.param("tagger", marks=pytest.mark.slow), "ner", "parser"])
def test_two_workers_learn_the_same_with_and_without(tmp_path: Path, component: str) -> None:
    models = []
    for name, places in ("without", []), ("with", [2, 1, 1, 0]):
        (tmp_path / name).mkdir()
        path = corpus(tmp_path / f"{name}.spacy", places)
        stored = DocBin().from_disk(path).get_docs(spacy.blank("en").vocab)
        assert any(token.is_space for doc in stored for token in doc) == bool(places)
        models.append(trained(path, tmp_path / name, component))
    assert f"{component}/model" in models[0] and models[0] == models[1]
