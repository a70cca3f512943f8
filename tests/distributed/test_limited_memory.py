"""Workers that learn, with less private memory than a tenth of what the examples take."""

import random
import subprocess
import sys
from pathlib import Path

import pytest
import spacy
from spacy.tokens import Doc, DocBin

from .toy_training import arguments, weights_of

N_FILES = 40
MORE = 128 << 20
"""Bytes of private memory that a process gets in addition to what it has when it has begun."""

LIMIT = f"""
import re, resource
from pathlib import Path

def limit():
    used = 1024 * int(re.search(r"VmData:\\s*(\\d+)", Path("/proc/self/status").read_text())[1])
    resource.setrlimit(resource.RLIMIT_DATA, (used + {MORE}, used + {MORE}))
"""
IN_WORKERS = """
import ray

if ray.is_initialized():
    limit()
"""
A_TENTH_IN_MEMORY = """
import sys
import spacy
from spacy_ssvm.corpus.reader import create_corpus

nlp = spacy.blank("en")
limit()
examples = [list(create_corpus(Path(path), augmenter=lambda nlp, example: [example])(nlp)) for path in sys.argv[1:]]
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of files with 5,000 documents each, of a thousand sentences, of words that have one tag each."""
    folder, vocab, draw = tmp_path_factory.mktemp("corpus"), spacy.blank("en").vocab, random.Random(0)
    sentences = [draw.choices(range(500), k=16) for _ in range(1000)]
    for number in range(N_FILES):
        docs = []
        for words in draw.choices(sentences, k=5000):
            docs.append(Doc(vocab, words=[f"w{word}" for word in words], tags=[f"T{word % 7}" for word in words]))
        DocBin(attrs=["ORTH", "TAG", "SPACY"], docs=docs).to_disk(folder / f"{number:02}.spacy")
    return folder


@pytest.mark.slow
@pytest.mark.usefixtures("ray")
def test_corpus_of_ten_times_the_memory_of_a_worker(corpus: Path, tmp_path: Path) -> None:
    files = sorted(corpus.iterdir())
    code = [sys.executable, "-c", LIMIT + A_TENTH_IN_MEMORY, *map(str, files[: N_FILES // 10])]
    done = subprocess.run(code, capture_output=True, text=True, timeout=300)
    assert "MemoryError" in done.stderr

    def train(output: Path, *options: str) -> bytes:
        settings = "--paths.dev", str(files[0]), "--training.max_epochs", "1"
        run = arguments(corpus, output, "tagger/dcd", *settings, *options)
        done = subprocess.run(
            [sys.executable, "-m", "spacy", "ssvm", *run], capture_output=True, text=True, timeout=900
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return weights_of(output)

    (tmp_path / "limit.py").write_text(LIMIT + IN_WORKERS)
    # First, as it also compiles the kernels, which takes more memory.
    free = train(tmp_path / "free")
    assert train(tmp_path / "limited", "--code", str(tmp_path / "limit.py")) == free
