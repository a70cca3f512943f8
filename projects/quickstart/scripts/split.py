"""Merge the corpus files and split them, file by file, into train, dev and test."""

import hashlib
from pathlib import Path

import typer

PARTS = {"train": 0.70, "dev": 0.85, "test": 1.00}
"""Each part and the share of a file's sentences at which it ends."""


def read_sentences(path: Path) -> list[str]:
    """The blocks of a CoNLL-U file, each with its comment lines."""
    return [block for block in path.read_text("utf8").split("\n\n") if block.strip()]


def split(sentences: list[str]) -> dict[str, list[str]]:
    """Deal the sentences out in the order of their digests, which depends neither on a seed nor on their place."""
    dealt = sorted(sentences, key=lambda block: hashlib.sha256(block.encode("utf8")).digest())
    parts: dict[str, list[str]] = {}
    first = 0
    for part, share in PARTS.items():
        end = round(share * len(dealt))
        parts[part] = dealt[first:end]
        first = end
    return parts


def main(corpus: Path, output: Path) -> None:
    """Write train.conllu, dev.conllu and test.conllu to OUTPUT, each with its share of every file in CORPUS."""
    files = [split(read_sentences(path)) for path in sorted(corpus.glob("*.conllu"))]
    output.mkdir(parents=True, exist_ok=True)
    for part in PARTS:
        blocks = [block for file in files for block in file[part]]
        (output / f"{part}.conllu").write_text("".join(f"{block.strip()}\n\n" for block in blocks), "utf8")
        print(f"{part:5} {len(blocks):4} sentences")


if __name__ == "__main__":
    typer.run(main)
