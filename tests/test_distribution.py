"""The source distribution holds all that is tracked."""

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def tracked_files():
    try:
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a clone")
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()]


def test_the_source_distribution_has_all_tracked_files(tmp_path):
    source, output = tmp_path / "source", tmp_path / "dist"
    tracked = tracked_files()
    for name in tracked:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    ignored = [source / "projects" / "quickstart" / name / "left.txt" for name in ("data", "training", "metrics")]
    for path in ignored:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("left by a run of the project")
    build = f"from setuptools.build_meta import build_sdist; build_sdist({str(output)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=source, check=True, capture_output=True)
    (archive,) = output.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        names = {member.name.partition("/")[2] for member in tar.getmembers() if member.isfile()}
    made = {name for name in names if ".egg-info/" in name} | {"PKG-INFO", "setup.cfg"}
    assert names - made == set(tracked)
