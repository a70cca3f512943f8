"""The memory of this process."""

import subprocess
import sys

import pytest

from spacy_ssvm import memory


@pytest.mark.skipif(sys.platform not in ("linux", "darwin", "win32"), reason="unknown there")
def test_the_peak_includes_an_array_that_is_gone():
    """In a small process: the array is larger than all of it."""
    code = """if True:
        import numpy as np
        from spacy_ssvm import memory
        size = 2 * memory.peak()
        np.ones(size, np.uint8)
        memory.release()
        print(memory.peak() > size)"""
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "True\n"


def test_an_unknown_system_has_no_peak(monkeypatch):
    monkeypatch.setattr(sys, "platform", "plan9")
    assert memory.peak() is None
    memory.release()
