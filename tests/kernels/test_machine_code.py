"""Machine code that a wheel brings: used where it fits and nowhere else, and within its level of processors."""

import json
import pickle
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import capstone
import llvmlite.binding
import pytest

from spacy_ssvm.kernels import machine_code
from spacy_ssvm.kernels.machine_code import BUILT_FOR, FOLDER, Level

from .processes import NOWHERE, PREDICTED, PREDICTION, TRAINING, copied, run

UNWRITABLE = {"NUMBA_CACHE_DIR": "", "HOME": NOWHERE, "XDG_CACHE_HOME": NOWHERE}
PRODUCTS = """
import numpy as np
from spacy_ssvm.features.index import empty_table, grown
from spacy_ssvm.kernels.machine_code import built_for
table = grown(empty_table(), 4096)
print(json.dumps([len(table.keys), built_for()]))
"""
"""Code that needs a kernel."""
MULTIPLICATION = """
from numba import int64
from spacy_ssvm.kernels import kernel, specialise
def products(left, right):
    for k in range(len(left)):
        left[k] *= right[k]
specialise(kernel(products), int64[::1], int64[::1])
print(0)
"""
"""A loop that the higher levels have instructions for. It is compiled only: this processor may lack them."""
V3, V2 = machine_code._LEVELS["x86_64"]
V4 = Level("x86-64-v4", f"{V3.features},+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl")
ANY_PROCESSOR = {"mode64", "not64bitmode", "jump", "call", "ret", "branch_relative", "fpu"}
"""What capstone files instructions under that every processor has."""
IN_V2 = ANY_PROCESSOR | {"cmov", "mmx", "sse1", "sse2", "sse3", "ssse3", "sse41", "sse42"}
IN_V3 = IN_V2 | {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "novlx"}
ONLY_V3 = {"andn", "lzcnt", "movbe", "tzcnt"}
VEX, EVEX = (b"\xc4", b"\xc5"), b"\x62"
"""The first byte of instructions of AVX and later, and of AVX-512 and later."""

x86_64 = pytest.mark.skipif(machine_code._architecture() != "x86_64", reason="there is one level only")


def settings(level: Level) -> dict[str, str]:
    return {"NUMBA_CPU_NAME": level.name, "NUMBA_CPU_FEATURES": level.features}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of the package that brings the machine code of one kernel for each level."""
    root = tmp_path_factory.mktemp("installed")
    environment = copied(root)
    for level in machine_code.levels():
        cache = root / level.name
        found = run(PRODUCTS, NUMBA_CACHE_DIR=str(cache), **environment, **settings(level))
        folder = root / "spacy_ssvm" / "machine_code"
        (folder / level.name).mkdir(parents=True)
        for path in cache.glob("*/*-outer-*"):
            shutil.copy(path, folder / level.name)
        (folder / BUILT_FOR).write_text(json.dumps(found.printed[1]), "utf8")
    (root / "spacy_ssvm" / "__pycache__").touch()  # Nothing can be written there.
    return root


@pytest.fixture
def copy(installed: Path, tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """The folder of machine code in a copy of its own, and the environment in which that package is imported."""
    shutil.copytree(installed, tmp_path / "copy")
    environment = {"PYTHONPATH": str(tmp_path / "copy"), "PYTHONDONTWRITEBYTECODE": "1", **UNWRITABLE}
    return tmp_path / "copy" / "spacy_ssvm" / "machine_code", environment


def search(folder: Path, built_for: dict[str, str], features: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What is found in a folder of machine code, by a process that has not looked for any."""
    monkeypatch.setattr(machine_code, "FOLDER", folder)
    (folder / BUILT_FOR).write_text(json.dumps(built_for), "utf8")
    return machine_code._search.__wrapped__(features)


@pytest.mark.slow
def test_nothing_is_compiled_and_nothing_said(copy):
    _, environment = copy
    found = run(PRODUCTS, "-W", "error", **environment)
    assert found.printed[0] >= 4096 and found.statistics and found.misses == 0 and not found.messages


@x86_64
@pytest.mark.slow
@pytest.mark.parametrize("level", [V2, V3], ids=lambda level: level.name)
def test_the_highest_level_within_numbas_settings_is_used(copy, level):
    folder, environment = copy
    for other in {V2, V3} - {level}:
        shutil.rmtree(folder / other.name)
    assert run(PRODUCTS, **environment, NUMBA_CPU_FEATURES=level.features).misses == 0
    (other,) = {V2, V3} - {level}
    assert run(PRODUCTS, **environment, NUMBA_CPU_FEATURES=other.features).misses > 0


