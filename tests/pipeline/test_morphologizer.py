"""`ssvm_morphologizer`: spaCy's labels, what it does with existing annotation, and many labels."""

from itertools import product

import numpy as np
import pytest
import spacy
import srsly
from spacy.training import Example

from spacy_ssvm.pipeline.analyses import SHARED, divided, joined, weight_labels_of

from .components import learnt
from .toy import LANG, blank, doc, morph_label, morphologizer_examples, teach, train

FEATURES = ["", "Case=Nom", "Number=Sing|Case=Nom", "Case=Acc,Nom", "Number[psor]=Plur|Case=Gen|Foreign=Yes"]


def annotated(nlp, text, pos, morphs):
    """An example; features that are None are not set."""
    tokens = doc(nlp, text, pos=pos, morphs=[morph or "" for morph in morphs])
    values = tokens.to_array(["MORPH"])
    values[[morph is None for morph in morphs]] = 0
    return Example(doc(nlp, text), tokens.from_array(["MORPH"], values))


def labels_of(pipe, tokens):
    return pipe.codec.gold(Example(tokens, tokens)).labels


def test_labels_are_those_of_spacy():
    ours, spacys = blank("ssvm_morphologizer"), spacy.blank(LANG)
    spacys.add_pipe("morphologizer")
    pairs = list(product(("", "NOUN", "X"), (None, *FEATURES)))
    text = " ".join("a" * len(pairs))
    labels = []
    for nlp in (ours, spacys):
        examples = [annotated(nlp, text, [pos for pos, _ in pairs], [morph for _, morph in pairs])]
        nlp.initialize(lambda examples=examples: examples)
        labels.append(set(nlp.get_pipe(nlp.pipe_names[0]).labels))
    assert labels[0] == labels[1]
    assert "_" in labels[0]
    for label in labels[0]:
        assert joined(*divided(label)) == label


def test_the_label_data_of_spacy_is_taken(tmp_path):
    spacys, ours = spacy.blank(LANG), blank("ssvm_morphologizer")
    component = spacys.add_pipe("morphologizer")
    spacys.initialize(lambda: morphologizer_examples(spacys))
    srsly.write_json(tmp_path / "labels.json", component.label_data)
    saved = srsly.read_json(tmp_path / "labels.json")
    given = {"@readers": "spacy.read_labels.v1", "path": str(tmp_path / "labels.json"), "require": True}
    ours.config["initialize"]["components"]["ssvm_morphologizer"] = {"labels": given}
    ours.initialize(lambda: morphologizer_examples(ours))
    assert ours.get_pipe("ssvm_morphologizer").labels == component.labels
    for other in ({"morph": saved["morph"]}, {**saved, "morph": list(saved["morph"])}):
        with pytest.raises(ValueError, match="labels must be a list of labels"):
            ours.get_pipe("ssvm_morphologizer").initialize(lambda: morphologizer_examples(ours), ours, labels=other)


@pytest.mark.parametrize(("overwrite", "extend"), product([False, True], repeat=2))
def test_existing_annotation_is_treated_as_spacy_treats_it(overwrite, extend):
    """Whatever our component predicts for a Doc, spaCy's makes the same annotation of it."""
    nlp = learnt("ssvm_morphologizer", overwrite=overwrite, extend=extend)
    ours = nlp.get_pipe("ssvm_morphologizer")
    other = spacy.blank(LANG, vocab=nlp.vocab)
    spacys = other.add_pipe("morphologizer", config={"overwrite": overwrite, "extend": extend})
    for label in ours.labels:
        spacys.add_label(label)
    assert spacys.labels == ours.labels
    text, given = "She saw the old dog", ["", "NOUN", "X", "ADJ", ""]
    for morphs in (["Case=Acc|Person=3", None, "Definite=Def", None, "Number=Plur"], [None] * 5):
        docs = [annotated(nlp, text, given, morphs).reference for _ in range(2)]
        predictions = ours.predict(docs[:1])
        ours.set_annotations(docs[:1], predictions)
        spacys.set_annotations(docs[1:], predictions)
        assert docs[0].to_array(["MORPH", "POS"]).tolist() == docs[1].to_array(["MORPH", "POS"]).tolist()


