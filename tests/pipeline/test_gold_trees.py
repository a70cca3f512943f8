"""What `ssvm_parser` takes from gold annotation, against its definition token by token."""

from itertools import pairwise

import numpy as np
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.attrs import HEAD
from spacy.tokens import Doc
from spacy.training import Example

from spacy_ssvm.pipeline.gold_trees import FLAWS, gold_trees, sentence_starts
from spacy_ssvm.structures import UNKNOWN

VOCAB = spacy.blank("en").vocab


def words_of(edges) -> list[str]:
    return ["abcdefghijklmnop"[a:b] for a, b in pairwise(edges)]


def doc(words, **annotation) -> Doc:
    return Doc(VOCAB, words=words, spaces=[False] * len(words), **annotation)


def flaws_of(gold) -> dict[str, list[int]]:
    """The flaws that the trees have, with their tokens."""
    assert tuple(gold.flaws) == FLAWS
    return {flaw: tokens.tolist() for flaw, tokens in gold.flaws.items() if len(tokens)}


def starts_of(bounds, n_tokens) -> list[bool]:
    return [token in bounds for token in range(n_tokens)]


@st.composite
def trees(draw, n_tokens: int) -> list[int]:
    """Heads of a tree of any shape with one root, its own head."""
    order = draw(st.permutations(range(n_tokens)))
    heads = [0] * n_tokens
    for place, token in enumerate(order):
        heads[token] = order[draw(st.integers(0, place - 1))] if place else token
    return heads


@st.composite
def documents(draw) -> tuple[list[int], list[int]]:
    """The first tokens of sentences, with the number of tokens behind them, and the tokens' heads."""
    lengths = draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    bounds = np.cumsum([0, *lengths]).tolist()
    heads = [first + head for first, n in zip(bounds, lengths) for head in draw(trees(n))]
    return bounds, heads


def labels_of(heads) -> list[str]:
    return ["ROOT" if head == token else f"to{head}" for token, head in enumerate(heads)]


@pytest.mark.parametrize("multi_root", [False, True])
@given(drawn=documents(), data=st.data())
def test_boundaries_of_the_predicted_doc_come_first_unless_gold_arcs_cross_them(multi_root, drawn, data):
    true_bounds, heads = drawn
    n = len(heads)
    words = words_of(range(n + 1))
    bounds = [0, *sorted(data.draw(st.sets(st.integers(1, n), max_size=3)) - {n})]
    without = gold_trees(Example(doc(words), doc(words, heads=heads, deps=labels_of(heads))), multi_root=False)
    assert without.sentences.tolist() == true_bounds
    predicted = doc(words, sent_starts=starts_of(bounds, n))
    gold = gold_trees(Example(predicted, doc(words, heads=heads, deps=labels_of(heads))), multi_root=multi_root)
    whole = [s for s in bounds if not any(min(t, h) < s <= max(t, h) for t, h in enumerate(heads))]
    if n > 1:
        expected = bounds if whole == bounds else whole if multi_root else sorted({*whole, *true_bounds[:-1]})
        assert gold.sentences.tolist() == [*expected, n]
    assert flaws_of(gold) == {} and not (gold.heads == UNKNOWN).any()
    first = gold.sentences[np.searchsorted(gold.sentences, range(n), "right") - 1]
    for token in range(n):
        assert gold.heads[token] == (0 if heads[token] == token else heads[token] - first[token] + 1)
        assert gold.labels[token] == labels_of(heads)[token]


@st.composite
def two_tokenisations(draw):
    length = draw(st.integers(1, 12))
    edges = [sorted({0, length, *draw(st.sets(st.integers(1, length)))}) for _ in range(2)]
    return edges[0], edges[1], draw(trees(len(edges[1]) - 1))


