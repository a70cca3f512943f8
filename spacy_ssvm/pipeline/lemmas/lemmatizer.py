"""`ssvm_lemmatizer`: a lemma for each token, by the edit script that makes it from the form."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from spacy.attrs import LEMMA, ORTH, POS
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from ...features.index import mixed
from ...inspect.parts import ComparedPart
from ...models.chain.space import ChainGold
from ...words import origin_of
from ..asking import of_docs
from ..chain_codec import ChainCodec, Tags, gold_strings
from ..chain_component import ChainComponent
from ..codec import Gaps, Given, SavedCodec, Warn, values_of
from ..writing import write_values
from .edit_scripts import parse_script, script_of
from .known_lemmas import KnownLemmas, unpack_lemmas
from .lemma_lexicon import READ, LemmaLexicon, WordSurvey, known_entries, unpack_lexicon
from .script_kinds import MAX_WORDS, ScriptKinds, scripts_of

if TYPE_CHECKING:
    from typing_extensions import Self


BACKOFF = ("orth", "lower", "norm")
"""The attributes of words that can replace a lemma."""
NO_LEMMA = "_"
"""The sign for a missing lemma in CoNLL-U files."""


@dataclass(frozen=True)
class LemmatizerCodec(ChainCodec):
    """A lemma for each token; labels are edit scripts, see `edit_scripts`.

    Attributes:
        backoff: the attribute that is the lemma of a token to which no script applies, "orth", "lower" or "norm"; None
            for no lemma.
        min_tree_freq: how often a script must occur among the examples to become a label.
        overwrite: whether existing lemmas are overwritten.
        lexicon: of known words; it limits their scripts in prediction, not in training, where all words are known.
        lemmas: of the examples, for features.

    Raises:
        ValueError: an unknown attribute, a frequency that is no whole number of at least 1, or a label cost that is not
            finite, or negative.
    """

    of_tokens = True
    attributes = (LEMMA,)

    backoff: str | None = "orth"
    min_tree_freq: int = 1
    overwrite: bool = False
    lexicon: LemmaLexicon = field(default_factory=LemmaLexicon)
    lemmas: KnownLemmas = field(default_factory=KnownLemmas)

    def __post_init__(self) -> None:
        if self.backoff is not None and self.backoff not in BACKOFF:
            raise ValueError(f"[{self.name}] backoff must be null or one of {', '.join(BACKOFF)}, not {self.backoff!r}")
        if not isinstance(self.min_tree_freq, int) or self.min_tree_freq < 1:
            raise ValueError(
                f"[{self.name}] min_tree_freq must be a whole number of at least 1, not {self.min_tree_freq!r}"
            )
        super().__post_init__()

    # Gold

    def gold(self, example: Example) -> ChainGold:
        forms = [token.text for token in example.predicted]
        return ChainGold([_label(form, lemma) for form, lemma in zip(forms, gold_strings(example, LEMMA))])

    def survey(self, examples: Iterable[Example], gold: Sequence[ChainGold]) -> "WordSurvey":
        survey = WordSurvey(len(gold), self.label_counts(gold), min_count=self.min_tree_freq)
        for example, found in zip(examples, gold):
            words = zip(example.predicted, gold_strings(example, LEMMA), found.labels)
            survey.pairs.update((token.text, lemma) for token, lemma, label in words if label is not None)
            values = values_of(example.predicted, READ)
            survey.read.update(np.flatnonzero(values.any(axis=0)).tolist())
            for word, label in zip(map(tuple, values.tolist()), found.labels):
                if label is not None:
                    survey.scripts.setdefault(word, Counter())[label] += 1
        return survey

    def with_survey(self, survey: "WordSurvey") -> "Self":
        # What corrections alone read would be missing from the keys of all other words.
        read = self.lexicon.read if survey.of_corrections and self.lexicon.read else survey.read
        return self._with_known(survey.known(read), survey.pairs, read)

    def with_entries(self, entries: Sequence[tuple[str, str, str]]) -> "Self":
        """The codec with entries of a lexicon added: form, coarse tag, which may be empty, and lemma."""
        read = [place for place, attribute in enumerate(READ) if attribute in (ORTH, POS)]
        return self._with_known(known_entries(entries), ((form, lemma) for form, _, lemma in entries), read)

    def _with_known(
        self, known: Mapping[int, set[str]], pairs: Iterable[tuple[str, str]], read: Iterable[int]
    ) -> "Self":
        lexicon, lemmas = self.lexicon.with_known(known, read), self.lemmas.with_pairs(pairs)
        unchanged = lexicon is self.lexicon and lemmas is self.lemmas
        return self if unchanged else replace(self, lexicon=lexicon, lemmas=lemmas)

    def report_gaps(self, gaps: Gaps, warn: Warn) -> None:
        frequent = {label: count for label, count in gaps.labels.items() if count >= self.min_tree_freq}
        super().report_gaps(gaps._replace(labels=Counter(frequent)), warn)

    @property
    def saved(self) -> SavedCodec:
        return SavedCodec({}, {"lexicon": self.lexicon.packed, "lemmas": self.lemmas.packed})

    def restored(self, saved: SavedCodec) -> "Self":
        notes = saved.notes
        return replace(self, lexicon=unpack_lexicon(notes["lexicon"]), lemmas=unpack_lemmas(notes["lemmas"]))

    @cached_property
    def kinds(self) -> ScriptKinds:  # It remembers words.
        return ScriptKinds(self.labels, self.lexicon, self.lemmas, self.overwrite)

    # Predictions

    def write(self, docs: Iterable[Doc], predictions: Sequence[np.ndarray], given: Sequence[Given]) -> None:
        write_values(self.attributes, self.overwrite, docs, predictions, given, self._lemmas_of)

    def _lemmas_of(self, vocab: Vocab, docs: Sequence[Doc], predictions: Sequence[np.ndarray]) -> np.ndarray:
        """spaCy's numbers of the lemmas, uint64 [T, 1]."""
        values, labels = np.concatenate([values_of(doc, READ) for doc in docs]), np.concatenate(predictions)
        unlabelled = self.kinds.limits.unlabelled
        if unlabelled.any():
            known = self.lexicon.look_up(values)
            labels = np.where(np.append(unlabelled, False)[known], -1 - known, labels)
        pairs = np.stack([values[:, 0], labels.astype(np.uint64)], axis=1)
        _, chosen, places = np.unique(mixed(pairs), return_index=True, return_inverse=True)
        found = [self._lemma_of(int(values[token, 0]), int(labels[token]), vocab) for token in chosen]
        return np.array(found, np.uint64)[places.reshape(-1, 1)]

    def _lemma_of(self, orth: int, number: int, vocab: Vocab) -> int:
        """The number of a lemma, 0 without one. number: of a label or, as −1 − s, of a set s of the lexicon none of
        whose scripts is a label."""
        lemma = self._known_lemmas.get((orth, number))
        if lemma is None:
            if len(self._known_lemmas) > MAX_WORDS:
                self._known_lemmas.clear()
            script = (
                scripts_of(self.labels)[number] if number >= 0 else parse_script(self.lexicon.scripts[-1 - number][0])
            )
            lemma = script.apply(vocab.strings[orth])
            if lemma is None:
                # What one vocabulary knows of a word need not hold in another one.
                return int(vocab.strings.add(getattr(vocab[orth], f"{self.backoff}_"))) if self.backoff else 0
            self._known_lemmas[orth, number] = lemma
        return int(vocab.strings.add(lemma)) if lemma else 0

    @cached_property
    def _known_lemmas(self) -> dict[tuple[int, int], str]:
        return {}

    # Labels

    @property
    def parts(self) -> "LemmaScripts":
        return LemmaScripts(self.labels, self.labels, self.gold)

    def check_label(self, label: Any) -> None:
        super().check_label(label)
        try:
            parse_script(label)
        except ValueError as error:
            raise ValueError(f"[{self.name}] {error}") from None


