"""The items of each kind of annotation that are shown, asked about and taught, and the gold Docs that teach them."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
from spacy.attrs import DEP, HEAD, SENT_START
from spacy.tokens import Doc, Span

from ..pipeline.analyses import divided, joined
from ..pipeline.component import SsvmPipe
from ..pipeline.gold_trees import ROOT
from ..pipeline.lemmas.edit_scripts import parse_script, script_of
from ..pipeline.lemmas.lemmatizer import SsvmLemmatizer
from ..pipeline.morphologizer import SsvmMorphologizer
from ..pipeline.ner import SsvmNer
from ..pipeline.parser import SsvmParser
from ..pipeline.senter import INSIDE, START, SsvmSenter
from ..pipeline.tagger import SsvmTagger

MAX_LABEL = 200
"""Characters of a label."""


class Item(NamedTuple):
    """Tokens start … end − 1 of a Doc, their label, and for an arc its head; a root is its own head.

    The label of tokens that are no entity is empty.
    """

    start: int
    end: int
    label: str
    head: int | None = None


class Taught(NamedTuple):
    """The annotation of one kind that a text has been given; is_whole: whether these are all of its items."""

    items: tuple[Item, ...] = ()
    is_whole: bool = False


class View:
    """One kind of annotation. pipe: the component that sets it.

    Attributes:
        kind: its name, for the page.
    """

    kind: ClassVar[str] = "tags"

    def __init__(self, pipe: Any) -> None:
        self.pipe = pipe

    @property
    def labels(self) -> Sequence[str]:
        """The labels to choose from; others may be new."""
        return sorted(self.pipe.labels)

    def items(self, doc: Doc) -> list[Item]:
        """The items of a processed Doc, in the order of their tokens."""
        return [Item(i, i + 1, label) for i in _words(doc) if (label := self._label(doc, i))]

    def is_missed(self, item: Item, items: Sequence[Item]) -> bool:
        """Whether the items of a processed Doc contradict one that was taught."""
        return item not in items

    def scores(self, doc: Doc) -> Mapping[Item, float]:
        """The scores of items of a processed Doc.

        Raises:
            ValueError: the component has no scores.
        """
        return {Item(i, i + 1, label): score for (i, label), score in self.pipe.scored_tags(doc).items()}

    def question(self, doc: Doc, item: Item) -> Any:
        """The item as `explain` takes it."""
        return item.start, item.label

    def analysis(self, doc: Doc, parts: Sequence[Any]) -> list[Item]:
        """The items of an analysis that `kbest` lists."""
        return [Item(i, i + 1, label) for i, label in zip(_words(doc), parts)]

    def checked(self, doc: Doc, item: Item) -> Item:
        """An item that can be taught.

        Args:
            doc: a processed one.

        Raises:
            ValueError: the component could not learn it.
        """
        if item.end != item.start + 1:
            raise ValueError(f"{self.kind} are annotation of single tokens, not of {doc[item.start : item.end].text!r}")
        if doc[item.start].is_space:
            raise ValueError("this token is whitespace, which has no annotation of its own")
        if not item.label.strip() or len(item.label) > MAX_LABEL:
            raise ValueError(f"a label has 1 to {MAX_LABEL} characters")
        self._check_label(item.label)
        return item._replace(head=None)

    def added(self, doc: Doc, taught: Sequence[Item], item: Item) -> tuple[Item, ...]:
        """The items with another one, without conflicting ones."""
        left = [other for other in taught if other.end <= item.start or item.end <= other.start]
        return tuple(sorted([*left, item]))

    def write(self, doc: Doc, taught: Taught, processed: Doc) -> None:
        """Write gold annotation to a Doc; the rest is missing. processed: the Doc as predicted."""
        for item in taught.items:
            self._set(doc, item)

    def _label(self, doc: Doc, token: int) -> str:
        return str(doc[token].pos_ if self.pipe.codec.attr == "pos" else doc[token].tag_)

    def _set(self, doc: Doc, item: Item) -> None:
        setattr(doc[item.start], f"{self.pipe.codec.attr}_", item.label)

    def _check_label(self, label: str) -> None:
        self.pipe.codec.check_label(label)


class MorphView(View):
    """Coarse tags with features."""

    kind = "morphology"

    def checked(self, doc: Doc, item: Item) -> Item:
        pos, morph = divided(item.label)
        return super().checked(doc, item._replace(label=joined(pos, morph)))

    def _label(self, doc: Doc, token: int) -> str:
        return joined(doc[token].pos_, str(doc[token].morph))

    def _set(self, doc: Doc, item: Item) -> None:
        pos, morph = divided(item.label)
        doc[item.start].pos_ = cast(Any, pos)
        cast(Any, doc[item.start]).set_morph(morph)


class LemmaView(View):
    """Lemmas, which edit scripts make."""

    kind = "lemmas"
    labels = ()

    def scores(self, doc: Doc) -> Mapping[Item, float]:
        return {Item(i, i + 1, lemma): score for (i, lemma), score in self.pipe.scored_lemmas(doc).items()}

    def question(self, doc: Doc, item: Item) -> Any:
        form = doc[item.start].text
        makes = [label for label in self.pipe.labels if parse_script(label).apply(form) == item.label]
        script = str(script_of(form, item.label))
        if not makes:
            raise ValueError(f"the component has no edit script yet that makes {item.label!r} of {form!r}")
        return item.start, script if script in makes else makes[0]

    def analysis(self, doc: Doc, parts: Sequence[Any]) -> list[Item]:
        found = super().analysis(doc, parts)
        lemmas = [parse_script(item.label).apply(doc[item.start].text) for item in found]
        return [item._replace(label=lemma or "") for item, lemma in zip(found, lemmas)]

    def _label(self, doc: Doc, token: int) -> str:
        return doc[token].lemma_

    def _set(self, doc: Doc, item: Item) -> None:
        doc[item.start].lemma_ = item.label

    def _check_label(self, label: str) -> None:
        if label != label.strip():
            raise ValueError("a lemma has no spaces around it")


class EntityView(View):
    """Entities."""

    kind = "entities"

    def items(self, doc: Doc) -> list[Item]:
        return [Item(entity.start, entity.end, entity.label_) for entity in doc.ents]

    def is_missed(self, item: Item, items: Sequence[Item]) -> bool:
        overlaps = any(other.start < item.end and item.start < other.end for other in items)
        return item not in items and (bool(item.label) or overlaps)

    def scores(self, doc: Doc) -> Mapping[Item, float]:
        return {Item(*entity): score for entity, score in self.pipe.scored_ents(doc).items()}

    def question(self, doc: Doc, item: Item) -> Any:
        if not item.label:
            raise ValueError("ask about an entity with a label")
        return item[:3]

    def analysis(self, doc: Doc, parts: Sequence[Any]) -> list[Item]:
        return [Item(*part) for part in parts]

    def checked(self, doc: Doc, item: Item) -> Item:
        tokens = [i for i in range(item.start, item.end) if not doc[i].is_space]
        if not tokens:
            raise ValueError("these tokens are whitespace, which is no entity")
        if len(item.label) > MAX_LABEL:
            raise ValueError(f"a label has at most {MAX_LABEL} characters")
        if item.label:
            self.pipe.codec.check_label(item.label)
        return Item(tokens[0], tokens[-1] + 1, item.label)

    def write(self, doc: Doc, taught: Taught, processed: Doc) -> None:
        entities = [Span(doc, start, end, label=label) for start, end, label, _ in taught.items if label]
        outside = [Span(doc, start, end) for start, end, label, _ in taught.items if not label]
        doc.set_ents(entities, outside=outside, default="outside" if taught.is_whole else "missing")


class StartView(View):
    """The tokens that start sentences; a token that was taught to continue one has the label INSIDE."""

    kind = "sentences"
    labels = (START, INSIDE)

    def items(self, doc: Doc) -> list[Item]:
        return [Item(token.i, token.i + 1, START) for token in doc if token.is_sent_start and not token.is_space]

    def is_missed(self, item: Item, items: Sequence[Item]) -> bool:
        return (item.label == START) != (item._replace(label=START) in items)

    def scores(self, doc: Doc) -> Mapping[Item, float]:
        return {Item(token, token + 1, START): score for token, score in self.pipe.scored_starts(doc).items()}

    def question(self, doc: Doc, item: Item) -> Any:
        return item.start

    def analysis(self, doc: Doc, parts: Sequence[Any]) -> list[Item]:
        return [Item(token, token + 1, START) for token in parts]

    def checked(self, doc: Doc, item: Item) -> Item:
        if item.start == 0 and item.label == INSIDE:
            raise ValueError("the first token of a text always starts a sentence")
        return super().checked(doc, item)

    def write(self, doc: Doc, taught: Taught, processed: Doc) -> None:
        # Single starts would say of all other tokens that they continue a sentence.
        starts = np.full(len(doc), -1)
        starts[[item.start for item in self.items(processed)]] = 1
        for item in taught.items:
            starts[item.start] = 1 if item.label == START else -1
        doc.from_array([SENT_START], cast(Any, starts.astype(np.int64).view(np.uint64)))

    def _check_label(self, label: str) -> None:
        if label not in self.labels:
            raise ValueError(f"the label is {START} for the start of a sentence, or {INSIDE}, not {label!r}")


class ArcView(View):
    """Heads and their labels."""

    kind = "arcs"

    def items(self, doc: Doc) -> list[Item]:
        words = [token for token in doc if not token.is_space and token.has_dep()]
        return [Item(token.i, token.i + 1, token.dep_, token.head.i) for token in words]

    def scores(self, doc: Doc) -> Mapping[Item, float]:
        heads, labels = self.pipe.scored_parses(doc)
        return {
            item: min(heads.get((item.start, cast(int, item.head)), math.inf), labels.get(item[::2], math.inf))
            for item in self.items(doc)
        }

    def question(self, doc: Doc, item: Item) -> Any:
        return item.start if item.head is None else item.head, item.start, item.label

    def analysis(self, doc: Doc, parts: Sequence[Any]) -> list[Item]:
        return [Item(token, token + 1, label, head) for head, token, label in parts]

    def checked(self, doc: Doc, item: Item) -> Item:
        head = item.start if item.head is None else item.head
        found = super().checked(doc, item._replace(label=ROOT if head == item.start else item.label))
        if found.label == ROOT and head != item.start:
            raise ValueError(
                f"{ROOT} is the label of a word without a head: choose another label, or the word itself as its head"
            )
        if doc[head].is_space:
            raise ValueError("the head is whitespace, which has no place in a tree")
        if doc.has_annotation("SENT_START") and doc[head].sent.start != doc[item.start].sent.start:
            raise ValueError(
                f"{doc[head].text!r} is in another sentence than {doc[item.start].text!r}: teach first where sentences "
                "start"
            )
        return found._replace(head=head)

    def added(self, doc: Doc, taught: Sequence[Item], item: Item) -> tuple[Item, ...]:
        left = {other.start: other for other in taught if other.start != item.start}
        if item.head == item.start and not self.pipe.codec.multi_root:
            sentence = doc[item.start].sent
            tokens = range(sentence.start, sentence.end)
            left = {i: other for i, other in left.items() if other.head != i or i not in tokens}
        token = cast(int, item.head)
        while token in left and token != item.start and left[token].head not in (token, item.start):
            token = cast(int, left[token].head)
        if token in left and left[token].head == item.start:
            del left[token]  # It would close a circle.
        return tuple(sorted([*left.values(), item]))

    def write(self, doc: Doc, taught: Taught, processed: Doc) -> None:
        tree = np.zeros((len(doc), 2), np.uint64)
        for start, _, label, head in taught.items:
            tree[start] = np.int64(cast(int, head) - start).view(np.uint64), doc.vocab.strings.add(label)
        starts = processed.to_array([SENT_START])
        doc.from_array([HEAD, DEP], cast(Any, tree))
        # spaCy derives others from the heads.
        doc.from_array([SENT_START], cast(Any, starts))


_VIEWS: dict[type[SsvmPipe], type[View]] = {
    SsvmSenter: StartView,
    SsvmTagger: View,
    SsvmMorphologizer: MorphView,
    SsvmLemmatizer: LemmaView,
    SsvmParser: ArcView,
    SsvmNer: EntityView,
}


def view_of(pipe: object) -> View | None:
    """The view of a component; None if it is none of ours."""
    return next((view(pipe) for component, view in _VIEWS.items() if isinstance(pipe, component)), None)


def _words(doc: Doc) -> list[int]:
    return [token.i for token in doc if not token.is_space]
