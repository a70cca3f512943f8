"""What a solver sees of the world: examples behind a max-oracle, and the kernels' way to call it."""

from dataclasses import dataclass
from typing import Any

from numba.core import types

from ..kernels import array_type, specialise


@dataclass(frozen=True)
class Problem:
    """A structured learning problem.

    data: NamedTuple of arrays that the oracle reads.
    data_type: its numba type.
    oracle: kernel (data, example, weights float64 [d], loss_scale, indices int64, values float64) → (entries,
        loss). It writes ΔΦ_i(ŷ) for ŷ = argmax_y wᵀΦ(x_i, y) + loss_scale · Δ(y_i, y) as pairs; an index may repeat.
    oracle_signature: its numba signature.
    n_examples: n.
    dimension: d, below 2³¹.
    largest_plane: upper bound of the pairs that the oracle writes.

    Raises:
        ValueError: d is 2³¹ or more.
    """

    data: Any
    data_type: Any
    oracle: Any
    oracle_signature: Any
    n_examples: int
    dimension: int
    largest_plane: int

    def __post_init__(self) -> None:
        if self.dimension >= 2**31:
            raise ValueError(
                f"{self.dimension:,} weights are more than this package can index (2³¹): use fewer or hashed features"
            )


def call(dispatcher: Any, problem: Problem, *arguments: Any) -> Any:
    """Call a solver kernel as dispatcher(oracle, data, *arguments), compiled once per structure.

    The oracle goes in as a first-class function, so that the kernel's compiled code is found on disk by
    the next process.
    """
    specialise(problem.oracle, *problem.oracle_signature.args)
    specialise(
        dispatcher,
        types.FunctionType(problem.oracle_signature),
        problem.data_type,
        *(array_type(argument) for argument in arguments),
    )
    return dispatcher(problem.oracle, problem.data, *arguments)
