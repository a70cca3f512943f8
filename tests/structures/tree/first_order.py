"""The two structures of first-order trees, side by side: both have the same four functions."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from spacy_ssvm.structures.tree.kbest import eisner_kbest, spanning_kbest
from spacy_ssvm.structures.tree.projective import eisner, projective_marginals
from spacy_ssvm.structures.tree.spanning import maximum_spanning_tree, tree_marginals

from .enumeration import Tree, is_projective, is_tree, trees


@dataclass(frozen=True)
class FirstOrder:
    """Functions of dense scores float64 [n + 1, n + 1] of (head, modifier)."""

    name: str
    _decode: Callable
    k_best: Callable
    _infer: Callable

    def __str__(self) -> str:
        return self.name

    def best(self, scores: np.ndarray, multi_root: bool) -> tuple[float, Tree]:
        heads = np.full(len(scores), 99, np.int32)
        score = self._decode(scores, multi_root, heads)
        return score, tuple(heads.tolist())

    def marginals(self, scores: np.ndarray, multi_root: bool) -> tuple[float, np.ndarray]:
        """The log-partition, and the marginals float64 [n + 1, n + 1]."""
        found = np.full_like(scores, np.nan)
        return self._infer(scores, multi_root, found), found

    def trees(self, n: int, multi_root: bool) -> tuple[Tree, ...]:
        return trees(n, self is PROJECTIVE, multi_root)

    def is_legal(self, tree: Tree, multi_root: bool) -> bool:
        one_root = multi_root or len(tree) == 1 or tree.count(0) == 1
        return is_tree(tree) and one_root and (self is SPANNING or is_projective(tree))


PROJECTIVE = FirstOrder("projective", eisner, eisner_kbest, projective_marginals)
SPANNING = FirstOrder("spanning", maximum_spanning_tree, spanning_kbest, tree_marginals)
structures = pytest.mark.parametrize("structure", [PROJECTIVE, SPANNING], ids=str)
roots = pytest.mark.parametrize("multi_root", [False, True])
