"""A learning problem made by hand, of no structure of this package: points that are each to be given a sign."""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.kernels import Float64Array2d, Int64Array, kernel
from spacy_ssvm.solvers.learner import fit
from spacy_ssvm.solvers.parameters import Parameters
from spacy_ssvm.solvers.problem import Problem


class Points(NamedTuple):
    """points: float64 [n, d]. signs: int64 [n], 1 or −1."""

    points: Float64Array2d
    signs: Int64Array


@kernel
def max_oracle(data, example, weights, loss_scale, indices, values):
    """Φ(x, y) = yx/2, so that ΔΦ = yx where the sign is wrong; of two that are equally good it is the wrong one."""
    point, sign = data.points[example], data.signs[example]
    score = 0.0
    for k in range(len(point)):
        score += sign * point[k] * weights[k]
    if score > loss_scale:
        return 0, 0.0
    for k in range(len(point)):
        indices[k], values[k] = k, sign * point[k]
    return len(point), 1.0


def learnt(parameters: Parameters) -> list[float]:
    """The weights that a solver learns from a few points that a line parts."""
    points = np.random.default_rng(0).normal(size=(20, 3))
    signs = np.where(points @ (1.0, -2.0, 0.5) > 0, 1, -1)
    data = Points(points, signs)
    problem = Problem(data, max_oracle, len(signs), dimension=3, plane_entries=np.full(20, 3))
    learner, _ = fit(parameters, problem, max_epochs=3)
    return learner.prediction_weights().tolist()
