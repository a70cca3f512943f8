"""The language of arc templates: parts of an arc's two words, of a third word, and of the words between.

    head.tag[0]+mod.tag[0]                  both words' tags
    head.tag[0]+mod.lower[0]+distance       conjoined with the direction of the arc and its binned length
    head.tag[0]+between.tag+mod.tag[0]      once for each distinct tag between the two words
    sib.tag[0]+mod.tag[0]                   with the inner neighbour: the child of the head next to the modifier
    grand.tag[0]+head.tag[0]+mod.tag[0]     with the head's head

A part consists of a role, an attribute and an offset, as in token templates; either `direction` or `distance` may be
added. In a template with `grand.`, the direction covers both arcs. A `sib.` part has the value "none" if the modifier
has no inner neighbour.
"""

from dataclasses import dataclass
from typing import Literal

from .attributes import DOCUMENT_LABEL
from .templates import Part, Template, parse_part

ROLES = ("head", "mod", "sib", "grand")
RELATIONS = ("direction", "distance")
_BETWEEN = "between."
Kind = Literal["arc", "sibling", "grandparent"]


@dataclass(frozen=True)
class ArcTemplate:
    """A conjunction of token templates at the words of an arc.

    Attributes:
        words: role → the template for that word.
        between: an attribute of the words between, or None.
        relation: "direction", "distance", or "" for none.
    """

    words: dict[str, Template]
    between: str | None
    relation: str

    @property
    def kind(self) -> Kind:
        """The part of a tree that the template describes: an arc, two siblings, or an arc with the arc above it."""
        return "sibling" if "sib" in self.words else "grandparent" if "grand" in self.words else "arc"

    def without_relation(self) -> str:
        """The template's text without direction and distance, parts in the order of `ROLES`."""
        parts = [f"{role}.{part}" for role in ROLES if role in self.words for part in self.words[role].parts]
        return "+".join([*parts, *([_BETWEEN + self.between] if self.between else [])])

    def __str__(self) -> str:
        return "+".join(filter(None, [self.without_relation(), self.relation]))


def parse_arc_template(text: str) -> ArcTemplate:
    """Read one arc template.

    Raises:
        ValueError: the text is no arc template, names an unknown role, attribute or relation, or has a part twice.
    """
    if not isinstance(text, str):
        raise ValueError(f"arc template {text!r} is not a string")
    words: dict[str, list[Part]] = {}
    between: list[str] = []
    relations: list[str] = []
    for piece in map(str.strip, text.split("+")):
        role, _, rest = piece.partition(".")
        if piece in RELATIONS:
            relations.append(piece)
        elif piece.startswith(_BETWEEN) and rest.replace(".", "").isidentifier():
            _token_part(text, f"{rest}[0]")
            between.append(rest)
        elif role in ROLES and "[" in rest:
            words.setdefault(role, []).append(_token_part(text, rest))
        else:
            raise ValueError(
                f'arc template "{text}": cannot read "{piece}"; write head.ATTRIBUTE[offset], mod.…, sib.…, grand.…, '
                f"between.ATTRIBUTE, direction or distance"
            )
    if any(len(set(parts)) < len(parts) for parts in words.values()) or len(between) > 1 or len(relations) > 1:
        raise ValueError(f'arc template "{text}" has a part twice, or both direction and distance')
    if not words and not relations:
        raise ValueError(f'arc template "{text}" reads neither of the two words')
    if "sib" in words and "grand" in words:
        raise ValueError(f'arc template "{text}" reads a sibling and a grandparent: there is no such part of a tree')
    if between and ("sib" in words or "grand" in words):
        raise ValueError(f'arc template "{text}" reads a third word, and what lies between head and modifier as well')
    return ArcTemplate(
        {role: Template(tuple(words[role])) for role in ROLES if role in words},
        between[0] if between else None,
        relations[0] if relations else "",
    )


def parse_arc_templates(texts: list[str]) -> tuple[ArcTemplate, ...]:
    """Read a list of arc templates, in order.

    Raises:
        ValueError: a template is bad, or two templates are equivalent.
    """
    templates: dict[frozenset[str], ArcTemplate] = {}
    for text in texts:
        template = parse_arc_template(text)
        parts = frozenset(str(template).split("+"))
        if parts in templates:
            raise ValueError(f'arc template "{text}" says the same as "{templates[parts]}": remove one')
        templates[parts] = template
    return tuple(templates.values())


def _token_part(text: str, part: str) -> Part:
    read = parse_part(part, "arc", text)
    if read.attribute == DOCUMENT_LABEL:
        raise ValueError(f'arc template "{text}": {DOCUMENT_LABEL} is of labels of tokens, which arcs do not have')
    return read
