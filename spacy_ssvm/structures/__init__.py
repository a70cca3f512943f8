"""Output spaces over arrays of scores: decoding, sums, margins. Nothing here knows of features, learning or tokens."""

UNKNOWN = -1
"""A gold label or head that is not annotated."""

NONE_OF_THESE = -2
"""A gold label or head that is annotated, and that no structure here can have."""
