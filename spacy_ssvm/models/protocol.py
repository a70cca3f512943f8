"""The protocols between a model and the layers above it, the same for every structure.

A *codec* belongs to a component: it reads gold annotation, writes predictions, and says what a Doc fixes. A *structured
model* binds templates to an output space and to labels. It makes data sets for training, a predictor from weights, and
keeps weights in a thinc Model. Nothing above asks which structure it is.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypeGuard, runtime_checkable

import numpy as np
from spacy.attrs import SENT_START
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.api import Model

from ..features.columns import ColumnReader
from ..features.index import Columns
from ..registry import ssvm_models
from ..solvers.problem import Problem
from ..structures.scored import Known, Listing
from .documents import Documents
from .named_parts import FactorFeatures, NamedPart, PartNames, ScoredSequence
from .packing import EXACT, Packing
from .store import Saved

if TYPE_CHECKING:
    from typing_extensions import Self

Warn = Callable[[str], None]
"""Issues a warning in the name of a component."""


MISSING = "-"
"""The missing side of a mistake: an entity that was missed, or a predicted one that is not in the gold annotation."""


class Mistake(NamedTuple):
    """Tokens start … end − 1 of a predicted Doc, and the two annotations of them, by name; head: that of a gold arc."""

    start: int
    end: int
    gold: str
    predicted: str
    head: int | None = None


class Gaps(NamedTuple):
    """Counts of what is missing, contradictory or not learnt in gold annotation, summed up over the parts of a corpus.

    counts: of tokens, examples and others, by names of the codec's; "unknown" is what is not annotated. labels: the
    component's that occur. named: the names of the examples in which something is wrong or unknown, by the same names.
    """

    counts: Counter[str]
    labels: set[str]
    named: dict[str, list[str]]

    def add(self, others: "Gaps") -> None:
        """Add the gaps of the next part."""
        self.counts.update(others.counts)
        self.labels.update(others.labels)
        for name, examples in others.named.items():
            self.named.setdefault(name, []).extend(examples)

    def wrong(self) -> "Gaps":
        """Gaps that are wrong, without what is only missing."""
        named = {name: examples for name, examples in self.named.items() if name != "unknown"}
        return Gaps(Counter({name: self.counts[name] for name in named}), set(), named)


@dataclass
class Survey:
    """A survey of a component's labels in examples, before any is encoded; several surveys add up.

    n_examples: their number. label_counts: how often each label occurs. of_corrections: whether they correct a loaded
    component, so that nothing in them is too rare to be learnt.
    """

    n_examples: int
    label_counts: Counter[str]
    of_corrections: bool = False

    def add(self, others: "Survey") -> None:
        """Add what other examples say."""
        self.n_examples += others.n_examples
        self.label_counts.update(others.label_counts)


class Given(NamedTuple):
    """The annotation that a component finds on a Doc of T tokens.

    values: uint64 [T, A], of the A attributes that the component sets; None if none of them is set. has_starts: whether
    sentence boundaries are set, if the component needs to know.
    """

    values: np.ndarray | None = None
    has_starts: bool = True


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


def values_of(doc: Doc, attributes: Sequence[int]) -> np.ndarray:
    """The values of A attributes of a Doc's tokens, uint64 [T, A]."""
    return np.asarray(doc.to_array(list(attributes)), np.uint64).reshape(len(doc), len(attributes))


