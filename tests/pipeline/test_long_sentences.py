"""Sentences of more tokens than are parsed together: cut in parts, and one tree again, with given heads kept."""

import numpy as np
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.training import Example

from spacy_ssvm.pipeline.long_sentences import MAX_PART, MAX_SENTENCE, joined, parts

from .toy import EXAMPLES, SMALL_TREE, STRUCTURES, TREES, blank, teach, trained, tree_of

VOCAB = spacy.blank("en").vocab
WORDS = ["Dogs", "of", "Berlin", "saw", "the", "old", "cat", "Eat", "ham"]


def text(n: int, ends: tuple[int, ...] = (), end: str = ".") -> list[str]:
    """Words without an end of a sentence, but at these places."""
    return [end if place in ends else WORDS[place % len(WORDS)] for place in range(n)]


def one_sentence(nlp, words: list[str]) -> Doc:
    return Doc(nlp.vocab, words=words, sent_starts=[True, *[False] * (len(words) - 1)])


def starts(doc: Doc) -> list[int]:
    return [sentence.start for sentence in doc.sents]


def is_tree(doc: Doc) -> bool:
    """Whether every token leads to a root in its sentence."""
    return all(
        sentence.root.head == sentence.root and len(list(sentence.root.subtree)) == len(sentence)
        for sentence in doc.sents
    )


