"""The parser's scorer, against a plain reading of CoNLL-U and against spaCy's own."""

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.pipeline.dep_parser import parser_score as spacy_parser_score
from spacy.tokens import Doc
from spacy.training import Example

from spacy_ssvm.pipeline.parser_scores import make_parser_scorer, parser_score

VOCAB = spacy.blank("en").vocab
LABELS = ("ROOT", "nsubj", "nsubj:pass", "NSUBJ", "punct", "p", "obl:tmod")


def doc(words, heads, deps, spaces=None):
    """A Doc; a token without label is one without annotation. As in CoNLL-U, heads count from 1, and 0 is the root."""
    if not words:
        return Doc(VOCAB)
    heads = [head - 1 if head else number for number, head in enumerate(heads)]
    return Doc(VOCAB, words=words, spaces=spaces, heads=heads, deps=list(deps))


def conllu(words, heads, deps):
    return [(str(number), word, str(h), d) for number, (word, h, d) in enumerate(zip(words, heads, deps), 1)]


def read_scores(gold, system):
    """UAS and LAS by lines of CoNLL-U (id, form, head, deprel) as CoNLL 2018 defines them, full labels compared.

    Words count as the same if they are the same characters of the text; a line with deprel "_" is not annotated. Roots
    have one label, however they spell it.
    """
    right = {"uas": 0, "las": 0}
    n_gold = n_system = 0
    for gold_lines, system_lines in zip(gold, system, strict=True):
        spans = {"gold": {"0": "root"}, "system": {"0": "root"}}
        for side, lines in (("gold", gold_lines), ("system", system_lines)):
            position = 0
            for number, form, _, _ in lines:
                spans[side][number] = (position, position + len(form))
                position += len(form)
        annotated = {
            spans["gold"][number]: (spans["gold"][head], deprel)
            for number, _, head, deprel in gold_lines
            if deprel != "_"
        }
        n_gold += len(annotated)
        for number, _, head, deprel in system_lines:
            first, end = spans["system"][number]
            n_system += any(first < b and a < end for a, b in annotated)
            if (first, end) in annotated and deprel != "_":
                gold_head, gold_deprel = annotated[first, end]
                if spans["system"][head] == gold_head:
                    right["uas"] += 1
                    right["las"] += deprel == gold_deprel or head == "0"
    return {name: 2 * count / (n_gold + n_system) if n_gold else None for name, count in right.items()}


@st.composite
def parses(draw, n_characters):
    """Words over the same characters, with any heads and labels; label "_" where there is no annotation."""
    cuts = draw(st.sets(st.integers(1, max(n_characters - 1, 1)), max_size=n_characters))
    ends = sorted({*(cut for cut in cuts if cut < n_characters), n_characters})
    text = "abcdefghij"[:n_characters]
    words = [text[first:end] for first, end in zip([0, *ends], ends)]
    deps = draw(st.lists(st.sampled_from([*LABELS, "_"]), min_size=len(words), max_size=len(words)))
    heads = draw(st.lists(st.integers(0, len(words)), min_size=len(words), max_size=len(words)))
    # A token that is its own head is a root, and one without annotation has no head.
    heads = [0 if head == number or dep == "_" else head for number, (head, dep) in enumerate(zip(heads, deps), 1)]
    return words, heads, deps


@given(st.data())
def test_scores_are_those_of_a_plain_reading(data):
    """Any tokenisation, missing heads on both sides, several roots, cycles: scorers see what parsers write."""
    pairs = []
    for _ in range(data.draw(st.integers(1, 3))):
        n_characters = data.draw(st.integers(1, 8))
        pairs.append((data.draw(parses(n_characters)), data.draw(parses(n_characters))))
    examples = []
    for gold, system in pairs:
        docs = [
            doc(words, heads, ["" if dep == "_" else dep for dep in deps], [False] * len(words))
            for words, heads, deps in (system, gold)
        ]
        examples.append(Example(*docs))
    expected = read_scores([conllu(*gold) for gold, _ in pairs], [conllu(*system) for _, system in pairs])
    scores = parser_score(iter(examples))
    assert scores["uas"] == pytest.approx(expected["uas"])
    assert scores["las"] == pytest.approx(expected["las"])


@given(st.integers(1, 8).flatmap(lambda n: st.tuples(parses(n), parses(n))), st.booleans())
def test_the_rest_is_spacys(pair, ignore_all):
    examples = [
        Example(*(doc(w, h, ["" if dep == "_" else dep for dep in d], [False] * len(w)) for w, h, d in pair))
    ] * 2
    settings = {"ignore_labels": LABELS} if ignore_all else {}
    expected = spacy_parser_score(examples, **settings)
    scores = parser_score(examples, **settings)
    assert {name: scores[name] for name in expected} == expected
    assert set(scores) == {*expected, "uas", "las"}


def test_docs_without_annotation():
    """Where gold has none there is no score; unparsed Docs are all wrong."""
    words = ["They", "left"]
    parsed, bare = doc(words, [2, 0], ["nsubj", "ROOT"]), Doc(VOCAB, words=words)
    assert parser_score([Example(parsed, bare), Example(Doc(VOCAB), Doc(VOCAB))])["las"] is None
    assert parser_score([])["uas"] is None
    assert parser_score([Example(bare, parsed)])["uas"] == 0.0


@pytest.mark.parametrize(("heads", "uas"), [([0, 1, 1, 3], 1.0), ([0, 1, 2, 3], 0.5)])
def test_whitespace_is_no_word(heads, uas):
    """Tokens of whitespace, as spaCy's tokenizer makes them, count on neither side; a word below one is wrong."""
    predicted = doc(["Go", " ", "now", "\n"], heads, ["ROOT", "dep", "advmod", "dep"])
    scores = make_parser_scorer()([Example(predicted, doc(["Go", "now"], [0, 1], ["ROOT", "advmod"]))])
    assert scores["uas"] == scores["las"] == uas
