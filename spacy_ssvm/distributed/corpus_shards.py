"""A corpus for training, dealt out to workers: each gets a file of its own."""

from itertools import cycle
from pathlib import Path

from spacy.tokens import DocBin

from ..corpus.reader import corpus_files
from ..corpus.texts import reading_docs

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
    turns = cycle(range(n_shards))
    n_docs = 0
    for file in files:
        with reading_docs(file):
            read = DocBin().from_disk(file)
        shards = shards or [DocBin(store_user_data=True) for _ in range(n_shards)]
        for shard in shards:
            if n_docs and shard.attrs != read.attrs:
                raise ValueError(f"{file} has other attributes than {files[0]}: convert both in the same way")
            shard.attrs = list(read.attrs)
            shard.strings |= read.strings
        for number in range(len(read) if limit is None else min(len(read), limit - n_docs)):
            shard = shards[next(turns)]
            for name in ("tokens", "spaces", "cats", "flags", "span_groups", "user_data"):
                getattr(shard, name).extend(getattr(read, name)[number : number + 1])
            n_docs += 1
    if n_docs < n_shards:
        raise ValueError(f"{path} has {n_docs} documents, fewer than the {n_shards} workers")
    paths = [folder / f"{number}{SUFFIX}" for number in range(n_shards)]
    for shard, target in zip(shards, paths):
        shard.to_disk(target)
    return paths
