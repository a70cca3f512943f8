"""A new label from a few examples, together with what else a pipeline does."""

import copy
import warnings

import pytest
from spacy.tokens import Doc
from spacy.training import Example

from .components import COMPONENTS, NEW_LABEL, learnt, learnt_as
from .toy import annotations, biluo_to_iob, blank, doc, weights

FACTORIES = ("ssvm_tagger", "ssvm_ner")
of_new = pytest.mark.parametrize("factory", FACTORIES)
TEXTS = ["The zebra sees Acme", "Acme sleeps", "We like Acme today"]
GOLD = {
    "ssvm_tagger": {"tags": ["DET NOUN VERB INTJ", "INTJ VERB", "PRON VERB INTJ ADV"]},
    "ssvm_ner": {"ents": ["O O O U-ORG", "U-ORG O", "O O U-ORG O"]},
}


def gold(factory: str, number: int, others: str | None = None) -> dict[str, list[str]]:
    """The annotation of one of TEXTS; others: that of all tokens but those of the new label."""
    ((key, texts),) = GOLD[factory].items()
    labels = texts[number].split()
    if others is not None:
        labels = [label if label.endswith(NEW_LABEL[factory]) else others for label in labels]
    return {key: biluo_to_iob(labels) if key == "ents" else labels}


def examples(nlp, factory: str) -> list[Example]:
    return [Example(doc(nlp, text), doc(nlp, text, **gold(factory, k))) for k, text in enumerate(TEXTS)]


def positives(nlp, factory: str) -> list[Example]:
    """Only the new label is annotated."""
    found = []
    for k, text in enumerate(TEXTS):
        reference = doc(nlp, text)
        if factory == "ssvm_tagger":
            reference = doc(nlp, text, **gold(factory, k, ""))
        else:
            reference.set_ents(list(doc(nlp, text, **gold(factory, k)).ents), default="missing")
        found.append(Example(doc(nlp, text), reference))
    return found


def own(nlp, factory: str) -> list[tuple]:
    """The annotation of the corpus that the component was trained on."""
    return annotations(nlp, [COMPONENTS[factory].corpus])


def is_learnt(nlp, factory: str) -> bool:
    return nlp.evaluate(examples(nlp, factory))[COMPONENTS[factory].score] == 1.0


def epochs(nlp, learns: list[Example], number: int = 3) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(number):
            nlp.update(learns, sgd=False)


@of_new
def test_in_selected_pipes_others_stay(factory):
    nlp = learnt_as({name: name for name in FACTORIES})
    (other,) = set(FACTORIES) - {factory}
    before = weights(nlp, other)
    nlp.resume_training()
    with nlp.select_pipes(enable=[factory]):
        epochs(nlp, examples(nlp, factory))
    assert is_learnt(nlp, factory) and weights(nlp, other) == before
    epochs(nlp, examples(nlp, other))
    assert is_learnt(nlp, factory) and is_learnt(nlp, other)


def test_two_components_learn_new_labels_in_one_update():
    nlp = learnt_as({name: name for name in FACTORIES})
    together = [
        Example(doc(nlp, text), doc(nlp, text, **gold("ssvm_tagger", k), **gold("ssvm_ner", k)))
        for k, text in enumerate(TEXTS)
    ]
    epochs(nlp, together)
    for factory in FACTORIES:
        alone = learnt(factory)
        epochs(alone, examples(alone, factory))
        assert is_learnt(nlp, factory) and annotations(alone) != annotations(nlp)
        assert nlp.get_pipe(factory).labels == alone.get_pipe(factory).labels


@of_new
@pytest.mark.parametrize("added_before", [False, True])
def test_rehearsal_without_the_new_label_keeps_it(factory, added_before):
    nlp = learnt(factory)
    if added_before:
        nlp.get_pipe(factory).add_label(NEW_LABEL[factory])
    before = own(nlp, factory)
    nlp.resume_training()
    texts = [text for text, _ in COMPONENTS[factory].corpus]
    for _ in range(3):
        epochs(nlp, examples(nlp, factory), 1)
        nlp.rehearse([Example(doc(nlp, text), doc(nlp, text)) for text in texts])
    assert is_learnt(nlp, factory) and own(nlp, factory) == before


@of_new
def test_saving_changes_nothing_and_loading_ends_what_is_new(factory):
    nlp, other = learnt(factory), learnt(factory)
    for _ in range(3):
        epochs(nlp, examples(nlp, factory), 1)
        epochs(other, examples(other, factory), 1)
        nlp.to_bytes()
    assert weights(nlp, factory) == weights(other, factory)
    again = blank(factory).from_bytes(nlp.to_bytes())
    for _ in range(3):
        epochs(again, examples(again, factory), 1)
        again = blank(factory).from_bytes(again.to_bytes())
    assert is_learnt(again, factory)


@of_new
def test_copies_learn_on_as_the_original(factory):
    nlp = learnt(factory)
    epochs(nlp, examples(nlp, factory)[:2], 2)
    copied = copy.deepcopy(nlp)
    for pipeline in (nlp, copied):
        epochs(pipeline, examples(pipeline, factory), 2)
    assert weights(nlp, factory) == weights(copied, factory) and is_learnt(copied, factory)


