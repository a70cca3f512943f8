"""Learning from blocks of examples that share w, against one machine; the workers are objects of this process."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from spacy_ssvm.distributed.messages import ZERO, Layout, block_epoch, sparse
from spacy_ssvm.distributed.rules import rule_of
from spacy_ssvm.distributed.rules.dual import DualObjective, dual_objective
from spacy_ssvm.distributed.rules.mean import DescentSettings, MixedBlock
from spacy_ssvm.distributed.rules.rule import BlockParts, NoSettings
from spacy_ssvm.distributed.shared_blocks import SharedBlocks, common
from spacy_ssvm.distributed.shared_training import SharedTraining
from spacy_ssvm.models.chain.data import make_chains
from spacy_ssvm.models.chain.oracles import chain_problem
from spacy_ssvm.solvers.certificate import slacks
from spacy_ssvm.solvers.dca import Dca
from spacy_ssvm.solvers.dcd import Cpd, Dcd, dcd_light
from spacy_ssvm.solvers.frank_wolfe import FrankWolfe
from spacy_ssvm.solvers.gradients import sum_losses
from spacy_ssvm.solvers.l1 import ProjectedSubgradient
from spacy_ssvm.solvers.lbfgs import Lbfgs
from spacy_ssvm.solvers.learner import fit, run_epoch, start
from spacy_ssvm.solvers.mira import Mira
from spacy_ssvm.solvers.one_slack import OneSlack
from spacy_ssvm.solvers.penalty import Penalty
from spacy_ssvm.solvers.perceptron import Perceptron
from spacy_ssvm.solvers.sap import Sap
from spacy_ssvm.solvers.sdm import Sdm
from spacy_ssvm.solvers.sgd import CANDIDATES, Sgd
from spacy_ssvm.training import state_file

from ..problems import random_problem

N_ROWS = 12
N_PARTS = 8


class Worker:
    """A block whose feature rows are numbered in the order in which its examples have them.

    parts: the examples of each of its parts, among those of the whole problem.
    """

    void = 0.0
    """The share of examples whose planes are void in each epoch."""

    def __init__(self, parameters, whole, parts, first_part):
        chains, examples = whole.data, np.concatenate(parts)
        self.epochs, self.message = 0, None
        place = BlockParts(
            first_part, N_PARTS, np.split(np.arange(len(examples)), np.cumsum(list(map(len, parts)))[:-1])
        )
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
        self.block = rule_of(parameters).worker(parameters, chain_problem(part, len(names)), place)

    def layout(self, n_labels):
        counts = np.ones(len(self.keys), np.int64)
        problem = self.block.problem
        sizes = problem.dimension, counts, problem.n_examples, problem.exact
        return Layout(self.keys, n_labels**2, n_labels, *sizes, (), b"", [])

    def epoch(self, name, number, seed, pace, last_step=()):
        if last_step:
            self.step(name, *last_step)
        if self.message is None:
            void = np.flatnonzero(np.random.default_rng([*seed, 1]).random(self.block.problem.n_examples) < self.void)
            self.message = block_epoch(self.block.epoch(np.random.default_rng(seed), pace, void))
        return self.message

    def step(self, name, number, seed, pace, digest, eta, change, with_momentum):
        if self.epochs == number:
            self.block.step(eta, change, with_momentum)
            self.epochs, self.message = number + 1, None

    def ask(self, name, method, *arguments):
        return getattr(self.block, method)(*arguments)


def shared(parameters, whole, n_blocks, exact=True, saved=None, reverses=False):
    """The training, and its workers.

    saved: a list for the states that it saves. reverses: whether calls wait until an answer is asked for, and then come
    in reverse order, as they may if a worker dies.
    """
    parts = [np.arange(part, whole.n_examples, N_PARTS) for part in range(N_PARTS)]
    bounds = [block * N_PARTS // n_blocks for block in range(n_blocks + 1)]
    workers = [Worker(parameters, whole, parts[first:end], first) for first, end in pairwise(bounds)]
    weights = common([worker.layout(3) for worker in workers])

    waiting = []

    def send(method, arguments):
        found = []

        def call():
            found.extend(
                received(getattr(worker, method)(*received(given))) for worker, given in zip(workers, arguments)
            )

        def answers():
            while waiting:
                waiting.pop()()
            return found

        waiting.append(call)
        if not reverses:
            answers()
        return answers

    blocks = SharedBlocks("toy", n_blocks, weights, whole.n_examples, exact, send)
    driver = rule_of(parameters).driver(parameters, blocks, N_PARTS)
    return SharedTraining(parameters, None, driver, blocks, [].append if saved is None else saved.append), workers


def resumed(parameters, whole, workers, state):
    """The training after its driver was ended and has gone on from this state, with the blocks of these workers."""
    training, successors = shared(parameters, whole, len(workers))
    for worker, successor in zip(workers, successors):
        successor.block, successor.epochs, successor.message = worker.block, worker.epochs, worker.message
    training.restore(state_file.unpack(state_file.pack(state)))
    return training


def received(message):
    """The message as it comes from another process: arrays cannot be written to."""
    if isinstance(message, np.ndarray):
        message = message.copy()
        message.flags.writeable = False
        return message
    if isinstance(message, list):
        return [received(part) for part in message]
    if isinstance(message, tuple):
        parts = [received(part) for part in message]
        return type(message)(*parts) if hasattr(message, "_fields") else tuple(parts)
    return message


def whole_sum(blocks, parts):
    """The sum of the blocks' vectors among all weights."""
    return sum(blocks.whole(block, part).dense(blocks.weights.dimension) for block, part in enumerate(parts))