class LabelRules(Protocol):
    """Limits tokens to sets of labels; see `pipeline.patterns.Patterns`."""

    def __bool__(self) -> bool: ...

    def require_known(self, labels: Sequence[str]) -> None:
        """Raise a ValueError where a rule names other labels."""

    def allowed(self, docs: Sequence[Doc], labels: Sequence[str], free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The tokens that match, int64 [M], among those that are `free`, bool [T], and their labels, bool [M, L]."""

    def renamed(self, name: str) -> "LabelRules":
        """Rules of a component with this name."""


@dataclass(frozen=True)
class Codec(ABC):
    """A component's annotation as structures, and back. Frozen: other labels make another codec.

    `Gold` stands for what a codec reads of one example.

    name: of the component, for messages. labels: of the component, in order. patterns: rules that limit predictions;
    nothing is learnt from them. unlearnt: labels that were added after training and that no example has had since: they
    are predicted only where nothing else is possible.
    """

    structure: ClassVar[str]
    """The name of the thinc Models that it goes with, in the registry `ssvm_models`."""
    architecture: ClassVar[str]
    """The registered architecture that makes such Models."""
    reads_starts: ClassVar[bool] = False
    """Whether sentence boundaries that other components set are constraints."""

    name: str
    labels: tuple[str, ...] = ()
    patterns: LabelRules | tuple[()] = ()
    unlearnt: tuple[str, ...] = ()

    @property
    @abstractmethod
    def weight_labels(self) -> tuple[str, ...]:
        """The L labels that a row of weights has, in order."""

    @property
    def saved(self) -> Mapping[str, Any]:
        """Settings that the weights depend on: loading takes them from the file, not from the config."""
        return {}

    @property
    def notes(self) -> Mapping[str, str]:
        """Notes of the examples that the codec keeps besides labels, as texts by name, for the file "cfg"."""
        return {}

    def with_notes(self, notes: Mapping[str, Any]) -> "Self":
        """The codec with notes from a file.

        Raises:
            ValueError: they are damaged.
        """
        return self

    def survey(self, examples: Iterable[Example], gold: Sequence[Any]) -> Survey:
        """The survey of these examples and their gold annotation; without any, it is empty."""
        return Survey(len(gold), self.label_counts(gold))

    def with_survey(self, survey: Any) -> "Self":
        """The codec with notes of examples added, from their survey; itself if they say nothing new."""
        return self

    @property
    def scoring(self) -> dict[str, Any]:
        """Settings that the component's scorer is called with."""
        return {}

    @abstractmethod
    def gold(self, example: Example) -> Any:
        """The gold annotation, a Gold, of the predicted Doc."""

    @abstractmethod
    def is_annotated(self, gold: Any) -> bool:
        """Whether there is anything to learn in it."""

    @abstractmethod
    def label_counts(self, gold: Iterable[Any]) -> Counter[str]:
        """How often the component's labels occur there."""

    def labels_to_learn(self, counts: Counter[str]) -> set[str]:
        """The labels that occur often enough to be learnt."""
        return set(counts)

    def labels_in(self, gold: Iterable[Any]) -> set[str]:
        """The component's labels that are learnt from this annotation."""
        return self.labels_to_learn(self.label_counts(gold))

    def gaps(self, examples: Mapping[int, Example], gold: Mapping[int, Any]) -> Gaps:
        """The gaps in the gold annotation of the examples with these numbers: missing, contradictory or not learnt."""
        return Gaps(Counter(examples=len(gold)), self.labels_in(gold.values()), {})

    @abstractmethod
    def report_gaps(self, gaps: Gaps, warn: Warn) -> None:
        """Warn of annotation that is missing, contradictory or not learnt.

        Raises:
            ValueError: a setting names labels that are unknown.
        """

    @property
    def attributes(self) -> tuple[int, ...]:
        """spaCy's numbers of the token attributes that `write` sets; it sets the first one of every token."""
        return ()

    @property
    def sets_starts(self) -> bool:
        """Whether `write` also divides a Doc without sentence boundaries into several sentences."""
        return False

    def given(self, doc: Doc) -> Given:
        """The annotation that the component finds on a Doc."""
        has_starts = not self.reads_starts or doc.has_annotation(SENT_START)
        has_values = bool(self.attributes) and doc.has_annotation(self.attributes[0])
        return Given(values_of(doc, self.attributes) if has_values else None, has_starts)

    @abstractmethod
    def write(self, docs: Iterable[Doc], predictions: Sequence[Any], given: Sequence[Given]) -> None:
        """Annotate the Docs with the predictions of a predictor. given: of each Doc, before anything is written."""

    def without_own(self, present: np.ndarray, written: np.ndarray, before: np.ndarray) -> np.ndarray:
        """The present values of `attributes` without those that `write` has written, uint64 [T, A].

        present, written, before: uint64 [T, A], the values now, directly after writing, and before.
        """
        return np.where((present == written).all(axis=1, keepdims=True), before, present)

    def read_constraints(self, doc: Doc) -> bytes:
        """The annotation of a Doc that constrains its structures in training, and that other components may change."""
        return b""

    def complaint(self, docs: Sequence[Doc]) -> str | None:
        """A warning about Docs to predict on, said once; None where nothing is wrong with them."""
        return None

    def check_label(self, label: Any) -> None:
        """Raise a ValueError if this cannot be a label of the component."""
        # A half of a surrogate pair cannot be written to a file.
        if not isinstance(label, str) or not label or label.encode(errors="ignore").decode() != label:
            raise ValueError(f"[{self.name}] a label must be a non-empty string, not {label!r}")

    @abstractmethod
    def names(self) -> PartNames:
        """Names the parts of structures: tags, entities, sentence starts, arcs."""

    def item(self, part: NamedPart) -> Any:
        """A part in an analysis of the k best."""
        return part.label

    query_form: ClassVar[str] = "nothing of its own"
    """The items that `part_from_query` takes, in words."""

    def part_from_query(self, item: Any) -> NamedPart:
        """The part that a user asks about; any error but a ValueError says that `item` is not of that form."""
        raise TypeError

    def missed(self, mistake: Mistake) -> Any:
        """The gold part of a mistake, as `part_from_query` takes it; None if there is none."""
        return None

    @abstractmethod
    def listing(self) -> Listing:
        """Lists the parts that calibration measures."""

    smallest_doubtful_margin: ClassVar[float] = -1.0
    """Parts with smaller margins do not change how unsure of a token the component is; beyond ±1, there is no doubt."""

    @abstractmethod
    def known(self, example: Example, bounds: Sequence[tuple[int, int]]) -> list[Known[Any]]:
        """The gold annotation of sequences of a Doc, tokens first … end − 1 of each, as far as it is known."""

    @abstractmethod
    def check_corpora(self, train: Any, dev: Any, listed: Collection[str] | None) -> Any:
        """Issues of the corpora, as a `corpus.checks` report. listed: the labels that `initialize` is given."""

    @abstractmethod
    def mistakes(self, example: Example) -> list[Mistake]:
        """The differences of the predicted annotation from the gold one."""

    def without_patterns(self) -> "Self":
        """The codec without `patterns`, which are no prediction of the weights."""
        return replace(self, patterns=())

    def renamed(self, name: str) -> "Self":
        """The codec of the same component under another name."""
        return replace(self, name=name, patterns=self.patterns.renamed(name) if self.patterns else ())


class Batch(Protocol):
    """Docs as the structured model has encoded them, with their gold annotation, for its data set."""

    def take(self, docs: list[int]) -> "Self":
        """The same batch with these Docs only."""

    def digests(self) -> list[bytes]:
        """DIGEST_SIZE bytes for each Doc, equal for equal input and annotation."""

    def reserved(self, sizes: np.ndarray) -> "Self":
        """Docs of so many examples without tokens, int64 [n], whose places others can take; of a batch without Docs."""


class DataSet(Protocol):
    """The Docs that are learnt from, as examples of a solver; one Doc can hold several of them.

    docs: where the examples of each Doc are.
    """

    impossible: str
    """An example of annotation that the structure does not allow, for a warning."""
    docs: Documents

    def add(self, encoded: Any) -> np.ndarray:
        """Append the Docs of a batch; returns those of their examples, int64, whose gold had to be projected onto a
        structure of the output space."""

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

        for_good: from then on the completion of all Docs counts as annotated, and a prediction that differs from it has
        a loss. Labels without any weight, which are new, are then left out of a chain's completions.

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
    thread. What nobody writes to takes no memory, if weights in use lie side by side.
    """

    def number_weights(self, by_use: bool) -> None:
        """Number weights by use, where training starts from zero, or by row, with all weights that it starts from:
        other solvers than that of corrections move those of features that no Doc has, too."""

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

    first_pass: a frozen dataclass with `weights`, float32.
    """

    first_pass: Any

    def gold_heads(self, docs: np.ndarray) -> tuple[Columns, np.ndarray]:
        """The tokens of these Docs, int64, and their present gold heads, int32."""


class Rows(NamedTuple):
    """Where the weights of features lie in a vector by row: `width` of them for each row, from number `first` on.

    keys: uint64 [R], of the rows; without keys, all vectors of the model have one layout. counts: int [R], how often
    each row of weights occurs.
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

        seen: uint8 [R], log₂(1 + n), rounded.
        """


class Weights(Protocol):
    """The weights of a model to predict with; whatever a structure needs."""

    def size(self) -> tuple[int, int]:
        """How many weights are not zero, and how many there are."""


class Predictor(Protocol):
    """Predicts with fixed weights; other weights need another predictor."""

    weights: Any
    """`Weights` as `StructuredModel.load` returns them."""

    def prepared(self, docs: Sequence[Doc]) -> Callable[[], Sequence[Any]]:
        """Read the Docs; returns a function that predicts, in any thread, an item for each Doc, for `Codec.write`.

        Raises:
            Contradiction: (also by the function) no structure agrees with a Doc and the setting `patterns`.
        """

    def forget_types(self) -> None:
        """Drop cached values of word types; they are computed again when needed."""


@runtime_checkable
class ScoringPredictor(Predictor, Protocol):
    """A predictor that knows the scores of all structures: for the k best, confidence, explanations and calibration."""

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

    weights: `Weights` to start from. only_present: whether the weights of features that no Doc has stay as they are, so
    that the data set may leave them out. first_pass: for training from zero, as `training.first_pass` has learnt it.
    state: `DataSet.state`, if the saved training goes on; then the solver has the vector.
    """

    weights: Any = None
    only_present: bool = False
    first_pass: Any = None
    state: Sequence[np.ndarray] | None = None


class StructuredModel(Protocol):
    """Templates, an output space and the labels of a codec, bound together; with other labels another one is bound."""

    codec: Any
    settings: Settings

    def __init__(self, model: Model, codec: Any, vocab: Vocab, settings: Settings) -> None: ...

    @property
    def reader(self) -> ColumnReader:
        """Reads the columns that the templates name."""

    def encode(self, examples: Sequence[Example], gold: Sequence[Any]) -> Batch:
        """A batch for the data set, from examples and their gold annotation as the codec reads it."""

    def data_set(self, start: Start) -> "tuple[DataSet, np.ndarray | None]":
        """A data set without Docs, and the vector that training starts from: float64 or float32 [d], None for zero.

        Raises:
            ValueError: the state is that of another model.
        """

    def trained(self, data: "DataSet", vector: np.ndarray) -> Any:
        """The `Weights` to predict with and to save, from a solver's vector, float64 [d]."""

    def predictor(self, weights: Any) -> Predictor:
        """A predictor with these weights."""

    def store(self, weights: Any, packing: Packing = EXACT, saved: Saved | None = None) -> None:
        """Put the weights into the thinc Model. saved: the file from which training has started; None for zero.

        Raises:
            ValueError: a weight is not finite, or too large to be loaded.
        """

    def load(self, labels: Sequence[str] | None = None) -> Any:
        """Take the `Weights` out of the thinc Model; without any, all are zero.

        labels: theirs, if the codec has more: weights of the others are zero.

        Raises:
            DamagedModel: an array is damaged, or of a wrong type, shape or range.
            ValueError: the architecture cannot have made the attributes of the thinc Model.
        """


@runtime_checkable
class TwoPasses(Protocol):
    """A structured model with a first pass, which is learnt before the solver learns."""

    def first_pass_examples(self, batches: Sequence[Any]) -> Any:
        """Examples of a first pass, from one or more batches; None if there is nothing to learn.

        `training.first_pass` learns from them by their type.
        """


def require_architecture(model: Model, codec: Codec) -> None:
    """Raise a ValueError where a thinc Model is of another architecture than the codec is for."""
    if model.name != codec.structure:
        raise ValueError(f'[{codec.name}] model must be of the architecture "{codec.architecture}", not {model.name!r}')


def bind(model: Model, codec: Codec, vocab: Vocab, settings: Settings) -> StructuredModel:
    """The structured model of a thinc Model, found by its name in the registry `ssvm_models`."""
    made: StructuredModel = ssvm_models.get(model.name)(model, codec, vocab, settings)
    return made
