"""CRFsuite as it is used from Python: strings made of words, by the templates that our components have."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pycrfsuite
from spacy.lang.lex_attrs import word_shape

from spacy_ssvm.features.templates import parse_templates

Extract = Callable[[Sequence[str]], list[list[str]]]
"""From the words of a sentence to the features of each."""
OUTSIDE = "\n"
ITERATIONS = 10
"""Of `pa`: the speed of tagging hardly depends on more."""


def _short_shape(word: str) -> str:
    shape = re.sub(r"[^\W\d_]", lambda c: "X" if c[0].isupper() else "x", re.sub(r"\d", "0", word))
    return re.sub(r"(.)\1+", r"\1", shape)


def _affix(length: int, suffix: bool, lower: bool) -> Callable[[str], str]:
    def read(word: str) -> str:
        if len(word) < length:
            return ""
        affix = word[-length:] if suffix else word[:length]
        return affix.lower() if lower else affix

    return read


ATTRIBUTES: dict[str, Callable[[str], str]] = {
    "word": str,
    "lower": str.lower,
    "shape": word_shape,
    "short_shape": _short_shape,
    "has_digit": lambda word: "1" if re.search(r"\d", word) else "",
    "has_hyphen": lambda word: "1" if "-" in word else "",
    "has_upper": lambda word: "1" if word != word.lower() else "",
    **{
        f"{'lower_' * lower}{'suffix' if suffix else 'prefix'}{n}": _affix(n, suffix, lower)
        for n in range(1, 6)
        for suffix in (False, True)
        for lower in (False, True)
    },
}
"""Of a word; without a value, the templates that read it do not fire."""


class Features:
    """The same strings in two ways.

    Raises:
        KeyError: a template reads something else than words.
    """

    def __init__(self, templates: Sequence[str]) -> None:
        parsed = [(str(t), [(p.attribute, p.offset) for p in t.parts]) for t in parse_templates(list(templates))]
        self._templates = [(name, parts) for name, parts in parsed if parts]
        self._bias = [name for name, parts in parsed if not parts]
        self._read = {attribute: ATTRIBUTES[attribute] for _, parts in self._templates for attribute, _ in parts}
        self._reach = max(abs(offset) for _, parts in self._templates for _, offset in parts)
        singles: dict[int, list[tuple[str, list[str]]]] = {}
        for name, parts in self._templates:
            offsets = {offset for _, offset in parts}
            if len(offsets) == 1:
                singles.setdefault(offsets.pop(), []).append((name, [attribute for attribute, _ in parts]))
        self._singles = list(singles.items())
        self._pairs = [(name, parts) for name, parts in self._templates if len({offset for _, offset in parts}) > 1]
        self._known: dict[str, tuple[list[list[str]], dict[str, str]]] = {}

    def plain(self, words: Sequence[str]) -> list[list[str]]:
        """Straightforward: each attribute of each token, then each template of each token."""
        reach, around = self._reach, [OUTSIDE] * self._reach
        columns = {name: [*around, *map(read, words), *around] for name, read in self._read.items()}
        tokens = []
        for t in range(reach, reach + len(words)):
            features = list(self._bias)
            for name, parts in self._templates:
                values = [columns[attribute][t + offset] for attribute, offset in parts]
                if all(values):
                    features.append(f"{name}={'|'.join(values)}")
            tokens.append(features)
        return tokens

    def memoised(self, words: Sequence[str]) -> list[list[str]]:
        """What depends on one word only is made once for each distinct word."""
        known, reach = self._known, self._reach
        around = [self._about(OUTSIDE)] * reach
        about = [*around, *[known.get(word) or self._about(word) for word in words], *around]
        tokens = []
        for t in range(reach, reach + len(words)):
            features = list(self._bias)
            for place, (offset, _) in enumerate(self._singles):
                features += about[t + offset][0][place]
            for name, parts in self._pairs:
                values = [about[t + offset][1][attribute] for attribute, offset in parts]
                if all(values):
                    features.append(f"{name}={'|'.join(values)}")
            tokens.append(features)
        return tokens

    def _about(self, word: str) -> tuple[list[list[str]], dict[str, str]]:
        values = {name: OUTSIDE if word == OUTSIDE else read(word) for name, read in self._read.items()}
        singles = [
            [
                f"{name}={'|'.join(values[attribute] for attribute in attributes)}"
                for name, attributes in templates
                if all(values[attribute] for attribute in attributes)
            ]
            for _, templates in self._singles
        ]
        return self._known.setdefault(word, (singles, values))


def train(extract: Extract, sentences: Sequence[tuple[Sequence[str], Sequence[str]]], path: Path) -> None:
    """Train on words with their labels, and leave the model in a file."""
    trainer = pycrfsuite.Trainer(algorithm="pa", params={"max_iterations": ITERATIONS}, verbose=False)
    for words, labels in sentences:
        trainer.append(extract(words), labels)
    trainer.train(str(path))


def load(path: Path) -> Any:
    """A tagger with a model that `train` has left."""
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    return tagger
