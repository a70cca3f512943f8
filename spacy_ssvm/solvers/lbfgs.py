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
    """½‖w‖² + C Σ L_{β,γ} by several iterations of L-BFGS at the end of each epoch.

    They run over all examples of the problem, including those that the epoch has not visited. With `proximal`,
    ½‖w − w₀‖² replaces ½‖w‖², where w₀ are the initial weights.

    For the dual variables α_i = C · P_i(·; w) of any w, the gap is exactly ½‖∇P(w)‖², with any w₀.

    Sums over all weights are computed by BLAS, whose number of threads changes w by rounding.

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
        self._final: Certificate | None = None
        """The certificate of the last epoch's end, None once the epoch, the problem or the parameters have changed."""

    @property
    def needs(self) -> Kind:
        return "marginal"

    def begin_epoch(self, rng: np.random.Generator) -> None:
        super().begin_epoch(rng)
        self._final = None

    def visit(self, examples: np.ndarray) -> None:
        """Add up the losses of these examples at the w that the epoch starts from; `end_epoch` moves w."""
        self.loss += sum_losses(self.problem, self.w, self.parameters, examples, self.n_threads).value

    def end_epoch(self) -> None:
        options = {"maxiter": self.parameters.iterations, "ftol": 0.0, "gtol": 0.0}
        result = self._minimize(self._objective, self.w, jac=True, method="L-BFGS-B", options=options)
        self.w = np.ascontiguousarray(result.x)
        self._final = self._certificate(result.fun, result.jac)

    def progress(self) -> Progress:
        """During an epoch, the primal objective is that of its initial w, summed over the visits so far."""
        if self._final is not None:
            return Progress(self.loss, self._final.primal, self._final.dual, None)
        if self.has_forgotten:
            return Progress(self.loss, None, None, None)
        offset = self._offset(self.w)
        return Progress(self.loss, float(offset @ offset) / 2 + self.parameters.C * self.loss, None, None)

    def certificate(self) -> Certificate | None:
        return self._certificate(*self._objective(self.w))

    def done(self) -> bool:
        return self._final is not None and self._final.relative_gap <= self.parameters.tolerance

    def retune(self, parameters: Any) -> bool:
        """The objective does not depend on earlier epochs, except through w₀ with `proximal`."""
        if self.has_forgotten or parameters.proximal != self.parameters.proximal:
            return False
        self.parameters, self._final = parameters, None
        return True

    def extend(self, problem: Problem) -> None:
        super().extend(problem)
        self._final = None
        if self.centre is not None:
            self.centre = self.grown(self.centre)

    def forget(self, examples: np.ndarray) -> None:
        """From now on w₀ is the current w, in ½‖w − w₀‖² as in equation 11 of Martins et al."""
        self.centre, self._final, self.has_forgotten = self.w.copy(), None, True

    def _objective(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """P(w) and ∇P(w) for w float64 [d]."""
        C = self.parameters.C
        loss = sum_losses(self.problem, np.ascontiguousarray(weights), self.parameters, n_threads=self.n_threads)
        offset = self._offset(weights)
        return float(offset @ offset) / 2 + C * loss.value, offset - C * loss.descent

    def _offset(self, weights: np.ndarray) -> np.ndarray:
        return weights if self.centre is None else weights - self.centre

    def _certificate(self, primal: float, gradient: np.ndarray) -> Certificate | None:
        if self.has_forgotten:
            return None
        return Certificate(float(primal), float(primal) - float(gradient @ gradient) / 2)
