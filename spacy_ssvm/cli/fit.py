"""`spacy ssvm fit`: from a corpus to a pipeline and a report, by the commands that a user would give."""

import hashlib
import math
import shlex
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import srsly
import typer
from spacy import util
from spacy.cli._util import app
from spacy.training.initialize import init_nlp
from thinc.api import Config
from typer.main import get_command
from wasabi import msg

from ..corpus.description import describe, files_of, find_files
from ..corpus.reader import corpus_files
from ..files import replace_files
from ..training.tuning import MIN_DOCUMENTS, n_epochs_of_halving
from ..wording import counted
from .reading import training_of

COMMANDS = "commands.sh"
"""The file with the commands that are done."""
TUNING_EPOCHS = 8
TRAINING_SHARE = 0.6
"""The max share of the time for training, if there are to be trials."""
TRIED = {
    "ner": ("label_costs.O=1,0.5,0.3", "model.features.document=true,false", "C=0.03,0.1,0.3"),
    "chunker": ("C=0.03,0.1,0.3",),
}
"""Component → what tune tries together, the largest gain first; others keep their defaults."""


class Plan(NamedTuple):
    """The max number of trials of tune, and of epochs of training; None: as in the config."""

    trials: int
    epochs: int | None


@dataclass
class CommandRun:
    """The commands of a run, some of which may have been done before an interruption.

    Attributes:
        folder: of the results.
        own: the command of the run itself.
        read: a digest of each file that it reads.
        plan: the plan for its time.
        done: the commands that are done.
        n_given: how many commands have been given in this process.
    """

    folder: Path
    own: str
    read: dict[str, str]
    plan: Plan | None = None
    done: list[str] = field(default_factory=list)
    n_given: int = 0

    def do(self, *command: object) -> None:
        """Give a command of spaCy's command line, unless it was done before."""
        arguments = list(map(str, command))
        line = shlex.join(["python", "-m", "spacy", *arguments])
        place, self.n_given = self.n_given, self.n_given + 1
        msg.divider(f"Step {self.n_given}")
        print(line, flush=True)
        if self.done[place : place + 1] == [line]:
            msg.info("This was done before the interruption")
            return
        # By `main`, an interruption would be a status that is returned.
        program = get_command(app)
        with program.make_context("python -m spacy", arguments) as context:
            program.invoke(context)
        self.done[place:] = [line]
        self.save()

    def save(self) -> None:
        """Write the file of commands."""
        plan = [] if self.plan is None else [f"# plan: {srsly.json_dumps(list(self.plan))}"]
        lines = [f"# {self.own}", f"# read: {srsly.json_dumps(self.read)}", *plan, *self.done]
        replace_files(self.folder, {COMMANDS: "".join(f"{line}\n" for line in lines).encode()})