@of_new
@pytest.mark.parametrize("packing", [{"weight_dtype": "int8"}, {"keep_fraction": 0.5, "weight_dtype": "float16"}])
def test_a_pruned_model_keeps_what_it_learns(factory, packing):
    nlp = blank(factory, **packing)
    nlp.get_pipe(factory).from_bytes(learnt(factory).get_pipe(factory).to_bytes())
    nlp = blank(factory, **packing).from_bytes(nlp.to_bytes())
    epochs(nlp, examples(nlp, factory))
    again = blank(factory, **packing).from_bytes(nlp.to_bytes())
    assert is_learnt(nlp, factory) and is_learnt(again, factory)
    assert annotations(nlp) == annotations(again)


@of_new
def test_whitespace_tokens_change_nothing(factory):
    nlp, spaced = learnt(factory), learnt(factory)
    found = []
    for example in examples(spaced, factory):
        words = [token.text for token in example.reference]
        key = "ents" if factory == "ssvm_ner" else "tags"
        ((_, labels),) = gold(factory, len(found)).items()
        annotation = {key: [*labels[:1], "O" if key == "ents" else "_SP", *labels[1:]]}
        words.insert(1, "\n ")
        found.append(Example(Doc(spaced.vocab, words=words), Doc(spaced.vocab, words=words, **annotation)))
    epochs(nlp, examples(nlp, factory))
    epochs(spaced, found)
    assert weights(nlp, factory) == weights(spaced, factory)


@of_new
def test_a_long_doc_is_learnt_in_pieces(factory):
    """Also where most of its pieces have no new label."""
    nlp = learnt(factory)
    before = own(nlp, factory)
    known = COMPONENTS[factory].corpus
    words, labels = [], []
    for k in range(150):
        text, of_text = known[k % len(known)]
        words, labels = [*words, *text.split()], [*labels, *of_text.split()]
        if k % 50 == 49:
            ((_, (*of_text,)),) = GOLD[factory].items()
            words, labels = [*words, *TEXTS[k // 50].split()], [*labels, *of_text[k // 50].split()]
    annotation = {"ents": biluo_to_iob(labels)} if factory == "ssvm_ner" else {"tags": labels}
    assert len(words) > 500
    example = Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words, **annotation))
    epochs(nlp, [example], 1)
    assert nlp.evaluate([example])[COMPONENTS[factory].score] == 1.0 and own(nlp, factory) == before
    have_new = nlp.get_pipe(factory).trained.training.data.problem().corrections.have_new_labels
    assert 0 < have_new.sum() <= 3 < len(have_new)


@of_new
def test_a_label_that_was_misspelt_is_learnt_once_it_is_right(factory):
    nlp = learnt(factory)
    wrong = []
    for k, text in enumerate(TEXTS):
        ((key, labels),) = gold(factory, k).items()
        labels = [label.replace(NEW_LABEL[factory], "MISSPELT") for label in labels]
        wrong.append(Example(doc(nlp, text), doc(nlp, text, **{key: labels})))
    epochs(nlp, wrong, 2)
    epochs(nlp, examples(nlp, factory), 3)
    assert is_learnt(nlp, factory)
    assert {"MISSPELT", NEW_LABEL[factory]} <= set(nlp.get_pipe(factory).labels)


@of_new
def test_another_tokenisation_of_the_reference(factory):
    """Its tokens are as those of the prediction as far as they can be."""
    nlp = learnt(factory)
    key = "ents" if factory == "ssvm_ner" else "tags"
    new = f"B-{NEW_LABEL[factory]}" if key == "ents" else NEW_LABEL[factory]
    old = ["O", "O", "O"] if key == "ents" else ["DET", "NOUN", "VERB"]
    # Two tokens where the reference has one, and one where it has two.
    split = Example(
        Doc(nlp.vocab, words=["The", "zebra", "sees", "Ac", "me"], spaces=[True] * 3 + [False] * 2),
        Doc(nlp.vocab, words=["The", "zebra", "sees", "Acme"], **{key: [*old, new]}),
    )
    inside = new.replace("B-", "I-")
    merged = Example(
        Doc(nlp.vocab, words=["The", "zebra", "sees", "Ulm"]),
        Doc(
            nlp.vocab,
            words=["The", "zebra", "sees", "U", "lm"],
            spaces=[True] * 3 + [False] * 2,
            **{key: [*old, new, inside]},
        ),
    )
    for _ in range(3):
        nlp.update([split, merged], sgd=False)
    attribute = "ent_type_" if key == "ents" else "tag_"
    for example, expected in (split, 2), (merged, 1):
        found = [getattr(token, attribute) for token in nlp.get_pipe(factory)(example.predicted.copy())]
        if key == "ents" or example is merged:
            assert found[3:] == [NEW_LABEL[factory]] * expected


@of_new
def test_positives_alone(factory):
    nlp = learnt(factory)
    before = own(nlp, factory)
    expected = [
        [token.tag_ if factory == "ssvm_tagger" else token.ent_type_ for token in nlp(doc(nlp, text))] for text in TEXTS
    ]
    epochs(nlp, positives(nlp, factory))
    for text, old, labels in zip(TEXTS, expected, next(iter(GOLD[factory].values()))):
        found = [token.tag_ if factory == "ssvm_tagger" else token.ent_type_ for token in nlp(doc(nlp, text))]
        new = [label.endswith(NEW_LABEL[factory]) for label in labels.split()]
        assert found == [NEW_LABEL[factory] if is_new else label for is_new, label in zip(new, old)]
    assert own(nlp, factory) == before
