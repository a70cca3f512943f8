"""Arc templates as arrays, and the kernels that hash them: parts of words once per sentence, combinations once per arc.

A parser spends its time here. Kernels process many arcs per call, with few arrays and without array slices as
arguments: counting references to the arguments of a call for each arc would cost more than the arithmetic.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
from spacy.strings import get_string_id

from ..kernels import Float32Array3d, Int64Array, Int64Array2d, UInt64Array, UInt64Array2d, UInt64Array3d, kernel
from .arc_templates import ArcTemplate
from .index import BOUNDARY_KEY, Program, mix
from .templates import compile_templates

ROOT_KEY = np.uint64(0xC2B2AE3D27D4EB4F)
"""The key of every word template at the root."""
NOBODY = np.uint64(0x165667B19E3779F9)
"""The key of every word template at node n + 1, which stands for a missing word."""
PLAIN, DIRECTION, DISTANCE = range(3)
"""The relation that a template adds to its words: none, the direction, or the binned distance, which is signed."""
MAX_BIN = 9
"""The largest bin of a distance."""
FIRST_DISTANCE = 8
"""The lowest code of a distance, above all of directions: see `relation_code`."""
HEAD_ROW, MODIFIER_ROW, THIRD_ROW, DIRECTION_ROW, DISTANCE_ROW = range(5)
"""Rows of an arc array, int64 [N_ARC_ROWS, A], whose columns describe arcs or pairs of arcs to `write_features`: nodes
of head, modifier and third word (node n + 1 for none), and the keys of direction and distance."""
N_ARC_ROWS = 5
N_KINDS = 8
# NumPy integers: numba would compile a kernel anew for each Python integer that it is called with.
FIRST = np.int64(0)
ARCS, ARCS_BETWEEN, LABELS, LABELS_BETWEEN, HEAD_LABELS, MODIFIER_LABELS, SIBLINGS, GRANDPARENTS = np.arange(N_KINDS)
"""Kinds of templates. Templates with a `between` part are separate kinds, because they write several features each. So
are label templates that read only one word and the direction, because their features are the same for all arcs from
this head, or to this modifier, in the same direction."""


class ArcProgram(NamedTuple):
    """F conjunctions of compiled arc templates, sorted by kind: templates that differ in their relation are one.

    Attributes:
        words: the W token templates of all roles.
        between: int64 [B], the columns that `between` parts read.
        roles: int64 [3, F], the word template of head, modifier and third word; W stands for "not read".
        sources: int64 [F], a row of `Sentence.between`, or -1.
        seeds: uint64 [F], initial hash states.
        starts: int64 [8, 5], for each kind its first conjunction without a relation, with the direction alone, with
            direction and distance, with the distance alone, and the end.
    """

    words: Program
    between: Int64Array
    roles: Int64Array2d
    sources: Int64Array
    seeds: UInt64Array
    starts: Int64Array2d


class Sentence(NamedTuple):
    """A sentence of n tokens as the F conjunctions read its words in each role: head, modifier, third word.

    Node 0 is the root, 1 … n are the tokens, and n + 1 stands for a missing word. There are few arrays, because kernels
    pass them by value, and each array adds to compile time.

    Attributes:
        keys: uint64 [3, n + 2, F], hash states for heads, keys for the other roles.
        values: float32 [3, n + 2, F], 0 where a word template does not fire; [3, n + 2, 0] if all values are 1.
        between: uint64 [B, n + 1], keys of the tokens for `between` parts; 0 for no value.
        previous: int64 [B, n + 1], the last node before this one with the same key, or 0.
        sources, starts: as in `ArcProgram`.
        ones: whether all values are 1.
        binary: whether all values are 0 or 1.
        gaps: bit k is 1 if some conjunction of kind k does not fire at some node that it reads.

    In the role of third word, only the conjunctions of siblings and grandparents have been read.
    """

    keys: UInt64Array3d
    values: Float32Array3d
    between: UInt64Array2d
    previous: Int64Array2d
    sources: Int64Array
    starts: Int64Array2d
    ones: bool
    binary: bool
    gaps: int


@kernel
def _read_words(columns, words, first, end):
    """Key and value of each word template at each node, as `index.extract` hashes them.

    Returns keys, uint64 [W + 1, n + 2], and values, float32 [W + 1, n + 2], with 0 and 1 for the template that is not
    read.
    """
    n, n_words = end - first, len(words.seeds)
    keys, values = np.zeros((n_words + 1, n + 2), np.uint64), np.ones((n_words + 1, n + 2), np.float32)
    is_open = np.empty(n, np.bool_)
    for word in range(n_words):
        states, worth = keys[word], values[word]
        states[:] = words.seeds[word]
        is_open[:] = True
        for part in range(words.starts[word], words.starts[word + 1]):
            column, offset = words.columns[part], words.offsets[part]
            read, real = columns.keys[column], words.reals[column]
            for token in range(n):
                at = first + token + offset
                inside = first <= at < end
                key = read[at] if inside else BOUNDARY_KEY
                if key == 0:
                    is_open[token], worth[token + 1] = False, 0.0
                if is_open[token]:
                    states[token + 1] = mix(states[token + 1], key)
                    if real >= 0 and inside:
                        worth[token + 1] *= columns.reals[real, at]
        for token in range(n):
            if is_open[token]:
                states[token + 1] = mix(states[token + 1], np.uint64(0))
        states[0], states[n + 1] = mix(words.seeds[word], ROOT_KEY), mix(words.seeds[word], NOBODY)
    return keys, values


@kernel
def _values_in_use(values):
    """Whether each word template has a value of 0, bool [W + 1]; whether all values are 1; whether all are 0 or 1."""
    has_zero, ones, binary = np.zeros(len(values), np.bool_), True, True
    for word in range(len(values)):
        for node in range(values.shape[1]):
            value = values[word, node]
            has_zero[word] |= value == 0.0
            ones &= value == 1.0
            binary &= (value == 0.0) | (value == 1.0)
    return has_zero, ones, binary


@kernel
def _gaps(program, has_zero):
    """`Sentence.gaps`; has_zero: of `_values_in_use`."""
    gaps = 0
    for kind in range(N_KINDS):
        for t in range(program.starts[kind, 0], program.starts[kind, 4]):
            for role in range(3):
                if has_zero[program.roles[role, t]]:
                    gaps |= 1 << kind
    return gaps


@kernel
def read_sentence(columns, program, sentence):
    """The `Sentence` of number `sentence` in `columns`."""
    first, end = columns.starts[sentence], columns.starts[sentence + 1]
    n, size = end - first, len(program.seeds)
    word_keys, word_values = _read_words(columns, program.words, first, end)
    has_zero, ones, binary = _values_in_use(word_values)
    keys, values = np.empty((3, n + 2, size), np.uint64), np.empty((3, n + 2, 0 if ones else size), np.float32)
    for role in range(3):
        for node in range(n + 2):
            for t in range(program.starts[SIBLINGS, 0] if role == 2 else 0, size):
                word = program.roles[role, t]
                key = word_keys[word, node]
                keys[role, node, t] = mix(program.seeds[t], key) if role == 0 else key
                if not ones:
                    values[role, node, t] = word_values[word, node]
    between = np.zeros((len(program.between), n + 1), np.uint64)
    previous = np.zeros((len(program.between), n + 1), np.int64)
    for b in range(len(program.between)):
        for node in range(1, n + 1):
            between[b, node] = columns.keys[program.between[b], first + node - 1]
            earlier = node - 1
            while earlier > 0 and between[b, earlier] != between[b, node]:
                earlier -= 1
            previous[b, node] = earlier
    gaps = 0 if ones else _gaps(program, has_zero)
    return Sentence(keys, values, between, previous, program.sources, program.starts, ones, binary, gaps)


@kernel
def distance_bin(head, modifier):
    """The bin of an arc's length: 1 … 4, 5–6, 7–10, 11–20, 21–30, more; negative where the head is to the left."""
    length = abs(head - modifier)
    if length > 4:
        length = 5 if length <= 6 else 6 if length <= 10 else 7 if length <= 20 else 8 if length <= 30 else 9
    return length if head > modifier else -length


