"""The protocols between a model and the layers above it, the same for every structure.

An *output space* belongs to a component: it has the labels, and the constraints that a Doc sets. A *structured model*
binds templates to it. It makes data sets for training, a predictor from weights, and keeps weights in a thinc Model.
Nothing above asks which structure it is.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeGuard, runtime_checkable

import numpy as np
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.api import Model

from ..features.columns import ColumnReader
from ..features.index import Columns
from ..registry import ssvm_models
from ..solvers.problem import Problem
from .documents import Documents
from .named_parts import FactorFeatures, ScoredSequence
from .packing import EXACT, Packing
from .store import Saved

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True)
class Settings:
    """The settings that all components share.

    Attributes:
        n_threads: how many threads predict, and call oracles at a fixed w.
        packing: how weights are saved, and rounded for prediction; a solver learns with exact ones.
        save_solver_state: whether the state of the solver is saved and loaded, too, so that learning goes on as if it
            had not been interrupted.
        save_feature_names: whether names of features are collected in training and saved, where the structure has any.
        corrections: whether a loaded component learns by corrections of its weights; if not, by its solver, from these
            weights.
    """

    n_threads: int = 1
    packing: Packing = EXACT
    save_solver_state: bool = False
    save_feature_names: bool = False
    corrections: bool = True


class OutputSpace(Protocol):
    """The labels of a component, and the limits that Docs set to structures of them, as a structured model reads them.

    Attributes:
        structure: the name of the thinc Models that it goes with, in the registry `ssvm_models`.
        architecture: the registered one that makes such Models.
        name: of the component, for messages.
        labels: the L weight labels, in order.
        constraining: spaCy's numbers of token attributes that limit structures in training, and that other components
            may change.
    """

    @property
    def structure(self) -> str: ...

    @property
    def architecture(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def labels(self) -> tuple[str, ...]: ...

    @property
    def constraining(self) -> tuple[int, ...]: ...


class Batch(Protocol):
    """Docs as the structured model has encoded them, with their gold annotation, for its data set."""

    def take(self, docs: list[int]) -> "Self":
        """The batch with these Docs only."""

    def digests(self) -> list[bytes]:
        """DIGEST_SIZE bytes for each Doc, equal for equal input and annotation."""


class DataSet(Protocol):
    """The Docs that are learnt from, as examples of a solver; one Doc can hold several of them."""

    @property
    def docs(self) -> Documents:
        """Where the examples of each Doc are."""

    def add(self, encoded: Any) -> np.ndarray:
        """Append the Docs of a batch; returns those of their examples, int64, whose gold had to be projected onto a
        structure of the output space."""

    def reserve(self, sizes: np.ndarray) -> None:
        """Append Docs of so many examples without tokens, int64 [n], whose places others can take."""

    def replace_by_last(self, docs: list[int]) -> None:
        """Move the Docs that were added last to the places of these, in the same order."""

    def problem(self) -> Problem:
        """All examples; the same object until something is added or replaced."""

    def dimension(self) -> int:
        """Present length of the weight vector."""

    def state(self) -> list[np.ndarray]:
        """The data that map features to weights, for `Start.state`: one array, or several."""

    def without_docs(self) -> "DataSet":
        """A data set without Docs, with the same features."""


@runtime_checkable
class PartlyKnown(DataSet, Protocol):
    """A data set whose gold structures may be known in part, and are completed."""

    def is_incomplete(self) -> bool:
        """Whether any gold structure is known in part only."""

    def complete(self, docs: np.ndarray | None, weights: np.ndarray, for_good: bool = False) -> np.ndarray:
        """Complete the gold structures of these Docs, int64, or of all, with the best structures by these weights.

        Args:
            for_good: from then on the completion of all Docs counts as annotated, and a prediction that differs from it
                has a loss. Labels without any weight, which are new, are then left out of a chain's completions.

        Returns the examples that have changed, int64; the planes of their old completion are void.
        """

    def gold(self, doc: int) -> np.ndarray:
        """The present gold structures of a Doc, completed, int32."""

    def set_gold(self, doc: int, gold: np.ndarray) -> None:
        """Restore gold structures that `gold` returned for the same Doc.

        Raises:
            ValueError: these cannot be gold structures of this Doc.
        """


def is_incomplete(data: DataSet) -> TypeGuard[PartlyKnown]:
    """Whether any gold structure is known in part only."""
    return isinstance(data, PartlyKnown) and data.is_incomplete()


@runtime_checkable
class ManyLayouts(DataSet, Protocol):
    """A data set whose vectors of weights can have several layouts; all others have the weights of all rows, by row.

    By row, all weights of a feature lie side by side: for every solver and any number of threads. By use, weights are
    numbered in the order in which the max-oracle first writes them: for solvers that call no other oracle, and in one
    thread. Places never written to take no memory, as weights in use lie side by side.
    """

    def number_weights(self, by_use: bool) -> None:
        """Number weights by use, if training starts from zero, or by row, with all initial weights: solvers other than
        the corrections' also move features that no Doc has."""

    def by_row(self, vector: np.ndarray) -> np.ndarray:
        """A vector of weights, float64 [d], by row."""

    def problem_by_row(self) -> Problem:
        """`problem`, with the weights by row."""

    @property
    def initial(self) -> Callable[[int], np.ndarray] | None:
        """(first) → the weights from number `first` on that training starts from, float [d − first]; None where these
        are 0."""


@runtime_checkable
class Pruned(DataSet, Protocol):
    """A data set with a first pass, which can keep gold structures from being predicted, whatever the weights are.

    Attributes:
        first_pass: a frozen dataclass with `weights`, float32.
    """

    first_pass: Any

    def gold_heads(self, docs: np.ndarray) -> tuple[Columns, np.ndarray]:
        """The tokens of these Docs, int64, and their present gold heads, int32."""


