"""The same machine code learns the same model, byte for byte, on whatever processor."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spacy_ssvm.kernels import machine_code

from .processes import run

CORPUS = Path(__file__).parents[2] / "projects" / "quickstart" / "corpus"
LEARNING = f"""
import hashlib, json, pathlib, sys
import spacy
from spacy.training import Corpus, Example
from spacy.training.converters import conllu_to_docs

nlp = spacy.blank("en")
for name in ("ssvm_senter", "ssvm_tagger", "ssvm_parser", "ssvm_ner"):
    nlp.add_pipe(name)
text = pathlib.Path({str(CORPUS / "news.conllu")!r}).read_text("utf8")
docs = list(conllu_to_docs(text, n_sents=5, no_print=True))
examples = [Example(nlp.make_doc(doc.text), doc) for doc in docs]
nlp.initialize(lambda: examples)
for _ in range(4):
    nlp.update(examples)
print(json.dumps({{name: hashlib.sha256(pipe.to_bytes()).hexdigest() for name, pipe in nlp.pipeline}}))
"""
HERE = set(np.show_config(mode="dicts")["SIMD Extensions"].get("found", []))
"""What NumPy chooses by the processor."""
PROCESSORS: dict[str, dict[str, str]] = {
    **{
        level.name: {"NUMBA_CPU_NAME": level.name, "NUMBA_CPU_FEATURES": level.features}
        for level in machine_code.levels()
    },
    "NumPy of an old one": {"NPY_DISABLE_CPU_FEATURES": " ".join(HERE)},
    "OpenBLAS of an old one": {"OPENBLAS_CORETYPE": "Nehalem"},
    "glibc of an old one": {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-AVX512F,-FMA,-FMA4"},
}
"""Settings by which libraries choose the code that they would choose on other processors."""


@pytest.fixture(scope="module")
def learnt() -> Any:
    return run(LEARNING).printed


@pytest.mark.slow
@pytest.mark.parametrize("processor", PROCESSORS)
def test_components_with_their_default_solvers_learn_the_same(learnt, processor):
    assert len(set(learnt.values())) == 4
    assert run(LEARNING, **PROCESSORS[processor]).printed == learnt
