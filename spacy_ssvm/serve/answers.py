"""The answers of a session, as its interface has them in JSON. Places are characters of a text, end excluded."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ShownWord:
    """A token: its characters start … end − 1; sentence: the number of its sentence; is_space: it is whitespace."""

    start: int
    end: int
    text: str
    sentence: int
    is_space: bool


@dataclass(frozen=True)
class Shown:
    """An item of annotation: characters start … end − 1, their label and, for an arc, where its head starts.

    Attributes:
        head: for a root its own start; null if the item is no arc.
        score: a probability or a margin; null where there is none, or nothing else is possible.
        confidence: from 0 to 1: the probability or, up to 1, the margin.
        is_taught: whether it was taught.
    """

    start: int
    end: int
    label: str
    head: int | None
    score: float | None
    confidence: float
    is_taught: bool


@dataclass(frozen=True)
class Layer:
    """The annotation of one component; kind: entities, tags, morphology, lemmas, sentences or arcs.

    Attributes:
        items: as the component predicts them now.
        missed: items that the text was taught and that are not predicted; an empty label says that there is no entity.
        is_accepted: whether the text was accepted as right as a whole.
    """

    component: str
    kind: str
    items: list[Shown]
    missed: list[Shown]
    is_accepted: bool


@dataclass(frozen=True)
class Analysis:
    """A text and its annotation; document: its identity; number: its place among all texts, from 1."""

    document: str
    number: int
    text: str
    words: list[ShownWord]
    layers: list[Layer]


@dataclass(frozen=True)
class SaidReason:
    """A feature in words, its contribution to the margin, and the word where it is read."""

    gain: float
    word: str
    says: str
    feature: str
    label: str
    other: str


@dataclass(frozen=True)
class Answer:
    """The reasons why an item is predicted, or not; margin: null if nothing else, or not this, is possible."""

    title: str
    verdict: str
    is_predicted: bool
    margin: float | None
    runner_up: str
    reasons: list[SaidReason]


@dataclass(frozen=True)
class Ranked:
    """One of the best analyses: how far its score is below the best one's, and its items."""

    behind: float
    items: list[Shown]


@dataclass(frozen=True)
class Learnt:
    """A lesson learnt; number: of corrections so far; start, end: of the whole tokens of a selection.

    Attributes:
        is_snapped: whether the selection cut a token.
        milliseconds: of learning, and all, writing to the disk included.
        messages: warnings, such as that the component cannot learn this.
    """

    number: int
    start: int
    end: int
    is_snapped: bool
    milliseconds: float
    milliseconds_in_all: float
    messages: list[str]


@dataclass(frozen=True)
class Undone:
    """An undone correction; number: of corrections that are left."""

    number: int
    document: str
    component: str
    milliseconds: float


@dataclass(frozen=True)
class Change:
    """A difference of a text's predictions: items that are gone, and new ones, in words."""

    document: str
    number: int
    component: str
    gone: list[str]
    new: list[str]


@dataclass(frozen=True)
class Changes:
    """Changes in all watched texts, also taught ones, since the last request."""

    changes: list[Change]
    n_watched: int
    milliseconds: float


@dataclass(frozen=True)
class Listed:
    """A text in a list: its beginning, and the components that it has taught, or was accepted for."""

    document: str
    number: int
    text: str
    taught: list[str]
    accepted: list[str]


@dataclass(frozen=True)
class Texts:
    """Some texts in order; total: the number of all."""

    total: int
    texts: list[Listed]


@dataclass(frozen=True)
class Component:
    """A component that is shown and taught; accuracy: of its predictions for accepted texts before they were corrected.

    Attributes:
        labels: to choose from.
        n_accepted, n_right: accepted texts, and the ones among them that needed no correction.
        accuracy: 2 · right / (predicted + gold), over items: F1; null before a text is accepted.
        recent: the same over the last 20 accepted texts.
    """

    name: str
    kind: str
    labels: list[str]
    has_probabilities: bool
    n_accepted: int
    n_right: int
    accuracy: float | None
    recent: float | None


@dataclass(frozen=True)
class SessionState:
    """The state of the session; is_saved: whether the pipeline was saved after the last correction."""

    pipeline: str
    folder: str
    components: list[Component]
    n_texts: int
    n_corrections: int
    is_saved: bool


@dataclass(frozen=True)
class Suggested:
    """A text to annotate next; document: null if there is none left; score: as `suggest` ranks it."""

    document: str | None
    score: float | None
    n_left: int


@dataclass(frozen=True)
class Written:
    """Files that were written, and the number of texts in them."""

    files: list[str]
    n_texts: int
