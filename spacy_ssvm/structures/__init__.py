"""Output structures over arrays of scores: decoding, sums, margins, independent of features, learning and tokens."""

UNKNOWN = -1
"""A gold label or head that is not annotated."""

NONE_OF_THESE = -2
"""A gold label or head that is annotated, but that no structure of the model can have."""

FORBIDDEN = -1e30
"""Score of a label, a transition or an arc that is ruled out; finite, so that decoders break few constraints."""

FAINT = 1e-200
"""A sum of products, each at most 1, compared with which products that underflow, below 1e-307, are negligible."""


class Contradiction(ValueError):
    """No structure satisfies the constraints of a token and those of the tokens before it.

    Args:
        token: its number, counted through all sequences that are read together.
        reason: why none is left.
    """

    def __init__(self, token: int, reason: str) -> None:
        super().__init__(f"token {token}: {reason}")
        self.token, self.reason = token, reason


CYCLE = "the given heads contain a cycle"
SECOND_ROOT = "its head says that it is a root, and an earlier token of the sentence is one: see multi_root"
"""Reasons why a tree contradicts given heads."""
