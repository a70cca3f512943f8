"""Pipelines that earlier versions saved load, and predict as they did."""

import pytest
import spacy
import srsly
from spacy.training import Example

from .compatibility import DATA, SENTENCES, document, predictions

PIPELINES = sorted(path for path in DATA.glob("*/*") if path.is_dir())
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(params=PIPELINES, ids=lambda path: f"{path.parent.name}-{path.name}")
def saved(request):
    return request.param


def test_there_are_pipelines_of_each_kind():
    assert {path.name for path in PIPELINES} >= {"all", "rounded"}


def test_a_saved_pipeline_predicts_as_it_did(saved, tmp_path):
    expected = srsly.read_json(saved.with_suffix(".json"))
    nlp = spacy.load(saved)
    assert predictions(nlp) == expected
    nlp.to_disk(tmp_path)
    assert predictions(spacy.load(tmp_path)) == expected


def test_a_saved_pipeline_learns_on(saved):
    nlp = spacy.load(saved)
    optimizer = nlp.resume_training()
    everything = tuple(range(len(SENTENCES)))
    example = Example(document(nlp.vocab, everything, False), document(nlp.vocab, everything, True))
    losses = nlp.update([example], sgd=optimizer)
    assert set(losses) == set(nlp.pipe_names)
    predictions(nlp)