def update(training):
    return training.update(None)


CERTIFIED = [
    Dcd(C=0.02, tolerance=1e-4, delta=1e-6),
    Cpd(C=0.02, tolerance=1e-4, delta=1e-6),
    Sdm(C=0.05, tolerance=1e-3),
    Sap(C=0.05, tolerance=1e-3, rho1=0.02, rho2=0.7),
    FrankWolfe(C=0.05, tolerance=1e-2),
    OneSlack(C=0.05, tolerance=1e-3),
    Lbfgs(C=0.05, tolerance=1e-4),
]
"""Each kind of block with a certificate, at a gap that it reaches in a few seconds."""


@pytest.mark.parametrize("n_blocks", [1, 3])
@pytest.mark.parametrize("parameters", CERTIFIED, ids=lambda parameters: type(parameters).__name__)
def test_blocks_have_the_optimum_of_one_machine(parameters, n_blocks):
    whole = random_problem(3, n_examples=40, n_rows=N_ROWS)
    _, alone = fit(parameters, whole, 1000)
    training, _ = shared(parameters, whole, n_blocks)
    while not training.finished and training.epochs < 1000:
        update(training)
    certificate = training.certificate()
    assert training.finished and certificate.relative_gap <= parameters.tolerance
    assert certificate.primal == pytest.approx(alone.primal, rel=2 * parameters.tolerance)


@pytest.mark.parametrize("void", [0.0, 0.3])
@pytest.mark.parametrize(
    "parameters", [Dcd(C=2.0), dcd_light(C=0.1), Cpd(C=0.1), Sdm(C=1.0), Sap(C=1.0, rho1=0.1), FrankWolfe(C=1.0)]
)
def test_dual_is_that_of_the_planes(parameters, void, monkeypatch):
    monkeypatch.setattr(Worker, "void", void)
    training, workers = shared(parameters, random_problem(5, n_examples=30, n_rows=N_ROWS), 3)
    objective, duals, rule = dual_objective(parameters), [], training.rule
    for epoch in range(20):
        training.max_epochs = epoch + 1
        update(training)
        rule.step()
        found = [worker.block.dual_sum() for worker in workers]
        linear, squares = sum(part.linear for part in found), sum(part.squares for part in found)
        assert training.figures.dual == pytest.approx(objective.dual(training.weights(), linear, squares))
        point = whole_sum(rule.blocks, [part.vector for part in found])
        np.testing.assert_allclose(rule.blocks.dense(rule.point), point, atol=1e-5)
        ahead = whole_sum(rule.blocks, [sparse(worker.block.learner.dual_point()) for worker in workers])
        np.testing.assert_allclose(rule.blocks.dense(rule.common), ahead, atol=1e-5)
        duals.append(training.figures.dual)
        # Momentum may go too far, and then begins anew; without momentum the dual rises.
        if len(duals) > 1 and not void and duals[-1] < duals[-2] * (1.0 - 1e-6):
            step = rule.state()["step"]
            assert step["pace"]["momentum"] > 0.0 and not step["with_momentum"]


@pytest.mark.parametrize("parameters", [Lbfgs(C=0.5), OneSlack(C=0.1)])
def test_sums_are_the_same_for_any_number_of_blocks(parameters):
    whole = random_problem(5, n_examples=30, n_rows=N_ROWS)
    trainings = [shared(parameters, whole, n_blocks)[0] for n_blocks in (1, 2, 3, 4, 8)]
    for _ in range(4):
        losses = {update(training) for training in trainings}
        assert len(losses) == 1
        assert len({training.weights().tobytes() for training in trainings}) == 1
        assert len({training.figures for training in trainings}) == 1


