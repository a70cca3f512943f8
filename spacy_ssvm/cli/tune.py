"""`spacy ssvm tune`: chooses parameters of a solver, and other settings of a component, by the development score."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path
from typing import Annotated, Any

import srsly
import typer
from spacy import util
from spacy.cli._util import import_code, parse_config_overrides, show_validation_error
from thinc.api import Config
from wasabi import msg

from ..distributed.cluster import map_unordered
from ..distributed.pool import WorkerDied
from ..pipeline.component import SsvmPipe
from ..training.tuning import MIN_DOCUMENTS, PATIENCE, Trial, Values, as_good, best_of, between, grid_points
from ..training.tuning import halve as halve_trials
from .plots import new_figure, save_figure
from .reading import CodePath, ConfigPath, file_to_write, read_config
from .score_counts import COUNTS
from .trials import Tuner, TuningPlan, parsed_grid, value_in, with_settings


def tune_command(
    context: typer.Context,
    config_path: ConfigPath,
    output: Annotated[Path, typer.Argument(help="File for the config with the best values", callback=file_to_write)],
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
    halve: Annotated[
        bool, typer.Option("--halve", "-H", help="Leave out the worse half of the values again and again")
    ] = False,
    code_path: CodePath = None,
) -> None:
    """Find the C, other parameters of a component's solver, or other settings of it, with the best development score.

    Settings of the config can be overridden as in `spacy train`, for instance --paths.train train.spacy. All values are
    tried in one training run: each starts from the result of the previous one, and from scratch where a setting other
    than of the solver changes. With several workers or --halve, each starts from scratch; with --halve, all learn for
    few epochs, the better half of them for twice as many, and so on. The config with the best values is saved, or with
    its own ones if these are tried and no worse but for noise, and, if matplotlib is installed, a plot next to it.
    """
    import_code(code_path)
    overrides = parse_config_overrides(context.args)
    try:
        with show_validation_error(config_path):
            config = read_config(config_path, overrides)
            plan = _plan(config, component, grid or [], bisect, epochs)
        msg.info(f"Reading the corpora, extracting the features of {plan.name}")
        if halve or n_workers > 1 or address is not None:
            trials, left = _tried_from_scratch(plan, halve, bisect, n_workers, address, code_path)
        else:
            trials = _tried_here(plan, bisect)
            left = list(range(len(trials)))
    except (ImportError, OSError, ValueError, WorkerDied) as error:
        msg.fail("Nothing was tuned", str(error), exits=1)
    finalists = [trials[number] for number in left]
    best = best_of(finalists)
    good = as_good(finalists, list(plan.weights.values())) if len(finalists) > 1 else None
    header = (*best.values, "Score", "Epochs", "Non-0", "CPU s", *(["Noise"] if good else []))
    signs = ["best" if trial is best else "=" if same else "" for trial, same in zip(finalists, good or [])]
    marks = dict(zip(left, signs))
    rows = [
        (*_texts(t.values), f"{100 * t.score:.2f}", t.epochs, f"{t.non_zeros:,}", f"{t.seconds:.0f}")
        + ((marks.get(number, "-"),) if good else ())
        for number, t in enumerate(trials)
    ]
    msg.table(rows, header=header, divider=True, aligns=["r"] * len(header))
    own = None if plan.default is None or marks.get(plan.default) != "=" else trials[plan.default]
    settings = config["components"][plan.name]
    if not isinstance(settings.get("solver"), dict):  # missing, or a reference to a block that others may share
        settings["solver"] = plan.solver
    of_settings, of_solver = plan.divided((own or best).values)
    settings["solver"].update(of_solver)
    config = with_settings(config, plan.name, of_settings)
    output.parent.mkdir(parents=True, exist_ok=True)
    config.to_disk(output, interpolate=False)
    msg.good(f"Best: {_named(best.values)}, with a score of {100 * best.score:.2f}. Config saved to {output}")
    if own is not None:
        gain = 100 * (best.score - own.score)
        msg.info(f"The config keeps its own values, {_named(own.values)}: the gain of {gain:.2f} is within noise")
    if len(finalists) > 1:
        msg.info(_noise(finalists, good))
    if len(finalists) < len(trials):
        msg.info(f"{len(trials) - len(finalists)} others, marked -, were left out after fewer epochs")
    _plot(trials, output.with_suffix(".svg"))


SMALLER = 0.1
"""The min share of weights that an equally good model has to save to be named."""


def _plan(config: Config, component: str | None, grid: Sequence[str], bisect: int, epochs: int) -> TuningPlan:
    nlp = util.load_model_from_config(config, auto_fill=True)
    training = nlp.config.interpolate()["training"]
    pipes = {name: pipe for name, pipe in nlp.components if isinstance(pipe, SsvmPipe)}
    names = [name for name in pipes if name not in training["frozen_components"]]
    if not names:
        raise ValueError("The config trains no component of spacy-ssvm: there is nothing to tune")
    name, listed = component or names[0], ", ".join(names)
    if component is None and len(names) > 1:
        raise ValueError(
            f"The config trains {len(names)} components of spacy-ssvm: name one of {listed} with --component"
        )
    if name not in names:
        raise ValueError(f'"{name}" is no component of spacy-ssvm that the config trains; name one of {listed}')
    if "factory" not in config["components"][name]:
        raise ValueError(f'"{name}" has a source, not a solver of its own: tune the config that it was trained with')
    block = nlp.config.interpolate()["components"][name]
    solver = block["solver"]
    found = parsed_grid(grid, block)
    settings = [setting for setting in found if setting not in solver]
    # Settings come first, as each change of one begins a training run.
    points = grid_points(dict(sorted(found.items(), key=lambda item: item[0] in solver)))
    refused: dict[int, ValueError] = {}
    for number, values in enumerate(points):
        try:
            replace(pipes[name].solver, **{key: value for key, value in values.items() if key in solver})
            if settings:  # These lines check the values.
                changed = with_settings(config, name, {key: values[key] for key in settings})
                util.load_model_from_config(changed, auto_fill=True)
        except ValueError as error:
            refused[number] = error
    points = _possible(points, refused)
    if bisect and len({values.get("C") for values in points}) < 2:
        raise ValueError("--bisect needs two values of C to begin with: add them, as in --grid C=0.01,1")
    weights = {score: weight for score, weight in training["score_weights"].items() if weight}
    scores = nlp.get_pipe_meta(name).default_score_weights or {}
    own = {score: weight for score, weight in weights.items() if score in scores}
    weights = {score: weight / sum(own.values()) for score, weight in own.items()} or weights
    own_values = {setting: value_in(block, setting) for setting in found}
    default = next((number for number, values in enumerate(points) if values == own_values), None)
    return TuningPlan(config, name, solver, points, settings, epochs, weights, by_others=not own, default=default)


def _possible(points: Sequence[Values], refused: Mapping[int, ValueError]) -> list[Values]:
    """The points that are not refused, if each value is in one of them: what is refused then is how values combine."""
    possible = [values for number, values in enumerate(points) if number not in refused]
    for number, error in refused.items():
        if any(value not in [values[name] for values in possible] for name, value in points[number].items()):
            raise error
        msg.info(f"Left out: {_named(points[number])}. {error}")
    return possible


def _tried_here(plan: TuningPlan, bisect: int) -> list[Trial]:
    """All trials, in their order, each from the result of the previous one."""
    tuner = Tuner(plan, anew=False)
    row = _rows(plan.points, "Epoch")
    trials = [tuner.follow(values, partial(row, values)) for values in plan.points]
    for _ in range(bisect):
        values = between(trials)
        trials.append(tuner.follow(values, partial(row, values)))
    return trials


def _tried_from_scratch(
    plan: TuningPlan, halves: bool, bisect: int, n_workers: int, address: str | None, code_path: Path | None
) -> tuple[list[Trial], list[int]]:
    """All trials, in their order, each from scratch, and the numbers of those that are left; this process bisects.

    Raises:
        ImportError, ConnectionError, ValueError, WorkerDied: as in `workers.map_unordered`.
    """
    alone = n_workers == 1 and address is None
    # Rounds take the place of patience: early scores rise and fall.
    patience = inf if halves else PATIENCE
    tuner = Tuner(plan, True, patience, n_kept=len(plan.points) if halves and alone else 0)
    work = partial(_work, tuner)
    begin = partial(_worker, plan, patience, Path.cwd(), code_path and code_path.resolve())
    row = _rows(plan.points, "Epochs")

    def try_all(points: Sequence[tuple[int, Values]], epochs: int) -> Iterator[tuple[int, Trial]]:
        tuner.forget_others([number for number, _ in points])
        tasks = [(epochs, number, values) for number, values in points]
        workers = min(n_workers, len(tasks))
        results = map(work, tasks) if alone else map_unordered(work, begin, tasks, workers, address, _name)
        for number, trial in results:
            row(trial.values, trial.epochs, trial.score)
            yield number, trial

    if halves:
        trials, left = halve_trials(plan.points, plan.epochs, try_all, plan.default)
    else:
        found = dict(try_all(list(enumerate(plan.points)), plan.epochs))
        trials, left = [found[number] for number in range(len(found))], list(range(len(found)))
    for number in range(len(trials), len(trials) + bisect):
        _, trial = work((plan.epochs, number, between([trials[place] for place in left])))
        row(trial.values, trial.epochs, trial.score)
        trials.append(trial)
        left.append(number)
    return trials, left


Task = tuple[int, int, Values]
"""The number of epochs, the number of some values, and the values."""


def _work(tuner: Tuner, task: Task) -> tuple[int, Trial]:
    epochs, number, values = task
    return number, tuner.try_up_to(epochs, number, values, lambda *_: None)


def _worker(
    plan: TuningPlan, patience: float, directory: Path, code_path: Path | None
) -> Callable[[Task], tuple[int, Trial]]:
    # Workers of a cluster begin in another folder.
    os.chdir(directory)
    if code_path is not None:
        util.import_file("python_code", code_path)
    return partial(_work, Tuner(plan, True, patience))


def _name(task: Task) -> str:
    return _named(task[2])


def _rows(points: Sequence[Values], epochs: str) -> Callable[[Values, int, float], None]:
    """A function that prints a row with values, a number of epochs and a score. epochs: the title of that column."""
    columns = [*points[0], epochs, "Score"]
    layout: Any = {"widths": [10] * len(columns), "aligns": ["r"] * len(columns)}
    msg.row(columns, **layout)
    return lambda values, epoch, score: msg.row([*_texts(values), epoch, f"{100 * score:.2f}"], **layout)


def _noise(trials: Sequence[Trial], good: Sequence[bool] | None) -> str:
    """Which trials cannot be told from the best one."""
    counts, best = trials[0].counts, best_of(trials)
    if good is None or counts is None:
        needed = f"{MIN_DOCUMENTS} documents, and a score made of {', '.join(COUNTS)}"
        return f"Which differences are noise is not known: that takes {needed}"
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
