"""Files: reading them by lines and records, and writing them as a whole or not at all.

A line ends at a line feed, or a carriage return and a line feed, and nowhere else. A byte order mark at its beginning
is no text: the first line of a file may have one, and so may others where files were joined. A file whose name ends in
.gz is compressed by gzip.
"""

import gzip
import warnings
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

Record = TypeVar("Record")

MAX_NAMED = 3
"""Names that a message lists."""
_NO_RECORDS = (".conllu", ".spacy")
"""Formats whose records are no lines."""


def format_of(path: Path) -> str:
    """The end of a file's name that tells its format, such as .jsonl, without .gz."""
    return Path(path.name.removesuffix(".gz")).suffix


def read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The number, from 1, and the content of each line of a file, without its end and byte order marks.

    Raises:
        ValueError: the file cannot be read, or is in UTF-16; the message names it, and the last line that was read.
    """
    number = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if number == 1 and (line.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) or b"\0" in line[:2]):
                    raise ValueError(f"{path} is in UTF-16: save it in UTF-8")
                if line.endswith(b"\n"):
                    line = line[:-1].removesuffix(b"\r")
                while line.startswith(BOM_UTF8):
                    line = line.removeprefix(BOM_UTF8)
                yield number, line
    except (OSError, EOFError, zlib.error) as error:
        after = f"{path} cannot be read after line {number}" if path.exists() else f"cannot read {path}"
        raise ValueError(f"{after}: {error}") from error


def text_of(line: bytes) -> str:
    """The text of a line.

    Raises:
        ValueError: it is not in UTF-8.
    """
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"this is not text in UTF-8: {error}") from error


def split_lines(text: str) -> list[str]:
    """The lines of a text, divided as in a file."""
    lines = text.replace("\r\n", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def read_records(path: Path, parse: Callable[[str], Record]) -> Iterator[tuple[int, Record]]:
    """The number of each non-empty line of a file, from 1, and the result of `parse` for it.

    Lines at which it raises a ValueError, or that are not in UTF-8, are left out, with a warning at the end.

    Raises:
        ValueError: the file cannot be read, its name says that its lines are no records, or it has lines and each of
            them is left out.
    """
    if format_of(path) in _NO_RECORDS:
        raise ValueError(f"{path}: lines of a {format_of(path)} file are not what is to be read here")
    left_out: list[str] = []
    is_empty = True
    for number, line in read_lines(path):
        try:
            text = text_of(line)
            if not text.strip():
                continue
            record = parse(text)
        except ValueError as error:
            left_out.append(f"{path.name}, line {number}: {error}")
        else:
            is_empty = False
            yield number, record
    report_left_out(path, left_out, is_empty)


def report_left_out(path: Path, left_out: Sequence[str], is_empty: bool, what: str = "lines") -> None:
    """Warn of unreadable parts of a file.

    Args:
        left_out: place and error of each.
        is_empty: whether there is nothing else.
        what: its name, in the plural.

    Raises:
        ValueError: the file is not empty, but nothing of it can be read.
    """
    if left_out and is_empty:
        raise ValueError(f"none of the {what} of {path} can be read: {listed(left_out)}")
    if left_out:
        warnings.warn(
            f"{len(left_out):,} {what} of {path} cannot be read and are left out: {listed(left_out)}", stacklevel=3
        )


def listed(names: Sequence[str]) -> str:
    """The first MAX_NAMED names, and the number of the others."""
    rest = [f"and {len(names) - MAX_NAMED:,} more"] if len(names) > MAX_NAMED else []
    return "; ".join([*names[:MAX_NAMED], *rest])


def replace_files(folder: Path, contents: Mapping[str, bytes | Sequence[bytes | memoryview]]) -> None:
    """Write these files into a folder, which is made if need be; none takes its place before all are written.

    Args:
        contents: of each file, as a whole or in parts.

    They have the rights that files usually have: another user may have to read them. What fails leaves the folder as it
    was; only a crash between two renamings can leave files of different ages.

    Raises:
        OSError: the disk is full, or the folder cannot be written to.
    """
    folder.mkdir(exist_ok=True)
    written = {name: folder / f"{name}.{uuid4().hex}.tmp" for name in contents}
    try:
        for name, path in written.items():
            content = contents[name]
            if isinstance(content, bytes):
                path.write_bytes(content)
                continue
            with path.open("wb") as file:
                file.writelines(content)
        for name, path in written.items():
            path.replace(folder / name)
    finally:
        for path in written.values():
            with suppress(OSError):
                path.unlink(missing_ok=True)
