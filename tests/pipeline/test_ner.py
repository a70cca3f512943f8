"""`ssvm_ner` as a user of spaCy's entity recogniser expects it."""

import warnings

import numpy as np
import pytest
import spacy
from hypothesis import example, given
from hypothesis import strategies as st
from spacy.tokens import Doc, Span
from spacy.training import Example, biluo_to_iob

from spacy_ssvm.structures.chain.biluo import FIXED

from .components import learnt, written
from .toy import LANG, SOLVERS, SPANS, blank, doc, ner_examples, teach, templates, train

WORDS = ["Anna", "Berg", "New", "York", "Tom", "Paris", "in", "the", ".", "dog", " ", "\n", "lower", "X9"]
TYPES = ["PER", "GPE", "ORG"]


@st.composite
def gold_tags(draw, length: int) -> list[str]:
    """A legal BILUO sequence."""
    tags: list[str] = []
    while len(tags) < length:
        size = draw(st.integers(0, min(3, length - len(tags))))
        label = draw(st.sampled_from(TYPES))
        if size <= 1:
            tags.append(f"U-{label}" if size else "O")
        else:
            tags += [f"B-{label}", *[f"I-{label}"] * (size - 2), f"L-{label}"]
    return tags


@st.composite
def corpora(draw) -> list[tuple[list[str], list[str]]]:
    sentences = draw(st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=8), min_size=1, max_size=4))
    return [(words, draw(gold_tags(len(words)))) for words in sentences]


@st.composite
def inputs(draw) -> tuple[list[str], list[int], list[tuple[int, int, str]]]:
    """Words, sentence starts (1 where known), and preset entities; an empty label stands for blocked tokens."""
    words = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=10))
    starts = [1, *(draw(st.sampled_from([0, 0, 1, -1])) for _ in words[1:])]
    preset, token = [], 0
    while token < len(words):
        size = draw(st.sampled_from([0, 0, 1, 2, 3]))
        if size:
            preset.append((token, min(token + size, len(words)), draw(st.sampled_from([*TYPES, "UNKNOWN", ""]))))
        token += max(size, 1)
    return words, starts, preset


ANNAS = [(["Anna", "Anna"], ["B-PER", "L-PER"])]


@given(corpora(), inputs(), st.sampled_from(SOLVERS))
@example(ANNAS, (["Anna"] * 6 + [" ", "Anna"], [0] * 8, [(2, 5, "PER"), (6, 7, "PER")]), "Perceptron")
@example(ANNAS, (["Anna"] * 6 + [" ", " ", "Anna"], [0] * 9, [(2, 5, "PER"), (6, 7, "")]), "Perceptron")
def test_every_prediction_is_legal(corpus, text, solver):
    """Whatever was learnt: spans are disjoint, preset annotation stays, rules for whitespace and sentences hold."""
    nlp = blank("ssvm_ner", solver=solver, solver_settings={} if solver == "Perceptron" else {"C": 1.0})
    for label in TYPES:
        nlp.get_pipe("ssvm_ner").add_label(label)
    examples = [
        Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words, ents=biluo_to_iob(tags)))
        for words, tags in corpus
    ]
    train(nlp, examples, 2)
    words, starts, preset = text
    tokens = Doc(nlp.vocab, words=words)
    for token, start in zip(tokens, starts):
        if token.i:
            token.is_sent_start = {1: True, -1: False}.get(start)
    given_spans = [Span(tokens, first, end, label) for first, end, label in preset if label]
    blocked = [Span(tokens, first, end) for first, end, label in preset if not label]
    tokens.set_ents(given_spans, blocked=blocked, default="missing")

    after = nlp(tokens)

    assert {(s, e, label) for s, e, label in preset if label} <= set(written("ssvm_ner", after))
    taken = {token for first, end, _ in preset for token in range(first, end)}
    for first, end, label in set(written("ssvm_ner", after)) - set(preset):
        assert label in TYPES
        assert not taken & set(range(first, end))
        assert not after[first].is_space
        assert not any(after[i].is_sent_start for i in range(first + 1, end))
    blocked_tokens = {token for first, end, label in preset if not label for token in range(first, end)}
    for token in after:
        assert token.ent_iob_ != ""
        if token.ent_iob_ == "I":
            assert token.nbor(-1).ent_type == token.ent_type and token.nbor(-1).ent_iob_ in "BI"
        assert (token.ent_iob == 3 and not token.ent_type) == (token.i in blocked_tokens)


