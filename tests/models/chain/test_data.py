"""What `make_chains` refuses, and what it lays out."""

import numpy as np
import pytest

from spacy_ssvm.models.chain.data import make_chains
from spacy_ssvm.structures.chain.constraints import unconstrained

BAD = (np.nan, np.inf, -np.inf)
GIVEN = {
    "starts": np.array([0, 2, 3]),
    "feature_starts": np.array([0, 1, 3, 4]),
    "rows": np.array([0, 1, 0, 1]),
    "gold": np.array([0, 1, 1]),
    "constraints": unconstrained(2),
}


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        *(({"values": np.array([1, 1, 1, bad])}, "token 0 in sequence 1 has a value .* not finite") for bad in BAD),
        *(({"costs": np.array([1, bad, 1])}, "costs must be finite and not negative") for bad in (*BAD, -1.0)),
        *(({"kinds": np.array([0, kind, 0])}, "of a kind that the 1 token constraints do not") for kind in (-1, 1)),
        ({"starts": GIVEN["starts"][:2]}, "do not fit together"),
        ({"feature_starts": GIVEN["feature_starts"][:3]}, "do not fit together"),
        ({"rows": GIVEN["rows"][:3]}, "do not fit together"),
        ({"values": np.ones(3)}, "do not fit together"),
        ({"costs": np.ones(2)}, "do not fit together"),
    ],
)
def test_arrays_that_contradict_each_other_are_refused(changed, complaint):
    with pytest.raises(ValueError, match=complaint):
        make_chains(**{**GIVEN, **changed})
