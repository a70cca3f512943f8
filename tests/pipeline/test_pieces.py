"""Long Docs are learnt from in pieces, with the features of the whole; here, a piece has three tokens or more."""

import logging
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Span
from spacy.training import Example, biluo_to_iob

from spacy_ssvm.models.chain import encoded
from spacy_ssvm.models.chain.encoded import Segmentation
from spacy_ssvm.structures import FORBIDDEN
from spacy_ssvm.structures.chain.constraints import unconstrained

from ..problems import all_planes, objective, optimum
from .toy import EXAMPLES, PARAGRAPHS, SPANS, TAGGED, blank, doc, morphs_of, teach, templates, train

CHAINS = ("ssvm_tagger", "ssvm_morphologizer", "ssvm_ner", "ssvm_senter")
KEY = "incorrect"


@pytest.fixture
def short(monkeypatch):
    """Docs of six tokens are long."""
    monkeypatch.setattr(encoded, "MIN_PIECE", 3)


def together(corpus) -> tuple[str, list[str]]:
    """The text and the labels of all sentences."""
    return " ".join(text for text, _ in corpus), " ".join(labels for _, labels in corpus).split()


def long_example(nlp, factory: str) -> Example:
    """The toy corpus as one Doc."""
    text, labels = together({"ssvm_ner": SPANS, "ssvm_senter": PARAGRAPHS}.get(factory, TAGGED))
    gold = {
        "ssvm_tagger": lambda: {"tags": labels},
        "ssvm_morphologizer": lambda: morphs_of(labels),
        "ssvm_ner": lambda: {"ents": biluo_to_iob(labels)},
        "ssvm_senter": lambda: {"sent_starts": [label == "S" for label in labels]},
    }[factory]()
    return Example(doc(nlp, text), doc(nlp, text, **gold))


def data_of(nlp):
    return nlp.get_pipe(nlp.pipe_names[0]).trained.training.data


def chains_of(nlp):
    return data_of(nlp).problem_by_row().data


@given(st.lists(st.lists(st.integers(0, 1), max_size=30), max_size=4), st.integers(1, 5), st.booleans(), st.data())
def test_where_docs_are_cut(docs, size, anywhere, data):
    """Every piece has enough tokens and begins at the first place where it may; nothing else is cut."""
    starts = np.cumsum([0, *map(len, docs)])
    labels = np.array([label for labels in docs for label in labels], np.int32)
    wrong = []
    for labels_of_doc in docs:
        first = data.draw(st.integers(0, len(labels_of_doc)))
        end = data.draw(st.integers(first, len(labels_of_doc)))
        wrong.append([(first, np.ones(end - first, np.int32))] if end > first else [])
    free_ends = st.sampled_from(([0.0, 0.0], [0.0, FORBIDDEN], [FORBIDDEN, 0.0]))
    limits = unconstrained(2)._replace(start=np.array(data.draw(free_ends)), end=np.array(data.draw(free_ends)))
    closed = [{start + t for t in range(len(run))} for runs in wrong for start, run in runs or [(0, [])]]
    before, encoded.MIN_PIECE = encoded.MIN_PIECE, size
    try:
        cuts = Segmentation(outside=None if anywhere else 0).cuts(starts, labels, wrong, limits)
    finally:
        encoded.MIN_PIECE = before
    expected = []
    for start, labels_of_doc, run in zip(starts, docs, closed):
        last = 0
        for t in range(len(labels_of_doc)):
            free = all((anywhere or labels_of_doc[k] == 0) and k not in run for k in (t - 1, t))
            free = free and limits.end[labels_of_doc[t - 1]] == limits.start[labels_of_doc[t]] == 0
            if t - last >= size and len(labels_of_doc) - t >= size and free:
                last = t
                expected.append(start + t)
    assert cuts.tolist() == expected
    runs = encoded.runs_of_pieces(wrong, starts, np.sort(np.append(starts, cuts)))
    assert sum(map(len, runs)) == sum(map(len, wrong))


