"""Fixtures of the tests of `spacy ssvm serve`."""

from itertools import count

import pytest
import spacy

from spacy_ssvm.serve.session import opened

from .pipelines import TEXTS, saved


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """The folder of a small pipeline."""
    return saved(tmp_path_factory.mktemp("serve") / "model")


@pytest.fixture
def session(model, tmp_path):
    """A session with TEXTS."""
    with opened(spacy.load(model), tmp_path / "taught", TEXTS) as found:
        yield found


@pytest.fixture(scope="module")
def shared(model, tmp_path_factory):
    """One that tests share which teach nothing."""
    with opened(spacy.load(model), tmp_path_factory.mktemp("shared") / "taught", TEXTS) as found:
        yield found


@pytest.fixture
def key():
    """A function that makes names of corrections."""
    numbers = count()
    return lambda: f"correction-{next(numbers)}"
