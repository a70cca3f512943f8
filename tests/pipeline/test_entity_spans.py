"""`spans_key`: possible entities with scores."""

import pytest
from spacy.cli.find_threshold import find_threshold
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example

from .components import CRF, SVM, learnt
from .toy import doc, ner_examples

TEXT = "Anna Berg met Tom Junior in New Berlin"


@pytest.mark.parametrize("settings", [CRF, SVM], ids=["CRF", "SVM"])
@pytest.mark.parametrize("threshold", [0.02, 0.5])
def test_the_group_has_what_scores_enough(settings, threshold):
    nlp = learnt("ssvm_ner", spans_key="possible", threshold=threshold, **settings)
    pipe, text = nlp.get_pipe("ssvm_ner"), doc(nlp, TEXT)
    (expected,) = pipe.scored_ents([text], threshold)
    nlp.get_pipe("ssvm_ner")(text)
    group = text.spans["possible"]
    scores = group.attrs["scores"]
    assert {(span.start, span.end, span.label_): score for span, score in zip(group, scores)} == expected
    assert len(expected) and scores.min() >= threshold
    alone = learnt("ssvm_ner", **settings)
    assert [(ent.start, ent.end, ent.label_) for ent in alone(doc(alone, TEXT)).ents] == [
        (ent.start, ent.end, ent.label_) for ent in text.ents
    ]


def test_writing_again_changes_no_score():
    """What the component has set itself is no constraint of the candidates; what others have set is one."""
    nlp = learnt("ssvm_ner", spans_key="possible", threshold=0.1, **CRF)
    pipe, text, ruled = nlp.get_pipe("ssvm_ner"), doc(nlp, TEXT), doc(nlp, TEXT)
    ruled.set_ents([Span(ruled, 0, 2, "PER")], default="missing")
    for tokens in (text, ruled, Doc(nlp.vocab, words=TEXT.replace(" ", " \n ").split(" "))):
        predictions = pipe.predict([tokens])
        groups = []
        for _ in range(3):
            pipe.set_annotations([tokens], predictions)
            group = tokens.spans["possible"]
            groups.append([(*span, score) for span, score in zip(group, group.attrs["scores"].tolist())])
        assert groups[0] == groups[1] == groups[2]
    assert pipe.scored_ents(text)[0, 2, "PER"] < pipe.scored_ents(ruled)[0, 2, "PER"] == 1


def test_an_empty_doc_has_an_empty_group():
    nlp = learnt("ssvm_ner", spans_key="possible", **CRF)
    (found,) = nlp.get_pipe("ssvm_ner").pipe([doc(nlp, "")])
    assert not len(found.spans["possible"]) and not len(found.spans["possible"].attrs["scores"])


def test_evaluation_and_find_threshold(tmp_path):
    nlp = learnt("ssvm_ner", spans_key="possible", threshold=0.3, **CRF)
    examples = ner_examples(nlp)
    scores = nlp.evaluate(examples)
    pipe, right, listed = nlp.get_pipe("ssvm_ner"), 0, 0
    for example in examples:
        (found,) = pipe.scored_ents([bare(example)], 0.3)
        gold = {(ent.start, ent.end, ent.label_) for ent in example.reference.ents}
        right, listed = right + len(found.keys() & gold), listed + len(found)
    assert scores["spans_possible_p"] == pytest.approx(right / listed)
    assert scores["ents_f"] > 0
    nlp.to_disk(tmp_path / "model")
    DocBin(docs=[example.reference for example in examples]).to_disk(tmp_path / "dev.spacy")
    best, score, tried = find_threshold(
        tmp_path / "model", tmp_path / "dev.spacy", "ssvm_ner", "threshold", "spans_possible_f", n_trials=5
    )
    assert len(tried) == 5 and len(set(tried.values())) > 1 and score == max(tried.values()) == tried[best]


def bare(example: Example) -> Doc:
    return Doc(example.reference.vocab, words=[token.text for token in example.reference])
