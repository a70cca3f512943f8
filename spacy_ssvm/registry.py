"""The registries that this package adds to spaCy's, filled by entry points."""

import catalogue
from spacy.util import registry

for _name in ("ssvm_solvers", "ssvm_features"):
    if not hasattr(registry, _name):
        setattr(registry, _name, catalogue.create("spacy", _name, entry_points=True))
