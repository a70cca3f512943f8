"""Kernels that hash arc templates: each word's parts once a sentence, then their combinations for each arc.

Kernels take many arcs at once, few arrays, and take no slices: a parser spends its time here, and for each arc a call
that counts references to its arguments would cost more than the arithmetic.
"""

from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from .hashing import Program, feature, mix

ROOT = np.uint64(0xC2B2AE3D27D4EB4F)
"""The key of every word template at the root."""
NOBODY = np.uint64(0x165667B19E3779F9)
"""The key of every word template where there is no such word."""
PLAIN, DIRECTION, DISTANCE = range(3)
"""What a template adds to the words: nothing, the direction, or the binned distance with its direction."""


class ArcTemplates(NamedTuple):
    """F compiled arc templates of one kind, ordered by what they add to the words.

    words: int64 [3, F], the word template of head, modifier and third word; W of W stands for "not read".
    between: int64 [F], a row of `Sentence.between`, or -1.
    starts: int64 [4], first template with PLAIN, DIRECTION and DISTANCE. seeds: uint64 [F].
    """

    words: np.ndarray
    between: np.ndarray
    starts: np.ndarray
    seeds: np.ndarray


class ArcProgram(NamedTuple):
    """words: the token templates of all roles. between: int64 [B], columns. The rest: templates by kind.

    Templates that read what lies between are apart, as they write several features. So are label templates that read
    nothing but one word and the direction: they are the same for all arcs to this modifier, or from this head, that
    point in the same direction.
    """

    words: Program
    between: np.ndarray
    arcs: ArcTemplates
    arcs_between: ArcTemplates
    labels: ArcTemplates
    labels_between: ArcTemplates
    head_labels: ArcTemplates
    modifier_labels: ArcTemplates
    siblings: ArcTemplates
    grandparents: ArcTemplates


class Sides(NamedTuple):
    """The words of a sentence as the F templates of one kind read them in each role: head, modifier, third word.

    Node 0 is the root, 1 … n are the tokens, n + 1 stands for "no such word". Few arrays, as calls pass them by value.

    keys: uint64 [3, n + 2, F], hash states of heads and keys of the others. values: float64 [3, n + 2, F], 0 where a
    word template does not fire. starts, between: of `ArcTemplates`.
    """

    keys: np.ndarray
    values: np.ndarray
    starts: np.ndarray
    between: np.ndarray


class Sentence(NamedTuple):
    """A sentence of n tokens, read.

    between: uint64 [B, n + 1], keys of what may lie between; 0 for no value. previous: int64 [B, n + 1], the last node
    before this one with the same key, or 0. The rest: `Sides` of the templates of this name in `ArcProgram`.
    """

    between: np.ndarray
    previous: np.ndarray
    arcs: Sides
    arcs_between: Sides
    labels: Sides
    labels_between: Sides
    head_labels: Sides
    modifier_labels: Sides
    siblings: Sides
    grandparents: Sides


@kernel
def _sides(templates, word_keys, word_values):
    """`Sides` from the keys uint64 and values float32 of all word templates, [n + 2, W + 1]."""
    nodes, size = len(word_keys), len(templates.seeds)
    keys, values = np.empty((3, nodes, size), np.uint64), np.empty((3, nodes, size))
    for role in range(3):
        for node in range(nodes):
            for t in range(size):
                word = templates.words[role, t]
                key = word_keys[node, word]
                keys[role, node, t] = mix(templates.seeds[t], key) if role == 0 else key
                values[role, node, t] = word_values[node, word]
    return Sides(keys, values, templates.starts, templates.between)


