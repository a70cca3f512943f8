"""`ssvm_parser` on the sentences of a Doc: boundaries, roots, annotation that is missing or cannot be learnt."""

import warnings

import numpy as np
import pytest
import spacy
from spacy.attrs import HEAD
from spacy.tokens import Doc
from spacy.training import Example

from spacy_ssvm.pipeline.gold_trees import MAX_SENTENCE

from .toy import LANG, SMALL_TREE

WORDS = ["the", "dog", "sees", "a", "cat", ".", "birds", "sing"]
HEADS = [1, 2, 2, 4, 2, 2, 7, 7]
LABELS = ["det", "nsubj", "ROOT", "det", "obj", "punct", "nsubj", "ROOT"]


TAGGED_TREE = {**SMALL_TREE, "features": {**SMALL_TREE["features"], "tags": ["tag"]}}


def blank(model=SMALL_TREE, **config):
    nlp = spacy.blank(LANG)
    parser = nlp.add_pipe("ssvm_parser", config={"model": model, **config})
    return nlp, parser


def example(nlp, words=WORDS, heads=HEADS, labels=LABELS, starts=None):
    predicted = Doc(nlp.vocab, words=words, sent_starts=starts)
    return Example(predicted, Doc(nlp.vocab, words=words, heads=heads, deps=labels))


def trained(epochs=6, **config):
    nlp, parser = blank(**config)
    examples = [example(nlp)]
    nlp.initialize(lambda: examples)
    for _ in range(epochs):
        nlp.update(examples)
    return nlp, parser


def parse(nlp, words=WORDS, starts=None):
    doc = Doc(nlp.vocab, words=words, sent_starts=starts)
    return nlp.get_pipe("ssvm_parser")(doc)


def roots(doc):
    return [token.i for token in doc if token.head is token or token.head.i == token.i]


def test_learns_what_it_is_shown_sentence_by_sentence():
    nlp, _ = trained()
    doc = parse(nlp, starts=[True, False, False, False, False, False, True, False])
    assert [token.head.i for token in doc] == HEADS
    assert [token.dep_ for token in doc] == LABELS
    assert [token.i for token in doc[2].subtree] == [0, 1, 2, 3, 4, 5] and doc[2].left_edge.i == 0


@pytest.mark.parametrize("bounds", [(0, 6), (0, 3, 5), (0,), tuple(range(8))])
def test_preset_boundaries_are_kept_even_wrong_ones(bounds):
    nlp, _ = trained()
    doc = parse(nlp, starts=[place in bounds for place in range(len(WORDS))])
    assert tuple(sentence.start for sentence in doc.sents) == bounds
    assert len(roots(doc)) == len(bounds)


def test_doc_without_boundaries_is_one_sentence_and_that_is_said_once():
    nlp, _ = trained()
    with pytest.warns(UserWarning, match="no sentence boundaries"):
        doc = parse(nlp)
    assert len(roots(doc)) == len(list(doc.sents)) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse(nlp)


def test_several_roots_leave_the_sentences_alone():
    nlp, parser = blank(multi_root=True)
    examples = [example(nlp)]
    nlp.initialize(lambda: examples)
    for _ in range(6):
        nlp.update(examples)
    doc = parse(nlp, starts=[True, *[False] * 7])
    assert roots(doc) == [2, 7] and len(list(doc.sents)) == 1
    assert len(list(Doc(nlp.vocab).from_bytes(doc.to_bytes()).sents)) == 2
    assert parser.cfg["multi_root"]


def test_heads_in_another_sentence_count_as_missing():
    nlp, _ = blank()
    examples = [example(nlp, starts=[True, False, False, True, False, False, True, False])]
    with pytest.warns(UserWarning, match="1 of 8 gold heads lie in another sentence"):
        nlp.initialize(lambda: [example(nlp, starts=[True, *[False] * 4, True, True, False])])
    nlp.update(examples)


def test_heads_that_go_round_in_a_circle_are_left_out_with_a_count():
    nlp, parser = blank()
    broken = example(nlp, words=["a", "b", "c"], heads=[1, 1, 1], labels=["x", "ROOT", "x"])
    # 0 → 1 → 0: no Doc is built so, but one can be made so.
    broken.reference.from_array([HEAD], np.array([1, -1, -1]).astype(np.int64).view(np.uint64))
    whole = example(nlp)
    with pytest.warns(UserWarning, match="1 sentences go round in circles"):
        nlp.initialize(lambda: [broken, whole])
    assert len(parser._learnt.training) == 1


def test_crossing_arcs_are_projected_with_a_count():
    nlp, _ = blank()
    crossing = example(nlp, words=list("abcd"), heads=[2, 3, 2, 2], labels=["x", "x", "ROOT", "x"])
    with pytest.warns(UserWarning, match="1 of 1 examples have annotation that this component cannot produce"):
        nlp.initialize(lambda: [crossing])


def test_non_projective_trees_are_learnt_as_they_are():
    nlp, _ = blank(model={**SMALL_TREE, "structure": "nonprojective", "order": 1})
    heads = [2, 3, 2, 2]
    examples = [example(nlp, words=list("abcd"), heads=heads, labels=["x", "x", "ROOT", "x"])]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*which no training Doc has")
        nlp.initialize(lambda: examples)
    for _ in range(8):
        nlp.update(examples)
    doc = parse(nlp, words=list("abcd"), starts=[True, False, False, False])
    assert [token.head.i for token in doc] == heads


