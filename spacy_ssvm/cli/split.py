"""`spacy ssvm split`: keeps a tenth of a corpus back for development."""

from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..corpus.division import divide
from ..files import replace_files
from ..wording import counted
from .pipelines import DataPath


def split_command(
    data_path: DataPath,
    train_path: Annotated[Path, typer.Argument(help="File for the training part")],
    dev_path: Annotated[Path, typer.Argument(help="File for the development part")],
    seed: Annotated[int, typer.Option("--seed", "-s", help="Seed of what is kept back")] = 0,
) -> None:
    """Keep a tenth of a corpus back for development: a .conllu or .spacy file, or a folder of files of one format.

    Documents stay in one piece: those of # newdoc in CoNLL-U, and the Docs of .spacy. Without them, or with too few,
    stretches of ten sentences do. Sentences and Docs are copied as they are. The same seed keeps the same ones back.
    """
    try:
        for path in (train_path, dev_path):
            if path.exists():
                raise ValueError(f"{path} exists: name another file, or remove it")
        parts = divide(data_path, seed)
        suffix = ".conllu" if parts.measure == "sentence" else ".spacy"
        for path in (train_path, dev_path):
            if path.suffix != suffix:
                raise ValueError(
                    f"{path}: the name of the file has to end in {suffix}, as the corpus is in this format"
                )
        if train_path.resolve() == dev_path.resolve():
            raise ValueError(f"{train_path} is to be both parts: name two files")
        for path in (train_path, dev_path):
            path.parent.mkdir(parents=True, exist_ok=True)
        for path, content in ((train_path, parts.train), (dev_path, parts.dev)):
            replace_files(path.parent, {path.name: content})
    except (OSError, ValueError) as error:
        msg.fail("Nothing was divided", str(error), exits=1)
    what = "lines" if suffix == ".conllu" else "documents"
    places = [f"{name}: {what} {', '.join(map(str, numbers))}" for name, numbers in parts.kept.items()]
    n_kept = sum(map(len, parts.kept.values()))
    msg.info(f"Kept back {n_kept:,} of {parts.n_units:,} {parts.kind}, by seed {seed}:", "\n".join(places))
    for path, size in ((train_path, parts.size - parts.dev_size), (dev_path, parts.dev_size)):
        msg.good(f"Saved {counted(size, parts.measure)} to {path}")
