"""Several processes, several threads, and one process for a long time."""

import gc
import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from pathlib import Path

import pytest
import spacy

import spacy_ssvm
from spacy_ssvm.features import word_types

from ..pipeline.toy import annotation, doc
from .components import LANG, TEXTS, annotated, every, learnt

SOAK = 2_000_000
STEP = 100_000
MODULES = sorted(
    ".".join(path.relative_to(Path(spacy_ssvm.__file__).parents[1]).with_suffix("").parts).removesuffix(".__init__")
    for path in Path(spacy_ssvm.__file__).parent.rglob("*.py")
)


@pytest.fixture
def start_method(request):
    before = multiprocessing.get_start_method()
    multiprocessing.set_start_method(request.param, force=True)
    yield request.param
    multiprocessing.set_start_method(before, force=True)


@pytest.mark.slow
@every
@pytest.mark.parametrize("start_method", ["fork", "spawn", "forkserver"], indirect=True)
@pytest.mark.skipif(sys.platform == "win32", reason="Windows only spawns")
def test_processes(factory, start_method):
    nlp = learnt(factory)
    alone = [annotation(tokens) for tokens in nlp.pipe(TEXTS)]
    together = [annotation(tokens) for tokens in nlp.pipe(TEXTS, n_process=2, batch_size=4)]
    assert together == alone


@every
def test_threads_share_one_pipeline(factory):
    nlp = learnt(factory)
    alone = annotated(nlp)
    nlp = learnt(factory)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: annotation(nlp(doc(nlp, text))), TEXTS * 4))
    assert found == alone * 4


@pytest.mark.slow
def test_every_module_imports_without_a_warning():
    code = f"import importlib\nfor name in {MODULES}: importlib.import_module(name)\nprint('done')"
    result = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    # What spaCy itself warns of at import is not ours.
    spacy_alone = subprocess.run([sys.executable, "-W", "error", "-c", "import spacy, typer, numba"], check=False)
    if spacy_alone.returncode:
        pytest.skip("spaCy cannot be imported with -W error")
    assert result.stdout.strip() == "done", result.stderr


def resident() -> int:
    """Bytes of memory that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def soak(factory: str, n_tokens: int, step: int) -> list[int]:
    """Memory after each `step` tokens of text with ever new words, each batch in a memory zone of its own."""
    nlp = spacy.blank(LANG)
    nlp.add_pipe(factory, source=learnt(factory))
    patterns, curve, done, batch_number = cycle(TEXTS), [], 0, 0
    while done < n_tokens:
        with nlp.memory_zone():
            texts = [f"{text} unseen{batch_number}x{k}" for k, text in enumerate(islice(patterns, 200))]
            done += sum(len(tokens) for tokens in nlp.pipe(texts))
        batch_number += 1
        if done >= step * (len(curve) + 1):
            gc.collect()
            curve.append(resident())
    return curve


@pytest.mark.slow
@every
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads the memory of a process from /proc")
def test_memory_stays_flat(factory, monkeypatch, record_property):
    """Half a million tokens a component; once the table of word types has been full, memory does not grow.

    It is small here: as it is, it holds a million types, which few texts have.
    """
    monkeypatch.setattr(word_types, "MOST_TYPES", 1 << 12)
    curve = soak(factory, SOAK // 4, STEP // 4)
    record_property("megabytes", [round(size / 1e6, 1) for size in curve])
    late = curve[len(curve) // 2 :]
    assert max(late) - late[0] < 0.01 * late[0] + 2_000_000
