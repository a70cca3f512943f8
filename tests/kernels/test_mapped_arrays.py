"""Large arrays in files: each test is a process of its own, as the policy of allocation stays."""

import subprocess
import sys
from pathlib import Path

import pytest

BEGIN = """
import os, re, resource, sys
from pathlib import Path
import numpy as np
from spacy_ssvm.kernels.mapped_arrays import MIN_MAPPED, map_large_arrays

folder = Path(sys.argv[1])

def limit_data(more):
    used = 1024 * int(re.search(r"VmData:\\s*(\\d+)", Path("/proc/self/status").read_text())[1])
    resource.setrlimit(resource.RLIMIT_DATA, (used + more, used + more))
"""


def run(folder: Path, code: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", BEGIN + code, folder], capture_output=True, text=True, timeout=120)


linux = pytest.mark.skipif(sys.platform != "linux", reason="arrays are mapped on Linux only")


@linux
def test_large_arrays_are_no_private_memory(tmp_path: Path) -> None:
    code = """
map_large_arrays(folder)
limit_data(1 << 22)
n = 1 << 20
zeros, other = np.zeros(n), np.arange(n)
assert not zeros.any() and (zeros + other).sum() == n * (n - 1) // 2
assert np.array_equal(np.concatenate([other, other])[n:], other) and not list(folder.iterdir())
assert zeros.ctypes.data % 64 == 0
"""
    done = run(tmp_path, code)
    assert done.returncode == 0, done.stderr
    done = run(tmp_path, code.replace("map_large_arrays(folder)", ""))
    assert "MemoryError" in done.stderr


@linux
def test_arrays_are_resized(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
map_large_arrays(folder)
n_files = len(os.listdir("/proc/self/fd"))
many = [np.full(MIN_MAPPED, value, np.int8) for value in range(30)]
assert len(os.listdir("/proc/self/fd")) == n_files
array, expected = np.arange(10), np.arange(10)
# Without a file, then with one, within and beyond its room, and back.
for size in 1000, MIN_MAPPED, MIN_MAPPED // 2, MIN_MAPPED // 2 + 1, 3 * MIN_MAPPED, 20, 2 * MIN_MAPPED, 0, 5:
    array.resize(size, refcheck=False)
    kept = min(size, len(expected))
    assert np.array_equal(array[:kept], expected[:kept]) and not array[kept:].any()
    array[kept:] = np.arange(kept, size)
    expected = array.copy()
assert all((one == value).all() for value, one in enumerate(many))
del many, array, expected
assert "array-" not in Path("/proc/self/maps").read_text()
""",
    )
    assert done.returncode == 0, done.stderr


@linux
def test_arrays_without_room_for_a_file_are_in_memory(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
map_large_arrays(folder)
resource.setrlimit(resource.RLIMIT_FSIZE, (20 * MIN_MAPPED, 20 * MIN_MAPPED))
array, zeros = np.ones(MIN_MAPPED), np.zeros(4 * MIN_MAPPED)
assert Path("/proc/self/maps").read_text().count("/array-") == 1
array.resize(4 * MIN_MAPPED, refcheck=False)
assert "/array-" not in Path("/proc/self/maps").read_text()
assert array.sum() == MIN_MAPPED and not zeros.any()
array.resize(3 * MIN_MAPPED, refcheck=False)
assert array.sum() == MIN_MAPPED
map_large_arrays(folder / "none")
assert np.ones(MIN_MAPPED).all()
""",
    )
    assert done.returncode == 0, done.stderr
