"""Trials of `spacy ssvm tune`: grids of values of a solver's parameters and of a component's settings, tried in
this process, in training runs, one for each choice of settings.
"""

import copy
import difflib
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import srsly
from spacy import util
from spacy.language import Language
from spacy.training.initialize import init_nlp
from thinc.api import Config

from ..pipeline.component import SsvmPipe
from ..pipeline.trained_state import TrainedState
from ..training.tuning import GRID, PATIENCE, RunningTrial, Score, Trial, TuningRun, Values, learn
from .reading import Reader, annotate_before, training_of
from .score_counts import CountingScorer
from .settings import SECTIONS

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
        self._run(plan.points[0])

    def follow(self, values: Values, report: Callable[[int, float], None]) -> Trial:
        """Try values from the result of the previous ones."""
        run, trial = self._run(values), RunningTrial(values)
        run.pipe.retune(self._solver(run, values))
        trial.go_on(run, self.plan.epochs, report)
        return trial.result()

    def try_up_to(self, epochs: int, number: int, values: Values, report: Callable[[int, float], None]) -> Trial:
        """Try the values with this number for so many epochs in all: the kept trial goes on, or one from scratch."""
        run = self._run(values)
        before = run.pipe.trained
        if number in self._kept:
            trial, run.pipe.trained = self._kept.pop(number)
        else:
            trial = RunningTrial(values)
            run.pipe.trained = before.forked() if self.n_kept else before
            run.pipe.retune(self._solver(run, values), anew=True)
        trial.go_on(run, epochs, report, self.patience)
        if self.n_kept:
            self._kept[number] = trial, run.pipe.trained.without_predictor()
            run.pipe.trained = before
        return trial.result()

    def forget_others(self, numbers: Collection[int]) -> None:
        """Forget all trials, and what they learn from, but for those with these numbers."""
        settings = {self._key(self.plan.points[number]) for number in numbers}
        self._kept = {number: kept for number, kept in self._kept.items() if number in numbers}
        self._runs = {key: run for key, run in self._runs.items() if key in settings}

    def _solver(self, run: TuningRun, values: Values) -> Any:
        return replace(run.pipe.solver, **self.plan.divided(values)[1])

    def _run(self, values: Values) -> TuningRun:
        """The training run with the settings among these values."""
        key = self._key(values)
        if key not in self._runs:
            if not self.n_kept:
                self._runs.clear()
            settings = self.plan.divided(values)[0]
            run = begun(self.plan._replace(config=with_settings(self.plan.config, self.plan.name, settings)), self.anew)
            if self.n_kept * sum(len(example.predicted) for example in run.examples) > MAX_KEPT:
                self.n_kept = 0
            self._runs[key] = run
        return self._runs[key]

    def _key(self, values: Values) -> str:
        return str(srsly.json_dumps(self.plan.divided(values)[0], sort_keys=True))


def begun(plan: TuningPlan, anew: bool) -> TuningRun:
    """Read the corpora, and train the components that are not tuned.

    Args:
        anew: whether values are tried from scratch, and not from the result of the previous ones.

    Raises:
        ValueError: there is nothing to learn from, or to choose values by.
    """
    nlp = init_nlp(plan.config)
    training, train_corpus, dev_corpus = training_of(nlp)
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


def _train_others(nlp: Language, name: str, examples: Sequence[Any], epochs: int, frozen: Sequence[str]) -> None:
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


def _evaluation(nlp: Language, dev_corpus: Reader, weights: dict[str, float]) -> Callable[[], Score]:
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


