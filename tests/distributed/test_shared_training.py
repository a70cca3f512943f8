"""Learning from blocks of examples that share w, against one machine; the workers are objects of this process."""

import numpy as np
import pytest

from spacy_ssvm.distributed.block_worker import Layout, Message, sparse
from spacy_ssvm.distributed.shared_training import SharedTraining, common
from spacy_ssvm.models.chain.data import make_chains
from spacy_ssvm.models.chain.oracles import chain_problem
from spacy_ssvm.solvers.blocks import MixedBlock, best_step, kind_of_block
from spacy_ssvm.solvers.learner import fit
from spacy_ssvm.solvers.parameters import Dcd, Mira, Perceptron, Sgd, dcd_light
from spacy_ssvm.solvers.working_set import dual_sums

from ..problems import random_problem

N_ROWS = 12


class Worker:
    """A block whose feature rows are numbered in the order in which its examples have them."""

    void = 0.0
    """The share of examples whose planes are void in each epoch."""

    def __init__(self, parameters, whole, examples):
        chains = whole.data
        tokens = np.concatenate([np.arange(chains.starts[e], chains.starts[e + 1]) for e in examples])
        features = np.concatenate([np.arange(*chains.feature_starts[[t, t + 1]]) for t in tokens])
        names, first = np.unique(chains.rows[features], return_index=True)
        self.keys = names[np.argsort(first)].astype(np.uint64)
        rows = np.argsort(self.keys)[np.searchsorted(names, chains.rows[features])].astype(np.int32)
        sizes = chains.starts[np.add(examples, 1)] - chains.starts[examples]
        part = make_chains(
            np.concatenate([[0], np.cumsum(sizes)]),
            np.concatenate([[0], np.cumsum(np.diff(chains.feature_starts)[tokens])]),
            rows,
            chains.gold[tokens],
            chains.constraints,
        )
        self.block = kind_of_block(parameters)(parameters, chain_problem(part, len(names)))

    def layout(self, n_labels):
        seen = np.ones(len(self.keys), np.uint8)
        problem = self.block.problem
        sizes = problem.dimension, seen, problem.n_examples, problem.exact
        return Layout(self.keys, n_labels**2, n_labels, *sizes, (), [])

    def epoch(self, name, number, seed, factor):
        void = np.flatnonzero(np.random.default_rng([*seed, 1]).random(self.block.problem.n_examples) < self.void)
        moved = self.block.epoch(np.random.default_rng(seed), factor, void)
        return Message(moved.figures, *map(sparse, moved[1:]))

    def step(self, name, number, seed, factor, digest, eta, removed, change):
        self.block.step(eta, change, removed)

    def dual_sum(self, name, number):
        return sparse(self.block.dual_sum()), self.block.dual_sums()

    def slacks(self, name, number, change):
        return self.block.slacks(change)


def shared(parameters, whole, n_blocks, exact=True):
    """The training, and its workers."""
    parts = [list(range(k, whole.n_examples, n_blocks)) for k in range(n_blocks)]
    workers = [Worker(parameters, whole, part) for part in parts]
    weights = common([worker.layout(3) for worker in workers])

    def ask(method, arguments):
        return [getattr(worker, method)(*given) for worker, given in zip(workers, arguments)]

    return SharedTraining("toy", parameters, None, weights, whole.n_examples, exact, ask), workers


def places_of(training, block):
    """The number of each weight of a block among all."""
    width, rows = training._weights.width, training._weights.rows[block]
    return training._weights.places(block, np.arange(width * width + width * len(rows)))


def update(training):
    return training.update([], [], [], None)


@pytest.mark.parametrize("n_blocks", [1, 2, 3, 8])
def test_blocks_have_the_optimum_of_one_machine(n_blocks):
    parameters = Dcd(C=0.02, tolerance=1e-4, delta=1e-6)
    whole = random_problem(3, n_examples=40, n_rows=N_ROWS)
    _, alone = fit(parameters, whole, 500)
    training, _ = shared(parameters, whole, n_blocks)
    while not training.finished and training.epochs < 500:
        update(training)
    certificate = training.certificate()
    assert training.finished and certificate.relative_gap <= 1e-4
    assert certificate.primal == pytest.approx(alone.primal, rel=2e-4)


