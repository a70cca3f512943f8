"""Kernels that hash arc templates: each word's parts once a sentence, then their combinations for each arc."""

from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from .hashing import Program, feature, mix

ROOT = np.uint64(0xC2B2AE3D27D4EB4F)
"""The key of every word template at the root."""
NOBODY = np.uint64(0x165667B19E3779F9)
"""The key of every word template where there is no such word."""
PLAIN, DIRECTION, DISTANCE = 1, 2, 4
"""Bits of `ArcTemplates.relations`."""


class ArcTemplates(NamedTuple):
    """F compiled arc templates of one kind; those of single arcs that differ in nothing but their relation are one.

    words: int64 [3, F], the word template (a column of `Words`) of head, modifier and third word; the last one,
    which is the same everywhere, stands for "not read".
    between: int64 [F], a row of `Words.between`, or -1.
    relations: int64 [F], which of PLAIN, DIRECTION and DISTANCE to write. seeds: uint64 [F].
    """

    words: np.ndarray
    between: np.ndarray
    relations: np.ndarray
    seeds: np.ndarray


class ArcProgram(NamedTuple):
    """words: the token templates of all roles. between: int64 [B], columns. The rest: templates by kind.

    Label templates that read nothing but one word and the direction are apart: they are the same for all arcs to this
    modifier, or from this head, that point in the same direction.
    """

    words: Program
    between: np.ndarray
    arcs: ArcTemplates
    labels: ArcTemplates
    head_labels: ArcTemplates
    modifier_labels: ArcTemplates
    siblings: ArcTemplates
    grandparents: ArcTemplates


class Words(NamedTuple):
    """The word templates of a sentence of n tokens.

    Node 0 is the root, 1 … n the tokens, n + 1 stands for "no such word".

    keys: uint64 [n + 2, W + 1]. values: float32 [n + 2, W + 1], 0 where a template does not fire.
    between: uint64 [B, n + 1], keys of what may lie between; 0 for no value.
    previous: int64 [B, n + 1], the last node before this one with the same key, or 0.
    """

    keys: np.ndarray
    values: np.ndarray
    between: np.ndarray
    previous: np.ndarray


@kernel
def hash_words(columns, program, sentence):
    """`Words` of a sentence of `columns`."""
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
    return Words(keys, values, between, previous)


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
def _direction_key(direction):
    return np.uint64(direction + 100)


@kernel
def _distance_key(distance):
    return np.uint64(distance + 10_000)


@kernel
def _write(state, relations, direction, distance, value, mask, indices, values, at):
    if relations & PLAIN:
        indices[at] = np.int64(mix(state, np.uint64(1)) & mask)
        values[at] = value
        at += 1
    if relations & DIRECTION:
        indices[at] = np.int64(mix(state, direction) & mask)
        values[at] = value
        at += 1
    if relations & DISTANCE:
        indices[at] = np.int64(mix(state, distance) & mask)
        values[at] = value
        at += 1
    return at


@kernel
def arc_features(templates, words, head, modifier, bits, indices, values, at):
    """Write hashed features, below 2^bits, of an arc by itself.

    indices: int64, values: float64, written from `at` on; an index may repeat. Returns where they end.
    """
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    direction = _direction_key(arc_direction(head, modifier))
    distance = _distance_key(distance_bin(head, modifier))
    for t in range(len(templates.seeds)):
        at_head, at_modifier = templates.words[0, t], templates.words[1, t]
        value = float(words.values[head, at_head] * words.values[modifier, at_modifier])
        if value == 0.0:
            continue
        state = mix(mix(templates.seeds[t], words.keys[head, at_head]), words.keys[modifier, at_modifier])
        relations, b = templates.relations[t], templates.between[t]
        if b < 0:
            at = _write(state, relations, direction, distance, value, mask, indices, values, at)
            continue
        left = min(head, modifier)
        for node in range(left + 1, max(head, modifier)):
            key = words.between[b, node]
            if key != 0 and words.previous[b, node] <= left:
                at = _write(mix(state, key), relations, direction, distance, value, mask, indices, values, at)
    return at


@kernel
def pair_states(templates, words, head, modifier, direction, distance, states, values):
    """What the features of an arc with different third words have in common, into uint64 [F] and float64 [F].

    direction, distance: what these parts are in a template, as small integers.
    """
    for t in range(len(templates.seeds)):
        at_head, at_modifier = templates.words[0, t], templates.words[1, t]
        values[t] = float(words.values[head, at_head] * words.values[modifier, at_modifier])
        state = mix(mix(templates.seeds[t], words.keys[head, at_head]), words.keys[modifier, at_modifier])
        relation = templates.relations[t]
        if relation == DIRECTION:
            state = mix(state, _direction_key(direction))
        elif relation == DISTANCE:
            state = mix(state, _distance_key(distance))
        states[t] = state


@kernel
def pair_features(templates, words, third, states, state_values, bits, indices, values, at):
    """Write the hashed features, below 2^bits, of an arc with a third word; node n + 1 for none.

    states, state_values: of the arc, from `pair_states`. The rest as in `arc_features`.
    """
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    for t in range(len(templates.seeds)):
        word = templates.words[2, t]
        value = state_values[t] * words.values[third, word]
        if value != 0.0:
            indices[at] = np.int64(mix(states[t], words.keys[third, word]) & mask)
            values[at] = value
            at += 1
    return at


@kernel
def most_features(templates, n):
    """An upper bound of the features of one arc, or pair of arcs, with n distinct keys between the words."""
    most = 0
    for t in range(len(templates.seeds)):
        relations = templates.relations[t]
        times = (relations & 1) + (relations >> 1 & 1) + (relations >> 2 & 1)
        most += times * (n if templates.between[t] >= 0 else 1)
    return most
