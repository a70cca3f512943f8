"""One update of a loaded component corrects its example, or a warning says why it cannot."""

import re
import warnings
from functools import partial

import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from spacy_ssvm.inspect.parts import mistakes

from .components import SCORE, every, learnt
from .test_corrections import WORDS, corrected
from .test_rehearsal import raw
from .toy import blank, doc, morph_label, tree_of

FORBIDDEN = {
    "ssvm_tagger": "ADV",
    "ssvm_morphologizer": morph_label("ADV"),
    "ssvm_ner": "GPE",
    "ssvm_senter": "S",
    "ssvm_lemmatizer": "lower|0>|0>",
    "ssvm_parser": "nmod",
}
"""The label of the last token of the corrected example."""
PRESET = {
    "ssvm_tagger": {"tags": ["", "", "", "NOUN"]},
    "ssvm_morphologizer": {"pos": ["", "", "", "NOUN"]},
    "ssvm_ner": {"ents": ["", "", "", "B-PER"]},
    "ssvm_senter": {"sent_starts": [True, True, False, False]},
    "ssvm_lemmatizer": {"lemmas": ["", "", "", "London"]},
    "ssvm_parser": {"heads": [1, 2, 2, 1], "deps": ["", "", "", "nmod"]},
}
"""Other annotation than the gold one, on the Doc before, and than that which the component would write."""


