"""Processes of this machine that call a function for many arguments; none outlives the process that began it."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, TypeVar

Argument = TypeVar("Argument")
Result = TypeVar("Result")

AHEAD = 3
"""Arguments that are worked on or wait, for each worker."""
_INTERVAL = 0.5
"""Seconds between two looks of a worker whether its parent is there."""

_work: Callable[[Any], Any] | None = None
"""The function that this process calls; a forked worker inherits it from its parent, whose memory it shares."""


class WorkerDied(RuntimeError):
    """A worker has died; its work is not done."""


def map_unordered(
    work: Callable[[Argument], Result],
    make_worker: Callable[[], Callable[[Argument], Result]],
    arguments: Iterable[Argument],
    n_workers: int,
) -> Iterator[Result]:
    """work(argument) of each argument, in the order in which they are finished.

    Args:
        make_worker: returns the same function, where processes cannot inherit it: each worker calls it once. It has to
            be picklable, as arguments and results have. One worker is this process.

    Raises:
        WorkerDied: a worker was killed, or has crashed.
        Exception: raised by a call; it ends the other workers.
    """
    global _work
    if n_workers == 1:
        yield from map(work, arguments)
        return
    forks = sys.platform == "linux"
    if forks:
        _work = work
    context = multiprocessing.get_context("fork" if forks else "spawn")
    order, to_workers = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(n_workers, context, _begin, (make_worker, os.getpid(), order))
    waiting: set[Future[Result]] = set()
    try:
        for argument in arguments:
            waiting.add(pool.submit(_call, argument))
            if len(waiting) >= AHEAD * n_workers:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)
    except BaseException as error:
        # What workers do may take long, and before Python 3.14 a pool has no public method to end it.
        to_workers.send_bytes(b"end")
        _unblock(pool)
        if isinstance(error, BrokenProcessPool):
            raise WorkerDied("a worker died: it was killed, perhaps for lack of memory, or has crashed") from error
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        _work = None
        order.close()
        to_workers.close()


def _begin(make_worker: Callable[[], Callable[[Any], Any]], parent: int, order: Connection) -> None:
    """Begin a worker: get its function if it is not inherited, and end when the parent does, or orders it."""
    global _work
    # The parent decides what an interrupt means. Commands that a worker starts do not inherit a handler.
    signal.signal(signal.SIGINT, lambda *_: None)
    threading.Thread(target=_end_with, args=(parent, order), daemon=True).start()
    if _work is None:
        _work = make_worker()


def _end_with(parent: int, order: Connection) -> None:
    # The order is for all workers, so none takes it out of the pipe.
    while os.getppid() == parent and not order.poll(_INTERVAL):
        pass
    os.kill(os.getpid(), signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)


def _unblock(pool: ProcessPoolExecutor) -> None:
    """Let a pool whose workers end notice it."""
    if sys.version_info < (3, 11, 5):
        # The thread that sends arguments would wait for a reader for ever: CPython's issue 94777.
        with suppress(AttributeError, OSError):
            pool._call_queue._reader.close()  # type: ignore[attr-defined]


def _call(argument: Any) -> Any:
    assert _work is not None
    return _work(argument)
