"""Feature sets: templates with the resources they read."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from .attributes import CLUSTER, GAZETTEER, KNOWN_SCRIPTS
from .resources import Clusters, Named, ResourceSet, resource_set, with_prefix
from .templates import Template, parse_templates

MAX_HASH_BITS = 30


@dataclass(frozen=True)
class FeatureSet:
    """The features that a component reads from its input.

    Attributes:
        templates: parsed templates, in order.
        resources: read by them besides the Doc.
        hash_bits: None for an exact index of the features seen in training; b to hash all features into 2ᵇ rows.
    """

    templates: tuple[Template, ...]
    resources: ResourceSet = field(default_factory=ResourceSet)
    hash_bits: int | None = None


def templates(
    templates: list[str],
    gazetteers: Named | None = None,
    clusters: Clusters = None,
    hash_bits: int | None = None,
    classes: Named | None = None,
) -> FeatureSet:
    """A feature set from a list of template strings.

    Raises:
        ValueError: a bad, unknown or repeated template, one that reads a resource that is not given, or a hash size
            outside 1 … 30 bits.
    """
    return _feature_set(templates, resource_set(gazetteers, clusters, classes), hash_bits)


def _feature_set(templates: list[str], resources: ResourceSet, hash_bits: int | None) -> FeatureSet:
    parsed = parse_templates(templates)
    for template in parsed:
        resources.require("feature template", template, (part.attribute for part in template.parts))
    if hash_bits is not None and not 1 <= int(hash_bits) <= MAX_HASH_BITS:
        raise ValueError(f"features.hash_bits must be between 1 and {MAX_HASH_BITS}, not {hash_bits}")
    return FeatureSet(parsed, resources, None if hash_bits is None else int(hash_bits))


def tagger_features(
    gazetteers: Named | None = None,
    clusters: Clusters = None,
    hash_bits: int | None = None,
    extra: list[str] | None = None,
    classes: Named | None = None,
) -> FeatureSet:
    """Features for part-of-speech tagging; `extra` templates and the given resources are added."""
    own = [
        *("bias", *_window("lower", -2, 2), "word[0]"),
        *("lower[-1]+lower[0]", "lower[0]+lower[1]", "lower[-2]+lower[-1]", "lower[1]+lower[2]", "lower[-1]+lower[1]"),
        *(f"lower_prefix{n}[0]" for n in range(1, 5)),
        *(f"lower_suffix{n}[0]" for n in range(1, 6)),
        *(f"lower_suffix{n}[{offset}]" for offset in (-1, 1) for n in (2, 3)),
        *("short_shape[0]", "short_shape[-1]+short_shape[0]", "short_shape[0]+short_shape[1]", "shape[0]"),
        *("has_digit[0]", "has_hyphen[0]", "has_upper[0]"),
    ]
    return _with_resources(own, resource_set(gazetteers, clusters, classes), hash_bits, extra, class_window=0)


def ner_features(
    gazetteers: Named | None = None,
    clusters: Clusters = None,
    hash_bits: int | None = None,
    extra: list[str] | None = None,
    classes: Named | None = None,
    document: bool = False,
) -> FeatureSet:
    """Features for named entities and other spans; `extra` templates and the given resources are added.

    Args:
        document: also read the other occurrences of a word in its Doc: their shapes, and labels by a first pass.
    """
    own = [
        *("bias", "word[0]", *_window("lower", -2, 2), "lower[-1]+lower[0]", "lower[0]+lower[1]"),
        *(*_window("short_shape", -2, 2), "short_shape[-1]+short_shape[0]", "short_shape[0]+short_shape[1]"),
        *("short_shape[-1]+short_shape[0]+short_shape[1]", "shape[0]"),
        *(f"prefix{n}[0]" for n in range(1, 6)),
        *(f"suffix{n}[0]" for n in range(1, 6)),
        *(f"lower_suffix3[{offset}]" for offset in (-1, 1)),
        *("has_digit[0]", "has_hyphen[0]", "lower[-1]+short_shape[0]", "lower[1]+short_shape[0]"),
        *(DOCUMENT if document else ()),
    ]
    return _with_resources(own, resource_set(gazetteers, clusters, classes), hash_bits, extra)


DOCUMENT = (
    *("doc.label[0]", "doc.label[-1]", "doc.label[1]", "doc.label[-1]+doc.label[0]", "doc.label[0]+doc.label[1]"),
    *("doc.label[0]+short_shape[0]", "doc.label[0]+lower[0]", "lower[-1]+doc.label[0]", "doc.label[0]+lower[1]"),
    *("doc.shape[-1]", "doc.shape[0]", "doc.shape[1]", "doc.shape[0]+short_shape[0]"),
)
"""The templates of the document around a word, for named entities."""


def senter_features(
    gazetteers: Named | None = None,
    clusters: Clusters = None,
    hash_bits: int | None = None,
    extra: list[str] | None = None,
    classes: Named | None = None,
) -> FeatureSet:
    """Features for sentence starts, of the text on both sides; `extra` templates and the given resources are added."""
    own = [
        *("bias", "word[0]", *_window("lower", -3, 3)),
        *("lower[-2]+lower[-1]", "lower[-1]+lower[0]", "lower[0]+lower[1]"),
        *(*_window("short_shape", -2, 2), "short_shape[-1]+short_shape[0]", "short_shape[0]+short_shape[1]"),
        "short_shape[-2]+short_shape[-1]+short_shape[0]",
        *(*_window("shape", -2, 1), "shape[-1]+shape[0]", "short_shape[-1]+word[0]", "lower[-1]+short_shape[0]"),
        *("lower[-2]+lower[-1]+short_shape[0]", "lower[-1]+short_shape[0]+short_shape[1]"),
        *("has_space[-2]", "has_space[-1]", "has_space[-1]+lower[-1]"),
        *(f"has_space[{offset}]+lower[-1]+short_shape[0]" for offset in (-1, -2)),
        *("lower_suffix3[-1]", "lower_suffix3[0]", "lower_prefix3[0]"),
        *(*_window("is_title", -2, 3), *_window("is_upper", -2, 3), *_window("is_stop", -2, 2)),
        *("is_stop[-1]+is_stop[0]", *_window("is_punct", -2, 2)),
        *(f"{attribute}[{offset}]" for attribute in ("like_num", "like_url", "like_email") for offset in (-1, 0)),
        *(*_window("length", -1, 0), "break_before[0]"),
    ]
    return _with_resources(own, resource_set(gazetteers, clusters, classes), hash_bits, extra)


def lemmatizer_features(
    tags: list[str] | None = None,
    gazetteers: Named | None = None,
    clusters: Clusters = None,
    hash_bits: int | None = None,
    extra: list[str] | None = None,
    classes: Named | None = None,
) -> FeatureSet:
    """Features for lemmas; `extra` templates and the given resources are added.

    Args:
        tags: the attributes of tokens, set by other components, that are read together with the form; by default tag
            and pos, and morph is another one.
    """
    affixes = [*(f"lower_suffix{n}[0]" for n in range(1, 9)), *(f"lower_prefix{n}[0]" for n in range(1, 5))]
    own = [
        *("bias", "word[0]", "lower[0]", *affixes, "lower_prefix2[0]+lower_suffix3[0]"),
        *("short_shape[0]", "length[0]", "lower[-1]", "lower[1]", "lower[-1]+short_shape[0]"),
    ]
    own += [f"{known}[0]" for known in KNOWN_SCRIPTS]
    own += [f"{first}[0]+{second}[0]" for first, second in pairwise(KNOWN_SCRIPTS)]
    for tag in ["tag", "pos"] if tags is None else tags:
        own += [f"{tag}[0]", *(f"{affix}+{tag}[0]" for affix in affixes), f"short_shape[0]+{tag}[0]"]
        own += [f"lower[0]+{tag}[0]", f"{tag}[-1]", f"{tag}[1]"]
        own += [f"{known}[0]+{tag}[0]" for known in KNOWN_SCRIPTS]
    return _with_resources(own, resource_set(gazetteers, clusters, classes), hash_bits, extra, class_window=0)


def _window(attribute: str, first: int, last: int) -> Iterable[str]:
    return (f"{attribute}[{offset}]" for offset in range(first, last + 1))


PREFIXES = (4, 6, 10)
"""Lengths of the cluster prefixes that the ready-made feature sets read, in addition to whole clusters."""


def _with_resources(
    own: list[str], resources: ResourceSet, hash_bits: int | None, extra: list[str] | None, class_window: int = 1
) -> FeatureSet:
    """Add templates that read the resources; class_window: how many tokens to both sides word classes are read at."""
    added = [template for name in resources.gazetteers for template in _window(f"{GAZETTEER}{name}", -1, 1)]
    for source in resources.classes:
        names = [source, *(with_prefix(source, n) for n in PREFIXES if source.startswith(CLUSTER))]
        added += [template for name in names for template in _window(name, -class_window, class_window)]
    return _feature_set([*own, *added, *(extra or [])], resources, hash_bits)
