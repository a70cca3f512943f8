"""Annotate records with Dask: with_dask.py MODEL RECORDS.jsonl FOLDER [SCHEDULER].

FOLDER gets a file of JSON Lines for each part of the records. SCHEDULER: the address of a cluster, whose workers are
started with `--nthreads 1`, as a pipeline is not for several threads; by default, processes of this machine.
"""

import sys

import dask.bag
import srsly
from dask.distributed import Client
from pipeline import with_docs

BLOCK = "1MiB"
"""Bytes of records in a part."""


def main() -> None:
    model, source, target, *address = sys.argv[1:]
    with Client(*address) if address else Client(threads_per_worker=1) as client:
        if address:
            client.upload_file(f"{sys.path[0]}/pipeline.py")
        records = dask.bag.read_text(source, blocksize=BLOCK).map(srsly.json_loads)
        records.map_partitions(with_docs, model).map(srsly.json_dumps).to_textfiles(f"{target}/*.jsonl")


if __name__ == "__main__":
    main()
