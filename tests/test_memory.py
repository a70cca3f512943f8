"""The memory of this process."""

import sys

import numpy as np
import pytest

from spacy_ssvm import memory


@pytest.mark.skipif(sys.platform not in ("linux", "darwin", "win32"), reason="unknown there")
def test_the_peak_includes_an_array_that_is_gone():
    size = 2 * memory.peak()
    np.ones(size, np.uint8)
    memory.release()
    assert memory.peak() > size


def test_an_unknown_system_has_no_peak(monkeypatch):
    monkeypatch.setattr(sys, "platform", "plan9")
    assert memory.peak() is None
    memory.release()
