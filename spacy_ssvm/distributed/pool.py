"""Processes of this machine that annotate shards, each with the pipeline; none outlives the process that began it."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress

from spacy.language import Language

from .annotation import Annotation, Result, annotate
from .shards import Shard

AHEAD = 3
"""Shards that are worked on or wait, for each worker."""
_INTERVAL = 0.5
"""Seconds between two looks of a worker whether its parent is there."""

Load = Callable[[], Language]
_pipeline: Language | None = None
"""Of this process; a forked worker has that of its parent, and shares its memory."""


class WorkerDied(RuntimeError):
    """A worker has died; the shards that it was to annotate are not finished."""


def annotated(shards: Iterable[Shard], nlp: Language, load: Load, how: Annotation, n_workers: int) -> Iterator[Result]:
    """What the shards have become, in the order in which they are finished.

    nlp: the pipeline. load: returns the same, where processes cannot inherit it; it has to be picklable.

    Raises:
        WorkerDied: a worker was killed, or has crashed.
        OSError: a file cannot be written.
    """
    global _pipeline
    if n_workers == 1:
        yield from (annotate(nlp, shard, how) for shard in shards)
        return
    forks = sys.platform == "linux"
    if forks:
        _pipeline = nlp
    context = multiprocessing.get_context("fork" if forks else "spawn")
    pool = ProcessPoolExecutor(n_workers, context, _begin, (load, os.getpid()))
    waiting: set[Future[Result]] = set()
    try:
        for shard in shards:
            waiting.add(pool.submit(_annotate, shard, how))
            if len(waiting) >= AHEAD * n_workers:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)
    except BrokenProcessPool as error:
        # In older Pythons, such as 3.11.2, the thread that sends shards would wait for a reader for ever: CPython's
        # issue 94777.
        with suppress(AttributeError, OSError):
            pool._call_queue._reader.close()  # type: ignore[attr-defined]
        raise WorkerDied("a worker died: it was killed, perhaps for lack of memory, or has crashed") from error
    finally:
        pool.shutdown(cancel_futures=True)
        _pipeline = None


def _begin(load: Load, parent: int) -> None:
    """Begin a worker: load the pipeline if it is not inherited, and end when the parent does."""
    global _pipeline
    # The parent decides what an interrupt means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    if _pipeline is None:
        _pipeline = load()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_INTERVAL)
    os._exit(1)


def _annotate(shard: Shard, how: Annotation) -> Result:
    assert _pipeline is not None
    return annotate(_pipeline, shard, how)
