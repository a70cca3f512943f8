"""Trials of `spacy ssvm tune` in this process: training runs, one for each choice of settings."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import srsly
from spacy.language import Language
from spacy.schemas import ConfigSchemaTraining
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.util import registry, resolve_dot_names
from thinc.api import Config

from ..pipeline.component import SsvmPipe
from ..pipeline.trained_state import TrainedState
from ..training.tuning import PATIENCE, RunningTrial, Score, Trial, Values, learn, try_values
from .grid import with_settings
from .pipelines import annotate_before
from .score_counts import CountingScorer

MAX_KEPT = 20_000_000
"""The training tokens of all trials together up to which these are kept in memory; beyond, they begin anew."""


class TuningPlan(NamedTuple):
    """A solver block and the values to try in it.

    Attributes:
        config: of the pipeline.
        name, solver: of the component, and its block with all defaults.
        points: the values to try, of parameters of the solver and of settings.
        settings: the names among them that are settings of the component, such as "model.order".
        epochs: the max number with the same values.
        weights: of the scores that make the development score: the component's, if the config weighs one.
        by_others: whether they score other components, which read the annotation of this one.
        default: the number of the point that has the values of the config, None if there is none.
    """

    config: Config
    name: str
    solver: dict[str, Any]
    points: Sequence[Values]
    settings: Collection[str]
    epochs: int
    weights: dict[str, float]
    by_others: bool
    default: int | None

    def divided(self, values: Values) -> tuple[Values, Values]:
        """Values of settings, and of the solver."""
        of_settings = {name: value for name, value in values.items() if name in self.settings}
        return of_settings, {name: value for name, value in values.items() if name not in self.settings}


class TuningRun(NamedTuple):
    """A training run in which values of a solver are tried.

    Attributes:
        pipe: the component that is tuned, which has met the examples if trials are to start from scratch.
        evaluate: returns the development score.
    """

    pipe: Any
    examples: Sequence[Example]
    evaluate: Callable[[], Score]


class Tuner:
    """Tries values, and begins a training run for each choice of settings.

    Args:
        anew: whether values are tried from scratch, and not from the result of the previous ones.
        patience: the epochs without a better score that end a trial from scratch.
        n_kept: the number of trials that are kept in memory, to go on.
    """

    def __init__(self, plan: TuningPlan, anew: bool, patience: float = PATIENCE, n_kept: int = 0) -> None:
        self.plan = plan
        self.anew = anew
        self.patience = patience
        self.n_kept = n_kept
        self._runs: dict[str, TuningRun] = {}
        self._kept: dict[int, tuple[RunningTrial, TrainedState]] = {}
        # What cannot be read is known before workers start, which inherit what has been read.
        self._run(plan.divided(plan.points[0])[0])

    def follow(self, values: Values, report: Callable[[int, float], None]) -> Trial:
        """Try values from the result of the previous ones."""
        settings, of_solver = self.plan.divided(values)
        run = self._run(settings)
        trial = try_values(run.pipe, of_solver, run.examples, run.evaluate, self.plan.epochs, report)
        return replace(trial, values=values)

    def try_up_to(self, epochs: int, number: int, values: Values, report: Callable[[int, float], None]) -> Trial:
        """Try the values with this number for so many epochs in all: the kept trial goes on, or one from scratch."""
        settings, of_solver = self.plan.divided(values)
        run = self._run(settings)
        before = run.pipe.trained
        if number in self._kept:
            trial, run.pipe.trained = self._kept.pop(number)
        else:
            trial = RunningTrial(values)
            run.pipe.trained = before.forked() if self.n_kept else before
            run.pipe.retune(replace(run.pipe.solver, **of_solver), anew=True)
        trial.go_on(run.pipe, run.examples, run.evaluate, epochs, report, self.patience)
        if self.n_kept:
            self._kept[number] = trial, run.pipe.trained.without_predictor()
            run.pipe.trained = before
        return trial.result()

    def forget_others(self, numbers: Collection[int]) -> None:
        """Forget all trials, and what they learn from, but for those with these numbers."""
        settings = {_key(self.plan.divided(self.plan.points[number])[0]) for number in numbers}
        self._kept = {number: kept for number, kept in self._kept.items() if number in numbers}
        self._runs = {key: run for key, run in self._runs.items() if key in settings}

    def _run(self, settings: Values) -> TuningRun:
        key = _key(settings)
        if key not in self._runs:
            if not self.n_kept:
                self._runs.clear()
            run = begun(self.plan._replace(config=with_settings(self.plan.config, self.plan.name, settings)), self.anew)
            if self.n_kept * sum(len(example.predicted) for example in run.examples) > MAX_KEPT:
                self.n_kept = 0
            self._runs[key] = run
        return self._runs[key]


def _key(settings: Values) -> str:
    return str(srsly.json_dumps(settings, sort_keys=True))


def begun(plan: TuningPlan, anew: bool) -> TuningRun:
    """Read the corpora, and train the components that are not tuned.

    Args:
        anew: whether values are tried from scratch, and not from the result of the previous ones.

    Raises:
        ValueError: there is nothing to learn from, or to choose values by.
    """
    nlp = init_nlp(plan.config)
    training = registry.resolve(nlp.config.interpolate()["training"], schema=ConfigSchemaTraining)
    names = [training["train_corpus"], training["dev_corpus"]]
    train_corpus, dev_corpus = resolve_dot_names(nlp.config.interpolate(), names)
    if next(iter(dev_corpus(nlp)), None) is None:
        raise ValueError(f"There are no documents in {training['dev_corpus']} to choose the best values by")
    examples = list(train_corpus(nlp))
    pipe: Any = nlp.get_pipe(plan.name)
    for other in () if plan.by_others else _unread(nlp, plan.name):
        nlp.disable_pipe(other)
    _train_others(nlp, plan.name, examples, plan.epochs, training["frozen_components"])
    annotate_before(nlp, plan.name, examples, training["annotating_components"])
    evaluate = _evaluation(nlp, dev_corpus, plan.weights)
    if anew:
        # The first values are not to be the only ones to which the examples are new.
        learn(pipe, examples)
    return TuningRun(pipe, examples, evaluate)


def _unread(nlp: Language, name: str) -> list[str]:
    """The components of this package whose annotation the named one does not read, so that they need not learn: those
    after it, and, if its features read words only, those before it that set no boundaries of sentences."""
    ours = [other for other, pipe in nlp.pipeline if isinstance(pipe, SsvmPipe)]
    pipes: dict[str, Any] = {other: nlp.get_pipe(other) for other in ours}
    place = ours.index(name)
    unread = ours[place + 1 :]
    if not pipes[name].trained.structured.reader.annotation:
        of_words = [other for other in ours[:place] if nlp.get_pipe_meta(other).factory != "ssvm_senter"]
        unread += [other for other in of_words if not pipes[other].codec.sets_starts]
    return unread


def _train_others(nlp: Language, name: str, examples: Sequence[Example], epochs: int, frozen: Sequence[str]) -> None:
    """Train the other components, as the annotation of those before the named one may be an input of its features.

    Raises:
        ValueError: a trainable component is none of spacy-ssvm and is not frozen.
    """
    for other, pipe in nlp.pipeline:
        if other == name or other in frozen:
            continue
        if isinstance(pipe, SsvmPipe):
            for _ in range(epochs):
                learn(pipe, examples)
        elif getattr(pipe, "is_trainable", False):
            raise ValueError(f'"{other}" learns, too: train it first, then source and freeze it to tune "{name}"')


def _evaluation(nlp: Language, dev_corpus: Any, weights: dict[str, float]) -> Callable[[], Score]:
    """A function that returns the score by which `spacy train` chooses the best model."""

    def score() -> Score:
        scorer = CountingScorer(nlp, weights)
        scores = nlp.evaluate(dev_corpus(nlp), scorer=scorer)
        found = {name: scores[name] for name in weights if scores.get(name) is not None}
        if not found:
            raise ValueError(
                f"The development corpus has no annotation for the scores {', '.join(weights)}: check the corpus and "
                "training.score_weights"
            )
        return Score(sum(weights[name] * value for name, value in found.items()), scorer.counts)

    return score
