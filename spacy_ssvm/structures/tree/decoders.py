"""The decoder of each structure, which maps the scored parts of a sentence to the best tree."""

from ...kernels import FirstClassFunction, kernel
from .climbing import climbing_decode
from .parts import (
    DECODER,
    PROJECTIVE,
    PROJECTIVE_GRANDPARENTS,
    PROJECTIVE_SIBLINGS,
    SPANNING,
    SPANNING_GRANDPARENTS,
    dense_scores,
)
from .projective import eisner
from .projective_grandparents import eisner_grandparents
from .projective_siblings import eisner_siblings
from .spanning import maximum_spanning_tree


@kernel
def _projective(parts, multi_root, heads):
    return eisner(dense_scores(parts), multi_root, heads)


@kernel
def _spanning(parts, multi_root, heads):
    return maximum_spanning_tree(dense_scores(parts), multi_root, heads)


DECODERS = {
    PROJECTIVE: FirstClassFunction(_projective, DECODER),
    PROJECTIVE_SIBLINGS: FirstClassFunction(eisner_siblings, DECODER),
    PROJECTIVE_GRANDPARENTS: FirstClassFunction(eisner_grandparents, DECODER),
    SPANNING: FirstClassFunction(_spanning, DECODER),
    SPANNING_GRANDPARENTS: FirstClassFunction(climbing_decode, DECODER),
}
"""The decoders by structure."""


def decoder(structure: int) -> FirstClassFunction:
    """The function that finds the best tree: (parts, multi_root, heads int32 [n + 1], output) → the tree's score."""
    return DECODERS[structure]
