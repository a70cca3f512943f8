"""Structures as solvers see them: where the rooms of output spaces and of learning algorithms meet."""

import numpy as np

from .solvers.problem import Problem
from .structures.chain import kbest_oracle as chain_kbest
from .structures.chain import marginal_oracle as chain_marginals
from .structures.chain.data import CHAINS, Chains, make_chains, unconstrained
from .structures.chain.data import dimension as chain_dimension
from .structures.chain.data import max_plane_entries as max_chain_plane
from .structures.chain.oracle import max_oracle as chain_max
from .structures.tree import kbest_oracle as tree_kbest
from .structures.tree import marginal_oracle as tree_marginals
from .structures.tree import ranking
from .structures.tree.data import LOOPY, PROJECTIVE, SPANNING, Trees
from .structures.tree.data import dimension as tree_dimension
from .structures.tree.data import max_plane_entries as max_tree_plane
from .structures.tree.oracle import DECODED_TREES, DecodedTrees, decode
from .structures.tree.oracle import max_oracle as tree_max


def chain_problem(chains: Chains, n_rows: int, n_threads: int = 1) -> Problem:
    """Sequences; n_rows: of the feature index. n_threads: as in `Problem`."""
    return Problem(
        chains,
        CHAINS,
        chain_max,
        n_examples=len(chains.starts) - 1,
        dimension=chain_dimension(len(chains.constraints.start), n_rows),
        max_plane_entries=max_chain_plane(chains),
        marginal_oracle=chain_marginals.marginal_oracle,
        max_gradient_entries=chain_marginals.max_gradient_entries(chains),
        kbest_oracle=chain_kbest.kbest_oracle,
        scratch=("scores", "best", "path"),
        n_threads=n_threads,
    )


def multiclass_problem(
    starts: np.ndarray,
    rows: np.ndarray,
    values: np.ndarray,
    classes: np.ndarray,
    n_classes: int,
    n_rows: int,
) -> Problem:
    """Examples with one of n_classes classes each, as chains of length one with loss 0 or 1.

    starts: int64 [n + 1], first feature of each example. rows: [F], features, below n_rows; values: [F].
    classes: [n]. w has n_classes² weights of transitions, which never occur, before n_classes for each row.

    Raises:
        ValueError: a value is not finite, a row or a class is out of range, or lengths disagree.
    """
    ends = np.arange(len(classes) + 1)
    return chain_problem(make_chains(ends, starts, rows, classes, unconstrained(n_classes), values), n_rows)


def tree_problem(trees: Trees, n_threads: int = 1) -> Problem:
    """Sentences with trees; marginals and the k best are exact where only single arcs are scored."""
    first_order = trees.shape.structure in (PROJECTIVE, SPANNING)
    return Problem(
        DecodedTrees(trees, decode),
        DECODED_TREES,
        tree_max,
        n_examples=len(trees.columns.starts) - 1,
        dimension=tree_dimension(trees.shape),
        max_plane_entries=max_tree_plane(trees),
        marginal_oracle=tree_marginals.marginal_oracle if first_order else None,
        max_gradient_entries=tree_marginals.max_gradient_entries(trees) if first_order else 0,
        kbest_oracle=tree_kbest.kbest_oracle if first_order else None,
        exact=trees.shape.structure != LOOPY,
        n_threads=n_threads,
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