@pytest.mark.parametrize(
    "parameters",
    [Dcd(C=0.1), Mira(C=0.1), Sgd(C=0.1), Sap(C=0.1), Lbfgs(C=0.1, iterations=1, tolerance=0.0), OneSlack(C=0.1)],
)
def test_a_run_goes_on_where_its_driver_was_ended(parameters):
    whole, saved = random_problem(5, n_examples=30, n_rows=N_ROWS), []
    quiet, _ = shared(parameters, whole, 3)
    ended, workers = shared(parameters, whole, 3, saved=saved)
    figures = []
    for _ in range(5):
        update(quiet)
        figures.append(quiet.figures)
    for _ in range(3):
        update(ended)
    other = resumed(parameters, whole, workers, saved[-1])
    assert np.array_equal(other.weights(), ended.weights())
    gone_on = [other.figures]
    for _ in range(2):
        update(other)
        gone_on.append(other.figures)
    assert gone_on == figures[2:]
    assert np.array_equal(other.weights(), quiet.weights())


def test_components_that_learn_together_learn_what_each_learns_alone():
    problems = [random_problem(seed, n_examples=30, n_rows=N_ROWS) for seed in (5, 7)]
    alone = [shared(Dcd(C=0.1), problem, 2)[0] for problem in problems]
    together = [shared(Dcd(C=0.1), problem, 2)[0] for problem in problems]
    for training in together:
        training.together = together
    for _ in range(3):
        for training in (*alone, *together):
            update(training)
    for one, other in zip(alone, together):
        assert one.figures == other.figures and one.certificate() == other.certificate()


@pytest.mark.parametrize("parameters", [Dcd(C=0.1), Mira(C=0.1), Sgd(C=0.1), FrankWolfe(C=0.1)])
def test_calls_may_come_in_any_order_where_nobody_waits(parameters):
    problem = random_problem(5, n_examples=30, n_rows=N_ROWS)
    quiet, disturbed = (shared(parameters, problem, 3, reverses=reverses)[0] for reverses in (False, True))
    for _ in range(4):
        update(quiet)
        update(disturbed)
        assert quiet.certificate() == disturbed.certificate()
        assert np.array_equal(quiet.weights(), disturbed.weights())


@pytest.mark.parametrize("parameters", [Dcd(C=0.1), Sdm(C=0.1), Sap(C=0.1, rho1=0.02), FrankWolfe(C=0.1)])
def test_an_epoch_that_has_begun_does_not_change_the_certificate(parameters):
    training, workers = shared(parameters, random_problem(5, n_examples=30, n_rows=N_ROWS), 2)
    training.max_epochs = 4
    for _ in range(4):
        update(training)
    certificate = training.certificate()
    assert certificate.gap > 0.0 and all(worker.message is None for worker in workers)
    training.max_epochs = 5
    training.begin()
    assert training.certificate() == certificate and all(worker.message is not None for worker in workers)


@pytest.mark.parametrize("parameters", [Dcd(C=0.02, tolerance=0.1), Lbfgs(C=0.05), OneSlack(C=0.05, tolerance=0.1)])
def test_a_finished_solver_is_finished_when_the_run_goes_on(parameters):
    whole, saved = random_problem(3, n_examples=40, n_rows=N_ROWS), []
    training, workers = shared(parameters, whole, 2, saved=saved)
    while not training.finished:
        update(training)
    other = resumed(parameters, whole, workers, saved[-1])
    assert other.finished and other.epochs == training.epochs
    assert np.array_equal(other.weights(), training.weights())


@pytest.mark.parametrize("penalty, power", [(Penalty(), 1), (Penalty(), 2), (Penalty(0.5, 0.3), 1)])
def test_step_is_the_best_one_along_the_direction(penalty, power):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        s, direction = rng.normal(size=(2, 50))
        linear, sums, changes = abs(rng.normal()) * 40.0, rng.random(4), rng.normal(size=4)
        objective = DualObjective(penalty, 0.7, power)

        def dual(eta, s=s, direction=direction, linear=linear, sums=sums, changes=changes):
            squares = ((sums + eta * changes) ** 2).sum() / (4 * 0.7) if power == 2 else 0.0
            return eta * linear - penalty.values(penalty.weights(s + eta * direction))[1] - squares

        def best(limit, s=s, direction=direction, linear=linear, sums=sums, changes=changes, objective=objective):
            return objective.best_step(s, sparse(direction), linear, sums @ changes, changes @ changes, limit)

        assert dual(best(2.0)) >= max(map(dual, np.linspace(0.0, 2.0, 201))) - 1e-9
        assert best(best(2.0) / 2) == best(2.0) / 2
        assert objective.best_step(s, ZERO, 0.0, 0.0, 0.0, np.inf) == 0.0
        assert objective.best_step(np.zeros(50), sparse(direction), -1.0, 0.0, 0.0, np.inf) == 0.0


