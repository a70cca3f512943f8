"""What a corrected component predicts between updates: by the weights that were written to, as by all weights."""

import numpy as np
import pytest
from spacy.tokens import Doc
from spacy.training import Example

from spacy_ssvm.solvers import correction
from spacy_ssvm.training.training import Training

from .components import CORPUS, every, learnt
from .test_corrections import CORRECTED, WORDS
from .toy import annotations

UPDATES = 4


def corrected(nlp, factory: str, number: int) -> Example:
    """A correction with a word of its own."""
    words = [WORDS[0], f"zebra{number}", *WORDS[2:]]
    return Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words, **CORRECTED[factory]))


def written(nlp, factory: str) -> np.ndarray:
    return nlp.get_pipe(factory)._learnt.training.written()


@every
def test_predictions_between_updates_are_those_by_all_weights(factory, monkeypatch):
    nlp = learnt(factory)
    nlp.resume_training()
    for number in range(UPDATES):
        nlp.update([corrected(nlp, factory, number)])
        between = annotations(nlp, [CORPUS[factory]])
        bytes_between = nlp.get_pipe(factory).to_bytes()
        with monkeypatch.context() as context:
            context.setattr(Training, "written", lambda training: None)
            nlp.get_pipe(factory)._learnt._predictor = None
            assert annotations(nlp, [CORPUS[factory]]) == between
            assert nlp.get_pipe(factory).to_bytes() == bytes_between
            nlp.get_pipe(factory)._learnt._predictor = None
    assert len(written(nlp, factory))


@pytest.mark.parametrize("room", [1, 100])
def test_weights_for_which_there_is_no_room_are_found_all_the_same(room, monkeypatch):
    nlp, other = learnt("ssvm_tagger"), learnt("ssvm_tagger")
    for number in range(UPDATES):
        nlp.update([corrected(nlp, "ssvm_tagger", number)])
    monkeypatch.setattr(correction, "ROOM", room)
    for number in range(UPDATES):
        other.update([corrected(other, "ssvm_tagger", number)])
    found = np.sort(written(nlp, "ssvm_tagger"))
    assert len(found) > room and np.array_equal(np.sort(written(other, "ssvm_tagger")), found)
    assert len(np.unique(found)) == len(found)
