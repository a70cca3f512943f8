"""Small sentences with labelled gold trees: all their trees, and every quantity by its definition."""

import itertools
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st

from spacy_ssvm.features.index import Columns
from spacy_ssvm.models.tree.data import Shape, Trees, dimension
from spacy_ssvm.models.tree.oracles import tree_problem as problem_of_trees
from spacy_ssvm.solvers.problem import Problem
from spacy_ssvm.structures.tree.decoders import decoder
from spacy_ssvm.structures.tree.parts import (
    PROJECTIVE,
    PROJECTIVE_GRANDPARENTS,
    PROJECTIVE_SIBLINGS,
    ROOT_LABEL,
    SPANNING,
    SPANNING_GRANDPARENTS,
)

from ...features.arc_reference import REAL, Kernels, Sentence, read
from ...structures.tree.enumeration import Tree, inner_neighbour, trees

EXACT = {
    "projective": PROJECTIVE,
    "projective, siblings": PROJECTIVE_SIBLINGS,
    "projective, grandparents": PROJECTIVE_GRANDPARENTS,
    "spanning": SPANNING,
}
"""The structures whose decoding is exact."""

exact = pytest.mark.parametrize("structure", EXACT.values(), ids=EXACT)
every = pytest.mark.parametrize("structure", [*EXACT.values(), SPANNING_GRANDPARENTS], ids=[*EXACT, "climbing"])
first_order = pytest.mark.parametrize("structure", [PROJECTIVE, SPANNING], ids=["projective", "spanning"])

TEMPLATES = (
    """
head.tag[0]+mod.tag[0] mod.tag[0]+distance head.tag[0]+direction mod._.heat[0]+direction
mod.tag[-1]+mod.tag[0] head.tag[0]+between.tag+mod.tag[0]
""",
    "sib.tag[0]+mod.tag[0]+direction head.tag[0]+mod.lower[0]+sib.tag[0]",
    "mod.tag[0]+grand.tag[0]+direction head.tag[0]+mod.lower[0]+grand.tag[0]",
    """
head.tag[0] mod.tag[0]+direction head.tag[0]+mod.tag[0] mod.lower[0]+distance mod.tag[0]+between.tag
head._.heat[0]+mod.tag[0]
""",
)
ARCS, SIBLINGS, GRANDPARENTS, LABELS = map(str.split, TEMPLATES)


class Labelled(NamedTuple):
    """A tree, and the label of each node; that of node 0 is ROOT_LABEL."""

    heads: Tree
    labels: tuple[int, ...]


def labelled_tree(heads, labels) -> Labelled:
    """From the heads and labels of tokens."""
    return Labelled((-1, *heads.tolist()), (ROOT_LABEL, *labels.tolist()))


class Example:
    """The trees of one example of `data`.

    Φ of a tree is the sum of what the kernels write for each of its arcs, labels and pairs by themselves.
    """

    def __init__(self, data: Trees, example: int) -> None:
        self.data, self.example = data, example
        self.first, end = map(int, data.columns.starts[example : example + 2])
        self.n, self.tokens = end - self.first, slice(self.first, end)
        self._arcs = Kernels(data.program, data.columns, example, data.shape.arc_bits)
        self._labels = Kernels(data.program, data.columns, example, data.shape.label_bits)
        self._known: dict[tuple, np.ndarray] = {}

    def candidates(self, m: int) -> list[int]:
        """The heads that token m may have."""
        first, end = self.data.candidate_starts[self.first + m - 1 : self.first + m + 1]
        return self.data.candidates[first:end].tolist()

    @cached_property
    def legal(self) -> list[Tree]:
        """All trees of the structure over candidates."""
        shape = self.data.shape
        every = trees(self.n, shape.structure not in (SPANNING, SPANNING_GRANDPARENTS), shape.multi_root)
        return [y for y in every if all(y[m] in self.candidates(m) for m in range(1, len(y)))]

    @cached_property
    def labelled(self) -> list[Labelled]:
        """All of them with all labels: the root's for its arcs and for no other."""
        others = [label for label in range(self.data.shape.n_labels) if label != ROOT_LABEL] or [ROOT_LABEL]
        found = []
        for y in self.legal:
            choices = itertools.product(*([ROOT_LABEL] if h == 0 else others for h in y[1:]))
            found.extend(Labelled(y, (ROOT_LABEL, *labels)) for labels in choices)
        return found

    @property
    def gold(self) -> Labelled:
        return labelled_tree(self.data.gold[self.tokens], self.data.gold_labels[self.tokens])

    def joint_feature(self, y: Labelled) -> np.ndarray:
        """Φ(x_i, y), float64 [d]."""
        structure = self.data.shape.structure
        phi = np.zeros(dimension(self.data.shape))
        for m in range(1, self.n + 1):
            h = y.heads[m]
            phi += self._part("arc", h, m)
            if structure in (PROJECTIVE_SIBLINGS, PROJECTIVE_GRANDPARENTS, SPANNING_GRANDPARENTS):
                phi += self._part("sib", h, m, inner_neighbour(y.heads, m) or self.n + 1)
            if structure in (PROJECTIVE_GRANDPARENTS, SPANNING_GRANDPARENTS) and h != 0:
                phi += self._part("grand", h, m, y.heads[h])
            if self.data.shape.n_labels > 1 and h != 0:
                phi += self._part("label", h, m, y.labels[m])
        return phi

    def _part(self, kind: str, h: int, m: int, other: int = -1) -> np.ndarray:
        key = kind, h, m, other
        if key not in self._known:
            shape, part = self.data.shape, np.zeros(dimension(self.data.shape))
            kernels = self._labels if kind == "label" else self._arcs
            for index, value in kernels.features(kind, {"head": h, "mod": m, kind: other}):
                part[(1 << shape.arc_bits) + index * shape.n_labels + other if kind == "label" else index] += value
            self._known[key] = part
        return self._known[key]

    def loss(self, y: Labelled) -> float:
        """Δ(y_i, y)."""
        gold, total = self.gold, 0.0
        for m in range(1, self.n + 1):
            token = self.first + m - 1
            total += self.data.head_costs[token] * (y.heads[m] != gold.heads[m])
            if self.data.shape.n_labels > 1:
                total += self.data.label_costs[token] * (y.labels[m] != gold.labels[m])
        return float(total)

    @cached_property
    def planes(self) -> tuple[np.ndarray, np.ndarray]:
        """ΔΦ [Y, d] and Δ [Y] of every labelled tree."""
        gold = self.joint_feature(self.gold)
        differences = np.array([gold - self.joint_feature(y) for y in self.labelled])
        return differences, np.array([self.loss(y) for y in self.labelled])

    def scores(self, ys: list[Labelled], weights: np.ndarray, loss_scale: float = 0.0) -> np.ndarray:
        """wᵀΦ(x_i, y) + loss_scale · Δ(y_i, y) of each tree in `ys`."""
        return np.array([weights @ self.joint_feature(y) + loss_scale * self.loss(y) for y in ys])


