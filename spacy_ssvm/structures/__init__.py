"""Output structures over arrays of scores: decoding, sums, margins, independent of features, learning and tokens."""

UNKNOWN = -1
"""A gold label or head that is not annotated."""

NONE_OF_THESE = -2
"""A gold label or head that is annotated, but that no structure of the model can have."""
