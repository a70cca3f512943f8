"""`projects/recipes/Containerfile`: its RUN steps, in a fresh environment in place of an image."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from ..corpora import ROOT
from ..kernels.processes import PREDICTED, PREDICTION, STATISTICS, TRAINING

CONTAINERFILE = ROOT / "projects" / "recipes" / "Containerfile"
TOOLS = re.compile(r"\b(apt|apt-get|gcc|g\+\+|build-essential|make)\b")


def instructions() -> list[tuple[str, str]]:
    """The name of each instruction, and what it says, in order."""
    text = re.sub(r"^#.*\n", "", CONTAINERFILE.read_text("utf8"), flags=re.MULTILINE).replace("\\\n", " ")
    return [(name, said) for name, _, said in (line.partition(" ") for line in text.splitlines() if line)]


def all_of(name: str) -> list[str]:
    return [said for found, said in instructions() if found == name]


def test_what_runs_is_no_root_and_was_made_without_build_tools() -> None:
    names = [name for name, _ in instructions()]
    (user,) = all_of("USER")
    assert user != "root" and any(f"useradd --create-home {user}" in step for step in all_of("RUN"))
    assert names.index("USER") > max(place for place, name in enumerate(names) if name == "RUN")
    assert not any(TOOLS.search(step) for step in all_of("RUN"))
    assert all(base.startswith("python:") and base.endswith("-slim") for base in all_of("FROM"))


class Image(NamedTuple):
    """What stands for an image: a folder, and the variables that its processes see."""

    folder: Path
    environment: dict[str, str]

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command, which may write to `home` only."""
        home = self.folder / "home"
        # Root may write everywhere, unless it gives up its capabilities.
        restricted = ("setpriv", "--bounding-set=-all") if os.geteuid() == 0 else ()
        environment = self.environment | {"HOME": str(home)}
        return subprocess.run(
            [*restricted, *command], cwd=home, env=environment, capture_output=True, text=True, timeout=600
        )


def wheel(folder: Path) -> Path:
    """That of this package."""
    source = folder / "source"
    shutil.copytree(ROOT / "spacy_ssvm", source / "spacy_ssvm", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    build = f"from setuptools.build_meta import build_wheel; build_wheel({str(folder)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=source, check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    """Made by the RUN steps but for that which adds a user; nothing but `home` can be written to."""
    pytest.importorskip("setuptools", minversion="77")
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("root cannot be kept from writing without setpriv")
    folder = Path(tempfile.mkdtemp())
    try:
        for name in ("wheels", "home"):
            (folder / name).mkdir()
        path = Path(shutil.move(wheel(folder), folder / "wheels"))
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        given = {
            "PATH": os.pathsep.join([str(folder / "venv" / "bin"), os.environ["PATH"]]),
            "WHEELS": str(folder / "wheels"),
            "REQUIREMENT": f"{path}[ray]",
            "NUMBA_CACHE_DIR": str(folder / "kernels"),
        }
        known = {said.partition("=")[0] for name in ("ARG", "ENV") for said in all_of(name)}
        assert known == set(given) - {"PATH"}
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | given
        probe = "pip download --quiet --no-deps --dest wheels wasabi"
        if subprocess.run(["bash", "-c", probe], cwd=folder, env=environment, capture_output=True).returncode:
            pytest.skip("no package index can be reached")
        steps = [step for step in all_of("RUN") if not step.startswith("useradd")]
        for step in steps:
            done = subprocess.run(["bash", "-c", step], cwd=folder, env=environment, capture_output=True, text=True)
            assert done.returncode == 0, f"{step}: {done.stdout} {done.stderr}"
        assert all(path.stat().st_mode & 0o444 == 0o444 for path in (folder / "kernels").rglob("*"))
        subprocess.run(["chmod", "-R", "a-w", folder / "venv", folder / "kernels"], check=True)
        yield Image(folder, environment)
    finally:
        subprocess.run(["chmod", "-R", "u+w", folder], check=True)
        shutil.rmtree(folder)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="images are of Linux")
def test_processes_of_the_image_compile_nothing(image: Image) -> None:
    """They read its machine code, and cannot write there."""
    done = image.run("python", "-c", f"import json{TRAINING}{PREDICTION}{STATISTICS}")
    assert done.returncode == 0, done.stderr
    printed, statistics = map(json.loads, done.stdout.strip().splitlines()[-2:])
    assert printed == PREDICTED and statistics and not any(missed for _, missed in statistics.values())
    refused = image.run("python", "-c", "import os; open(os.environ['NUMBA_CACHE_DIR'] + '/x', 'w')")
    assert "PermissionError" in refused.stderr
