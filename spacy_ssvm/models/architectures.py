"""The registered model architectures."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

from thinc.api import Model

from .. import registry  # noqa: F401  creates the registry of the features that a block of a model names
from ..features.arc_sets import ArcFeatureSet, arc_templates
from ..features.attributes import CLASS, DOCUMENT_LABEL
from ..features.resources import check_gazetteers, stored_sources
from ..features.sets import FeatureSet, templates
from ..features.templates import reads
from .chain import weights as chain_weights
from .store import make_model
from .tree import weights as tree_weights

RESOURCES = ("features", "gazetteers", "clusters")
"""Attributes that depend on files."""


def chain(features: FeatureSet) -> Model:
    """A linear chain: a weight for each feature and label, and one for each transition between labels."""
    has_first_pass = any(reads(template, DOCUMENT_LABEL) for template in features.templates)
    return make_model(
        "ssvm_chain",
        [*chain_weights.TYPES, *(chain_weights.FIRST_PASS_TYPES if has_first_pass else ())],
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
    max_heads: int = 16,
    margin: float = 4.5,
) -> Model:
    """Dependency trees: a weight for each hashed feature of an arc or of a pair of arcs, and a block for its label.

    Args:
        structure, order: "projective" 1 is Eisner's algorithm, 2 adds siblings, 3 adds siblings and grandparents, all
            exact; "nonprojective" 1 is the maximum spanning tree, exact, 2 adds siblings and grandparents, by
            climbing from the best projective tree, which is approximate.
        max_heads, margin: for each token, the first pass keeps at most max_heads heads, and only heads whose
            log-probability is at most `margin` below the best one's; max_heads = 0 keeps all.

    Raises:
        ValueError: an unknown structure or order, or a negative number.
    """
    if order not in {"projective": (1, 2, 3), "nonprojective": (1, 2)}.get(structure, ()):
        raise ValueError(
            'model.structure must be "projective", with model.order 1, 2 or 3, or "nonprojective", with 1 or 2, not '
            f"{structure!r} with {order!r}"
        )
    if int(max_heads) < 0 or not float(margin) >= 0:
        raise ValueError(f"model.max_heads and model.margin must not be negative, but are {max_heads} and {margin}")
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
            "max_heads": int(max_heads),
            "margin": float(margin),
            "clusters": {},
        },
    )


def check_chain(model: Model) -> None:
    """Check the name and the attributes of a model that was loaded.

    Raises:
        ValueError: `chain` does not make such a model.
    """
    _check_same(
        model, lambda attrs: chain(templates(attrs["templates"], hash_bits=attrs["hash_bits"], **_named(attrs)))
    )


def check_tree(model: Model) -> None:
    """Check the name and the attributes of a model that was loaded.

    Raises:
        ValueError: `tree` does not make such a model.
    """

    def again(attrs: Mapping[str, Any]) -> Model:
        bits = {name: attrs[name] for name in ("hash_bits", "label_hash_bits")}
        features = arc_templates(attrs["arcs"], attrs["label_arcs"], attrs["first_pass"], **bits, **_named(attrs))
        return tree(features, *(attrs[name] for name in ("structure", "order", "max_heads", "margin")))

    _check_same(model, again)


def _named(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The resources in a model, checked, as a config names them; their files are not needed."""
    # Trees have this attribute only if they read gazetteers.
    gazetteers = attributes.get("gazetteers", {})
    check_gazetteers(gazetteers)
    sources = stored_sources(attributes["clusters"])
    clusters = {source.partition(".")[2]: "" for source in sources if not source.startswith(CLASS)}
    return {
        "gazetteers": dict.fromkeys(gazetteers, ""),
        "clusters": "" if list(clusters) == [""] else clusters,
        "classes": {source.removeprefix(CLASS): "" for source in sources if source.startswith(CLASS)},
    }


def _check_same(model: Model, again: Callable[[Mapping[str, Any]], Model]) -> None:
    """Raise a ValueError unless making the model again, from its attributes, gives the same name and attributes."""
    try:
        made = again(model.attrs)
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise ValueError(f"its features or settings are damaged: {error}") from error
    if model.name != made.name:
        raise ValueError(f"it is the model {model.name!r}, not {made.name!r}")
    for name, value in made.attrs.items():
        stored = model.attrs[name]
        if name not in RESOURCES and (type(stored) is not type(value) or stored != value):
            raise ValueError(f"its setting {name} is damaged: {stored!r}")