@kernel
def read_sentence(columns, program, sentence):
    """`Sentence` number `sentence` of `columns`."""
    first, behind = columns.starts[sentence], columns.starts[sentence + 1]
    n, n_templates = behind - first, len(program.words.seeds)
    keys = np.zeros((n + 2, n_templates + 1), np.uint64)
    values = np.ones((n + 2, n_templates + 1), np.float32)
    for template in range(n_templates):
        keys[0, template] = mix(program.words.seeds[template], ROOT)
        keys[n + 1, template] = mix(program.words.seeds[template], NOBODY)
        for token in range(n):
            key, value = feature(columns, program.words, template, first + token, first, behind)
            keys[token + 1, template] = key
            values[token + 1, template] = value
    between = np.zeros((len(program.between), n + 1), np.uint64)
    previous = np.zeros((len(program.between), n + 1), np.int64)
    for b in range(len(program.between)):
        for node in range(1, n + 1):
            between[b, node] = columns.keys[program.between[b], first + node - 1]
            earlier = node - 1
            while earlier > 0 and between[b, earlier] != between[b, node]:
                earlier -= 1
            previous[b, node] = earlier
    return Sentence(
        between,
        previous,
        _sides(program.arcs, keys, values),
        _sides(program.arcs_between, keys, values),
        _sides(program.labels, keys, values),
        _sides(program.labels_between, keys, values),
        _sides(program.head_labels, keys, values),
        _sides(program.modifier_labels, keys, values),
        _sides(program.siblings, keys, values),
        _sides(program.grandparents, keys, values),
    )


@kernel
def distance_bin(head, modifier):
    """1 … 4 exactly, then 5–6, 7–10, 11–20, 21–30, more; negative where the head is to the left."""
    length = abs(head - modifier)
    if length > 4:
        length = 5 if length <= 6 else 6 if length <= 10 else 7 if length <= 20 else 8 if length <= 30 else 9
    return length if head > modifier else -length


@kernel
def arc_direction(head, modifier):
    """The direction of an arc; that of the root is one of its own."""
    return 1 if head == 0 else 2 if head < modifier else 3


@kernel
def _relation_key(relation, direction, distance):
    return np.uint64(1 if relation == PLAIN else direction + 100 if relation == DIRECTION else distance + 10_000)


@kernel
def write_features(sides, arcs, begin, behind, bits, indices, values, at):
    """Write the hashed features of arcs begin … behind − 1, F for each, with value 0 where a template does not fire.

    arcs: int64 [5, A]: heads, modifiers, third words (node n + 1 for none), and what direction and distance are in a
    template. bits: indices are below 2^bits. indices: int64, values: float64, written from `at` on; an index may
    repeat. Returns where they end.
    """
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    for arc in range(begin, behind):
        head, modifier, third = arcs[0, arc], arcs[1, arc], arcs[2, arc]
        for relation in range(3):
            key = _relation_key(relation, arcs[3, arc], arcs[4, arc])
            for t in range(sides.starts[relation], sides.starts[relation + 1]):
                state = mix(mix(sides.keys[0, head, t], sides.keys[1, modifier, t]), sides.keys[2, third, t])
                indices[at + t] = np.int64(mix(state, key) & mask)
                values[at + t] = sides.values[0, head, t] * sides.values[1, modifier, t] * sides.values[2, third, t]
        at += len(sides.between)
    return at


@kernel
def write_between(sides, between, previous, arcs, begin, behind, bits, indices, values, ends, at):
    """The same for templates that read what lies between: a feature for each distinct key there.

    between, previous: of `Sentence`. ends: int64 [behind − begin], filled: where the features of each arc end.
    """
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    for arc in range(begin, behind):
        head, modifier = arcs[0, arc], arcs[1, arc]
        left, right = min(head, modifier), max(head, modifier)
        for relation in range(3):
            key = _relation_key(relation, arcs[3, arc], arcs[4, arc])
            for t in range(sides.starts[relation], sides.starts[relation + 1]):
                value = sides.values[0, head, t] * sides.values[1, modifier, t]
                if value == 0.0:
                    continue
                state = mix(mix(sides.keys[0, head, t], sides.keys[1, modifier, t]), key)
                b = sides.between[t]
                for node in range(left + 1, right):
                    if between[b, node] != 0 and previous[b, node] <= left:
                        indices[at] = np.int64(mix(state, between[b, node]) & mask)
                        values[at] = value
                        at += 1
        ends[arc - begin] = at
    return at


@kernel
def most_features(program, n):
    """An upper bound of the features of an arc with its label and its pairs, with n distinct keys between its words."""
    return (
        len(program.arcs.seeds)
        + len(program.labels.seeds)
        + len(program.head_labels.seeds)
        + len(program.modifier_labels.seeds)
        + len(program.siblings.seeds)
        + len(program.grandparents.seeds)
        + (len(program.arcs_between.seeds) + len(program.labels_between.seeds)) * n
    )
