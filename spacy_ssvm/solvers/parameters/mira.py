"""Parameters of the margin infused relaxed algorithm, MIRA."""

from dataclasses import dataclass

from .base import Parameters, positive, store, whole


@dataclass(frozen=True, kw_only=True)
class Mira(Parameters):
    """Max-loss MIRA, averaged: the least change of w after which C pays for what the k best structures, taken with
    their loss, still violate (Martins et al. 2010, equations 15 and 17).

    C: weight of the loss; the largest step where k = 1.
    k: how many structures of an example take part in a step; above 1 the k best must be exact.
    """

    learner = "spacy_ssvm.solvers.mira:MiraLearner"

    C: float = 0.1
    k: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        store(self, "C", positive(self, "C", self.C))
        store(self, "k", int(positive(self, "k", whole(self, "k", self.k))))


@dataclass(frozen=True, kw_only=True)
class PredictionMira(Parameters):
    """Prediction-based MIRA, averaged: the least change of w after which none of the k best structures, taken without
    their loss, is violated (Chang & Yih 2013 §2.1; Martins et al. 2010, footnote 7).

    k: how many structures of an example take part in a step; above 1 the k best must be exact.
    """

    learner = "spacy_ssvm.solvers.mira:PredictionMiraLearner"

    k: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        store(self, "k", int(positive(self, "k", whole(self, "k", self.k))))
