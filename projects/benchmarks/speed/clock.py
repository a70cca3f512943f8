"""Clocks: contenders that take turns in this process, and whole child processes."""

import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

Seconds = dict[str, list[float]]
"""For each contender, one figure a round."""


class Contender(NamedTuple):
    """run(prepare()) is called; only `run` is timed."""

    prepare: Callable[[], Any]
    run: Callable[[Any], Any]


def race(contenders: Mapping[str, Contender], rounds: int, clock: Callable[[], float] = time.process_time) -> Seconds:
    """Seconds of each contender. All take turns in each round; a first round warms up and does not count."""
    seconds: Seconds = {name: [] for name in contenders}
    for _ in range(rounds + 1):
        for name, contender in contenders.items():
            prepared = contender.prepare()
            gc.collect()
            started = clock()
            contender.run(prepared)
            seconds[name].append(clock() - started)
            del prepared
    return {name: times[1:] for name, times in seconds.items()}


def ratio(seconds: Mapping[str, Sequence[float]], rival: str, mine: str) -> float:
    """How many times as long the rival takes, the median over rounds: what slows a round slows both."""
    return median(other / own for other, own in zip(seconds[rival], seconds[mine]))


class Spent(NamedTuple):
    """The seconds of a child process, and what it printed."""

    cpu: float
    wall: float
    output: str

    @property
    def figures(self) -> Any:
        """The last line of the output, read as JSON."""
        return json.loads(self.output.splitlines()[-1])


def spend(arguments: Sequence[str], **environment: str) -> Spent:
    """Run Python with these arguments in a fresh process.

    Raises:
        RuntimeError: it failed; its errors are in the message.
    """
    started = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **environment},
    )
    assert child.stdout is not None
    output = child.stdout.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - started
    if child.returncode:
        raise RuntimeError(f"python {' '.join(arguments)} failed:\n{output}")
    return Spent(used.ru_utime + used.ru_stime, wall, output)
