"""Agreement over the amount of raw text: the same config, trained on the first documents of the silver corpus."""

from pathlib import Path
from typing import Annotated

import spacy
import srsly
import typer
from spacy.cli.train import train

from scripts.compare import SCORES, agreement, silver_docs, size


def curve(
    config: Path,
    training: Annotated[Path, typer.Argument(help="Folder for a pipeline of each size")],
    test: Annotated[Path, typer.Argument(help="What the teacher has made of text that the student has not seen")],
    limits: Annotated[str, typer.Argument(help="Numbers of documents to learn from, with commas")],
    epochs: int,
) -> None:
    """Train a student on each number of documents, and write the table of agreement; goes on where it stopped."""
    rows = []
    for limit in map(int, limits.split(",")):
        folder = training / str(limit)
        record = folder / "figures.json"
        if not record.exists():
            train(config, folder, overrides={"corpora.train.limit": limit, "training.max_epochs": epochs})
            student = spacy.load(folder / "model-best")
            figures = agreement(student, list(silver_docs(student, test)))
            srsly.write_json(record, {"megabytes": size(folder / "model-best") / 1e6, **figures})
        rows.append((limit, srsly.read_json(record)))
    page = table(rows)
    (training / "curve.md").write_text(page, "utf8")
    print(page)


def table(rows: list[tuple[int, dict[str, float]]]) -> str:
    """The figures of each number of documents as Markdown."""
    names = [name for name in SCORES if name in rows[0][1]]
    lines = [["documents", *(SCORES[name] for name in names), "MB"], ["---:"] * (len(names) + 2)]
    lines += [
        [f"{limit:,}", *(f"{100 * figures[name]:.1f}" for name in names), f"{figures['megabytes']:.1f}"]
        for limit, figures in rows
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    typer.run(curve)
