"""The protocol between a component and its annotation: a *codec* reads gold annotation and writes predictions."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from spacy.attrs import SENT_START
from spacy.tokens import Doc
from spacy.training import Example

from ..inspect.parts import AnnotationParts
from ..models.protocol import OutputSpace
from .patterns import Patterns

if TYPE_CHECKING:
    from typing_extensions import Self

AnyCodec = TypeVar("AnyCodec", bound="Codec")
NO_ANNOTATION = {"-", "_"}
"""Signs for missing annotation in the columns of files; none is a label if it is the only one."""
Warn = Callable[[str], None]
"""Issues a warning in the name of a component."""


class Gaps(NamedTuple):
    """Counts of missing, contradictory or unlearnt gold annotation, summed up over the parts of a corpus.

    Attributes:
        counts: of tokens, examples and others, by the codec's names for them; "unknown" counts unannotated ones.
        labels: how often each of the component's labels occurs.
        named: the names of the examples with such a gap, by the same names.
    """

    counts: Counter[str]
    labels: Counter[str]
    named: dict[str, list[str]]

    def add(self, others: "Gaps") -> None:
        """Add the gaps of the next part."""
        self.counts.update(others.counts)
        self.labels.update(others.labels)
        for name, examples in others.named.items():
            self.named.setdefault(name, []).extend(examples)

    def wrong(self) -> "Gaps":
        """The gaps without merely missing annotation."""
        named = {name: examples for name, examples in self.named.items() if name != "unknown"}
        return Gaps(Counter({name: self.counts[name] for name in named}), Counter(), named)


@dataclass
class Survey:
    """A survey of a component's labels in examples, before any is encoded; several surveys add up.

    Attributes:
        n_examples: their number.
        label_counts: how often each label occurs.
        of_corrections: whether they correct a loaded component; then no label is too rare to be learnt.
        advice: further advice if there are no labels.
    """

    n_examples: int
    label_counts: Counter[str]
    of_corrections: bool = False
    advice: str = ""

    def add(self, others: "Survey") -> None:
        """Add the survey of other examples."""
        self.n_examples += others.n_examples
        self.label_counts.update(others.label_counts)

    def labels_to_learn(self) -> set[str]:
        """The labels that occur often enough to be learnt."""
        return set(self.label_counts)

    def new_labels(self, labels: Sequence[str]) -> list[str]:
        """The labels to learn that are not among these, sorted."""
        return sorted(self.labels_to_learn() - set(labels))

    def require_labels(self, name: str, labels: Sequence[str], reasons: Sequence[str] = ()) -> None:
        """Check that these labels suffice for training, given this survey of all training examples.

        Args:
            name: of the component.
            reasons: why annotation cannot be learnt, if any is known.

        Raises:
            ValueError: there is no label, or only one that stands for missing annotation.
        """
        if not labels:
            raise ValueError(
                f"[{name}] none of the {self.n_examples:,} training examples has a label to learn: "
                + "; ".join(reasons or [f"annotate the corpus, or give [initialize.components.{name}.labels]"])
                + self.advice
            )
        if set(labels) <= NO_ANNOTATION:
            raise ValueError(
                f'[{name}] the only label of the training examples is "{labels[0]}", which stands for missing '
                f"annotation in files such as CoNLL-U: annotate the corpus, or remove the component{self.advice}"
            )


class SavedCodec(NamedTuple):
    """Contents of a codec for a file, besides labels.

    Attributes:
        settings: the ones that the weights depend on; loading takes them from the file, not from the config.
        notes: its knowledge from examples, as texts by name.
    """

    settings: Mapping[str, Any]
    notes: Mapping[str, str]


class Given(NamedTuple):
    """The annotation that a component finds on a Doc of T tokens.

    Attributes:
        values: uint64 [T, A], of the A attributes that the component sets; None if none of them is set.
        has_starts: whether sentence boundaries are set, if these are a constraint.
    """

    values: np.ndarray | None = None
    has_starts: bool = True


def values_of(doc: Doc, attributes: Sequence[int]) -> np.ndarray:
    """The values of A attributes of a Doc's tokens, uint64 [T, A]."""
    return np.asarray(doc.to_array(list(attributes)), np.uint64).reshape(len(doc), len(attributes))


def sent_starts(doc: Doc) -> np.ndarray:
    """Whether sentences start at a Doc's tokens: 1 for a start, −1 for none, 0 where it is not set, int64 [T]."""
    return np.asarray(doc.to_array(SENT_START)).astype(np.int64)