def examples_of(data: Trees) -> list[Example]:
    return [Example(data, example) for example in range(len(data.columns.starts) - 1)]


def random_sentences(
    rng: np.random.Generator, shape: Shape, lengths: list[int], density: float = 1.0, hamming: bool = True
) -> Trees:
    """Sentences of random words, without gold trees.

    density: share of the arcs that are candidates; the token before always is one. hamming: or various costs.
    """
    n_tokens, starts = sum(lengths), np.cumsum([0, *lengths])
    sentences = []
    for n in lengths:
        tags, lowers = (rng.integers(size, size=n) + size for size in (3, 4))
        heats = rng.choice([-0.5, 1.0, 2.0], n)
        sentences.append(Sentence({"tag": [*tags], "lower": [*lowers], REAL: [1] * n}, [*heats]))
    program, columns = read(sentences, [*ARCS, *SIBLINGS, *GRANDPARENTS], LABELS)
    candidates = [
        [h for h in range(n + 1) if h == m - 1 or (h != m and rng.random() < density)]
        for n in lengths
        for m in range(1, n + 1)
    ]
    return Trees(
        columns._replace(starts=starts),
        program,
        np.cumsum([0, *map(len, candidates)]),
        np.array([*itertools.chain(*candidates)], np.int32),
        np.zeros(n_tokens, np.int32),
        np.zeros(n_tokens, np.int32),
        *(np.ones((2, n_tokens)) if hamming else rng.choice([0.0, 0.5, 1.0, 2.25], (2, n_tokens))),
        shape,
        decoder(shape.structure),
    )


def random_trees(
    rng: np.random.Generator,
    shape: Shape,
    lengths: list[int],
    noise: float = 1.0,
    density: float = 1.0,
    hamming: bool = True,
) -> Trees:
    """The same with gold: the best tree of a random linear rule or, by `noise`, any tree."""
    data = random_sentences(rng, shape, lengths, density, hamming)
    rule = rng.normal(size=dimension(shape))
    for example in examples_of(data):
        ys = example.labelled
        chosen = rng.integers(len(ys)) if rng.random() < noise else int(example.scores(ys, rule).argmax())
        data.gold[example.tokens], data.gold_labels[example.tokens] = ys[chosen].heads[1:], ys[chosen].labels[1:]
    return data


class Tiny(NamedTuple):
    """Trees and a weight vector float64 [d]."""

    data: Trees
    weights: np.ndarray

    @property
    def examples(self) -> list[Example]:
        return examples_of(self.data)


@st.composite
def shapes(draw, structure: int) -> Shape:
    """Few bits, so that features collide."""
    return Shape(
        draw(st.integers(1, 3)), draw(st.integers(3, 7)), draw(st.integers(3, 6)), structure, draw(st.booleans())
    )


@st.composite
def tiny_trees(draw, structure: int, max_tokens: int = 4) -> Tiny:
    """One or two sentences, empty ones among them; whole weights make ties.

    Values of features are real numbers, ones, or ones and zeros, as words lack some attributes.
    """
    shape = draw(shapes(structure))
    longest = max_tokens if shape.n_labels < 3 else max_tokens - 1
    lengths = draw(st.lists(st.integers(0, longest), min_size=1, max_size=2))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    data = random_trees(rng, shape, lengths, density=draw(st.sampled_from([1.0, 0.5])), hamming=draw(st.booleans()))
    lacking = draw(st.sampled_from([None, 0.0, 0.3]))
    if lacking is not None:
        starts, keys, reals = data.columns
        keys = np.where(rng.random(keys.shape) < lacking, np.uint64(0), keys)
        data = data._replace(columns=Columns(starts, keys, np.ones_like(reals)))
    d = dimension(shape)
    return Tiny(data, rng.integers(-2, 3, d).astype(np.float64) if draw(st.booleans()) else rng.normal(size=d))


def tree_problem(
    seed: int = 0, structure: int = PROJECTIVE, n_examples: int = 8, max_length: int = 4, n_labels: int = 3
) -> Problem:
    """Sentences with trees by a random linear rule with noise, so that no w separates them all."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(2, max_length + 1, n_examples).tolist()
    return problem_of_trees(random_trees(rng, Shape(n_labels, 8, 4, structure, False), lengths, noise=0.3))
