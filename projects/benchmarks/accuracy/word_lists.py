"""The lexicon of the Brown corpus, which is no package."""

from collections import Counter, defaultdict
from pathlib import Path

import spacy
from spacy.tokens import DocBin

MIN_SHARE = 0.1
"""A word has a tag in the lexicon if this share of its tokens has it."""


def brown_lexicon(data: Path, path: Path) -> Path:
    """The tags that words have in the Brown corpus."""
    if not path.exists():
        tags: dict[str, Counter[str]] = defaultdict(Counter)
        for doc in DocBin().from_disk(data / "brown-train.spacy").get_docs(spacy.blank("en").vocab):
            for token in doc:
                tags[token.text][token.tag_] += 1
        pairs = [(word, tag, found) for word, found in tags.items() for tag in found]
        lines = sorted(f"{word}\t{tag}\n" for word, tag, found in pairs if found[tag] >= MIN_SHARE * found.total())
        path.write_text("".join(lines), encoding="utf8")
    return path
