"""One temperature for all scores of a component, and how far its probabilities are from the shares that are right.

P(y) ∝ exp(β · wᵀΦ(x, y)) has the same best analysis for every β > 0, so that β can be fitted afterwards, on examples
that nothing was learnt from: the scores of a structured SVM are as large as its margin wants them, and a probabilistic
loss makes a model more sure of its training examples than of others (Guo et al. 2017, where 1/β is the temperature).
"""

import importlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..models.scored import MIN_PROBABILITY, Known, Listing, Scored

MIN_BETA, MAX_BETA = 1e-4, 1e4
"""The bounds of the search for β."""

N_BINS = 10


@dataclass(frozen=True)
class CalibrationExample:
    """A sequence or tree with its scores, and what is known of its gold structure.

    listing: of the parts that are measured: tags, entities, sentence starts or heads.
    """

    scored: Scored[Any, Any, Any]
    known: Known[Any]
    listing: Listing

    def log_likelihood(self, beta: float) -> float:
        """log of the probability that a structure agrees with all that is known; −∞ where none can."""
        total = self.scored.log_partition(beta)
        if total == -math.inf:
            # A large β can leave nothing of the structures to sum.
            return -math.inf
        return min(0.0, self.scored.log_partition(beta, self.scored.agreeing(self.known)) - total)

    def items(self, beta: float) -> tuple[list[Any], np.ndarray]:
        """The K parts that have MIN_PROBABILITY or more, and which of them are gold, bool [K].

        Parts with unknown gold status are excluded, and so are those at tokens without an alternative.
        """
        marginals = self.scored.marginals(beta)
        parts, right = [], []
        for part, _ in self.listing(marginals, MIN_PROBABILITY):
            is_gold = self.known.agrees(part)
            if is_gold is not None and marginals.has_alternative(part):
                parts.append(part)
                right.append(is_gold)
        return parts, np.array(right, np.bool_)

    def probabilities(self, items: Sequence[Any], beta: float) -> np.ndarray:
        """The probabilities of K such parts, float64 [K]."""
        marginals = self.scored.marginals(beta)
        return np.array([marginals.probability(part) for part in items], np.float64)


class Fit(NamedTuple):
    """The result of `fit`.

    beta: of the highest likelihood, to six digits, as files keep it. used: the number of sequences or trees that it is
    fitted to. unannotated: those that are left out because they have no gold annotation. impossible: those that are
    left out because the component cannot produce their gold analysis.
    """

    beta: float
    used: int
    unannotated: int
    impossible: int


class Bin(NamedTuple):
    """The items whose probability is at least `low` and less than the next bin's `low`; the last bin includes 1.

    mean: of their probabilities. right: the share of them that is right. Both are nan in an empty bin.
    """

    low: float
    n_items: int
    mean: float
    right: float


def fit(name: str, examples: Sequence[CalibrationExample]) -> Fit:
    """The β that gives the gold analyses the highest likelihood, between MIN_BETA and MAX_BETA.

    With incomplete gold annotation this is the likelihood of what is known, summed over the rest. With complete gold
    annotation its logarithm is concave in β. name: of the component, for messages.

    Raises:
        ValueError: there is nothing to fit to, or no β between those is better than both of them.
        ImportError: SciPy is not installed.
    """
    minimize = _scipys_minimize_scalar()
    annotated = [one for one in examples if one.known.is_annotated]
    # With the smallest β no sum is lost to rounding.
    used = [one for one in annotated if one.log_likelihood(MIN_BETA) > -math.inf]
    if not used:
        raise ValueError(
            f"[{name}] there is nothing to calibrate it on: of {len(examples):,} sequences or trees {len(annotated):,} "
            "have gold annotation, and none of them is one that it can produce"
        )

    def loss(log_beta: float) -> float:
        return -sum(one.log_likelihood(math.exp(log_beta)) for one in used)

    lowest, highest = math.log(MIN_BETA), math.log(MAX_BETA)
    with np.errstate(invalid="ignore", over="ignore"):
        # The search cannot compare two β that are both too large for sums.
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
    return Fit(beta, len(used), len(examples) - len(annotated), len(annotated) - len(used))


def reliability(examples: Iterable[CalibrationExample], beta: float, listing_beta: float) -> list[Bin]:
    """The reliability diagram of the probabilities under β, in N_BINS bins of equal width.

    listing_beta: the β under which the items have MIN_PROBABILITY or more; with the same one, diagrams of different β
    show the same items.
    """
    found = [(np.zeros(0), np.zeros(0))]
    for one in examples:
        items, is_gold = one.items(listing_beta)
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
    """The expected calibration error: the difference between the mean probability and the share that is right in each
    bin, averaged over all items; nan without any (Guo et al. 2017, equation 3)."""
    total = sum(one.n_items for one in bins)
    return sum(one.n_items * abs(one.mean - one.right) for one in bins if one.n_items) / total if total else math.nan


def _scipys_minimize_scalar() -> Any:
    try:
        return importlib.import_module("scipy.optimize").minimize_scalar
    except ImportError as error:
        raise ImportError("calibration needs SciPy: pip install scipy") from error
