"""Our components before they learn: what epochs, growth and threads are measured on."""

import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from spacy import util
from spacy.training import Example

from spacy_ssvm.registry import ssvm_solvers
from spacy_ssvm.solvers.learner import Learner, run_epoch, start

from .training import CONFIGS


class Initialized(NamedTuple):
    """A pipeline that knows its examples, and the CPU seconds of reading and of taking them in."""

    nlp: Any
    examples: list[Example]
    reading: float
    initializing: float

    @property
    def pipe(self) -> Any:
        """The component that learns."""
        return self.nlp.get_pipe(self.nlp.pipe_names[-1])


def initialize(config: str, train: Path, limit: int | None = None, **overrides: Any) -> Initialized:
    """A pipeline of `configs` with the first sentences of a corpus; overrides: keys with "__" for dots."""
    given = {key.replace("__", "."): value for key, value in overrides.items()}
    given |= {"paths.train": str(train), "paths.dev": str(train), "corpora.train.limit": limit or 0}
    nlp = util.load_model_from_config(util.load_config(CONFIGS / f"{config}.cfg", given), auto_fill=True)
    (corpus,) = util.resolve_dot_names(nlp.config.interpolate(), ["corpora.train"])
    started = time.process_time()
    examples = list(corpus(nlp))
    read = time.process_time()
    nlp.initialize(lambda: examples)
    return Initialized(nlp, examples, read - started, time.process_time() - read)


def learner(solver: str, problem: Any, n_threads: int = 1, **settings: Any) -> Learner:
    """A solver before its first epoch, its kernels compiled."""
    parameters = ssvm_solvers.get(f"spacy-ssvm.{solver}.v1")(**settings)
    epoch(start(parameters, problem), range(min(8, problem.n_examples)))
    return start(parameters, problem, n_threads=n_threads)


def epoch(learner: Learner, examples: Any, clock: Any = time.process_time) -> float:
    """Seconds of one epoch over these examples, in this order."""
    started = clock()
    run_epoch(learner, np.random.default_rng(0), np.asarray(examples, np.int64))
    return clock() - started
