"""Calibrated components: the fitted β against all analyses that there are, and what becomes of it."""

import math
import sys

import numpy as np
import pytest
import spacy

from spacy_ssvm.structures.tree.decoders import decoder
from spacy_ssvm.structures.tree.parts import SPANNING, Parts
from spacy_ssvm.structures.tree.scored import KnownTree, TreeScores, heads_above
from spacy_ssvm.training.calibration import CalibrationExample, expected_error, fit, reliability

from .components import CRF, OF_TOKENS, ORDER_1, SVM, learnt, scored, written
from .toy import EXAMPLES, blank, doc, parser_examples, tagger_examples, train, tree_of
from .toy import trained as trained_pipeline

ALL = 100_000
TAGS = [("She eats ham", "PRON VERB VERB"), ("Old eggs", "ADJ NOUN"), ("Cats saw Anna", "NOUN VERB NOUN")]
MISTAKEN = {
    "ssvm_tagger": TAGS,
    "ssvm_morphologizer": TAGS,
    "ssvm_ner": [("Anna Berg saw", "U-PER U-PER O"), ("Paris left", "U-PER O"), ("Tom met Anna", "U-PER O U-PER")],
    "ssvm_senter": [
        ("We saw ham It is", "S I I S I"),
        ("Dr. Berg left . No", "S I I I S"),
        ("eggs . What ?", "S I I I"),
    ],
    "ssvm_lemmatizer": [("Hams pigs", "hams pig"), ("Zoos trees", "zoo trees"), ("Hens kings", "hen king")],
    "ssvm_parser": [
        ("Dogs eat ham", "nsubj:2 ROOT:2 nsubj:2"),
        ("She saw eggs", "obj:3 amod:3 ROOT:3"),
        ("Eat ham", "ROOT:1 obj:1"),
    ],
}
"""Gold analyses, of which the predictions are some and not all."""


def mistaken(factory, nlp):
    return EXAMPLES[factory](nlp, MISTAKEN[factory])


def trained(factory, **settings):
    return learnt(factory, **{**ORDER_1.get(factory, {}), **SVM, **settings})


def losses(factory, pipe, examples, betas):
    """−Σ log P(gold) by enumeration."""
    total = np.zeros(len(betas))
    for example in examples:
        analyses = pipe.kbest(example.predicted, ALL)
        assert len(analyses) < ALL
        scores = np.array([score for score, _ in analyses])
        (of_gold,) = (score for score, analysis in analyses if analysis == written(factory, example.reference))
        scaled = np.outer(betas, scores - scores.max())
        total += np.log(np.exp(scaled).sum(axis=1)) - betas * (of_gold - scores.max())
    return total


NONPROJECTIVE = "ssvm_parser", {"model": tree_of("nonprojective", 1)}


@pytest.mark.parametrize("factory, settings", [*((factory, {}) for factory in EXAMPLES), NONPROJECTIVE])
def test_beta_is_that_of_the_highest_likelihood(factory, settings):
    nlp = trained(factory, **settings)
    pipe, examples = nlp.get_pipe(factory), mistaken(factory, nlp)
    assert not pipe.has_probabilities and pipe.inverse_temperature is None
    predicted = [pipe.kbest(example.predicted, 1)[0][1] for example in examples]
    found = pipe.calibrate(examples)
    n_tokens = sum(len(example.predicted) for example in examples)
    assert found[1:] == (n_tokens if factory == "ssvm_lemmatizer" else 3, 0, 0)
    assert pipe.has_probabilities and pipe.inverse_temperature == found.beta
    betas = found.beta * np.exp(np.linspace(-1, 1, 201))
    by_enumeration = losses(factory, pipe, examples, betas)
    assert abs(int(by_enumeration.argmin()) - 100) <= 1
    for beta, loss in zip(betas[::50], by_enumeration[::50]):
        likelihood = sum(one.log_likelihood(beta) for one in pipe.calibration_examples(examples))
        assert -likelihood == pytest.approx(loss, abs=1e-8)
    assert [pipe.kbest(example.predicted, 1)[0][1] for example in examples] == predicted


@pytest.mark.parametrize("factory", [factory for factory in EXAMPLES if factory != "ssvm_lemmatizer"])
def test_items_are_what_is_scored(factory):
    nlp = trained(factory)
    pipe, examples = nlp.get_pipe(factory), mistaken(factory, nlp)
    pipe.calibrate(examples)
    n_right = 0
    for example, one in zip(examples, pipe.calibration_examples(examples)):
        of_gold = written(factory, example.reference)
        if factory == "ssvm_parser":
            (scores,), _ = pipe.scored_parses([example.predicted])
            of_gold = [(token, head) for head, token, _ in of_gold]
        else:
            scores = scored(factory, pipe, example.predicted)
            of_gold = list(enumerate(of_gold)) if factory in OF_TOKENS else of_gold
        # That the first token starts a sentence has no alternative.
        expected = sorted((probability, item in of_gold) for item, probability in scores.items() if item != 0)
        items, right = one.items(pipe.inverse_temperature)
        probabilities = one.probabilities(items, pipe.inverse_temperature)
        found = sorted(zip(probabilities.tolist(), right.tolist()))
        assert [p for p, _ in found] == pytest.approx([p for p, _ in expected])
        assert [is_right for _, is_right in found] == [is_right for _, is_right in expected]
        n_right += int(right.sum())
    assert n_right > 1


