"""A session of one person with one pipeline: texts are seen, asked about and taught. It knows no HTTP."""

import math
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import islice
from operator import itemgetter
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc

from ..files import replace_files
from ..inspect.explanation import Finding
from . import answers
from .exporting import exported, save
from .lessons import NOTHING, Lessons, Subject
from .reasons import in_words
from .views import Item, Taught

MAX_WATCHED = 300
"""Texts whose predictions are compared after each correction."""
MAX_RANKED = 2_000
"""Texts that are ranked at a time; of more, every k-th is."""
RANKED_FOR = 10
"""The number of texts suggested between two rankings."""
MAX_LABELS = 2_000
MAX_REASONS = 10
MAX_BEST = 10
RECENT = 20
"""The number of last accepted texts that the recent accuracy covers."""
LISTED = 80
"""The max number of characters of a text in a list."""


class Session:
    """A pipeline, texts, and the annotation taught by them. Not for several threads at once.

    Args:
        nlp: a loaded pipeline. It is changed.
        folder: the only folder that is written to; the caller has locked it.
        texts: to walk through; empty, too long or too many ones are left out.

    Raises:
        ValueError: the pipeline has no component of ours, or the folder has the journal of another pipeline.
        OSError: the folder cannot be written to.
    """

    def __init__(self, nlp: Language, folder: Path, texts: Iterable[str] = ()) -> None:
        self.nlp, self.folder = nlp, folder
        self._lessons = Lessons(nlp, folder, texts)
        self._ranking: dict[str, list[tuple[str, float]]] = {}
        self._watched: dict[str, dict[str, frozenset[tuple[str, Item]]]] = {}
        self.changes()

    @property
    def version(self) -> str:
        """The name of the pipeline, and the number of corrections."""
        return f"{self._name}-{self._lessons.n}"

    @property
    def is_saved(self) -> bool:
        """Whether the pipeline has been saved since the last correction."""
        return self._lessons.is_saved

    @property
    def _name(self) -> str:
        return f"{self.nlp.lang}_{self.nlp.meta.get('name') or 'pipeline'}"

    def close(self) -> None:
        """Close the journal."""
        self._lessons.close()

    # See

    def state(self) -> answers.SessionState:
        """The state of the session."""
        return answers.SessionState(
            pipeline=self._name,
            folder=str(self.folder),
            components=[self._component(name) for name in self._lessons.views],
            n_texts=len(self._lessons.texts),
            n_corrections=self._lessons.n,
            is_saved=self._lessons.is_saved,
        )

    def texts(self, offset: int, limit: int) -> answers.Texts:
        """Some texts, in order."""
        found = []
        some = islice(self._lessons.texts.items(), offset, offset + limit)
        for number, (document, text) in enumerate(some, offset + 1):
            of = {name: self._lessons.taught.get(Subject(document, name)) for name in self._lessons.views}
            taught = [name for name, known in of.items() if known is not None]
            accepted = [name for name, known in of.items() if known is not None and known.is_whole]
            found.append(answers.Listed(document, number, _shortened(text), taught, accepted))
        return answers.Texts(len(self._lessons.texts), found)

    def add(self, text: str) -> str:
        """Add a text, unless it is there; returns its identity.

        Raises:
            ValueError: it is empty or too long, or there are too many.
        """
        return self._lessons.add(text)

    def analyse(self, document: str) -> answers.Analysis:
        """A text, and its annotation by the current pipeline."""
        doc = self._lessons.processed(document)
        words, sentence = [], -1
        for token in doc:
            sentence += bool(token.is_sent_start or token.i == 0)
            place = _characters(doc, token.i, token.i + 1)
            words.append(answers.ShownWord(*place, token.text, sentence, token.is_space))
        layers = [self._layer(document, name, doc) for name in self._lessons.views]
        return answers.Analysis(document, list(self._lessons.texts).index(document) + 1, doc.text, words, layers)

    # Ask

    def explain(
        self, document: str, component: str, start: int, end: int, label: str, head: int | None = None
    ) -> answers.Answer:
        """Why an item is predicted, or is not. start, end, head: characters."""
        view, doc = self._lessons.view(component), self._lessons.processed(document)
        item, _ = self._item(doc, start, end, label, head)
        explanation = view.pipe.explain(doc, of=view.question(doc, item))
        if not explanation.findings:
            raise ValueError("nothing is possible here")
        return _answer(explanation.findings[0], explanation.words)

    def best(self, document: str, component: str, k: int) -> list[answers.Ranked]:
        """The k best analyses of a text, the best first."""
        view, doc = self._lessons.view(component), self._lessons.processed(document)
        found = view.pipe.kbest(doc, min(k, MAX_BEST))
        top = found[0][0] if found else 0.0
        items = [[_shown(doc, item) for item in view.analysis(doc, parts)] for _, parts in found]
        return [answers.Ranked(round(top - score, 4), own) for (score, _), own in zip(found, items)]

    # Teach

    def teach(
        self, key: str, document: str, component: str, start: int, end: int, label: str, head: int | None = None
    ) -> answers.Learnt:
        """Learn that this item is right. A selection that cuts tokens is extended to them.

        Args:
            key: the name of this correction; a second one of the same name changes nothing and gets the same answer.
            start, end, head: characters.
            label: empty for no entity.

        Raises:
            UnknownText: there is no such text or component.
            ValueError: the component cannot learn it.
            OSError: it cannot be written to the disk, and was not learnt.
        """
        if isinstance(done := self._lessons.done.get(key), answers.Learnt):
            return done
        view, doc = self._lessons.view(component), self._lessons.processed(document)
        asked, is_snapped = self._item(doc, start, end, label, head)
        item = view.checked(doc, asked)
        before = self._lessons.taught.get(Subject(document, component), NOTHING)
        taught = Taught(view.added(doc, before.items, item), before.is_whole)
        found = self._lessons.learn(key, Subject(document, component), taught)
        start, end = _characters(doc, item.start, item.end)
        self._lessons.done[key] = found = replace(found, start=start, end=end, is_snapped=is_snapped)
        return found

    def accept(self, key: str, document: str, component: str) -> answers.Learnt:
        """Learn that a component's annotation of a text, with the taught one, is right as a whole."""
        if isinstance(done := self._lessons.done.get(key), answers.Learnt):
            return done
        view, doc = self._lessons.view(component), self._lessons.processed(document)
        items: tuple[Item, ...] = tuple(view.items(doc))
        for item in self._lessons.taught.get(Subject(document, component), NOTHING).items:
            items = view.added(doc, items, item)
        return self._lessons.learn(key, Subject(document, component), Taught(items, True))

    def annotate(self, key: str, text: str, component: str, spans: Sequence[tuple[int, int, str]]) -> answers.Learnt:
        """Learn that a text has these items, (start, end, label) in characters, and no others.

        Raises:
            ValueError: a span cuts a token.
        """
        if isinstance(done := self._lessons.done.get(key), answers.Learnt):
            return done
        document = self.add(text)
        view, doc = self._lessons.view(component), self._lessons.processed(document)
        items: tuple[Item, ...] = ()
        for start, end, label in spans:
            item, is_snapped = self._item(doc, start, end, label, None)
            if is_snapped:
                raise ValueError(
                    f"{text[start:end]!r} is not made of whole tokens, which are {[token.text for token in doc]}"
                )
            items = view.added(doc, items, view.checked(doc, item))
        return self._lessons.learn(key, Subject(document, component), Taught(items, True))

    def undo(self, key: str) -> answers.Undone:
        """Take back the last correction, and restore weights and predictions.

        Raises:
            ValueError: there is none.
        """
        if isinstance(done := self._lessons.done.get(key), answers.Undone):
            return done
        self._ranking.clear()
        return self._lessons.undo(key)

    def changes(self) -> answers.Changes:
        """The differences of the predictions for watched texts since the last request."""
        begun = time.perf_counter()
        documents = list(islice(self._lessons.texts, MAX_WATCHED))
        changes = []
        docs = self._lessons.process([self._lessons.texts[document] for document in documents])
        for number, (document, doc) in enumerate(zip(documents, docs), 1):
            now = {
                name: frozenset((_phrase(doc, item), item) for item in view.items(doc))
                for name, view in self._lessons.views.items()
            }
            before = self._watched.get(document, now)
            self._watched[document] = now
            for name in self._lessons.views:
                if before[name] != now[name]:
                    pairs = before[name] - now[name], now[name] - before[name]
                    gone, new = ([phrase for phrase, _ in sorted(own, key=itemgetter(1))] for own in pairs)
                    changes.append(answers.Change(document, number, name, gone, new))
        self._lessons.copy_if_due()
        return answers.Changes(changes, len(documents), round(1e3 * (time.perf_counter() - begun), 1))

    def suggest(self, component: str, after: str | None = None) -> answers.Suggested:
        """The untaught text that the component would learn most from.

        Args:
            after: a text not to suggest.
        """
        view, taught = self._lessons.view(component), self._lessons.taught
        left = [document for document in self._lessons.texts if Subject(document, component) not in taught]
        is_left = set(left)
        ranking = [pair for pair in self._ranking.get(component, []) if pair[0] in is_left and pair[0] != after]
        if not ranking:
            chosen = [document for document in left if document != after]
            chosen = chosen[:: 1 + len(chosen) // MAX_RANKED]
            docs = list(self._lessons.process([self._lessons.texts[document] for document in chosen], before=component))
            ranked = view.pipe.suggest(docs) if docs else ()
            ranking = [(chosen[number], score) for number, score in islice(ranked, RANKED_FOR)]
        self._ranking[component] = ranking
        if not ranking:
            return answers.Suggested(None, None, len(left))
        return answers.Suggested(ranking[0][0], round(ranking[0][1], 4), len(left))

    def recommend(self, text: str, component: str) -> tuple[list[answers.Shown], float | None]:
        """The items of a text that need not be among the session's, and how far they are ahead of the second best."""
        view = self._lessons.view(component)
        (doc,) = self._lessons.process([text], until=component)
        scores = [score for score, _ in view.pipe.kbest(doc, 2)]
        gap = scores[0] - scores[1] if len(scores) == 2 else None
        return [_shown(doc, item) for item in view.items(doc)], gap

    # Files

    def export(self) -> answers.Written:
        """Write taught annotation to .spacy, where the rest is missing, and .conllu, where it is predicted."""
        contents = exported(self._lessons)
        replace_files(self.folder, contents)
        return answers.Written([str(self.folder / name) for name in contents], len(self._lessons.taught_texts))

    def save(self) -> answers.Written:
        """Save the taught pipeline. Until it is complete, an earlier one stays."""
        output = save(self.nlp, self.folder)
        self._lessons.is_saved = True
        return answers.Written([str(output)], len(self._lessons.taught_texts))

    # Docs

    def _item(self, doc: Doc, start: int, end: int, label: str, head: int | None) -> tuple[Item, bool]:
        """The item of these characters, and whether they cut a token. head: a character of the head."""
        if not 0 <= start < end <= len(doc.text):
            raise ValueError(f"there are no characters {start} to {end} in a text of {len(doc.text)}")
        inside = [token.i for token in doc if token.idx < end and start < token.idx + len(token)]
        if not inside:
            raise ValueError("there is no token between these characters")
        above = None
        if head is not None:
            above = next((token.i for token in doc if token.idx <= head < token.idx + len(token)), None)
            if above is None:
                raise ValueError(f"character {head} is in no token that could be a head")
        item = Item(inside[0], inside[-1] + 1, label, above)
        return item, _characters(doc, item.start, item.end) != (start, end)

    # Answers

    def _component(self, name: str) -> answers.Component:
        view = self._lessons.views[name]
        taught = [(place, taught) for place, taught in self._lessons.taught.items() if place.component == name]
        counts = [_agreement(self._lessons.first[place], own.items) for place, own in taught if own.is_whole]
        return answers.Component(
            name=name,
            kind=view.kind,
            labels=list(view.labels[:MAX_LABELS]),
            has_probabilities=view.pipe.has_probabilities,
            n_accepted=len(counts),
            n_right=sum(2 * both == of_all for both, of_all in counts),
            accuracy=_f_score(counts),
            recent=_f_score(counts[-RECENT:]),
        )

    def _layer(self, document: str, name: str, doc: Doc) -> answers.Layer:
        view, taught = self._lessons.views[name], self._lessons.taught.get(Subject(document, name), NOTHING)
        items = view.items(doc)
        try:
            scores = view.scores(doc)
        except ValueError:
            scores = {}
        known = set(taught.items)
        shown = [_shown(doc, item, scores.get(item), item in known) for item in items]
        missed = [item for item in taught.items if view.is_missed(item, items)]
        return answers.Layer(
            name, view.kind, shown, [_shown(doc, item, None, True) for item in missed], taught.is_whole
        )


def opened(nlp: Language, folder: Path, texts: Iterable[str] = ()) -> "closing[Session]":
    """A Session that is closed at the end of a `with`."""
    return closing(Session(nlp, folder, texts))


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LISTED else f"{line[:LISTED]}…"


def _characters(doc: Doc, start: int, end: int) -> tuple[int, int]:
    """The characters of tokens start … end − 1."""
    last = doc[end - 1]
    return doc[start].idx, last.idx + len(last)


def _shown(doc: Doc, item: Item, score: float | None = None, is_taught: bool = False) -> answers.Shown:
    is_finite = score is not None and math.isfinite(score)
    confidence = 1.0 if score is None else min(1.0, max(0.0, score))
    return answers.Shown(
        *_characters(doc, item.start, item.end),
        item.label,
        None if item.head is None else doc[item.head].idx,
        round(score, 4) if score is not None and is_finite else None,
        round(confidence, 4),
        is_taught,
    )


def _phrase(doc: Doc, item: Item) -> str:
    head = "" if item.head in (None, item.start) else f" of {doc[item.head].text}"
    return f"{doc[item.start : item.end].text} → {item.label}{head}"


def _answer(finding: Finding, words: Sequence[str]) -> answers.Answer:
    reasons = [
        answers.SaidReason(round(r.gain, 4), words[r.token], in_words(r.feature), r.feature, r.label, r.other)
        for r in finding.reasons[:MAX_REASONS]
    ]
    margin = round(finding.margin, 4) if math.isfinite(finding.margin) else None
    return answers.Answer(finding.title(words), finding.ahead, finding.is_predicted, margin, finding.runner_up, reasons)


def _agreement(predicted: Sequence[Item], gold: Sequence[Item]) -> tuple[int, int]:
    """The number of common items, and of the items of both in total, without non-entities."""
    wanted = {item for item in gold if item.label}
    return len(wanted & set(predicted)), len(wanted) + len(predicted)


def _f_score(counts: Sequence[tuple[int, int]]) -> float | None:
    """2 · both / all; None if there is nothing."""
    both, of_all = (sum(column) for column in zip(*counts)) if counts else (0, 0)
    return round(2 * both / of_all, 4) if of_all else None
