"""A corpus for training, dealt out to workers: each gets a file of its own."""

from pathlib import Path

from spacy.tokens import DocBin
from spacy.training.corpus import walk_corpus

from ..corpus.texts import reading_docs

SUFFIX = ".spacy"


def deal(path: Path, folder: Path, n_shards: int) -> list[Path]:
    """Write each document of a .spacy file, or of a folder of them, to one of n files, in turn.

    Raises:
        ValueError: there is no such file, one is not in .spacy format, or there are fewer documents than shards.
        OSError: the folder cannot be written to.
    """
    files = [file for file in walk_corpus(path, SUFFIX) if file.suffix == SUFFIX]
    if not files:
        raise ValueError(f"{path} is no {SUFFIX} file, and no folder of them: convert the corpus (spacy convert) first")
    shards: list[DocBin] = []
    n_docs = 0
    for file in files:
        with reading_docs(file):
            read = DocBin().from_disk(file)
        shards = shards or [_like(read) for _ in range(n_shards)]
        for number in range(len(read)):
            shard = shards[n_docs % n_shards]
            if shard.attrs != read.attrs:
                raise ValueError(f"{file} has other attributes than {files[0]}: convert both in the same way")
            for name in ("tokens", "spaces", "cats", "flags", "span_groups", "user_data"):
                getattr(shard, name).extend(getattr(read, name)[number : number + 1])
            n_docs += 1
        for shard in shards:
            shard.strings |= read.strings
    if n_docs < n_shards:
        raise ValueError(f"{path} has {n_docs} documents, fewer than the {n_shards} workers")
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{number}{SUFFIX}" for number in range(n_shards)]
    for shard, target in zip(shards, paths):
        shard.to_disk(target)
    return paths


def _like(read: DocBin) -> DocBin:
    """An empty one with the same attributes."""
    empty = DocBin(store_user_data=read.store_user_data)
    empty.attrs = list(read.attrs)
    return empty
