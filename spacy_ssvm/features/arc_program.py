"""Compile arc templates to the arrays that the arc kernels run."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from spacy.strings import get_string_id

from .arc_hashing import DIRECTION, DISTANCE, PLAIN, ArcProgram, ArcTemplates
from .arc_templates import ArcTemplate
from .program import compile_templates
from .templates import Template

RELATIONS = {"": PLAIN, "direction": DIRECTION, "distance": DISTANCE}


@dataclass(frozen=True)
class CompiledArcTemplates:
    """attributes: the name of each column that the programs read; program, first_pass: templates over these columns."""

    attributes: tuple[str, ...]
    program: ArcProgram
    first_pass: ArcProgram


def compile_arc_templates(
    arcs: Sequence[ArcTemplate], labels: Sequence[ArcTemplate], first_pass: Sequence[ArcTemplate]
) -> CompiledArcTemplates:
    """Number the distinct attributes as columns and write each kind's templates as arrays.

    arcs: for heads, of all kinds. labels: for labels, and first_pass: to prune, both of the kind "arc".

    Raises:
        ValueError: a template for labels or for the first pass reads a third word.
    """
    wrong = [template for template in (*labels, *first_pass) if template.kind != "arc"]
    if wrong:
        raise ValueError(f'arc template "{wrong[0]}" reads a third word: labels and the first pass see single arcs')
    names: dict[str, None] = {}
    for template in (*arcs, *labels, *first_pass):
        names.update(dict.fromkeys(part.attribute for word in template.words.values() for part in word.parts))
        names.update({template.between: None} if template.between else {})
    attributes = tuple(names)
    return CompiledArcTemplates(attributes, _program(attributes, arcs, labels), _program(attributes, first_pass, ()))


def _program(attributes: tuple[str, ...], arcs: Sequence[ArcTemplate], labels: Sequence[ArcTemplate]) -> ArcProgram:
    everything = [*arcs, *labels]
    words = tuple(dict.fromkeys(word for template in everything for word in template.words.values()))
    between = tuple(dict.fromkeys(template.between for template in everything if template.between))

    def compiled(templates: Iterable[ArcTemplate]) -> ArcTemplates:
        return _compile(list(templates), words, between)

    def of_word(role: str) -> list[ArcTemplate]:
        return [t for t in labels if set(t.words) == {role} and not t.between and t.relation != "distance"]

    single = [template for template in arcs if template.kind == "arc"]
    shared = [*of_word("head"), *of_word("mod")]
    return ArcProgram(
        compile_templates(words, attributes).program,
        np.array([attributes.index(name) for name in between], np.int64),
        compiled(template for template in single if not template.between),
        compiled(template for template in single if template.between),
        compiled(template for template in labels if not template.between and template not in shared),
        compiled(template for template in labels if template.between),
        compiled(of_word("head")),
        compiled(of_word("mod")),
        compiled(template for template in arcs if template.kind == "sibling"),
        compiled(template for template in arcs if template.kind == "grandparent"),
    )


def _compile(templates: Sequence[ArcTemplate], words: Sequence[Template], between: Sequence[str]) -> ArcTemplates:
    def word(template: ArcTemplate, *roles: str) -> int:
        return next((words.index(template.words[role]) for role in roles if role in template.words), len(words))

    ordered = sorted(templates, key=lambda template: RELATIONS[template.relation])
    relations = [RELATIONS[template.relation] for template in ordered]
    roles = (("head",), ("mod",), ("sib", "grand"))
    return ArcTemplates(
        np.array([[word(template, *role) for template in ordered] for role in roles], np.int64).reshape(3, -1),
        np.array([between.index(t.between) if t.between else -1 for t in ordered], np.int64),
        np.searchsorted(relations, [PLAIN, DIRECTION, DISTANCE, len(RELATIONS)]).astype(np.int64),
        # What a template adds to its words is hashed in by the kernels, so that it has no part in the seed.
        np.array([get_string_id(template.without_relation()) or 1 for template in ordered], np.uint64),
    )
