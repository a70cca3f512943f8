"""Machine code is kept on disk, never stale, and not needed where nothing can be kept."""

import shutil
import sys
from itertools import cycle

import numba
import pytest

from spacy_ssvm.kernels.disk_cache import PACKAGE, cache_folders

from .processes import NOWHERE, copied, outcome, run, start

TABLE = """
import numpy as np
from spacy_ssvm.features.index import empty_table, grown, insert_all, look_up, mix
key = mix(np.uint64(5), np.uint64(6))
table = grown(empty_table(), 4096)
insert_all(table, np.array([7, key], np.uint64))
print(int(look_up(table, key)))
"""
"""Kernels of a module that imports no spaCy."""
FOUND = 1
GAZETTEER = """
import numpy as np
from spacy_ssvm.features.gazetteer import compile_gazetteer
table = compile_gazetteer([np.array([5, 6, 7], np.uint64), np.array([5], np.uint64)])
print(json.dumps(sorted(map(str, table.keys.tolist()))))
"""
"""Kernels that call those of another module."""


@pytest.fixture
def package(tmp_path):
    """A copy of the package, to change, and its environment."""
    environment = copied(tmp_path / "copy")
    return tmp_path / "copy" / "spacy_ssvm", environment | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """The environment of a copy that stays as it is."""
    return copied(tmp_path_factory.mktemp("copy"))


@pytest.fixture(scope="module")
def first(bare, tmp_path_factory):
    """A folder of machine code, and what the process that has compiled it has printed and said."""
    folder = tmp_path_factory.mktemp("cache")
    return folder, run(TABLE, **bare, NUMBA_CACHE_DIR=str(folder))


@pytest.mark.slow
def test_of_processes_that_start_at_the_same_time_one_compiles_each_kernel(bare, first, tmp_path):
    _, alone = first
    processes = [start(TABLE, **bare, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2)]
    results = [outcome(process) for process in processes]
    assert all(result.printed == alone.printed for result in results) and alone.printed == FOUND
    assert sum(result.misses for result in results) == alone.misses
    later = run(TABLE, **bare, NUMBA_CACHE_DIR=str(tmp_path))
    assert later.printed == alone.printed and later.misses == 0
    assert {path.suffix for path in tmp_path.rglob("*") if path.is_file()} == {".nbc", ".lock"}


@pytest.mark.slow
def test_a_kernel_whose_compiler_was_killed_is_compiled_by_the_next_process(bare, first, tmp_path):
    _, alone = first
    dying = "\nimport os\nfrom spacy_ssvm.kernels.disk_cache import DiskCache\n"
    dying += "DiskCache.save_overload = lambda *arguments: os._exit(0)\n"
    start(f"{dying}{TABLE}", **bare, NUMBA_CACHE_DIR=str(tmp_path)).communicate()
    assert list(tmp_path.rglob("*.lock")) and not list(tmp_path.rglob("*.nbc"))
    assert run(TABLE, **bare, NUMBA_CACHE_DIR=str(tmp_path)).misses == alone.misses


