"""Make a wheel that brings machine code out of the pure wheel, in an environment where that one is installed.

python .ci/platform_wheel.py WHEEL OUTPUT [LEVEL ...]

Besides WHEEL itself, its extra `lbfgs` and the package `wheel` have to be installed. For each level of processors, or
for those that are named, a process compiles all kernels into an empty folder. Those that Python calls go into the
wheel; those that are only linked into others do not. The wheel has the tags of the interpreter that runs this script,
on Linux those of manylinux2014: the code calls nothing but Python, numba's runtime, exp, log, log10, log1p, pow, memcpy
and memset, and finds them by name in what the process has loaded. This is no command of the package: who has installed
the package needs it least.
"""

import json
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from spacy_ssvm.kernels.machine_code import BUILT_FOR, FOLDER, built_for, levels

_, wheel, output, *names = sys.argv
chosen = [level for level in levels() if not names or level.name in names]
if len(chosen) < len(names):
    sys.exit(f"{' '.join(names)}: the levels of this architecture are {', '.join(level.name for level in levels())}")
tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
target = sysconfig.get_platform().replace("-", "_").replace(".", "_").replace("universal2", platform.machine())
with tempfile.TemporaryDirectory() as work:
    subprocess.run([sys.executable, "-m", "wheel", "unpack", wheel, "--dest", work], check=True)
    (unpacked,) = Path(work).iterdir()
    code = f"from {built_for.__module__} import built_for; print(built_for()['sources'])"
    # In the unpacked wheel, whose package is then the one that is imported.
    own = subprocess.run([sys.executable, "-c", code], cwd=unpacked, check=True, capture_output=True, text=True).stdout
    if own.strip() != built_for()["sources"]:
        sys.exit(f"{wheel} is not what is installed here: it has {own.strip()}, not {built_for()['sources']}")
    folder = unpacked / FOLDER.relative_to(FOLDER.parent.parent)
    for level in chosen:
        cache = Path(work) / level.name
        settings = {"NUMBA_CPU_NAME": level.name, "NUMBA_CPU_FEATURES": level.features, "NUMBA_CACHE_DIR": str(cache)}
        command = [sys.executable, "-m", "spacy", "ssvm", "warmup"]
        # In another folder than a checkout, whose package would be the one that is imported.
        subprocess.run(command, cwd=work, env={**os.environ, **settings}, check=True)
        (folder / level.name).mkdir(parents=True)
        for path in cache.glob("*/*-outer-*.nbc"):
            shutil.copy(path, folder / level.name)
    (folder / BUILT_FOR).write_text(json.dumps(built_for(), indent=2), "utf8")
    (metadata,) = unpacked.glob("*.dist-info/WHEEL")
    metadata.write_text(metadata.read_text("utf8").replace("Root-Is-Purelib: true", "Root-Is-Purelib: false"), "utf8")
    subprocess.run([sys.executable, "-m", "wheel", "pack", str(unpacked), "--dest-dir", work], check=True)
    (packed,) = Path(work).glob("*.whl")
    tags = ["--python-tag", tag, "--abi-tag", tag, "--platform-tag", target.replace("linux", "manylinux2014")]
    subprocess.run([sys.executable, "-m", "wheel", "tags", "--remove", *tags, str(packed)], check=True)
    (tagged,) = Path(work).glob("*.whl")
    Path(output).mkdir(parents=True, exist_ok=True)
    print(shutil.copy(tagged, output))