class Given:
    """Parts with these probabilities by β = 1, which grow with β, and whether they are gold."""

    def __init__(self, *parts):
        self.parts = parts

    def marginals(self, beta):
        return Given(*((beta * probability, right) for probability, right in self.parts))

    def listed(self, marginals, least):
        return [(number, p) for number, (p, _) in enumerate(marginals.parts) if p >= least]

    def probability(self, part):
        return self.parts[part][0]

    def has_alternative(self, part):
        return True

    def agrees(self, part):
        return self.parts[part][1]


def test_expected_calibration_error_by_hand():
    given = [Given((0.25, False), (0.21, True), (0.009, True), (0.3, None)), Given(), Given((1.0, True), (0.9, False))]
    examples = [CalibrationExample(one, one, one.listed) for one in given]
    bins = reliability(examples, 1.0, 1.0)
    assert [one.n_items for one in bins] == [0, 0, 2, 0, 0, 0, 0, 0, 0, 2]
    assert bins[2] == (0.2, 2, pytest.approx(0.23), 0.5) and bins[9] == (0.9, 2, pytest.approx(0.95), 0.5)
    assert math.isnan(bins[0].mean) and math.isnan(bins[0].right)
    assert expected_error(bins) == pytest.approx((2 * 0.27 + 2 * 0.45) / 4)
    halves = reliability(examples, 0.5, 1.0)
    assert [one.n_items for one in halves] == [0, 2, 0, 0, 1, 1, 0, 0, 0, 0]
    assert expected_error(halves) == pytest.approx((2 * 0.385 + 0.45 + 0.5) / 4)
    assert math.isnan(expected_error(reliability([], 1.0, 1.0)))


def check_part(pipe, part, agrees):
    """What is unknown of an example is summed over; returns how many parts are right, and how many are measured."""
    (one,) = pipe.calibration_examples([part])
    every = pipe.kbest(part.predicted, ALL)
    weights = np.exp([score - every[0][0] for score, _ in every])
    agreeing = [agrees(analysis) for _, analysis in every]
    assert one.log_likelihood(1.0) == pytest.approx(math.log(weights[agreeing].sum() / weights.sum()))
    right = one.items(pipe.inverse_temperature or 1.0)[1]
    return right.sum(), len(right)


def test_unknown_and_impossible_tags():
    nlp = trained("ssvm_tagger")
    pipe = nlp.get_pipe("ssvm_tagger")
    full = mistaken("ssvm_tagger", nlp)
    unknown, part, other = tagger_examples(
        nlp, [("Old dogs", ["", ""]), ("She eats ham", ["PRON", "", "VERB"]), ("Old eggs", "ADJ CARDINAL")]
    )
    found = pipe.calibrate([*full, unknown, other])
    assert found == (pipe.calibrate(full).beta, 3, 1, 1)
    n_right, n_items = check_part(pipe, part, lambda tags: (tags[0], tags[2]) == ("PRON", "VERB"))
    (scores,) = pipe.scored_tags([part.predicted])
    assert n_items == sum(token != 1 for token, _ in scores) < len(scores) and n_right == 2
    (one,) = pipe.calibration_examples([other])
    assert one.log_likelihood(1.0) == -math.inf and one.items(found.beta)[1].sum() == 1


def test_unknown_and_impossible_heads():
    nlp = trained("ssvm_parser")
    pipe = nlp.get_pipe("ssvm_parser")
    part, crossing, label = parser_examples(
        nlp,
        [
            ("Dogs eat ham", "nsubj:2 - obj:2"),
            ("The old cat sleeps", "ROOT:1 det:4 amod:1 nsubj:1"),
            ("Eat ham", "ROOT:1 vocative:1"),
        ],
    )
    assert check_part(pipe, part, lambda arcs: (arcs[0], arcs[2]) == ((1, 0, "nsubj"), (1, 2, "obj")))[0] == 2
    for one in pipe.calibration_examples([crossing, label]):
        assert one.known.is_annotated and one.log_likelihood(1.0) == -math.inf
        assert one.items(1.0)[1].any()


@pytest.fixture(scope="module")
def calibrated():
    nlp = trained("ssvm_ner")
    nlp.get_pipe("ssvm_ner").calibrate(mistaken("ssvm_ner", nlp))
    return nlp


