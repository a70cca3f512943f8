"""`ssvm_parser`: a labelled dependency tree for each sentence."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast, overload

import numpy as np
from spacy.attrs import DEP, HEAD, SENT_START
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from ..files import listed
from ..models.tree.space import TreeGold
from ..structures import UNKNOWN
from ..structures.tree.scored import heads_and_labels_above
from ..training.calibration import Fit
from ..wording import name_of
from .arcs import Arcs, ParserSpace
from .codec import Codec, Gaps, Given, SavedCodec, Survey, Warn, report_labels, values_of
from .component import SsvmPipe
from .gold_trees import FLAWS, ROOT, UNNAMED, gold_trees, sets_all_starts
from .long_sentences import MAX_SENTENCE, joined
from .writing import with_values


@dataclass(frozen=True)
class ParserCodec(Codec):
    """Heads and labels of dependency trees, and with them `doc.sents`.

    A sentence gets one root. With multi_root, it gets the number of roots that scores best; `doc.sents` then changes
    only when the Doc is saved and loaded: spaCy derives sentences from roots.

    Attributes:
        multi_root: whether a sentence may have several roots.
        overwrite: whether existing heads and labels are overwritten; otherwise they stay, and the tree is the best one
            that contains them.
        is_projective: whether only projective trees are built.
    """

    attributes = (HEAD, DEP)

    multi_root: bool = False
    overwrite: bool = True
    is_projective: bool = True

    @cached_property
    def space(self) -> ParserSpace:
        labels = ROOT, *(label for label in self.labels if label != ROOT)
        return ParserSpace(self.name, labels, self.multi_root, self.overwrite, self.patterns, self.unlearnt)

    @property
    def saved(self) -> SavedCodec:
        return SavedCodec({"multi_root": self.multi_root}, {})

    def gold(self, example: Example) -> TreeGold:
        return gold_trees(example, self.multi_root)

    def survey(self, examples: Iterable[Example], gold: Sequence[TreeGold]) -> Survey:
        return Survey(len(gold), Counter(label for found in gold for label in found.labels if label is not None))

    def gaps(self, examples: Mapping[int, Example], gold: Mapping[int, TreeGold]) -> Gaps:
        found = super().gaps(examples, gold)
        found.counts["tokens"] = sum(len(one.heads) for one in gold.values())
        for number, one in gold.items():
            for what, tokens in (*one.flaws.items(), ("unknown", np.flatnonzero(one.heads == UNKNOWN))):
                if len(tokens):
                    found.counts[what] += len(tokens)
                    name = name_of(number, examples[number].predicted, int(tokens[0]))
                    found.named.setdefault(what, []).append(name)
        return found

    def report_gaps(self, gaps: Gaps, warn: Warn) -> None:
        counts = gaps.counts
        report_labels(self, self.space.labels, gaps, warn)
        for what in FLAWS:
            if counts[what]:
                warn(": ".join((_FLAWS[what], f"{counts[what]:,}, in {listed(gaps.named[what])}")))
        if counts["unknown"] > counts["crossing"] + counts["cut"] + counts["headless"]:
            warn(
                f"{counts['unknown']:,} of {counts['tokens']:,} training tokens have no gold head that can be used; "
                "the model completes them as it learns, in sentences where others have one: "
                + listed(gaps.named["unknown"])
            )

    @property
    def sets_starts(self) -> bool:
        return self.multi_root

    def write(
        self, docs: Iterable[Doc], predictions: Sequence[tuple[np.ndarray, np.ndarray]], given: Sequence[Given]
    ) -> None:
        for doc, _, tree, before in with_values(docs, predictions, given, self._values):
            is_given = np.zeros(len(doc), np.bool_)
            if not self.overwrite and before.values is not None:
                is_given = before.values[:, 1] != 0
                tree[is_given, 1] = before.values[is_given, 1]
            reads_starts = before.has_starts and (self.multi_root or len(doc) > MAX_SENTENCE)
            starts = values_of(doc, [SENT_START]) if reads_starts else None
            if starts is not None and len(doc) > MAX_SENTENCE:
                if is_given.any():
                    tree[is_given, 0] = cast(Any, before.values)[is_given, 0]
                self._join(doc.vocab, tree, is_given, starts[:, 0] == 1)
            doc.from_array([HEAD, DEP], cast(Any, tree))
            if starts is not None and self.multi_root:
                doc.from_array([SENT_START], cast(Any, starts))

    def _join(self, vocab: Vocab, tree: np.ndarray, is_given: np.ndarray, is_start: np.ndarray) -> None:
        """Join the parts of each long sentence to one tree; with several roots, only given heads join them.

        Args:
            tree: uint64 [T, 2], HEAD and DEP, changed in place.
            is_given: bool [T], heads that stay.
            is_start: bool [T].
        """
        tokens = np.arange(len(tree))
        is_start[0] = True
        starts = np.flatnonzero(is_start)
        if np.diff(starts, append=len(tree)).max() <= MAX_SENTENCE:
            return
        before = tokens + tree[:, 0].astype(np.int64)
        heads = joined(before, is_given, None if self.multi_root else starts)
        tree[:, 0] = (heads - tokens).view(np.uint64)
        for tokens_of, label in ((heads != tokens, UNNAMED), (heads == tokens, ROOT)):
            tree[tokens_of & (heads != before), 1] = vocab.strings.add(label)

    def _values(self, vocab: Vocab, docs: Sequence[Doc], trees: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
        """spaCy's HEAD and DEP of all tokens, uint64 [T, 2], from the heads and labels of some Docs."""
        names = np.array([vocab.strings.add(label) for label in self.space.labels], np.uint64)
        lengths = [len(heads) for heads, _ in trees]
        places = np.arange(sum(lengths)) - np.repeat(np.cumsum([0, *lengths[:-1]]), lengths)
        labels = np.concatenate([labels for _, labels in trees])
        offsets = np.concatenate([heads for heads, _ in trees]) - places
        # No label but that of roots has been learnt.
        unnamed = (labels == 0) & (offsets != 0)
        deps = np.where(unnamed, np.uint64(vocab.strings.add(UNNAMED)), names[labels])
        return np.stack([offsets.astype(np.int64).view(np.uint64), deps], axis=1)

    def complaint(self, docs: Sequence[Doc]) -> str | None:
        if self.multi_root or all(map(sets_all_starts, docs)):
            return None
        bare = next(doc for doc in docs if not sets_all_starts(doc))
        return (
            "a Doc says of some tokens only whether a sentence starts there; the others continue one"
            if bare.has_annotation(SENT_START)
            else "a Doc has no sentence boundaries and is parsed as one sentence"
        ) + ': put a component that sets boundaries before the parser, such as "ssvm_senter"'

    @property
    def parts(self) -> Arcs:
        return Arcs(self.space.labels, UNNAMED)


