"""`spacy ssvm tune`: parameters of a solver, chosen by development score."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from spacy import util
from spacy.cli._util import import_code, parse_config_overrides, show_validation_error
from spacy.language import Language
from spacy.schemas import ConfigSchemaTraining
from spacy.training.initialize import init_nlp
from spacy.training.loop import create_evaluation_callback
from spacy.util import registry, resolve_dot_names
from wasabi import msg

from ..pipeline.component import SsvmPipe
from ..training.tuning import GRID, Trial, Values, best_of, between, grid_points, train_others, try_values
from .pipelines import CodePath, ConfigPath, annotate_before
from .plots import new_figure, save_figure


def tune_command(
    context: typer.Context,
    config_path: ConfigPath,
    output: Annotated[Path, typer.Argument(help="File for the config with the best values")],
    component: Annotated[
        str | None, typer.Option("--component", "-n", help="Component to tune, where several learn")
    ] = None,
    grid: Annotated[
        list[str] | None,
        typer.Option("--grid", "-g", help="Values to try, such as C=0.1,1 or rho1=0,0.5; repeatable"),
    ] = None,
    bisect: Annotated[int, typer.Option("--bisect", "-b", min=0, help="How many C to try then, near the best")] = 0,
    epochs: Annotated[int, typer.Option("--epochs", "-e", min=1, help="With the same values, at most")] = 10,
    code_path: CodePath = None,
) -> None:
    """Find the C, or other parameters of a component's solver, with the best development score.

    Settings of the config can be overridden as in `spacy train`, for instance --paths.train train.spacy. All values are
    tried in one training, each from where those before have led to. The config with the best is saved; beside it,
    where matplotlib is installed, a plot.
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
        msg.fail(f"{config_path} cannot be tuned", str(error), exits=1)
    best = best_of(trials)
    header = (*best.values, "Score", "Epochs", "Non-0", "CPU s")
    rows = [
        (*_texts(t.values), f"{100 * t.score:.2f}", t.epochs, f"{t.non_zeros:,}", f"{t.seconds:.0f}") for t in trials
    ]
    msg.table(rows, header=header, divider=True, aligns=["r"] * len(header))
    config["components"][plan.name].setdefault("solver", plan.solver).update(best.values)
    output.parent.mkdir(parents=True, exist_ok=True)
    config.to_disk(output, interpolate=False)
    found = ", ".join(f"{name} = {text}" for name, text in zip(best.values, _texts(best.values)))
    msg.good(f"Best: {found}, with a score of {100 * best.score:.2f}. Config saved to {output}")
    _plot(trials, output.with_suffix(".svg"))


class Plan(NamedTuple):
    """What is tuned: the component's name, its filled solver block, and the values to try."""

    name: str
    solver: dict[str, Any]
    points: Sequence[Values]


def _plan(config: Any, component: str | None, grid: Sequence[str], bisect: int) -> Plan:
    nlp = util.load_model_from_config(config, auto_fill=True)
    training = nlp.config.interpolate()["training"]
    ours = {name: pipe for name, pipe in nlp.components if isinstance(pipe, SsvmPipe)}
    names = [name for name in ours if name not in training["frozen_components"]]
    if component is None and len(names) != 1:
        remedy = f"name one of {', '.join(names)} with --component" if names else "there is nothing to tune"
        raise ValueError(f"The config trains {len(names)} components of spacy-ssvm: {remedy}")
    name = component or names[0]
    if name not in names:
        raise ValueError(f'"{name}" is no component of spacy-ssvm that the config trains, as {", ".join(names)} is')
    if "factory" not in config["components"][name]:
        raise ValueError(f'"{name}" has a source, not a solver of its own: tune the config that it was trained with')
    solver = dict(nlp.get_pipe_config(name)["solver"])
    points = grid_points(_parsed_grid(grid, solver))
    for values in points:
        replace(ours[name].solver, **values)
    if bisect and len({values.get("C") for values in points}) < 2:
        raise ValueError("--bisect needs two values of C to begin with")
    return Plan(name, solver, points)


def _parsed_grid(grid: Sequence[str], solver: dict[str, Any]) -> dict[str, list[Any]]:
    name = solver["@ssvm_solvers"]
    numbers = [key for key, value in solver.items() if key[0] != "@" and key != "seed" and not isinstance(value, bool)]
    given: dict[str, list[str]] = {}
    for key, _, texts in (text.partition("=") for text in grid):
        given.setdefault(key, []).extend(texts.split(","))
    if not given and "C" not in numbers:
        remedy = f"name one of {', '.join(numbers)} with --grid" if numbers else "there is nothing to tune"
        raise ValueError(f"{name} has no C: {remedy}")
    unknown = [key for key in given if key not in numbers]
    if unknown:
        raise ValueError(f"{name} has no {', '.join(unknown)} to tune, only {', '.join(numbers)}")
    return {key: [_number(key, text) for text in texts] for key, texts in given.items()} or {"C": [*GRID]}


def _number(name: str, text: str) -> int | float | str:
    text = text.strip()
    for kind in (int, float):
        try:
            return kind(text) if text != "inf" else text
        except ValueError:
            continue
    raise ValueError(f"--grid {name}: {text!r} is not a number; a grid is written as {name}=0.1,1")


def _run(nlp: Language, plan: Plan, bisect: int, epochs: int) -> list[Trial]:
    """All trials, in the order in which they were made."""
    training = registry.resolve(nlp.config.interpolate()["training"], schema=ConfigSchemaTraining)
    names = [training["train_corpus"], training["dev_corpus"]]
    train_corpus, dev_corpus = resolve_dot_names(nlp.config.interpolate(), names)
    if next(iter(dev_corpus(nlp)), None) is None:
        raise ValueError(f"There are no documents in {training['dev_corpus']} to choose by")
    examples = list(train_corpus(nlp))
    train_others(nlp, plan.name, examples, epochs, training["frozen_components"])
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


def _evaluation(nlp: Language, dev_corpus: Any, weights: dict[str, float | None]) -> Callable[[], float]:
    """The score that `spacy train` chooses the best model by."""
    evaluate = create_evaluation_callback(nlp, dev_corpus, weights)  # type: ignore[arg-type]

    def score() -> float:
        total, scores = evaluate()
        counted = [name for name, weight in weights.items() if weight]
        if not any(name in scores for name in counted):
            raise ValueError(
                f"The development corpus has nothing of what is scored, {', '.join(counted)}: see its annotation, and "
                "training.score_weights"
            )
        return total

    return score


def _texts(values: Values) -> list[str]:
    return [value if isinstance(value, str) else f"{value:.4g}" for value in values.values()]


def _plot(trials: Sequence[Trial], path: Path) -> None:
    """The score over C, or else the last parameter, with a curve for each combination of the others."""
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
