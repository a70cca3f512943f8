"""Fixtures that all tests share."""

import random

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _seeded():
    """No test depends on the order in which tests run."""
    random.seed(0)
    np.random.seed(0)