def test_what_stays_limits_the_labels():
    """Each token has the best label that has the given tag or features."""
    nlp = learnt("ssvm_morphologizer", overwrite=False)
    pipe, text = nlp.get_pipe("ssvm_morphologizer"), "She saw ham"
    free = learnt("ssvm_morphologizer").get_pipe("ssvm_morphologizer").kbest(doc(nlp, text), 6**3)
    for pos, morphs in (
        (["", "NOUN", ""], [None] * 3),
        ([""] * 3, [None, "", None]),
        (["VERB", "ADJ", ""], [None, "Degree=Pos", "Case=Nom"]),
    ):
        tokens = annotated(nlp, text, pos, morphs).reference

        def agrees(label, tag, morph):
            return (not tag or divided(label)[0] == tag) and (morph is None or divided(label)[1] == (morph or "_"))

        expected = [labels for _, labels in free if all(map(agrees, labels, pos, morphs))]
        assert [labels for _, labels in pipe.kbest(tokens, 6**3)] == expected
        assert labels_of(pipe, nlp(tokens)) == expected[0]


@pytest.mark.parametrize("overwrite", [False, True])
def test_tags_that_stay_are_not_learnt(overwrite):
    """Only labels with the gold label's tag compete, even where the present tag is wrong: tags have no weights."""
    nlp = blank("ssvm_morphologizer", overwrite=overwrite)
    examples = []
    for text, tags, present in (
        ("dogs see a cat", "NOUN VERB DET NOUN", "NOUN VERB DET NOUN"),
        ("cats saw dogs", "NOUN VERB NOUN", "VERB VERB NOUN"),
    ):
        words, pos = text.split(), tags.split()
        numbers = ["Number=Plur" if word.endswith("s") else "Number=Sing" if len(word) > 1 else "" for word in words]
        gold = annotated(nlp, text, pos, numbers).reference
        examples.append(Example(doc(nlp, text, pos=present.split()), gold))
    teach(nlp, examples)
    pipe = nlp.from_bytes(nlp.to_bytes()).get_pipe("ssvm_morphologizer")
    rows = pipe.trained.structured.load().rows
    names = {pipe.codec.weight_labels[label] for label in rows.labels[rows.values != 0]}
    assert any(name.startswith(f"{SHARED}Number=") for name in names)
    assert any(name.startswith(f"{SHARED}POS=") for name in names) == overwrite
    found = nlp(doc(nlp, "cats see a dog", pos=["NOUN", "VERB", "DET", "NOUN"]))
    assert [str(found[i].morph) for i in (0, 3)] == ["Number=Plur", "Number=Sing"]


def test_unknown_gold_is_completed_within_the_present_tag():
    nlp = blank("ssvm_morphologizer", overwrite=False)
    examples = morphologizer_examples(nlp)
    text, tags = "She saw blue ham", ["PRON", "NOUN", "ADJ", "NOUN"]
    partial = Example(doc(nlp, text, pos=tags), annotated(nlp, text, ["", "", "", "NOUN"], [None] * 3 + [""]).reference)
    teach(nlp, [*examples, partial], warns="no gold label")
    data, labels = nlp.get_pipe("ssvm_morphologizer").trained.training.data, nlp.get_pipe("ssvm_morphologizer").codec
    found = [labels.weight_labels[label] for label in data.gold(len(examples))]
    assert [divided(label)[0] for label in found] == tags


@pytest.mark.parametrize(
    ("label", "complaint"),
    [
        ("NOUN", "of the form Name=Value"),
        ("POS=NOUM", "'NOUM' is none of the coarse tags"),
        ("POS=NOUN|Case=Nom", r"is written 'Case=Nom\|POS=NOUN'"),
    ],
)
def test_labels_that_spacy_cannot_store_are_refused(label, complaint):
    with pytest.raises(ValueError, match=rf"\[ssvm_morphologizer\].*{complaint}"):
        blank("ssvm_morphologizer").get_pipe("ssvm_morphologizer").add_label(label)


def many_examples(nlp):
    """Two sentences for each of 70 labels."""
    examples = []
    for number in range(70):
        for text in (f"word{number} eats", f"Eat word{number} now"):
            words = text.split()
            pos = ["NOUN" if word.startswith("word") else "VERB" for word in words]
            morphs = [f"Kind={number}" if word.startswith("word") else "" for word in words]
            examples.append(Example(doc(nlp, text), doc(nlp, text, pos=pos, morphs=morphs)))
    return examples


