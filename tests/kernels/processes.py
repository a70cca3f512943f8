"""Code run in fresh processes, and what its kernels have cost there."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import spacy_ssvm

STATISTICS = """
import json
from spacy_ssvm import kernels
print(json.dumps({kernel.name: [kernel.hits, kernel.misses] for kernel in kernels.cache_statistics()}))
"""

TRAINING = """
import sys
import spacy
from spacy.tokens import Doc
from spacy.training import Example
nlp = spacy.blank("xx")
nlp.add_pipe("ssvm_senter")
nlp.add_pipe("ssvm_tagger")
nlp.add_pipe("ssvm_ner")
features = {"@ssvm_features": "spacy-ssvm.ParserFeatures.v1", "tags": ["tag"], "hash_bits": 12, "label_hash_bits": 8}
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
LEARNING = f"""
import sys
sys.path.append({str(Path(__file__).parents[2])!r})
from spacy_ssvm.solvers.perceptron import Perceptron
from tests.handmade import learnt
print(json.dumps(learnt(Perceptron())))
"""
"""A solver learns: few kernels, and no component."""
TREE = [["N", 1, "N"], ["V", 1, "ROOT"], ["N", 1, "N"], [".", 1, "."]]
PREDICTED = [TREE, ["PER", "PER"]]


NOWHERE = f"{os.devnull}/nowhere"
"""A path at which no process, however privileged, can make a directory."""


def copied(root: Path) -> dict[str, str]:
    """Copy the package without anything compiled; the environment in which the copy is the one imported."""
    ignored = shutil.ignore_patterns("__pycache__", "machine_code")
    shutil.copytree(Path(spacy_ssvm.__file__).parent, root / "spacy_ssvm", ignore=ignored)
    return {"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}


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
        env={**os.environ, **environment},
    )


def outcome(process: subprocess.Popen[str]) -> Run:
    output, messages = process.communicate()
    assert process.returncode == 0, messages
    printed, statistics = map(json.loads, output.strip().splitlines())
    return Run(printed, statistics, messages)


def run(code: str, *options: str, **environment: str) -> Run:
    return outcome(start(code, *options, **environment))