class Rows(NamedTuple):
    """Where the weights of features lie in a vector by row: `width` of them for each row, from number `first` on.

    Attributes:
        keys: uint64 [R], of the rows; without keys, all vectors of the model have one layout.
        counts: int [R], how often each row of weights occurs.
    """

    keys: np.ndarray
    first: int
    width: int
    counts: np.ndarray


@runtime_checkable
class Sharded(DataSet, Protocol):
    """A data set that several workers can learn from, each with a shard of the Docs."""

    def rows(self) -> Rows:
        """The layout of a vector by row."""

    def shared(self) -> np.ndarray:
        """Numbers that all data sets of one training have to share, float [m]: the mean of theirs."""

    def with_shared(self, shared: np.ndarray) -> "Sharded":
        """A data set without Docs that shares this with others."""

    def of_rows(self, keys: np.ndarray, seen: np.ndarray) -> "DataSet":
        """A data set without Docs that has the features with these keys, as `rows`, which were seen as often.

        Args:
            seen: uint8 [R], log₂(1 + n), rounded.
        """


class Weights(Protocol):
    """The weights of a model to predict with, of a type of the structure's own, such as `packing.Masked`."""

    def size(self) -> tuple[int, int]:
        """The number of non-zero weights, and of all weights."""


Predictor = Callable[[Sequence[Doc]], Callable[[], Sequence[Any]]]
"""Reads Docs; returns a function that predicts, in any thread, an item for each Doc, with weights that are fixed.

Both may raise a Contradiction: no structure agrees with a Doc and the setting `patterns`. Data stored about word types
has to be dropped with their `features.columns.Generation`.
"""


@runtime_checkable
class ScoringPredictor(Protocol):
    """A `Predictor` that knows the scores of all structures: for the k best, confidence, explanations, calibration."""

    def __call__(self, docs: Sequence[Doc]) -> Callable[[], Sequence[Any]]: ...

    def scored(self, docs: Sequence[Doc]) -> list[list[ScoredSequence]]:
        """For each Doc its sequences (the Doc itself, or its sentences) with the scores of all their structures.

        Raises:
            Contradiction: no structure agrees with a Doc and the setting `patterns`.
            ValueError: the structure is not decoded exactly.
        """

    def explained(self, doc: Doc) -> Sequence[tuple[ScoredSequence, FactorFeatures[Any]]]:
        """The sequences of one Doc with their scores, and the features that fire in each."""


class Start(NamedTuple):
    """The start of training: from zero by default.

    Attributes:
        weights: `Weights` to start from.
        only_present: whether training corrects the weights: features that no Doc has keep theirs, so that the data set
            may leave them out, and unless there are new labels, Docs are not cut, as in prediction.
        first_pass: for training from zero, learnt by `training.first_pass`.
        state: `DataSet.state`, if saved training resumes; the solver's state then has the weights.
        new_labels: the component's labels that corrections are to learn, because the loaded weights lack them.
    """

    weights: Any = None
    only_present: bool = False
    first_pass: Any = None
    state: Sequence[np.ndarray] | None = None
    new_labels: tuple[str, ...] = ()


class StructuredModel(Protocol):
    """Templates bound to an output space.

    A shallow copy gets another space or other settings, so that nothing but labels may be derived from these and kept.
    """

    space: Any
    settings: Settings

    def __init__(self, model: Model, space: Any, vocab: Vocab, settings: Settings) -> None: ...

    @property
    def reader(self) -> ColumnReader:
        """Reads the columns that the templates name."""

    def encode(self, examples: Sequence[Example], gold: Sequence[Any]) -> Batch:
        """A batch for the data set, from examples and their gold annotation, each as the component's codec reads it.

        There may be no examples.
        """

    def data_set(self, start: Start) -> "tuple[DataSet, np.ndarray | None]":
        """A data set without Docs, and the vector that training starts from: float64 or float32 [d], None for zero.

        Raises:
            ValueError: the state belongs to another model.
        """

    def trained(self, data: "DataSet", vector: np.ndarray) -> Any:
        """The `Weights` to predict with and to save, from a solver's vector, float64 [d]."""

    def predictor(self, weights: Any) -> Predictor:
        """A predictor with these weights."""

    def store(self, weights: Any, packing: Packing = EXACT, saved: Saved | None = None) -> None:
        """Put the weights into the thinc Model, with zeros for labels appended since.

        Args:
            saved: the file from which training has started, maybe with fewer labels; None for zero.

        Raises:
            ValueError: a weight is not finite, or too large to be loaded.
        """

    def load(self) -> Any:
        """Take the `Weights` out of the thinc Model; without any, all are zero.

        Raises:
            DamagedModel: an array is damaged, or of a wrong type, shape or range.
            ValueError: the architecture cannot have made the attributes of the thinc Model.
        """


@runtime_checkable
class TwoPasses(Protocol):
    """A structured model with a first pass, which is learnt before the solver learns."""

    def first_pass_examples(self, batches: Sequence[Any]) -> Any:
        """Examples of a first pass, from one or more batches; None if there is nothing to learn.

        `training.first_pass.learn` learns from them by their type, for which a function is registered there.
        """


def require_architecture(model: Model, space: OutputSpace) -> None:
    """Raise a ValueError where a thinc Model is of another architecture than the output space is for."""
    if model.name != space.structure:
        raise ValueError(f'[{space.name}] model must be of the architecture "{space.architecture}", not {model.name!r}')


def bind(model: Model, space: OutputSpace, vocab: Vocab, settings: Settings) -> StructuredModel:
    """The structured model of a thinc Model, found by its name in the registry `ssvm_models`."""
    made: StructuredModel = ssvm_models.get(model.name)(model, space, vocab, settings)
    return made
