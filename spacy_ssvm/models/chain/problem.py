"""Chains as a problem for solvers."""

import numpy as np

from ...solvers.problem import Problem
from ...structures.chain.constraints import unconstrained
from .data import CHAINS, Chains, dimension, make_chains, max_plane_entries
from .oracles import kbest_oracle, marginal_oracle, max_gradient_entries, max_oracle


def chain_problem(chains: Chains, n_rows: int) -> Problem:
    """Sequences; n_rows: of the feature index."""
    return Problem(
        chains,
        CHAINS,
        max_oracle,
        n_examples=len(chains.starts) - 1,
        dimension=dimension(len(chains.constraints.start), n_rows),
        max_plane_entries=max_plane_entries(chains),
        marginal_oracle=marginal_oracle,
        max_gradient_entries=max_gradient_entries(chains),
        kbest_oracle=kbest_oracle,
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
