"""Feature sets for dependency parsing."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .arc_templates import ArcTemplate, parse_arc_templates
from .attributes import CLUSTER, GAZETTEER, MORPH_FEATURE
from .resources import Clusters, Named, ResourceSet, resource_set, with_prefix

MAX_ARC_HASH_BITS = 28
"""The max numbers of bits of a set of arc features."""

MORPH = "morph"
AGREEING = tuple(f"{MORPH_FEATURE}{name}" for name in ("Case", "Gender", "Number", "Person", "VerbForm"))
"""Morphological features that tell whether two words belong together."""


@dataclass(frozen=True)
class ArcFeatureSet:
    """The features of a parser.

    Attributes:
        arcs: templates for heads: of arcs, siblings and grandparents.
        labels: templates for the labels of arcs.
        first_pass: templates for the first pass, which prunes improbable arcs.
        resources: read by templates besides the Doc.
        hash_bits: the features of `arcs` are hashed to 2^hash_bits weights.
        label_hash_bits: the features of `labels` are hashed to 2^label_hash_bits rows of one weight for each label.
    """

    arcs: tuple[ArcTemplate, ...]
    labels: tuple[ArcTemplate, ...]
    first_pass: tuple[ArcTemplate, ...]
    resources: ResourceSet
    hash_bits: int
    label_hash_bits: int


def arc_templates(
    arcs: list[str],
    labels: list[str],
    first_pass: list[str],
    clusters: Clusters = None,
    hash_bits: int = 23,
    label_hash_bits: int = 17,
    gazetteers: Named | None = None,
    classes: Named | None = None,
) -> ArcFeatureSet:
    """A feature set from lists of arc template strings.

    Raises:
        ValueError: a template is bad or repeated, or reads a resource that is not given, or a hash size is outside
            8 … 28 bits.
    """
    resources = resource_set(gazetteers, clusters, classes)
    parsed = [parse_arc_templates(texts) for texts in (arcs, labels, first_pass)]
    for template in (template for group in parsed for template in group):
        read = [part.attribute for word in template.words.values() for part in word.parts]
        resources.require("arc template", template, [*read, *filter(None, [template.between])])
    for name, bits in (("hash_bits", hash_bits), ("label_hash_bits", label_hash_bits)):
        if not 8 <= int(bits) <= MAX_ARC_HASH_BITS:
            raise ValueError(f"features.{name} must be between 8 and {MAX_ARC_HASH_BITS}, not {bits}")
    for name, group in zip(("arcs", "first_pass"), (parsed[0], parsed[2])):
        if not group:
            raise ValueError(f"features.{name}: the list of templates is empty")
    return ArcFeatureSet(parsed[0], parsed[1], parsed[2], resources, int(hash_bits), int(label_hash_bits))


def parser_features(
    tags: Sequence[str] = ("tag", "pos"),
    clusters: Clusters = None,
    hash_bits: int = 23,
    label_hash_bits: int = 17,
    gazetteers: Named | None = None,
    classes: Named | None = None,
    lemmas: bool = False,
) -> ArcFeatureSet:
    """Features after McDonald et al. 2005, with siblings, grandparents and suffixes.

    Args:
        tags: attributes with the tags, the most specific one first; words are conjoined with that one. With "morph"
            among them, templates read single morphological features, too.
        lemmas: whether templates read lemmas, too.

    Raises:
        ValueError: no tags are given, or a template cannot read one of them.
    """
    if not tags:
        raise ValueError('features.tags is empty: name the attributes with the tags, such as ["tag", "pos"]')
    fine, coarse, has_morph = tags[0], tags[-1], MORPH in tags
    resources = resource_set(gazetteers, clusters, classes)
    more = [
        attribute
        for source in resources.classes
        for attribute in ([with_prefix(source, PREFIX), source] if source.startswith(CLUSTER) else [source])
    ]
    words = [_both("lower", "lower"), *(_both("lower", tag) for tag in tags), *(_both(tag, "lower") for tag in tags)]
    heads = [
        *_related(
            [
                *(single for tag in tags for single in (f"head.{tag}[0]", f"mod.{tag}[0]")),
                *("head.lower[0]", "mod.lower[0]", f"head.lower[0]+head.{fine}[0]", f"mod.lower[0]+mod.{fine}[0]"),
                *words,
                *(_both(tag, tag) for tag in tags),
                *_surroundings(coarse),
                *(_both("lower_suffix3", fine), _both(fine, "lower_suffix3")),
                *(template for name in more for template in (_both(name, name), _both(name, fine), _both(fine, name))),
                *(_governed(coarse) if has_morph else ()),
                *(_of_lemmas(dict.fromkeys((fine, coarse))) if lemmas else ()),
            ],
            ("direction", "distance"),
        ),
        *_related(_agreement(coarse) if has_morph else (), ("direction",)),
        *(f"head.{tag}[0]+between.{tag}+mod.{tag}[0]" for tag in tags),
        *_related([*_third("sib", tags), "sib.lower[0]+mod.lower[0]", *_third("grand", tags)], ("direction",)),
    ]
    of_modifier = [*more, *(f"{GAZETTEER}{name}" for name in resources.gazetteers)]
    more_labels = [
        *(f"mod.{name}[0]" for name in of_modifier),
        *(_labels_of_morph(fine, coarse) if has_morph else ()),
        *(_of_lemmas(tags) if lemmas else ()),
    ]
    labels = list(dict.fromkeys([*_labels(fine, coarse), *_related(more_labels, ("direction",))]))
    first_pass, bits = _first_pass(fine, coarse), (hash_bits, label_hash_bits)
    return arc_templates(heads, labels, first_pass, clusters, *bits, gazetteers, classes)


PREFIX = 6
"""Length of the cluster prefixes that the ready-made feature set reads, in addition to whole clusters."""


def _both(head: str, mod: str) -> str:
    return f"head.{head}[0]+mod.{mod}[0]"


def _related(templates: Iterable[str], relations: Sequence[str]) -> list[str]:
    return [f"{template}+{relation}" for template in templates for relation in relations]


def _surroundings(tag: str) -> list[str]:
    """Both words' tags with the tag next to each, for all combinations of sides."""
    sides = [(h, m) for h in (1, -1) for m in (-1, 1)]
    return [f"head.{tag}[0]+head.{tag}[{h}]+mod.{tag}[0]+mod.{tag}[{m}]" for h, m in sides]


