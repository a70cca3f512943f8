"""The setting `patterns`: the labels that a component may give to matching tokens, from a lexicon or rules."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from spacy.attrs import ORTH
from spacy.matcher import Matcher
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..wording import quoted, token_name

KEYS = {"patterns", "allow", "forbid", "index"}
OF_WORDS = {"ORTH", "TEXT", "LOWER", "SHAPE", "LENGTH", "IS_ALPHA", "IS_ASCII", "IS_DIGIT", "IS_LOWER", "IS_UPPER"}
OF_WORDS |= {"IS_TITLE", "IS_PUNCT", "IS_SPACE", "IS_STOP", "LIKE_NUM", "LIKE_URL", "LIKE_EMAIL"}
"""Attributes that are the same for all tokens of one word."""
MAX_WORDS = 1 << 18
"""Words whose rules are remembered."""


@dataclass(frozen=True)
class PatternRule:
    """index: the token of a match that it limits, None for all. forbids: whether it rules these labels out, or all
    others."""

    index: int | None
    labels: frozenset[str]
    forbids: bool

    @property
    def key(self) -> str:
        return "forbid" if self.forbids else "allow"


class Patterns:
    """The rules of a component.

    Args:
        name: of the component.
        given: dicts of "patterns", a list of patterns for spaCy's `Matcher`, of either "allow" or "forbid", a list of
            labels, and perhaps "index", a token of the match, as for spaCy's attribute ruler.

    Raises:
        ValueError: `given` is no such list.
    """

    def __init__(self, name: str, vocab: Vocab, given: Any) -> None:
        self._name, self._vocab, self._given = name, vocab, given
        if not isinstance(given, list | tuple):
            raise ValueError(f"[{name}] patterns must be a list, not {given!r}")
        # Patterns of single words are matched once a word type: a lexicon is long.
        self._of_words, self._of_texts = Matcher(vocab, validate=True), Matcher(vocab, validate=True)
        self._known: dict[int, list[int]] = {}
        self._rules = [self._rule(number, entry) for number, entry in enumerate(given)]
        self._rows = lru_cache(maxsize=1)(self._compiled)

    def __bool__(self) -> bool:
        return bool(self._rules)

    def __reduce__(self) -> tuple[Any, ...]:
        return Patterns, (self._name, self._vocab, self._given)

    def renamed(self, name: str) -> "Patterns":
        """Rules of a component with this name."""
        return Patterns(name, self._vocab, self._given)

    def require_known(self, labels: Sequence[str]) -> None:
        """Raise a ValueError where a rule has other labels than these."""
        for number, rule in enumerate(self._rules):
            unknown = sorted(rule.labels.difference(labels))
            if unknown:
                raise ValueError(
                    f"[{self._name}] patterns[{number}]: {rule.key} has unknown labels, {', '.join(unknown)}; the "
                    f"component has {', '.join(dict.fromkeys(labels))}"
                )

    def allowed(self, docs: Sequence[Doc], labels: Sequence[str], free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The tokens that match, int64 [M], counted through all Docs, and the labels that they may have, bool [M, L].

        Args:
            labels: the names of the L labels; several may have one name.
            free: bool [T], tokens without a given label; others are skipped.

        Raises:
            ValueError: rules have unknown labels, leave a token none, or read annotation that a Doc lacks.
        """
        rows, places, rules, first = self._rows(tuple(labels)), [], [], 0
        for doc in docs:
            for rule, start, end in self._matches(doc) if len(doc) else ():
                for token in self._tokens(doc, rule, start, end):
                    if free[first + token]:
                        places.append(first + token)
                        rules.append(rule)
            first += len(doc)
        tokens, numbers = np.unique(np.array(places, np.int64), return_inverse=True)
        allowed = np.ones((len(tokens), len(labels)), np.bool_)
        np.logical_and.at(allowed, numbers.ravel(), rows[np.array(rules, np.int64)])
        for token in tokens[~allowed.any(axis=1)][:1].tolist():
            guilty = sorted({number for place, number in zip(places, rules) if place == token})
            named = " and ".join(f"patterns[{number}]" for number in guilty)
            raise ValueError(f"[{self._name}] {token_name(docs, token)}: {named} leave it no label")
        return tokens, allowed

    def _matches(self, doc: Doc) -> Iterator[tuple[int, int, int]]:
        """The rule, the first token and the end token of each match."""
        for key, start, end in self._of_texts(doc) if len(self._of_texts) else ():
            yield key - 1, start, end
        if not len(self._of_words):
            return
        words = doc.to_array([ORTH]).ravel().tolist()
        if len(self._known) > MAX_WORDS:
            self._known = {}
        known = self._known
        new = list({word: None for word in words if word not in known})
        if new:
            found: list[list[int]] = [[] for _ in new]
            # What is known of a word is kept: its attributes are those of one vocabulary.
            for key, place, _ in self._of_words(Doc(self._vocab, words=[doc.vocab.strings[word] for word in new])):
                found[place].append(key - 1)
            known.update(zip(new, found))
        for token, word in enumerate(words):
            for rule in known[word]:
                yield rule, token, token + 1

    def _tokens(self, doc: Doc, number: int, start: int, end: int) -> range:
        index = self._rules[number].index
        if index is None:
            return range(start, end)
        if not start - end <= index < end - start:
            raise ValueError(
                f"[{self._name}] patterns[{number}]: its match {doc[start:end].text!r} in {quoted(doc)} has no token "
                f"with the index {index}"
            )
        return range(start, end)[index:][:1]

    def _compiled(self, labels: tuple[str, ...]) -> np.ndarray:
        """The labels that each rule leaves, bool [R, L]."""
        self.require_known(labels)
        return np.array([[(label in rule.labels) != rule.forbids for label in labels] for rule in self._rules])

    def _rule(self, number: int, entry: Any) -> PatternRule:
        place = f"[{self._name}] patterns[{number}]"
        if not isinstance(entry, dict) or not entry.keys() <= KEYS or ("allow" in entry) == ("forbid" in entry):
            raise ValueError(
                f'{place} must have "patterns", either "allow" or "forbid", perhaps "index", and nothing else, not '
                f"{entry!r}"
            )
        key = "allow" if "allow" in entry else "forbid"
        labels, index, patterns = entry[key], entry.get("index"), entry.get("patterns")
        if not isinstance(labels, list | tuple) or not labels or not all(isinstance(label, str) for label in labels):
            raise ValueError(f"{place}: {key} must be a list of labels, not {labels!r}")
        if index is not None and (not isinstance(index, int) or isinstance(index, bool)):
            raise ValueError(f"{place}: index must be a whole number, not {index!r}")
        if not isinstance(patterns, list) or not patterns:
            raise ValueError(f"{place}: patterns must be a list of patterns for spaCy's Matcher, not {patterns!r}")
        try:
            of_words = all(len(pattern) == 1 and {*map(str.upper, pattern[0])} <= OF_WORDS for pattern in patterns)
            (self._of_words if of_words else self._of_texts).add(number + 1, patterns)
        except Exception as error:
            raise ValueError(f"{place}: spaCy's Matcher does not take its patterns: {error}") from error
        return PatternRule(index, frozenset(labels), key == "forbid")
