"""Kernels are compiled once for all processes, never stale, and work where nothing can be kept."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

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
MARKS = [1, 2, 3, 4, 0]

TRAINING = """
import sys
import spacy
from spacy.tokens import Doc
from spacy.training import Example
nlp = spacy.blank("en")
nlp.add_pipe("ssvm_senter")
nlp.add_pipe("ssvm_tagger")
nlp.add_pipe("ssvm_ner")
features = {"@ssvm_features": "spacy-ssvm.ParserFeatures.v1", "tags": ["tag"]}
nlp.add_pipe("ssvm_parser", config={"model": {"@architectures": "spacy-ssvm.Tree.v1", "features": features}})
texts = [
    ("Anna met Tom . Bonn sleeps", "N V N . N V", ["B-PER", "O", "B-PER", "O", "B-LOC", "O"], [1, 1, 1, 1, 5, 5]),
    ("Bonn sleeps", "N V", ["B-LOC", "O"], [1, 1]),
]
examples = []
for text, tags, entities, heads in texts:
    words, tags = text.split(), tags.split()
    deps = ["ROOT" if head == place else tag for place, (head, tag) in enumerate(zip(heads, tags))]
    reference = Doc(nlp.vocab, words=words, tags=tags, ents=entities, heads=heads, deps=deps)
    examples.append(Example(Doc(nlp.vocab, words=words, tags=tags), reference))
nlp.initialize(lambda: examples)
for _ in range(3):
    nlp.update(examples)
"""

PREDICTION = """
doc = nlp("Anna met Tom .")
print(json.dumps([[[token.tag_, token.head.i, token.dep_] for token in doc], [entity.label_ for entity in doc.ents]]))
"""
TREE = [["N", 1, "N"], ["V", 1, "ROOT"], ["N", 1, "N"], [".", 1, "."]]
PREDICTED = [TREE, ["PER", "PER"]]


ONLY_TESTED = {"loopy_marginals", "_bethe", "_softplus"}
"""Kernels that no component needs."""


class Run(NamedTuple):
    """What code has printed in a fresh process, hits and misses of each kernel there, and what a user has been told."""

    printed: Any
    statistics: dict[str, list[int]]
    messages: str

    @property
    def misses(self) -> int:
        return sum(missed for _, missed in self.statistics.values())


def start(code: str, *options: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *options, "-c", f"import json{code}{STATISTICS}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=environment.get("PYTHONPATH"),
        env={**os.environ, **environment},
    )


def outcome(process: subprocess.Popen[str]) -> Run:
    output, messages = process.communicate()
    assert process.returncode == 0, messages
    printed, statistics = map(json.loads, output.strip().splitlines())
    return Run(printed, statistics, messages)


def run(code: str, *options: str, **environment: str) -> Run:
    return outcome(start(code, *options, **environment))


@pytest.fixture
def package(tmp_path):
    """A copy of the package without compiled files, and the environment in which it is the one imported."""
    root = tmp_path / "copy"
    shutil.copytree(Path(spacy_ssvm.__file__).parent, root / "spacy_ssvm", ignore=shutil.ignore_patterns("__pycache__"))
    environment = {"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1", "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    return root / "spacy_ssvm", environment


def test_second_process_compiles_nothing_for_any_component(tmp_path):
    """Neither one that trains nor one that only loads and predicts; kernels that others call come along with those."""
    loading = f"\nimport spacy\nnlp = spacy.load({str(tmp_path)!r}){PREDICTION}"
    first = run(f"{TRAINING}nlp.to_disk({str(tmp_path)!r}){loading}")
    again = run(f"{TRAINING}nlp.to_disk({str(tmp_path)!r}){loading}")
    loaded = run(loading)
    assert first.printed == again.printed == loaded.printed == PREDICTED
    for later in (again, loaded):
        assert len(later.statistics) > 5 and later.misses == 0
        assert all(found > 0 for found, _ in later.statistics.values())
        assert "ompiling" not in later.messages


@pytest.mark.slow
def test_second_process_finds_every_kernel_of_every_solver(tmp_path):
    code = "\nfrom spacy_ssvm.warmup import warmup\nprint(len(warmup()))\n"
    left_out = "{one.__name__ for one in kernels.KERNELS if not one.overloads and not one.inner.overloads}"
    check = f"from spacy_ssvm import kernels\nassert {left_out} <= {ONLY_TESTED}, {left_out}\n"
    first = run(code + check, NUMBA_CACHE_DIR=str(tmp_path))
    assert first.misses >= first.printed == len(first.statistics)
    assert run(code, NUMBA_CACHE_DIR=str(tmp_path)).misses == 0
    assert run(f"{TRAINING}{PREDICTION}", NUMBA_CACHE_DIR=str(tmp_path)).misses == 0


def test_first_compilation_is_announced_once(tmp_path):
    first, second = (run(GAZETTEER, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert first.messages.count("Compiling kernels") == 1 and "spacy ssvm warmup" in first.messages
    assert not second.messages


def test_processes_that_start_at_the_same_time_agree(tmp_path):
    processes = [start(GAZETTEER, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(4)]
    results = [outcome(process) for process in processes]
    assert [result.printed for result in results] == 4 * [results[0].printed] and results[0].printed[0] == MARKS
    later = run(GAZETTEER, NUMBA_CACHE_DIR=str(tmp_path))
    assert later.printed == results[0].printed and later.misses == 0
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".nbc"]


def test_damaged_machine_code_is_compiled_anew(tmp_path):
    expected = run(GAZETTEER, NUMBA_CACHE_DIR=str(tmp_path)).printed
    for damage in (lambda content: content[: len(content) // 2], lambda content: b"", bytes.swapcase):
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        for path in files:
            path.write_bytes(damage(path.read_bytes()))
        again = run(GAZETTEER, NUMBA_CACHE_DIR=str(tmp_path))
        assert again.printed == expected and again.misses >= len(files) > 0
    assert run(GAZETTEER, NUMBA_CACHE_DIR=str(tmp_path)).misses == 0


def test_changed_callee_makes_its_callers_compile_anew(package):
    """The hash function stands in a file of its own; what calls it must not keep the old one."""
    folder, environment = package
    (marks, keys), first, _ = run(GAZETTEER, **environment)
    assert marks == MARKS and first["spacy_ssvm.features.gazetteer._add_phrase"] == [0, 1]
    assert run(GAZETTEER, **environment).misses == 0
    source = (folder / "features" / "hashing.py").read_text()
    changed = source.replace("_SHIFT = np.uint64(32)", "_SHIFT = np.uint64(29)")
    assert changed != source
    (folder / "features" / "hashing.py").write_text(changed)
    (marks, other_keys), third, _ = run(GAZETTEER, **environment)
    assert marks == MARKS and not set(keys) & set(other_keys) - {"0"}
    assert third["spacy_ssvm.features.gazetteer._add_phrase"] == [0, 1]
    assert run(GAZETTEER, **environment).misses == 0


def test_stamp_covers_every_room(package):
    folder, environment = package
    rooms = ["features", "structures/chain", "solvers"]
    code = f"""
