"""Whether the annotation of an example needs to be aligned at all: mostly its two Docs have the same tokens."""

import numpy as np
from spacy.attrs import ORTH
from spacy.training import Example


def same_tokens(example: Example) -> bool:
    """Whether the predicted and the reference Doc consist of the same words."""
    predicted, reference = example.predicted, example.reference
    return len(predicted) == len(reference) and np.array_equal(predicted.to_array(ORTH), reference.to_array(ORTH))
