"""`spacy train` with a clock: CONFIG OUTPUT [--section.key value …].

Writes OUTPUT/clock.jsonl, a row for each evaluation: the CPU seconds of this process and its peak memory in MB until
then, the score that the config weighs together, and each score by its name.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import spacy
import srsly
from spacy.cli._util import parse_config_overrides
from spacy.cli.train import train
from spacy.language import Language
from spacy.util import load_config

from .peak_memory import peak_memory


@spacy.registry.loggers("benchmarks.Clock.v1")
def make_clock(path: str) -> Callable[..., tuple[Callable[[dict[str, Any] | None], None], Callable[[], None]]]:
    """A logger that keeps nothing but the time."""

    def set_up(nlp: Language, stdout: IO, stderr: IO) -> tuple[Callable[[dict[str, Any] | None], None], Any]:
        rows: list[dict[str, Any]] = []

        def log(info: dict[str, Any] | None) -> None:
            if info is not None:
                seconds, megabytes = round(time.process_time(), 2), round(peak_memory())
                scores = {name: value for name, value in info["other_scores"].items() if isinstance(value, float)}
                row = {"seconds": seconds, "score": info["score"], "scores": scores, "megabytes": megabytes}
                rows.append(row)

        return log, lambda: srsly.write_jsonl(path, rows)

    return set_up


def main() -> None:
    source, output, *overrides = sys.argv[1:]
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    config = load_config(source)
    config["training"]["logger"] = {"@loggers": "benchmarks.Clock.v1", "path": str(folder / "clock.jsonl")}
    config.to_disk(folder / "config.cfg")
    train(folder / "config.cfg", folder, overrides=parse_config_overrides(overrides))


if __name__ == "__main__":
    main()
