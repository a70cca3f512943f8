"""A folder of results: its lock, its manifest, and the results of an interrupted run.

The manifest is a file of JSON lines: the identity of the run, then a line for each finished shard. These are in order
in a finished run, and in the order of finishing while it lasts.
"""

import hashlib
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import srsly

from ..files import replace_files
from .annotation import Result, SetAside

MANIFEST, SET_ASIDE, LOCK = "manifest.jsonl", "set_aside.jsonl", ".lock"
_OURS = re.compile(r"\d{6,}\.(spacy|jsonl)(\.[0-9a-f]{32}\.tmp)?")
_UNFINISHED = re.compile(r".*\.[0-9a-f]{32}\.tmp")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """The folder, made if need be, for this process alone; the lock ends with the process.

    Raises:
        BlockingIOError: another process has it.
        OSError: the folder cannot be written to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        _lock(file, folder)
        yield
    finally:
        os.close(file)


def _lock(file: int, folder: Path) -> None:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise BlockingIOError(f"another run writes to {folder}: wait for it, or name another folder") from error


def begin(folder: Path, of: Mapping[str, Any], anew: bool = False) -> dict[int, Result]:
    """The shards that an earlier, equal run has finished and whose files are unchanged, by number.

    Args:
        of: the identity of the run: its pipeline, its files and its settings.
        anew: remove the files of another run.

    Raises:
        FileExistsError: the folder has the results of a run of something else, or files that no run has written.
        OSError: the folder cannot be written to.
    """
    for path in folder.iterdir():
        if _UNFINISHED.fullmatch(path.name):
            path.unlink()
    lines = _lines(folder / MANIFEST)
    if lines and lines[0] == of and not anew:
        results = [_result(line) for line in lines[1:]]
        finished = {result.number: result for result in results if _is_intact(folder, result)}
    else:
        if not anew and (strange := sorted(path.name for path in folder.iterdir() if path.name != LOCK)):
            raise FileExistsError(
                f"{folder} has {'results of another run' if lines else strange[0]}: "
                "name another folder, or use --force to remove the results"
            )
        for path in folder.iterdir():
            if _OURS.fullmatch(path.name) or path.name in (MANIFEST, SET_ASIDE):
                path.unlink()
        finished = {}
    _write(folder, of, finished)
    return finished


def note(folder: Path, result: Result) -> None:
    """Add a finished shard to the manifest.

    Raises:
        OSError: the disk is full.
    """
    with (folder / MANIFEST).open("ab") as file:
        file.write(_line(result))


def finish(folder: Path, of: Mapping[str, Any], results: Mapping[int, Result]) -> None:
    """Write the manifest in order, and the documents that were set aside, if there are any.

    Raises:
        OSError: the disk is full.
    """
    set_aside = [document._asdict() for number in sorted(results) for document in results[number].set_aside]
    if set_aside:
        replace_files(folder, {SET_ASIDE: b"".join(map(_json, set_aside))})
    else:
        (folder / SET_ASIDE).unlink(missing_ok=True)
    for path in folder.iterdir():
        # Of shards that there were before a file was changed.
        if _OURS.fullmatch(path.name) and path.name not in {result.file for result in results.values()}:
            path.unlink()
    _write(folder, of, results)


def _write(folder: Path, of: Mapping[str, Any], results: Mapping[int, Result]) -> None:
    lines = [_json(of), *(_line(results[number]) for number in sorted(results))]
    replace_files(folder, {MANIFEST: b"".join(lines)})


def _line(result: Result) -> bytes:
    return _json({**result._asdict(), "set_aside": [document._asdict() for document in result.set_aside]})


def _json(row: Mapping[str, Any]) -> bytes:
    return f"{srsly.json_dumps(dict(row))}\n".encode()


def _result(line: dict[str, Any]) -> Result:
    return Result(**(line | {"set_aside": [SetAside(**row) for row in line["set_aside"]]}))


def _lines(manifest: Path) -> list[dict[str, Any]]:
    """The lines before the first incomplete one; the last line of a killed run may be incomplete."""
    found: list[dict[str, Any]] = []
    with suppress(FileNotFoundError, ValueError):
        for line in manifest.read_bytes().split(b"\n")[:-1]:
            found.append(srsly.json_loads(line))
    return found


def _is_intact(folder: Path, result: Result) -> bool:
    try:
        return hashlib.sha256((folder / result.file).read_bytes()).hexdigest() == result.sha256
    except OSError:
        return False
