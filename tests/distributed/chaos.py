"""Bulk annotation under chaos: processes are killed, and files cannot grow, at random times; then the run goes on.

    python -m tests.distributed.chaos FOLDER --runs 150
    python -m tests.distributed.chaos FOLDER --runs 50 --ray

Each run annotates the same texts, one of which raises an error, with two workers. It is disturbed up to three times;
then the same command is given again. The result has to be that of a run without disturbance, byte for byte. Prints how
often each disturbance struck, and how many runs were wrong or hung. With Ray, any of its processes may be killed. Needs
Linux.
"""

import argparse
import os
import random
import resource
import signal
import subprocess
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from .toy import WIDE, command, contents, descendants, lines, made

TIMEOUT = 120
"""Seconds after which a run hangs: without disturbance it takes a few."""

MAX_DISTURBANCES = 3


def disturbed(run: list[str], chance: random.Random, counts: Counter[str]) -> bool:
    """Give the command once, and disturb it; returns whether it has succeeded.

    Raises:
        subprocess.TimeoutExpired: it hangs.
    """
    kind = chance.choice(["worker killed", "command killed", "files cannot grow", "stopped for a while"])
    limit = chance.randrange(1, 6000) if kind == "files cannot grow" else resource.RLIM_INFINITY

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

    started = subprocess.Popen(run, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=limited)
    try:
        code = started.wait(chance.uniform(1.0, 8.0))
    except subprocess.TimeoutExpired:
        _disturb(kind, started.pid, chance)
        code = None
    if code is None or kind == "files cannot grow":
        counts[kind] += 1
    try:
        return started.wait(TIMEOUT) == 0
    except subprocess.TimeoutExpired:
        for number in [*descendants(started.pid), started.pid]:
            _send(number, signal.SIGKILL)
        raise


def _disturb(kind: str, process: int, chance: random.Random) -> None:
    workers = list(descendants(process))
    if kind == "command killed":
        _send(process, signal.SIGKILL)
    elif kind == "worker killed" and workers:
        _send(chance.choice(workers), signal.SIGKILL)
    elif kind == "stopped for a while" and workers:
        number = chance.choice(workers)
        _send(number, signal.SIGSTOP)
        time.sleep(chance.uniform(0.1, 2.0))
        _send(number, signal.SIGCONT)


def _send(process: int, number: int) -> None:
    # It may just have ended.
    with suppress(ProcessLookupError):
        os.kill(process, number)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--ray", action="store_true", help="Workers of Ray instead of a pool of processes")
    arguments = parser.parse_args()
    place = arguments.folder / "place"
    place.mkdir(parents=True, exist_ok=True)
    made(place)
    rows = [f"Text {number} is slow. It is{WIDE}." for number in range(180)]
    texts = lines(place, [*rows[:77], "This is poison.", *rows[78:]])
    options = ["--workers", "2", *(["--address", "local"] if arguments.ray else [])]
    subprocess.run(command(place, [texts], arguments.folder / "expected", "--force"), check=True)
    expected = contents(arguments.folder / "expected")
    counts: Counter[str] = Counter()
    for number in range(arguments.runs):
        chance = random.Random(number)
        output = arguments.folder / f"{number}{'-ray' if arguments.ray else ''}"
        run = command(place, [texts], output, *options)
        try:
            succeeded = any(disturbed(run, chance, counts) for _ in range(chance.randint(1, MAX_DISTURBANCES)))
            if not succeeded:
                succeeded = subprocess.run(run, capture_output=True, timeout=TIMEOUT).returncode == 0
            counts["wrong"] += not succeeded or contents(output) != expected
        except subprocess.TimeoutExpired:
            counts["hung"] += 1
        print(number + 1, dict(counts), flush=True)


if __name__ == "__main__":
    main()
