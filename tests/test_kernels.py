"""Kernels are compiled once for all processes, never stale, and work where nothing can be kept."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import spacy_ssvm
from spacy_ssvm import kernels

NOWHERE = f"{os.devnull}/nowhere"
"""A path at which no process, however privileged, can make a directory."""

STATISTICS = """
import json
from spacy_ssvm import kernels
print(json.dumps({kernel.name: [kernel.hits, kernel.misses] for kernel in kernels.cache_statistics()}))
"""

GAZETTEER = """
import numpy as np
from spacy_ssvm.features.gazetteer import compile_gazetteer, mark_phrases
table = compile_gazetteer([np.array([5, 6, 7], np.uint64), np.array([5], np.uint64)])
marks = np.zeros(5, np.uint64)
mark_phrases(table, np.array([0, 5]), np.array([5, 5, 6, 7, 6], np.uint64), marks)
print(json.dumps([marks.tolist(), sorted(map(str, table.keys.tolist()))]))
"""

TRAINING = """
import spacy
from spacy.tokens import Doc
from spacy.training import Example
nlp = spacy.blank("en")
for component in ("ssvm_tagger", "ssvm_ner"):
    nlp.add_pipe(component)
texts = [("Anna met Tom .", "N V N .", ["B-PER", "O", "B-PER", "O"]), ("Bonn sleeps", "N V", ["B-LOC", "O"])]
examples = []
for text, tags, entities in texts:
    reference = Doc(nlp.vocab, words=text.split(), tags=tags.split(), ents=entities)
    examples.append(Example(Doc(nlp.vocab, words=text.split()), reference))
nlp.initialize(lambda: examples)
for _ in range(3):
    nlp.update(examples)
doc = nlp("Anna met Tom .")
print(json.dumps([[token.tag_ for token in doc], [entity.label_ for entity in doc.ents]]))
"""


def run(code: str, **environment: str) -> tuple[list, dict[str, list[int]]]:
    """What the code prints in a fresh process, and hits and misses of each kernel there."""
    result = subprocess.run(
        [sys.executable, "-c", f"import json{code}{STATISTICS}"],
        capture_output=True,
        text=True,
        check=False,
        cwd=environment.get("PYTHONPATH"),
        env={**os.environ, **environment},
    )
    assert result.returncode == 0, result.stderr
    printed, statistics = map(json.loads, result.stdout.strip().splitlines())
    return printed, statistics


def misses(statistics: dict[str, list[int]]) -> int:
    return sum(count for _, count in statistics.values())


@pytest.fixture
def package(tmp_path):
    """A copy of the package without compiled files, and the environment in which it is the one imported."""
    root = tmp_path / "copy"
    shutil.copytree(Path(spacy_ssvm.__file__).parent, root / "spacy_ssvm", ignore=shutil.ignore_patterns("__pycache__"))
    return root / "spacy_ssvm", {"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}


def test_second_process_finds_every_kernel(tmp_path):
    environment = {"NUMBA_CACHE_DIR": str(tmp_path)}
    trained, first = run(TRAINING, **environment)
    again, second = run(TRAINING, **environment)
    assert trained == again == [["N", "V", "N", "."], ["PER", "PER"]]
    assert all(missed > 0 for _, missed in first.values())
    assert set(second) <= set(first), "a kernel that calls others brings them along"
    assert len(second) > 5 and all(found > 0 and missed == 0 for found, missed in second.values())


@pytest.mark.slow
def test_second_process_finds_every_kernel_of_every_solver(tmp_path):
    code = "\nfrom spacy_ssvm.warmup import warmup\nprint(len(warmup()))\n"
    number, first = run(code, NUMBA_CACHE_DIR=str(tmp_path))
    assert misses(first) >= number == len(first)
    assert misses(run(code, NUMBA_CACHE_DIR=str(tmp_path))[1]) == 0


def test_changed_callee_makes_its_callers_compile_anew(package, tmp_path):
    """The hash function stands in a file of its own; what calls it must not keep the old one."""
    folder, environment = package
    environment["NUMBA_CACHE_DIR"] = str(tmp_path / "cache")
    (marks, keys), first = run(GAZETTEER, **environment)
    assert marks == [1, 2, 3, 4, 0] and misses(first) > 0
    assert misses(run(GAZETTEER, **environment)[1]) == 0
    source = (folder / "features" / "hashing.py").read_text()
    changed = source.replace("_SHIFT = np.uint64(32)", "_SHIFT = np.uint64(29)")
    assert changed != source
    (folder / "features" / "hashing.py").write_text(changed)
    (marks, other_keys), third = run(GAZETTEER, **environment)
    assert marks == [1, 2, 3, 4, 0] and not set(keys) & set(other_keys) - {"0"}
    assert third["spacy_ssvm.features.gazetteer._add_phrase"] == [0, 1]
    assert misses(run(GAZETTEER, **environment)[1]) == 0


@pytest.mark.parametrize("room", ["features", "structures/chain", "solvers"])
def test_stamp_covers_every_room(package, room):
    folder, environment = package
    code = "\nfrom spacy_ssvm import kernels\nprint(json.dumps(kernels.source_digest().hex()))\n"
    before, _ = run(code, **environment)
    assert run(code, **environment)[0] == before
    (folder / room / "added.py").write_text("ANSWER = 42\n")
    assert run(code, **environment)[0] != before


def test_every_kernel_has_the_stamp():
    for dispatcher in kernels.KERNELS:
        assert dispatcher._cache._cache_file._source_stamp == kernels.source_digest()


def test_works_where_nothing_can_be_kept(package):
    """A package that cannot be written to, and a home that cannot either."""
    folder, environment = package
    for place in [folder, *(path for path in folder.rglob("*") if path.is_dir())]:
        (place / "__pycache__").write_text("")
    environment |= {"NUMBA_CACHE_DIR": NOWHERE, "HOME": NOWHERE, "XDG_CACHE_HOME": NOWHERE}
    check = "\nfrom spacy_ssvm import kernels\nassert not hasattr(kernels.KERNELS[0]._cache, '_cache_file')\n"
    (marks, _), statistics = run(GAZETTEER + check, **environment)
    assert marks == [1, 2, 3, 4, 0]
    assert statistics and not any(found for found, _ in statistics.values())


def test_kernel_is_compiled_for_one_signature_only():
    @kernels.kernel
    def double(values):
        for k in range(len(values)):
            values[k] *= 2

    signature = (numba.float64[::1],)
    for _ in range(2):
        kernels.specialise(double, *signature)
        assert list(double.overloads) == [signature]
    values = np.ones(3)
    double(values)
    assert values.tolist() == [2, 2, 2]
    with pytest.raises(TypeError):
        double(np.ones(3, np.float32))
    assert list(double.overloads) == [signature]
    kernels.KERNELS.remove(double)


def test_read_only_array_is_refused():
    array = np.zeros(3)
    assert kernels.array_type(array) == numba.float64[::1]
    array.setflags(write=False)
    with pytest.raises(TypeError, match="read-only array; copy it first"):
        kernels.array_type(array)