def said(nlp, *examples: Example, learn=None) -> list[str]:
    """The warnings of an update, or of another way to learn, that tell of examples that it has not corrected."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        (learn or partial(nlp.update, sgd=False))(examples)
    return [str(warning.message) for warning in caught if "corrected" in str(warning.message)]


def is_right(nlp, factory: str, example: Example) -> bool:
    fresh = Example(Doc(nlp.vocab, words=[token.text for token in example.predicted]), example.reference)
    return nlp.evaluate([fresh])[SCORE[factory]] == 1.0


@every
@pytest.mark.parametrize("settings", [{}, {"weight_dtype": "int8", "keep_fraction": 0.5}])
def test_nothing_is_said_of_what_is_corrected(factory, settings):
    nlp = learnt(factory)
    if settings:
        nlp = blank(factory, **settings).from_bytes(blank(factory, **settings).from_bytes(nlp.to_bytes()).to_bytes())
    example = corrected(nlp, factory)
    assert not said(nlp, example) and is_right(nlp, factory, example)


@every
def test_a_pattern_that_excludes_what_is_annotated_is_named(factory):
    # Patterns do not limit words that the lemmatizer knows with one script.
    word = "dogs" if factory == "ssvm_lemmatizer" else WORDS[3]
    nlp = blank(factory, patterns=[{"patterns": [[{"ORTH": word}]], "forbid": [FORBIDDEN[factory]]}])
    nlp.get_pipe(factory).from_bytes(learnt(factory).get_pipe(factory).to_bytes())
    example = corrected(nlp, factory)
    if factory == "ssvm_lemmatizer":
        example = Example(doc(nlp, "The dogs"), doc(nlp, "The dogs", lemmas=["the", "dogs"]))
    (text,) = said(nlp, example)
    assert text.startswith(f"[{factory}] the update has not corrected its example, 'The ")
    assert "patterns limit what is predicted" in text and word in text
    assert not is_right(nlp, factory, example)


@every
def test_annotation_that_is_kept_is_named(factory):
    nlp = learnt(factory)
    example = Example(Doc(nlp.vocab, words=WORDS, **PRESET[factory]), corrected(nlp, factory).reference)
    messages = said(nlp, example)
    component, predicted = nlp.get_pipe(factory), Doc(nlp.vocab, words=WORDS, **PRESET[factory])
    component(predicted)
    wrong = mistakes(component.codec.parts, Example(predicted, example.reference))
    # Values that the component would write itself are not named.
    named = {int(number) for text in messages for number in re.findall(r"token (\d+) \(", text)}
    assert named <= {mistake.start for mistake in wrong}
    assert bool(wrong) == bool(named)
    if not getattr(component.codec, "overwrite", False) and factory not in ("ssvm_tagger", "ssvm_morphologizer"):
        assert wrong


@every
def test_annotation_of_its_own_is_none_that_is_kept(factory):
    """Also on a copy, as `nlp.update` makes one: what the weights of before have written does not stay."""
    nlp = learnt(factory)
    processed = nlp(Doc(nlp.vocab, words=WORDS))
    example = Example(processed, corrected(nlp, factory).reference)
    assert not said(nlp, example) and is_right(nlp, factory, example)


def test_a_sentence_that_starts_within_an_entity_is_named():
    nlp = learnt("ssvm_ner")
    reference = Doc(nlp.vocab, words=WORDS, ents=["O", "O", "B-GPE", "I-GPE"])
    (text,) = said(nlp, Example(Doc(nlp.vocab, words=WORDS, sent_starts=[1, -1, -1, 1]), reference))
    assert "because a sentence starts within an entity" in text and f"{WORDS[2]} {WORDS[3]}" in text
    assert not said(nlp, Example(Doc(nlp.vocab, words=WORDS, sent_starts=[1, -1, 1, -1]), reference))


def test_a_tree_that_cannot_be_built_is_named():
    nlp = learnt("ssvm_parser", model=tree_of("projective", 1))
    words = ["The", "dog", "eats", "ham", "today"]
    crossing = {"heads": [3, 2, 2, 1, 2], "deps": ["det", "nsubj", "ROOT", "obj", "obj"]}
    example = Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words, **crossing))
    with pytest.warns(UserWarning, match="cannot produce its annotation .such as crossing arcs"):
        nlp.update([example], sgd=False)


def test_sentences_that_prediction_does_not_see_are_named():
    nlp = learnt("ssvm_parser", model=tree_of("projective", 1))
    words = ["Eat", "ham", "!", "Dogs", "eat", "!"]
    gold = {"heads": [0, 0, 0, 4, 4, 4], "deps": ["ROOT", "obj", "punct", "nsubj", "ROOT", "punct"]}
    example = Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words, **gold))
    with pytest.warns(UserWarning, match="because a Doc has no sentence boundaries"):
        nlp.update([example], sgd=False)


@pytest.mark.parametrize("factory", ["ssvm_tagger", "ssvm_lemmatizer"])
def test_what_features_do_not_tell_apart_is_named(factory):
    """The same word in the same place of two sentences: an update of both cannot be right; of one it is."""
    gold = {"ssvm_tagger": ("tags", "NOUN", "VERB"), "ssvm_lemmatizer": ("lemmas", "egg", "eggs")}[factory]
    nlp = learnt(factory)
    pair = [Example(doc(nlp, "eggs"), doc(nlp, "eggs", **{gold[0]: [value]})) for value in gold[1:]]
    with pytest.warns(UserWarning, match="an update has not corrected 1 example of several.*: 'eggs ?'"):
        nlp.update(pair, sgd=False)
    for example in pair:
        assert not said(nlp, example) and is_right(nlp, factory, example)


@pytest.mark.parametrize("right", [True, False])
def test_a_form_with_two_lemmas_in_one_sentence(right):
    """Neighbours tell them apart, or nothing does."""
    nlp = learnt("ssvm_lemmatizer")
    text, lemmas = ("I saw a saw", "I see a saw") if right else ("zogs " * 9, "zog zogs " * 4 + "zog")
    example = Example(doc(nlp, text), doc(nlp, text, lemmas=lemmas.split()))
    messages = said(nlp, example)
    assert is_right(nlp, "ssvm_lemmatizer", example) == right
    assert [("do not tell apart" in text, "zogs" in text) for text in messages] == [(True, True)] * (not right)


@every
def test_rehearsal_says_nothing(factory):
    nlp = learnt(factory)
    nlp.resume_training()
    nlp.update([corrected(nlp, factory)], sgd=False)
    assert not said(nlp, *raw(nlp, factory), learn=nlp.rehearse)


@pytest.mark.parametrize("factory", ["ssvm_lemmatizer", "ssvm_parser"])
def test_a_correction_without_the_annotation_that_predictions_read_is_named(factory):
    """As of a pipeline whose taggers have not seen the Docs of the update."""
    words, given = ["dogs", "saw", "cats"], {"tags": ["N", "V", "N"], "pos": ["NOUN", "VERB", "NOUN"]}
    nlp = spacy.blank("xx")
    nlp.add_pipe(factory)
    gold = {"lemmas": ["dog", "see", "cat"], "heads": [1, 1, 1], "deps": ["nsubj", "ROOT", "obj"]}
    examples = [Example(Doc(nlp.vocab, words, **given), Doc(nlp.vocab, words, **given, **gold)) for _ in range(3)]
    nlp.initialize(lambda: examples)
    nlp.update(examples)
    for tagged in ({}, given):
        again = spacy.blank("xx")
        again.add_pipe(factory)
        again.from_bytes(nlp.to_bytes())
        reference = Doc(again.vocab, words, **{**gold, "lemmas": ["hound", "see", "cat"], "heads": [2, 2, 2]})
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(2):
                again.update([Example(Doc(again.vocab, words, **tagged), reference)])
        said = [str(warning.message) for warning in caught if "annotates=[...]" in str(warning.message)]
        assert len(said) == (not tagged) and all("predicts from token.tag and token.pos" in text for text in said)
