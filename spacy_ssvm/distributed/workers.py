"""Workers that call a function for many arguments: processes of this machine, or of a Ray cluster."""

from collections.abc import Callable, Iterable, Iterator

from . import cluster, pool
from .pool import Argument, Result


def map_unordered(
    work: Callable[[Argument], Result],
    make_worker: Callable[[], Callable[[Argument], Result]],
    arguments: Iterable[Argument],
    n_workers: int,
    address: str | None,
    name: Callable[[Argument], str],
    ahead: int = 1,
) -> Iterator[Result]:
    """work(argument) of each argument, in the order in which they are finished.

    Args:
        make_worker: returns the same function, in workers that cannot inherit it.
        address: of the cluster, None for processes of this machine.
        name, ahead: as in `cluster.map_unordered`.

    Raises:
        ImportError, ConnectionError, ValueError: there is no such cluster, as in `cluster.map_unordered`.
        WorkerDied: a worker has died, on a cluster again and again.
        Exception: raised by a call.
    """
    if address is None:
        return pool.map_unordered(work, make_worker, arguments, n_workers)
    return cluster.map_unordered(make_worker, arguments, n_workers, address, name, ahead)