class SsvmParser(SsvmPipe):
    """Sets `token.head` and `token.dep`, and with them `doc.sents`; see `ParserCodec` for its settings."""

    codec: ParserCodec

    def initialize(self, get_examples: Any, nlp: Language | None = None, labels: Any = None) -> None:
        super().initialize(get_examples, nlp=nlp, labels=labels)
        late = [] if nlp is None else self.late_boundaries(nlp)
        if late:
            self._learning.warn(
                f"{', '.join(late)} sets sentence boundaries, but comes after this parser, which then parses a whole "
                "document as one sentence: put it before the parser in nlp.pipeline"
            )

    def late_boundaries(self, nlp: Language) -> list[str]:
        """The components that set sentence boundaries after this one, if none does before it."""
        names = nlp.component_names
        if self.name not in names:
            return []
        sets = [name for name in names if name != self.name and _sets_boundaries(nlp, name)]
        place = names.index(self.name)
        return [] if any(names.index(name) < place for name in sets) else sets

    def pipe(self, docs: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """As in `SsvmPipe`; in spaCy's components, too, the argument is `docs` here, and `stream` for the tagger."""
        return super().pipe(docs, batch_size=batch_size)

    @overload
    def scored_parses(
        self, docs: Doc, min_score: float | None = None
    ) -> tuple[dict[tuple[int, int], float], dict[tuple[int, str], float]]: ...

    @overload
    def scored_parses(
        self, docs: Iterable[Doc], min_score: float | None = None
    ) -> tuple[list[dict[tuple[int, int], float]], list[dict[tuple[int, str], float]]]: ...

    def scored_parses(self, docs: Doc | Iterable[Doc], min_score: float | None = None) -> Any:
        """The score of each (token, head) of a Doc, and of each (token, label), as spaCy's beam parser names them.

        Scores are probabilities or, without `has_probabilities`, margins, which only the heads and labels of the best
        tree have. A root is its own head. Trees have only arcs that the first pass keeps.

        Args:
            docs: a Doc, or Docs, for which the results are two lists.
            min_score: the smallest score that is listed; by default a probability of 0.01 or a margin of 0.

        Raises:
            TypeError: `docs` are no Docs.
            ValueError: `min_score` is no such score, the component has no labels yet, or its structure is not decoded
                exactly.
        """

        answers = []
        for found in self._asking.scored(self._without_own(docs), min_score, heads_and_labels_above):
            heads, labels = {}, {}
            for part, score in found:
                if part.head is None:
                    labels[part.start, part.label] = score
                else:
                    heads[part.start, part.head] = score
            answers.append((heads, labels))
        if isinstance(docs, Doc):
            return answers[0]
        return [heads for heads, _ in answers], [labels for _, labels in answers]

    def calibrate(self, examples: Iterable[Example]) -> Fit:
        if self.model.attrs["order"] > 1:
            raise ValueError(
                f"[{self.name}] trees of order {self.model.attrs['order']} have no exact sums, so that there are no "
                "probabilities to calibrate: use order 1"
            )
        return super().calibrate(examples)


_FLAWS = {
    "headless": "tokens have a relation, but no head (they are their own head, and no root), and are left out",
    "circular": "gold heads contain cycles, and their sentences are left out",
    "crossing": "gold heads lie in another sentence and count as missing (if the treebank has sentences with several "
    "roots, set multi_root = true)",
    "cut": f"gold heads count as missing, as their sentences have more than {MAX_SENTENCE:,} tokens and are cut there",
    "second": "gold sentences have several roots, where multi_root = false allows one, and the nearest tree with one "
    "root is learnt",
    "named": "roots have another relation than ROOT, which is not learnt",
    "unnamed": "tokens with a head have the relation ROOT, which counts as missing",
}
"""The message about each of `gold_trees.FLAWS`."""


def _sets_boundaries(nlp: Language, name: str) -> bool:
    assigned = nlp.get_pipe_meta(name).assigns
    return "token.is_sent_start" in assigned and "token.head" not in assigned