@kernel
def arc_direction(head, modifier):
    """The direction of an arc: 1 from the root, 2 to the right, 3 to the left."""
    return 1 if head == 0 else 2 if head < modifier else 3


@kernel
def relation_code(relation, direction, distance, bits):
    """A number below 32, and below 2^bits, for each value of a relation.

    The index of a feature is the hash of its conjunction with the low bits flipped by this code, so that the features
    of an arc that differ in their relation alone have weights in one cache line, if a weight is a byte.
    """
    code = 0 if relation == PLAIN else direction if relation == DIRECTION else FIRST_DISTANCE + MAX_BIN + distance
    return np.int64(code) & ((np.int64(1) << np.int64(bits)) - np.int64(1))


@kernel
def with_relation(starts, kind, relation):
    """The first conjunction of a kind that has a relation, and the end."""
    ends = starts[kind]
    if relation == PLAIN:
        return ends[0], ends[1]
    return (ends[1], ends[3]) if relation == DIRECTION else (ends[2], ends[4])


@kernel
def write_features(read, kind, arcs, begin, end, bits, indices, values, at):
    """Write the hashed features of arcs begin … end − 1: one for each template of a kind, 0 where it does not fire.

    Args:
        arcs: int64 [N_ARC_ROWS, A].
        bits: indices are below 2^bits.
        indices: int64, values: float64, written from position `at` on; an index may repeat. Values that are empty are
            not written.

    Returns:
        The end position.
    """
    mask, is_pair = (np.uint64(1) << np.uint64(bits)) - np.uint64(1), kind >= SIBLINGS
    # Unsigned places need no check for negative ones, so that loops are vectorised without slices, whose references
    # would be counted for each arc.
    keys, values_of, starts, place = read.keys, read.values, read.starts[kind], np.uint64(at)
    first, direct, both = np.uint64(starts[0]), np.uint64(starts[1]), np.uint64(starts[2])
    distant, last = np.uint64(starts[3]), np.uint64(starts[4])
    # What has a distance, too, is written once more, after all with a direction.
    again, with_values = distant - both, len(values) > 0
    for arc in range(np.uint64(begin), np.uint64(end)):
        head, modifier = np.uint64(arcs[HEAD_ROW, arc]), np.uint64(arcs[MODIFIER_ROW, arc])
        third, start = np.uint64(arcs[THIRD_ROW, arc]), place - first
        direction = relation_code(DIRECTION, arcs[DIRECTION_ROW, arc], arcs[DISTANCE_ROW, arc], bits)
        distance = relation_code(DISTANCE, arcs[DIRECTION_ROW, arc], arcs[DISTANCE_ROW, arc], bits)
        for t in range(first, distant):
            state = mix(keys[0, head, t], keys[1, modifier, t])
            indices[start + t] = np.int64((mix(state, keys[2, third, t]) if is_pair else state) & mask)
        for t in range(distant, last):
            state = mix(keys[0, head, t], keys[1, modifier, t])
            hashed = np.int64((mix(state, keys[2, third, t]) if is_pair else state) & mask)
            indices[start + again + t] = hashed ^ distance
        for t in range(both, distant):
            indices[start + again + t] = indices[start + t] ^ distance
        for t in range(direct, distant):
            indices[start + t] ^= direction
        if with_values and read.ones:
            for t in range(first, last + again):
                values[start + t] = 1.0
        elif with_values:
            for t in range(first, distant):
                value = np.float64(values_of[0, head, t]) * values_of[1, modifier, t]
                values[start + t] = value * values_of[2, third, t] if is_pair else value
            for t in range(both, last):
                value = np.float64(values_of[0, head, t]) * values_of[1, modifier, t]
                values[start + again + t] = value * values_of[2, third, t] if is_pair else value
        place += last - first + again
    return np.int64(place)


