"""A network between a driver and workers of this machine: each message waits as long as it would travel."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any

from spacy_ssvm.distributed.shared_blocks import Answers

from .costs import Network

Call = Callable[[str, tuple[Any, ...]], Any]
"""call(method, arguments) → what this method of one worker returns."""

NO_DELAY = Network(float("inf"), 0.0)


def size(message: Any) -> int:
    """The bytes of the arrays in a message."""
    if hasattr(message, "nbytes"):
        return int(message.nbytes)
    return sum(map(size, message)) if isinstance(message, tuple | list) else 0


class Link:
    """One direction of the driver's link, which carries one message at a time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._free = 0.0

    def carry(self, n_bytes: int, bandwidth: float) -> None:
        """Returns when a message of so many bytes is through, after those that came before."""
        with self._lock:
            self._free = max(self._free, time.perf_counter()) + n_bytes / bandwidth
            wait = self._free - time.perf_counter()
        time.sleep(max(0.0, wait))


class SimulatedNetwork:
    """The way to workers, each of which computes in a process of its own.

    network: of the next calls; may be replaced between two of them.
    """

    def __init__(self, calls: Sequence[Call], network: Network = NO_DELAY) -> None:
        self.network = network
        self._calls = calls
        self._to_workers, self._to_driver = Link(), Link()
        # One thread for each worker, so that its calls stay in order.
        self._threads = [ThreadPoolExecutor(1) for _ in calls]

    def send(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> Answers:
        """Let all workers call this method, after what was sent before."""

        def travel(call: Call, given: tuple[Any, ...]) -> Any:
            self._to_workers.carry(size(given), self.network.bandwidth)
            time.sleep(self.network.latency / 2)
            result = call(method, given)
            time.sleep(self.network.latency / 2)
            self._to_driver.carry(size(result), self.network.bandwidth)
            return result

        begun = [
            thread.submit(travel, call, given) for thread, call, given in zip(self._threads, self._calls, arguments)
        ]
        return lambda: [answer.result() for answer in begun]

    def wait(self) -> None:
        """Wait until all calls have been answered; there can be no others."""
        for thread in self._threads:
            thread.shutdown()
