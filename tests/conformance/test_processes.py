"""Several processes, several threads, and one process for a long time."""

import multiprocessing
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import spacy_ssvm

from ..pipeline.toy import EXAMPLES, annotation, doc
from .components import TEXTS, annotated, every, learnt

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="reads the memory of a process from /proc"
)
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


def soaked(*arguments: str | int) -> list[float]:
    """Megabytes of a process of its own, as `soak.py` measures them, after half of its tokens and later."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.conformance.soak", *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False)
    assert not result.returncode, result.stderr
    curve = [float(size) for size in result.stdout.split()]
    return curve[len(curve) // 2 :]


@needs_proc
@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("--zones",), ("--tokens", 400_000, "--types", 1 << 12)], ids=["zones", "none"])
def test_memory_grows_no_more_than_spacys(arguments, record_property):
    """Two million tokens, a quarter of them new words, through all components, in memory zones, which cost spaCy's own
    tables a little; and fewer without zones, where spaCy keeps each word, and a component no more than so many.
    """
    alone, together = (soaked(*arguments, *factories) for factories in ((), EXAMPLES))
    record_property("megabytes alone", alone)
    record_property("megabytes together", together)
    assert together[-1] - together[0] < 1.05 * (alone[-1] - alone[0]) + 4
