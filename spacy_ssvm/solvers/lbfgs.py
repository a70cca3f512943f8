"""L-BFGS for the smooth losses L_{β,γ}, β < ∞ (Liu & Nocedal 1989; Martins et al. 2010 §5).

The line search is SciPy's. The two-loop recursion is not: SciPy's `minimize` starts without curvature whenever it is
called, and a solver that pauses after each epoch, and is saved there, would lose it each time. It runs on the products
of its vectors (Chen, Wang & Zhou 2014), so that threads pass over them twice, not four times for each pair.
"""

import importlib
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from ..growth import extended
from .gradients import LossSum, sum_losses
from .learner import NO_EXAMPLES, Certificate, Learner, Progress
from .pairs import pair_step
from .parameters import LossFamily, require_flag, require_positive, require_tolerance, require_whole
from .problem import Kind, Problem
from .state import Field
from .vectors import combination, products


@dataclass(frozen=True, kw_only=True)
class Lbfgs(LossFamily):
    """L-BFGS on ½‖w‖² + C Σ L_{β,γ}, β < ∞: softmax-margin by default. Needs SciPy, and memory for about 20 times w.

    iterations: of L-BFGS in an epoch, each about one pass over all examples. The next epoch continues where they end.
    tolerance: relative duality gap at which training is complete. With small β, a part C log|Y| / β of the primal is
        constant, so that the relative gap is small from the start: choose a smaller tolerance.
    proximal: where training starts from earlier weights w₀, regularise by ½‖w − w₀‖² instead of ½‖w‖².
    """

    rule = "losses"
    min_tolerance = 0.0
    CHECKS = {"tolerance": require_tolerance, "proximal": require_flag}

    C: float = 1.0
    beta: float | Literal["inf"] = 1.0
    iterations: int = 10
    tolerance: float = 1e-3
    proximal: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.is_smooth:
            raise ValueError("solver.beta must be finite for L-BFGS, which needs a smooth loss: choose another solver")
        require_positive(self, "iterations")
        require_whole(self, "iterations")


MEMORY = 6
"""The number of kept pairs of a step and the change of ∇P along it; ten took more time for the same gap."""

SLOPE_REDUCTION = 0.9
"""A step is long enough when it has reduced the slope to this fraction (Wolfe's second condition)."""


class Point(NamedTuple):
    """w, P(w) and ∇P(w)."""

    w: np.ndarray
    primal: float
    gradient: np.ndarray


class _Line:
    """P(w + t · direction) and its derivative in t from one evaluation, although SciPy asks for them separately."""

    def __init__(
        self, evaluate: Callable[[np.ndarray], Point], start: Point, direction: np.ndarray, n_threads: int
    ) -> None:
        self._evaluate = evaluate
        self._start = start
        self._direction = direction
        self._n_threads = n_threads
        self._latest = 0.0, start

    def primal(self, t: np.ndarray) -> float:
        return self.point(float(t[0])).primal

    def slope(self, t: np.ndarray) -> np.ndarray:
        return products([self.point(float(t[0])).gradient], [self._direction], self._n_threads)[0]

    def point(self, t: float) -> Point:
        if t != self._latest[0]:
            w = combination([1.0, t], [self._start.w, self._direction], self._n_threads)
            self._latest = t, self._evaluate(w)
        return self._latest[1]


class Curvature:
    """The last pairs of a step s_k of w and the change y_k of ∇P along it, and the direction that they give."""

    STATE = (Field("steps", of="curvature", shape="md"), Field("changes", of="curvature", shape="md"))
    """The fields of a learner with this in its attribute `curvature`."""

    def __init__(self) -> None:
        self.steps: list[np.ndarray] = []
        """The steps s_k, float64 [d] each, oldest first."""
        self.changes: list[np.ndarray] = []
        """The changes y_k, float64 [d] each."""
        self._known = np.zeros((0, 0))
        """The products with each other of s_1, y_1, s_2, y_2, …, float64, if computed; not part of the state."""

    def add(self, step: np.ndarray, change: np.ndarray, n_threads: int) -> None:
        """Keep a pair if ∇P has risen along it, and the MEMORY − 1 pairs before it."""
        if not products([step], [change], n_threads)[0, 0] > 0.0:
            return
        self.steps, self.changes = [*self.steps, step], [*self.changes, change]
        if len(self.steps) > MEMORY:
            self.steps, self.changes, self._known = self.steps[1:], self.changes[1:], self._known[2:, 2:]

    def direction(self, gradient: np.ndarray, n_threads: int) -> np.ndarray:
        """−H∇P by the two-loop recursion, H₀ = (sᵀy / yᵀy) I of the last pair; at first a step of length 1."""
        if not self.steps:
            norm = math.sqrt(products([gradient], [gradient], n_threads)[0, 0])
            return combination([-1.0 / norm], [gradient], n_threads)
        pairs = [vector for pair in zip(self.steps, self.changes) for vector in pair]
        n_known = len(self._known)
        fresh = products([*pairs[n_known:], gradient], pairs, n_threads)
        self._known = np.block([[self._known, fresh[:-1, :n_known].T], [fresh[:-1]]])
        known = np.column_stack([self._known, fresh[-1]])
        factors, shares = np.zeros(len(pairs) + 1), np.zeros(len(self.steps))
        factors[-1] = -1.0
        for k in reversed(range(len(shares))):
            s, y = 2 * k, 2 * k + 1
            shares[k] = math.fsum(known[s] * factors) / known[s, y]
            factors[y] -= shares[k]
        factors *= known[-2, len(pairs) - 1] / known[-1, len(pairs) - 1]
        for k in range(len(shares)):
            s, y = 2 * k, 2 * k + 1
            factors[s] += shares[k] - math.fsum(known[y] * factors) / known[s, y]
        return combination(factors.tolist(), [*pairs, gradient], n_threads)


