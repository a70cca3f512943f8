"""Resources in a thinc Model: read when a component is initialized, kept with the weights."""

import hashlib
import logging
from collections.abc import Callable

import numpy as np
import srsly
from spacy.vocab import Vocab
from thinc.api import Model

from ..features.resources import ResourceSet, load_classes, load_gazetteers, stored_size
from ..features.word_classes import LookupsClusters

LOGGER = logging.getLogger("spacy")


def store_resources(model: Model, vocab: Vocab, words: Callable[[str], np.ndarray]) -> None:
    """Read the resources of the model's feature set, if any, into its attributes, and log what word classes cost.

    Args:
        words: turns a gazetteer's phrase into uint64 keys of its lower-cased tokens.

    Raises:
        ValueError: a resource cannot be read or is malformed.
    """
    resources: ResourceSet | None = getattr(model.attrs.get("features"), "resources", None)
    if resources is None:
        return
    gazetteers = load_gazetteers(resources.gazetteers, words)
    if gazetteers or "gazetteers" in model.attrs:
        model.attrs["gazetteers"] = gazetteers
    model.attrs["clusters"] = load_classes(resources.classes, vocab)
    if resources.classes:
        n_words, n_bytes = stored_size(model.attrs["clusters"])
        names = ", ".join(resources.classes)
        LOGGER.info("Word classes (%s): %s words, %.2f MB in the model file", names, f"{n_words:,}", n_bytes / 1e6)


def digest_of_classes(model: Model) -> bytes:
    """A digest of the word classes that a model has stored, equal for equal classes."""
    return hashlib.sha256(srsly.msgpack_dumps(model.attrs["clusters"])).digest()


def release_tables(model: Model, vocab: Vocab) -> None:
    """Remove the lookups tables from the vocabulary whose entries the model keeps, as spaCy would save them whole.

    To be called when all components are initialized: others may read the same tables.
    """
    resources = getattr(model.attrs.get("features"), "resources", ResourceSet())
    for source in resources.classes.values():
        if isinstance(source, LookupsClusters) and vocab.lookups.has_table(source.table):
            vocab.lookups.remove_table(source.table)
