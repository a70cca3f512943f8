"""Pipelines that earlier versions saved load, and predict as they did."""

import pytest
import spacy
from spacy.training import Example

from tools.compatibility import DATA, PIPELINES, SENTENCES, check, document, predictions, write

VERSIONS = sorted(path for path in DATA.iterdir() if path.is_dir())
assert VERSIONS, "there are no pipelines"
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.mark.parametrize("folder", VERSIONS, ids=lambda path: path.name)
def test_saved_pipelines_predict_as_they_did(folder):
    check(folder)


def test_what_is_written_is_checked(tmp_path):
    write(tmp_path / "now")
    check(tmp_path / "now")
    path = tmp_path / "now" / "rounded.json"
    path.write_text(path.read_text("utf8").replace("NOUN", "VERB").replace('"N"', '"V"'), "utf8")
    with pytest.raises(AssertionError, match="rounded"):
        check(tmp_path / "now")


@pytest.mark.parametrize("folder", VERSIONS, ids=lambda path: path.name)
@pytest.mark.parametrize("name", PIPELINES)
def test_a_saved_pipeline_is_saved_again_and_learns_on(folder, name, tmp_path):
    nlp = spacy.load(folder / name)
    nlp.to_disk(tmp_path)
    assert predictions(spacy.load(tmp_path)) == predictions(nlp)
    optimizer = nlp.resume_training()
    everything = tuple(range(len(SENTENCES)))
    example = Example(document(nlp.vocab, everything, False), document(nlp.vocab, everything, True))
    losses = nlp.update([example], sgd=optimizer)
    assert set(losses) == set(nlp.pipe_names)
    predictions(nlp)
