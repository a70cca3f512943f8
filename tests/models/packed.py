"""Packing of vectors that tests make."""

import numpy as np

from spacy_ssvm.models.packing import Packing, Sparse, compress


def compressed(dense: np.ndarray, packing: Packing) -> Sparse:
    """The entries of a vector, float32 [d], that a packing stores."""
    indices = np.flatnonzero(dense)
    return compress(indices, dense[indices], packing)
