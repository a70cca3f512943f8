"""Measure the parts that have no record yet, or those named: [PART …] [--rounds 7].

Each part runs by itself in a fresh process with one thread, and ends with a row in METRICS/speed.jsonl. If a run is
interrupted, the next one goes on with the parts that have none. If the machine does something else too, the figures are
worth nothing.
"""

import argparse
import sys
import time
import traceback
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from shared import metrics
from shared.machine import describe
from tqdm import tqdm

from .parts import PARTS, TABLE
from .settings import Settings


def attempt(part: str, settings: Settings) -> dict[str, Any] | str:
    """Measure one part; returns its record, or why that was not possible."""
    warnings.simplefilter("ignore")
    machine, started = describe(), time.perf_counter()
    try:
        figures = PARTS[part].measure(settings)
    except FileNotFoundError as error:
        return str(error)
    except Exception:
        return traceback.format_exc()
    return {"machine": machine, "wall": time.perf_counter() - started, "figures": figures}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--training", type=Path, default=Path("training"))
    parser.add_argument("--metrics", type=Path, default=Path("metrics"))
    parser.add_argument("--rounds", type=int, default=7, help="how often contenders take turns")
    parser.add_argument("--limit", type=int, help="sentences of each corpus, for a test")
    arguments = parser.parse_args()
    unknown = set(arguments.parts) - set(PARTS)
    if unknown:
        parser.error(f"no part is called {', '.join(sorted(unknown))}: there are {', '.join(PARTS)}")
    settings = Settings(arguments.data, arguments.training, arguments.rounds, arguments.limit)
    done = metrics.read(arguments.metrics, TABLE)
    chosen = arguments.parts or [part for part in PARTS if part not in done]
    failed = False
    for part in (progress := tqdm(chosen, unit="part")):
        progress.set_postfix_str(part)
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            result = pool.submit(attempt, part, settings).result()
        if isinstance(result, str):
            failed = True
            tqdm.write(f"{part}: {result}")
        else:
            metrics.write(arguments.metrics, TABLE, part, result)
    if failed:
        sys.exit(1)


if __name__ == "__main__":
    main()
