"""Annotate records with a pool of processes: with_pool.py MODEL RECORDS.jsonl RESULTS.jsonl [PROCESSES]."""

import sys
from collections.abc import Iterator
from functools import partial
from itertools import islice
from multiprocessing import get_context

import srsly
from pipeline import loaded, with_docs

AT_ONCE = 1000
"""Records that a process gets at a time."""


def batches(path: str) -> Iterator[list[dict]]:
    records = srsly.read_jsonl(path)
    while batch := list(islice(records, AT_ONCE)):
        yield batch


def main() -> None:
    model, source, target, *n_processes = sys.argv[1:]
    with get_context("spawn").Pool(int(*n_processes) or None, loaded, (model,)) as pool:
        # `imap` reads all batches ahead: for a corpus that does not fit into memory, use `spacy ssvm apply`.
        results = pool.imap(partial(with_docs, model=model), batches(source))
        srsly.write_jsonl(target, (record for batch in results for record in batch))


if __name__ == "__main__":
    main()
