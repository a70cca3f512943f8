"""`spacy ssvm warmup`: compile all kernels now, so that no user waits for it later."""

import time

from wasabi import msg


def warmup_command() -> None:
    """Compile the kernels of every component and solver, or load them from the disk cache."""
    from ..warmup import warmup

    started = time.perf_counter()
    statistics = warmup()
    misses = sum(kernel.misses for kernel in statistics)
    msg.good(f"{len(statistics)} kernels ready in {time.perf_counter() - started:.1f} s ({misses} compiled)")
