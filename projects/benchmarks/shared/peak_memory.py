"""The peak memory of this process."""

import re
import resource
from pathlib import Path


def peak_memory() -> float:
    """Megabytes.

    What `resource` says includes, on Linux, what the parent held when it started this process.
    """
    status = Path("/proc/self/status")
    if status.exists() and (peak := re.search(r"VmHWM:\s*(\d+) kB", status.read_text())):
        return int(peak[1]) * 1024 / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
