"""Bulk annotation and training under chaos: processes are killed, files cannot grow; then the run goes on.

    python -m tools.chaos FOLDER --runs 150
    python -m tools.chaos FOLDER --runs 50 --ray
    python -m tools.chaos FOLDER --runs 50 --train

Each run annotates the same texts, one of which raises an error, or trains the same tagger by a Ray cluster, with two
workers. It is disturbed up to three times, at random; then the same command is given again. The result has to be that
of a run without disturbance, byte for byte. Prints how often each disturbance struck, and how many runs were wrong or
hung. With Ray, any of its processes may be killed. Needs Linux.
"""

import argparse
import random
import resource
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tests.distributed.toy import WIDE, command, contents, descendants, lines, made, send
from tests.distributed.toy_training import long_run, weights_of, write_corpus

TIMEOUT = 600
"""Seconds after which a run hangs. Without disturbance it takes a few, but on a busy machine each worker takes half a
minute to begin again."""

MAX_DISTURBANCES = 3


class Kind(NamedTuple):
    """What is disturbed.

    run: (output) → the command. result: (output) → what it has made. seconds: that it takes, about. max_size: of its
    files, in bytes.
    """

    run: Callable[[Path], list[str]]
    result: Callable[[Path], Any]
    seconds: float
    max_size: int


def disturbed(kind_of_run: Kind, output: Path, chance: random.Random, counts: Counter[str]) -> bool:
    """Give the command once, and disturb it; returns whether it has succeeded.

    Raises:
        subprocess.TimeoutExpired: it hangs.
    """
    kind = chance.choice(["worker killed", "command killed", "files cannot grow", "stopped for a while"])
    limit = chance.randrange(1, kind_of_run.max_size) if kind == "files cannot grow" else resource.RLIM_INFINITY

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

    run = kind_of_run.run(output)
    started = subprocess.Popen(run, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=limited)
    try:
        code = started.wait(chance.uniform(1.0, kind_of_run.seconds))
    except subprocess.TimeoutExpired:
        _disturb(kind, started.pid, chance)
        code = None
    if code is None or kind == "files cannot grow":
        counts[kind] += 1
    try:
        return started.wait(TIMEOUT) == 0
    except subprocess.TimeoutExpired:
        for number in [*descendants(started.pid), started.pid]:
            send(number, signal.SIGKILL)
        raise


def _disturb(kind: str, process: int, chance: random.Random) -> None:
    workers = list(descendants(process))
    if kind == "command killed":
        send(process, signal.SIGKILL)
    elif kind == "worker killed" and workers:
        send(chance.choice(workers), signal.SIGKILL)
    elif kind == "stopped for a while" and workers:
        number = chance.choice(workers)
        send(number, signal.SIGSTOP)
        time.sleep(chance.uniform(0.1, 2.0))
        send(number, signal.SIGCONT)


def annotation(folder: Path, *options: str) -> Kind:
    """Annotates texts, one of which raises an error."""
    rows = [f"Text {number} is slow. It is{WIDE}." for number in range(180)]
    made(folder)
    texts = lines(folder, [*rows[:77], "This is poison.", *rows[78:]])
    return Kind(lambda output: command(folder, [texts], output, "--workers", "2", *options), contents, 8.0, 6000)


def training(folder: Path) -> Kind:
    """Trains a tagger for some epochs."""
    write_corpus(folder / "corpus.spacy")

    def result(output: Path) -> list[bytes]:
        return [weights_of(output, model) for model in ("model-best", "model-last")]

    return Kind(lambda output: long_run(folder / "corpus.spacy", output), result, 15.0, 30_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--ray", action="store_true", help="Annotate by a Ray cluster instead of a pool of processes")
    parser.add_argument("--train", action="store_true", help="Train instead")
    arguments = parser.parse_args()
    place = arguments.folder / "place"
    place.mkdir(parents=True, exist_ok=True)
    kind = training(place) if arguments.train else annotation(place, *(["--address", "local"] * arguments.ray))
    name = "trained" if arguments.train else "ray" if arguments.ray else "pool"
    subprocess.run(kind.run(arguments.folder / f"{name}-expected"), check=True)
    expected = kind.result(arguments.folder / f"{name}-expected")
    counts: Counter[str] = Counter()
    for number in range(arguments.runs):
        chance, output = random.Random(number), arguments.folder / f"{name}-{number}"
        try:
            n_times = chance.randint(1, MAX_DISTURBANCES)
            succeeded = any(disturbed(kind, output, chance, counts) for _ in range(n_times))
            if not succeeded:
                succeeded = subprocess.run(kind.run(output), capture_output=True, timeout=TIMEOUT).returncode == 0
            counts["wrong"] += not succeeded or kind.result(output) != expected
        except subprocess.TimeoutExpired:
            counts["hung"] += 1
        print(number + 1, dict(counts), flush=True)


if __name__ == "__main__":
    main()
