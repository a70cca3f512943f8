"""Which texts to annotate next, against all analyses that there are and against a search without short cuts."""

import math
import random

import pytest

from spacy_ssvm.inspect.suggestion import ranked

from ..pipeline.components import CRF, ORDER_1, SVM, every, learnt
from ..pipeline.toy import blank, doc
from .test_confidence import ALL, TEXTS, parts


def covered(texts, chosen):
    """The sum that is maximised, by its definition."""
    words = {word for text in texts for word in text}
    doubts = {word: [sum(text.get(word, 0.0) for text in part) for part in (texts, chosen)] for word in words}
    return sum(math.sqrt(everywhere) * (1 - math.exp(-of_chosen)) for everywhere, of_chosen in doubts.values())


def test_each_text_adds_most_to_those_before():
    rng = random.Random(0)
    texts = [{rng.choice("abcdefgh"): rng.random() for _ in range(1 + rng.randrange(4))} for _ in range(40)]
    lengths = [rng.randrange(1, 9) for _ in texts]
    left, chosen = list(range(40)), []
    for number, score in ranked(texts, lengths):
        before = covered(texts, chosen)
        gains = {k: (covered(texts, [*chosen, texts[k]]) - before) / lengths[k] ** 0.5 for k in left}
        assert score == pytest.approx(gains[number]) and score == pytest.approx(max(gains.values()))
        chosen.append(texts[number])
        left.remove(number)
    assert not left


def test_copies_come_last_and_count_once():
    """Even if there are so many of them that their words would count most."""
    texts = [{"a": 0.5}, {"b": 0.75}, *[{"a": 0.5}] * 9, {"c": 0.01}]
    expected = [(k, doubt**0.5 * (1 - math.exp(-doubt))) for k, doubt in ((1, 0.75), (0, 0.5), (11, 0.01))]
    found = list(ranked(texts, [1] * len(texts)))
    assert found[:3] == [(number, pytest.approx(score)) for number, score in expected]
    assert found[3:] == [(number, 0.0) for number in range(2, 11)]


@pytest.mark.parametrize("settings", [CRF, SVM], ids=["CRF", "SVM"])
@every
def test_doubts_are_those_of_all_analyses(factory, settings):
    """Of trees, those of the heads."""
    nlp = learnt(factory, **settings, **ORDER_1.get(factory, {}))
    pipe, text = nlp.get_pipe(factory), doc(nlp, TEXTS[factory])
    analyses = [(score, parts(factory, analysis)) for score, analysis in pipe.kbest(text, ALL)]
    possible = set().union(*(analysis for _, analysis in analyses))
    if factory == "ssvm_parser":
        possible = {part for part in possible if isinstance(part[1], int)}
    doubts = [0.0] * len(text)
    for part in possible:
        doubt = (entropy if settings is CRF else shortfall)(part, analyses)
        for token in tokens(factory, part):
            doubts[token] = max(doubts[token], doubt)
    of_words = dict(zip((token.lower_ for token in text), doubts))
    expected = covered([of_words], [of_words]) / len(text) ** 0.5
    ((number, score),) = pipe.suggest([text])
    assert number == 0 and score == pytest.approx(expected, abs=2e-3)
    assert list(pipe.suggest([pipe(text)])) == [(number, score)]


def entropy(part, analyses):
    weights = {True: 0.0, False: 0.0}
    for score, analysis in analyses:
        weights[part in analysis] += math.exp(score - analyses[0][0])
    return -sum(w * math.log2(w) for weight in weights.values() if (w := weight / sum(weights.values())))


def shortfall(part, analyses):
    """By how much the margin of a part falls short of 1, cubed."""
    having = [score for score, analysis in analyses if part in analysis]
    others = [score for score, analysis in analyses if part not in analysis]
    return max(0.0, 1.0 - abs(max(having) - max(others, default=-math.inf))) ** 3


def tokens(factory, part):
    if factory == "ssvm_ner":
        return range(part[0], part[1])
    return [part if factory == "ssvm_senter" else part[0]]


def test_docs_without_tokens_come_last():
    nlp = learnt("ssvm_tagger")
    docs = (doc(nlp, text) for text in ("", "Grumpf wug", ""))
    assert list(nlp.get_pipe("ssvm_tagger").suggest(docs))[1:] == [(0, 0.0), (2, 0.0)]


def test_what_has_no_labels_suggests_nothing():
    nlp = blank("ssvm_tagger")
    with pytest.raises(ValueError, match=r"\[ssvm_tagger\] has no labels yet"):
        nlp.get_pipe("ssvm_tagger").suggest([doc(nlp, "She eats")])
