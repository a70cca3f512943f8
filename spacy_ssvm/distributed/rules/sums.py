"""Sums over all examples at one w: the solver learns on the driver, and workers add up.

Floating-point numbers are added up in one fixed tree: the leaves are parts of the corpus, whose number depends on the
corpus alone. So the sums are the same, bit for bit, however many blocks the parts are divided among.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from ...solvers.certificate import Slacks
from ...solvers.gradients import sum_losses
from ...solvers.learner import Certificate, Progress, start
from ...solvers.one_slack import add_planes
from ...solvers.parameters import Parameters
from ...solvers.problem import Kind, Passes, Problem
from ..messages import SparseVector, sparse
from ..shared_blocks import SharedBlocks
from .rule import Block, BlockParts, Driver

T = TypeVar("T")

Range = tuple[int, int]
"""The first part of a subtree, and the end of its parts."""


class PassSum(NamedTuple):
    """Sums over examples: values float64 [k], and a vector float64 [d]."""

    values: np.ndarray
    vector: np.ndarray

    def plus(self, other: "PassSum") -> "PassSum":
        """The sum of both, in the memory of this one."""
        np.add(self.values, other.values, out=self.values)
        np.add(self.vector, other.vector, out=self.vector)
        return self


def tree_sum(parts: Range, sum_of: Callable[[Range], T | None], plus: Callable[[T, T], T]) -> T:
    """The sum of a subtree. sum_of: returns the sum of a subtree, or None; it knows the sums of single parts."""
    total = sum_of(parts)
    if total is not None:
        return total
    left, right = _halves(parts)
    return plus(tree_sum(left, sum_of, plus), tree_sum(right, sum_of, plus))


def subtrees(parts: Range, whole: Range) -> list[Range]:
    """The largest subtrees of the whole tree that have only these parts."""
    if parts[0] <= whole[0] and whole[1] <= parts[1]:
        return [whole]
    if whole[1] <= parts[0] or parts[1] <= whole[0]:
        return []
    return [subtree for half in _halves(whole) for subtree in subtrees(parts, half)]


def _halves(parts: Range) -> tuple[Range, Range]:
    first, end = parts
    middle = (first + end) // 2
    return (first, middle), (middle, end)


class SubtreeSum(NamedTuple):
    """The sum of a subtree of parts, for messages."""

    parts: Range
    values: np.ndarray
    vector: SparseVector


class SumBlock(Block, ABC):
    """Sums over a block's parts.

    Raises:
        ValueError: the problem's structure does not offer the oracle that the solver needs.
    """

    in_fixed_parts = True
    needs: ClassVar[Kind]

    def __init__(self, parameters: Any, problem: Problem, parts: BlockParts) -> None:
        super().__init__(parameters, problem, parts)
        problem.oracles(self.needs)

    def sums(self, weights: SparseVector) -> list[SubtreeSum]:
        """The sums of the largest subtrees that lie in the block, at w."""
        first, n_parts, parts = self.parts
        w = weights.dense(self.problem.dimension)

        def of_part(subtree: Range) -> PassSum | None:
            return self.sum(w, parts[subtree[0] - first]) if subtree[1] - subtree[0] == 1 else None

        ranges = subtrees((first, first + len(parts)), (0, n_parts))
        found = [tree_sum(subtree, of_part, PassSum.plus) for subtree in ranges]
        return [SubtreeSum(subtree, its.values, sparse(its.vector)) for subtree, its in zip(ranges, found)]

    @abstractmethod
    def sum(self, weights: np.ndarray, examples: np.ndarray) -> PassSum:
        """The sums over these examples, int64, at w, float64 [d]."""


class LossBlock(SumBlock):
    """Σ L_{β,γ}, and −Σ ∇L_{β,γ}."""

    needs = "cliques"

    def sum(self, weights: np.ndarray, examples: np.ndarray) -> PassSum:
        p = self.parameters
        value, descent = sum_losses(self.problem, weights, p.beta, p.gamma, examples)
        return PassSum(np.array([value]), descent)


class PlaneBlock(SumBlock):
    """Σ Δ and Σ ξ of violated planes, and Σ ΔΦ."""

    needs = "max"

    def sum(self, weights: np.ndarray, examples: np.ndarray) -> PassSum:
        summed = np.zeros(self.problem.dimension)
        values = add_planes(self.problem, weights, examples, summed)
        return PassSum(np.array(values), summed)


class SharedPasses(Passes):
    """Passes over the examples of all blocks, as `Problem.data`."""

    def __init__(self, blocks: SharedBlocks, n_parts: int) -> None:
        self._blocks = blocks
        self._n_parts = n_parts
        self._latest: tuple[np.ndarray, PassSum] | None = None
        """The last w, and the sums at it: a solver begins an epoch with the sums that ended the last one."""

    def losses(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        found = self._sum(weights)
        return float(found.values[0]), found.vector.copy()

    def planes(self, weights: np.ndarray) -> tuple[float, float, np.ndarray]:
        found = self._sum(weights)
        return float(found.values[0]), float(found.values[1]), found.vector.copy()

    def slacks(self, weights: np.ndarray) -> Slacks:
        found: list[Slacks] = self._blocks.ask("slacks", [(part,) for part in self._blocks.parts(sparse(weights))])
        return Slacks(*(sum(part[k] for part in found) for k in range(2)))

    def _sum(self, weights: np.ndarray) -> PassSum:
        if self._latest is None or not np.array_equal(self._latest[0], weights):
            parts = self._blocks.parts(sparse(weights))
            found: list[list[SubtreeSum]] = self._blocks.ask("sums", [(part,) for part in parts])
            known = {
                part.parts: PassSum(part.values.copy(), self._blocks.placed(block, part.vector))
                for block, parts in enumerate(found)
                for part in parts
            }
            self._latest = weights.copy(), tree_sum((0, self._n_parts), known.get, PassSum.plus)
        return self._latest[1]


class Sums(Driver):
    """A solver whose passes over all examples are made by workers; these begin nothing ahead, as sums depend on w.

    Args:
        n_parts: of the corpus.
    """

    def __init__(self, parameters: Parameters, blocks: SharedBlocks, n_parts: int) -> None:
        self.blocks = blocks
        self._learner = start(parameters, _problem(blocks, SharedPasses(blocks, n_parts)))
        self._rng = parameters.generator()

    def epoch(self, number: int) -> Progress:
        """Epoch `number`, from 0, of the solver."""
        learner = self._learner
        learner.begin_epoch(self._rng)
        learner.visit(np.arange(self.blocks.n_examples))
        learner.end_epoch()
        return learner.progress()

    def weights(self) -> np.ndarray:
        return self._learner.prediction_weights()

    def certificate(self) -> Certificate | None:
        """The certificate of the solver; None where decoding is not exact, or gold is incomplete."""
        return self._learner.certificate() if self.blocks.is_certified else None

    def state(self) -> dict[str, Any]:
        return self._learner.state()

    def restore(self, state: dict[str, Any]) -> None:
        self._learner.restore(state, self._rng)


def _problem(blocks: SharedBlocks, passes: SharedPasses) -> Problem:
    """All examples, whose oracles nobody calls here."""
    n = blocks.n_examples
    return Problem(
        data=passes,
        max_oracle=None,
        n_examples=n,
        dimension=blocks.weights.dimension,
        plane_entries=np.zeros(n, np.int64),
        exact=blocks.is_certified,
    )
