"""What the tests of bulk annotation annotate, and what they have to find."""

from pathlib import Path

import pytest

from .toy import WIDE, apply, contents, lines, made


@pytest.fixture(scope="package")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a pipeline that splits sentences and fails at some words, and the code that it needs."""
    folder = tmp_path_factory.mktemp("apply")
    made(folder)
    return folder


@pytest.fixture(scope="package")
def many(place: Path) -> Path:
    """Texts for a dozen of shards, each of which takes a fifth of a second."""
    return lines(place, [f"Text {number} is slow. It is{WIDE}." for number in range(90)])


@pytest.fixture(scope="package")
def expected(place: Path, many: Path) -> dict[str, bytes]:
    apply(place, [many], place / "expected")
    return contents(place / "expected")