class LbfgsLearner(Learner, of=Lbfgs):
    """½‖w‖² + C Σ L_{β,γ} by several iterations of L-BFGS at the end of each epoch.

    They run over all examples of the problem, including those that the epoch has not visited. With `proximal`,
    ½‖w − w₀‖² replaces ½‖w‖², where w₀ are the initial weights. The curvature that earlier epochs have measured is
    kept until the problem or the parameters change.

    Every w on the way of L-BFGS gives dual variables α_i = C · P_i(·; w), whose gap at this w is ½‖∇P(w)‖². That is far
    above the distance from the optimum, so the dual point kept is a mixture of them all. As L is convex, each w has C Σ
    L(v) ≥ ℓ − sᵀ(v − w₀) for all v, where s = −C Σ ∇L(w) = Σ α ΔΦ and ℓ = C Σ L(w) + sᵀ(w − w₀). So no P(v) is less
    than ℓ − ½‖s‖², for a pair (s, ℓ) as for a mixture of pairs: the dual of bundle methods (Teo et al. 2010).

    Raises:
        ImportError: SciPy is not installed.
    """

    parameters: Lbfgs
    STATE = (Field("centre", like="w"), Field("has_forgotten"), *Curvature.STATE, Field("s"), Field("linear"))

    def __init__(self, parameters: Lbfgs, problem: Problem, weights: np.ndarray | None = None) -> None:
        super().__init__(parameters, problem, weights)
        self._line_search = _scipy_line_search()
        self.centre = self.w.copy() if parameters.proximal and weights is not None else None
        self.has_forgotten = False
        self.curvature = Curvature()
        self.s, self.linear = np.zeros(problem.dimension), 0.0
        """The dual point (s, ℓ); at first α = 0 for all structures but the gold ones."""
        self._final: Certificate | None = None
        """The certificate of the last epoch's end, None once the epoch, the problem or the parameters have changed."""

    @property
    def needs(self) -> Kind:
        return "cliques"

    def begin_epoch(self, rng: np.random.Generator) -> None:
        super().begin_epoch(rng)
        self._final = None

    def visit(self, examples: np.ndarray) -> None:
        """Add up the losses of these examples at the w that the epoch starts from; `end_epoch` moves w."""
        self.loss += self._losses(self.w, examples).value

    def end_epoch(self) -> None:
        point = self._point(self.w)
        self.s, self.linear = self._better_dual(point)
        for _ in range(self.parameters.iterations):
            next_point = self._iterate(point)
            if next_point is None:
                break
            point = next_point
            self.s, self.linear = self._better_dual(point)
        self.w = point.w
        if not self.has_forgotten:
            self._final = self._certified(point, self.s, self.linear)

    def _better_dual(self, point: Point) -> tuple[np.ndarray, float]:
        """The best mixture of the dual point (s, ℓ) and this w's."""
        offset = self._offset(point.w)
        direction = self._combination([1.0, -1.0, -1.0], [offset, point.gradient, self.s])
        along, to_offset, to_s = self._products([direction, offset, self.s], [direction, offset]).tolist()
        rise = point.primal - to_offset[1] / 2 + to_offset[0] + to_s[1] - self.linear
        share = pair_step(rise - to_s[0], 1.0, along[0])
        return self._combination([share, 1.0], [direction, self.s], out=direction), self.linear + share * rise

    def _iterate(self, point: Point) -> Point | None:
        """One iteration of Liu & Nocedal's algorithm 2.1. None at the optimum, where rounding hides every descent."""
        if not self._regulariser(point.gradient) > 0.0:
            return None
        direction = self.curvature.direction(point.gradient, self.n_threads)
        line = _Line(self._point, point, direction, self.n_threads)
        with warnings.catch_warnings():
            # SciPy warns where it finds no step.
            warnings.simplefilter("ignore")
            step = self._line_search(line.primal, line.slope, np.zeros(1), np.ones(1), c2=SLOPE_REDUCTION)[0]
        if step is None:
            self.curvature = Curvature()
            return None
        reached = line.point(float(step))
        if step != 1.0:
            self._combination([float(step)], [direction], out=direction)
        change = self._combination([1.0, -1.0], [reached.gradient, point.gradient])
        self.curvature.add(direction, change, self.n_threads)
        return reached

    def _start_over(self) -> None:
        """Drop curvature and dual point, which belong to another objective."""
        self.curvature = Curvature()
        self.s, self.linear = np.zeros(self.problem.dimension), 0.0

    def progress(self) -> Progress:
        """Figures; during an epoch, the primal objective is at its initial w, summed over the visits so far."""
        if self._final is not None:
            return Progress(self.loss, self._final.primal, self._final.dual, None)
        if self.has_forgotten:
            return Progress(self.loss, None, None, None)
        return Progress(self.loss, self._regulariser(self._offset(self.w)) + self.parameters.C * self.loss, None, None)

    def certificate(self) -> Certificate | None:
        if self.has_forgotten:
            return None
        point = self._point(self.w)
        return self._certified(point, *self._better_dual(point))

    def done(self) -> bool:
        return self._final is not None and self._final.relative_gap <= self.parameters.tolerance

    def retune(self, parameters: Any) -> bool:
        """The objective does not depend on earlier epochs, except through w₀ with `proximal`."""
        if self.has_forgotten or parameters.proximal != self.parameters.proximal:
            return False
        self.parameters, self._final = parameters, None
        self._start_over()
        return True

    def change(self, problem: Problem, dropped: np.ndarray = NO_EXAMPLES, subtracts: bool = True) -> None:
        """Keep w, and drop the curvature if the sum over all examples changes.

        If dropped examples are not subtracted, w₀ is from now on the current w, in ½‖w − w₀‖² as in equation 11 of
        Martins et al.
        """
        # Examples of a saved state that come back are no more than before: the objective is the one that was saved.
        is_same = (problem.n_examples, problem.dimension) == (self.problem.n_examples, self.problem.dimension)
        super().change(problem)
        self._final = None
        if not subtracts:
            self.centre, self.has_forgotten = self.w.copy(), True
        if self.centre is not None:
            self.centre = extended(self.centre, problem.dimension)
        if not is_same or not subtracts or len(dropped):
            self._start_over()

    def restore(self, state: dict[str, Any], rng: np.random.Generator) -> None:
        self.curvature = Curvature()
        super().restore(state, rng)

    def _point(self, w: np.ndarray) -> Point:
        """P(w) and ∇P(w) for w float64 [d]."""
        C, offset = self.parameters.C, self._offset(w)
        value, gradient = self._losses(w)
        self._combination([-C, 1.0], [gradient, offset], out=gradient)
        return Point(w, self._regulariser(offset) + C * value, gradient)

    def _losses(self, w: np.ndarray, examples: np.ndarray | None = None) -> LossSum:
        p = self.parameters
        return sum_losses(self.problem, w, float(p.beta), p.gamma, examples, self.n_threads)

    def _offset(self, weights: np.ndarray) -> np.ndarray:
        return weights if self.centre is None else self._combination([1.0, -1.0], [weights, self.centre])

    def _regulariser(self, offset: np.ndarray) -> float:
        return float(self._products([offset], [offset])[0, 0]) / 2

    def _certified(self, point: Point, s: np.ndarray, linear: float) -> Certificate:
        return Certificate(point.primal, linear - self._regulariser(s))

    def _products(self, left: Sequence[np.ndarray], right: Sequence[np.ndarray]) -> np.ndarray:
        return products(left, right, self.n_threads)

    def _combination(
        self, factors: Sequence[float], vectors: Sequence[np.ndarray], out: np.ndarray | None = None
    ) -> np.ndarray:
        return combination(factors, vectors, self.n_threads, out)


def _scipy_line_search() -> Any:
    try:
        return importlib.import_module("scipy.optimize").line_search
    except ImportError as error:
        raise ImportError("L-BFGS needs SciPy: pip install scipy") from error
