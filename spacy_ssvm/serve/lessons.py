"""The lessons that texts have given to components, in order: on the disk before they are acknowledged, and undone.

A pipeline from the same files learns the same journal again in the same order, and so has the same weights.
"""

import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..pipeline.component import SsvmPipe
from ..pipeline.files import identity
from ..wording import counted
from ..words import copy_of
from .answers import Learnt, Undone
from .journal import Journal
from .views import Item, Taught, View, view_of

MAX_TEXT = 20_000
"""Characters of a text."""
MAX_TEXTS = 100_000
COPIED_EVERY = 50
"""Corrections after which components are copied, for `undo`."""
JOURNAL = "journal.jsonl"
NOTHING = Taught()


class UnknownText(ValueError):
    """There is no such text, or no such component."""


class Subject(NamedTuple):
    """A text, and a component that annotates it."""

    document: str
    component: str


class Event(NamedTuple):
    """The changes that one correction has made.

    Attributes:
        key: the name in the request.
        taught: all taught annotation of this kind of the text, from then on.
        before: the same before.
        first: the items predicted before, if this was the text's first correction.
    """

    key: str
    place: Subject
    taught: Taught
    before: Taught
    first: tuple[Item, ...] | None


class Lessons:
    """The texts of a session, and the annotation taught by them.

    Args:
        nlp: a loaded pipeline. It is changed.
        folder: has the journal; the caller has locked it.
        texts: the initial ones; empty ones, and ones beyond MAX_TEXT characters or MAX_TEXTS texts, are left out with a
            warning.

    Attributes:
        views: of the components of ours, by name.
        texts: by identity, in order.
        taught: in the order in which texts were first taught.
        first: the prediction before that.
        n: the number of corrections.
        is_saved: whether there was no correction since this was last set.

    Raises:
        ValueError: the pipeline has no component of ours, or the journal belongs to another pipeline.
        OSError: the folder cannot be written to.
    """

    def __init__(self, nlp: Language, folder: Path, texts: Iterable[str]) -> None:
        self.nlp = nlp
        found = {name: view_of(pipe) for name, pipe in nlp.pipeline}
        self.views: dict[str, View] = {name: view for name, view in found.items() if view is not None}
        if not self.views:
            raise ValueError("the pipeline has no component of spacy-ssvm to show and to teach")
        self.texts: dict[str, str] = {}
        left_out = 0
        for text in texts:
            if not text.strip() or len(text) > MAX_TEXT or len(self.texts) == MAX_TEXTS:
                left_out += 1
            else:
                self.texts.setdefault(_identity_of(text), text)
        if left_out:
            warnings.warn(
                f"{counted(left_out, 'text')} left out: there can be {MAX_TEXTS:,}, of at most {MAX_TEXT:,} characters",
                stacklevel=2,
            )
        self.taught: dict[Subject, Taught] = {}
        self.first: dict[Subject, tuple[Item, ...]] = {}
        self.done: dict[str, Learnt | Undone] = {}
        self._events: list[Event] = []
        folder.mkdir(parents=True, exist_ok=True)
        self._journal = Journal(folder / JOURNAL, {"journal": 1, "pipeline": identity(nlp)})
        if any(view.pipe.trained.record.labels_are_given for view in self.views.values()):
            nlp.resume_training()  # Otherwise, labels that were not listed for training count as missing.
        self._copies: list[tuple[int, dict[str, SsvmPipe]]] = []
        self._keep_copies()
        for number, record in enumerate(self._journal.records, 2):
            try:
                self._replay(record)
            except (ArithmeticError, LookupError, TypeError, ValueError) as error:
                raise ValueError(f"{folder / JOURNAL}, line {number}, cannot be learnt again: {error!r}") from error
        self.is_saved = not self._events

    @property
    def n(self) -> int:
        return len(self._events)

    @property
    def taught_texts(self) -> list[str]:
        """The identities of the texts that have taught something."""
        return list(dict.fromkeys(place.document for place in self.taught))

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()

    # Texts

    def add(self, text: str) -> str:
        """Add a text, unless it is there; returns its identity.

        Raises:
            ValueError: it is empty or too long, or there are too many.
        """
        if not text.strip() or len(text) > MAX_TEXT:
            raise ValueError(f"a text has 1 to {MAX_TEXT:,} characters that are not all spaces")
        document = _identity_of(text)
        if document not in self.texts and len(self.texts) >= MAX_TEXTS:
            raise ValueError(f"there are {MAX_TEXTS:,} texts already")
        self.texts.setdefault(document, text)
        return document

    def view(self, component: str) -> View:
        """The view of a component.

        Raises:
            UnknownText: there is none.
        """
        if component not in self.views:
            raise UnknownText(f"there is no component {component!r}: there are {', '.join(self.views)}")
        return self.views[component]

    def processed(self, document: str) -> Doc:
        """A text as the pipeline analyses it now.

        Raises:
            UnknownText: there is none.
        """
        if document not in self.texts:
            raise UnknownText(f"there is no text {document!r}")
        (doc,) = self.process([self.texts[document]])
        return doc

    def process(self, texts: Sequence[str], *, before: str | None = None, until: str | None = None) -> Iterator[Doc]:
        """The Docs of texts, annotated by all components, or by the ones before, or until, a named one."""
        docs: Iterable[Doc] = map(self.nlp.make_doc, texts)
        for name, pipe in self.nlp.pipeline:
            if name == before:
                break
            docs = pipe.pipe(docs) if hasattr(pipe, "pipe") else map(pipe, docs)
            if name == until:
                break
        return iter(docs)

    # Lessons

    def learn(self, key: str, place: Subject, taught: Taught) -> Learnt:
        """Teach a component the annotation of a text, in place of earlier teaching, and write it to the disk.

        Args:
            key: a name that no other correction has.

        Raises:
            ValueError: the component cannot learn it.
            OSError: it cannot be written, and was not learnt.
        """
        begun = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            example, processed = self._example(place, taught)
            pipe = self.view(place.component).pipe
            first = None if place in self.taught else tuple(self.view(place.component).items(processed))
            event = Event(key, place, taught, self.taught.get(place, NOTHING), first)
            try:
                at = time.perf_counter()
                pipe.update([example], sgd=True)
                seconds = time.perf_counter() - at
                self._journal.append(self._record(event))
            except BaseException:
                self._restore(self.n, {place.component})
                raise
        milliseconds, in_all = (round(1e3 * passed, 2) for passed in (seconds, time.perf_counter() - begun))
        messages = list(dict.fromkeys(str(warning.message) for warning in caught))
        return self._note(event, milliseconds, in_all, messages)

    def undo(self, key: str) -> Undone:
        """Take back the last correction, and restore the weights.

        Raises:
            ValueError: there is none.
            OSError: that cannot be written to the disk, and was not done.
        """
        if not self._events:
            raise ValueError("there is nothing to undo")
        begun = time.perf_counter()
        self._journal.append({"id": key, "undo": self._events[-1].key})
        place = self._take_back()
        milliseconds = round(1e3 * (time.perf_counter() - begun), 2)
        self.done[key] = undone = Undone(self.n, *place, milliseconds)
        return undone

    def copy_if_due(self) -> None:
        """Copy the components, if that was long ago, so that `undo` need not learn everything again."""
        if self.n - self._copies[-1][0] >= COPIED_EVERY:
            self._keep_copies(self.n)

    def _record(self, event: Event) -> dict[str, Any]:
        return {
            "id": event.key,
            "text": self.texts[event.place.document],
            "component": event.place.component,
            "items": event.taught.items,
            "whole": event.taught.is_whole,
            "first": event.first,
        }

    def _replay(self, record: Mapping[str, Any]) -> None:
        """Learn a record of the journal again."""
        key = str(record["id"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if "undo" in record:
                self.done[key] = Undone(self.n - 1, *self._take_back(), 0.0)
                return
            place = Subject(self.add(record["text"]), record["component"])
            taught = Taught(_items(record["items"]), bool(record["whole"]))
            first = None if record["first"] is None else _items(record["first"])
            self._update(place, taught)
        self._note(Event(key, place, taught, self.taught.get(place, NOTHING), first), 0.0, 0.0, [])

    def _note(self, event: Event, milliseconds: float, milliseconds_in_all: float, messages: list[str]) -> Learnt:
        """Remember what was learnt, and the answer about it."""
        self.is_saved = False
        self._events.append(event)
        self.taught[event.place] = event.taught
        if event.first is not None:
            self.first[event.place] = event.first
        end = len(self.texts[event.place.document])
        learnt = Learnt(self.n, 0, end, False, milliseconds, milliseconds_in_all, messages)
        self.done[event.key] = learnt
        return learnt

    def _take_back(self) -> Subject:
        """Forget the last event, and restore the weights of before."""
        event = self._events.pop()
        self.is_saved = False
        if event.first is None:
            self.taught[event.place] = event.before
        else:
            del self.taught[event.place], self.first[event.place]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._restore(self.n, {event.place.component})
        return event.place

    def _restore(self, n: int, changed: set[str]) -> None:
        """Restore the weights after the first n events, by learning them again from the last copies of before.

        Args:
            changed: the components that have changed since the n-th event.
        """
        at, copies = next((at, copies) for at, copies in reversed(self._copies) if at <= n)
        for name in changed | {event.place.component for event in self._events[at:n]}:
            copies[name].copy_into(self.views[name].pipe)
        for number, event in enumerate(self._events[at:n], at + 1):
            self._update(event.place, event.taught)
            if number == n - COPIED_EVERY // 2:
                self._keep_copies(number)

    def _keep_copies(self, n: int = 0) -> None:
        """Keep copies of the components after n events: the first ones, and the last two."""
        copies = {name: copy(view.pipe) for name, view in self.views.items()}
        earlier = [pair for pair in self._copies[1:] if pair[0] < n]
        self._copies = [*self._copies[:1], *earlier[-1:], (n, copies)]

    def _update(self, place: Subject, taught: Taught) -> None:
        example, _ = self._example(place, taught)
        self.view(place.component).pipe.update([example], sgd=True)

    def _example(self, place: Subject, taught: Taught) -> tuple[Example, Doc]:
        """The example of a text's taught annotation, and the text as the component predicts it."""
        view, text = self.view(place.component), self.texts[place.document]
        (predicted,) = self.process([text], before=place.component)
        processed = view.pipe(copy_of(predicted))
        gold = self.nlp.make_doc(text)
        view.write(gold, taught, processed)
        return Example(predicted, gold), processed


def _identity_of(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


def _items(stored: Iterable[Sequence[Any]]) -> tuple[Item, ...]:
    return tuple(Item(*item) for item in stored)
