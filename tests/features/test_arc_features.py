"""What arc templates mean, against plain Python: the same features have the same index, all others different ones."""

from collections import Counter, defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .arc_reference import KINDS, REAL, Kernels, Sentence, direction, distance, expected_features, places, read

BITS = 62
"""So many that no two features collide."""

TEMPLATES = (
    """
head.tag[0] mod.tag[0] head.tag[0]+mod.tag[0] head.tag[0]+mod.tag[0]+direction head.tag[0]+mod.tag[0]+distance
mod.tag[0]+direction mod.tag[0]+distance mod.lower[0]+distance head.lower[0]+mod.tag[0]
head.tag[0]+mod.lower[0] head.tag[-1]+head.tag[0]+mod.tag[1] head.tag[-3] mod.lower[2]+distance
head.lower[0]+head.tag[0] head.tag[1] direction distance between.tag+direction
head.tag[0]+between.tag+mod.tag[0] mod.tag[0]+between.lower mod.tag[0]+between.lower+distance head._.heat[0]
head._.heat[-1]+mod.tag[0] head._.heat[0]+mod._.heat[0]+direction mod.tag[0]+between._.heat
""",
    """
sib.tag[0] sib.tag[0]+mod.tag[0] sib.tag[0]+mod.tag[0]+direction sib.tag[0]+mod.tag[0]+distance
head.tag[0]+mod.tag[0]+sib.tag[0] sib.tag[-1] sib.lower[0]+direction head._.heat[0]+sib._.heat[0]
mod.lower[1]+sib.lower[-1]+sib.tag[0]
""",
    """
grand.tag[0] mod.tag[0]+grand.tag[0] mod.tag[0]+grand.tag[0]+direction head.tag[0]+grand.tag[0]+distance
head.tag[0]+mod.tag[0]+grand.tag[0] grand.tag[1] grand.lower[0]+direction mod._.heat[0]+grand._.heat[0]
""",
    """
head.tag[0] head.tag[0]+direction head.tag[0]+distance mod.tag[0] mod.tag[0]+direction mod.lower[0]+distance
head.tag[0]+mod.tag[0] head.tag[0]+mod.tag[0]+direction mod.tag[0]+between.tag direction mod._.heat[0]
mod.tag[-1]+mod.tag[0]
""",
)
ARCS, SIBLINGS, GRANDPARENTS, LABELS = map(str.split, TEMPLATES)


def assert_same_features(expected: dict[object, list], found: dict[object, list]):
    """Both are a feature's place and value at every occurrence: one index is one feature, and the other way round."""
    for occurrences in (expected, found):
        assert all(len(at) == len({place for place, _ in at}) for at in occurrences.values())
    assert Counter(map(frozenset, expected.values())) == Counter(map(frozenset, found.values()))


def values_of(tags: list, lowers: list | None = None, heats: list | None = None) -> Sentence:
    """A sentence; without lowers and heats these are the same everywhere."""
    heats = [1.0] * len(tags) if heats is None else heats
    values = {"tag": tags, "lower": lowers or [9] * len(tags), REAL: [None if heat is None else 1 for heat in heats]}
    return Sentence(values, [0.0 if heat is None else heat for heat in heats])


def distinct(n: int) -> Sentence:
    """Every token has values of its own."""
    return values_of([*range(100, 100 + n)], [*range(500, 500 + n)])


@st.composite
def sentences(draw):
    """Few values, so that they often recur. Powers of two are exact in single precision."""
    found = []
    token = st.tuples(
        st.sampled_from([None, 11, 12]),
        st.sampled_from([None, 11, 21, 22]),
        st.sampled_from([None, 0.0, -0.5, 1.0, 2.0]),
    )
    for _ in range(draw(st.integers(1, 2))):
        n = draw(st.integers(0, 5))
        tokens = draw(st.lists(token, min_size=n, max_size=n))
        found.append(values_of(*([token[k] for token in tokens] for k in range(3))))
    return found


def subset(texts: list[str]):
    return st.one_of(st.just(texts), st.lists(st.sampled_from(texts), unique=True))


def assert_kernels_agree(drawn, program, columns, templates: dict[str, list[str]]):
    """All kinds of templates given share one index; none may take another's features for its own."""
    expected, found = defaultdict(list), defaultdict(list)
    for number, sentence in enumerate(drawn):
        kernels = Kernels(program, columns, number, BITS)
        for kind, texts in templates.items():
            for nodes in places(len(sentence), kind):
                place = (number, *nodes.items())
                for text in texts:
                    for feature, value in expected_features(sentence, text, nodes):
                        expected[feature].append((place, value))
                for index, value in kernels.features(kind, nodes):
                    found[index].append((place, value))
    assert_same_features(expected, found)


@given(sentences(), subset(ARCS), subset(SIBLINGS), subset(GRANDPARENTS))
def test_features_of_arcs_and_pairs(drawn, arcs, siblings, grandparents):
    program, columns = read(drawn, [*arcs, *siblings, *grandparents])
    assert_kernels_agree(drawn, program, columns, {"arc": arcs, "sib": siblings, "grand": grandparents})


@given(sentences(), subset(LABELS))
def test_features_of_labels(drawn, labels):
    program, columns = read(drawn, ["head.tag[0]"], labels)
    assert_kernels_agree(drawn, program, columns, {"label": labels})


def arcs_of(texts: list[str], sentence: Sentence, *arcs: tuple[int, int]) -> list[set[int]]:
    program, columns = read([sentence], texts)
    return Kernels(program, columns, 0, BITS).indices(*arcs)


@pytest.mark.parametrize(
    ("relation", "of_arc", "count"),
    [("", lambda h, m: None, 1), ("+direction", direction, 3), ("+distance", distance, 18)],
)
def test_relations(relation, of_arc, count):
    """All arcs over 45 tokens: as many features as there are relations, the same where these are the same."""
    n = 45
    arcs = [(h, m) for h in range(n + 1) for m in range(1, n + 1) if h != m]
    found = arcs_of([f"mod.tag[0]{relation}"], values_of([1] * n), *arcs)
    assert all(len(features) == 1 for features in found)
    pairs = {(of_arc(*arc), *features) for arc, features in zip(arcs, found)}
    assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs}) == count


def test_the_order_of_the_templates_does_not_matter():
    """Nor does what else is in the list: a weight keeps its place when templates are added."""
    sentence, arcs = distinct(4), [(0, 1), (1, 3), (4, 2)]
    whole = arcs_of(ARCS, sentence, *arcs)
    assert arcs_of(ARCS[::-1], sentence, *arcs) == whole
    for some, everything in zip(arcs_of(ARCS[::3], sentence, *arcs), whole):
        assert some < everything


@pytest.mark.parametrize("bits", [8, 13])
def test_few_bits_are_the_low_bits(bits):
    program, columns = read([distinct(4)], [*ARCS, *SIBLINGS, *GRANDPARENTS], LABELS)
    wide, narrow = (Kernels(program, columns, 0, b) for b in (BITS, bits))
    for kind, third in zip(KINDS, ({}, {}, {"sib": 3}, {"grand": 3})):
        nodes = {"head": 1, "mod": 4, **third}
        expected = [(index % (1 << bits), value) for index, value in wide.features(kind, nodes)]
        assert narrow.features(kind, nodes) == expected != []
