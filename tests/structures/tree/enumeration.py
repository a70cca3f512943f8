"""All trees over a handful of tokens, and every quantity of scored parts from its definition, in plain Python."""

import itertools
from collections.abc import Iterator
from functools import cache

import numpy as np
from hypothesis import strategies as st

from spacy_ssvm.structures.tree.parts import FORBIDDEN, NONE, Parts

SCORES = st.one_of(st.integers(-2, 2).map(float), st.floats(-3, 3, allow_subnormal=False))
"""Integers make ties."""

Tree = tuple[int, ...]
"""The head of each node; that of node 0 is -1."""


def is_tree(heads: Tree) -> bool:
    """Whether every token reaches the root."""
    for token in range(1, len(heads)):
        node, steps = token, 0
        while node != 0:
            node, steps = heads[node], steps + 1
            if steps >= len(heads):
                return False
    return True


def is_projective(heads: Tree) -> bool:
    """Whether no two arcs cross, the root's included."""
    arcs = [(min(h, m), max(h, m)) for m, h in enumerate(heads) if m > 0]
    return not any(a < c < b < d for a, b in arcs for c, d in arcs)


@cache
def trees(n: int, projective: bool, multi_root: bool) -> tuple[Tree, ...]:
    """Every tree over n tokens."""

    def candidates() -> Iterator[Tree]:
        for heads in itertools.product(*([h for h in range(n + 1) if h != m] for m in range(1, n + 1))):
            yield (-1, *heads)

    return tuple(
        heads
        for heads in candidates()
        if (multi_root or heads.count(0) <= 1) and is_tree(heads) and (not projective or is_projective(heads))
    )


def arcs_score(scores: np.ndarray, heads: Tree) -> float:
    """The sum of a tree's arcs in a dense matrix float64 [n + 1, n + 1] of (head, modifier)."""
    return float(sum(scores[heads[m], m] for m in range(1, len(heads))))


def inner_neighbour(heads: Tree, m: int) -> int | None:
    """The sibling of m next to it on the way to its head, on the same side, or None."""
    h = heads[m]
    between = range(h + 1, m) if h < m else range(h - 1, m, -1)
    inner = [s for s in between if heads[s] == h]
    return inner[-1] if inner else None


def parts_score(parts: Parts, heads: Tree) -> float:
    """The score of a tree by its definition in `Parts`; an arc that is no candidate scores FORBIDDEN."""
    total = 0.0
    for m in range(1, len(heads)):
        h = heads[m]
        a = parts.number[h, m]
        if a == NONE:
            total += FORBIDDEN
            continue
        total += parts.scores[a]
        s = inner_neighbour(heads, m)
        inner = NONE if s is None else parts.number[h, s]
        for k in range(parts.sibling_starts[a], parts.sibling_starts[a + 1]):
            if parts.siblings[k] == inner and (s is None) == (inner == NONE):
                total += parts.sibling_scores[k]
        if h != 0:
            for k in range(parts.grand_starts[a], parts.grand_starts[a + 1]):
                if parts.grands[k] == parts.number[heads[h], h]:
                    total += parts.grand_scores[k]
    return float(total)


@st.composite
def score_matrices(draw, max_tokens: int = 5, forbidden: bool = True) -> np.ndarray:
    """Scores float64 [n + 1, n + 1] for 0 … max_tokens tokens; some arcs may be FORBIDDEN."""
    n = draw(st.integers(0, max_tokens))
    entries = st.one_of(SCORES, st.just(FORBIDDEN)) if forbidden else SCORES
    flat = draw(st.lists(entries, min_size=(n + 1) ** 2, max_size=(n + 1) ** 2))
    return np.array(flat).reshape(n + 1, n + 1)


@st.composite
def scored_parts(draw, max_tokens: int = 5, siblings: bool = True, grandparents: bool = True) -> Parts:
    """Candidate arcs with the chain 0 → 1 → 2 … always among them, and pairs of candidates, some left out."""
    n = draw(st.integers(1, max_tokens))
    number = np.full((n + 1, n + 1), NONE, np.int32)
    heads, modifiers = [], []
    for m in range(1, n + 1):
        for h in range(n + 1):
            if h != m and (h == m - 1 or draw(st.booleans())):
                number[h, m] = len(heads)
                heads.append(h)
                modifiers.append(m)
    pairs: list[list[int]] = []
    above: list[list[int]] = []
    for h, m in zip(heads, modifiers):
        between = range(min(h, m) + 1, max(h, m))
        inner = [NONE, *(int(number[h, s]) for s in between if number[h, s] != NONE)] if siblings else []
        pairs.append(sorted(arc for arc in inner if draw(st.integers(0, 3))))
        over = (
            [int(number[g, h]) for g in range(n + 1) if h and number[g, h] != NONE and g != m] if grandparents else []
        )
        above.append(sorted(arc for arc in over if draw(st.integers(0, 3))))

    def drawn(count: int) -> np.ndarray:
        return np.array(draw(st.lists(SCORES, min_size=count, max_size=count)), np.float64)

    flat, grand = list(itertools.chain(*pairs)), list(itertools.chain(*above))
    return Parts(
        number,
        np.array(heads, np.int32),
        np.array(modifiers, np.int32),
        drawn(len(heads)),
        np.cumsum([0, *map(len, pairs)]),
        np.array(flat, np.int32),
        drawn(len(flat)),
        np.cumsum([0, *map(len, above)]),
        np.array(grand, np.int32),
        drawn(len(grand)),
    )
