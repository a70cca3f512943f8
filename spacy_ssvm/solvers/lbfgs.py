"""L-BFGS for the smooth losses L_{β,γ}, β < ∞ (Liu & Nocedal 1989; Martins et al. 2010 §5), by SciPy."""

import importlib
from typing import Any

import numpy as np

from .gradients import sum_losses
from .learner import Certificate, Field, Learner, Progress
from .parameters import Lbfgs
from .problem import Kind, Problem


def _scipys_minimize() -> Any:
    try:
        return importlib.import_module("scipy.optimize").minimize
    except ImportError as error:
        raise ImportError("L-BFGS needs SciPy: pip install scipy") from error


class LbfgsLearner(Learner):
    """½‖w‖² + C Σ L_{β,γ} by some iterations of L-BFGS at the end of each epoch, over all examples of the problem.

    With `proximal`, ½‖w − w₀‖² takes the place of ½‖w‖², where w₀ is what it starts from.

    The dual variables α_i = C · P_i(·; w) that belong to any w make the gap exactly ½‖∇P(w)‖², wherever it started.

    Sums over all weights are left to BLAS: with another number of its threads w differs by rounding.

    Raises:
        ImportError: SciPy is not installed.
    """

    parameters: Lbfgs
    STATE = (Field("centre", like="w"), Field("has_forgotten"))

    def __init__(self, parameters: Lbfgs, problem: Problem, weights: np.ndarray | None = None) -> None:
        super().__init__(parameters, problem, weights)
        self._minimize = _scipys_minimize()
        self.centre = self.w.copy() if parameters.proximal and weights is not None else None
        self.has_forgotten = False
        self._reached: Certificate | None = None

    @property
    def needs(self) -> Kind:
        return "marginal"

    def begin_epoch(self, rng: np.random.Generator) -> None:
        super().begin_epoch(rng)
        self._reached = None

    def visit(self, examples: np.ndarray) -> None:
        """Only add up the losses at the w that the epoch starts from."""
        self.loss += sum_losses(self.problem, self.w, self.parameters, examples, self.n_threads).value

    def end_epoch(self) -> None:
        options = {"maxiter": self.parameters.iterations, "ftol": 0.0, "gtol": 0.0}
        result = self._minimize(self._objective, self.w, jac=True, method="L-BFGS-B", options=options)
        self.w = np.ascontiguousarray(result.x)
        self._reached = self._certificate(result.fun, result.jac)

    def progress(self) -> Progress:
        """Before the end of an epoch the primal objective is that of its start, summed over visits so far."""
        if self._reached is not None:
            return Progress(self.loss, self._reached.primal, self._reached.dual, None)
        if self.has_forgotten:
            return Progress(self.loss, None, None, None)
        moved = self._moved(self.w)
        return Progress(self.loss, float(moved @ moved) / 2 + self.parameters.C * self.loss, None, None)

    def certificate(self) -> Certificate | None:
        return self._certificate(*self._objective(self.w))

    def done(self) -> bool:
        return self._reached is not None and self._reached.relative_gap <= self.parameters.tolerance

    def retune(self, parameters: Any) -> bool:
        """The objective has no memory of where w comes from, but with `proximal`, of where training has started."""
        if self.has_forgotten or parameters.proximal != self.parameters.proximal:
            return False
        self.parameters, self._reached = parameters, None
        return True

    def extend(self, problem: Problem) -> None:
        super().extend(problem)
        self._reached = None
        if self.centre is not None:
            self.centre = self.grown(self.centre)

    def forget(self, examples: np.ndarray) -> None:
        """From here on w is held to where it is, by ½‖w − w₀‖² as equation 11 of Martins et al. has it."""
        self.centre, self._reached, self.has_forgotten = self.w.copy(), None, True

    def _objective(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """P(w) and ∇P(w) for w float64 [d]."""
        C = self.parameters.C
        loss = sum_losses(self.problem, np.ascontiguousarray(weights), self.parameters, n_threads=self.n_threads)
        moved = self._moved(weights)
        return float(moved @ moved) / 2 + C * loss.value, moved - C * loss.descent

    def _moved(self, weights: np.ndarray) -> np.ndarray:
        return weights if self.centre is None else weights - self.centre

    def _certificate(self, primal: float, gradient: np.ndarray) -> Certificate | None:
        if self.has_forgotten:
            return None
        return Certificate(float(primal), float(primal) - float(gradient @ gradient) / 2)
