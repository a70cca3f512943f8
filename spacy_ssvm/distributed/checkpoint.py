"""The checkpoint that the driver of a training keeps on disk: the same command resumes after it has been killed."""

import shutil
from pathlib import Path
from typing import Any

from ..files import replace_files
from ..training import state_file

RUN, LOOP = "run", "loop"
"""Names in the folder: the identity of the run, and the state of its loop."""


class Checkpoint:
    """A folder with the state of a run, and the files of its workers.

    Args:
        output: the folder of the pipelines.
        of: identifies the run.
    """

    def __init__(self, output: Path, of: bytes) -> None:
        self.folder = output / "ssvm-workers"
        self._of = of

    def exists(self) -> bool:
        """Whether there is anything of this run."""
        return (self.folder / RUN).is_file() and (self.folder / RUN).read_bytes() == self._of

    def remove(self) -> None:
        """Remove the folder, even of another run."""
        # First, so that nobody goes on with what is half removed.
        (self.folder / RUN).unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def begin(self) -> None:
        """Mark the folder, which has the files that workers read, as this run's."""
        replace_files(self.folder, {RUN: self._of})

    def has_epochs(self) -> bool:
        """Whether `save` has saved the state of any component."""
        return any(self.folder.glob("*.training"))

    def state(self, component: str) -> dict[str, Any] | None:
        """The state that `save` has kept; None if there is none."""
        path = self.folder / f"{component}.training"
        return state_file.read(path) if path.is_file() else None

    def save(self, component: str, state: dict[str, Any]) -> None:
        """Keep the state of a component's training, in place of the last one."""
        replace_files(self.folder, {f"{component}.training": state_file.parts(state)})

    def loop(self) -> dict[str, Any] | None:
        """The state that `save_loop` has kept; None where there is none."""
        path = self.folder / LOOP
        return state_file.unpack(path.read_bytes()) if path.is_file() else None

    def save_loop(self, state: dict[str, Any]) -> None:
        """Keep the state of the loop, which every component's training has reached or is one epoch ahead of."""
        replace_files(self.folder, {LOOP: state_file.pack(state)})
