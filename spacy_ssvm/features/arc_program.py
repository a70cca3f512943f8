"""Compile arc templates to the arrays that the arc kernels run."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from spacy.strings import get_string_id

from .arc_hashing import DIRECTION, DISTANCE, PLAIN, ArcProgram, ArcTemplates
from .arc_templates import ROLES, ArcTemplate
from .program import compile_templates
from .templates import Part, Template

_BITS = {"": PLAIN, "direction": DIRECTION, "distance": DISTANCE}


@dataclass(frozen=True)
class CompiledArcTemplates:
    """attributes: the name of each column that the program reads; program: the templates over these columns."""

    attributes: tuple[str, ...]
    program: ArcProgram


def compile_arc_templates(arcs: Sequence[ArcTemplate], labels: Sequence[ArcTemplate]) -> CompiledArcTemplates:
    """Number the distinct word templates of all roles and write each kind's templates as arrays.

    arcs: for heads, of all kinds. labels: for labels, of the kind "arc".

    Raises:
        ValueError: a label template reads a third word.
    """
    wrong = [template for template in labels if template.kind != "arc"]
    if wrong:
        raise ValueError(f'label template "{wrong[0]}" reads a third word: labels are given to single arcs')
    everything = [*arcs, *labels]
    words = tuple(dict.fromkeys(word for template in everything for word in template.words.values()))
    between = tuple(dict.fromkeys(template.between for template in everything if template.between))
    # What may lie between is read as a word template of its own, behind those that words are hashed with.
    compiled = compile_templates(tuple(dict.fromkeys([*words, *(Template((Part(name, 0),)) for name in between)])))
    n_parts = int(compiled.program.starts[len(words)])
    program = compiled.program._replace(
        starts=compiled.program.starts[: len(words) + 1],
        columns=compiled.program.columns[:n_parts],
        offsets=compiled.program.offsets[:n_parts],
        seeds=compiled.program.seeds[: len(words)],
    )
    by_kind = {
        kind: _compile([t for t in arcs if t.kind == kind], words, between)
        for kind in ("arc", "sibling", "grandparent")
    }
    return CompiledArcTemplates(
        compiled.attributes,
        ArcProgram(
            program,
            np.array([compiled.attributes.index(name) for name in between], np.int64),
            by_kind["arc"],
            _compile(labels, words, between),
            by_kind["sibling"],
            by_kind["grandparent"],
        ),
    )


def _compile(templates: Sequence[ArcTemplate], words: Sequence[Template], between: Sequence[str]) -> ArcTemplates:
    merged: dict[str, tuple[ArcTemplate, int]] = {}
    for template in templates:
        key = template.without_relation()
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