@pytest.mark.parametrize("factory", CHAINS)
def test_pieces_have_the_features_of_the_whole(factory, short, monkeypatch):
    nlp = blank(factory)
    example = long_example(nlp, factory)
    nlp.initialize(lambda: [example])
    cut = chains_of(nlp)
    monkeypatch.setattr(encoded, "MIN_PIECE", len(example.predicted))
    whole = blank(factory)
    whole.initialize(lambda: [long_example(whole, factory)])
    uncut = chains_of(whole)
    assert len(uncut.starts) == 2 < len(cut.starts) and np.diff(cut.starts).min() >= 3
    for name in ("feature_starts", "rows", "values", "gold", "costs", "kinds"):
        assert np.array_equal(getattr(cut, name), getattr(uncut, name))
    if factory == "ssvm_ner":
        assert not cut.gold[cut.starts[1:-1]].any() and not cut.gold[cut.starts[1:-1] - 1].any()


@pytest.mark.parametrize("factory", CHAINS)
@pytest.mark.parametrize("solver", ["DCD", "SAP", "SDM", "MIRA", "Perceptron"])
def test_one_long_doc_is_learnt(factory, solver, short):
    nlp = blank(factory, solver=solver, solver_settings={} if solver == "Perceptron" else {"C": 10.0})
    example = long_example(nlp, factory)
    teach(nlp, [example], 10)
    assert len(data_of(nlp).docs) == 1 and data_of(nlp).problem().n_examples > 2
    score = nlp.get_pipe(factory).score([Example(nlp(example.predicted.copy()), example.reference)])
    name = {"ssvm_tagger": "tag_acc", "ssvm_morphologizer": "morph_acc", "ssvm_ner": "ents_f", "ssvm_senter": "sents_f"}
    assert score[name[factory]] > 0.9


@pytest.mark.parametrize("solver", ["DCD", "SAP"])
@pytest.mark.parametrize("factory", ["ssvm_tagger", "ssvm_ner"])
def test_the_certificate_is_of_the_problem_as_cut(factory, solver, short):
    only_squares = {"rho1": 0.0, "rho2": 1.0} if solver == "SAP" else {}
    nlp = blank(factory, solver, {"C": 0.2, "tolerance": 1e-6, **only_squares}, model=templates("lower[0]"))
    texts = {
        "ssvm_tagger": ("ham is ham it is ham it", {"tags": ["A", "B", "A", "B", "A", "A", "B"]}),
        "ssvm_ner": ("it is Ann it is Ann it is", {"ents": ["O", "O", "B-P", "O", "O", "O", "B-P", "I-P"]}),
    }
    text, gold = texts[factory]
    teach(nlp, [Example(doc(nlp, text), doc(nlp, text, **gold))], 300)
    pipe = nlp.get_pipe(factory)
    problem, certificate = pipe.problem(), pipe.certificate()
    planes, power = all_planes(problem), 2 if solver == "DCD" else 1
    best = objective(planes, optimum(planes, 0.2, power), 0.2, power)
    weights = pipe.trained.training.weights_by_row()
    assert problem.n_examples == 2
    assert certificate.primal == pytest.approx(objective(planes, weights, 0.2, power), rel=1e-6)
    assert certificate.primal == pytest.approx(best, rel=1e-4)
    assert certificate.dual == pytest.approx(best, rel=1e-4)


def test_the_log_counts_the_docs_that_are_cut_and_their_pieces(short, caplog):
    nlp = blank("ssvm_ner")
    example, texts = long_example(nlp, "ssvm_ner"), ["It is .", "Go home .", ""]
    whole = [Example(doc(nlp, text), doc(nlp, text, ents=["O"] * len(text.split()))) for text in texts]
    with caplog.at_level(logging.INFO, logger="spacy"):
        nlp.initialize(lambda: [*whole, example, example])
    sizes = data_of(nlp).docs.sizes.tolist()
    assert sizes == [1, 1, sizes[-1], sizes[-1]] and sizes[-1] > 2
    assert f"[ssvm_ner] 2 of 4 Docs are learnt from as {2 * sizes[-1]} pieces of" in caplog.text


def test_unknown_labels_are_completed_in_their_piece(short):
    nlp = blank("ssvm_ner")
    text, tags = together(SPANS)
    positive = ["" if tag == "O" else tag for tag in biluo_to_iob(tags)]
    some = Example(doc(nlp, text), doc(nlp, text, ents=positive))
    examples = [*EXAMPLES["ssvm_ner"](nlp), some]
    teach(nlp, examples, warns="have no gold label")
    chains = chains_of(nlp)
    assert len(chains.starts) - 1 > len(examples)
    assert nlp.evaluate(EXAMPLES["ssvm_ner"](nlp))["ents_f"] == 1.0


