"""All trees over a handful of tokens, and every quantity of scored parts from its definition, in plain Python."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np
from hypothesis import strategies as st

from spacy_ssvm.structures import FORBIDDEN
from spacy_ssvm.structures.tree.parts import NONE, Parts

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


def arcs_scores(scores: np.ndarray, trees: Sequence[Tree]) -> np.ndarray:
    """The same of each of several trees over the same tokens, float64 [number of trees]."""
    return scores[np.array(trees)[:, 1:], np.arange(1, len(scores))].sum(axis=1)


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


Pair = Callable[[int, int | None, int], float | None]
"""The score of a pair of arcs by three nodes, None where the pair is left out."""


def make_parts(
    candidates: np.ndarray, arc: Callable[[int, int], float], sibling: Pair | None = None, grand: Pair | None = None
) -> Parts:
    """Parts of the arcs in a matrix bool [n + 1, n + 1] of (head, modifier).

    arc: scores (head, modifier). sibling: scores (head, inner neighbour or None, modifier). grand: scores (grandparent,
    head, modifier).
    """
    nodes = range(len(candidates))
    number = np.full(candidates.shape, NONE, np.int32)
    arcs = [(h, m) for m in nodes[1:] for h in nodes if h != m and candidates[h, m]]
    for k, (h, m) in enumerate(arcs):
        number[h, m] = k
    siblings: list[list[tuple[int, float]]] = []
    grands: list[list[tuple[int, float]]] = []
    for h, m in arcs:
        between = [s for s in nodes[min(h, m) + 1 : max(h, m)] if number[h, s] != NONE]
        pairs = [(s, sibling(h, s, m)) for s in (None, *between)] if sibling else []
        siblings.append([(NONE if s is None else int(number[h, s]), value) for s, value in pairs if value is not None])
        above = [g for g in nodes if h and g != m and number[g, h] != NONE] if grand else []
        pairs = [(g, grand(g, h, m)) for g in above]
        grands.append([(int(number[g, h]), value) for g, value in pairs if value is not None])

    def flat(of_arcs):
        pairs = [*itertools.chain(*of_arcs)]
        starts = np.cumsum([0, *map(len, of_arcs)])
        return starts, np.array([k for k, _ in pairs], np.int32), np.array([value for _, value in pairs], np.float64)

    heads, modifiers = np.array(arcs, np.int32).reshape(-1, 2).T.copy()
    scores = np.array([arc(h, m) for h, m in arcs], np.float64)
    return Parts(number, heads, modifiers, scores, *flat(siblings), *flat(grands))


@st.composite
def scored_parts(draw, max_tokens: int = 5, siblings: bool = True, grandparents: bool = True) -> Parts:
    """Candidate arcs with the chain 0 → 1 → 2 … always among them, and pairs of candidates, some left out."""
    n = draw(st.integers(1, max_tokens))
    flags = draw(st.lists(st.booleans(), min_size=(n + 1) ** 2, max_size=(n + 1) ** 2))
    candidates = np.array(flags, np.bool_).reshape(n + 1, n + 1) | np.eye(n + 1, k=1, dtype=np.bool_)

    def pair(*nodes) -> float | None:
        return draw(SCORES) if draw(st.integers(0, 3)) else None

    return make_parts(candidates, lambda h, m: draw(SCORES), pair if siblings else None, pair if grandparents else None)
