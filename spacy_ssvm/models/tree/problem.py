"""Trees, and the heads of tokens by themselves, as problems for solvers."""

from ...solvers.problem import Problem
from ...structures.tree.parts import LOOPY, PROJECTIVE, SPANNING
from . import ranking
from .data import Trees, dimension, max_plane_entries
from .oracles import (
    DECODED_TREES,
    DecodedTrees,
    decode,
    kbest_oracle,
    marginal_oracle,
    max_gradient_entries,
    max_oracle,
)


def tree_problem(trees: Trees) -> Problem:
    """Sentences with trees; marginals and the k best are exact where only single arcs are scored."""
    first_order = trees.shape.structure in (PROJECTIVE, SPANNING)
    return Problem(
        DecodedTrees(trees, decode),
        DECODED_TREES,
        max_oracle,
        n_examples=len(trees.columns.starts) - 1,
        dimension=dimension(trees.shape),
        max_plane_entries=max_plane_entries(trees),
        marginal_oracle=marginal_oracle if first_order else None,
        max_gradient_entries=max_gradient_entries(trees) if first_order else 0,
        kbest_oracle=kbest_oracle if first_order else None,
        exact=trees.shape.structure != LOOPY,
    )


def ranking_problem(data: ranking.Ranking) -> Problem:
    """Each token's head by itself, as the first pass of a parser ranks them: a problem for its marginals only."""
    return Problem(
        data,
        ranking.RANKING,
        None,
        n_examples=len(data.columns.starts) - 1,
        dimension=1 << data.bits,
        max_plane_entries=0,
        marginal_oracle=ranking.marginal_oracle,
        max_gradient_entries=ranking.max_gradient_entries(data),
    )
