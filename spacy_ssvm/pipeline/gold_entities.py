"""The gold entities of an example, as BILUO tags of the predicted tokens."""

import numpy as np
from spacy.attrs import ENT_IOB, IS_SPACE
from spacy.training import Example

from ..corpus.alignment import same_tokens

OUTSIDE = 2
"""spaCy's ENT_IOB of a token that is known to be in no entity."""


def gold_entities(example: Example) -> list[str | None]:
    """What `Example.get_aligned_ner` returns, in a tenth of its time where both Docs have the same words.

    A tag is None where nothing is known. Whitespace tokens, which spaCy aligns to nothing, are left to it.

    Raises:
        ValueError: an entity begins nowhere.
    """
    if not same_tokens(example) or np.any(example.predicted.to_array(IS_SPACE)):
        return list(example.get_aligned_ner())
    reference = example.reference
    tags = ["O" if iob == OUTSIDE else None for iob in reference.to_array(ENT_IOB).tolist()]
    for entity in reference.ents:
        tags[entity.start : entity.end] = biluo(entity.end - entity.start, entity.label_)
    return tags


def biluo(length: int, label: str) -> list[str]:
    """The BILUO tags of an entity of so many tokens."""
    if length == 1:
        return [f"U-{label}"]
    return [f"B-{label}", *[f"I-{label}"] * (length - 2), f"L-{label}"]
