"""Fixtures that all tests share."""

import os
import random

# Read when NumPy is imported. Two workers on two cores would spend more time in waiting for each other's threads of
# linear algebra than in any test.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import settings

# No test asserts a time: on a busy machine any example may be slow.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


@pytest.fixture(autouse=True)
def _seeded():
    """No test depends on the order in which tests run."""
    random.seed(0)
    np.random.seed(0)
