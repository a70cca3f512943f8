"""The protocols between a model and the layers above it, the same for every structure.

An *output space* belongs to a component: it has labels, and says what a Doc fixes. A *structured model* binds templates
to it. It makes data sets for training, a predictor from weights, and keeps weights in a thinc Model. Nothing above asks
which structure it is.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.api import Model

from ..features.columns import ColumnReader
from ..registry import ssvm_models
from ..solvers.problem import Problem
from .named_parts import FactorFeatures, ScoredSequence
from .packing import EXACT, Packing
from .store import Saved

DIGEST_SIZE = 16
"""Bytes of the digest of a Doc, of its input and its annotation."""


@dataclass(frozen=True)
class Settings:
    """The settings that all components share.

    n_threads: how many threads predict, and call oracles while w stays as it is. packing: how weights are saved, and
    predicted with; a solver learns with exact ones. save_solver_state: whether the state of the solver is saved
    and loaded, too, so that learning goes on as if it had not been interrupted. save_feature_names: whether names of
    features are collected in training and saved, where the structure has any. corrections: whether a loaded component
    learns by corrections of its weights; if not, by its solver, from these weights.
    """

    n_threads: int = 1
    packing: Packing = EXACT
    save_solver_state: bool = False
    save_feature_names: bool = False
    corrections: bool = True


class OutputSpace(Protocol):
    """The labels of a component, and the limits that Docs set to structures of them, as a structured model reads them.

    structure: the name of the thinc Models that it goes with, in the registry `ssvm_models`. architecture: the
    registered one that makes such Models. name: of the component, for messages. labels: the L weight labels, in order.
    constraining: spaCy's numbers of token attributes that limit structures in training, and that other components may
    change.
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


class Rows(NamedTuple):
    """Where the weights of features lie in a vector by row: `width` of them for each row, from number `first` on.

    keys: uint64 [R], of the rows; without keys, all vectors of the model have one layout.
    """

    keys: np.ndarray
    first: int = 0
    width: int = 1


class DataSet(ABC):
    """The Docs that are learnt from, as examples of a solver; one Doc can hold several of them.

    A batch, as the structured model encodes it, has three methods besides what its data set reads: `take(docs)`, the
    same batch with these Docs only; `digests()`, DIGEST_SIZE bytes for each Doc, equal for equal input and
    annotation; and, of a batch without Docs, `reserved(sizes)`, Docs of so many examples without tokens, whose places
    others can take.
    """

    impossible: str
    """An example of annotation that the structure does not allow, for a warning."""

    @abstractmethod
    def add(self, encoded: Any) -> np.ndarray:
        """Append Docs; returns those of their examples, int64, whose gold had to be projected onto a structure of the
        output space."""

    @abstractmethod
    def replace_by_last(self, docs: list[int]) -> None:
        """Move the Docs that were added last to the places of these, in the same order."""

    @abstractmethod
    def problem(self) -> Problem:
        """All examples; the same object until something is added or replaced."""

    def problem_by_row(self) -> Problem:
        """The same with the weights of each feature side by side, for every solver and any number of threads."""
        return self.problem()

    def release_index(self) -> None:
        """Give up what is needed to add Docs; it is made anew if some are added. By default, there is nothing."""
        return None

    def number_weights(self, by_use: bool) -> None:
        """Number weights in the order in which the max-oracle first writes them, for solvers that call no other oracle,
        and in one thread, or else by row: from now on, of all vectors but those of `problem_by_row`.

        What nobody writes to takes no memory, if weights in use lie side by side. A structure may leave them as they
        are, as it does by default.
        """
        return None

    def by_row(self, vector: np.ndarray) -> np.ndarray:
        """A vector of weights, float64 [d], numbered by row."""
        return vector

    @abstractmethod
    def dimension(self) -> int:
        """Present length of the weight vector."""

    def initial(self, first: int) -> np.ndarray | None:
        """The weights from number `first` on that training starts from, float [d − first]; None where these are 0."""
        return None

    def take_all_rows(self) -> None:
        """Number all weights that training starts from, those of features that no Doc has, too: other solvers than that
        of corrections move them. By default, there are none."""
        return None

    @abstractmethod
    def examples_of(self, docs: np.ndarray) -> np.ndarray:
        """The examples, int64, of these Docs, int64."""

    @abstractmethod
    def is_incomplete(self) -> bool:
        """Whether any gold structure is known in part only."""

    @abstractmethod
    def complete(self, docs: np.ndarray | None, weights: np.ndarray) -> np.ndarray:
        """Complete the gold structures of these Docs, int64, or of all, with the best structures by these weights.

        Returns the examples that have changed, int64; the planes of their old completion are void.
        """

    @abstractmethod
    def complete_once(self, weights: np.ndarray) -> None:
        """Complete the gold structures of all Docs in the same way, once: from then on the completion counts as
        annotated, and a prediction that differs from it has a loss.

        Labels without any weight, which are new, are left out of a chain's completions.
        """

    @abstractmethod
    def keep_gold(self, docs: np.ndarray) -> None:
        """Change what excludes gold structures of these Docs, int64, from prediction, whatever the weights are."""

    def rows(self) -> Rows:
        """The layout of a vector by row; by default, all vectors of the model have one."""
        return Rows(np.zeros(0, np.uint64))

    def counts(self) -> np.ndarray:
        """How often each row of weights occurs in these Docs, int [R]; by default, nobody counts."""
        return np.zeros(0, np.int64)

    def seen(self) -> np.ndarray:
        """log₂(1 + n), rounded, uint8, of how often each row of weights was seen in these Docs or in earlier ones; by
        default, nobody counts."""
        return np.zeros(0, np.uint8)

    def shared(self) -> np.ndarray:
        """Numbers that all data sets of one training have to share, float [m]: the mean of theirs; none by default."""
        return np.zeros(0)

    def with_shared(self, shared: np.ndarray) -> "DataSet":
        """A data set without Docs that shares this with others."""
        return self.without_docs()

    def of_rows(self, keys: np.ndarray, seen: np.ndarray) -> "DataSet":
        """A data set without Docs that has the features with these keys, as `rows`, which were seen as often."""
        return self.without_docs()

    @abstractmethod
    def index(self) -> np.ndarray:
        """The data that maps features to weights; `StructuredModel.resumed` takes it."""

    def notes(self) -> list[np.ndarray]:
        """Further arrays for `StructuredModel.resumed`; none by default."""
        return []

    @abstractmethod
    def sizes(self) -> np.ndarray:
        """The number of examples of each Doc, int64 [n]."""

    @abstractmethod
    def gold(self, doc: int) -> np.ndarray:
        """The present gold structures of a Doc, completed, int32."""

    @abstractmethod
    def set_gold(self, doc: int, gold: np.ndarray) -> None:
        """Restore gold structures that `gold` returned for the same Doc.

        Raises:
            ValueError: these cannot be gold structures of this Doc.
        """

    @abstractmethod
    def without_docs(self) -> "DataSet":
        """A data set without Docs, with the same features."""


