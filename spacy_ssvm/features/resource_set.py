"""The resources that a config names: gazetteers and word classes. Importing this module does not import numba."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .attributes import CLASS, CLUSTER, GAZETTEER, NAME, class_part
from .class_sources import ClassFile, Source

File = str | Path
Given = File | Callable
"""A file, or a registered source."""
Named = dict[str, Any]
"""Name → file or source. spaCy checks the types of a config before it calls the functions in dictionaries."""
Clusters = Given | Named | None
"""Clusters of one source, of several with a name each, or none."""


@dataclass(frozen=True)
class ResourceSet:
    """What templates may read beside the Doc.

    gazetteers: name → file with one phrase a line. classes: "cluster", "cluster.NAME" or "class.NAME", as templates
    write it → source.
    """

    gazetteers: dict[str, Path] = field(default_factory=dict)
    classes: dict[str, Source] = field(default_factory=dict)

    def require(self, kind: str, template: object, attributes: Iterable[str]) -> None:
        """Raise a ValueError if the template reads something that is not among the resources.

        kind: what to call the template. attributes: those that it reads.
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


def resource_set(gazetteers: Mapping[str, File] | None, clusters: Clusters, classes: Named | None) -> ResourceSet:
    """The resources of a config.

    clusters: those whose prefixes are clusters, too. classes: other word classes.

    Raises:
        ValueError: a name has characters that templates do not allow, or something is neither a file nor a source.
    """
    files = {name: Path(path) for name, path in (gazetteers or {}).items()}
    named = clusters if isinstance(clusters, Mapping) else {}
    single = {} if clusters is None or isinstance(clusters, Mapping) else {CLUSTER: _source(clusters)}
    for setting, names in (("gazetteers", files), ("clusters", named), ("classes", classes or {})):
        for name in names:
            if NAME.fullmatch(name) is None:
                raise ValueError(f'features.{setting}: the name "{name}" may only have letters, digits, "_" and "."')
    sources = {f"{CLUSTER}.{name}": _source(given) for name, given in named.items()}
    others = {f"{CLASS}{name}": _source(given) for name, given in (classes or {}).items()}
    return ResourceSet(files, {**single, **sources, **others})


def _source(given: Any) -> Source:
    if isinstance(given, str | Path):
        return ClassFile(Path(given))
    if not callable(given):
        raise ValueError(
            f"features.clusters and features.classes take files and registered sources, such as "
            f'"spacy-ssvm.LookupsClusters.v1", not {given!r}'
        )
    source: Source = given
    return source


def with_prefix(source: str, prefix: int) -> str:
    """The attribute that reads the first `prefix` characters of a cluster: "cluster.NAME" → "cluster4.NAME"."""
    return f"{CLUSTER}{prefix}{source.removeprefix(CLUSTER)}"
