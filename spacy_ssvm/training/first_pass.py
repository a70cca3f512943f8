"""First passes, which are learnt from all examples before the solver learns.

Later corrections change them, too: no tree has a head that its first pass drops, whatever the weights of the trees are.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatch
from time import perf_counter
from typing import Any

import numpy as np

from ..features.columns import Columns
from ..features.document import links
from ..models.chain.first_pass import LabelExamples, LearntLabels
from ..models.chain.weights import in_use
from ..models.protocol import Batch, DataSet, Pruned, StructuredModel, TwoPasses
from ..models.tree.candidates import BITS, ArcFirstPass, HeadExamples, maximum_likelihood, ranking, ranking_losses
from ..structures.tree.parts import UNKNOWN
from .jackknife import Labelling, annotated_documents, frequent_features

LOGGER = logging.getLogger("spacy")

FOLDS = 5

LONGEST = 25
"""The max number of tokens that the first pass of a chain learns from at once."""

EPOCHS = 6

LEARNING_RATE = 0.1
"""AdaGrad's, for the first pass of a parser."""

MAX_STEPS = 10
"""The max number of steps of a correction."""


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


def keep_gold(data: DataSet, docs: np.ndarray) -> None:
    """Change the first pass, if there is one, so that it keeps the gold structures of these Docs, int64."""
    if isinstance(data, Pruned):
        data.first_pass = admitting(data.first_pass, *data.gold_heads(docs))


def admitting(first_pass: ArcFirstPass, columns: Columns, heads: np.ndarray) -> ArcFirstPass:
    """The first pass after small steps, `MAX_STEPS` at most, that end as soon as it keeps all of these heads.

    A step w ← w − (ℓ/2) ∇ℓ / ‖∇ℓ‖² halves ℓ, the sum of −log P(h) over the heads that are not kept, to first order.

    Args:
        columns: of T tokens.
        heads: int32 [T], UNKNOWN for tokens that may have any head.
    """
    if not len(first_pass.weights):
        return first_pass
    for _ in range(MAX_STEPS):
        missing = (heads != UNKNOWN) & ~first_pass.keeps(columns, heads)[0]
        if not missing.any():
            break
        dropped = np.where(missing, heads, UNKNOWN)
        data = ranking(first_pass.program, first_pass.bits, columns, dropped)
        loss, descent = ranking_losses(data, first_pass.weights.astype(np.float64))
        norm = descent @ descent
        if norm == 0.0:  # Gold heads have the features of others.
            break
        step = loss / 2 / norm
        first_pass = replace(first_pass, weights=(first_pass.weights + step * descent).astype(np.float32))
    return first_pass