class LemmaScripts(Tags):
    """The edit scripts of tokens. Lemmas are compared, as different scripts can make the same one."""

    query_form = "an edit script: (token, script)"

    def compared(self, example: Example) -> list[ComparedPart]:
        pairs = enumerate(zip(gold_strings(example, LEMMA), example.predicted))
        return [
            ComparedPart(i, i + 1, gold, token.lemma_ or None)
            for i, (gold, token) in pairs
            if _label(token.text, gold) is not None
        ]

    def missed(self, mistake: ComparedPart) -> None:
        return None


def _label(form: str, lemma: str) -> str | None:
    """The label of a token; None without a lemma."""
    if not lemma or (lemma == NO_LEMMA and form != NO_LEMMA):
        return None
    return str(script_of(form, lemma))


class SsvmLemmatizer(ChainComponent):
    """Sets `token.lemma`; see `LemmatizerCodec` for its settings."""

    codec: LemmatizerCodec

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        nlp: Language | None = None,
        labels: Sequence[str] | Mapping[str, Any] | None = None,
        lexicon: Sequence[tuple[str, str, str]] | None = None,
    ) -> None:
        """Learn from examples, as in `SsvmPipe.initialize`.

        Args:
            lexicon: the form, coarse tag and lemma of each word; the tag may be empty. The lexicon is saved with the
                component.
        """
        if isinstance(labels, Mapping) and "trees" in labels:
            raise ValueError(
                f"[{self.name}] initialize: labels are edit trees of spaCy's trainable_lemmatizer; this component "
                "has edit scripts: run `spacy init labels` with a config that has ssvm_lemmatizer, or leave them out"
            )
        before = self.codec
        self.codec = before.with_entries(lexicon or ())
        try:
            super().initialize(get_examples, nlp, labels)
        except Exception:
            self.codec = before
            raise

    @of_docs
    def scored_lemmas(self, docs: Sequence[Doc], min_score: float | None = None) -> list[dict[tuple[int, str], float]]:
        """The score of each (token, lemma) of a Doc, a probability or, without `has_probabilities`, a margin; the best
        one if several scripts make the lemma.

        Args:
            docs: a Doc, or an iterable of Docs.
            min_score: as for `SsvmTagger.scored_tags`.

        Raises:
            TypeError: `docs` are no Docs.
            ValueError: `min_score` is no such score, or the component has no labels yet.
        """

        scored = []
        for doc, parts in zip(docs, self._asking.scored(docs, min_score)):
            lemmas: dict[tuple[int, str], float] = {}
            for part, score in parts:
                lemma = parse_script(part.label).apply(origin_of(doc)[part.start].text)
                if lemma is not None:
                    lemmas[part.start, lemma] = max(score, lemmas.get((part.start, lemma), score))
            scored.append(lemmas)
        return scored
