"""What all parts are given."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """data, training: folders of corpora and of models. rounds: how often contenders take turns.

    limit: sentences of each corpus at most, or None.
    """

    data: Path
    training: Path
    rounds: int = 7
    limit: int | None = None