class Predictor(Protocol):
    """Predicts with fixed weights; other weights need another predictor."""

    weights: Any
    """Weights as `StructuredModel.load` returns them."""

    def prepared(self, docs: Sequence[Doc]) -> Callable[[], Sequence[Any]]:
        """Read the Docs; returns a function that predicts, in any thread, an item for each Doc.

        Raises:
            Contradiction: (also by the function) no structure agrees with a Doc and the setting `patterns`.
        """

    def scored(self, docs: Sequence[Doc]) -> list[list[ScoredSequence]]:
        """For each Doc its sequences (the Doc itself, or its sentences) with the scores of all their structures.

        Raises:
            Contradiction: no structure agrees with a Doc and the setting `patterns`.
            ValueError: the structure is not decoded exactly.
        """

    def explained(self, doc: Doc) -> Sequence[tuple[ScoredSequence, FactorFeatures[Any]]]:
        """The sequences of one Doc with their scores, and the features that fire in each."""

    def forget_types(self) -> None:
        """Drop cached values of word types; they are computed again when needed."""


class StructuredModel(Protocol):
    """Templates and an output space, bound together; with other labels another one is bound."""

    space: Any
    settings: Settings

    def __init__(self, model: Model, space: Any, vocab: Vocab, settings: Settings) -> None: ...

    def check_settings(self) -> None:
        """Raise a ValueError if the architecture cannot have made the attributes of a loaded thinc Model."""

    def load_resources(self, words: Callable[[str], np.ndarray]) -> None:
        """Read the files that the templates name into the thinc Model's attributes.

        words: the keys, uint64, of the lower-cased tokens of a phrase.

        Raises:
            ValueError: a file cannot be read or is malformed.
        """

    @property
    def reader(self) -> ColumnReader:
        """Reads the columns that the templates name."""

    def encode(self, examples: Sequence[Example], gold: Sequence[Any]) -> Any:
        """A batch for the data set, from examples and their gold annotation, each as the component's codec reads it."""

    def start(
        self, weights: Any, batches: Sequence[Any], seed: int, only_present: bool = False
    ) -> "tuple[DataSet, np.ndarray | None]":
        """A data set without Docs, and where training starts: float64 or float32 [d], None for zero.

        weights: to start from, None for none. batches: the encoded examples that are known, before any is added: from
        them is learnt what the solver does not learn. only_present: whether the weights of features that no Doc has
        stay as they are, so that the data set may leave them out.
        """

    def resumed(self, index: np.ndarray, notes: Sequence[np.ndarray] = ()) -> "DataSet":
        """A data set without Docs whose `index` and `notes` are these.

        Raises:
            ValueError: it is the index of another model.
        """

    def trained(self, data: "DataSet", vector: np.ndarray) -> Any:
        """The weights to predict with and to save, from a solver's vector, float64 [d]."""

    def zero(self) -> Any:
        """The weights before anything is learnt."""

    def predictor(self, weights: Any) -> Predictor:
        """A predictor with these weights."""

    def store(self, weights: Any, packing: Packing = EXACT, saved: Saved | None = None) -> None:
        """Put the weights into the thinc Model. saved: the file from which training has started; None for zero.

        Raises:
            ValueError: a weight is not finite, or too large to be loaded.
        """

    def load(self, labels: Sequence[str] | None = None) -> Any:
        """Take the weights out of the thinc Model; labels: theirs, by default those of the output space.

        Raises:
            DamagedModel: an array is damaged, or of a wrong type, shape or range.
        """

    def count(self, weights: Any) -> tuple[int, int]:
        """How many weights are not zero, and how many there are."""

    def widened(self, weights: Any, before: Sequence[str]) -> Any:
        """Weights that have the labels `before`, with zeros for the labels that the output space has besides."""


def require_architecture(model: Model, space: OutputSpace) -> None:
    """Raise a ValueError where a thinc Model is of another architecture than the output space is for."""
    if model.name != space.structure:
        raise ValueError(f'[{space.name}] model must be of the architecture "{space.architecture}", not {model.name!r}')


def bind(model: Model, space: OutputSpace, vocab: Vocab, settings: Settings) -> StructuredModel:
    """The structured model of a thinc Model, found by its name in the registry `ssvm_models`."""
    made: StructuredModel = ssvm_models.get(model.name)(model, space, vocab, settings)
    return made
