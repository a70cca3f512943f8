"""Resources that templates read besides the Doc: gazetteers and word classes, as named in configs, stored in files."""

import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from spacy.vocab import Vocab

from .attributes import CLASS, CLUSTER, GAZETTEER, NAME, class_part
from .compressed import decompressed_ascending
from .gazetteer import PhraseFile, PhraseSource, pack_gazetteer, read_gazetteer
from .word_classes import ClassFile, Source, WordClasses, pack_classes

File = str | Path
Given = File | Callable
"""A file, or a registered source."""
Named = dict[str, Any]
"""Name → file or source. spaCy checks the types of a config before it calls the functions in dictionaries."""
Clusters = Given | Named | None
"""Clusters from one source, from several named sources, or from none."""


@dataclass(frozen=True)
class ResourceSet:
    """The resources that templates may read besides the Doc.

    Attributes:
        gazetteers: name → source of phrases.
        classes: "cluster", "cluster.NAME" or "class.NAME", as templates write it → source.
    """

    gazetteers: dict[str, PhraseSource] = field(default_factory=dict)
    classes: dict[str, Source] = field(default_factory=dict)

    def require(self, kind: str, template: object, attributes: Iterable[str]) -> None:
        """Raise a ValueError if the template reads something that is not among the resources.

        Args:
            kind: what to call the template.
            attributes: read by the template.
        """
        for attribute in attributes:
            part = class_part(attribute)
            if attribute.startswith(GAZETTEER) and attribute[len(GAZETTEER) :] not in self.gazetteers:
                raise ValueError(
                    f'{kind} "{template}" reads a gazetteer that features.gazetteers does not name; '
                    f"it names {_listed(self.gazetteers)}"
                )
            if part is not None and part.source not in self.classes:
                setting = "features.classes" if part.source.startswith(CLASS) else "features.clusters"
                raise ValueError(
                    f'{kind} "{template}" reads {part.source}, which {setting} does not name; templates can read '
                    f"{_listed(self.classes)}"
                )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def resource_set(gazetteers: Named | None, clusters: Clusters, classes: Named | None) -> ResourceSet:
    """The resources of a config.

    Args:
        clusters: word classes whose prefixes are clusters, too.
        classes: other word classes.

    Raises:
        ValueError: a name has characters that templates do not allow, or something is neither a file nor a source.
    """
    named = clusters if isinstance(clusters, Mapping) else {}
    single = {} if clusters is None or isinstance(clusters, Mapping) else {CLUSTER: _source("clusters", clusters)}
    for setting, names in (("gazetteers", gazetteers or {}), ("clusters", named), ("classes", classes or {})):
        for name in names:
            if NAME.fullmatch(name) is None:
                raise ValueError(f'features.{setting}: the name "{name}" may only have letters, digits, "_" and "."')
    sources = {f"{CLUSTER}.{name}": _source("clusters", given) for name, given in named.items()}
    others = {f"{CLASS}{name}": _source("classes", given) for name, given in (classes or {}).items()}
    phrases = {name: _source("gazetteers", given, PhraseFile) for name, given in (gazetteers or {}).items()}
    return ResourceSet(phrases, {**single, **sources, **others})


def _source(setting: str, given: Any, file: Callable[[Path], Any] = ClassFile) -> Any:
    """The source that a config gives to a setting: a registered one, or a file of the setting's own kind."""
    if isinstance(given, str | Path):
        return file(Path(given))
    if not callable(given):
        raise ValueError(f"features.{setting} takes files and registered sources, not {given!r}")
    return given


def with_prefix(source: str, prefix: int) -> str:
    """The attribute that reads the first `prefix` characters of a cluster: "cluster.NAME" → "cluster4.NAME"."""
    return f"{CLUSTER}{prefix}{source.removeprefix(CLUSTER)}"


def load_gazetteers(sources: Mapping[str, PhraseSource], words: Callable[[str], np.ndarray]) -> dict[str, bytes]:
    """Read gazetteers, name → source.

    Args:
        words: turns a phrase into uint64 keys of its lower-cased tokens.

    Raises:
        ValueError: a source cannot be read or has no phrase.
    """
    return {name: pack_gazetteer(read_gazetteer(name, source, words)) for name, source in sources.items()}


def load_classes(sources: Mapping[str, Source], vocab: Vocab) -> dict[str, Any]:
    """Ask all sources for their words' classes; empty without a source.

    Raises:
        ValueError: a source cannot be read or is malformed.
    """
    return pack_classes({name: source(vocab) for name, source in sources.items()}) if sources else {}


def stored_size(stored: Mapping[str, Any]) -> tuple[int, int]:
    """The number of words in a result of `load_classes`, and its size in bytes."""
    n_bytes = sum(len(numbers) + sum(map(len, names)) for names, numbers in stored["sources"].values())
    return WordClasses(stored).n_words, len(stored["hashes"]) + n_bytes


def check_gazetteers(stored: Mapping[str, Any]) -> None:
    """Check gazetteers from a model file; stored: name → a result of `load_gazetteers`.

    Raises:
        ValueError: it has not made these.
    """
    for name, hashes in stored.items():
        try:
            decompressed_ascending(hashes)
        except (TypeError, ValueError, zlib.error) as error:
            raise ValueError(f'the model file has a damaged gazetteer "{name}"') from error


def stored_sources(stored: Mapping[str, Any]) -> list[str]:
    """The names of the word classes in a model file.

    Raises:
        ValueError: `load_classes` does not make such arrays.
    """
    return list(WordClasses(stored).names)
