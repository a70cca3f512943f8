"""The checkpoint that the driver of a training keeps on disk: the same command resumes after it has been killed.

spaCy's loop cannot begin in the middle. So it begins anew, and updates and evaluations repeat what they have returned,
up to the last epoch that is kept.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.training.loop import DIR_MODEL_BEST

from ..files import replace_files
from ..training import state_file
from .shared_training import SharedTraining

RUN, SCORES, BEST, SPENT = "run", "scores", "best", "spent"
"""Names in the folder: what identifies the run, the results of its evaluations, the best pipeline so far, and the one
before it, which is about to be removed."""


class Checkpoint:
    """A folder with what is kept of a run; other files in it are those of its workers.

    output: the folder of the pipelines. of: identifies the run.
    """

    def __init__(self, output: Path, of: bytes) -> None:
        self.folder = output / "ssvm-workers"
        self._output = output
        self._of = of

    def exists(self) -> bool:
        """Whether there is anything of this run."""
        return (self.folder / RUN).is_file() and (self.folder / RUN).read_bytes() == self._of

    def remove(self) -> None:
        """Remove the folder, whatever run it is of."""
        # First, so that nobody goes on with what is half removed.
        (self.folder / RUN).unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def begin(self) -> None:
        """From now on the folder, which has the files that workers read, is of this run."""
        replace_files(self.folder, {RUN: self._of})

    def has_epochs(self) -> bool:
        """Whether `save` has saved the state of any component."""
        return any(self.folder.glob("*.training"))

    def state(self, component: str) -> dict[str, Any] | None:
        """The state that `save` has kept; None where there is none."""
        path = self.folder / f"{component}.training"
        return state_file.read(path) if path.is_file() else None

    def save(self, component: str, state: dict[str, Any]) -> None:
        """Keep the state of a component's training, in place of the last one."""
        replace_files(self.folder, {f"{component}.training": state_file.parts(state)})

    def follow(self, nlp: Language, trainings: Sequence[SharedTraining]) -> None:
        """Keep the results of the pipeline's evaluations, and repeat those that are kept.

        Until the trainings have repeated all of their epochs, the best pipeline so far is saved in place of others,
        whose weights are not there any more.
        """
        path, best = self.folder / SCORES, self.folder / BEST
        shutil.rmtree(self.folder / SPENT, ignore_errors=True)
        if (self._output / DIR_MODEL_BEST).is_dir() and not best.is_dir() and path.is_file():
            # The loop removes it from where it is.
            (self._output / DIR_MODEL_BEST).rename(best)
        kept = state_file.unpack(path.read_bytes())["scores"] if path.is_file() else []
        evaluate, to_disk = nlp.evaluate, nlp.to_disk
        repeated = iter(list(kept))

        def evaluate_or_repeat(*arguments: Any, **settings: Any) -> dict[str, Any]:
            scores: dict[str, Any] | None = next(repeated, None)
            if scores is None:
                scores = evaluate(*arguments, **settings)
                kept.append(scores)
                replace_files(self.folder, {SCORES: state_file.pack({"scores": kept})})
            return scores

        def save_or_repeat(target: Path, **settings: Any) -> None:
            if best.is_dir() and any(training.repeats for training in trainings):
                shutil.rmtree(target, ignore_errors=True)
                shutil.copytree(best, target)
            else:
                to_disk(target, **settings)
                if best.is_dir():
                    # In one move, so that what is half removed does not count as the best pipeline.
                    best.rename(self.folder / SPENT)
                    shutil.rmtree(self.folder / SPENT, ignore_errors=True)

        nlp.evaluate = evaluate_or_repeat  # type: ignore[method-assign]
        nlp.to_disk = save_or_repeat  # type: ignore[assignment, method-assign]