def test_adjacent_entities_of_one_type_stay_two():
    nlp = blank("ssvm_ner")
    corpus = [("see Anna Tom now", "O U-PER U-PER O"), ("see Anna Berg now", "O B-PER L-PER O")]
    teach(nlp, ner_examples(nlp, corpus), 20)
    assert written("ssvm_ner", nlp(doc(nlp, corpus[0][0]))) == [(1, 2, "PER"), (2, 3, "PER")]
    assert written("ssvm_ner", nlp(doc(nlp, corpus[1][0]))) == [(1, 3, "PER")]


def test_entity_ruler_goes_first():
    nlp = learnt("ssvm_ner")
    ruler = nlp.add_pipe("entity_ruler", before="ssvm_ner")
    ruler.add_patterns(
        [{"label": "CITY", "pattern": "New York", "id": "nyc"}, {"label": "PER", "pattern": "dog", "id": "rex"}]
    )
    tokens = nlp(doc(nlp, "New York calls the dog Tom ."))
    assert [(e.text, e.label_, e.ent_id_) for e in tokens.ents if e.ent_id_] == [
        ("New York", "CITY", "nyc"),
        ("dog", "PER", "rex"),
    ]
    assert (5, 6, "PER") in written("ssvm_ner", tokens)
    assert nlp.get_pipe("ssvm_ner").labels == ("GPE", "PER")


def test_outside_is_no_preset_annotation():
    """As in spaCy: `doc.ents = []` leaves the recogniser free, blocking does not."""
    nlp = learnt("ssvm_ner")
    tokens = doc(nlp, SPANS[0][0])
    tokens.ents = []
    assert written("ssvm_ner", nlp(tokens)) == [(0, 2, "PER"), (4, 6, "GPE")]


@pytest.mark.parametrize("words", [["\n", "Anna", "left"], ["Anna", "\n", "left"]])
def test_entities_begin_and_end_at_words(words):
    """Even if the annotation has whitespace at their edges."""
    nlp = blank("ssvm_ner")
    teach(nlp, [Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words, ents=["B-PER", "I-PER", "O"]))])
    (place,) = [place for place, word in enumerate(words) if word == "Anna"]
    assert written("ssvm_ner", nlp(Doc(nlp.vocab, words=words))) == [(place, place + 1, "PER")]
    assert written("ssvm_ner", nlp(Doc(nlp.vocab, words=["\n"]))) == []


def test_gold_goes_before_the_sentence_starts_of_the_predicted_doc():
    nlp = blank("ssvm_ner")
    words = ["Tom", "met", "Anna", "Berg"]
    predicted = Doc(nlp.vocab, words=words, sent_starts=[True, False, False, True])
    reference = Doc(nlp.vocab, words=words, ents=["B-PER", "O", "B-PER", "I-PER"])
    teach(nlp, [*ner_examples(nlp), Example(predicted, reference)], warns=None)
    certificate = nlp.get_pipe("ssvm_ner").certificate()
    assert certificate.gap >= -1e-9 * certificate.primal
    assert written("ssvm_ner", nlp(Doc(nlp.vocab, words=words))) == [(0, 1, "PER"), (2, 4, "PER")]


@pytest.mark.parametrize("blocks", [False, True])
def test_a_correction_of_what_was_predicted_is_learnt(blocks):
    """Entities and blocked tokens of the predicted Doc give way to gold."""
    nlp = learnt("ssvm_ner")
    text = "Anna Berg lives in New York ."
    wanted = [(0, 2, "GPE"), (4, 5, "PER")]
    for _ in range(20):
        predicted = nlp(doc(nlp, text))
        if blocks:
            predicted.set_ents([], blocked=[predicted[0:6]], default="outside")
        nlp.update(
            [Example(predicted, doc(nlp, text, ents=["B-GPE", "I-GPE", "O", "O", "B-PER", "O", "O"]))], sgd=False
        )
    assert written("ssvm_ner", nlp(doc(nlp, text))) == wanted


