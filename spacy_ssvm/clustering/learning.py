"""From bigrams to classes of words, in steps that can be interrupted."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from .bigrams import Bigrams
from .brown import first_places, merge_in_window, window_size
from .exchange import Sweeps, exchange
from .hierarchy import bit_strings
from .spelling import no_spellings, spellings

Method = Literal["brown", "exchange"]
METHODS: tuple[str, ...] = get_args(Method)
Stage = Literal["window", "sweeps", "finished"]
STAGES: tuple[Stage, ...] = get_args(Stage)


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


@dataclass(frozen=True)
class State:
    """The progress of learning. stage: the next one. sweep, moved: as in `Sweeps`. word: the next one.

    Attributes:
        classes: int32 [V], the places or classes of the words, as the stage understands them.
    """

    stage: Stage
    sweep: int
    word: int
    moved: int
    classes: np.ndarray


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
        start = Sweeps(state.sweep, state.word, state.moved, state.classes, False)
        for sweep, word, moved, classes, finished in exchange(bigrams, n_classes, paths, start, n_threads):
            yield State("finished" if finished else "sweeps", sweep, word, moved, classes)
    if state.stage == "finished":
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
