"""The registries that this package adds to spaCy's, filled by entry points."""

from typing import Any

import catalogue
from spacy.util import registry


def _create(name: str) -> Any:
    if not hasattr(registry, name):
        setattr(registry, name, catalogue.create("spacy", name, entry_points=True))
    return getattr(registry, name)


ssvm_solvers = _create("ssvm_solvers")
"""Functions that return solver parameters."""
ssvm_features = _create("ssvm_features")
"""Functions that return feature sets."""
ssvm_models = _create("ssvm_models")
"""Classes of structured models, by the name of the thinc Models that they bind."""
