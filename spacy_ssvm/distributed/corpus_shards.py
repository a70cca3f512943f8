"""A corpus for training, dealt out in parts, each of which is a file."""

from pathlib import Path

from spacy.tokens import DocBin

from ..corpus.reader import corpus_files
from ..corpus.texts import reading_docs, some_docs

SUFFIX = ".spacy"


def deal(path: Path, folder: Path, n_parts: int, limit: int | None = None) -> list[Path]:
    """Write each document of a .spacy file, or of a folder of them, to one of n files, in turn.

    limit: the number of documents to take; all by default. Returns the files, fewer than n where there are fewer
    documents.

    Raises:
        ValueError: there is no such file, or one is not in .spacy format.
        OSError: the folder cannot be written to.
    """
    files = corpus_files(path)
    if not files or any(file.suffix != SUFFIX for file in files):
        raise ValueError(f"{path} is no {SUFFIX} file, and no folder of them: convert the corpus (spacy convert) first")
    parts: list[DocBin] = []
    n_docs = 0
    for file in files:
        with reading_docs(file):
            read = DocBin(store_user_data=True).from_disk(file)
        parts = parts or [some_docs(read, slice(0)) for _ in range(n_parts)]
        if read.attrs != parts[0].attrs:
            raise ValueError(f"{file} has other attributes than {files[0]}: convert both in the same way")
        end = len(read) if limit is None else min(len(read), limit - n_docs)
        for number, part in enumerate(parts):
            part.merge(some_docs(read, slice((number - n_docs) % n_parts, end, n_parts)))
        n_docs += end
    paths = [folder / f"{number}{SUFFIX}" for number in range(min(n_parts, n_docs))]
    for part, target in zip(parts, paths):
        part.to_disk(target)
    return paths
