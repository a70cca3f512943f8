"""The parts of both annotations, and their counts: by hand, and against spaCy's scorer."""

import random

import pytest
import spacy
from spacy.scorer import Scorer, get_ner_prf
from spacy.tokens import Doc
from spacy.training import Example, biluo_to_iob

from spacy_ssvm.inspect.parts import (
    ComparedPart,
    SentenceTokens,
    by_frequency,
    by_label,
    by_length,
    located,
    mistakes,
    overall,
    sentences_of,
)
from spacy_ssvm.pipeline.parser_scores import parser_score

from ..pipeline.toy import LANG, blank, doc, parse, tagged


def of(factory, example):
    return mistakes(blank(factory).get_pipe(factory).codec.parts, example)


def test_mistakes_of_entities():
    nlp = blank("ssvm_ner")

    def found(gold, predicted):
        n = len(gold.split())
        words = [f"w{k}" for k in range(n)]
        spans = Doc(nlp.vocab, words=words, ents=biluo_to_iob(predicted.split()))
        reference = Doc(nlp.vocab, words=words, ents=[tag if tag != "-" else "" for tag in biluo_to_iob(gold.split())])
        return of("ssvm_ner", Example(spans, reference))

    assert found("B-PER L-PER O U-GPE", "B-PER L-PER O U-GPE") == []
    assert found("U-PER O O", "U-GPE O O") == [ComparedPart(0, 1, "PER", "GPE")]
    assert found("B-PER L-PER O", "U-PER O O") == [ComparedPart(0, 2, "PER", "PER", None, (0, 1))]
    assert found("B-PER L-PER O", "U-PER O O")[0].predicted_name == "PER, other tokens"
    assert found("U-PER O O", "O O U-GPE") == [ComparedPart(0, 1, "PER", None), ComparedPart(2, 3, None, "GPE")]
    # Each of both is in one pair.
    assert found("B-PER I-PER L-PER", "U-PER O U-GPE") == [
        ComparedPart(0, 3, "PER", "PER", None, (0, 1)),
        ComparedPart(2, 3, None, "GPE"),
    ]
    assert found("U-PER - -", "U-PER O U-GPE") == []
    assert found("- O -", "O U-GPE O") == [ComparedPart(1, 2, None, "GPE")]


def test_mistakes_of_trees_and_starts():
    nlp = blank("ssvm_parser")
    text = "The cat sleeps"
    gold = parse(nlp, text, "det:2 nsubj:3 ROOT:3")

    def found(arcs):
        return of("ssvm_parser", Example(parse(nlp, text, arcs), gold))

    assert found("det:2 nsubj:3 ROOT:3") == found("det:2 nsubj:3 root:3") == []
    assert found("det:2 obj:3 ROOT:3") == [ComparedPart(1, 2, "nsubj", "obj", 2)]
    (part,) = found("det:3 nsubj:3 ROOT:3")
    assert part == ComparedPart(0, 1, "det", "det", 1, (2, 3)) and part.predicted_name == "det, other head"
    starts = blank("ssvm_senter")
    one, other = (doc(starts, text, sent_starts=marks) for marks in ([True, False, True], [True, True, None]))
    both = [ComparedPart(1, 2, "start", "no start"), ComparedPart(2, 3, "no start", "start")]
    assert of("ssvm_senter", Example(one, other)) == both
    other = doc(starts, text, sent_starts=[True, False, None])
    assert of("ssvm_senter", Example(one, other)) == []


def test_mistakes_of_tags():
    nlp = blank("ssvm_tagger")
    one = tagged(nlp, "Dogs eat green ham", ["NOUN", "", "!ADJ", "-"])
    one.predicted.from_array(["TAG"], doc(nlp, "a b c d", tags=["VERB"] * 4).to_array(["TAG"]).reshape(-1, 1))
    assert of("ssvm_tagger", one) == [ComparedPart(0, 1, "NOUN", "VERB"), ComparedPart(3, 4, "-", "VERB")]


def counts(score):
    """The number of gold parts, of predicted ones, and of right ones."""
    return score.tp + score.fn, score.tp + score.fp, score.tp


def counts_of(scores):
    return {name: counts(score) for name, score in scores.items()}