def test_entities_constrain_tokens_without_a_gold_label():
    """A ruler's entity holds where gold says nothing, and as a whole gives way where gold contradicts a part of it."""
    nlp = learnt("ssvm_ner")
    space = nlp.get_pipe("ssvm_ner").codec.space
    kinds, numbers = space.kinds, {label: number for number, label in enumerate(space.labels)}
    tokens = doc(nlp, "a b c d e", ents=["B-PER", "I-PER", "O", "B-GPE", "I-GPE"])
    preset = tokens.to_array(list(kinds.attributes)).reshape(5, -1)
    unknown = np.full(5, -1)
    open_ones = kinds.to_learn([tokens], preset, unknown)
    assert (
        open_ones.tolist()
        == kinds.to_predict([tokens], preset).tolist()
        == [FIXED + numbers["B-PER"], FIXED + numbers["L-PER"], 0, FIXED + numbers["B-GPE"], FIXED + numbers["L-GPE"]]
    )
    gold = np.array([numbers["B-PER"], -1, -1, -1, numbers["O"]])
    assert kinds.to_learn([tokens], preset, gold).tolist()[1:] == [FIXED + numbers["L-PER"], 0, 0, 0]
    twice, presets = [tokens, tokens], np.tile(preset, (2, 1))
    assert kinds.to_learn(twice, presets, np.tile(unknown, 2)).tolist() == 2 * open_ones.tolist()
    assert kinds.to_predict(twice, presets).tolist() == 2 * open_ones.tolist()


def test_corrections_of_predictions_are_not_taken_for_changed_annotation():
    """The predictions differ in each round, and no other component is learning."""
    nlp = blank("ssvm_ner")
    examples = teach(nlp, ner_examples(nlp), 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(4):
            nlp.update([Example(nlp(example.predicted.copy()), example.reference) for example in examples], sgd=False)


def test_no_entities_is_annotation():
    """`entities: []` says that there are none: learnt as such."""
    nlp = blank("ssvm_ner")
    empty = [Example.from_dict(nlp.make_doc("Rome is quiet"), {"entities": []}) for _ in range(2)]
    teach(nlp, [*ner_examples(nlp), *empty])
    assert nlp("Rome is quiet").ents == ()


def test_costs_trade_precision_for_recall():
    """A low cost at tokens that are O makes finding what is not there cheap: recall rises or stays."""

    def found(label_costs: dict[str, float]) -> int:
        nlp = blank("ssvm_ner", solver_settings={"C": 0.05}, label_costs=label_costs, model=templates("word[0]"))
        corpus = [("we saw Reading", "O O U-GPE"), *[("we like Reading", "O O O")] * 3]
        teach(nlp, ner_examples(nlp, corpus), 20)
        return len(nlp(doc(nlp, "Reading")).ents)

    assert found({}) == 0
    assert found({"O": 0.1}) == 1


def test_negated_labels_are_refused_as_in_spacy():
    """spaCy refuses them in `update` only; none of them is a label, and what stands beside them is learnt."""
    nlp = spacy.blank(LANG)
    spacys, ours = nlp.add_pipe("ner"), nlp.add_pipe("ssvm_ner")
    negated = Example(doc(nlp, "Anna left"), doc(nlp, "Anna left", ents=["B-!PER", "O"]))
    for component in (spacys, ours):
        component.add_label("PER")
        nlp.initialize()
        with pytest.raises(ValueError, match="!PER"):
            component.update([negated])
    with pytest.warns(UserWarning, match=r'left out: .*"!PER" is no label to learn: .*incorrect_spans_key'):
        ours.initialize(lambda: [*ner_examples(nlp), negated])
    assert ours.labels == ("PER", "GPE")


def test_arguments_are_named_and_taken_as_in_spacy():
    nlp = learnt("ssvm_ner")
    ner, text = nlp.get_pipe("ssvm_ner"), "Tom met Anna in Berlin ."
    expected = [entity.text for entity in nlp(doc(nlp, text)).ents]
    (piped,) = ner.pipe(docs=[doc(nlp, text)])
    alone = doc(nlp, text)
    ner.set_annotations(alone, ner.predict(alone))
    again = blank("ssvm_ner").get_pipe("ssvm_ner").from_bytes(ner.to_bytes(["vocab"]), ["vocab"])
    docs = [piped, alone, again(doc(nlp, text))]
    assert [[entity.text for entity in found.ents] for found in docs] == [expected] * 3 and expected