from pathlib import Path
from spacy_ssvm import kernels
digests = [kernels.source_digest().hex()]
for room in ("", *{rooms}):
    if room:
        Path({str(folder)!r}, room, "added.py").write_text("ANSWER = 42")
    kernels.source_digest.cache_clear()
    digests.append(kernels.source_digest().hex())
print(json.dumps(digests))
"""
    first, again, *changed = run(code, **environment).printed
    assert first == again and len({first, *changed}) == 1 + len(rooms)


def test_works_where_nothing_can_be_kept(package):
    """A package that cannot be written to, and a home that cannot either."""
    folder, environment = package
    (folder / "__pycache__").write_text("")
    environment |= {"NUMBA_CACHE_DIR": "", "HOME": NOWHERE, "XDG_CACHE_HOME": NOWHERE}
    for _ in range(2):
        result = run(GAZETTEER, "-W", "error", **environment)
        assert result.printed[0] == MARKS and result.misses > 0
        assert result.messages.count("cannot be kept") == 1 and "NUMBA_CACHE_DIR" in result.messages


def test_kernels_compiled_before_an_install_became_read_only_are_used(package):
    """As where a Docker image is built with `spacy ssvm warmup` and used by somebody else."""
    folder, environment = package
    environment |= {"NUMBA_CACHE_DIR": "", "XDG_CACHE_HOME": NOWHERE, "HOME": NOWHERE}
    assert run(GAZETTEER, **environment).misses > 0
    usual = folder / "usual"
    usual.touch()
    kept = list((folder / "__pycache__").glob("*.nbc"))
    assert kept and all(path.stat().st_mode == usual.stat().st_mode for path in kept)
    (folder / "__pycache__").chmod(0o555)
    result = run(GAZETTEER, **environment)
    assert result.printed[0] == MARKS and result.misses == 0 and not result.messages


def test_works_without_a_compiler():
    """Slow, correct and quiet."""
    result = run(f"{TRAINING}{PREDICTION}", "-W", "error", NUMBA_DISABLE_JIT="1")
    assert result.printed == PREDICTED and not result.statistics and not result.messages


def test_imports_are_light_and_quiet():
    code = "\nimport spacy_ssvm, spacy_ssvm.pipeline.factories, sys\nprint(json.dumps('numba' in sys.modules))\n"
    assert run(code, "-W", "error").printed is False


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