def _governed(coarse: str) -> list[str]:
    """A head, and the case of its modifier."""
    case = f"mod.{AGREEING[0]}[0]"
    return [f"head.{coarse}[0]+mod.{coarse}[0]+{case}", f"head.lower[0]+{case}"]


def _agreement(coarse: str) -> list[str]:
    return [f"head.{coarse}[0]+head.{name}[0]+mod.{coarse}[0]+mod.{name}[0]" for name in AGREEING]


def _labels_of_morph(fine: str, coarse: str) -> list[str]:
    head, mod, case = f"head.{MORPH}[0]", f"mod.{MORPH}[0]", f"mod.{AGREEING[0]}[0]"
    with_mod = [mod, f"{head}+{mod}", f"head.lower[0]+{mod}", f"mod.lower[0]+{mod}"]
    with_mod += [f"head.{tag}[0]+{mod}" for tag in (fine, coarse)]
    if coarse != MORPH:
        with_mod += [f"head.{coarse}[0]+mod.{coarse}[0]+{mod}", f"{head}+mod.{coarse}[0]+{mod}"]
    return [*with_mod, *_governed(coarse), f"head.lower[0]+mod.{coarse}[0]+{case}", *_agreement(coarse)]


def _of_lemmas(tags: Iterable[str]) -> list[str]:
    pairs = [template for name in ("lemma", *tags) for template in (_both("lemma", name), _both(name, "lemma"))]
    return ["head.lemma[0]", "mod.lemma[0]", *dict.fromkeys(pairs)]


def _labels(fine: str, coarse: str) -> list[str]:
    """The label templates: all that help on UD English EWT."""
    head, mod = f"head.{fine}[0]", f"mod.{fine}[0]"
    with_direction = [
        *("head.lower[0]", head, "mod.lower[0]", f"mod.lower[0]+{mod}"),
        *("head.lower[0]+mod.lower[0]", f"{head}+{mod}", f"{head}+mod.lower[0]"),
        *(f"head.lower[0]+mod.{coarse}[0]", f"head.{coarse}[0]+mod.lower[0]"),
        *(f"head.lower[0]+{head}+mod.lower[0]", f"head.lower[0]+{head}+{mod}", f"{head}+mod.lower[0]+{mod}"),
        *(f"{head}+head.{fine}[-1]+{mod}", f"{head}+{mod}+mod.{fine}[1]"),
        *(f"mod.{coarse}[0]+mod.{coarse}[{m}]" for m in (-1, 1)),
        f"mod.{coarse}[0]+mod.{coarse}[-1]+mod.{coarse}[-2]",
        *(f"mod.{coarse}[0]+mod.lower[{m}]" for m in (-2, -1)),
        *(f"head.lower[{h}]+mod.{coarse}[0]" for h in (-1, 1)),
        "mod.lower[0]+mod.lower[1]",
        "mod.lower_suffix3[0]",
        f"head.lower_suffix3[0]+{mod}",
        *(f"between.{name}+mod.{coarse}[0]" for name in ("lower", coarse)),
        f"head.{coarse}[0]+between.{coarse}",
    ]
    return [*_related(dict.fromkeys(with_direction), ("direction",)), "mod.lower[0]+distance", f"{mod}+distance"]


def _third(role: str, tags: Sequence[str]) -> list[str]:
    """A third word, a sibling or a grandparent, with the modifier, and its tag with both words' tags."""
    fine = tags[0]
    return [
        *(
            template
            for tag in tags
            for template in (f"{role}.{tag}[0]+mod.{tag}[0]", f"head.{tag}[0]+{role}.{tag}[0]+mod.{tag}[0]")
        ),
        f"{role}.lower[0]+mod.{fine}[0]",
        f"{role}.{fine}[0]+mod.lower[0]",
    ]


def _first_pass(fine: str, coarse: str) -> list[str]:
    head, mod = f"head.{fine}[0]", f"mod.{fine}[0]"
    return [
        f"{mod}+distance",
        f"{head}+distance",
        f"{head}+{mod}+distance",
        f"head.{coarse}[0]+mod.{coarse}[0]+{'direction' if coarse == fine else 'distance'}",
        f"head.lower[0]+{mod}+direction",
        f"{head}+mod.lower[0]+direction",
        f"{head}+between.{coarse}+{mod}",
        *(f"{head}+{mod}+mod.{fine}[{m}]+direction" for m in (-1, 1)),
        *(f"{head}+head.{fine}[{h}]+{mod}+direction" for h in (-1, 1)),
    ]
