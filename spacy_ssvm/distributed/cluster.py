"""Workers that call a function for many arguments: processes of this machine, or of a Ray cluster.

Ray restarts a worker that has died.
"""

import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from . import pool
from .pool import Argument, Result, WorkerDied

TRIES = 4
"""Attempts at a call whose worker dies each time."""

RESTARTS = 100
"""Restarts of a worker, so that one that dies while it begins does not do so for ever."""

START = 300.0
"""Seconds in which at least one worker has to be ready: the cluster may have to start a machine first."""

CANNOT_START = "a worker cannot start"
"""The failure of a worker that has died before it was ready."""

CONNECT = 10.0
"""Seconds in which the cluster has to answer."""


class _Worker:
    """A process of the cluster. make_worker: returns the function that it calls.

    Raises:
        Exception: what `make_worker` raises.
    """

    def __init__(self, make_worker: Callable[[], Callable[[Any], Any]]) -> None:
        self._work = make_worker()

    def ready(self) -> None:
        """Returns when the worker has begun."""

    def call(self, argument: Any) -> Any:
        return self._work(argument)


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
        make_worker: returns the same function, in workers that cannot inherit it. Each calls it once, on its machine;
            it has to be picklable, as arguments and results have.
        address: of the cluster, as Ray has it; "local" starts one on this machine, "auto" finds the one that runs here.
            None for processes of this machine.
        name: of an argument, for messages.
        ahead: arguments that each worker of a cluster has: with 2, it never waits for the next one, and with 1, a
            worker with a long call keeps none from the others.

    Raises:
        ImportError: Ray is not installed.
        ConnectionError: there is no such cluster, or it has another version of Ray or Python.
        ValueError: the address has no such form, or the cluster has fewer CPUs than there are workers.
        WorkerDied: a worker has died. On a cluster: workers cannot start, or died again and again with the same
            argument, or the cluster has ended.
        Exception: what `make_worker` or a call has raised.
    """
    if address is None:
        return pool.map_unordered(work, make_worker, arguments, n_workers)
    return _map_on_cluster(make_worker, arguments, n_workers, address, name, ahead)


def _map_on_cluster(
    make_worker: Callable[[], Callable[[Argument], Result]],
    arguments: Iterable[Argument],
    n_workers: int,
    address: str,
    name: Callable[[Argument], str],
    ahead: int,
) -> Iterator[Result]:
    with connected(address, n_workers) as ray:
        new_worker = ray.remote(_Worker).options(num_cpus=1, max_restarts=RESTARTS, max_task_retries=TRIES - 1)
        workers = [new_worker.remote(make_worker) for _ in range(n_workers)]
        starting = {worker.ready.remote(): worker for worker in workers}
        await_ready(ray, list(starting), 1)
        free: deque[Any] = deque()
        begun: dict[Any, tuple[Any, str]] = {}
        for argument in arguments:
            while not free:
                reference = _first(ray, [*starting, *begun])
                if reference in starting:
                    result_of(ray, reference, CANNOT_START)
                    free.append(starting.pop(reference))
                    if not starting:
                        # Before, arguments that are ahead would be kept from workers that are about to be ready.
                        free.extend(workers * (ahead - 1))
                else:
                    result, worker = _taken(ray, begun, reference)
                    free.append(worker)
                    yield result
            worker = free.popleft()
            begun[worker.call.remote(argument)] = worker, name(argument)
        for worker in starting.values():
            ray.kill(worker)
        while begun:
            result, worker = _taken(ray, begun, _first(ray, list(begun)))
            yield result
            if all(other is not worker for other, _ in begun.values()):
                # A worker that lost its machine may wait for the CPU.
                ray.kill(worker)


def await_ready(ray: Any, calls: list[Any], needed: int) -> None:
    """Wait until so many workers are ready. calls: of the method `ready` of each one.

    Raises:
        WorkerDied: one of the first cannot start, or they are not ready in time.
        Exception: what such a worker has raised.
    """
    done, _ = ray.wait(calls, num_returns=needed, timeout=START)
    for reference in done:
        result_of(ray, reference, CANNOT_START)
    if len(done) < needed:
        found = f"{len(done) or 'no'} worker{'s were' if len(done) > 1 else ' was'} ready within {START:.0f} s"
        raise WorkerDied(f"{found}: the CPUs of the cluster are in use")


def _first(ray: Any, references: list[Any]) -> Any:
    """The first one that is done."""
    (reference, *_), _ = ray.wait(references, num_returns=1)
    return reference


def _taken(ray: Any, begun: dict[Any, tuple[Any, str]], reference: Any) -> tuple[Any, Any]:
    """The result of a call, which leaves `begun`, and its worker."""
    worker, name = begun.pop(reference)
    return result_of(ray, reference, f"the worker of {name} died {TRIES} times"), worker


def result_of(ray: Any, reference: Any, failure: str) -> Any:
    """Wait for the result of a call of a worker's method. failure: the message if the worker has died.

    Raises:
        WorkerDied: the worker has died, or the cluster has ended.
        Exception: raised by the method.
    """
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
    except ray.exceptions.RayError as error:
        raise WorkerDied(f"{failure}, or the cluster has ended: {str(error).strip().splitlines()[-1]}") from error


def _require_answer(address: str) -> None:
    """Check that something answers at the address: Ray itself would wait for minutes, and then end the process."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        raise ValueError(f"--address must be local, auto, or HOST:PORT, not {address}")
    try:
        socket.create_connection((host, int(port)), CONNECT).close()
    except OSError as error:
        raise ConnectionError(f"--address {address}: no cluster answers there: {error}") from error


@contextmanager
def connected(address: str, n_workers: int) -> Iterator[Any]:
    """The module ray, connected to the cluster; one that is started here stops afterwards.

    Raises:
        ImportError: Ray is not installed.
        ConnectionError: there is no such cluster, or it has another version of Ray or Python.
        ValueError: the address has no such form, or the cluster has fewer CPUs than there are workers.
    """
    try:
        # Ray's types are not checked, so that it need not be installed for that.
        ray: Any = import_module("ray")
    except ImportError as error:
        raise ImportError('--address needs Ray: pip install "spacy-ssvm[ray]"') from error
    own = {"num_cpus": n_workers, "include_dashboard": False} if address == "local" else {}
    if address not in ("local", "auto"):
        _require_answer(address)
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", **own)
    except RuntimeError as error:
        raise ConnectionError(f"--address {address}: {error}") from error
    try:
        n_cpus = int(ray.cluster_resources().get("CPU", 0))
        if n_workers > n_cpus:
            raise ValueError(f"--workers {n_workers}: the cluster has {n_cpus} CPUs, and each worker needs one")
        yield ray
    finally:
        ray.shutdown()
