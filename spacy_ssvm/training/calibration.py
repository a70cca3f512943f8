"""One temperature for all scores of a component, and how far its probabilities are from the shares that are right.

P(y) ∝ exp(β · wᵀΦ(x, y)) has the same best analysis for every β > 0, so that β can be fitted afterwards, on examples
that nothing was learnt from: the scores of a structured SVM are as large as its margin wants them, and a probabilistic
loss makes a model more sure of its training examples than of others (Guo et al. 2017, where 1/β is the temperature).
"""

import importlib
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

MIN_BETA, MAX_BETA = 1e-4, 1e4
"""Between these β is looked for."""

N_BINS = 10

UNKNOWN = -1
"""A gold label or head that is not annotated."""

NONE_OF_THESE = -2
"""One that the component does not have."""


class Judged(ABC):
    """A sequence or tree with its scores, and what is known of its gold analysis.

    is_annotated: whether anything is known.
    """

    is_annotated: bool

    @abstractmethod
    def log_likelihood(self, beta: float) -> float:
        """log of the probability that the analysis agrees with all that is known; −∞ where none can."""

    @abstractmethod
    def items(self, beta: float) -> tuple[Any, np.ndarray]:
        """The K tags, entities, starts or heads that have MIN_PROBABILITY or more, and which are gold, bool [K].

        Those of which what is known does not tell are not among them, nor those at tokens that have no alternative.
        """

    @abstractmethod
    def probabilities(self, items: Any, beta: float) -> np.ndarray:
        """Of K such items, float64 [K]."""


class Fit(NamedTuple):
    """beta: of the highest likelihood, to six digits, as files keep it. used: the sequences or trees that it is fitted
    to. unannotated, impossible: those that are left out, as nothing is known of them, or as their gold analysis is none
    that the component can produce."""

    beta: float
    used: int
    unannotated: int
    impossible: int


class Bin(NamedTuple):
    """The items whose probability is at least `low` and below that of the next bin, or up to 1 in the last one.

    mean: of their probabilities. right: the share of them that is right. Both are nan where there is no item.
    """

    low: float
    n_items: int
    mean: float
    right: float


def fit(name: str, judged: Sequence[Judged]) -> Fit:
    """The β that gives the gold analyses the highest likelihood, between MIN_BETA and MAX_BETA.

    Of incomplete gold it is the likelihood of what is known. With complete gold its logarithm is concave in β.
    name: of the component, for messages.

    Raises:
        ValueError: there is nothing to fit to, or no β between those is better than both of them.
        ImportError: SciPy is not installed.
    """
    minimize = _scipys_minimize_scalar()
    annotated = [one for one in judged if one.is_annotated]
    # By the least β nothing is lost in rounding.
    used = [one for one in annotated if one.log_likelihood(MIN_BETA) > -math.inf]
    if not used:
        raise ValueError(
            f"[{name}] there is nothing to calibrate it on: of {len(judged):,} sequences or trees {len(annotated):,} "
            "have gold annotation, and none of them is one that it can produce"
        )

    def loss(log_beta: float) -> float:
        return -sum(one.log_likelihood(math.exp(log_beta)) for one in used)

    lowest, highest = math.log(MIN_BETA), math.log(MAX_BETA)
    with np.errstate(invalid="ignore", over="ignore"):
        # The search cannot tell from which side two β are too large for sums.
        while highest - 1.0 > lowest and loss(highest) == math.inf:
            highest -= 1.0
        bounds = lowest, highest
        found = minimize(loss, bounds=bounds, method="bounded", options={"xatol": 1e-6})
    smallest = 1e-6 * len(used)
    if found.fun < smallest or found.fun > min(map(loss, bounds)) - smallest:
        raise ValueError(
            f"[{name}] no β is the best one for these {len(used):,} sequences or trees: the larger or the smaller, the "
            "better; calibrate it when it is trained, on examples that it has not learnt from and makes mistakes in"
        )
    beta = float(f"{math.exp(found.x):.6g}")
    return Fit(beta, len(used), len(judged) - len(annotated), len(annotated) - len(used))


def reliability(judged: Iterable[Judged], beta: float, listing: float) -> list[Bin]:
    """The reliability diagram of the probabilities by β, in N_BINS bins of equal width.

    listing: the β by which items have MIN_PROBABILITY or more. By the same one, diagrams are of the same items.
    """
    found = [(np.zeros(0), np.zeros(0))]
    for one in judged:
        items, is_gold = one.items(listing)
        found.append((one.probabilities(items, beta), is_gold))
    probabilities, right = (np.concatenate(columns) for columns in zip(*found))
    places = np.minimum((probabilities * N_BINS).astype(np.int64), N_BINS - 1)
    bins = []
    for number in range(N_BINS):
        inside = places == number
        n_items = int(inside.sum())
        mean, share = (float(values[inside].mean()) if n_items else math.nan for values in (probabilities, right))
        bins.append(Bin(number / N_BINS, n_items, mean, share))
    return bins


def expected_error(bins: Sequence[Bin]) -> float:
    """The expected calibration error: by how much mean probability and share of a bin differ, averaged over the items;
    nan without any."""
    total = sum(one.n_items for one in bins)
    return sum(one.n_items * abs(one.mean - one.right) for one in bins if one.n_items) / total if total else math.nan


def _scipys_minimize_scalar() -> Any:
    try:
        return importlib.import_module("scipy.optimize").minimize_scalar
    except ImportError as error:
        raise ImportError('calibration needs SciPy: pip install "spacy-ssvm[calibration]"') from error
