"""On what the figures were measured."""

import os
import platform
import re
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("spacy", "thinc", "numba", "numpy", "scipy", "python-crfsuite", "spacy-ssvm")


def describe() -> dict[str, str]:
    """Processor, cores, load and versions."""
    information = Path("/proc/cpuinfo")
    names = re.findall(r"model name\s*: (.+)", information.read_text()) if information.exists() else []
    return {
        "processor": names[0] if names else platform.processor() or platform.machine(),
        "cores": str(os.cpu_count()),
        "load": f"{os.getloadavg()[0]:.1f}",
        "system": platform.platform(terse=True),
        "Python": platform.python_version(),
        **{package: version(package) for package in PACKAGES},
    }
