"""What travels in an epoch of several workers.

The workers form a star: each sends the driver a sparse vector, or two with momentum, and gets back the part of the sum
that it reads.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

ENTRY_BYTES = 12
"""Of what is not zero in a vector: the index, int32, and the value, float64."""


@dataclass(frozen=True)
class PowerLaw:
    """factor · xᵉ, e the exponent: Heaps' law, if x is a number of tokens."""

    factor: float
    exponent: float

    def __call__(self, x: float) -> float:
        return self.factor * x**self.exponent


def fit(x: Sequence[float], y: Sequence[float]) -> PowerLaw:
    """The power law with the least squared error of log y; x and y are positive."""
    exponent, logarithm = np.polyfit(np.log(x), np.log(y), 1)
    return PowerLaw(float(np.exp(logarithm)), float(exponent))


def n_vectors(workers: int) -> int:
    """The vectors that each worker sends: one worker has no momentum."""
    return 2 if workers > 1 else 1


@dataclass(frozen=True)
class Traffic:
    """Bytes of an epoch.

    up: entries of one vector, by the tokens of a worker's part. back: how many times as many entries a worker gets, by
    the number of workers, whose steps move weights that it reads, too. weights: all weights, by the tokens of a part.
    """

    up: PowerLaw
    back: PowerLaw
    weights: PowerLaw

    def n_bytes(self, tokens: float, workers: int) -> float:
        """What all workers send and get; a worker gets at most all weights that it reads."""
        part = tokens / workers
        sent = n_vectors(workers) * self.up(part)
        got = min(self.up(part) * self.back(workers), self.weights(part))
        return ENTRY_BYTES * workers * (sent + got)


def fit_traffic(tokens: float, measured: dict[int, tuple[float, float]], weights: PowerLaw) -> Traffic:
    """The traffic of a corpus. measured: for each number of workers, the bytes that all of them send and get."""
    vectors = {workers: up / n_vectors(workers) / ENTRY_BYTES for workers, (up, _) in measured.items()}
    up = fit([tokens / workers for workers in vectors], [entries / workers for workers, entries in vectors.items()])
    back = [down / ENTRY_BYTES / vectors[workers] for workers, (_, down) in measured.items()]
    return Traffic(up, fit(list(measured), back), weights)
