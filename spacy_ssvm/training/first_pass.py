"""First passes, which are learnt from all examples before the solver learns."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatch
from time import perf_counter
from typing import Any

import numpy as np

from ..features.document import links
from ..models.chain.first_pass import LabelExamples, LearntLabels
from ..models.chain.weights import in_use
from ..models.protocol import Batch, StructuredModel, TwoPasses
from ..models.tree.candidates import BITS, HeadExamples, maximum_likelihood, ranking
from ..structures.tree.parts import UNKNOWN
from .jackknife import Labelling, annotated_documents, frequent_features

LOGGER = logging.getLogger("spacy")

FOLDS = 5

LONGEST = 25
"""The max number of tokens that the first pass of a chain learns from at once."""

EPOCHS = 6

LEARNING_RATE = 0.1
"""AdaGrad's, for the first pass of a parser."""


def learnt_first_pass(model: StructuredModel, batches: Sequence[Batch], seed: int) -> Any:
    """The first pass for `Start.first_pass`, learnt from these batches; None if there is nothing to learn."""
    examples = model.first_pass_examples(batches) if batches and isinstance(model, TwoPasses) else None
    return None if examples is None else learn(examples, model.space.name, seed)


@singledispatch
def learn(examples: Any, name: str, seed: int) -> Any:
    """The first pass that learns from these examples; logs how good it is, under the component's name."""
    raise TypeError(
        f"[{name}] no first pass learns from {type(examples).__name__}: register a function for it at `learn`"
    )


@learn.register
def _learnt_labels(examples: LabelExamples, name: str, seed: int) -> LearntLabels | None:
    began = perf_counter()
    columns, labels, n_labels = examples.columns, examples.labels, examples.n_labels
    known = labels >= 0
    if annotated_documents(columns.starts, known).sum() < 2:
        return None
    features = frequent_features(columns, examples.program).for_labels(n_labels)
    labelling = Labelling(features, columns.starts, labels, n_labels, seed, LONGEST)
    jackknifed = labelling.jackknifed(FOLDS)
    vector = labelling.learnt().astype(np.float32)
    indices = np.flatnonzero(vector)
    weights = in_use(indices, vector[indices], features.keys, 0, n_labels, None)
    parts = np.split(jackknifed, columns.starts[1:-1])
    previous, following = links(columns.starts, columns.keys[examples.words])
    LOGGER.info(
        "[%s] the first pass: accuracy %.2f on Docs that it has not learnt from; the words of %.0f %% of the tokens "
        "occur again in their Doc; %.1f s",
        name,
        100 * (jackknifed == labels)[known].mean(),
        100 * ((previous >= 0) | (following >= 0)).mean(),
        perf_counter() - began,
    )
    return LearntLabels(weights, dict(zip(examples.digests, parts)))


@learn.register
def _learnt_heads(examples: HeadExamples, name: str, seed: int) -> np.ndarray:
    columns, heads, first_pass = examples
    data = ranking(first_pass.program, BITS, columns, heads)
    weights = maximum_likelihood(data, EPOCHS, LEARNING_RATE, seed).astype(np.float32)
    is_kept, n_candidates = replace(first_pass, weights=weights).keeps(columns, heads)
    LOGGER.info(
        "[%s] the first pass keeps %.1f heads a token, and %.2f %% of the gold heads",
        name,
        n_candidates / len(heads),
        100 * int(is_kept.sum()) / int((heads != UNKNOWN).sum()),
    )
    return weights