def test_counts_of_a_corpus_by_hand():
    vocab = spacy.blank(LANG).vocab
    gold = Doc(vocab, words=list("abcdefgh"), sent_starts=[1, 0, 1, 0, 0, 0, 0, 0])
    example = Example(Doc(vocab, words=[token.text for token in gold]), gold)
    sentences = sentences_of(3, example)
    assert sentences == [SentenceTokens(3, 0, 2), SentenceTokens(3, 2, 8)]
    parts = [
        ComparedPart(0, 1, "A", "A"),
        ComparedPart(1, 2, "A", "B"),
        ComparedPart(2, 4, "B", "B", None, (2, 3)),
        ComparedPart(5, 6, None, "B"),
        ComparedPart(6, 8, "B", None),
    ]
    found = located(sentences, example.predicted, parts)
    assert [part.text for part in found] == ["a", "b", "c d", "f", "g h"]
    assert counts(overall(parts)) == (4, 4, 1) and counts(overall([])) == (0, 0, 0) and overall([]).fscore == 0.0
    assert counts_of(by_label(parts)) == {"A": (2, 1, 1), "B": (2, 3, 0)}
    assert counts_of(by_length(found)) == {"1–5": (2, 2, 1), "6–10": (2, 2, 0)}
    docs, seen = {3: example.predicted}, {"a": 100, "c": 2, "d": 9, "g": 1, "h": 1}
    assert counts_of(by_frequency(found, docs, seen)) == {
        "0": (1, 2, 0),
        "1": (1, 0, 0),
        "2–4": (1, 1, 0),
        "100 and more": (1, 1, 1),
    }
    # Without gold sentences those predicted count, and without these the Doc.
    bare = Doc(vocab, words=[token.text for token in gold])
    assert sentences_of(0, Example(gold.copy(), bare)) == [SentenceTokens(0, 0, 2), SentenceTokens(0, 2, 8)]
    assert sentences_of(0, Example(bare.copy(), bare)) == [SentenceTokens(0, 0, 8)]
    assert sentences_of(0, Example(Doc(vocab), Doc(vocab))) == []


def random_entities(rng, vocab, text):
    """A Doc of this text, in tokens of one or two letters, with entities on some."""
    words = []
    while text:
        n = rng.choice((1, 2))
        words.append(text[:n])
        text = text[n:]
    tags = []
    while len(tags) < len(words):
        n = min(rng.choice((1, 1, 2, 3)), len(words) - len(tags))
        label = rng.choice(("O", "O", "A", "B"))
        tags += ["O"] * n if label == "O" else [f"B-{label}", *[f"I-{label}"] * (n - 1)]
    return Doc(vocab, words=words, spaces=[False] * len(words), ents=tags)


@pytest.mark.parametrize("seed", range(10))
def test_counts_of_entities_are_those_of_the_scorer(seed):
    """Whatever the tokens of both are."""
    nlp, rng = blank("ssvm_ner"), random.Random(seed)
    parts = nlp.get_pipe("ssvm_ner").codec.parts
    text = "".join(rng.choice("abcdef") for _ in range(24))
    examples = [Example(*(random_entities(rng, nlp.vocab, text) for _ in range(2))) for _ in range(4)]
    compared = [part for example in examples for part in parts.compared(example)]
    by_scorer = get_ner_prf(examples)
    score = overall(compared)
    assert [score.precision, score.recall, score.fscore] == pytest.approx(
        [by_scorer["ents_p"], by_scorer["ents_r"], by_scorer["ents_f"]]
    )
    for label, figures in by_scorer["ents_per_type"].items():
        own = by_label(compared)[label]
        assert [own.precision, own.recall, own.fscore] == pytest.approx([figures["p"], figures["r"], figures["f"]])


@pytest.mark.parametrize("seed", range(3))
def test_counts_of_tags_and_arcs_are_those_of_the_scorers(seed):
    rng, n = random.Random(seed), 12
    nlp = blank("ssvm_parser")

    def annotated():
        heads = [rng.randrange(n) for _ in range(n)]
        tags, deps = ([rng.choice("AB") for _ in range(n)] for _ in range(2))
        heads[0] = 0
        heads[1:] = [min(head, token - 1) for token, head in enumerate(heads[1:], 1)]
        deps = ["ROOT" if head == token else dep for token, (head, dep) in enumerate(zip(heads, deps))]
        return Doc(nlp.vocab, words=list("abcdefghijkl"), tags=tags, heads=heads, deps=deps)

    examples = [Example(annotated(), annotated()) for _ in range(3)]
    for factory, score in (
        ("ssvm_tagger", Scorer.score_token_attr(examples, "tag")["tag_acc"]),
        ("ssvm_parser", parser_score(examples)["las"]),
    ):
        parts = blank(factory).get_pipe(factory).codec.parts
        assert overall([part for example in examples for part in parts.compared(example)]).recall == pytest.approx(
            score
        )