@dataclass(frozen=True)
class Codec(ABC):
    """A component's annotation as structures, and back. Frozen: other labels make another codec.

    Attributes:
        name: of the component, for messages.
        labels: of the component, in order.
        patterns: rules that limit predictions; nothing is learnt from them.
        unlearnt: labels that were added after training and that no example has had since: they are predicted only where
            nothing else is possible.
    """

    name: str
    labels: tuple[str, ...] = ()
    patterns: Patterns | tuple[()] = ()
    unlearnt: tuple[str, ...] = ()

    @property
    @abstractmethod
    def space(self) -> OutputSpace:
        """The output space of these labels, for the structured model."""

    @property
    def saved(self) -> SavedCodec:
        """The contents for the file "cfg", besides labels."""
        return SavedCodec({}, {})

    def restored(self, saved: SavedCodec) -> "Self":
        """The codec with these contents of a file; settings are fields of it.

        Raises:
            ValueError: they are damaged.
        """
        return replace(self, **saved.settings)

    def survey(self, examples: Iterable[Example], gold: Sequence[Any]) -> Survey:
        """The survey of these examples and their gold annotation; by default, they have no labels to learn.

        Without gold annotation, it is empty. Without the examples, it has at least the labels of the annotation.
        """
        return Survey(len(gold), Counter())

    def with_survey(self, survey: Any) -> "Self":
        """The codec with notes of examples added, from their survey; itself if there is nothing new."""
        return self

    @abstractmethod
    def gold(self, example: Example) -> Any:
        """The gold annotation of the predicted Doc; its `is_annotated` tells whether there is anything to learn."""

    def gaps(self, examples: Mapping[int, Example], gold: Mapping[int, Any]) -> Gaps:
        """The gaps in the gold annotation of the examples with these numbers: missing, contradictory or not learnt."""
        return Gaps(Counter(examples=len(gold)), self.survey((), list(gold.values())).label_counts, {})

    def report_gaps(self, gaps: Gaps, warn: Warn) -> None:
        """Warn of annotation that is missing, contradictory or not learnt.

        Raises:
            ValueError: a setting names labels that are unknown.
        """
        return None

    @property
    def attributes(self) -> tuple[int, ...]:
        """spaCy's numbers of the token attributes that `write` sets; it sets the first one of every token."""
        return ()

    @property
    def sets_starts(self) -> bool:
        """Whether `write` also divides a Doc without sentence boundaries into several sentences."""
        return False

    @abstractmethod
    def write(self, docs: Iterable[Doc], predictions: Sequence[Any], given: Sequence[Given]) -> None:
        """Annotate the Docs with the predictions of a predictor. given: of each Doc, before anything is written."""

    def complaint(self, docs: Sequence[Doc]) -> str | None:
        """A warning about Docs to predict on, issued once; None if there is nothing to warn of."""
        return None

    def check_label(self, label: Any) -> None:
        """Raise a ValueError if this cannot be a label of the component."""
        # A half of a surrogate pair cannot be written to a file.
        if not isinstance(label, str) or not label or label.encode(errors="ignore").decode() != label:
            raise ValueError(f"[{self.name}] a label must be a non-empty string, not {label!r}")

    @property
    def parts(self) -> AnnotationParts | None:
        """The parts of its annotation, for users' questions; None if they have no names."""
        return None


def report_labels(codec: Codec, names: Sequence[str], gaps: Gaps, warn: Warn) -> None:
    """Warn of labels in gold annotation that the component does not have; names: of labels in its settings.

    Raises:
        ValueError: patterns have labels with other names.
    """
    if codec.patterns:
        codec.patterns.require_known(names)
    unlisted = sorted(gaps.labels.keys() - {*codec.labels, *names})
    if unlisted:
        warn(
            "the training examples have labels that initialize was not given and that count as missing: "
            f"{', '.join(unlisted)}"
        )


def named_parts(codec: Codec) -> AnnotationParts:
    """The parts of a codec's annotation.

    Raises:
        ValueError: they have no names.
    """
    if codec.parts is None:
        raise ValueError(f"[{codec.name}] names no parts of its annotation")
    return codec.parts


def renamed(codec: AnyCodec, name: str) -> AnyCodec:
    """The codec of the same component under another name."""
    return replace(codec, name=name, patterns=codec.patterns.renamed(name) if codec.patterns else ())