@pytest.mark.filterwarnings("ignore:.*have no gold label")
def test_no_incorrect_span_is_cut(short):
    nlp = blank("ssvm_ner", incorrect_spans_key=KEY)
    text, tags = together(SPANS)
    reference = doc(nlp, text, ents=["" if tag == "O" else tag for tag in biluo_to_iob(tags)])
    spans = [(2, 4, "PER"), (10, 13, "GPE"), (13, 15, "PER")]
    reference.spans[KEY] = [Span(reference, *span[:2], label=span[2]) for span in spans]
    examples = [*EXAMPLES["ssvm_ner"](nlp), Example(doc(nlp, text), reference)]
    teach(nlp, examples)
    data = data_of(nlp)
    starts = chains_of(nlp).starts[data.docs.first[-1] :]
    places = set((starts - starts[0]).tolist())
    assert len(places) > 3 and not any(places & set(range(first, end + 1)) for first, end, _ in spans)
    found = {(entity.start, entity.end, entity.label_) for entity in nlp(doc(nlp, text)).ents}
    assert found.isdisjoint(spans)


@pytest.mark.parametrize("factory", ["ssvm_tagger", "ssvm_ner"])
def test_a_long_doc_comes_back_and_changes(factory, short):
    """Its pieces are as many as before, in each epoch; with another gold structure, they can be others."""
    nlp = blank(factory)
    first = long_example(nlp, factory)
    teach(nlp, [first, *EXAMPLES[factory](nlp)], 3)
    n_before = data_of(nlp).docs.n_examples
    again = [long_example(nlp, factory), *EXAMPLES[factory](nlp)]
    train(nlp, again, 3)
    assert data_of(nlp).docs.n_examples == n_before and len(data_of(nlp).docs) == 7
    nlp.update([long_example(nlp, factory), *EXAMPLES[factory](nlp)[:3]], sgd=False)
    assert len(data_of(nlp).docs) == 7
    assert nlp.get_pipe(factory).certificate().gap >= -1e-9


@pytest.mark.parametrize("factory", CHAINS)
@pytest.mark.parametrize("solver", ["DCD", "SAP", "MIRA", "Perceptron"])
def test_learning_from_pieces_goes_on_from_a_saved_state(factory, solver, short):
    """Two epochs, and two of the pipeline that was saved, are four, as of short Docs."""
    settings = {"tolerance": 0.0} if solver in ("DCD", "SAP") else {}

    straight, again = (blank(factory, solver, settings, save_solver_state=True) for _ in range(2))
    examples = [long_example(straight, factory), *EXAMPLES[factory](straight)[:2]]
    teach(straight, examples, 2)
    assert max(data_of(straight).docs.sizes) > 2
    again.from_bytes(straight.to_bytes())
    train(straight, examples, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        train(again, [long_example(again, factory), *EXAMPLES[factory](again)[:2]], 2)
    left, right = (nlp.get_pipe(factory) for nlp in (straight, again))
    assert left.to_bytes(exclude=["vocab", "state"]) == right.to_bytes(exclude=["vocab", "state"])
    assert left.figures == right.figures and left.certificate() == right.certificate()


@pytest.mark.parametrize("factory", CHAINS)
@pytest.mark.parametrize("is_new", [False, True])
def test_a_correction_is_of_a_whole_doc_without_new_labels(factory, is_new, short):
    """As prediction is: what is corrected is right afterwards."""
    nlp = blank(factory)
    teach(nlp, EXAMPLES[factory](nlp), 2)
    nlp = blank(factory).from_bytes(nlp.to_bytes())
    nlp.resume_training()
    if is_new and factory != "ssvm_senter":
        nlp.get_pipe(factory).add_label({"ssvm_morphologizer": "POS=X"}.get(factory, "X"))
    example = long_example(nlp, factory)
    nlp.update([example], sgd=False)
    (size,) = data_of(nlp).docs.sizes.tolist()
    assert size > 1 if is_new and factory != "ssvm_senter" else size == 1
