"""What an epoch of several workers costs: their computing, the driver's, and what travels between them.

The workers form a star: each sends its vector to the driver, which sends back to each the part of the sum that it
reads, all over one link. Times are in seconds, sizes in bytes.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

ENTRY_BYTES = 12
"""Of what is not zero in a vector: the index, int32, and the value, float64; see `solvers.sparse`."""

MAX_WORKERS = 10**6


@dataclass(frozen=True)
class PowerLaw:
    """factor · xᵉ, e the exponent, and at most the limit: Heaps' law, if x is a number of tokens."""

    factor: float
    exponent: float
    limit: float = math.inf

    def __call__(self, x: float) -> float:
        return min(self.factor * x**self.exponent, self.limit)


def fitted(x: Sequence[float], y: Sequence[float]) -> PowerLaw:
    """The power law with the least squared error of log y; x and y are positive."""
    exponent, logarithm = np.polyfit(np.log(x), np.log(y), 1)
    return PowerLaw(math.exp(logarithm), float(exponent))


def shares(parts: Sequence[Sequence[float]], seconds: Sequence[float]) -> list[float]:
    """The seconds that one of each part takes, none of them negative, with the least squared relative error.

    parts: for each run the numbers of its parts, such as tokens and entries. seconds: of each run.
    """
    weight = 1.0 / np.asarray(seconds, float)
    matrix = np.asarray(parts, float) * weight[:, None]
    scale = matrix.max(axis=0)
    found, _ = nnls(matrix / scale, np.ones(len(weight)))
    return [float(value) for value in found / scale]


@dataclass(frozen=True)
class Network:
    """bandwidth: of the driver's link, bytes a second, either way. latency: of a call and its answer, seconds."""

    bandwidth: float
    latency: float


@dataclass(frozen=True)
class Costs:
    """What a component costs under a rule.

    alone: seconds of a token in a process that learns without a driver.
    token, entry: seconds of a worker for a token, and for an entry that it sends or gets.
    driver_entry, driver_weight: seconds of the driver for an entry, and for each place of its dense vectors.
    up: the entries of a worker's vector, by the tokens of its part. vectors: the number of them that each of several
    workers sends, two with momentum. weights: all weights, by the tokens of a corpus.
    back: how many times as many entries a worker gets as its vector has: others move weights that it reads, too.
    union: how many times as many entries the sum has as one worker with all tokens would send.
    epochs: to the same result. All three by the number of workers. rounds: of calls to all workers in an epoch.
    """

    alone: float
    token: float
    entry: float
    driver_entry: float
    driver_weight: float
    up: PowerLaw
    weights: PowerLaw
    back: PowerLaw
    union: PowerLaw
    epochs: PowerLaw
    rounds: int
    vectors: int = 1


class Seconds(NamedTuple):
    """The parts of an epoch's time."""

    workers: float
    driver: float
    transfer: float
    latency: float

    @property
    def total(self) -> float:
        """Of the epoch."""
        return sum(self)


def entries_up(costs: Costs, tokens: float, workers: int) -> float:
    """The entries that all workers send in an epoch."""
    return workers * n_vectors(costs.vectors, workers) * costs.up(tokens / workers)


def n_vectors(vectors: int, workers: int) -> int:
    """The number of vectors that each worker sends in an epoch. vectors: as in `Costs`; one worker sends one."""
    return vectors if workers > 1 else 1


def entries_down(costs: Costs, tokens: float, workers: int) -> float:
    """The entries that all workers get in an epoch: at most all weights that each reads."""
    share = tokens / workers
    return workers * min(costs.up(share) * costs.back(workers), costs.weights(share))


def star(costs: Costs, network: Network, tokens: float, workers: int, cores: float = math.inf) -> Seconds:
    """An epoch as it is now. cores: that the workers have, one each if there are enough."""
    entries = entries_up(costs, tokens, workers) + entries_down(costs, tokens, workers)
    return Seconds(
        (tokens * costs.token + entries * costs.entry) / min(workers, cores),
        entries * costs.driver_entry + costs.weights(tokens) * costs.driver_weight,
        ENTRY_BYTES * entries / network.bandwidth,
        costs.rounds * network.latency,
    )


def all_reduce(costs: Costs, network: Network, tokens: float, workers: int) -> Seconds:
    """An epoch whose sums are made by the workers themselves, without a driver.

    By Rabenseifner's algorithm (Thakur, Rabenseifner & Gropp 2005), each machine sends and gets 2 (K − 1) / K vectors
    of the size of the sum, in 2 log₂ K steps of half a call each, and adds up (K − 1) / K vectors: twice that with
    momentum. Every link has the network's bandwidth, and nobody holds dense vectors.
    """
    entries = n_vectors(costs.vectors, workers) * min(costs.up(tokens) * costs.union(workers), costs.weights(tokens))
    part = (workers - 1) / workers
    return Seconds(
        tokens / workers * costs.token + 2 * entries * costs.entry,
        part * entries * costs.driver_entry,
        2 * part * ENTRY_BYTES * entries / network.bandwidth,
        math.log2(workers) * network.latency,
    )


class Best(NamedTuple):
    """The number of workers after which more pay little, and how many times as fast as alone a run then is."""

    workers: int
    speedup: float


def best(seconds: Callable[[int], float], alone: float) -> Best:
    """The fewest workers with which a run takes at most a tenth longer than with any other number.

    The number with which it is fastest says less: near it, the time hardly changes.

    seconds: of a run, by its number of workers, which are tried in steps of 2 %. alone: seconds of one process that
    learns without a driver.
    """
    tried = np.unique(np.geomspace(1, MAX_WORKERS, 700).astype(int)).tolist()
    least = min(map(seconds, tried))
    enough = next(workers for workers in tried if seconds(workers) <= 1.1 * least)
    return Best(enough, alone / seconds(enough))


def alone_seconds(costs: Costs, tokens: float) -> float:
    """Of all epochs of one process without a driver."""
    return costs.epochs(1) * tokens * costs.alone


def run_seconds(costs: Costs, workers: int, epoch: Seconds) -> float:
    """Of all epochs."""
    return costs.epochs(workers) * epoch.total


@dataclass(frozen=True)
class Annotating:
    """What `spacy ssvm apply` costs.

    token: seconds of a worker, with reading and writing. cut: seconds of the driver, which reads and cuts all texts.
    text: bytes of a token that the driver sends to a worker; 0 for .spacy files, which workers read themselves.
    """

    token: float
    cut: float
    text: float


def annotation_seconds(costs: Annotating, bandwidth: float, tokens: float, workers: int) -> float:
    """Of a run whose workers always have shards waiting: the slowest of workers, driver and link sets the pace."""
    return tokens * max(costs.token / workers, costs.cut, costs.text / bandwidth)


def annotating_workers(costs: Annotating, bandwidth: float) -> float:
    """The number of workers that one driver can keep busy."""
    return costs.token / max(costs.cut, costs.text / bandwidth)