@pytest.mark.parametrize("parameters", [Perceptron(), Mira(C=0.1), Mira(C=0.1, k=2), Dca(C=0.1)])
def test_one_mixed_block_in_one_epoch_is_the_solver_itself(parameters):
    whole = random_problem(9, n_examples=30, n_rows=N_ROWS)
    training, workers = shared(parameters, whole, 1)
    update(training)
    block = MixedBlock(parameters, workers[0].block.problem, workers[0].block.parts)
    moved = block.epoch(np.random.default_rng([0, 0, 0]), NoSettings(), np.zeros(0, np.int64))
    mean = training.blocks.weights.part(0, sparse(training.weights())).dense(block.problem.dimension)
    np.testing.assert_allclose(mean, moved.mean.dense(block.problem.dimension), atol=1e-12)


def sgd_primal(parameters, problem, w):
    """½‖w‖² + C Σ L of all examples."""
    loss = (
        sum_losses(problem, w, parameters.beta, parameters.gamma).value
        if parameters.is_smooth
        else slacks(problem, w).sum
    )
    return w @ w / 2 + parameters.C * loss


@pytest.mark.parametrize("n_rows", [N_ROWS, 60], ids=["frequent features", "rare features"])
@pytest.mark.parametrize(
    ("beta", "schedule", "C"), [(1.0, "bottou", 0.5), (1.0, "epochs", 0.05), ("inf", "bottou", 0.05)]
)
def test_mixed_descent_approaches_the_optimum_of_one_machine(beta, schedule, C, n_rows):
    """Three blocks have different numbers of examples; most blocks do not have all rare features."""
    whole = random_problem(3, n_examples=60, n_rows=n_rows)
    parameters = Sgd(C=C, beta=beta, schedule=schedule)
    truth = Lbfgs(C=C, tolerance=1e-7) if parameters.is_smooth else Sdm(C=C, tolerance=1e-4)
    _, alone = fit(truth, whole, 1000)
    training, _ = shared(parameters, whole, 3)
    for _ in range(300):
        update(training)
    primal = sgd_primal(parameters, whole, training.weights())
    tolerance = 1e-3 if parameters.is_smooth else 1e-2
    assert alone.dual <= primal <= (1.0 + tolerance) * alone.primal
    assert training.certificate() is None and not training.finished


@pytest.mark.parametrize("parameters", [Sgd(C=0.01, eta0=0.25), Sgd(C=2.0, beta=1.0, eta0=0.5, schedule="epochs")])
def test_one_block_of_descent_is_the_solver_itself(parameters):
    whole = random_problem(9, n_examples=30, n_rows=N_ROWS)
    training, workers = shared(parameters, whole, 1)
    problem = workers[0].block.problem
    learner = start(parameters, problem)
    for number in range(5):
        update(training)
        progress = run_epoch(learner, np.random.default_rng([0, number, 0]))
        w = training.blocks.weights.part(0, sparse(training.weights())).dense(problem.dimension)
        np.testing.assert_allclose(w, learner.prediction_weights(), rtol=1e-9, atol=1e-12)
        assert training.figures.primal == pytest.approx(progress.primal, rel=1e-9)


@pytest.mark.parametrize("n_blocks", [1, 3])
def test_blocks_agree_on_the_learning_rate(n_blocks):
    whole, parameters = random_problem(9, n_examples=30, n_rows=N_ROWS), Sgd(C=0.5)
    training, workers = shared(parameters, whole, n_blocks)
    trials = []
    for worker in workers:
        learner = start(replace(parameters, C=n_blocks * parameters.C), worker.block.problem)
        trials.append(learner.trials(parameters.generator()))
    update(training)
    eta0 = training.rule.state()["pace"]["eta0"]
    assert eta0 == CANDIDATES[np.sum(trials, axis=0).argmin()]
    if n_blocks == 1:
        assert fit(parameters, workers[0].block.problem, 1)[0].eta0 == eta0


def test_descent_shrinks_far_below_one():
    """The solver's scale is reset within an epoch."""
    parameters, whole = Sgd(C=0.02, eta0=0.5, schedule="epochs"), random_problem(3, n_examples=60, n_rows=60)
    training, workers = shared(parameters, whole, 2)
    moved = workers[0].block.epoch(np.random.default_rng(0), DescentSettings(2.0), np.zeros(0, np.int64))
    assert moved.shrinkage < 1e-4
    for _ in range(300):
        update(training)
    _, alone = fit(Sdm(C=0.02, tolerance=1e-4), whole, 1000)
    assert alone.dual <= sgd_primal(parameters, whole, training.weights()) <= 1.01 * alone.primal


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


@pytest.mark.parametrize(
    "parameters",
    [ProjectedSubgradient(), Sgd(schedule="printed"), Sap(batch=True), Sap(nu=1.0), FrankWolfe(averaging=True)],
)
def test_solver_that_learns_alone_is_refused(parameters):
    with pytest.raises(ValueError, match=r"its solver, .*, cannot be used with several workers"):
        rule_of(parameters)