@given(drawn=two_tokenisations())
def test_a_token_that_is_one_in_gold_has_the_token_around_its_head_and_a_merged_one_none(drawn):
    predicted_edges, edges, heads = drawn
    reference = doc(words_of(edges), heads=heads, deps=labels_of(heads))
    n = len(predicted_edges) - 1
    predicted = doc(words_of(predicted_edges), sent_starts=starts_of([0], n))
    gold = gold_trees(Example(predicted, reference), multi_root=False)
    spans, gold_spans = (list(pairwise(found)) for found in (predicted_edges, edges))
    for token, (a, b) in enumerate(spans):
        if any(a < edge < b for edge in edges):
            assert gold.heads[token] == UNKNOWN
        elif (a, b) in gold_spans and not len(gold.flaws["circular"]):
            number = gold_spans.index((a, b))
            head = gold_spans[heads[number]]
            around = [k for k, (c, d) in enumerate(spans) if c <= head[0] and head[1] <= d]
            if around:
                assert gold.heads[token] == (0 if heads[number] == number else around[0] + 1)
                assert gold.labels[token] == labels_of(heads)[number]
            else:
                assert gold.heads[token] == UNKNOWN
    assert gold.sentences.tolist() == [0, n]


@given(heads=st.integers(1, 7).flatmap(lambda n: st.lists(st.integers(0, n - 1), min_size=n, max_size=n)))
def test_circles_are_found(heads):
    n = len(heads)
    words = words_of(range(n + 1))
    reference = doc(words, heads=list(range(n)), deps=labels_of(heads))
    offsets = np.array(heads) - np.arange(n)
    circular = False
    for token in range(n):
        for _ in range(n):
            token = heads[token]
        circular |= heads[token] != token
    reference.from_array([HEAD], offsets.astype(np.int64).view(np.uint64))
    predicted = doc(words, sent_starts=starts_of([0], n))
    gold = gold_trees(Example(predicted, reference), multi_root=True)
    assert flaws_of(gold) == ({"circular": [0]} if circular else {})
    if circular:
        assert (gold.heads == UNKNOWN).all() and set(gold.labels) == {None}
    else:
        assert gold.heads.tolist() == [0 if head == token else head + 1 for token, head in enumerate(heads)]


def test_a_circle_takes_only_its_own_sentence():
    words = words_of(range(8))
    reference = doc(words, heads=[0, 0, 2, 2, 2, 5, 5], deps=["ROOT", "x", "ROOT", "y", "z", "ROOT", "x"])
    reference.from_array([HEAD], np.array([0, -1, 1, 1, -2, 0, -1]).astype(np.int64).view(np.uint64))
    predicted = doc(words, sent_starts=starts_of([0, 2, 5], 7))
    gold = gold_trees(Example(predicted, reference), multi_root=False)
    assert flaws_of(gold) == {"circular": [2]}
    assert gold.heads.tolist() == [0, 1, UNKNOWN, UNKNOWN, UNKNOWN, 0, 1]
    assert list(gold.labels) == ["ROOT", "x", None, None, None, "ROOT", "x"]


RELATIONS = ["nsubj", "ROOT", "amod", "obj"]


@pytest.mark.parametrize("multi_root", [False, True])
@pytest.mark.parametrize("words", [list("abcd"), ["a", "b", "cd"]], ids=["same tokens", "other tokens"])
@pytest.mark.parametrize("labels", [RELATIONS, [*RELATIONS[:3], ""], ["dep"] * 4, ["x", "y", "z", "x"]])
def test_relations_without_heads_are_no_trees(labels, words, multi_root):
    """Not even the root is known: spaCy has made each token its own head."""
    for reference in (
        doc(list("abcd"), deps=labels),
        Example.from_dict(doc(list("abcd")), {"deps": labels}).reference,
        doc(list("abcd"), deps=labels, heads=range(4)),
    ):
        gold = gold_trees(Example(doc(words), reference), multi_root)
        assert (gold.heads == UNKNOWN).all() and not any(gold.labels)
        known = [number for number, word in enumerate(words) if len(word) == 1 and labels[number]]
        assert flaws_of(gold) == {"headless": known}