@pytest.mark.parametrize("void", [0.0, 0.3])
@pytest.mark.parametrize("parameters", [Dcd(C=2.0), dcd_light(C=0.1)])
def test_dual_never_falls_and_is_that_of_the_planes(parameters, void, monkeypatch):
    monkeypatch.setattr(Worker, "void", void)
    training, workers = shared(parameters, random_problem(5, n_examples=30, n_rows=N_ROWS), 3)
    before = 0.0
    for _ in range(8):
        update(training)
        assert void or training.figures.dual >= before
        before = training.figures.dual
        sums = np.sum([dual_sums(worker.block.learner.planes) for worker in workers], axis=0)
        w = training.weights()
        assert before == pytest.approx(sums[0] - w @ w / 2 - sums[1] / (4 * parameters.C))
        planes = np.zeros_like(w)
        for block, worker in enumerate(workers):
            planes[places_of(training, block)] += worker.block.dual_sum()
        np.testing.assert_allclose(w, planes, atol=1e-6)


def test_all_blocks_have_the_common_weights():
    training, workers = shared(Dcd(C=1.0), random_problem(7, n_examples=30, n_rows=N_ROWS), 3)
    for _ in range(3):
        update(training)
    for block, worker in enumerate(workers):
        assert np.array_equal(worker.block.w, training.weights()[places_of(training, block)])
        assert np.array_equal(worker.block.w, training._weights.part(block, training.weights()))


def test_step_is_the_best_one_along_the_direction():
    rng = np.random.default_rng(0)
    w, direction, losses = rng.normal(size=(3, 6))
    losses, sums, changes = np.abs(losses) + 2.0, rng.random(4), rng.normal(size=4)
    C = 0.7

    def dual(eta):
        return (
            eta * losses.sum() - ((w + eta * direction) ** 2).sum() / 2 - ((sums + eta * changes) ** 2).sum() / (4 * C)
        )

    eta = best_step(losses.sum(), w @ direction, sums @ changes, direction @ direction, changes @ changes, C)
    assert dual(eta) > max(dual(eta - 1e-3), dual(eta + 1e-3))
    assert best_step(0.0, 0.0, 0.0, 0.0, 0.0, C) == best_step(-1.0, 0.0, 0.0, 1.0, 0.0, C) == 0.0


@pytest.mark.parametrize("parameters", [Perceptron(), Mira(C=0.1), Mira(C=0.1, k=2)])
def test_one_mixed_block_in_one_epoch_is_the_solver_itself(parameters):
    whole = random_problem(9, n_examples=30, n_rows=N_ROWS)
    training, workers = shared(parameters, whole, 1)
    update(training)
    block = MixedBlock(parameters, workers[0].block.problem)
    moved = block.epoch(np.random.default_rng([0, 0, 0]), 1.0, np.zeros(0, np.int64))
    np.testing.assert_allclose(training.weights()[places_of(training, 0)], moved.mean, atol=1e-12)


def test_mixing_learns_from_all_blocks():
    whole = random_problem(9, n_examples=60, n_rows=N_ROWS, noise=0.0)
    training, _ = shared(Perceptron(), whole, 3)
    losses = [update(training) for _ in range(12)]
    assert losses[-1] < losses[0] / 3
    assert training.certificate() is None and not training.finished


def test_no_certificate_without_exact_oracles_or_after_a_failure():
    training, _ = shared(Dcd(C=0.02), random_problem(3), 2, exact=False)
    update(training)
    assert training.certificate() is None and not training.finished
    training, workers = shared(Dcd(C=0.02), random_problem(3), 2)
    update(training)
    assert training.certificate() is not None
    workers[1].epoch = None
    with pytest.raises(TypeError):
        update(training)
    assert training.certificate() is None


def test_tolerance_of_zero_is_never_reached():
    training, _ = shared(Dcd(C=0.001, tolerance=0.0), random_problem(3), 2)
    for _ in range(60):
        update(training)
    assert not training.finished and training.certificate().relative_gap < 1e-3


def test_solver_that_learns_alone_is_refused():
    with pytest.raises(ValueError, match="its solver, Sgd, does not learn by several workers: choose DCD"):
        kind_of_block(Sgd())
