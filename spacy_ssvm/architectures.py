"""What is scored: registered model architectures. Importing this module does not import numba."""

from typing import Literal

from thinc.api import Model

from . import chain_weights, tree_weights
from .features.arc_sets import ArcFeatureSet
from .features.sets import FeatureSet
from .model import make_model


def chain(features: FeatureSet) -> Model:
    """A linear chain: a weight for each feature and label, and one for each transition between labels."""
    return make_model(
        "ssvm_chain",
        list(chain_weights.TYPES),
        {
            "features": features,
            "templates": [str(template) for template in features.templates],
            "hash_bits": features.hash_bits,
            "gazetteers": {},
            "clusters": {},
        },
    )


def tree(
    features: ArcFeatureSet,
    structure: Literal["projective", "nonprojective"] = "projective",
    order: int = 3,
    most_heads: int = 16,
    margin: float = 5.5,
) -> Model:
    """Dependency trees: a weight for each hashed feature of an arc or of a pair of arcs, and a block for its label.

    structure, order: "projective" 1 is Eisner's algorithm, 2 adds siblings, 3 adds siblings and grandparents, all
    exact; "nonprojective" 1 is the maximum spanning tree, exact, 2 adds siblings and grandparents by loopy belief
    propagation, which is approximate.
    most_heads, margin: the first pass keeps for each token at most so many heads, and of them only those whose
    log-probability is at most `margin` below that of the best; most_heads = 0 keeps all.

    Raises:
        ValueError: an unknown structure or order, or a negative number.
    """
    if order not in {"projective": (1, 2, 3), "nonprojective": (1, 2)}.get(structure, ()):
        raise ValueError(
            'model.structure must be "projective", with model.order 1, 2 or 3, or "nonprojective", with 1 or 2, not '
            f"{structure!r} with {order!r}"
        )
    if int(most_heads) < 0 or not float(margin) >= 0:
        raise ValueError(f"model.most_heads and model.margin must not be negative, but are {most_heads} and {margin}")
    return make_model(
        "ssvm_tree",
        list(tree_weights.TYPES),
        {
            "features": features,
            "arcs": [str(template) for template in features.arcs],
            "label_arcs": [str(template) for template in features.labels],
            "first_pass": [str(template) for template in features.first_pass],
            "hash_bits": features.hash_bits,
            "label_hash_bits": features.label_hash_bits,
            "structure": structure,
            "order": order,
            "most_heads": int(most_heads),
            "margin": float(margin),
            "clusters": {},
        },
    )
