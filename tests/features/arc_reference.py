"""What arc templates mean, in plain Python, and what the kernels make of them: slow, and with nothing in common."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from spacy_ssvm.features.arc_program import (
    ARCS,
    ARCS_BETWEEN,
    GRANDPARENTS,
    HEAD_LABELS,
    LABELS,
    LABELS_BETWEEN,
    MODIFIER_LABELS,
    SIBLINGS,
    ArcProgram,
    arc_direction,
    compile_arc_templates,
    distance_bin,
    max_features,
    read_sentence,
    write_between,
    write_features,
)
from spacy_ssvm.features.arc_templates import parse_arc_templates
from spacy_ssvm.features.index import Columns

REAL = "_.heat"

Node = int
"""0 for the root, 1 … n for tokens, n + 1 for nobody."""

Arc = tuple[Node, Node]
"""Head and modifier."""


@dataclass(frozen=True)
class Sentence:
    """The value of each attribute of each token, None where there is none; and what the real attribute is worth."""

    values: dict[str, list[int | None]]
    reals: list[float]

    def __len__(self) -> int:
        return len(self.reals)


def columns_of(sentences: list[Sentence], attributes: Sequence[str]) -> Columns:
    values = [[value or 0 for s in sentences for value in s.values[name]] for name in attributes]
    reals = np.array([[real for s in sentences for real in s.reals]], np.float32)
    keys = np.array(values, np.uint64).reshape(len(attributes), reals.shape[1])
    return Columns(np.cumsum([0, *map(len, sentences)]), keys, reals)


def read(sentences: list[Sentence], arcs: Sequence[str], labels: Sequence[str] = ()) -> tuple[ArcProgram, Columns]:
    """Compiled templates, and the columns that they read of the sentences."""
    compiled = compile_arc_templates(*(parse_arc_templates(list(texts)) for texts in (arcs, labels, ())))
    return compiled.program, columns_of(sentences, compiled.attributes)


def direction(head: Node, modifier: Node) -> str:
    return "from the root" if head == 0 else "rightwards" if head < modifier else "leftwards"


def distance(head: Node, modifier: Node) -> tuple[bool, int]:
    """On which side the head is, and how many of these lengths are exceeded."""
    length = abs(head - modifier)
    return head < modifier, sum(length > bound for bound in (1, 2, 3, 4, 6, 10, 20, 30))


def word(sentence: Sentence, node: Node, parts: list[tuple[str, int]]) -> tuple[Hashable, float] | None:
    """The value of one word's parts and what it is worth, or None where one has no value."""
    if node == 0 or node == len(sentence) + 1:
        return "root" if node == 0 else "nobody", 1.0
    values, worth = [], 1.0
    for attribute, offset in parts:
        at = node - 1 + offset
        inside = 0 <= at < len(sentence)
        value = sentence.values[attribute][at] if inside else "outside"
        if value is None:
            return None
        values.append(value)
        worth *= sentence.reals[at] if inside and attribute == REAL else 1.0
    return tuple(values), worth


def expected_features(sentence: Sentence, text: str, nodes: dict[str, Node]) -> list[tuple[Hashable, float]]:
    """The features of a template at these nodes by role, and their values."""
    h, m = nodes["head"], nodes["mod"]
    roles, between, relation = defaultdict(list), None, None
    for piece in text.split("+"):
        if piece == "distance":
            relation = distance(h, m)
        elif piece == "direction":
            relation = direction(h, m), nodes["grand"] < h if "grand" in nodes else None
        elif piece.startswith("between."):
            between = piece.removeprefix("between.")
        else:
            role, rest = piece.split(".", 1)
            attribute, offset = rest.rstrip("]").split("[")
            roles[role].append((attribute, int(offset)))
    words = [word(sentence, nodes[role], parts) for role, parts in sorted(roles.items())]
    if None in words or not all(worth for _, worth in words):
        return []
    worth = float(np.prod([worth for _, worth in words]))
    inside = [None]
    if between is not None:
        inside = sorted({value for value in sentence.values[between][min(h, m) : max(h, m) - 1] if value is not None})
    return [((text, *(value for value, _ in words), relation, value), worth) for value in inside]


KINDS = ("arc", "label", "sib", "grand")


def places(n: int, kind: str) -> Iterator[dict[str, Node]]:
    """Every arc over n tokens, with every possible third word where there is one."""
    for h in range(n + 1):
        for m in range(1, n + 1):
            nodes = {"head": h, "mod": m}
            if h == m:
                continue
            if kind in ("arc", "label"):
                yield nodes
            elif kind == "sib":
                yield from ({**nodes, "sib": s} for s in [*range(min(h, m) + 1, max(h, m)), n + 1])
            elif h != 0:
                yield from ({**nodes, "grand": g} for g in range(n + 1) if g not in (h, m))


class Kernels:
    """What the kernels write for one sentence."""

    def __init__(self, program: ArcProgram, columns: Columns, sentence: int, bits: int) -> None:
        self.program = program
        self.sentence = read_sentence(columns, program, sentence)
        self.bits = bits
        self.n = int(columns.starts[sentence + 1] - columns.starts[sentence])

    def written(self, kind: str, nodes: dict[str, Node]) -> list[tuple[int, float]]:
        """All that is written, values of 0 too; not a cell before or behind it is touched."""
        read, h, m = self.sentence, nodes["head"], nodes["mod"]
        way, third = arc_direction(h, m), nodes.get(kind, self.n + 1)
        if kind == "grand":
            way = 2 * way + (third < h)
        arc = np.array([[h], [m], [third], [way], [distance_bin(h, m)]], np.int64)
        most = max_features(self.program, self.n)
        indices, values, at = np.full(most + 4, -7, np.int64), np.full(most + 4, np.nan), 2
        plain = {"arc": [ARCS], "sib": [SIBLINGS], "grand": [GRANDPARENTS]}
        for of_kind in plain.get(kind, [LABELS, HEAD_LABELS, MODIFIER_LABELS]):
            at = write_features(read, of_kind, arc, 0, 1, self.bits, indices, values, at)
        if kind in ("arc", "label"):
            of_kind, ends = ARCS_BETWEEN if kind == "arc" else LABELS_BETWEEN, np.zeros(1, np.int64)
            at = write_between(read, of_kind, arc, 0, 1, self.bits, indices, values, ends, at)
            assert ends == [at]
        untouched = [0, 1, *range(at, most + 4)]
        assert (indices[untouched] == -7).all() and np.isnan(values[untouched]).all()
        assert (indices[2:at] >= 0).all() and (indices[2:at] < 1 << self.bits).all()
        return list(zip(indices[2:at].tolist(), values[2:at].tolist()))

    def features(self, kind: str, nodes: dict[str, Node]) -> list[tuple[int, float]]:
        """The features that fire."""
        return [(index, value) for index, value in self.written(kind, nodes) if value]

    def indices(self, *arcs: Arc, kind: str = "arc") -> list[set[int]]:
        """The indices of the features of each arc."""
        return [{index for index, _ in self.features(kind, {"head": h, "mod": m})} for h, m in arcs]
