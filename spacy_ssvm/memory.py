"""The memory of this process: its peak, and freed memory that was not returned."""

import ctypes
import re
import sys
from pathlib import Path


def peak() -> int | None:
    """The peak of this process's resident memory, in bytes; None if the system does not report it."""
    try:
        if sys.platform == "linux":
            # Unlike getrusage, this does not include what the parent held when it started this process.
            found = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
            return None if found is None else 1024 * int(found[1])
        if sys.platform == "darwin":
            import resource

            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        if sys.platform == "win32":
            return _windows_peak()
    except (OSError, AttributeError, ImportError):
        return None
    return None


def is_limited() -> bool:
    """Whether this process's private memory is limited (`ulimit -d`)."""
    if sys.platform == "win32":
        return False
    import resource

    return resource.getrlimit(resource.RLIMIT_DATA)[0] != resource.RLIM_INFINITY


def _windows_peak() -> int | None:
    # PROCESS_MEMORY_COUNTERS: two numbers of 32 bits, then sizes, of which the first is PeakWorkingSetSize.
    class Counters(ctypes.Structure):
        _fields_ = [("cb", ctypes.c_uint32), ("faults", ctypes.c_uint32), ("sizes", ctypes.c_size_t * 8)]

    counters = Counters(ctypes.sizeof(Counters))
    kernel32 = ctypes.WinDLL("kernel32")  # type: ignore[attr-defined, unused-ignore]
    kernel32.GetCurrentProcess.restype = ctypes.c_void_p
    read = kernel32.K32GetProcessMemoryInfo
    read.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32]
    done = read(kernel32.GetCurrentProcess(), ctypes.byref(counters), counters.cb)
    return int(counters.sizes[0]) if done else None


_MMAP_THRESHOLD = -3
"""glibc's number of the size, in bytes, from which an allocation is a mapping of its own."""

LARGE_ALLOCATION = 1 << 18
"""The min size, in bytes, of an array that is returned to the system as soon as it is freed."""


def return_large() -> None:
    """From now on, return large arrays to the system when they are freed, where the allocator is glibc's.

    By default, it soon keeps arrays of up to 32 MB, and Docs that outlive them fragment that memory.
    """
    if sys.platform == "linux":
        try:
            ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, LARGE_ALLOCATION)
        except (OSError, AttributeError):
            return


def release() -> None:
    """Return freed memory to the system, where the allocator is glibc's, which keeps the memory of small objects.

    The copies of Docs that an update makes are small objects: without this, the process would keep the memory that they
    took.
    """
    if sys.platform == "linux":
        try:
            ctypes.CDLL(None).malloc_trim(0)
        except (OSError, AttributeError):
            return