def parsed_grid(grid: Sequence[str], block: dict[str, Any]) -> dict[str, list[Any]]:
    """The values of --grid by parameter of the solver, or setting of the component, or the default values of C.

    Args:
        block: of the component, with all defaults.

    Raises:
        ValueError: an option is not NAME=VALUES, there is nothing of this name, or a parameter's value is no number.
    """
    solver = block["solver"]
    solver_name = solver["@ssvm_solvers"]
    tunable = [key for key, value in solver.items() if key[0] != "@" and key != "seed" and not isinstance(value, bool)]
    if not grid and "C" not in tunable:
        remedy = f"name one of {', '.join(tunable)} with --grid" if tunable else "there is nothing to tune"
        raise ValueError(f"{solver_name} has no C: {remedy}")
    values: dict[str, list[Any]] = {}
    for option in grid:
        name, equals, texts = option.partition("=")
        if not equals:
            raise ValueError(f"--grid {option}: expected NAME=VALUES, such as C=0.1,1")
        if _is_setting(name, block):
            found = list(map(_value, texts.split(",")))
            if "off" in found and _section(block, name.split(".")) is None:
                raise ValueError(f"--grid {option}: the component has no {name} that could be off")
            values.setdefault(name, []).extend(found)
            continue
        if name not in tunable:
            if "." in name:
                raise ValueError(f"--grid {option}: the component has no such setting; names are those of its sections")
            raise ValueError(f"--grid {option}: {solver_name} has no parameter {name}{_suggestion(name, tunable)}")
        values.setdefault(name, []).extend(_number(name, text) for text in texts.split(","))
    return values or {"C": [*GRID]}


def _is_setting(name: str, block: dict[str, Any]) -> bool:
    """Whether a setting of a component has this name, such as "model.order", or can have it: "label_costs.O"."""
    *path, last = name.split(".")
    found = _section(block, path)
    if found is None and path and path[-1] in SECTIONS:
        found = {}
    if not isinstance(found, dict) or last[:1] == "@" or name.split(".")[0] in ("factory", "solver"):
        return False
    return last in found or (bool(path) and path[-1] in SECTIONS)  # which have keys of their own


def _section(block: dict[str, Any], path: Sequence[str]) -> Any:
    """The section or setting at a path of a component's block; None if there is none."""
    found: Any = block
    for part in path:
        found = found.get(part) if isinstance(found, dict) else None
    return found


def value_in(block: dict[str, Any], name: str) -> Any:
    """The value that a component's block has for a parameter of its solver, or a setting; "on" for a source."""
    if name in block["solver"]:
        return block["solver"][name]
    *path, last = name.split(".")
    found = _section(block, path)
    if not isinstance(found, dict) or last not in found:
        return 1 if path[-1:] == ["label_costs"] else None
    return "on" if isinstance(found[last], dict) else found[last]


def _value(text: str) -> Any:
    """A value of a setting: in JSON, or a text."""
    try:
        return srsly.json_loads(text.strip())
    except ValueError:
        return text.strip()


def with_settings(config: Config, component: str, values: Values) -> Config:
    """The config with these settings of a component; "off" removes the entry of this name, "on" leaves it."""
    changed = config.copy()
    if not values:
        return changed
    filled = util.load_model_from_config(config, auto_fill=True).config["components"][component]
    for name, value in values.items():
        block, defaults = changed["components"][component], filled
        *path, last = name.split(".")
        for part in path:
            defaults = defaults.get(part) or {}
            if not isinstance(block.get(part), dict):
                block[part] = copy.deepcopy(defaults)
            block = block[part]
        if value == "off":
            block.pop(last, None)
        elif value != "on":
            block[last] = value
    return changed


def _suggestion(name: str, tunable: Sequence[str]) -> str:
    by_lower = {known.lower(): known for known in tunable}
    close = difflib.get_close_matches(name.lower(), by_lower, 1)
    return f"; did you mean {by_lower[close[0]]}?" if close else f" to tune, only {', '.join(tunable)}"


def _number(name: str, text: str) -> int | float | str:
    text = text.strip()
    for kind in (int, float):
        try:
            return kind(text) if text != "inf" else text
        except ValueError:
            continue
    raise ValueError(f"--grid {name}: {text!r} is not a number; expected values such as {name}=0.1,1")
