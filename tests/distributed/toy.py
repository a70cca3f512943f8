"""A pipeline, texts and commands for the tests of bulk annotation."""

import os
import sys
from pathlib import Path

import spacy
from spacy.cli._util import import_code
from spacy.tokens import Doc, DocBin

from ..cli.calling import refusal, said

CODE = """
import os, time
from spacy.language import Language

@Language.component("moody")
def moody(doc):
    if "poison" in doc.text:
        raise ValueError("this is poison")
    if "deadly" in doc.text:
        os._exit(3)
    if "slow" in doc.text:
        time.sleep(0.03)
    return doc
"""
WIDE = " " * 15_000
"""Makes a short text long, so that a shard has few of them."""


def arguments(place: Path, inputs: list[Path], output: Path, *options: str) -> list[str]:
    code = ["--code", str(place / "code.py")]
    return ["apply", str(place / "model"), *map(str, inputs), str(output), *code, *options]


def apply(place: Path, inputs: list[Path], output: Path, *options: str) -> str:
    return said(*arguments(place, inputs, output, *options))


def refused(place: Path, inputs: list[Path], output: Path, *options: str) -> str:
    return refusal(*arguments(place, inputs, output, *options))


def command(place: Path, inputs: list[Path], output: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "spacy", "ssvm", *arguments(place, inputs, output, *options)]


def contents(output: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(output.iterdir()) if path.name != ".lock"}


def docs_of(output: Path) -> list[Doc]:
    vocab = spacy.blank("en").vocab
    return [doc for path in sorted(output.glob("*.spacy")) for doc in DocBin().from_disk(path).get_docs(vocab)]


def lines(folder: Path, texts: list[str], name: str = "texts.txt") -> Path:
    path = folder / name
    path.write_text("".join(f"{text}\n" for text in texts), "utf8")
    return path


def send(process: int, number: int) -> bool:
    """Send a signal; returns whether the process was there, as it may just have ended."""
    try:
        os.kill(process, number)
    except ProcessLookupError:
        return False
    return True


def descendants(process: int) -> dict[int, str]:
    """The processes that this one has begun, directly or not, and that have not ended: number → name. For Linux."""
    names: dict[int, str] = {}
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, rest = path.read_text().rsplit(")", 1)
        except OSError:
            continue
        state, parent = rest.split()[:2]
        if state != "Z":
            names[int(path.parent.name)] = name.split("(", 1)[1]
            children.setdefault(int(parent), []).append(int(path.parent.name))
    found = list(children.get(process, ()))
    for number in found:
        found += children.get(number, ())
    return {number: names[number] for number in found}


def made(folder: Path) -> None:
    """A pipeline that splits sentences and fails at some words, `model`, and the code that it needs, `code.py`."""
    (folder / "code.py").write_text(CODE, "utf8")
    import_code(folder / "code.py")
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("moody")
    nlp.to_disk(folder / "model")