def n_parts(n: int) -> int:
    """Of a sentence of n tokens without places to cut at."""
    return 1 if n <= MAX_SENTENCE else -(-n // MAX_PART)


@given(lengths=st.lists(st.integers(1, 3 * MAX_SENTENCE), min_size=1, max_size=4), n_docs=st.integers(1, 2))
def test_no_part_is_longer_than_the_limit(lengths, n_docs):
    """Without places to cut at, all parts but the last are as long as they can be."""
    docs = [Doc(VOCAB, words=text(sum(lengths))) for _ in range(n_docs)]
    bounds = np.cumsum([0, *lengths * n_docs])
    found = parts(docs, bounds[:-1])
    assert set(bounds.tolist()) <= set(found.tolist())
    sizes = np.diff(found)
    assert sizes.min() >= 1
    assert sizes.max() == max(n if n <= MAX_SENTENCE else MAX_PART for n in lengths)
    assert len(sizes) == n_docs * sum(map(n_parts, lengths))


@pytest.mark.parametrize("end", [".", "?!", "…", "。"])
def test_parts_end_where_sentences_seem_to(end):
    early, middle, last = MAX_PART // 2 - 1, MAX_PART // 2, MAX_PART - 1
    for ends, expected in [
        ((), MAX_PART),
        ((early,), MAX_PART),
        ((early, middle), middle + 1),
        ((middle, middle + 9), middle + 10),
        ((middle, last), last + 1),
        ((middle, last + 1), middle + 1),
    ]:
        words = text(MAX_SENTENCE + 20, ends, end)
        other = Doc(VOCAB, words=text(7))
        n = len(other)
        found = parts([other, Doc(VOCAB, words=words)], np.array([0, 3, n]))
        rest = range(n + expected, n + len(words), MAX_PART)
        assert found.tolist() == [0, 3, n, *rest, n + len(words)]
    assert parts([Doc(VOCAB, words=text(MAX_SENTENCE, (middle,), end))], np.array([0])).tolist() == [0, MAX_SENTENCE]
    assert parts([Doc(VOCAB)], np.zeros(0, np.int64)).tolist() == [0]


def number_of(firsts, token: int) -> int:
    return int(np.searchsorted(firsts, token, "right"))


@st.composite
def forests(draw):
    """Heads of trees over the parts of sentences, with given heads in any part of a sentence, which form no cycle."""
    n = draw(st.integers(1, 12))
    firsts = sorted({0, *draw(st.sets(st.integers(0, n - 1), max_size=4))})
    starts = sorted({0, *draw(st.sets(st.sampled_from(firsts), max_size=2))})
    order = draw(st.permutations(range(n)))
    heads, is_given = np.arange(n), np.zeros(n, np.bool_)
    for place, token in enumerate(order):
        above = [other for other in order[:place] if number_of(firsts, other) == number_of(firsts, token)]
        heads[token] = draw(st.sampled_from([*above[:1], *above])) if above else token
    order = draw(st.permutations(range(n)))
    for place, token in enumerate(order):
        if draw(st.booleans()):
            above = [other for other in order[:place] if number_of(starts, other) == number_of(starts, token)]
            heads[token], is_given[token] = draw(st.sampled_from([token, *above])), True
    return heads, is_given, np.array(starts)


@given(drawn=forests())
def test_parts_become_one_tree(drawn):
    heads, is_given, starts = drawn
    found = joined(heads, is_given, starts)
    assert found[is_given].tolist() == heads[is_given].tolist()
    sentence = np.searchsorted(starts, np.arange(len(heads)), "right")
    roots = found == np.arange(len(heads))
    for number in range(1, len(starts) + 1):
        given_roots = (roots & is_given)[sentence == number].sum()
        assert roots[sentence == number].sum() == max(1, given_roots)
    for token in range(len(heads)):
        above = token
        for _ in heads:
            above = found[above]
        assert roots[above] and sentence[above] == sentence[token]
    several = joined(heads, is_given, None)
    assert set(np.flatnonzero(heads == np.arange(len(heads)))) <= set(np.flatnonzero(several == np.arange(len(heads))))
    if not is_given.any():
        assert several.tolist() == heads.tolist()


@pytest.mark.parametrize("tree", STRUCTURES)
def test_a_long_sentence_stays_one(tree):
    nlp = trained("ssvm_parser", 1, model=tree_of(*tree))
    end = MAX_PART - 10
    words = text(2 * MAX_SENTENCE + 50, (end - 1,))
    found = nlp(one_sentence(nlp, words))
    assert starts(found) == [0] and is_tree(found)
    root = next(found.sents).root
    linked = [token for token in found if token.dep_ == "dep" and token.head == root]
    assert len(linked) >= 2, "the roots of the other parts"
    without = nlp(Doc(nlp.vocab, words=words))
    assert starts(without) == [0, *range(end, len(words), MAX_PART)] and is_tree(without)
    some = nlp(Doc(nlp.vocab, words=words, sent_starts=[None] * 100 + [True] + [None] * (len(words) - 101)))
    assert starts(some) == [0, 100] and is_tree(some)


def test_a_long_sentence_may_have_several_roots():
    nlp = trained("ssvm_parser", 1, multi_root=True)
    words = text(2 * MAX_SENTENCE)
    found = nlp(one_sentence(nlp, words))
    assert starts(found) == [0]
    assert sum(token.head == token for token in found) >= 2


def preset(nlp, heads: dict[int, int], n: int) -> Doc:
    """One sentence in which these heads are given."""
    made, labels = Doc(nlp.vocab, words=text(n)), [nlp.vocab.strings.add(label) for label in ("x", "ROOT")]
    given = [(heads[token] - token, labels[heads[token] == token]) if token in heads else (0, 0) for token in range(n)]
    made.from_array(["HEAD", "DEP"], np.array([(offset % 2**64, label) for offset, label in given], np.uint64))
    starts = np.full(n, -1, np.int64)
    starts[0] = 1
    made.from_array(["SENT_START"], starts.view(np.uint64))
    return made


@pytest.fixture(scope="module")
def keeps():
    return trained("ssvm_parser", 2, overwrite=False)


N = 3 * MAX_SENTENCE
FAR = 2 * MAX_PART + 5


@pytest.mark.parametrize(
    "heads",
    [
        dict.fromkeys(range(N), 0),
        {token: max(token - 1, 0) for token in range(N)},
        {token: min(token + 1, N - 1) for token in range(N)},
        {1: FAR, FAR: 2 * MAX_SENTENCE + 3},
        {FAR: 3, 4: FAR + 1, N - 1: N - 1},
        {FAR: FAR, 0: FAR, N - 1: 0},
        {0: N - 1, N - 1: FAR, FAR: 2, 3: FAR + 2},
    ],
    ids=["star", "chain", "chain back", "two", "across", "root in the middle", "back and forth"],
)
def test_given_heads_across_cuts_are_kept(keeps, heads):
    found = keeps(preset(keeps, heads, N))
    assert starts(found) == [0] and is_tree(found)
    assert {token: found[token].head.i for token in heads} == heads
    assert {found[token].dep_ for token, head in heads.items() if head != token} <= {"x"}
    again = keeps(found)
    assert {token: again[token].head.i for token in heads} == heads


@pytest.mark.parametrize(
    ("heads", "reason"),
    [
        ({1: FAR, FAR: 2 * MAX_SENTENCE, 2 * MAX_SENTENCE: 1}, rf"token {2 * MAX_SENTENCE} .*contain a cycle"),
        ({1: 1, FAR: FAR, 7: FAR}, rf"token {FAR} .*says that it is a root, and an earlier token"),
    ],
)
def test_given_heads_across_cuts_that_no_tree_has(keeps, heads, reason):
    with pytest.raises(ValueError, match=reason):
        keeps(preset(keeps, heads, N))


def chain(nlp, n: int) -> Example:
    """A tree that the parser of TREES does not expect: each token has the one before it for a head."""
    words = text(n)
    gold = Doc(nlp.vocab, words=words, heads=[0, *range(n - 1)], deps=["ROOT", *["obj"] * (n - 1)])
    return Example(one_sentence(nlp, words), gold)


@pytest.mark.parametrize("order", [1, 3])
def test_a_correction_of_a_long_tree(order):
    """One update sets right what lies within the parts, and says how many heads do not."""
    nlp = trained("ssvm_parser", 3, model={**SMALL_TREE, "order": order})
    nlp.get_pipe("ssvm_parser").from_bytes(nlp.get_pipe("ssvm_parser").to_bytes())
    n = 5 * MAX_PART
    with pytest.warns(
        UserWarning, match=rf"gold heads count as missing.*more than {MAX_SENTENCE}.*: 4, in .*token {MAX_PART} "
    ):
        nlp.update([chain(nlp, n)])
    found = nlp(one_sentence(nlp, text(n)))
    wrong = [token.i for token in found if token.head.i != max(token.i - 1, 0)]
    assert wrong == [MAX_PART, 2 * MAX_PART, 3 * MAX_PART, 4 * MAX_PART]
    assert starts(found) == [0]


def test_long_trees_alone_train_the_first_pass():
    nlp = blank("ssvm_parser", model=tree_of("projective", 1, max_heads=4))
    examples = [chain(nlp, MAX_SENTENCE)]
    teach(nlp, examples, 1)
    assert nlp.get_pipe("ssvm_parser").trained.prediction_weights.first_pass.any()


TOKENS = [word for sentence, _ in TREES for word in sentence.split()]
LONG = TOKENS * (1200 // len(TOKENS))
ROOT = 1
"""The root of the first tree."""
BOUNDARIES = pytest.mark.parametrize("is_one", [True, False], ids=["one sentence", "no boundaries"])


def long_doc(nlp, is_one: bool) -> Doc:
    return one_sentence(nlp, LONG) if is_one else Doc(nlp.vocab, words=LONG)


def long_example(nlp, is_one: bool) -> Example:
    """The trees of the corpus one after the other, the roots of which have the first one for a head."""
    heads, deps = [], []
    while len(heads) < len(LONG):
        for _, tree in TREES:
            first = len(heads)
            for arc in tree.split():
                label, _, head = arc.rpartition(":")
                heads.append(first + int(head) - 1 if label != "ROOT" else ROOT)
                deps.append("obj" if label == "ROOT" and len(heads) - 1 != ROOT else label)
    return Example(long_doc(nlp, is_one), Doc(nlp.vocab, words=LONG, heads=heads, deps=deps))


@pytest.fixture(scope="module")
def plain():
    return trained("ssvm_parser", 3, model=tree_of("projective", 1))


@BOUNDARIES
def test_answers_about_long_sentences_agree(plain, is_one):
    """The best analysis, scores, explanations and suggestions are about the arcs of the parts."""
    pipe, made = plain.get_pipe("ssvm_parser"), long_doc(plain, is_one)
    parsed = plain(made.copy())
    best, second = pipe.kbest(made, 2)
    assert best[0] >= second[0]
    inner = {(head, token) for head, token, _ in best[1]}
    predicted = {(token.head.i, token.i) for token in parsed}
    n_more = len(parts([made], np.array([0]))) - 2
    assert len(predicted - inner) == (n_more if is_one else 0)
    scores, _ = pipe.scored_parses(made)
    assert {(head, token) for token, head in scores if scores[token, head] > 0} >= inner
    explained = pipe.explain(made)
    assert len(explained.findings) == len(made)
    (suggestion,) = pipe.suggest([made])
    assert suggestion.number == 0


@BOUNDARIES
def test_learning_from_long_sentences(is_one):
    """Whole or in parts of a batch."""
    found = []
    for n_parts in (1, 2):
        nlp = blank("ssvm_parser", model=tree_of("projective", 1))
        nlp.config["training"]["accumulate_gradient"] = n_parts
        examples, pipe = [long_example(nlp, is_one), *EXAMPLES["ssvm_parser"](nlp)], nlp.get_pipe("ssvm_parser")
        with pytest.warns(UserWarning, match="heads count as missing"):
            nlp.initialize(lambda: examples)  # noqa: B023
        for _ in range(3):
            for part in range(n_parts):
                nlp.update(examples[part::n_parts], sgd=False)
            pipe.finish_update(None)
        parsed = nlp(long_doc(nlp, is_one))
        found.append([(token.head.i, token.dep_, bool(token.is_sent_start)) for token in parsed])
    assert found[0] == found[1]
    assert pipe.certificate() is None, "gold heads are missing"
    right = [token.head.i == gold.head.i for token, gold in zip(parsed, examples[0].reference)]
    assert nlp.evaluate(examples[:1])["uas"] == pytest.approx(np.mean(right))


@BOUNDARIES
def test_patterns_hold_in_long_sentences(plain, is_one):
    rule = {"patterns": [[{"ORTH": "ham"}]], "allow": ["amod"]}
    nlp = trained("ssvm_parser", 3, model=tree_of("projective", 1), patterns=[rule])
    found = nlp(long_doc(nlp, is_one))
    inside = parts([long_doc(nlp, is_one)], np.array([0]))
    assert is_tree(found)
    assert {
        token.dep_
        for token in found
        if token.text == "ham" and number_of(inside, token.head.i) == number_of(inside, token.i)
    } - {"ROOT"} == {"amod"}
