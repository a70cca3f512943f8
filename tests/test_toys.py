"""A component and a structure are added in a file of their own: no file of the package knows them."""

from dataclasses import replace

import numpy as np
import pytest
import spacy
from spacy.training import Example

from spacy_ssvm.corpus.checks.corpora import CorpusData
from spacy_ssvm.models.chain.space import ChainGold
from spacy_ssvm.pipeline.component import SsvmPipe
from spacy_ssvm.pipeline.corpus_checks import check_annotation

from . import toys
from .pipeline.toy import LANG, PARAGRAPHS, doc, senter_examples, train

LISTS = ["small big middle", "big small", "middle small big small", "big middle", "one"]
SIZES = {"big": 3, "middle": 2, "small": 1, "one": 1}


def lists(nlp) -> list[Example]:
    """Words by size, the largest first; equal ones in any order that is the same each time."""
    examples = []
    for text in LISTS:
        reference = doc(nlp, text)
        reference.user_data["order"] = sorted(range(len(reference)), key=lambda k: (-SIZES[reference[k].text], k))
        examples.append(Example(doc(nlp, text), reference))
    return examples


def trained(factory, examples_of):
    nlp = spacy.blank(LANG)
    pipe = nlp.add_pipe(factory)
    examples = examples_of(nlp)
    nlp.initialize(lambda: examples)
    train(nlp, examples, 40)
    return nlp, pipe, examples


def test_gold_of_another_length_than_its_doc_is_refused(monkeypatch):
    def gold(codec, example):
        return ChainGold([toys.FIRST, toys.INSIDE])

    monkeypatch.setattr(toys.FirstTokenCodec, "gold", gold)
    nlp = spacy.blank(LANG)
    nlp.add_pipe("toy_first_token")
    two, three = doc(nlp, "one two"), doc(nlp, "one two three")
    with pytest.warns(UserWarning, match=r"1 of 2 examples .* annotation of 2 tokens for a Doc of 3"):
        nlp.initialize(lambda: [Example(one, one) for one in (two, three)])


def test_a_component_that_marks_the_first_token_of_each_sentence():
    nlp, pipe, examples = trained("toy_first_token", senter_examples)
    assert type(pipe) is SsvmPipe and pipe.labels == toys.LABELS
    for example in examples:
        starts = [token.i for token in example.reference if token.is_sent_start]
        assert nlp(example.predicted.copy()).user_data["first"] == starts
    certificate = pipe.certificate()
    assert 0 <= certificate.relative_gap < 0.01
    text = doc(nlp, PARAGRAPHS[0][0])
    (score, labels), *others = pipe.kbest(text, 3)
    assert [k for k, label in enumerate(labels) if label == toys.FIRST] == nlp(text.copy()).user_data["first"]
    assert len(others) == 2 and all(score >= other for other, _ in others)
    assert [finding.label for finding in pipe.explain(text).findings] == labels


@pytest.mark.parametrize(
    ("solver", "settings"),
    [("DCD", {"C": 10.0}), ("Perceptron", {}), ("SAP", {"C": 10.0, "rho1": 0.01}), ("OneSlack", {"C": 10.0})],
)
def test_a_structure_that_is_an_ordered_list(solver, settings, tmp_path):
    nlp = spacy.blank(LANG)
    pipe = nlp.add_pipe("toy_order", config={"solver": {"@ssvm_solvers": f"spacy-ssvm.{solver}.v1", **settings}})
    examples = lists(nlp)
    nlp.initialize(lambda: examples)
    train(nlp, examples, 30)
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    for example in examples:
        order = nlp(example.predicted.copy()).user_data["order"]
        assert loaded(example.predicted.copy()).user_data["order"] == order
        assert [SIZES[example.reference[k].text] for k in order] == sorted(
            (SIZES[token.text] for token in example.reference), reverse=True
        )
    certificate = pipe.certificate()
    assert (certificate is None) == (solver == "Perceptron")
    assert certificate is None or certificate.gap >= -1e-9


def test_saved_training_of_ones_own_structure_goes_on():
    pipelines = [spacy.blank(LANG), spacy.blank(LANG)]
    first, second = (nlp.add_pipe("toy_order") for nlp in pipelines)
    for pipe in (first, second):
        pipe.settings = replace(pipe.settings, save_solver_state=True)
    examples = lists(pipelines[0])
    pipelines[0].initialize(lambda: examples)
    train(pipelines[0], examples, 2)
    second.from_bytes(first.to_bytes())
    for nlp in pipelines:
        train(nlp, lists(nlp), 2)
    assert second.to_bytes(exclude=["vocab"]) == first.to_bytes(exclude=["vocab"])
    assert second.trained.training.epochs == 4
    assert second.count_weights() == first.count_weights()


def test_annotation_without_parts(tmp_path):
    """Nobody is told of parts that have no names, and `debug-data` says that it has not checked anything."""
    nlp, pipe, _ = trained("toy_order", lists)
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    loaded.resume_training()
    example = lists(loaded)[0]
    assert loaded.update([example], sgd=False) == {"toy_order": 0.0}
    example.reference.user_data["order"].reverse()
    loaded.update([example], sgd=False)
    twice = doc(loaded, "big big")
    twice.user_data["order"] = [1, 0]
    with pytest.warns(UserWarning, match="has not corrected its example, 'big big ', because its features"):
        loaded.update([Example(doc(loaded, "big big"), twice)], sgd=False)
    with pytest.raises(ValueError, match=r"\[toy_order\] names no parts of its annotation"):
        pipe.kbest(doc(nlp, LISTS[0]), 2)
    corpora = [CorpusData(name, [], [example], [], "documents", None, False, 0, None) for name in ("train", "dev")]
    report = check_annotation(pipe.codec, *corpora, None)
    assert [(issue.severity, issue.what) for issue in report.issues] == [("info", "checks of gold annotation")]


def test_the_order_that_is_predicted_is_the_best_of_all():
    nlp, pipe, _ = trained("toy_order", lists)
    weights = np.random.default_rng(0).normal(size=1 << toys.BITS)
    pipe.set_weights(weights)
    for text in LISTS:
        words = doc(nlp, text)
        order = pipe.predict([words])[0]
        items = [int(token.lower) & ((1 << toys.BITS) - 1) for token in words]
        score = sum((len(items) - k) * weights[items[t]] for k, t in enumerate(order))
        assert score == pytest.approx(toys.enumerated_order(words, weights))