@pytest.mark.slow
def test_a_kernel_from_disk_imports_nothing_of_what_it_was_compiled_from(tmp_path):
    """Here numba's `max` of an array, which imports SciPy; its errors are raised all the same."""
    (tmp_path / "largest.py").write_text(
        "from spacy_ssvm.kernels import kernel\n\n\n@kernel\ndef largest(numbers):\n    return numbers.max()\n"
    )
    code = """
import sys
import numpy as np
from largest import largest
found = [largest(np.array([1.0, 3.0])), "numba.np.arraymath" in sys.modules]
try:
    largest(np.zeros(0))
except ValueError as error:
    found.append(str(error)[:10])
print(json.dumps(found))
"""
    environment = {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert run(code, **environment).printed == [3.0, True, "zero-size "]
    assert run(code, **environment).printed == [3.0, False, "zero-size "]


@pytest.mark.slow
def test_damaged_machine_code_is_compiled_anew(bare, first, tmp_path):
    """Files that are cut, empty or full of wrong bytes, side by side."""
    folder, compiled = first
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    files = sorted(tmp_path.rglob("*.nbc"))
    damages = (lambda content: content[: len(content) // 2], lambda content: b"", bytes.swapcase)
    assert len(files) >= len(damages)
    for path, damage in zip(files, cycle(damages)):
        path.write_bytes(damage(path.read_bytes()))
    again = run(TABLE, **bare, NUMBA_CACHE_DIR=str(tmp_path))
    assert again.printed == compiled.printed and again.misses >= len(files)
    assert run(TABLE, **bare, NUMBA_CACHE_DIR=str(tmp_path)).misses == 0


def test_changed_callee_makes_its_callers_compile_anew(package):
    """The constants of the hash function stand in another file; what reads them must not keep the old one.

    The first compilation is announced, once.
    """
    folder, environment = package
    keys, first, said = run(GAZETTEER, **environment)
    assert first["spacy_ssvm.features.gazetteer._add_phrase"] == [0, 1]
    assert said.count("Compiling kernels") == 1 and "spacy ssvm warmup" in said
    again = run(GAZETTEER, **environment)
    assert again.misses == 0 and not again.messages
    source = (folder / "features" / "index.py").read_text()
    changed = source.replace("SHIFT = np.uint64(32)", "SHIFT = np.uint64(29)")
    assert changed != source
    (folder / "features" / "index.py").write_text(changed)
    other_keys, third, _ = run(GAZETTEER, **environment)
    assert len(other_keys) == len(keys) and not set(keys) & set(other_keys) - {"0"}
    assert third["spacy_ssvm.features.gazetteer._add_phrase"] == [0, 1]


def test_stamp_covers_every_room(package):
    folder, environment = package
    layers = ["features", "structures/chain", "solvers"]
    code = f"""
from pathlib import Path
from spacy_ssvm import kernels
digests = [kernels.source_digest().hex()]
for layer in ("", *{layers}):
    if layer:
        Path({str(folder)!r}, layer, "added.py").write_text("ANSWER = 42")
    kernels.source_digest.cache_clear()
    digests.append(kernels.source_digest().hex())
print(json.dumps(digests))
"""
    first, again, *changed = run(code, **environment).printed
    assert first == again and len({first, *changed}) == 1 + len(layers)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere, other variables name the user's cache")
def test_without_a_home_no_folder_is_made_in_the_present_one(monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    # What is left of the usual folder where no home is known.
    monkeypatch.setenv("XDG_CACHE_HOME", "~/.cache")
    cache_folders.cache_clear()
    try:
        assert cache_folders() == (PACKAGE / "__pycache__",)
    finally:
        cache_folders.cache_clear()


@pytest.mark.slow
def test_works_where_nothing_can_be_kept(package):
    """A package that cannot be written to, and a home that cannot either."""
    folder, environment = package
    (folder / "__pycache__").write_text("")
    environment |= {"NUMBA_CACHE_DIR": "", "HOME": NOWHERE, "XDG_CACHE_HOME": NOWHERE}
    result = run(TABLE, "-W", "error", **environment)
    assert result.printed == FOUND and result.misses > 0
    assert result.messages.count("cannot be kept") == 1 and "NUMBA_CACHE_DIR" in result.messages


@pytest.mark.slow
def test_kernels_compiled_before_an_install_became_read_only_are_used(package):
    """As where a Docker image is built with `spacy ssvm warmup` and used by somebody else."""
    folder, environment = package
    environment |= {"NUMBA_CACHE_DIR": "", "XDG_CACHE_HOME": NOWHERE, "HOME": NOWHERE}
    assert run(TABLE, **environment).misses > 0
    usual = folder / "usual"
    usual.touch()
    kept = list((folder / "__pycache__").glob("*.nbc"))
    assert kept and all(path.stat().st_mode == usual.stat().st_mode for path in kept)
    (folder / "__pycache__").chmod(0o555)
    result = run(TABLE, **environment)
    assert result.printed == FOUND and result.misses == 0 and not result.messages
