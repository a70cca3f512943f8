"""Workers that call a function: its results, its errors, and what an interrupt leaves behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from spacy_ssvm.distributed.cluster import map_unordered

from .toy import descendants

LONG = 3600.0
"""Seconds that a call takes which nothing is to wait for."""


def adder(log: Path) -> Callable[[int], int]:
    """Adds 1; the log gets a line for each process that has begun so."""
    with log.open("a") as file:
        file.write(f"{os.getpid()}\n")
    return partial(int.__add__, 1)


def adder_after_all(log: Path, n_workers: int) -> Callable[[int], int]:
    """As `adder`, but no call ends before so many processes have begun."""
    add = adder(log)

    def add_late(number: int) -> int:
        while len(log.read_text().split()) < n_workers:
            time.sleep(0.05)
        return add(number)

    return add_late


def sleeper() -> Callable[[float], float]:
    """Sleeps so many seconds; less than 0 is an error."""

    def sleep(seconds: float) -> float:
        time.sleep(seconds)
        return seconds

    return sleep


def slow_after_first(first: Path) -> Callable[[int], int]:
    """Adds 1; only one process, which makes the file, begins in time."""
    try:
        first.touch(exist_ok=False)
    except FileExistsError:
        time.sleep(LONG)
    return partial(int.__add__, 1)


@pytest.mark.skipif(sys.platform != "linux", reason="workers inherit the function")
def test_forked_workers_inherit_what_the_first_process_has_made(tmp_path: Path) -> None:
    log, arguments = tmp_path / "log", range(30)
    for n_workers in (1, 3):
        begin = partial(adder, log)
        assert sorted(map_unordered(begin(), begin, arguments, n_workers, None, str)) == list(range(1, 31))
    assert set(log.read_text().split()) == {str(os.getpid())}


def test_error_of_a_call_ends_the_others() -> None:
    with pytest.raises(ValueError, match="non-negative"):
        list(map_unordered(sleeper(), sleeper, [LONG, LONG, -1.0, LONG], 3, None, str))


def test_a_caller_that_has_enough_ends_the_workers() -> None:
    found = map_unordered(sleeper(), sleeper, [0.0, LONG, LONG], 2, None, str)
    assert next(found) == 0.0
    found.close()  # type: ignore[attr-defined]


COMMANDS = f"""
import signal, subprocess
from functools import partial
# What runs in the background of a shell, as these tests may, ignores interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)
from spacy_ssvm.distributed.cluster import map_unordered
begin = partial(partial, subprocess.run)
list(map_unordered(begin(), begin, [["sleep", "{LONG:.0f}"]] * 2, 2, None, str))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="finds the processes in /proc")
def test_interrupt_ends_the_commands_that_workers_have_started() -> None:
    started = subprocess.Popen([sys.executable, "-c", COMMANDS], stderr=subprocess.DEVNULL, start_new_session=True)
    while list(descendants(started.pid).values()).count("sleep") < 2 and started.poll() is None:
        time.sleep(0.05)
    processes = descendants(started.pid)
    # As a terminal does.
    os.killpg(started.pid, signal.SIGINT)
    assert started.wait(60) not in (None, 0)
    assert sorted(processes.values()).count("sleep") == 2
    assert not any(map(is_alive, processes))


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture
def functions_are_sent(ray: None) -> Iterator[None]:
    """Ray's workers get the functions of this module themselves: they do not find the module."""
    from ray import cloudpickle

    module = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(module)
    yield
    cloudpickle.unregister_pickle_by_value(module)


@pytest.mark.slow
@pytest.mark.usefixtures("functions_are_sent")
class TestWithRay:
    def test_each_worker_begins_once(self, tmp_path: Path) -> None:
        log, arguments = tmp_path / "log", range(30)
        begin = partial(adder_after_all, log, 2)
        found = map_unordered(partial(int.__add__, 1), begin, arguments, 2, "local", str)
        assert sorted(found) == list(range(1, 31))
        assert len(log.read_text().split()) == len(set(log.read_text().split())) == 2

    def test_error_of_a_call_ends_the_others(self) -> None:
        with pytest.raises(ValueError, match="non-negative"):
            list(map_unordered(sleeper(), sleeper, [LONG, -1.0], 2, "local", str))

    def test_worker_that_takes_long_to_start_keeps_nothing_from_the_others(self, tmp_path: Path) -> None:
        begin = partial(slow_after_first, tmp_path / "first")
        found = map_unordered(partial(int.__add__, 1), begin, range(30), 2, "local", str)
        assert sorted(found) == list(range(1, 31))
