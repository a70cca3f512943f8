"""The penalty Ω(w) = ρ₁‖w‖₁ + (ρ₂/2)‖w‖² of dual solvers, and the w that belongs to a dual point s = Σ α ΔΦ."""

from dataclasses import dataclass

import numpy as np

from ..kernels import kernel
from .vectors import squared_distance


@kernel
def soft(s, rho1, rho2):
    """soft(s, ρ₁)/ρ₂ = (s − β)/ρ₂ for the best β = clip(s, ±ρ₁)."""
    if s > rho1:
        return (s - rho1) / rho2
    if s < -rho1:
        return (s + rho1) / rho2
    return 0.0


@kernel
def shrink(s, weights, rho1, rho2):
    """weights ← soft(s, ρ₁)/ρ₂."""
    for k in range(len(s)):
        weights[k] = soft(s[k], rho1, rho2)


@dataclass(frozen=True)
class Penalty:
    """Ω(w) = ρ₁‖w‖₁ + (ρ₂/2)‖w‖²; ½‖w‖² by default."""

    rho1: float = 0.0
    rho2: float = 1.0

    def weights(self, s: np.ndarray) -> np.ndarray:
        """The w of a dual point s, float64 [d]: soft(s, ρ₁)/ρ₂. It may be s itself."""
        if not self.rho1:
            return s if self.rho2 == 1.0 else s / self.rho2
        w = np.empty_like(s)
        shrink(s, w, self.rho1, self.rho2)
        return w

    def point(self, w: np.ndarray) -> np.ndarray:
        """A dual point that w belongs to, float64 [d], a copy: ρ₂w + ρ₁ sign(w)."""
        return np.asarray(self.rho2 * w + self.rho1 * np.sign(w)) if self.rho1 else self.rho2 * w

    def values(self, w: np.ndarray, n_threads: int = 1) -> tuple[float, float]:
        """Ω(w), and Ω*(s) of the dual point s that w belongs to: (ρ₂/2)‖w‖² = ‖s − β‖² / 2ρ₂, without ρ₁‖w‖₁."""
        square = self.rho2 / 2.0 * squared_distance(w, n_threads=n_threads)
        return self.rho1 * float(np.abs(w).sum()) + square if self.rho1 else square, square
