"""Files that are there as a whole or not at all."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from uuid import uuid4


def replace_files(folder: Path, contents: Mapping[str, bytes | Sequence[bytes | memoryview]]) -> None:
    """Write these files into a folder, which is made if need be; none takes its place before all are written.

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
