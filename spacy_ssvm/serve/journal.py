"""A file of records, each on the disk when `append` returns. A torn last record is dropped."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any


class Journal:
    """A file of JSON lines; the first one identifies the subject of the others. The caller has locked its folder.

    Attributes:
        records: of the file when it was opened.

    Raises:
        ValueError: the file is about something else, or a record in its middle cannot be read.
        OSError: the file cannot be read or written.
    """

    def __init__(self, path: Path, about: Mapping[str, Any]) -> None:
        self._path = path
        lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
        found = [_record(path, number, line) for number, line in enumerate(lines, 1)]
        if found and found[0] != dict(about):
            raise ValueError(
                f"{path} is about another pipeline than this one, {found[0].get('pipeline')}: name another folder"
            )
        self.records = found[1:]
        self._size = sum(len(line) + 1 for line in lines)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        os.ftruncate(self._file, self._size)
        if not found:
            self.append(about)
            _sync_folder(path.parent)

    def append(self, record: Mapping[str, Any]) -> None:
        """Write a record to the disk; the file is as before if that fails.

        Raises:
            OSError: the disk is full, or broken.
        """
        line = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        try:
            os.lseek(self._file, self._size, os.SEEK_SET)
            left = memoryview(line)
            while left:
                left = left[os.write(self._file, left) :]
            os.fsync(self._file)
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._file, self._size)
            raise
        self._size += len(line)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def _record(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError as error:
        raise ValueError(f"{path}, line {number}: this is no record: {error}") from error
    if not isinstance(found, dict):
        raise ValueError(f"{path}, line {number}: this is no record")
    return found


def _sync_folder(folder: Path) -> None:
    """Put the name of a new file on the disk; not every system can."""
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