def fit_command(
    train: Annotated[Path, typer.Argument(help="Training corpus: a file, or a folder")],
    output: Annotated[Path, typer.Argument(help="Folder for the pipeline and all else", file_okay=False)],
    dev: Annotated[
        Path | None,
        typer.Option("--dev", "-d", help="Development corpus [default: beside the other, or a tenth of it]"),
    ] = None,
    lang: Annotated[str | None, typer.Option("--lang", "-l", help="Code of the language")] = None,
    pipeline: Annotated[
        str | None,
        typer.Option("--pipeline", "-p", help="Comma-separated names of the components [default: those annotated]"),
    ] = None,
    resources: Annotated[
        Path | None, typer.Option("--resources", "-r", help="Folder of word lists, as spacy ssvm resources makes it")
    ] = None,
    minutes: Annotated[
        float | None, typer.Option("--minutes", "-m", min=0.1, help="Time to plan trials and epochs for")
    ] = None,
    learn_dev: Annotated[
        bool, typer.Option("--learn-dev", help="In the end, train once more, with the development corpus, too")
    ] = False,
    force: Annotated[bool, typer.Option("--force", "-F", help="Start anew where there are results")] = False,
) -> None:
    """Train a pipeline on a corpus: init-config, tune, spaCy's train and report, one after the other.

    Each command is printed, and kept in commands.sh. An interrupted run goes on with the command that was interrupted.
    No test corpus is read.
    """
    given = {"--dev": dev, "--lang": lang, "--pipeline": pipeline, "--resources": resources}
    options = [str(part) for name, value in given.items() if value is not None for part in (name, value)]
    others = ["--minutes", f"{minutes:g}"] if minutes is not None else []
    others += ["--learn-dev"] if learn_dev else []
    own = shlex.join(["python", "-m", "spacy", "ssvm", "fit", str(train), str(output), *options, *others])
    started = time.monotonic()
    try:
        run = begun(output, own, train, [dev, resources], force)
        config_path = run.folder / "config.cfg"
        run.do("ssvm", "init-config", config_path, "--data", train, *options, "--force")
        config = util.load_config(config_path)
        if run.plan is None:
            run.plan = _plan(config, None if minutes is None else 60 * minutes - (time.monotonic() - started))
            run.save()
        dev = Path(config["paths"]["dev"])
        log, model = run.folder / "log.jsonl", run.folder / "model-best"
        overrides = [] if run.plan.epochs is None else ["--training.max_epochs", run.plan.epochs]
        for number, (component, grids) in enumerate(_grids(config, run.plan.trials), 1):
            tuned = run.folder / f"tuned-{number}.cfg"
            tried = [option for grid in grids for option in ("--grid", grid)]
            tuning = ["--component", component, *tried, "--epochs", TUNING_EPOCHS, "--halve"]
            run.do("ssvm", "tune", config_path, tuned, *tuning, *overrides)
            config_path, overrides = tuned, []
        run.do("train", config_path, "--output", run.folder, "--training.logger.output_file", log, *overrides)
        corpora = [dev, run.folder / "report.html", "--log", log, "--train", config["paths"]["train"]]
        run.do("ssvm", "report", model, *corpora)
        best = max(srsly.read_jsonl(log), key=lambda row: row["score"])
        if learn_dev:
            _learn_dev(run, config_path, config, best["epoch"] + 1)
    except (ImportError, OSError, ValueError) as error:
        msg.fail("Stopped", str(error), exits=1)
    except KeyboardInterrupt:
        same = "The same command, without --force," if force else "The same command"
        msg.fail("Interrupted", f"{same} goes on with the step that was interrupted.", exits=1)
    _show_end(run, best, learn_dev)


def begun(output: Path, own: str, train: Path, others: Sequence[Path | None], force: bool) -> CommandRun:
    """The run in a folder, a new one or one of the same command that was interrupted.

    Args:
        own: this command.
        others: what else it reads.

    Raises:
        OSError: the folder cannot be written to.
        ValueError: there is no corpus, or the folder has other files, results of another command, or of files that have
            changed since.
    """
    sources = [source for source in (*find_files(train), *others) if source is not None]
    files = [file for source in sources for file in files_of(source)]
    read = {
        str(file): hashlib.blake2b(file.read_bytes(), digest_size=8).hexdigest() for file in files if file.is_file()
    }
    record = output / COMMANDS
    if record.is_file() and not force:
        first, *lines = record.read_text("utf8").splitlines() or [""]
        before, plan = (_noted(name, lines) for name in ("read", "plan"))
        done = [line for line in lines if not line.startswith("#")]
        if done and first != f"# {own}":
            raise ValueError(
                f"{output} has the results of another command: {first[2:]}. Name another folder, "
                "or add --force to start anew in this one"
            )
        changed = sorted({*(before or {}).items()} ^ {*read.items()})
        if done and changed:
            raise ValueError(f"{changed[0][0]} has changed since {output} was made: add --force to start anew")
        return CommandRun(output, own, read, None if plan is None else Plan(*plan), done)
    if output.is_dir() and any(output.iterdir()) and not force:
        raise ValueError(f"{output} has other files: name a folder of its own, or add --force")
    output.mkdir(parents=True, exist_ok=True)
    run = CommandRun(output, own, read)
    run.save()
    return run


def _noted(name: str, lines: Sequence[str]) -> Any:
    """The value of a name in comments of the file of commands; None if there is none."""
    mark = f"# {name}: "
    return next((srsly.json_loads(line.removeprefix(mark)) for line in lines if line.startswith(mark)), None)


def _grids(config: Config, max_trials: int) -> Iterator[tuple[str, list[str]]]:
    """The components to tune, each with its grids, which take at most the time of max_trials trials with all epochs."""
    for name in config["nlp"]["pipeline"]:
        chosen: list[str] = []
        for grid in TRIED.get(name, ()):
            if "document" in grid and not config["components"][name]["model"]["features"]["document"]:
                continue
            if _n_trials([*chosen, grid]) <= max_trials:
                chosen.append(grid)
        if chosen:
            max_trials -= _n_trials(chosen)
            yield name, chosen