@kernel
def replace_missing(read, kind, arcs, begin, end, missing, indices):
    """Set the indices of features that do not fire to `missing`: where `write_features` wrote them from 0 on."""
    values, starts, is_pair = read.values, read.starts[kind], kind >= SIBLINGS
    first, both = np.uint64(starts[0]), np.uint64(starts[2])
    distant, last = np.uint64(starts[3]), np.uint64(starts[4])
    again, place = distant - both, np.uint64(0)
    for arc in range(np.uint64(begin), np.uint64(end)):
        head, modifier = np.uint64(arcs[HEAD_ROW, arc]), np.uint64(arcs[MODIFIER_ROW, arc])
        third, start = np.uint64(arcs[THIRD_ROW, arc]), place - first
        for t in range(first, distant):
            fires = (values[0, head, t] != 0.0) & (values[1, modifier, t] != 0.0)
            fires &= (not is_pair) | (values[2, third, t] != 0.0)
            indices[start + t] = indices[start + t] if fires else missing
        for t in range(both, last):
            fires = (values[0, head, t] != 0.0) & (values[1, modifier, t] != 0.0)
            fires &= (not is_pair) | (values[2, third, t] != 0.0)
            indices[start + again + t] = indices[start + again + t] if fires else missing
        place += last - first + again


