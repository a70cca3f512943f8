"""A rule of distributed learning that is added without touching the package: both halves, all in this file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import spacy
from spacy import util
from spacy.tokens import Doc

from spacy_ssvm.distributed.messages import SparseVector, difference
from spacy_ssvm.distributed.rules import RULES
from spacy_ssvm.distributed.rules.rule import CommonSteps, LearningBlock, Rule
from spacy_ssvm.registry import ssvm_solvers
from spacy_ssvm.solvers.learner import Progress, run_epoch, start
from spacy_ssvm.solvers.perceptron import Perceptron

from .toy_training import CONFIGS, in_process, toy_docs, train, weights_of, write_corpus

NAME = "tests.Worst"


@dataclass(frozen=True, kw_only=True)
class Worst(Perceptron):
    """The perceptron, with a rule of its own."""

    rule = NAME


class WorstEpoch(NamedTuple):
    """The loss of an epoch on one block, and how far it has moved w."""

    loss: float
    direction: SparseVector


class WorstBlock(LearningBlock):
    """The worker half: an epoch from the common w."""

    def epoch(self, rng, settings, void):
        learner = start(self.parameters, self.problem, self.common)
        run_epoch(learner, rng)
        return WorstEpoch(learner.loss, difference(learner.w, self.common))


class WorstSteps(CommonSteps):
    """The driver half: w is that of the block with the largest loss."""

    def __init__(self, parameters, blocks, n_parts):
        super().__init__(parameters, blocks)
        self.chosen: list[int] = []

    def moved(self, found, step):
        worst = int(np.argmax([message.loss for message in found]))
        self.chosen.append(worst)
        change = found[worst].direction
        change.add_to(self.common)
        return step._replace(change=change), Progress(sum(message.loss for message in found), None, None, None)


class Ended(BaseException):
    """The driver is ended."""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setitem(RULES, NAME, Rule(WorstBlock, WorstSteps))
    ssvm_solvers.register(NAME, func=Worst)
    write_corpus(tmp_path / "train.spacy")
    paths = {f"paths.{part}": str(tmp_path / "train.spacy") for part in ("train", "dev")}
    config = util.load_config(CONFIGS / "tagger" / "perceptron.cfg", {**paths, "training.max_epochs": 6})
    config["components"]["tagger"]["solver"] = {"@ssvm_solvers": NAME}
    return config


def ended_before(n_epochs: int) -> Any:
    """Workers of this process, whose driver is ended before that epoch."""

    def send_by(workers):
        send, answered = in_process(workers), 0

        def limited(method, arguments):
            nonlocal answered
            answered += method == "epoch"
            if answered > n_epochs:
                raise Ended
            return send(method, arguments)

        return limited

    return send_by


def test_a_rule_learns_and_goes_on(config: Any, tmp_path: Path) -> None:
    assert len(train(config, tmp_path / "quiet", 3)["tagger"].rule.chosen) == 6
    with pytest.raises(Ended):
        train(config, tmp_path / "ended", 3, ended_before(3))
    train(config, tmp_path / "ended", 3)
    assert weights_of(tmp_path / "ended") == weights_of(tmp_path / "quiet")
    nlp = spacy.load(tmp_path / "quiet" / "model-last")
    for doc in toy_docs(nlp.vocab):
        tagged = nlp(Doc(nlp.vocab, words=[token.text for token in doc]))
        assert [token.tag_ for token in tagged] == [token.tag_ for token in doc]
