"""Machine code in a wheel: kernels compiled where the wheel was built, for levels of processors.

The folder holds a file that states what the code was built for, and a folder of kernels for each level. A wheel without
machine code lacks it. `.ci/platform_wheel.py` fills it.
"""

import json
import sys
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import llvmlite
import llvmlite.binding
import numba

from .announcement import LOGGER
from .sources import PACKAGE, source_digest

FOLDER = PACKAGE / "machine_code"
BUILT_FOR = "built_for.json"


class Level(NamedTuple):
    """A level of processors: its name, and the features that code for it may use, such as "+sse3,+avx", as in LLVM."""

    name: str
    features: str


_X86_64_V2 = "+64bit,+cmov,+cx16,+cx8,+crc32,+fxsr,+mmx,+popcnt,+sahf,+sse,+sse2,+sse3,+sse4.1,+sse4.2,+ssse3"
_X86_64_V3 = f"{_X86_64_V2},+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+xsave"
_LEVELS = {"x86_64": (Level("x86-64-v3", _X86_64_V3), Level("x86-64-v2", _X86_64_V2))}
_ALL_PROCESSORS = (Level("generic", ""),)


class Brought(NamedTuple):
    """The wheel's machine code that this process can use: its folder, and its level."""

    folder: Path
    level: Level


def levels() -> tuple[Level, ...]:
    """The levels of this process's architecture that wheels bring machine code for, highest first."""
    return _LEVELS.get(_architecture(), _ALL_PROCESSORS)


@lru_cache(maxsize=1)
def environment() -> dict[str, str]:
    """The environment, besides sources and processor, that kernels compiled in this process depend on."""
    return {
        "python": f"Python {sys.implementation.cache_tag}",
        "numba": f"numba {numba.__version__}",
        "llvmlite": f"llvmlite {llvmlite.__version__}",
        "system": f"{sys.platform} {_architecture()}",
    }


def built_for() -> dict[str, str]:
    """The environment in which machine code compiled by this process can be used, on a processor of its level."""
    return {**environment(), "sources": f"sources {source_digest().hex()[:16]}"}


def brought(features: str) -> Brought | None:
    """The machine code of the highest level that this process may use, or None if there is none.

    features: numba's target, such as "+avx,-avx512f": the processor's features, or NUMBA_CPU_FEATURES. Code is used
        only if both the processor and this setting have all features of its level.
    """
    found = _search(features)
    return None if isinstance(found, str) else found


@lru_cache(maxsize=1)
def explain_absence(features: str) -> None:
    """Tell the user, once, why machine code that the wheel brings cannot be used."""
    obstacle = _search(features)
    if obstacle and isinstance(obstacle, str):
        LOGGER.warning("The machine code that spacy-ssvm was installed with cannot be used: it %s", obstacle)


@lru_cache(maxsize=1)
def _search(features: str) -> Brought | str:
    """The result of `brought`, or else the reason against its use; an empty string if the wheel brings nothing."""
    try:
        built = json.loads((FOLDER / BUILT_FOR).read_text("utf8"))
    except OSError:
        return ""
    differences = [f"{built[name]}, not {here}" for name, here in built_for().items() if built[name] != here]
    if differences:
        return f"was built for {' and for '.join(differences)}"
    usable = _names(features) & _processor_features()
    for level in levels():
        if _names(level.features) <= usable:
            return Brought(FOLDER / level.name, level)
    return f"needs a processor with {', '.join(sorted(_names(levels()[-1].features) - usable))}"


def _architecture() -> str:
    return str(llvmlite.binding.get_process_triple()).partition("-")[0]


def _processor_features() -> set[str]:
    """The features that are present; none where LLVM cannot tell."""
    try:
        return {name for name, present in llvmlite.binding.get_host_cpu_features().items() if present}
    except RuntimeError:
        return set()


def _names(features: str) -> set[str]:
    return {feature[1:] for feature in features.split(",") if feature.startswith("+")}
