"""k best analyses, probabilities and margins of components, against all analyses that there are."""

import math

import numpy as np
import pytest

from ..pipeline.components import CRF, OF_TOKENS, ORDER_1, SVM, every, learnt, scored, written
from ..pipeline.toy import blank, doc, tree_of

SCALED = {"solver": "SGD", "solver_settings": {"beta": 0.5, "gamma": 1.0, "C": 1.0}}
TEXTS = {
    "ssvm_tagger": "She eats ham",
    "ssvm_morphologizer": "She eats ham",
    "ssvm_ner": "Anna Berg saw Paris",
    "ssvm_senter": "We saw ham . It is",
    "ssvm_parser": "Dogs eat ham",
    "ssvm_lemmatizer": "Hams loves zoos",
}
ALL = 10_000


def parts(factory, analysis):
    """What the scores of the component are of."""
    if factory in OF_TOKENS:
        return set(enumerate(analysis))
    if factory == "ssvm_parser":
        return {(token, part) for head, token, label in analysis for part in (head, label)}
    return set(analysis)


def scores(factory, pipe, doc, least):
    if factory == "ssvm_parser":
        (heads,), (labels,) = pipe.scored_parses([doc], least)
        return {**heads, **labels}
    return scored(factory, pipe, doc, least)


@every
@pytest.mark.parametrize("settings", [CRF, SCALED, SVM], ids=["CRF", "beta 0.5", "SVM"])
def test_scores_are_those_of_all_analyses(factory, settings):
    check_scores(learnt(factory, **settings, **ORDER_1.get(factory, {})), factory, settings)


@pytest.mark.parametrize("structure", [("projective", 2), ("projective", 3), ("nonprojective", 1)], ids=str)
def test_margins_of_trees(structure):
    check_scores(learnt("ssvm_parser", **SVM, model=tree_of(*structure)), "ssvm_parser", SVM)


def check_scores(nlp, factory, settings):
    pipe, text = nlp.get_pipe(factory), doc(nlp, TEXTS[factory])
    every = pipe.kbest(text, ALL)
    assert len(every) < ALL and len({tuple(analysis) for _, analysis in every}) == len(every)
    assert [score for score, _ in every] == sorted((score for score, _ in every), reverse=True)
    of = {part for _, analysis in every for part in parts(factory, analysis)}
    beta = settings.get("solver_settings", {}).get("beta")
    assert pipe.has_probabilities == (beta is not None)
    if beta is None:
        found = scores(factory, pipe, text, -1e9)
        if factory == "ssvm_parser":
            of = parts(factory, every[0][1])
        for part in of:
            having = [score for score, analysis in every if part in parts(factory, analysis)]
            others = [score for score, analysis in every if part not in parts(factory, analysis)]
            margin = max(having) - max(others, default=-math.inf)
            assert found.pop(part) == pytest.approx(margin, abs=1e-9)
    else:
        found = scores(factory, pipe, text, 1e-12)
        weights = np.exp(beta * (np.array([score for score, _ in every]) - every[0][0]))
        for part in of:
            share = sum(w for w, (_, analysis) in zip(weights, every) if part in parts(factory, analysis))
            assert found.pop(part, 0.0) == pytest.approx(share / weights.sum(), abs=1e-9)
    assert not found


@every
def test_the_best_analysis_is_the_prediction(factory):
    nlp = learnt(factory, **SVM)
    text = doc(nlp, TEXTS[factory])
    ((_, best),) = nlp.get_pipe(factory).kbest(text, 1)
    nlp.get_pipe(factory)(text)
    assert best == written(factory, text)


@pytest.mark.parametrize("settings", [CRF, SVM], ids=["CRF", "SVM"])
def test_preset_entities_are_certain(settings):
    nlp = learnt("ssvm_ner", **settings)
    text = doc(nlp, "ham saw Paris", ents=["B-PER", "I-PER", "O"])
    (found,) = nlp.get_pipe("ssvm_ner").scored_ents([text])
    assert found[0, 2, "PER"] == pytest.approx(1.0 if settings is CRF else math.inf)
    assert all(start >= 2 for start, _, _ in found.keys() - {(0, 2, "PER")})
    assert all((0, 2, "PER") in entities for _, entities in nlp.get_pipe("ssvm_ner").kbest(text, 20))


def test_what_is_listed_by_default():
    nlp = learnt("ssvm_tagger", **CRF)
    text = doc(nlp, "She eats unheard things")
    (found,) = nlp.get_pipe("ssvm_tagger").scored_tags([text])
    assert min(found.values()) >= 0.01
    assert sum(found.values()) == pytest.approx(4, abs=0.2)
    nlp = learnt("ssvm_tagger", **SVM)
    (found,) = nlp.get_pipe("ssvm_tagger").scored_tags([text])
    assert {token: tag for token, tag in found} == {t.i: t.tag_ for t in nlp(doc(nlp, text.text))}


@every
def test_empty_docs_have_one_empty_analysis(factory):
    nlp = learnt(factory, **SVM)
    empty = doc(nlp, "")
    assert nlp.get_pipe(factory).kbest(empty, 3) == [(0.0, [])]
    assert scores(factory, nlp.get_pipe(factory), empty, None) == {}


def test_sentences_of_a_doc_are_combined():
    nlp = learnt("ssvm_parser", **SVM)
    pipe, k = nlp.get_pipe("ssvm_parser"), 25
    text = doc(nlp, "Dogs eat ham The cat sleeps", sent_starts=[True, False, False, True, False, False])
    first, second = (pipe.kbest(doc(nlp, part), k) for part in ("Dogs eat ham", "The cat sleeps"))
    expected = sorted((score + more for score, _ in first for more, _ in second), reverse=True)[:k]
    found = pipe.kbest(text, k)
    assert [score for score, _ in found] == pytest.approx(expected)
    later = [(head + 3, token + 3, label) for head, token, label in second[0][1]]
    assert found[0][1] == [*first[0][1], *later]


def test_trees_that_are_not_decoded_exactly_have_no_scores():
    nlp = learnt("ssvm_parser", **SVM, model=tree_of("nonprojective", 2))
    pipe, text = nlp.get_pipe("ssvm_parser"), doc(nlp, "Dogs eat ham")
    for ask in (lambda: pipe.kbest(text, 2), lambda: pipe.scored_parses([text]), lambda: pipe.explain(text)):
        with pytest.raises(ValueError, match=r"\[ssvm_parser\] non-projective trees of order 2 are decoded approx"):
            ask()


def test_what_cannot_be_answered_is_refused():
    untrained = blank("ssvm_tagger", **SVM)
    with pytest.raises(ValueError, match=r"\[ssvm_tagger\] has no labels yet"):
        untrained.get_pipe("ssvm_tagger").kbest(doc(untrained, "She eats"), 2)
    nlp = learnt("ssvm_tagger", **CRF)
    pipe, text = nlp.get_pipe("ssvm_tagger"), doc(nlp, "She eats")
    with pytest.raises(ValueError, match="k must be a whole number of at least 1, not 0"):
        pipe.kbest(text, 0)
    assert pipe.kbest(text, np.int64(2)) == pipe.kbest(text, 2)
    for least in (0.0, -1.0, 1.5, math.nan):
        with pytest.raises(ValueError, match="must be a probability above 0, at most 1"):
            pipe.scored_tags([text], least)
    assert pipe.scored_tags([]) == []
