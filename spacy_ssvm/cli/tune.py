"""`spacy ssvm tune`: chooses parameters of a solver, and other settings of a component, by the development score."""

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import srsly
import typer
from spacy import util
from spacy.cli._util import import_code, parse_config_overrides, show_validation_error
from spacy.language import Language
from spacy.schemas import ConfigSchemaTraining
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.util import registry, resolve_dot_names
from thinc.api import Config
from wasabi import msg

from ..distributed.pool import WorkerDied
from ..distributed.workers import map_unordered
from ..pipeline.component import SsvmPipe
from ..training.tuning import (
    MIN_DOCUMENTS,
    Score,
    Trial,
    Values,
    as_good,
    best_of,
    between,
    grid_points,
    learn,
    try_values,
)
from .grid import parsed_grid, with_settings
from .pipelines import CodePath, ConfigPath, annotate_before, read_config
from .plots import new_figure, save_figure
from .score_counts import COUNTS, CountingScorer


def tune_command(
    context: typer.Context,
    config_path: ConfigPath,
    output: Annotated[Path, typer.Argument(help="File for the config with the best values")],
    component: Annotated[
        str | None, typer.Option("--component", "-n", help="Component to tune, if the config trains several")
    ] = None,
    grid: Annotated[
        list[str] | None,
        typer.Option("--grid", "-g", help="Values to try, such as C=0.1,1 or model.order=2,3; repeatable"),
    ] = None,
    bisect: Annotated[
        int, typer.Option("--bisect", "-b", min=0, help="Further values of C to try, near the best one")
    ] = 0,
    epochs: Annotated[
        int, typer.Option("--epochs", "-e", min=1, help="Maximum number of epochs for each combination of values")
    ] = 10,
    n_workers: Annotated[
        int, typer.Option("--workers", "-w", min=1, help="Number of processes, which try values side by side")
    ] = 1,
    address: Annotated[
        str | None,
        typer.Option("--address", help='Ray cluster whose workers learn: "local", "auto" or an address; needs Ray'),
    ] = None,
    code_path: CodePath = None,
) -> None:
    """Find the C, other parameters of a component's solver, or other settings of it, with the best development score.

    Settings of the config can be overridden as in `spacy train`, for instance --paths.train train.spacy. All values are
    tried in one training run: each starts from the result of the previous one, and from scratch where a setting other
    than of the solver changes. With several workers, each starts from scratch. The config with the best values is
    saved, and, if matplotlib is installed, a plot next to it.
    """
    import_code(code_path)
    overrides = parse_config_overrides(context.args)
    try:
        with show_validation_error(config_path):
            config = read_config(config_path, overrides)
            plan = _plan(config, component, grid or [], bisect, epochs)
        msg.info(f"Reading the corpora, extracting the features of {plan.name}")
        if n_workers == 1 and address is None:
            trials = _tried_here(plan, bisect)
        else:
            trials = _tried_by_workers(plan, bisect, n_workers, address, code_path)
    except (ImportError, OSError, ValueError, WorkerDied) as error:
        msg.fail("Nothing was tuned", str(error), exits=1)
    best = best_of(trials)
    good = as_good(trials, list(plan.weights.values())) if len(trials) > 1 else None
    header = (*best.values, "Score", "Epochs", "Non-0", "CPU s", *(["Noise"] if good else []))
    rows = [
        (*_texts(t.values), f"{100 * t.score:.2f}", t.epochs, f"{t.non_zeros:,}", f"{t.seconds:.0f}") for t in trials
    ]
    if good:
        rows = [(*row, "best" if t is best else "=" if same else "") for row, t, same in zip(rows, trials, good)]
    msg.table(rows, header=header, divider=True, aligns=["r"] * len(header))
    settings = config["components"][plan.name]
    if not isinstance(settings.get("solver"), dict):  # missing, or a reference to a block that others may share
        settings["solver"] = plan.solver
    chosen = {name: value for name, value in best.values.items() if name in plan.settings}
    settings["solver"].update({name: value for name, value in best.values.items() if name not in chosen})
    config = with_settings(config, plan.name, chosen)
    output.parent.mkdir(parents=True, exist_ok=True)
    config.to_disk(output, interpolate=False)
    msg.good(f"Best: {_named(best.values)}, with a score of {100 * best.score:.2f}. Config saved to {output}")
    if len(trials) > 1:
        msg.info(_noise(trials, good))
    _plot(trials, output.with_suffix(".svg"))


