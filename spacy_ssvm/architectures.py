"""What is scored: registered model architectures. Importing this module does not import numba."""

from thinc.api import Model

from .chain_weights import TYPES
from .features.sets import FeatureSet
from .model import make_model


def chain(features: FeatureSet) -> Model:
    """A linear chain: a weight for each feature and label, and one for each transition between labels."""
    return make_model(
        "ssvm_chain",
        list(TYPES),
        {
            "features": features,
            "templates": [str(template) for template in features.templates],
            "hash_bits": features.hash_bits,
            "gazetteers": {},
            "clusters": {},
        },
    )
