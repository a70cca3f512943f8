"""Workers that call a function for many arguments: processes of this machine, or of a Ray cluster."""

from collections.abc import Callable, Iterable, Iterator

from . import cluster, pool
from .pool import Argument, Result


def results(
    work: Callable[[Argument], Result],
    begin: Callable[[], Callable[[Argument], Result]],
    arguments: Iterable[Argument],
    n_workers: int,
    address: str | None,
    name: Callable[[Argument], str],
    ahead: int = 1,
) -> Iterator[Result]:
    """work(argument) of each argument, in the order in which they are finished.

    begin: returns the same function, in workers that cannot inherit it. address: of the cluster, None for processes of
    this machine. name, ahead: as in `cluster.results`.

    Raises:
        ImportError, ConnectionError, ValueError: there is no such cluster, as in `cluster.results`.
        WorkerDied: a worker has died, on a cluster again and again.
        Exception: what a call has raised.
    """
    if address is None:
        return pool.results(work, begin, arguments, n_workers)
    return cluster.results(begin, arguments, n_workers, address, name, ahead)
