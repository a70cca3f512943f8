"""Fixtures that all tests share."""

import os
import random
from functools import cache

# Read when NumPy is imported, which must not have happened yet. Two workers on two cores would spend more time in
# waiting for each other's threads of linear algebra than in any test.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest
from catalogue import Registry
from hypothesis import settings
from spacy.lang.xx import MultiLanguage

# No test asserts a time: on a busy machine any example may be slow.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


# Most of the time that spaCy takes for a toy pipeline goes into reading the list of entry points again for each name,
# and into the smileys that its tokenizer is not to split.
Registry._get_entry_points = cache(Registry._get_entry_points)


class _NoExceptions(MultiLanguage.Defaults):
    tokenizer_exceptions = {}


MultiLanguage.Defaults = _NoExceptions


def pytest_configure(config):
    """Not in pyproject.toml, for which pytest would import numba, and so NumPy, before it reads this file."""
    config.addinivalue_line("filterwarnings", "error::numba.NumbaPendingDeprecationWarning")


@pytest.fixture(autouse=True)
def _seeded():
    """No test depends on the order in which tests run."""
    random.seed(0)
    np.random.seed(0)