def test_many_labels_are_learnt_saved_and_resumed():
    """What is trained with an interruption is what is trained without, byte for byte."""
    whole, loaded = (blank("ssvm_morphologizer", save_solver_state=True, solver_settings={"C": 1.0}) for _ in range(2))
    examples, pipe = many_examples(whole), whole.get_pipe("ssvm_morphologizer")
    teach(whole, examples, 2)
    train(loaded.from_bytes(whole.to_bytes()), many_examples(loaded), 2)
    train(whole, examples, 2)
    assert len(pipe.labels) == 71 and pipe.trained.training.data.problem().data.decoder.used.counts[0]
    assert whole.evaluate(examples)["morph_acc"] > 0.99
    assert loaded.get_pipe("ssvm_morphologizer").to_bytes(exclude=["vocab"]) == pipe.to_bytes(exclude=["vocab"])
    assert pipe.certificate().gap >= 0.0


@pytest.mark.parametrize("overwrite", [True, False])
@pytest.mark.parametrize("allowed", [None, ["Kind=3|POS=NOUN", "POS=VERB"]])
def test_predictions_with_many_labels_are_the_best_of_all(overwrite, allowed):
    patterns = [{"patterns": [[{"LOWER": "now"}]], "allow": allowed}] if allowed else []
    nlp = blank("ssvm_morphologizer", overwrite=overwrite, patterns=patterns)
    teach(nlp, many_examples(nlp), 2)
    pipe = nlp.get_pipe("ssvm_morphologizer")
    for text, tags in (
        ("word3 eats", ["", ""]),
        ("Eat word69 now", ["NOUN", "NOUN", ""]),
        ("Unknown words now", ["", "VERB", ""]),
        ("eats word5 word6 word7", ["VERB", "", "VERB", "NOUN"]),
    ):
        (best,) = pipe.kbest(doc(nlp, text, pos=tags), 1)
        assert labels_of(pipe, nlp(doc(nlp, text, pos=tags))) == best[1]
        for label, tag in zip(best[1], tags):
            assert overwrite or not tag or divided(label)[0] == tag
    assert np.isfinite(pipe.kbest(doc(nlp, "word3 eats"), 1)[0][0])
    assert morph_label("VERB") in pipe.labels


def test_labels_share_attributes():
    """Further labels leave the places of those before as they are."""
    labels = ("Case=Nom|POS=NOUN", "POS=VERB", "Case=Nom|POS=PRON", "_", "Case=Gen|POS=NOUN", "Case=Gen")
    expected = [*labels[:3], "any|Case=Nom", "_", labels[4], "any|POS=NOUN", "Case=Gen", "any|Case=Gen"]
    for n_labels in range(len(labels) + 1):
        found = list(weight_labels_of(labels[:n_labels]))
        assert [label for label in found if not label.startswith(SHARED)] == list(labels[:n_labels])
        assert found == expected[: len(found)]
    assert len(found) == len(expected)


def test_a_rare_combination_is_learnt_from_others():
    """The beginning of a word tells its case, the end its number."""
    nlp = blank("ssvm_morphologizer")
    pipe = nlp.get_pipe("ssvm_morphologizer")
    middles = [first + second for first in "lmnopq" for second in "rstuv"]
    cases, numbers = {"a": "Nom", "b": "Gen", "c": "Dat"}, {"x": "Sing", "y": "Plur", "z": "Dual"}
    words = {
        first + middle + last: f"Case={case}|Number={number}"
        for (first, case), middle, (last, number) in product(cases.items(), middles, numbers.items())
        if (first, last) != ("c", "z")
    }
    rare = words["they"] = "Case=Dat|Number=Dual"
    teach(nlp, [annotated(nlp, word, ["NOUN"], [morph]) for word, morph in words.items()], 10)
    tokens = nlp(doc(nlp, "chhz"))
    assert str(tokens[0].morph) == rare
    assert {label for _, label in pipe.scored_tags(tokens, min_score=-1e9)} == set(pipe.labels)
    shared = {name for label in pipe.labels for name in label.split("|")}
    assert {label[len(SHARED) :] for label in pipe.weight_labels if label.startswith(SHARED)} == shared
