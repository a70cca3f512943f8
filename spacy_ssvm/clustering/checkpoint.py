"""A file from which an interrupted clustering resumes."""

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import numpy as np

from ..files import replace_files
from ..kernels import source_digest
from .bigrams import Bigrams
from .brown import window_size
from .learning import STAGES, ClusteringSettings, State, learn
from .merging import UNMERGED

INTERVAL = 20.0
"""Seconds between two checkpoints."""


def learn_with_checkpoints(
    path: Path, bigrams: Bigrams, settings: ClusteringSettings, n_threads: int = 1, interval: float = INTERVAL
) -> Iterator[State]:
    """Learn classes as `learn` does, with a checkpoint at `path` every few seconds; resume from the file that is there.

    A file that is damaged, or belongs to another text, other settings or another version of the algorithms, is written
    over. The caller removes the file.

    Raises:
        OSError: the file cannot be written.
    """
    key = f"{settings} {bigrams.digest()} {source_digest().hex()}"
    start = _load(path, key, bigrams, settings)
    last = monotonic()
    if start is not None:
        yield start
    for state in learn(bigrams, settings, start, n_threads):
        if state.stage == "finished" or monotonic() - last >= interval:
            _save(path, key, state)
            last = monotonic()
        yield state


def _save(path: Path, key: str, state: State) -> None:
    numbers = np.array([STAGES.index(state.stage), state.sweep, state.word, state.moved])
    contents = io.BytesIO()
    np.savez(contents, key=np.array(key), numbers=numbers, classes=state.classes)
    replace_files(path.parent, {path.name: contents.getvalue()})


def _load(path: Path, key: str, bigrams: Bigrams, settings: ClusteringSettings) -> State | None:
    """The state of a file, or None if there is none, or none for this text and these settings."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            if str(arrays["key"]) != key:
                return None
            (stage, sweep, word, moved), classes = arrays["numbers"].tolist(), arrays["classes"]
        state = State(STAGES[stage], sweep, word, moved, classes)
    except (OSError, ValueError, KeyError, IndexError, EOFError, zipfile.BadZipFile):
        return None
    return state if _is_possible(state, len(bigrams.words), settings.n_classes) else None


def _is_possible(state: State, n_words: int, n_classes: int) -> bool:
    """Whether no kernel would leave its arrays."""
    n_classes = min(n_classes, n_words)
    classes = state.classes
    if classes.shape != (n_words,) or classes.dtype != np.int32 or not 0 <= state.word <= n_words:
        return False
    if classes.min() < UNMERGED or classes.max() > window_size(n_words, n_classes):
        return False
    if state.stage == "window":
        placed, waiting = classes[: state.word], classes[state.word :]
        size = window_size(n_words, n_classes)
        return len(np.unique(placed)) == size and placed.min() >= 0 and bool((waiting == UNMERGED).all())
    return classes.min() >= 0 and classes.max() <= n_classes
