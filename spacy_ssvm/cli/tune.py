"""`spacy ssvm tune`: chooses parameters of a solver by the development score."""

import difflib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from spacy import util
from spacy.cli._util import import_code, parse_config_overrides, show_validation_error
from spacy.language import Language
from spacy.schemas import ConfigSchemaTraining
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.training.loop import create_evaluation_callback
from spacy.util import registry, resolve_dot_names
from wasabi import msg

from ..pipeline.component import SsvmPipe
from ..training.tuning import GRID, Trial, Values, best_of, between, grid_points, try_values
from .pipelines import CodePath, ConfigPath, annotate_before
from .plots import new_figure, save_figure


def tune_command(
    context: typer.Context,
    config_path: ConfigPath,
    output: Annotated[Path, typer.Argument(help="File for the config with the best values")],
    component: Annotated[
        str | None, typer.Option("--component", "-n", help="Component to tune, if the config trains several")
    ] = None,
    grid: Annotated[
        list[str] | None,
        typer.Option("--grid", "-g", help="Values to try, such as C=0.1,1 or rho1=0,0.5; repeatable"),
    ] = None,
    bisect: Annotated[
        int, typer.Option("--bisect", "-b", min=0, help="Further values of C to try, near the best one")
    ] = 0,
    epochs: Annotated[int, typer.Option("--epochs", "-e", min=1, help="Most epochs with the same values")] = 10,
    code_path: CodePath = None,
) -> None:
    """Find the C, or other parameters of a component's solver, with the best development score.

    Settings of the config can be overridden as in `spacy train`, for instance --paths.train train.spacy. All values are
    tried in one training run: each starts from the result of the previous one. The config with the best values is
    saved, and, if matplotlib is installed, a plot next to it.
    """
    import_code(code_path)
    overrides = parse_config_overrides(context.args)
    try:
        with show_validation_error(config_path):
            config = util.load_config(config_path, overrides=overrides)
            plan = _plan(config, component, grid or [], bisect)
        msg.info(f"Reading the corpora, extracting the features of {plan.name}")
        trials = _run(init_nlp(config), plan, bisect, epochs)
    except (OSError, ValueError) as error:
        msg.fail("Nothing was tuned", str(error), exits=1)
    best = best_of(trials)
    header = (*best.values, "Score", "Epochs", "Non-0", "CPU s")
    rows = [
        (*_texts(t.values), f"{100 * t.score:.2f}", t.epochs, f"{t.non_zeros:,}", f"{t.seconds:.0f}") for t in trials
    ]
    msg.table(rows, header=header, divider=True, aligns=["r"] * len(header))
    settings = config["components"][plan.name]
    if not isinstance(settings.get("solver"), dict):  # missing, or a reference to a block that others may share
        settings["solver"] = plan.solver
    settings["solver"].update(best.values)
    output.parent.mkdir(parents=True, exist_ok=True)
    config.to_disk(output, interpolate=False)
    values = ", ".join(f"{name} = {text}" for name, text in zip(best.values, _texts(best.values)))
    msg.good(f"Best: {values}, with a score of {100 * best.score:.2f}. Config saved to {output}")
    _plot(trials, output.with_suffix(".svg"))


class Plan(NamedTuple):
    """The name of the component to tune, its solver block with all defaults, and the values to try."""

    name: str
    solver: dict[str, Any]
    points: Sequence[Values]


def _plan(config: Any, component: str | None, grid: Sequence[str], bisect: int) -> Plan:
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
    solver = nlp.config.interpolate()["components"][name]["solver"]
    points = grid_points(_parsed_grid(grid, solver))
    for values in points:
        replace(pipes[name].solver, **values)  # checks the values
    if bisect and len({values.get("C") for values in points}) < 2:
        raise ValueError("--bisect needs two values of C to begin with")
    return Plan(name, solver, points)


def _parsed_grid(grid: Sequence[str], solver: dict[str, Any]) -> dict[str, list[Any]]:
    """The values of --grid by parameter, or the default values of C."""
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
        if name not in tunable:
            raise ValueError(f"--grid {option}: {solver_name} has no parameter {name}{_suggestion(name, tunable)}")
        values.setdefault(name, []).extend(_number(name, text) for text in texts.split(","))
    return values or {"C": [*GRID]}


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


def _run(nlp: Language, plan: Plan, bisect: int, epochs: int) -> list[Trial]:
    """All trials, in their order."""
    training = registry.resolve(nlp.config.interpolate()["training"], schema=ConfigSchemaTraining)
    names = [training["train_corpus"], training["dev_corpus"]]
    train_corpus, dev_corpus = resolve_dot_names(nlp.config.interpolate(), names)
    if next(iter(dev_corpus(nlp)), None) is None:
        raise ValueError(f"There are no documents in {training['dev_corpus']} to choose the best values by")
    examples = list(train_corpus(nlp))
    _train_others(nlp, plan.name, examples, epochs, training["frozen_components"])
    annotate_before(nlp, plan.name, examples, training["annotating_components"])
    pipe: Any = nlp.get_pipe(plan.name)
    evaluate = _evaluation(nlp, dev_corpus, training["score_weights"])
    columns = [*plan.points[0], "Epoch", "Score"]
    layout: Any = {"widths": [10] * len(columns), "aligns": ["r"] * len(columns)}
    msg.row(columns, **layout)
    trials: list[Trial] = []

    def run(values: Values) -> None:
        def report(epoch: int, score: float) -> None:
            msg.row([*_texts(values), epoch, f"{100 * score:.2f}"], **layout)

        trials.append(try_values(pipe, values, examples, evaluate, epochs, report))

    for values in plan.points:
        run(values)
    for _ in range(bisect):
        run(between(trials))
    return trials


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
                pipe.update(examples)
        elif getattr(pipe, "is_trainable", False):
            raise ValueError(f'"{other}" learns, too: train it first, then source and freeze it to tune "{name}"')


def _evaluation(nlp: Language, dev_corpus: Any, weights: dict[str, float | None]) -> Callable[[], float]:
    """A function that returns the score by which `spacy train` chooses the best model."""
    evaluate = create_evaluation_callback(nlp, dev_corpus, weights)  # type: ignore[arg-type]

    def score() -> float:
        total, scores = evaluate()
        weighted = [name for name, weight in weights.items() if weight]
        if not any(name in scores for name in weighted):
            raise ValueError(
                f"The development corpus has no annotation for the scores {', '.join(weighted)}: check the corpus and "
                "training.score_weights"
            )
        return total

    return score


def _texts(values: Values) -> list[str]:
    return [value if isinstance(value, str) else f"{value:.4g}" for value in values.values()]


def _plot(trials: Sequence[Trial], path: Path) -> None:
    """Plot the score over C, or over the last parameter, with a curve for each combination of the others."""
    try:
        figure = new_figure(6, 4)
    except ImportError:
        msg.info("No plot: matplotlib is not installed")
        return
    *others, x = trials[0].values
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
