"""`projects/recipes/Containerfile`: who runs what it makes, and from what it is made."""

import re

from ..corpora import ROOT

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
