"""Small learning problems from a seeded generator, their planes by enumeration, and optima found by SciPy."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.optimize import minimize

from spacy_ssvm.models.chain.data import Chains, make_chains
from spacy_ssvm.models.chain.oracles import chain_problem
from spacy_ssvm.solvers.problem import Problem
from spacy_ssvm.structures.chain.constraints import unconstrained

from .models.chain.enumeration import joint_feature, loss, sequences
from .models.tree.enumeration import Example


def random_problem(
    seed: int = 0,
    n_examples: int = 30,
    n_labels: int = 3,
    max_length: int = 5,
    n_rows: int = 12,
    active: int = 3,
    noise: float = 0.3,
    real: bool = False,
) -> Problem:
    """Sequences labelled by a random linear rule with noise, so that no w separates them all.

    active: features of each token, 0/1 or, if `real`, normally distributed (in single precision).
    """
    rng = np.random.default_rng(seed)
    starts = np.cumsum([0, *rng.integers(1, max_length + 1, n_examples)])
    rows = np.array([rng.choice(n_rows, active, replace=False) for _ in range(starts[-1])], np.int64).ravel()
    values = rng.normal(size=len(rows)).astype(np.float32) if real else np.ones(len(rows), np.float32)
    rule = rng.normal(size=(n_rows, n_labels))
    gold = (rule[rows] * values[:, None]).reshape(-1, active, n_labels).sum(axis=1).argmax(axis=1)
    wrong = rng.random(len(gold)) < noise
    gold[wrong] = rng.integers(0, n_labels, wrong.sum())
    chains = make_chains(
        starts,
        np.arange(0, len(rows) + 1, active),
        rows,
        gold,
        unconstrained(n_labels),
        values=values,
    )
    return chain_problem(chains, n_rows)


def halves() -> tuple[Problem, Problem]:
    """The first ten examples of a problem, with the feature rows that they use only, and the whole problem."""
    whole = random_problem(11, n_examples=20, n_rows=30)
    chains = whole.data
    tokens = chains.starts[10]
    features = chains.feature_starts[tokens]
    names, rows = np.unique(chains.rows, return_index=True)
    order = names[np.argsort(rows)]
    renamed = np.argsort(order)[chains.rows]
    relabelled = chain_problem(chains._replace(rows=renamed.astype(np.int32)), 30)
    part = make_chains(
        chains.starts[:11],
        chains.feature_starts[: tokens + 1],
        renamed[:features],
        chains.gold[:tokens],
        chains.constraints,
    )
    return chain_problem(part, int(renamed[:features].max()) + 1), relabelled


def without_features(n_labels: int = 2) -> Problem:
    """Seven single tokens without features: every ΔΦ vanishes, though Δ = 1 for all labels but gold."""
    chains = random_problem(0, n_examples=7, n_labels=n_labels, max_length=1).data
    return chain_problem(chains._replace(feature_starts=np.zeros_like(chains.feature_starts)), 12)


def multiclass_problem(
    starts: np.ndarray, rows: np.ndarray, values: np.ndarray, classes: np.ndarray, n_classes: int, n_rows: int
) -> Problem:
    """Examples with one of n_classes classes each, as chains of length one with loss 0 or 1.

    Args:
        starts: int64 [n + 1], the first feature of each example.
        rows: [F], features, below n_rows.
        values: [F].
        classes: [n]. w has n_classes² unused transition weights, then n_classes weights per row.
    """
    ends = np.arange(len(classes) + 1)
    return chain_problem(make_chains(ends, starts, rows, classes, unconstrained(n_classes), values), n_rows)


def single_tokens(n_labels: int, seed: int) -> tuple[Problem, np.ndarray, np.ndarray]:
    """A multi-class problem, chains of length one, and the same for scikit-learn: X [n, R] and y [n]."""
    problem = random_problem(seed, n_examples=40, n_labels=n_labels, max_length=1, n_rows=6, real=True)
    chains = problem.data
    X = np.zeros((problem.n_examples, 6))
    X[np.repeat(np.arange(40), 3), chains.rows] = chains.values if len(chains.values) else 1.0
    starts = np.arange(0, 121, 3)
    return multiclass_problem(starts, chains.rows, chains.values, chains.gold, n_labels, 6), X, chains.gold


@dataclass(frozen=True, eq=False)
class Planes:
    """Every plane of a problem: ΔΦ [P, d], Δ [P], and the example [P] it belongs to."""

    differences: np.ndarray
    losses: np.ndarray
    examples: np.ndarray


def all_planes(problem: Problem) -> Planes:
    """All planes by enumeration, the gold structures' among them."""
    planes_of = _sequence_planes if isinstance(problem.data, Chains) else _tree_planes
    differences, losses, examples = [], [], []
    for example in range(problem.n_examples):
        for difference, cost in planes_of(problem, example):
            differences.append(difference)
            losses.append(cost)
            examples.append(example)
    return Planes(np.array(differences), np.array(losses), np.array(examples))