SMALLER = 0.1
"""The min share of weights that an equally good model has to save to be named."""


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
    """

    config: Config
    name: str
    solver: dict[str, Any]
    points: Sequence[Values]
    settings: Collection[str]
    epochs: int
    weights: dict[str, float]
    by_others: bool


def _plan(config: Config, component: str | None, grid: Sequence[str], bisect: int, epochs: int) -> TuningPlan:
    nlp = util.load_model_from_config(config, auto_fill=True)
    training = nlp.config.interpolate()["training"]
    pipes = {name: pipe for name, pipe in nlp.components if isinstance(pipe, SsvmPipe)}
    names = [name for name in pipes if name not in training["frozen_components"]]
    if not names:
        raise ValueError("The config trains no component of spacy-ssvm: there is nothing to tune")
    if component is None and len(names) > 1:
        raise ValueError(
            f"The config trains {len(names)} components of spacy-ssvm: name one of {', '.join(names)} with --component"
        )
    name = component or names[0]
    if name not in names:
        raise ValueError(
            f'"{name}" is no component of spacy-ssvm that the config trains; name one of {", ".join(names)}'
        )
    if "factory" not in config["components"][name]:
        raise ValueError(f'"{name}" has a source, not a solver of its own: tune the config that it was trained with')
    block = nlp.config.interpolate()["components"][name]
    solver = block["solver"]
    found = parsed_grid(grid, block)
    settings = [setting for setting in found if setting not in solver]
    # Settings come first, as each change of one begins a training run.
    points = grid_points(dict(sorted(found.items(), key=lambda item: item[0] in solver)))
    for values in points:
        replace(pipes[name].solver, **{key: value for key, value in values.items() if key in solver})
        if settings:  # These lines check the values.
            util.load_model_from_config(
                with_settings(config, name, {key: values[key] for key in settings}), auto_fill=True
            )
    if bisect and len({values.get("C") for values in points}) < 2:
        raise ValueError("--bisect needs two values of C to begin with: add them, as in --grid C=0.01,1")
    weights = {score: weight for score, weight in training["score_weights"].items() if weight}
    scores = nlp.get_pipe_meta(name).default_score_weights or {}
    own = {score: weight for score, weight in weights.items() if score in scores}
    weights = {score: weight / sum(own.values()) for score, weight in own.items()} or weights
    return TuningPlan(config, name, solver, points, settings, epochs, weights, by_others=not own)


def _tried_here(plan: TuningPlan, bisect: int) -> list[Trial]:
    """All trials, in their order, each from the result of the previous one."""
    attempt = _attempts(plan, anew=False)
    row = _rows(plan.points, "Epoch")
    trials = [attempt(values, partial(row, values)) for values in plan.points]
    for _ in range(bisect):
        values = between(trials)
        trials.append(attempt(values, partial(row, values)))
    return trials


def _tried_by_workers(
    plan: TuningPlan, bisect: int, n_workers: int, address: str | None, code_path: Path | None
) -> list[Trial]:
    """All trials, in their order, each from scratch; this process bisects.

    Raises:
        ImportError, ConnectionError, ValueError, WorkerDied: as in `workers.map_unordered`.
    """
    work = _tuner(plan)
    begin = partial(_worker, plan, Path.cwd(), code_path and code_path.resolve())
    row = _rows(plan.points, "Epochs")
    found: dict[int, Trial] = {}
    n_workers = min(n_workers, len(plan.points))
    for number, trial in map_unordered(work, begin, enumerate(plan.points), n_workers, address, _name):
        row(trial.values, trial.epochs, trial.score)
        found[number] = trial
    trials = [found[number] for number in range(len(plan.points))]
    for number in range(len(trials), len(trials) + bisect):
        _, trial = work((number, between(trials)))
        row(trial.values, trial.epochs, trial.score)
        trials.append(trial)
    return trials


GridPoint = tuple[int, Values]
"""The number of some values, and the values."""


def _tuner(plan: TuningPlan) -> Callable[[GridPoint], tuple[int, Trial]]:
    """A function that tries a numbered point from scratch, and returns its number and the trial."""
    attempt = _attempts(plan, anew=True)
    return lambda point: (point[0], attempt(point[1], lambda *_: None))


def _worker(plan: TuningPlan, directory: Path, code_path: Path | None) -> Callable[[GridPoint], tuple[int, Trial]]:
    # Workers of a cluster begin in another folder.
    os.chdir(directory)
    if code_path is not None:
        util.import_file("python_code", code_path)
    return _tuner(plan)


def _name(point: GridPoint) -> str:
    return _named(point[1])


def _attempts(plan: TuningPlan, anew: bool) -> Callable[[Values, Callable[[int, float], None]], Trial]:
    """A function that tries values, and begins a training run where settings differ from the previous ones."""

    def settings_of(values: Values) -> dict[str, Any]:
        return {name: values[name] for name in plan.settings}

    def begin(settings: dict[str, Any]) -> Callable[[Values, Callable[[int, float], None]], Trial]:
        return _begun(plan._replace(config=with_settings(plan.config, plan.name, settings)), anew)

    current = settings_of(plan.points[0])
    begun = begin(current)

    def attempt(values: Values, report: Callable[[int, float], None]) -> Trial:
        nonlocal current, begun
        if settings_of(values) != current:
            current = settings_of(values)
            begun = begin(current)
        of_solver = {name: value for name, value in values.items() if name not in current}
        return replace(begun(of_solver, report), values=values)

    return attempt


def _begun(plan: TuningPlan, anew: bool) -> Callable[[Values, Callable[[int, float], None]], Trial]:
    """Read the corpora, train the components that are not tuned; returns a function (values, report) → trial.

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
    return lambda values, report: try_values(pipe, values, examples, evaluate, plan.epochs, report, anew)