@pytest.mark.parametrize("name", ["python", "numba", "llvmlite", "system", "sources"])
def test_code_for_something_else_does_not_fit(name, tmp_path, monkeypatch):
    built_for = machine_code.built_for()
    here, built_for[name] = built_for[name], f"another {name}"
    assert search(tmp_path, built_for, V3.features, monkeypatch) == f"was built for another {name}, not {here}"


@pytest.mark.slow
def test_changed_sources_are_compiled_and_the_user_is_told_once(copy):
    folder, environment = copy
    with (folder.parent / "features" / "index.py").open("a", encoding="utf8") as file:
        file.write("\n")
    found = run(PRODUCTS, **environment)
    assert found.misses > 0 and found.messages.count("cannot be used: it was built for sources") == 1


@pytest.mark.slow
def test_damaged_code_is_compiled_anew(copy):
    folder, environment = copy
    for path in folder.glob("*/*.nbc"):
        path.write_bytes(path.read_bytes()[:-1])
    assert run(PRODUCTS, **environment).misses > 0


@pytest.mark.slow
@x86_64
def test_generic_code_is_compiled_if_numba_is_told_to(copy):
    _, environment = copy
    found = run(PRODUCTS, **environment, NUMBA_CPU_NAME="generic")
    assert found.misses > 0 and found.messages.count("cannot be used: it needs a processor with 64bit, ") == 1


@x86_64
@pytest.mark.parametrize("lacking, expected", [("", V3), ("fma", V2), ("movbe", V2), ("sse4.2", None), ("cx16", None)])
def test_code_for_a_feature_that_the_processor_lacks_is_never_used(lacking, expected, tmp_path, monkeypatch):
    """Whatever numba is told to compile for."""
    present = {name: name != lacking for name in machine_code._names(V3.features)}
    monkeypatch.setattr(llvmlite.binding, "get_host_cpu_features", lambda: present)
    found = search(tmp_path, machine_code.built_for(), V4.features, monkeypatch)
    assert found == ((tmp_path / expected.name, expected) if expected else f"needs a processor with {lacking}")


def beyond(level: Level, file: Path) -> Iterator[str]:
    """The instructions of a stored kernel that a processor of this level may not have."""
    (library, *_), *_ = pickle.loads(file.read_bytes()[32:])
    _, _, (code, _) = library
    reader = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    reader.detail = True
    for section in llvmlite.binding.ObjectFileRef.from_data(code).sections():
        if section.is_text():
            read, content = 0, section.data()
            for found in reader.disasm(content, 0):
                read += found.size
                groups, prefix = {reader.group_name(group) for group in found.groups}, bytes(found.bytes[:1])
                if level == V3:
                    fits = groups <= IN_V3 and prefix != EVEX
                else:
                    fits = (
                        groups <= IN_V2 and found.mnemonic not in ONLY_V3 and not found.bytes.startswith((*VEX, EVEX))
                    )
                if not fits:
                    yield f"{found.mnemonic} {found.op_str}"
            assert read == len(content), "capstone does not know an instruction"


@x86_64
@pytest.mark.parametrize("level", [V3, *(pytest.param(level, marks=pytest.mark.slow) for level in (V2, V4))])
def test_instructions_above_a_level_are_found(level, tmp_path):
    """Code for a level or a lower one has none, and code for a higher one has some."""
    run(MULTIPLICATION, NUMBA_CACHE_DIR=str(tmp_path), **settings(level))
    (file,) = tmp_path.glob("*/*.nbc")
    for allowed in (V2, V3):
        assert bool(list(beyond(allowed, file))) == (level.name > allowed.name)


@pytest.mark.skipif(not FOLDER.exists(), reason="the installed wheel brings no machine code")
def test_training_and_predicting_with_the_installed_code_compile_nothing(tmp_path):
    """Without a home, and with no folder to write to."""
    found = run(f"{TRAINING}{PREDICTION}", **UNWRITABLE | {"NUMBA_CACHE_DIR": NOWHERE}, PYTHONPATH=str(tmp_path))
    assert found.printed == PREDICTED and found.statistics and found.misses == 0 and not found.messages


@x86_64
@pytest.mark.skipif(not FOLDER.exists(), reason="the installed wheel brings no machine code")
@pytest.mark.parametrize("level", [V2, V3], ids=lambda level: level.name)
def test_no_instruction_of_the_installed_code_is_above_its_level(level):
    if not (FOLDER / level.name).exists():
        pytest.skip(f"the installed wheel brings no code for {level.name}")
    files = list((FOLDER / level.name).iterdir())
    assert len(files) > 100
    assert not {file.name: found for file in files if (found := list(beyond(level, file)))}