@kernel
def write_between(read, kind, arcs, begin, end, bits, indices, values, ends, at):
    """Write the features of templates with a `between` part: one for each distinct key between head and modifier.

    Arguments as in `write_features`. ends: int64 [end − begin], output, the end position of each arc.
    """
    mask, with_values = (np.uint64(1) << np.uint64(bits)) - np.uint64(1), len(values) > 0
    for arc in range(begin, end):
        head, modifier = arcs[HEAD_ROW, arc], arcs[MODIFIER_ROW, arc]
        left, right = min(head, modifier), max(head, modifier)
        for relation in range(3):
            code = relation_code(relation, arcs[DIRECTION_ROW, arc], arcs[DISTANCE_ROW, arc], bits)
            first, last = with_relation(read.starts, kind, relation)
            for t in range(first, last):
                value = 1.0 if read.ones else np.float64(read.values[0, head, t]) * read.values[1, modifier, t]
                if value == 0.0:
                    continue
                state = mix(read.keys[0, head, t], read.keys[1, modifier, t])
                b = read.sources[t]
                for node in range(left + 1, right):
                    if read.between[b, node] != 0 and read.previous[b, node] <= left:
                        indices[at] = np.int64(mix(state, read.between[b, node]) & mask) ^ code
                        if with_values:
                            values[at] = value
                        at += 1
        ends[arc - begin] = at
    return at


@kernel
def count_templates(starts, kind):
    """The number of templates of a kind; starts: as in `ArcProgram`."""
    return starts[kind, 3] - starts[kind, 0] + starts[kind, 4] - starts[kind, 2]


@kernel
def max_features(program, n):
    """An upper bound of the number of features of an arc with its label and its pairs.

    Args:
        n: the number of distinct keys between head and modifier, at most; an integer or an array of integers.
    """
    between = count_templates(program.starts, ARCS_BETWEEN) + count_templates(program.starts, LABELS_BETWEEN)
    once = 0
    for kind in range(N_KINDS):
        once += count_templates(program.starts, kind)
    return once + (n - 1) * between


def conjunctions(starts: np.ndarray, kind: int | np.integer) -> list[int]:
    """The conjunction of each template of a kind, in the order in which features are written."""
    first, _, both, distance, end = starts[kind].tolist()
    return [*range(first, distance), *range(both, end)]


RELATIONS = {"": PLAIN, "direction": DIRECTION, "distance": DISTANCE}


@dataclass(frozen=True)
class CompiledArcTemplates:
    """Programs over common columns.

    Attributes:
        attributes: the name of each column.
        templates: of `program`, in the order in which features are written.
        program, first_pass: over these columns.
    """

    attributes: tuple[str, ...]
    templates: tuple[ArcTemplate, ...]
    program: ArcProgram
    first_pass: ArcProgram


def compile_arc_templates(
    arcs: Sequence[ArcTemplate], labels: Sequence[ArcTemplate], first_pass: Sequence[ArcTemplate]
) -> CompiledArcTemplates:
    """Number the distinct attributes as columns and write each kind's templates as arrays.

    Args:
        arcs: templates for heads, of all kinds.
        labels: templates for labels.
        first_pass: templates of the first pass; both of the kind "arc" only.

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
    written: list[ArcTemplate] = []
    starts = np.zeros((N_KINDS, 5), np.int64)
    for kind, templates in enumerate(kinds):
        plain, direction, distance = (
            {
                template.without_relation(): template
                for template in templates
                if RELATIONS[template.relation] == relation
            }
            for relation in (PLAIN, DIRECTION, DISTANCE)
        )
        both = [text for text in direction if text in distance]
        groups = (
            [*plain.values()],
            [template for text, template in direction.items() if text not in distance],
            [direction[text] for text in both],
            [template for text, template in distance.items() if text not in direction],
        )
        starts[kind] = len(ordered) + np.cumsum([0, *map(len, groups)])
        ordered += chain(*groups)
        written += [*chain(*groups[:3]), *(distance[text] for text in both), *groups[3]]

    def word(template: ArcTemplate, *roles: str) -> int:
        return next((words.index(template.words[role]) for role in roles if role in template.words), len(words))

    roles = (("head",), ("mod",), ("sib", "grand"))
    program = ArcProgram(
        compile_templates(words, attributes),
        np.array([attributes.index(name) for name in between], np.int64),
        np.array([[word(template, *role) for template in ordered] for role in roles], np.int64).reshape(3, -1),
        np.array([between.index(t.between) if t.between else -1 for t in ordered], np.int64),
        # The relation is hashed in by the kernels, and so is not part of the seed.
        np.array([get_string_id(template.without_relation()) or 1 for template in ordered], np.uint64),
        starts,
    )
    return tuple(written), program


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
