"""From bigrams to classes of words, in steps that can be interrupted, and a file from which they resume."""

import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Literal, get_args

import numpy as np

from ..files import replace_files
from ..kernels import source_digest
from .bigrams import Bigrams
from .brown import bit_strings, first_places, merge_in_window, window_size
from .exchange import STAGES, State, exchange
from .merging import UNMERGED
from .spelling import no_spellings, spellings

Method = Literal["brown", "exchange"]
METHODS: tuple[str, ...] = get_args(Method)


@dataclass(frozen=True)
class ClusteringSettings:
    """The settings of learning classes.

    Attributes:
        method: brown, with a window and sweeps, or exchange, with sweeps and a prior of spellings.
        n_classes: at least 2.

    Raises:
        ValueError: there is no such method, or there are fewer than 2 classes.
    """

    method: Method = "brown"
    n_classes: int = 1000

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ValueError(f"the method must be one of {', '.join(METHODS)}, not {self.method!r}")
        if self.n_classes < 2:
            raise ValueError(f"there must be at least 2 classes, not {self.n_classes}")


def learn(
    bigrams: Bigrams, settings: ClusteringSettings, state: State | None = None, n_threads: int = 1
) -> Iterator[State]:
    """Learn classes, from the beginning or from a state; the last state that is yielded is finished.

    Going on from a state ends as if there had been no interruption. With fewer words than classes, each word is one.
    The arrays of a state change as soon as the next one is asked for.

    Memory: the bigrams; 36 bytes for each pair of classes; with spellings, 4 for each class and node of them.
    """
    n_words = len(bigrams.words)
    n_classes = min(settings.n_classes, n_words)
    state = state or _first_state(settings.method, n_words, n_classes)
    if state.stage == "window":
        for word, places in merge_in_window(bigrams, n_classes, state.classes, state.word):
            if word < n_words:
                yield State("window", 0, word, 0, places)
        state = State("sweeps", 0, 0, 0, renumbered(places))
        yield state
    if state.stage == "sweeps":
        paths = spellings(bigrams.words) if settings.method == "exchange" else no_spellings(n_words)
        yield from exchange(bigrams, n_classes, paths, state, n_threads)
    else:
        yield state


def _first_state(method: Method, n_words: int, n_classes: int) -> State:
    if method == "brown":
        size = window_size(n_words, n_classes)
        return State("window", 0, size, 0, first_places(n_words, size))
    # The first sweep finds a class for the others.
    return State("sweeps", 0, 0, 0, np.minimum(np.arange(n_words), n_classes).astype(np.int32))


def renumbered(classes: np.ndarray) -> np.ndarray:
    """Classes numbered by their most frequent words, without empty ones: int32 [V]."""
    _, firsts, inverse = np.unique(classes, return_index=True, return_inverse=True)
    numbers = np.empty(len(firsts), np.int32)
    numbers[np.argsort(firsts)] = np.arange(len(firsts), dtype=np.int32)
    return numbers[inverse]


def named(bigrams: Bigrams, classes: np.ndarray) -> dict[str, str]:
    """The class of each word as a bit string, whose prefixes are coarser classes; most frequent word first.

    Args:
        classes: of a finished state.
    """
    classes = renumbered(classes)
    names = bit_strings(bigrams, classes)
    return {word: names[number] for word, number in zip(bigrams.words, classes.tolist())}


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