def _rows(points: Sequence[Values], epochs: str) -> Callable[[Values, int, float], None]:
    """A function that prints a row with values, a number of epochs and a score. epochs: the title of that column."""
    columns = [*points[0], epochs, "Score"]
    layout: Any = {"widths": [10] * len(columns), "aligns": ["r"] * len(columns)}
    msg.row(columns, **layout)
    return lambda values, epoch, score: msg.row([*_texts(values), epoch, f"{100 * score:.2f}"], **layout)


def _unread(nlp: Language, name: str) -> list[str]:
    """The components of this package whose annotation the named one does not read, so that they need not learn: all
    after it and, if its features read words only, the ones before it, except senters."""
    place = nlp.pipe_names.index(name)
    pipe: Any = nlp.get_pipe(name)
    reads = pipe.trained.structured.reader.annotation
    unread = nlp.pipe_names[place + 1 :]
    if not reads:
        unread += [other for other in nlp.pipe_names[:place] if nlp.get_pipe_meta(other).factory != "ssvm_senter"]
    return [other for other in unread if isinstance(nlp.get_pipe(other), SsvmPipe)]


def _train_others(nlp: Language, name: str, examples: Sequence[Example], epochs: int, frozen: Sequence[str]) -> None:
    """Train the other components: features of the named one may read what the ones before it annotate.

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


def _noise(trials: Sequence[Trial], good: Sequence[bool] | None) -> str:
    """Which trials cannot be told from the best one."""
    counts, best = trials[0].counts, best_of(trials)
    if good is None or counts is None:
        return (
            f"Which differences are noise is not known: that takes {MIN_DOCUMENTS} documents, and a score made of "
            f"{', '.join(COUNTS)}"
        )
    test = f"paired bootstrap of {len(counts):,} documents or sentences of the corpus, 95 %"
    equals = [trial for trial, same in zip(trials, good) if same and trial is not best]
    if not equals:
        return f"The scores of all other values are lower by more than noise ({test})"
    text = f"{len(equals)} of {len(trials) - 1} other scores, marked =, are not lower by more than noise ({test})"
    smallest = min(equals, key=lambda trial: trial.non_zeros)
    if smallest.non_zeros > (1 - SMALLER) * best.non_zeros:
        return text
    return f"{text}. Of these, {_named(smallest.values)} gives the smallest model"


def _named(values: Values) -> str:
    return ", ".join(f"{name} = {text}" for name, text in zip(values, _texts(values)))


def _texts(values: Values) -> list[str]:
    return [
        value if isinstance(value, str) else srsly.json_dumps(value) if isinstance(value, bool) else f"{value:.4g}"
        for value in values.values()
    ]


def _plot(trials: Sequence[Trial], path: Path) -> None:
    """Plot the score over C, or over the last parameter, with a curve for each combination of the others."""
    try:
        figure = new_figure(6, 4)
    except ImportError:
        msg.info("No plot: matplotlib is not installed; to get one, run pip install matplotlib")
        return
    *others, x = trials[0].values
    if not all(isinstance(trial.values[x], int | float) for trial in trials):
        msg.info(f"No plot: {x} has values that are no numbers")
        return
    curves: dict[str, list[tuple[float, float]]] = {}
    for trial in trials:
        label = ", ".join(f"{name} = {text}" for name, text in zip(others, _texts(trial.values)))
        curves.setdefault(label, []).append((float(trial.values[x]), 100 * trial.score))
    axes = figure.add_subplot()
    for label, points in curves.items():
        axes.plot(*zip(*sorted(points)), marker="o", markersize=4, label=label)
    axes.set(xlabel=x, ylabel="development score", xscale="log" if x == "C" else "linear")
    axes.grid(alpha=0.3)
    if others:
        axes.legend()
    save_figure(figure, path, path.stem)
    msg.good(f"Plot saved to {path}")
