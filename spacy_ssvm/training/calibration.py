"""One temperature for all scores of a component, and the calibration error of its probabilities.

P(y) ∝ exp(β · wᵀΦ(x, y)) has the same best analysis for every β > 0. So β can be fitted after training, on other
examples than the training examples: the scale of a structured SVM's scores depends on its margin, and a probabilistic
loss makes a model more certain of its training examples than of others (Guo et al. 2017, where 1/β is the temperature).
"""

import importlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..models.named_parts import MIN_PROBABILITY
from ..structures.scored import Known, Listing, Scored

MIN_BETA, MAX_BETA = 1e-4, 1e4
"""The bounds of the search for β."""

N_BINS = 10


@dataclass(frozen=True)
class CalibrationExample:
    """A sequence or tree with its scores, and the known part of its gold structure.

    Attributes:
        listing: lists the parts that are measured: tags, entities, sentence starts or heads.
    """

    scored: Scored[Any, Any, Any]
    known: Known[Any]
    listing: Listing

    def log_likelihood(self, beta: float) -> float:
        """The log-probability of the structures that agree with the known gold parts; −∞ if there are none."""
        total = self.scored.log_partition(beta)
        if total == -math.inf:
            # With a large β, the sum can underflow.
            return -math.inf
        return min(0.0, self.scored.log_partition(beta, self.scored.agreeing(self.known)) - total)

    def items(self, beta: float) -> tuple[list[Any], np.ndarray]:
        """The K parts with a probability of at least MIN_PROBABILITY, and whether each is gold, bool [K].

        Parts are excluded if their gold status is unknown, or if their tokens have no alternative.
        """
        marginals = self.scored.marginals(beta)
        parts, are_gold = [], []
        for part, _ in self.listing(marginals, MIN_PROBABILITY):
            is_gold = self.known.agrees(part)
            if is_gold is not None and marginals.has_alternative(part):
                parts.append(part)
                are_gold.append(is_gold)
        return parts, np.array(are_gold, np.bool_)

    def probabilities(self, items: Sequence[Any], beta: float) -> np.ndarray:
        """The probabilities of K such parts, float64 [K]."""
        marginals = self.scored.marginals(beta)
        return np.array([marginals.probability(part) for part in items], np.float64)


class Fit(NamedTuple):
    """The result of `fit`.

    Attributes:
        beta: the β with the highest likelihood, rounded to six digits, as in files.
        used: the number of sequences or trees that it is fitted to.
        unannotated: the number left out because they have no gold annotation.
        impossible: the number left out because the component cannot produce their gold analysis.
    """

    beta: float
    used: int
    unannotated: int
    impossible: int


class Bin(NamedTuple):
    """The items whose probability is at least `low` and less than the next bin's `low`; the last bin includes 1.

    Attributes:
        low: the smallest probability in the bin.
        n_items: the number of items.
        mean: the mean of their probabilities.
        right: the share of items that are right. Both are nan in an empty bin.
    """

    low: float
    n_items: int
    mean: float
    right: float


def rounded(beta: float) -> float:
    """β with the six digits that files keep."""
    return float(f"{beta:.6g}")


def fit(name: str, examples: Sequence[CalibrationExample]) -> Fit:
    """The β, between MIN_BETA and MAX_BETA, that maximises the likelihood of the gold analyses.

    With incomplete gold annotation, this is the likelihood of the known parts, summed over all analyses that have them.
    With complete gold annotation, the log-likelihood is concave in β. name: the component's name, for messages.

    Raises:
        ValueError: there are no gold analyses to fit to, or the best β lies at a bound.
        ImportError: SciPy is not installed.
    """
    try:
        minimize = importlib.import_module("scipy.optimize").minimize_scalar
    except ImportError as error:
        raise ImportError("calibration needs SciPy: pip install scipy") from error
    annotated = [example for example in examples if example.known.is_annotated]
    # With the smallest β no sum is lost to rounding.
    used = [example for example in annotated if example.log_likelihood(MIN_BETA) > -math.inf]
    if not used:
        raise ValueError(
            f"[{name}] there is nothing to calibrate it on: {len(annotated):,} of {len(examples):,} sequences or trees "
            "have gold annotation, and the component can produce none of these gold analyses"
        )

    def loss(log_beta: float) -> float:
        return -sum(example.log_likelihood(math.exp(log_beta)) for example in used)

    lowest, highest = math.log(MIN_BETA), math.log(MAX_BETA)
    with np.errstate(invalid="ignore", over="ignore"):
        # The search cannot compare two values of β that are both too large for the sums.
        while highest - 1.0 > lowest and loss(highest) == math.inf:
            highest -= 1.0
        bounds = lowest, highest
        optimum = minimize(loss, bounds=bounds, method="bounded", options={"xatol": 1e-6})
    smallest = 1e-6 * len(used)
    if optimum.fun < smallest or optimum.fun > min(map(loss, bounds)) - smallest:
        raise ValueError(
            f"[{name}] no β is the best one for these {len(used):,} sequences or trees: the larger or the smaller, the "
            "better. Calibrate a trained component, on examples that it has not learnt from and on which it makes "
            "mistakes"
        )
    return Fit(rounded(math.exp(optimum.x)), len(used), len(examples) - len(annotated), len(annotated) - len(used))


def reliability(examples: Iterable[CalibrationExample], beta: float, listing_beta: float) -> list[Bin]:
    """The reliability diagram of the probabilities under β, in N_BINS bins of equal width.

    Args:
        listing_beta: the β under which items have a probability of at least MIN_PROBABILITY; diagrams with the same
            listing_beta show the same items.
    """
    columns = [(np.zeros(0), np.zeros(0))]
    for example in examples:
        items, are_gold = example.items(listing_beta)
        columns.append((example.probabilities(items, beta), are_gold))
    probabilities, right = map(np.concatenate, zip(*columns))
    places = np.minimum((probabilities * N_BINS).astype(np.int64), N_BINS - 1)
    bins = []
    for number in range(N_BINS):
        inside = places == number
        n_items = int(inside.sum())
        mean, share = (float(values[inside].mean()) if n_items else math.nan for values in (probabilities, right))
        bins.append(Bin(number / N_BINS, n_items, mean, share))
    return bins


def margins(examples: Iterable[CalibrationExample]) -> list[Bin]:
    """The predicted parts in N_BINS bins of equal size, from the smallest margins to the largest; `low` and `mean` are
    margins. Parts are excluded if their gold status is unknown, or if their tokens have no alternative."""
    pairs = [
        (margin, example.known.agrees(part))
        for example in examples
        for part, margin in example.listing(example.scored.margins(), 0.0)
    ]
    known = sorted((margin, bool(right)) for margin, right in pairs if right is not None and margin < math.inf)
    values = np.array(known, np.float64).reshape(-1, 2)
    return [
        Bin(float(part[0, 0]), len(part), *map(float, part.mean(axis=0)))
        for part in np.array_split(values, N_BINS)
        if len(part)
    ]


def expected_error(bins: Sequence[Bin]) -> float:
    """The expected calibration error (Guo et al. 2017, equation 3); nan without items.

    It is the distance between the mean probability and the share of right items in a bin, averaged over all items.
    """
    total = sum(bin.n_items for bin in bins)
    return sum(bin.n_items * abs(bin.mean - bin.right) for bin in bins if bin.n_items) / total if total else math.nan
