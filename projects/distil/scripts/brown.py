"""Raw text of the Brown corpus: a paragraph a line, in three files; each of its 500 texts is in one of them."""

import re
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import typer

TO_DEV, TO_TEST = 3, 13
"""Of each PERIOD texts, the places of those that are for choosing, and for comparing."""
PERIOD = 20
MEMBER = re.compile(r"brown/c[a-r]\d\d")
QUOTES = {"``": '"', "''": '"'}
SPACES = [
    (re.compile(r'" ([^"]*?) ?"'), r'"\1"'),
    (re.compile(r" ([,.;:?!)\]}%]|'s?(?= ))"), r"\1"),
    (re.compile(r"([(\[{$]) "), r"\1"),
    (re.compile(r"([;?!])\1"), r"\1"),
]
"""What stands between words, and what takes its place."""


def split_brown(path: Path, output: Path) -> None:
    """Write train.txt, dev.txt and test.txt. path: of NLTK's brown.zip.

    Raises:
        OSError: the file cannot be read, or the folder cannot be written to.
    """
    output.mkdir(parents=True, exist_ok=True)
    with ZipFile(path) as archive:
        # Those of a genre have one letter, and numbers from 01: in this order, the first texts are of all genres.
        names = sorted(filter(MEMBER.fullmatch, archive.namelist()), key=lambda name: (name[-2:], name))
        parts: dict[str, list[str]] = {"train": [], "dev": [], "test": []}
        for number, name in enumerate(names):
            part = {TO_DEV: "dev", TO_TEST: "test"}.get(number % PERIOD, "train")
            parts[part] += paragraphs(archive.read(name).decode("ascii"))
    for part, lines in parts.items():
        (output / f"{part}.txt").write_text("".join(f"{line}\n" for line in lines), "utf8")


def paragraphs(tagged: str) -> Iterator[str]:
    """The paragraphs of one text, without tags."""
    for paragraph in re.split(r"\n{3,}", tagged):
        words = [pair.rpartition("/")[0] for pair in paragraph.split()]
        if words:
            yield joined(words)


def joined(words: list[str]) -> str:
    """The words as a text: quotes and spaces as they are written."""
    text = " ".join(QUOTES.get(word, word) for word in words)
    for pattern, replacement in SPACES:
        text = pattern.sub(replacement, text)
    return text


if __name__ == "__main__":
    typer.run(split_brown)
