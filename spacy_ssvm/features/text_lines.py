"""Lines of text files that a config names. Importing this module does not import numba."""

from pathlib import Path


def read_lines(path: Path) -> list[str]:
    """The lines of a file in UTF-8, without their ends; a byte order mark is left out.

    Raises:
        ValueError: the file cannot be read, or a line is not in UTF-8; the message names the file and the line.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error}") from error
    try:
        return data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"cannot read {path}: line {line} is not in UTF-8") from error
