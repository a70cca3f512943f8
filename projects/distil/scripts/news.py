"""Raw text of news: the ABC corpus, a paragraph a line, in three files; the articles of a block are in the same one."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from zipfile import ZipFile

import typer

MEMBERS = ("abc/rural.txt", "abc/science.txt")
BLOCK = 25
"""The number of articles that stay together: those of the same days often tell the same story."""
TO_DEV, TO_TEST = 3, 13
"""Of each PERIOD blocks of a file, the places of those that are for choosing, and for comparing."""
PERIOD = 20


def split_news(path: Path, output: Path) -> None:
    """Write train.txt, dev.txt and test.txt. path: of NLTK's abc.zip.

    Raises:
        OSError: the file cannot be read, or the folder cannot be written to.
    """
    output.mkdir(parents=True, exist_ok=True)
    parts: dict[str, list[str]] = {"train": [], "dev": [], "test": []}
    with ZipFile(path) as archive:
        for member in MEMBERS:
            for number, article in enumerate(articles(archive.read(member).decode("cp1252"))):
                part = {TO_DEV: "dev", TO_TEST: "test"}.get(number // BLOCK % PERIOD, "train")
                parts[part] += article
    for part, lines in parts.items():
        (output / f"{part}.txt").write_text("".join(f"{line}\n" for line in lines), "utf8")


def articles(text: str) -> Iterator[list[str]]:
    """The headline and the paragraphs of each article; empty lines divide them."""
    lines = (" ".join(line.split()) for line in text.split("\n"))
    for is_article, group in groupby(lines, bool):
        if is_article:
            yield list(group)


if __name__ == "__main__":
    typer.run(split_news)