@pytest.mark.parametrize(
    ("structure", "order"),
    [("projective", 1), ("projective", 2), ("projective", 3), ("nonprojective", 1), ("nonprojective", 2)],
)
def test_every_structure_learns_and_parses_short_and_long_sentences(structure, order):
    nlp, _ = blank(model={**SMALL_TREE, "structure": structure, "order": order})
    examples = [example(nlp)]
    nlp.initialize(lambda: examples)
    for _ in range(6):
        nlp.update(examples)
    doc = parse(nlp, starts=[True, False, False, False, False, False, True, False])
    assert [token.head.i for token in doc] == HEADS
    for words in ([], ["dog"], ["dog", "sees"], WORDS * 20):
        doc = parse(nlp, words=words, starts=[place == 0 for place in range(len(words))])
        assert len(roots(doc)) == min(len(words), 1)


def test_five_hundred_tokens_are_parsed_at_once():
    nlp, _ = trained()
    doc = parse(nlp, words=(WORDS * 63)[:500], starts=[place == 0 for place in range(500)])
    assert len(roots(doc)) == 1


def test_more_than_a_thousand_tokens_are_parsed_in_parts():
    nlp, _ = trained(model={**SMALL_TREE, "order": 1})
    doc = parse(nlp, words=WORDS * 130, starts=[place == 0 for place in range(8 * 130)])
    assert [sentence.start for sentence in doc.sents] == [0, 1000]


def test_missing_heads_are_completed():
    nlp, parser = blank()
    partial = example(nlp, labels=["det", "nsubj", "ROOT", "", "obj", "", "nsubj", "ROOT"])
    with pytest.warns(UserWarning, match="2 of 8 training tokens have no gold head"):
        nlp.initialize(lambda: [partial])
    for _ in range(5):
        nlp.update([partial])
    assert parser.figures.epoch == 5


def test_first_pass_and_its_absence():
    for max_heads in (0, 4):
        nlp, _ = trained(model={**SMALL_TREE, "max_heads": max_heads})
        doc = parse(nlp, starts=[True, False, False, False, False, False, True, False])
        assert [token.head.i for token in doc] == HEADS


def test_boundaries_that_are_set_in_part_are_completed_by_gold_ones_in_training():
    nlp, parser = blank()
    (part,) = [example(nlp, starts=[None] * 3 + [False] * 3 + [None] * 2)]
    assert parser.codec.gold(part).sentences.tolist() == [0, 6, 8]


def test_boundaries_that_are_set_in_part_are_said_once():
    nlp, _ = trained()
    with pytest.warns(UserWarning, match="of some tokens only"):
        doc = parse(nlp, starts=[None] * 6 + [True, None])
    assert [sentence.start for sentence in doc.sents] == [0, 6]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse(nlp, starts=[None] * 6 + [True, None])


def test_gold_heads_beyond_the_longest_sentence_are_no_other_sentences():
    nlp, _ = blank()
    n = MAX_SENTENCE + 5
    long = example(nlp, words=["word"] * n, heads=[0] * n, labels=["ROOT"] + ["dep"] * (n - 1))
    with pytest.warns(UserWarning) as caught:
        nlp.initialize(lambda: [long])
    messages = [str(warning.message) for warning in caught]
    assert any("5 of 1,005 gold heads count as missing" in message for message in messages)
    assert not any("multi_root" in message for message in messages)


def test_only_roots_are_called_roots_where_no_other_label_is_known():
    nlp, _ = blank()
    single = example(nlp, words=["yes"], heads=[0], labels=["ROOT"])
    nlp.initialize(lambda: [single])
    doc = parse(nlp, words=["a", "b", "c"], starts=[True, False, False])
    assert sorted(token.dep_ for token in doc) == ["ROOT", "dep", "dep"]


def tagged(nlp, tags):
    predicted = Doc(nlp.vocab, words=WORDS, tags=tags)
    return Example(predicted, Doc(nlp.vocab, words=WORDS, heads=HEADS, deps=LABELS))


def test_tags_that_no_training_doc_has_are_missed():
    """As with spaCy's own reader, which brings words only."""
    nlp, parser = blank(model=TAGGED_TREE)
    with pytest.warns(UserWarning, match=r"read token\.tag, which no training Doc has.*jackknife"):
        nlp.initialize(lambda: [tagged(nlp, None)])
    assert parser.cfg["reads"] == []


def test_tags_that_a_doc_to_parse_lacks_are_missed_once_and_after_loading():
    nlp, _ = blank(model=TAGGED_TREE)
    examples = [tagged(nlp, list("ABCABCAB"))]
    nlp.initialize(lambda: examples)
    nlp.update(examples)
    again, parser = blank(model=TAGGED_TREE)
    again.from_bytes(nlp.to_bytes())
    starts = [True] + [False] * 7
    with pytest.warns(UserWarning, match=r"learnt from token\.tag"):
        parse(again, starts=starts)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse(again, starts=starts)
        parser(Doc(again.vocab, words=WORDS, tags=list("ABCABCAB"), sent_starts=starts))