@pytest.mark.parametrize(
    ("heads", "labels", "multi_root", "left", "flaws"),
    [
        ([1, 1, 2, 1], RELATIONS, False, [2, 0, UNKNOWN, 2], {"headless": [2]}),
        ([1, 1, 1, 3], RELATIONS, False, [2, 0, 2, UNKNOWN], {"headless": [3]}),
        ([0, 1, 3, 1], RELATIONS, False, [UNKNOWN, 0, 3, 1], {"headless": [0]}),
        ([1, 1, 2, 1], RELATIONS, True, [2, 0, 0, 2], {"named": [2]}),
        ([1, 1, 3, 1], ["nsubj", "pred", "amod", "obj"], False, [2, 0, 4, 2], {"named": [1]}),
        ([1, 1, 3, 3], ["nsubj", "pred", "amod", "aux"], False, [2, 0, 2, 0], {"named": [1, 3]}),
        ([1, 1, 3, 1], ["nsubj", "root", "amod", "obj"], False, [2, 0, 4, 2], {}),
        ([0, 1, 2, 3], ["ROOT"] * 4, False, [0, 0, 0, 0], {}),
        ([1, 1, 3, 1], ["ROOT", "ROOT", "amod", "ROOT"], False, [2, 0, 4, 2], {"unnamed": [0, 3]}),
        ([1, 1], ["dep", "dep"], False, [2, 0], {}),
        ([0], ["intj"], False, [0], {"named": [0]}),
        (None, None, False, [UNKNOWN] * 2, {}),
    ],
)
def test_tokens_that_are_their_own_head(heads, labels, multi_root, left, flaws):
    words = list("abcd")[: len(left)]
    gold = gold_trees(Example(doc(words), doc(words, heads=heads, deps=labels)), multi_root)
    assert gold.heads.tolist() == left
    assert flaws_of(gold) == flaws
    for head, label, own in zip(left, gold.labels, labels or [None] * len(left)):
        assert label == (None if head == UNKNOWN else "ROOT" if head == 0 else None if own == "ROOT" else own)


def test_second_roots_of_gold_sentences():
    reference = doc(list("abcd"), heads=[0, 0, 2, 2], deps=["ROOT", "x", "ROOT", "y"])
    assert flaws_of(gold_trees(Example(doc(list("abcd")), reference), multi_root=False)) == {}
    reference.from_array(["SENT_START"], np.array([1, -1, -1, -1]).astype(np.int64).view(np.uint64))
    assert flaws_of(gold_trees(Example(doc(list("abcd")), reference), multi_root=False)) == {"second": [2]}
    assert flaws_of(gold_trees(Example(doc(list("abcd")), reference), multi_root=True)) == {}


@pytest.mark.parametrize("last", ["d", "de"], ids=["same tokens", "other tokens"])
def test_a_token_without_a_relation_has_no_head_whatever_the_tokens_are(last):
    words = ["a", "b", "c", *last]
    reference = doc(words, heads=[1, 1, 1, *[1] * len(last)], deps=["x", "ROOT", "", *["y"] * len(last)])
    gold = gold_trees(Example(doc(["a", "b", "c", last]), reference), multi_root=False)
    assert gold.heads.tolist()[:3] == [2, 0, UNKNOWN] and gold.labels[:3] == ["x", "ROOT", None]


@pytest.mark.parametrize("preset", [True, False])
def test_spacy_takes_the_left_edge_of_an_annotated_root_for_a_boundary(preset):
    """Even where the heads of tokens before it are missing; boundaries on the predicted Doc set that right."""
    reference = doc(["a", "b", "c"], heads=[0, 1, 1], deps=["", "ROOT", "x"])
    predicted = doc(["a", "b", "c"], sent_starts=starts_of([0], 3) if preset else None)
    gold = gold_trees(Example(predicted, reference), multi_root=False)
    assert gold.sentences.tolist() == ([0, 3] if preset else [0, 1, 3])
    assert gold.heads.tolist() == ([UNKNOWN, 0, 2] if preset else [UNKNOWN, 0, 1])


@pytest.mark.parametrize("preset", [None, [0], [0, 2]])
def test_with_several_roots_gold_roots_are_no_boundaries(preset):
    words = ["a", "b", "c", "d"]
    reference = doc(words, heads=[0, 0, 2, 2], deps=["ROOT", "x", "ROOT", "x"])
    predicted = doc(words, sent_starts=preset and starts_of(preset, 4))
    gold = gold_trees(Example(predicted, reference), multi_root=True)
    assert gold.sentences.tolist() == [*(preset or [0]), 4]
    assert gold.heads.tolist() == ([0, 1, 0, 1] if preset == [0, 2] else [0, 1, 0, 3])


def test_what_is_known_of_sentences():
    assert sentence_starts(Doc(VOCAB)) is None
    assert sentence_starts(doc(["a"])).tolist() == [0]
    assert sentence_starts(doc(["a", "b"])) is None
    assert sentence_starts(doc(["a", "b", "c"], sent_starts=[None, False, None])).tolist() == [0]
    assert sentence_starts(doc(["a", "b", "c"], sent_starts=[False, None, True])).tolist() == [0, 2]
