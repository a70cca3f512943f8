"""Compile arc templates to the arrays that the arc kernels run."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from spacy.strings import get_string_id

from .arc_hashing import DIRECTION, DISTANCE, PLAIN, ArcProgram, ArcTemplates
from .arc_templates import ROLES, ArcTemplate
from .program import compile_templates
from .templates import Template

_BITS = {"": PLAIN, "direction": DIRECTION, "distance": DISTANCE}


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

    of_word = {
        role: [t for t in labels if set(t.words) == {role} and not t.between and t.relation != "distance"]
        for role in ("head", "mod")
    }
    return ArcProgram(
        compile_templates(words, attributes).program,
        np.array([attributes.index(name) for name in between], np.int64),
        compiled(template for template in arcs if template.kind == "arc"),
        compiled(template for template in labels if template not in [*of_word["head"], *of_word["mod"]]),
        compiled(of_word["head"]),
        compiled(of_word["mod"]),
        compiled(template for template in arcs if template.kind == "sibling"),
        compiled(template for template in arcs if template.kind == "grandparent"),
    )


def _compile(templates: Sequence[ArcTemplate], words: Sequence[Template], between: Sequence[str]) -> ArcTemplates:
    merged: dict[str, tuple[ArcTemplate, int]] = {}
    for template in templates:
        key = template.without_relation() if template.kind == "arc" else str(template)
        merged[key] = template, merged.get(key, (template, 0))[1] | _BITS[template.relation]
    third = [role for role in ROLES if role not in ("head", "mod")]

    def word(template: ArcTemplate, roles: Sequence[str]) -> int:
        return next((words.index(template.words[role]) for role in roles if role in template.words), len(words))

    rows = [template for template, _ in merged.values()]
    return ArcTemplates(
        np.array([[word(t, roles) for t in rows] for roles in (["head"], ["mod"], third)], np.int64).reshape(3, -1),
        np.array([between.index(t.between) if t.between else -1 for t in rows], np.int64),
        np.array([bits for _, bits in merged.values()], np.int64),
        np.array([get_string_id(key) or 1 for key in merged], np.uint64),
    )
