"""Output structures over arrays of scores: decoding, sums, margins, independent of features, learning and tokens."""

UNKNOWN = -1
"""A gold label or head that is not annotated."""

NONE_OF_THESE = -2
"""A gold label or head that is annotated, but that no structure of the model can have."""

FORBIDDEN = -1e30
"""Score of a label, a transition or an arc that is ruled out; finite, so that decoders break few constraints."""

FAINT = 1e-200
"""A sum of products, each at most 1, compared with which products that underflow, below 1e-307, are negligible."""