def test_calibration_is_saved_and_loaded(calibrated, tmp_path):
    text = doc(calibrated, "Anna Berg saw Paris")
    expected = calibrated.get_pipe("ssvm_ner").scored_ents([text])
    calibrated.to_disk(tmp_path)
    for nlp in (spacy.load(tmp_path), blank("ssvm_ner", **SVM).from_bytes(calibrated.to_bytes())):
        pipe = nlp.get_pipe("ssvm_ner")
        assert pipe.has_probabilities and pipe.scored_ents([doc(nlp, text.text)]) == expected
        # What is loaded over it says nothing of a calibration.
        pipe.from_bytes(trained("ssvm_ner").get_pipe("ssvm_ner").to_bytes())
        assert not pipe.has_probabilities
    assert "inverse_temperature" not in trained("ssvm_ner").get_pipe("ssvm_ner").cfg


def test_learning_on_makes_the_calibration_void():
    nlp = trained_pipeline("ssvm_tagger", **CRF)
    pipe, examples = nlp.get_pipe("ssvm_tagger"), mistaken("ssvm_tagger", nlp)
    for change in (lambda: train(nlp, EXAMPLES["ssvm_tagger"](nlp), 1), lambda: pipe.add_label("X")):
        assert pipe.calibrate(examples).beta != 1.0
        with pytest.warns(UserWarning, match=r"\[ssvm_tagger\] its weights are no longer .* the calibration is void"):
            change()
        assert pipe.inverse_temperature == 1.0
    pipe.calibrate(examples)
    nlp.initialize(lambda: EXAMPLES["ssvm_tagger"](nlp))
    assert pipe.inverse_temperature == 1.0


def test_what_cannot_be_calibrated_is_explained(monkeypatch):
    untrained = blank("ssvm_tagger", **SVM)
    pipe = untrained.get_pipe("ssvm_tagger")
    with pytest.raises(ValueError, match=r"\[ssvm_tagger\] is not trained yet"):
        pipe.calibrate(mistaken("ssvm_tagger", untrained))
    nlp = trained("ssvm_tagger")
    pipe = nlp.get_pipe("ssvm_tagger")
    for examples in ([], tagger_examples(nlp, [("", ""), ("Old dogs", ["", ""])])):
        with pytest.raises(ValueError, match=r"\[ssvm_tagger\] there is nothing to calibrate it on"):
            pipe.calibrate(examples)
    with pytest.raises(ValueError, match=r"\[ssvm_tagger\] no β is the best one .* has not learnt from"):
        pipe.calibrate(EXAMPLES["ssvm_tagger"](nlp))
    assert not pipe.has_probabilities
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(ImportError, match="calibration needs SciPy: pip install scipy"):
        pipe.calibrate(mistaken("ssvm_tagger", nlp))


def test_a_threshold_of_margins_is_refused(calibrated):
    pipe = trained("ssvm_ner", spans_key="possible", threshold=1.5).get_pipe("ssvm_ner")
    with pytest.raises(ValueError, match=r"\[ssvm_ner\] threshold must be a probability .*, not 1.5"):
        pipe.calibrate(mistaken("ssvm_ner", calibrated))
    certain = trained("ssvm_ner", **CRF, spans_key="possible", threshold=1.5)
    with pytest.raises(ValueError, match=r"\[ssvm_ner\] threshold must be a probability .*, not 1.5"):
        certain(certain.make_doc("Anna"))


def test_trees_of_higher_order_are_refused():
    nlp = blank("ssvm_parser", **SVM, model=tree_of("projective", 2))
    with pytest.raises(ValueError, match=r"\[ssvm_parser\] trees of order 2 have no exact sums"):
        nlp.get_pipe("ssvm_parser").calibrate(mistaken("ssvm_parser", nlp))


@pytest.mark.parametrize("score", [50.0, 7_000.0, 20_000.0])
def test_trees_whose_scores_are_too_large_for_sums(score):
    """Two tokens may head each other, for so much; in a tree one of them is the root, by 300 rather the first one, so
    that what they score falls out. The third is by 100 rather the first one's, and three of four gold trees agree."""
    scores = {(0, 1): 0.0, (2, 1): score, (0, 2): -300.0, (1, 2): score, (1, 3): 100.0, (2, 3): 0.0}
    arcs, empty = sorted(scores, key=lambda arc: (arc[1], arc[0])), np.zeros(0)
    number = np.full((4, 4), -1, np.int32)
    for k, arc in enumerate(arcs):
        number[arc] = k
    heads, modifiers = np.array(arcs, np.int32).T
    starts, none = np.zeros(len(arcs) + 1, np.int64), np.zeros(0, np.int32)
    values = np.array([scores[arc] for arc in arcs])
    parts = Parts(number, heads.copy(), modifiers.copy(), values, starts, none, empty, starts, none, empty)
    tree = TreeScores(parts, np.zeros((0, 1)), SPANNING, False, decoder(SPANNING))
    known = [KnownTree(np.array([0, 1, head]), np.array([-1, -1, -1])) for head in (1, 1, 1, 2)]
    betas = np.linspace(0.005, 0.03, 100_001)
    less = 4 * np.log1p(np.exp(-300 * betas)) + 3 * np.log1p(np.exp(-100 * betas)) + np.log1p(np.exp(100 * betas))
    found = fit("parser", [CalibrationExample(tree, one, heads_above) for one in known])
    assert found.beta == pytest.approx(betas[less.argmin()], rel=1e-4)
