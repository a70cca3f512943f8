"""The loop of training by workers: `spacy.training.loop.train`, but for batches, and from any step.

Its checkpoint is kept on disk: the same command resumes after it has been killed.
"""

import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import IO, Any

from spacy.language import Language
from spacy.schemas import ConfigSchemaTraining
from spacy.training.loop import (
    DIR_MODEL_BEST,
    DIR_MODEL_LAST,
    clean_output_dir,
    create_before_to_disk_callback,
    create_evaluation_callback,
    update_meta,
)
from spacy.util import fix_random_seed, registry, resolve_dot_names
from wasabi import Printer

from ..files import replace_files
from ..training import state_file
from .shared_training import SharedTraining

RUN, LOOP = "run", "loop"
"""Names in the folder: the identity of the run, and the state of its loop."""


class Checkpoint:
    """A folder with the state of a run, and the files of its workers.

    Args:
        output: the folder of the pipelines.
        of: identifies the run.
    """

    def __init__(self, output: Path, of: bytes) -> None:
        self.folder = output / "ssvm-workers"
        self._of = of

    def exists(self) -> bool:
        """Whether there is anything of this run."""
        return (self.folder / RUN).is_file() and (self.folder / RUN).read_bytes() == self._of

    def remove(self) -> None:
        """Remove the folder, even of another run."""
        # First, so that nobody goes on with what is half removed.
        (self.folder / RUN).unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def begin(self) -> None:
        """Mark the folder, which has the files that workers read, as this run's."""
        replace_files(self.folder, {RUN: self._of})

    def has_epochs(self) -> bool:
        """Whether `save` has saved the state of any component."""
        return any(self.folder.glob("*.training"))

    def state(self, component: str) -> dict[str, Any] | None:
        """The state that `save` has kept; None if there is none."""
        path = self.folder / f"{component}.training"
        return state_file.read(path) if path.is_file() else None

    def save(self, component: str, state: dict[str, Any]) -> None:
        """Keep the state of a component's training, in place of the last one."""
        replace_files(self.folder, {f"{component}.training": state_file.parts(state)})

    def loop(self) -> dict[str, Any] | None:
        """The state that `save_loop` has kept; None where there is none."""
        path = self.folder / LOOP
        return state_file.unpack(path.read_bytes()) if path.is_file() else None

    def save_loop(self, state: dict[str, Any]) -> None:
        """Keep the state of the loop, which every component's training has reached or is one epoch ahead of."""
        replace_files(self.folder, {LOOP: state_file.pack(state)})


@dataclass
class LoopState:
    """Where the loop is, between two steps.

    Attributes:
        step: the number of the next one.
        results: score and step of each evaluation.
        losses: summed up since the last evaluation.
        performance: as in the pipeline's meta.
        strings: added to the vocabulary by evaluations.
    """

    step: int = 0
    results: list[tuple[float, int]] = field(default_factory=list)
    losses: dict[str, float] = field(default_factory=dict)
    performance: dict[str, Any] = field(default_factory=dict)
    strings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        # A file has lists.
        self.results = [(score, step) for score, step in self.results]

    def is_last(self, settings: Mapping[str, Any]) -> bool:
        """Whether training has ended, by its settings."""
        if not self.step:
            return False
        latest, patience, max_steps = self.step - 1, settings["patience"], settings["max_steps"]
        # Of equal scores, the first one counts.
        best = -max((score, -step) for score, step in self.results)[1]
        is_exhausted = bool(max_steps) and latest >= max_steps
        return self.step == settings["max_epochs"] or is_exhausted or bool(patience and latest - best >= patience)


def run(
    nlp: Language,
    trainings: Mapping[str, SharedTraining],
    checkpoint: Checkpoint,
    output: Path,
    stdout: IO[str] = sys.stdout,
    stderr: IO[str] = sys.stderr,
) -> None:
    """Train an initialized pipeline until its settings end it, from the step that the checkpoint has.

    Args:
        trainings: of each component that learns, by name.

    Raises:
        Exception: raised by a component or a callback; the pipeline is saved first.
    """
    message, config = Printer(no_print=True), nlp.config.interpolate()
    if config["training"]["seed"] is not None:
        fix_random_seed(config["training"]["seed"])
    settings = registry.resolve(config["training"], schema=ConfigSchemaTraining)
    (dev_corpus,) = resolve_dot_names(config, [settings["dev_corpus"]])
    evaluate = create_evaluation_callback(nlp, dev_corpus, settings["score_weights"])
    before_to_disk = create_before_to_disk_callback(settings["before_to_disk"])
    best, last, frozen = output / DIR_MODEL_BEST, output / DIR_MODEL_LAST, settings["frozen_components"]
    initial, kept, began = set(nlp.vocab.strings), checkpoint.loop(), monotonic()
    state = LoopState(**(kept or {}))
    if kept is None:
        clean_output_dir(output)
    else:
        nlp.meta["performance"] = state.performance
        for string in state.strings:
            nlp.vocab.strings.add(string)
    stdout.write(f"{message.info(f'Pipeline: {nlp.pipe_names}')}\n")
    if frozen:
        stdout.write(f"{message.info(f'Frozen components: {frozen}')}\n")
    with nlp.select_pipes(disable=frozen):
        log_step, finalize = settings["logger"](nlp, stdout, stderr)
    try:
        while not state.is_last(settings):
            if state.step:
                checkpoint.save_loop(vars(state))
            step = state.step
            if settings["before_update"]:
                settings["before_update"](nlp, {"step": step, "epoch": step})
            _update(nlp, trainings, state)
            state.step += 1
            if step % settings["eval_frequency"]:
                log_step(None)
                continue
            score, scores = evaluate()
            state.results.append((score, step))
            info = {
                "epoch": step,
                "step": step,
                "score": score,
                "other_scores": scores,
                "losses": state.losses,
                "checkpoints": state.results,
                "seconds": int(monotonic() - began),
                "words": 0,
            }
            with nlp.select_pipes(disable=frozen):
                update_meta(settings, nlp, info)
            before_to_disk(nlp).to_disk(last)
            if score == max(state.results)[0]:
                if best.exists():
                    shutil.rmtree(best)
                shutil.copytree(last, best)
            log_step({**info, "output_path": str(last)})
            state.losses, state.performance = {}, nlp.meta["performance"]
            state.strings = [string for string in nlp.vocab.strings if string not in initial]
    except Exception as error:
        stdout.write(f"{message.warn(f'Aborting and saving the final best model. Encountered exception: {error!r}')}\n")
        raise
    finally:
        finalize()
        before_to_disk(nlp).to_disk(last)
    stdout.write(f"{message.good('Saved pipeline to output directory', last)}\n")


def _update(nlp: Language, trainings: Mapping[str, SharedTraining], state: LoopState) -> None:
    """An epoch of each component that has not run it before the loop was ended."""
    for name, training in trainings.items():
        if training.epochs > state.step:
            assert training.figures is not None
            loss = training.figures.loss
        else:
            pipe = nlp.get_pipe(name)
            # A predictor's weights would take memory while the solver learns.
            pipe.trained = pipe.trained.without_predictor()  # type: ignore[attr-defined]
            loss = training.update(None)
        state.losses[name] = state.losses.get(name, 0.0) + loss
