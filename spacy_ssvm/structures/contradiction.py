"""The error that is raised where constraints leave no structure."""


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
