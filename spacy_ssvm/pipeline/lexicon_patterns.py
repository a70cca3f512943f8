"""A lexicon as the setting `patterns` of a component: words have only tags that the lexicon lists."""

from pathlib import Path
from typing import Any

from ..features.word_classes import read_lexicon


def lexicon_patterns(path: str | Path) -> list[dict[str, Any]]:
    """Patterns from a file with one "word<TAB>tag" a line: the registered function.

    A rule allows all words that are listed with the same tags exactly these tags. Other words have no rule.

    Raises:
        ValueError: the file cannot be read, a line has no tab, or there is no line.
    """
    words: dict[tuple[str, ...], list[str]] = {}
    for word, tags in read_lexicon(Path(path)).items():
        words.setdefault(tuple(tags), []).append(word)
    return [{"patterns": [[{"TEXT": {"IN": same}}]], "allow": list(tags)} for tags, same in words.items()]
