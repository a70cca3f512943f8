"""A corpus for training, dealt out to workers: each gets a file of its own."""

from pathlib import Path

from spacy.tokens import DocBin

from ..corpus.reader import corpus_files
from ..corpus.texts import reading_docs, some_docs

SUFFIX = ".spacy"


def deal(path: Path, folder: Path, n_shards: int, limit: int | None = None) -> list[Path]:
    """Write each document of a .spacy file, or of a folder of them, to one of n files, in turn.

    limit: the number of documents to take; all by default.

    Raises:
        ValueError: there is no such file, one is not in .spacy format, or there are fewer documents than shards.
        OSError: the folder cannot be written to.
    """
    files = corpus_files(path)
    if not files or any(file.suffix != SUFFIX for file in files):
        raise ValueError(f"{path} is no {SUFFIX} file, and no folder of them: convert the corpus (spacy convert) first")
    shards: list[DocBin] = []
    n_docs = 0
    for file in files:
        with reading_docs(file):
            read = DocBin(store_user_data=True).from_disk(file)
        shards = shards or [some_docs(read, slice(0)) for _ in range(n_shards)]
        if read.attrs != shards[0].attrs:
            raise ValueError(f"{file} has other attributes than {files[0]}: convert both in the same way")
        end = len(read) if limit is None else min(len(read), limit - n_docs)
        for number, shard in enumerate(shards):
            shard.merge(some_docs(read, slice((number - n_docs) % n_shards, end, n_shards)))
        n_docs += end
    if n_docs < n_shards:
        raise ValueError(f"{path} has {n_docs} documents, fewer than the {n_shards} workers")
    paths = [folder / f"{number}{SUFFIX}" for number in range(n_shards)]
    for shard, target in zip(shards, paths):
        shard.to_disk(target)
    return paths
