"""Gold sentences beside silver ones: a training folder where each file of gold sentences lies as often as it counts."""

import shutil
from pathlib import Path
from typing import Annotated

import typer

from spacy_ssvm.corpus.reader import SUFFIXES, corpus_files


def mix(
    silver: Annotated[Path, typer.Argument(help="File or folder that the teacher has annotated")],
    gold: Annotated[Path, typer.Argument(help="File or folder that people have annotated")],
    output: Annotated[Path, typer.Argument(help="Folder for both; a new one")],
    weight: Annotated[int, typer.Argument(min=1, help="How often a gold sentence counts; a silver one counts once")],
) -> None:
    """Make a folder to train on. A sentence that is there K times has K times its loss in the objective of a solver."""
    if bad := [file for file in (*corpus_files(silver), *corpus_files(gold)) if not file.name.endswith(SUFFIXES)]:
        raise typer.BadParameter(f"{bad[0]} is no .spacy or .conllu file: convert it by spacy ssvm init-config --data")
    output.mkdir(parents=True)
    for number, file in enumerate(corpus_files(silver)):
        shutil.copy(file, output / f"silver-{number:06}{file.suffix}")
    for number, file in enumerate(corpus_files(gold)):
        for copy in range(weight):
            shutil.copy(file, output / f"gold-{number:06}-{copy}{file.suffix}")


if __name__ == "__main__":
    typer.run(mix)
