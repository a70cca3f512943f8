"""Compile arc templates to the arrays that the arc kernels run."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from spacy.strings import get_string_id

from .arc_hashing import (
    ARCS,
    ARCS_BETWEEN,
    DIRECTION,
    DISTANCE,
    GRANDPARENTS,
    HEAD_LABELS,
    LABELS,
    LABELS_BETWEEN,
    MODIFIER_LABELS,
    N_KINDS,
    PLAIN,
    SIBLINGS,
    ArcProgram,
)
from .arc_templates import ArcTemplate
from .program import compile_templates

RELATIONS = {"": PLAIN, "direction": DIRECTION, "distance": DISTANCE}


@dataclass(frozen=True)
class CompiledArcTemplates:
    """attributes: the name of each column that the programs read; program, first_pass: templates over these columns.

    templates: those of `program`, in its order.
    """

    attributes: tuple[str, ...]
    templates: tuple[ArcTemplate, ...]
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
    templates, program = _program(attributes, arcs, labels)
    return CompiledArcTemplates(attributes, templates, program, _program(attributes, first_pass, ())[1])


def _program(
    attributes: tuple[str, ...], arcs: Sequence[ArcTemplate], labels: Sequence[ArcTemplate]
) -> tuple[tuple[ArcTemplate, ...], ArcProgram]:
    everything = [*arcs, *labels]
    words = tuple(dict.fromkeys(word for template in everything for word in template.words.values()))
    between = tuple(dict.fromkeys(template.between for template in everything if template.between))
    kinds: list[list[ArcTemplate]] = [[] for _ in range(N_KINDS)]
    for template in arcs:
        kinds[_arc_kind(template)].append(template)
    for template in labels:
        kinds[_label_kind(template)].append(template)
    ordered: list[ArcTemplate] = []
    starts = np.zeros((N_KINDS, len(RELATIONS) + 1), np.int64)
    for kind, templates in enumerate(kinds):
        templates.sort(key=lambda template: RELATIONS[template.relation])
        relations = [RELATIONS[template.relation] for template in templates]
        starts[kind] = len(ordered) + np.searchsorted(relations, [PLAIN, DIRECTION, DISTANCE, len(RELATIONS)])
        ordered += templates

    def word(template: ArcTemplate, *roles: str) -> int:
        return next((words.index(template.words[role]) for role in roles if role in template.words), len(words))

    roles = (("head",), ("mod",), ("sib", "grand"))
    program = ArcProgram(
        compile_templates(words, attributes).program,
        np.array([attributes.index(name) for name in between], np.int64),
        np.array([[word(template, *role) for template in ordered] for role in roles], np.int64).reshape(3, -1),
        np.array([between.index(t.between) if t.between else -1 for t in ordered], np.int64),
        # What a template adds to its words is hashed in by the kernels, so that it has no part in the seed.
        np.array([get_string_id(template.without_relation()) or 1 for template in ordered], np.uint64),
        starts,
    )
    return tuple(ordered), program


def _arc_kind(template: ArcTemplate) -> np.integer:
    if template.kind == "arc":
        return ARCS_BETWEEN if template.between else ARCS
    return SIBLINGS if template.kind == "sibling" else GRANDPARENTS


def _label_kind(template: ArcTemplate) -> np.integer:
    if template.between:
        return LABELS_BETWEEN
    if template.relation == "distance" or len(template.words) != 1:
        return LABELS
    return HEAD_LABELS if "head" in template.words else MODIFIER_LABELS
