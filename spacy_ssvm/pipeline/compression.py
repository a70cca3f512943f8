"""Compression when training has ended: for each component the fewest bits that cost nothing on a development corpus."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from spacy import util
from spacy.language import Language
from spacy.training import Example

from ..models import store
from ..models.packing import EXACT, Packing
from .component import SsvmPipe

CANDIDATES = tuple(Packing("int8", keep) for keep in (0.4, 0.7, 1.0))
"""From the smallest file to the largest; few, as each that is tried annotates the development corpus. A corpus of a few
sentences lets all of them pass, so none may be one that costs much elsewhere."""

MAX_MORE_ERRORS = 0.004
"""The max relative growth of a component's errors, 1 − score: 0.06 points of an LAS of 84, and 0.02 of an accuracy of
95."""

ROUNDING = 1e-9
"""The rounding error of a computed score."""

Corpus = Callable[[Language], Iterable[Example]]


class _Run(NamedTuple):
    """The examples as a component has annotated them, and its scores."""

    examples: Sequence[Example]
    scores: Mapping[str, Any]


def set_packing(nlp: Language, name: str, packing: Packing) -> None:
    """Save a component of ours with this packing from now on, and note it in the config.

    Raises:
        ValueError: the component was loaded from a file whose weights are pruned or rounded already.
    """
    pipe: Any = nlp.get_pipe(name)
    pipe.compress(packing)
    nlp.get_pipe_config(name).update(asdict(packing))


def compress_pipeline(path: Path, dev_corpus: Corpus, score_weights: Mapping[str, float | None]) -> list[str]:
    """Save a pipeline anew, each component of ours with the smallest of CANDIDATES that adds at most MAX_MORE_ERRORS,
    and with the scores that it has then. A component stays as it is if no candidate is good enough, if it has no score,
    or if it is compressed already.

    Args:
        path: the folder of the pipeline.
        score_weights: of the config. A component is judged by its scores with a weight above 0; if it has none, by the
            ones of weight 0.

    Returns:
        For each component of ours, a line with the choice and its cost.
    """
    nlp = util.load_model(path)
    examples: Sequence[Example] = list(dev_corpus(nlp))
    performance = nlp.meta["performance"]
    sizes, choices = dict[str, float](), dict[str, str]()
    for name in nlp.pipe_names:
        pipe, run = nlp.get_pipe(name), _run(nlp, name, examples)
        if isinstance(pipe, SsvmPipe):
            sizes[name] = _megabytes(path, name)
            judged = _judged(run.scores, score_weights)
            if not store.is_exact(pipe.model):
                choices[name] = "as it was loaded"
            elif not judged:
                choices[name] = "exact, as it has no score"
            else:
                exact, (packing, run) = run.scores, _smallest(nlp, name, examples, run, judged)
                costs = (f"{key} {100 * exact[key]:.2f} to {100 * run.scores[key]:.2f}" for key in judged)
                choices[name] = f"{_described(packing)}, {', '.join(costs)}"
            pipe.trained = pipe.trained.without_predictor()
        examples = run.examples
        performance.update({key: run.scores[key] for key in performance if run.scores.get(key) is not None})
    nlp.to_disk(path)
    return [
        f"{name}: {sizes[name]:.2f} to {_megabytes(path, name):.2f} MB, {choice}" for name, choice in choices.items()
    ]


def _smallest(
    nlp: Language, name: str, examples: Sequence[Example], exact: _Run, judged: Sequence[str]
) -> tuple[Packing, _Run]:
    """Set the smallest packing that costs nothing; returns it and its run. exact: the run without packing."""
    smallest = EXACT, exact

    def costs_nothing(packing: Packing) -> bool:
        nonlocal smallest
        set_packing(nlp, name, packing)
        run = _run(nlp, name, examples)
        passes = all(
            1 - run.scores[key] <= (1 + MAX_MORE_ERRORS) * (1 - exact.scores[key]) + ROUNDING for key in judged
        )
        if passes:
            smallest = packing, run
        return passes

    # The more weights, the fewer errors: what passes last is the smallest.
    bisect_left(CANDIDATES, True, key=costs_nothing)
    set_packing(nlp, name, smallest[0])
    return smallest


def _run(nlp: Language, name: str, examples: Sequence[Example]) -> _Run:
    """Annotate copies of the predicted Docs by this component alone."""
    with nlp.select_pipes(enable=name):
        docs = nlp.pipe([example.predicted.copy() for example in examples])
        annotated = [Example(doc, example.reference) for doc, example in zip(docs, examples)]
        pipe = nlp.get_pipe(name)
        return _Run(annotated, pipe.score(annotated) if hasattr(pipe, "score") else {})


def _judged(scores: Mapping[str, Any], score_weights: Mapping[str, float | None]) -> list[str]:
    """The names of the scores by which a component is judged."""
    weights = {key: weight for key, weight in score_weights.items() if isinstance(scores.get(key), float)}
    return [key for key, weight in weights.items() if weight] or [
        key for key, weight in weights.items() if weight is not None
    ]


def _described(packing: Packing) -> str:
    if packing == EXACT:
        return "exact"
    kept = "all weights" if packing.keep_fraction == 1 else f"{packing.keep_fraction:.0%} of the weights"
    return f"{packing.weight_dtype}, {kept}"


def _megabytes(path: Path, name: str) -> float:
    return sum(file.stat().st_size for file in (path / name).iterdir()) / 1e6
