"""The protocol between a component and its annotation: a *codec* reads gold annotation and writes predictions."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from spacy.attrs import SENT_START
from spacy.tokens import Doc
from spacy.training import Example

from ..inspect.parts import AnnotationParts
from ..models.protocol import OutputSpace
from .patterns import Patterns

if TYPE_CHECKING:
    from typing_extensions import Self

Warn = Callable[[str], None]
"""Issues a warning in the name of a component."""


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


def values_of(doc: Doc, attributes: Sequence[int]) -> np.ndarray:
    """The values of A attributes of a Doc's tokens, uint64 [T, A]."""
    return np.asarray(doc.to_array(list(attributes)), np.uint64).reshape(len(doc), len(attributes))


@dataclass(frozen=True)
class Codec(ABC):
    """A component's annotation as structures, and back. Frozen: other labels make another codec.

    `Gold` stands for what a codec reads of one example.

    name: of the component, for messages. labels: of the component, in order. patterns: rules that limit predictions;
    nothing is learnt from them. unlearnt: labels that were added after training and that no example has had since: they
    are predicted only where nothing else is possible.
    """

    reads_starts: ClassVar[bool] = False
    """Whether sentence boundaries that other components set are constraints."""

    name: str
    labels: tuple[str, ...] = ()
    patterns: Patterns | tuple[()] = ()
    unlearnt: tuple[str, ...] = ()

    @property
    @abstractmethod
    def space(self) -> OutputSpace:
        """The output space of these labels, as the structured model takes it."""

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
        """The gold annotation of the predicted Doc; its `is_annotated` says whether it has anything to learn."""

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

    def complaint(self, docs: Sequence[Doc]) -> str | None:
        """A warning about Docs to predict on, said once; None where nothing is wrong with them."""
        return None

    def check_label(self, label: Any) -> None:
        """Raise a ValueError if this cannot be a label of the component."""
        # A half of a surrogate pair cannot be written to a file.
        if not isinstance(label, str) or not label or label.encode(errors="ignore").decode() != label:
            raise ValueError(f"[{self.name}] a label must be a non-empty string, not {label!r}")

    @property
    def parts(self) -> AnnotationParts:
        """The parts of its annotation, for those who ask for some.

        Raises:
            ValueError: they have no names.
        """
        raise ValueError(f"[{self.name}] names no parts of its annotation")

    def without_patterns(self) -> "Self":
        """The codec without `patterns`, which are no prediction of the weights."""
        return replace(self, patterns=())

    def renamed(self, name: str) -> "Self":
        """The codec of the same component under another name."""
        return replace(self, name=name, patterns=self.patterns.renamed(name) if self.patterns else ())