def _n_trials(grids: Sequence[str]) -> int:
    """How many trials with all epochs, each with a training run of its own, take the time of halving these grids."""
    n_points, n_runs = 1, 1
    for grid in grids:
        n_values = 1 + grid.count(",")
        n_points *= n_values
        n_runs *= 1 if grid.startswith("C=") else n_values
    return max(n_runs, math.ceil(n_epochs_of_halving(n_points, TUNING_EPOCHS) / TUNING_EPOCHS))


def _plan(config: Config, seconds: float | None) -> Plan:
    """The plan for a config. seconds: the time left, None for no limit."""
    corpus = describe(Path(config["paths"]["dev"]), None)
    by_sentence = config["corpora"]["dev"].get("gold_preproc")
    n_dev, kind = (corpus.n_sentences, "sentence") if by_sentence else (corpus.n_docs, "document")
    is_small = n_dev < MIN_DOCUMENTS
    if is_small:
        msg.warn(
            f"The development corpus has {counted(n_dev, kind)}. Scores on fewer than {MIN_DOCUMENTS} say little, and "
            "nothing is tuned by them: annotate more, or name a corpus with --dev"
        )
    if seconds is None:
        return Plan(0 if is_small else 1000, None)
    end = time.monotonic() + seconds
    setup, epoch = _pilot(config)
    left = end - time.monotonic()
    epochs = max(1, min(int((TRAINING_SHARE * left - setup) / epoch), config["training"]["max_epochs"]))
    trials = max(0, int((left - setup - epochs * epoch) / (setup + TUNING_EPOCHS * epoch)))
    msg.info(
        f"Reading takes {setup:.0f} seconds and an epoch {epoch:.1f}: there is time for {counted(epochs, 'epoch')} of "
        f"training and {counted(trials, 'trial')} before"
    )
    return Plan(0 if is_small else trials, epochs)


def _pilot(config: Config) -> tuple[float, float]:
    """The seconds for reading the corpora and initialising, and for an epoch and its evaluation."""
    started = time.monotonic()
    nlp = init_nlp(config)
    _, train_corpus, dev_corpus = training_of(nlp)
    examples = list(train_corpus(nlp))
    nlp.update(examples)  # The first update loads kernels, and meets new examples.
    list(dev_corpus(nlp))
    middle = time.monotonic()
    nlp.update(examples)
    nlp.evaluate(dev_corpus(nlp))
    return middle - started, time.monotonic() - middle


def _learn_dev(run: CommandRun, config_path: Path, config: Config, epochs: int) -> None:
    """Train for as many epochs on both corpora, put together in a folder."""
    both = run.folder / "train-and-dev"
    shutil.rmtree(both, ignore_errors=True)
    both.mkdir()
    for part in ("train", "dev"):
        for number, file in enumerate(corpus_files(Path(config["paths"][part]))):
            shutil.copy(file, both / f"{part}-{number}{file.suffix}")
    run.do(
        *("train", config_path, "--output", run.folder / "with-dev", "--paths.train", both),
        *("--training.max_epochs", epochs, "--training.patience", 0),
    )


def _show_end(run: CommandRun, best: dict[str, Any], learn_dev: bool) -> None:
    model = run.folder / ("with-dev/model-last" if learn_dev else "model-best")
    size = sum(file.stat().st_size for file in model.rglob("*") if file.is_file())
    scores = util.load_meta(run.folder / "model-best" / "meta.json")["performance"]  # as compressed
    weights = util.load_config(run.folder / "model-best" / "config.cfg")["training"]["score_weights"]
    named = [
        f"{name} {100 * scores[name]:.2f}"
        for name, weight in weights.items()
        if weight and scores.get(name) is not None
    ]
    msg.divider("Result")
    msg.good(
        f"{model}, {size / 1e6:.1f} MB: {', '.join(named)} on the development corpus, after epoch {best['epoch'] + 1}"
    )
    if learn_dev:
        msg.info("The scores are those before the development corpus was learnt from, too")
    msg.text(f'To use it: nlp = spacy.load("{model}")')
    msg.text(f"Its mistakes: {run.folder / 'report.html'}. All commands: {run.folder / COMMANDS}")