def _sequence_planes(problem: Problem, example: int) -> Iterator[tuple[np.ndarray, float]]:
    chains, d = problem.data, problem.dimension
    gold = joint_feature(chains, example, chains.gold[slice(*chains.starts[example : example + 2])], d)
    for y in sequences(chains, example):
        yield gold - joint_feature(chains, example, y, d), loss(chains, example, y)


def _tree_planes(problem: Problem, example: int) -> Iterator[tuple[np.ndarray, float]]:
    trees = Example(problem.data.trees, example)
    gold = trees.joint_feature(trees.gold)
    for y in trees.labelled:
        yield gold - trees.joint_feature(y), trees.loss(y)


def slacks_of(planes: Planes, w: np.ndarray) -> np.ndarray:
    """ξ_i = max_y Δ − wᵀΔΦ of each example."""
    found = np.zeros(planes.examples.max() + 1)
    np.maximum.at(found, planes.examples, planes.losses - planes.differences @ w)
    return found


def objective(planes: Planes, w: np.ndarray, C: float, power: int, rho1: float = 0.0, rho2: float = 1.0) -> float:
    """ρ₁‖w‖₁ + (ρ₂/2)‖w‖² + C Σ ξ_i^power."""
    return float(rho1 * np.abs(w).sum() + rho2 / 2 * (w @ w) + C * (slacks_of(planes, w) ** power).sum())


@cache
def optimum(planes: Planes, C: float, power: int, rho1: float = 0.0, rho2: float = 1.0) -> np.ndarray:
    """The w, float64 [d], that minimises `objective`: a quadratic programme over w = u − v and ξ, by SLSQP."""
    n, d = planes.examples.max() + 1, planes.differences.shape[1]

    def split(x):
        return x[:d], x[d : 2 * d], x[2 * d :]

    def value(x):
        u, v, xi = split(x)
        return rho1 * (u + v).sum() + rho2 / 2 * ((u - v) @ (u - v)) + C * (xi**power).sum()

    def gradient(x):
        u, v, xi = split(x)
        return np.concatenate([rho1 + rho2 * (u - v), rho1 - rho2 * (u - v), C * power * xi ** (power - 1)])

    constraints = np.hstack([planes.differences, -planes.differences, np.eye(n)[planes.examples]])
    result = minimize(
        value,
        np.concatenate([np.zeros(2 * d), slacks_of(planes, np.zeros(d))]),
        jac=gradient,
        method="SLSQP",
        bounds=[(0, None)] * (2 * d + n),
        constraints={"type": "ineq", "fun": lambda x: constraints @ x - planes.losses, "jac": lambda x: constraints},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    u, v, _ = split(result.x)
    return u - v


def summed_errors(planes: Planes, w: np.ndarray, C: float) -> float:
    """½‖w‖² + C Σ_i Σ_y max(0, g_i(y)), the LSE-SSVM's objective."""
    return float(w @ w / 2 + C * np.maximum(planes.losses - planes.differences @ w, 0).sum())


def summed_errors_optimum(planes: Planes, C: float) -> np.ndarray:
    """The w, float64 [d], that minimises `summed_errors`, from the dual's box 0 ≤ α ≤ C by L-BFGS-B and its own gap."""
    A, losses = planes.differences, planes.losses
    alpha = minimize(
        lambda alpha: ((alpha @ A) @ (alpha @ A) / 2 - alpha @ losses, A @ (alpha @ A) - losses),
        np.zeros(len(losses)),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, C)] * len(losses),
        options={"ftol": 1e-16, "gtol": 1e-12, "maxiter": 100_000, "maxfun": 1_000_000},
    ).x
    w = alpha @ A
    primal = summed_errors(planes, w, C)
    assert primal - (alpha @ losses - w @ w / 2) <= 1e-6 * primal
    return w
