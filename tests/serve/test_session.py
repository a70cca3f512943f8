"""A session sees, asks and teaches; what it has taught is on the disk, is learnt again, and is undone."""

import json
import os
from contextlib import contextmanager
from operator import attrgetter

import pytest
import spacy
from spacy.tokens import DocBin

from spacy_ssvm.corpus.conllu_reader import parse, read_blocks
from spacy_ssvm.serve.lessons import JOURNAL, MAX_TEXT, UnknownText
from spacy_ssvm.serve.session import opened

from ..pipeline.components import learnt, learnt_as
from .pipelines import ALL, LESSONS, TEXT, TEXTS, lesson

every = pytest.mark.parametrize("factory", LESSONS)
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def weights(session):
    return {name: pipe.to_bytes(exclude=["vocab"]) for name, pipe in session.nlp.pipeline}


@contextmanager
def alone(factory, folder, texts=TEXTS):
    """A session with a pipeline of one component, of the same name as its factory."""
    with opened(learnt(factory), folder, texts) as session:
        yield session


def shown(session, component, text=TEXT):
    """The items of a text by one component: words, label and the head's first character."""
    analysis = session.analyse(session.add(text))
    (layer,) = (layer for layer in analysis.layers if layer.component == component)
    return {(text[item.start : item.end], item.label, item.head) for item in layer.items}


def has(session, factory):
    """Whether a lesson is predicted."""
    start, end, label, head = lesson(factory)
    return (TEXT[start:end], label, head) in shown(session, factory)


def teach(session, key, component):
    return session.teach(key, session.add(TEXT), component, *lesson(ALL.get(component, component)))


def test_see(shared):
    session = shared
    analysis = session.analyse(session.add(TEXTS[2]))
    assert [layer.kind for layer in analysis.layers] == ["tags", "arcs", "entities"]
    assert analysis.number == 3 and [word.text for word in analysis.words] == TEXTS[2].split()
    assert all(TEXTS[2][word.start : word.end] == word.text for word in analysis.words)
    entities = analysis.layers[-1].items
    assert [(TEXTS[2][e.start : e.end], e.label) for e in entities] == [("New York", "GPE"), ("Tom Berg Junior", "PER")]
    scores = session.nlp.get_pipe("ner").scored_ents(session.nlp(TEXTS[2]))
    assert [e.score for e in entities] == pytest.approx([scores[0, 2, "GPE"], scores[3, 6, "PER"]], abs=1e-4)
    assert all(e.confidence == min(1.0, e.score) and not e.is_taught for e in entities)
    listed = session.texts(1, 2)
    assert (listed.total, [text.number for text in listed.texts]) == (5, [2, 3])


@every
def test_what_is_taught_is_predicted_undone_and_learnt_again(factory, tmp_path, key):
    folder = tmp_path / "taught"
    with alone(factory, folder) as session:
        before, items = weights(session), shown(session, factory)
        assert not has(session, factory)
        found = teach(session, key(), factory)
        assert has(session, factory) and found.number == 1 and not found.is_snapped
        assert not any("has not corrected" in message for message in found.messages)
        session.accept(key(), session.add(TEXTS[1]), factory)
        taught = weights(session)
        session.undo(key())
        session.undo(key())
        assert weights(session) == before and shown(session, factory) == items
        assert not session.state().n_corrections
        teach(session, key(), factory)
        session.accept(key(), session.add(TEXTS[1]), factory)
        assert weights(session) == taught
    with alone(factory, folder) as again:
        assert weights(again) == taught and again.state().n_corrections == 2
        again.undo(key())
        assert has(again, factory) and again.state().n_corrections == 1


@every
def test_ask(factory, tmp_path):
    with alone(factory, tmp_path / "taught") as session:
        document = session.add(TEXT)
        (layer,) = session.analyse(document).layers
        item = layer.items[-1]
        answer = session.explain(document, factory, item.start, item.end, item.label, item.head)
        assert answer.is_predicted and (answer.margin is None or answer.margin > 0)
        if item.score is not None and factory != "ssvm_lemmatizer":
            assert answer.margin == pytest.approx(item.score, abs=1e-3)
        if factory != "ssvm_lemmatizer":
            assert not session.explain(document, factory, *lesson(factory)).is_predicted
        best = session.best(document, factory, 3)
        assert best[0].behind == 0 and [one.behind for one in best] == sorted(one.behind for one in best)
        keys = attrgetter("start", "end", "label", "head")
        assert set(map(keys, best[0].items)) == set(map(keys, layer.items))


def test_reasons_are_in_words(shared):
    session = shared
    document = session.add(TEXTS[4])
    answer = session.explain(document, "ner", 0, 9, "PER")
    assert answer.title.startswith("Anna Berg → PER") and "ahead of" in answer.verdict
    assert any(reason.says == "this word is “anna”" or "“" in reason.says for reason in answer.reasons)
    assert [abs(r.gain) for r in answer.reasons if r.gain > 0 and r.feature != "bias"] == sorted(
        (r.gain for r in answer.reasons if r.gain > 0 and r.feature != "bias"), reverse=True
    )


def test_a_new_label(session, key):
    document = session.add(TEXT)
    session.teach(key(), document, "ner", *lesson("ssvm_ner")[:2], "Monster")
    assert ("Grumpf Wug", "Monster", None) in shown(session, "ner")
    assert ("Anna", "PER", None) in shown(session, "ner")
    assert "Monster" in session.state().components[-1].labels
    session.undo(key())
    assert "Monster" not in session.state().components[-1].labels


def test_a_selection_snaps_to_tokens(session, key):
    learnt = session.teach(key(), session.add(TEXT), "ner", 2, 8, "PER")
    assert learnt.is_snapped and (learnt.start, learnt.end) == (0, 10)
    assert ("Grumpf Wug", "PER", None) in shown(session, "ner")


def test_no_entity(session, key):
    document = session.add(TEXTS[4])
    assert ("Anna Berg", "PER", None) in shown(session, "ner", TEXTS[4])
    session.teach(key(), document, "ner", 0, 9, "")
    assert ("Anna Berg", "PER", None) not in shown(session, "ner", TEXTS[4])


def test_a_correction_of_a_name_is_done_once(session, key):
    name = key()
    first = teach(session, name, "ner")
    after = weights(session)
    assert teach(session, name, "ner") == first and weights(session) == after and session.state().n_corrections == 1
    undoing = key()
    assert session.undo(undoing) == session.undo(undoing)
    assert session.state().n_corrections == 0


@pytest.mark.parametrize(
    "component, start, end, label, head, said",
    [
        ("tagger", 0, 10, "NOUN", None, "single tokens"),
        ("tagger", 0, 6, "", None, "1 to 200"),
        ("parser", 0, 6, "ROOT", 7, "without a head"),
        ("ner", 5, 5, "PER", None, "no characters"),
        ("ner", 0, 99, "PER", None, "no characters"),
        ("ner", 6, 7, "PER", None, "no token"),
        ("ner", 0, 6, "B-PER-" * 99, None, "at most 200"),
    ],
)
def test_what_cannot_be_taught_is_refused(shared, key, component, start, end, label, head, said):
    before = weights(shared)
    with pytest.raises(ValueError, match=said):
        shared.teach(key(), shared.add(TEXT), component, start, end, label, head)
    assert weights(shared) == before and shared.state().n_corrections == 0


@pytest.mark.parametrize(
    "factory, start, end, label, said",
    [
        ("ssvm_morphologizer", 0, 6, "POS=NONE", "NONE"),
        ("ssvm_senter", 0, 6, "I", "first token"),
        ("ssvm_senter", 7, 10, "X", "start of a sentence"),
        ("ssvm_lemmatizer", 0, 6, " wug", "no spaces"),
    ],
)
def test_what_these_components_cannot_learn_is_refused(tmp_path, key, factory, start, end, label, said):
    with alone(factory, tmp_path / "taught") as session, pytest.raises(ValueError, match=said):
        session.teach(key(), session.add(TEXT), factory, start, end, label)


@pytest.mark.parametrize("label", ["I", "S"])
def test_a_boundary_that_is_predicted_as_taught_is_not_missed(label, tmp_path, key):
    with alone("ssvm_senter", tmp_path / "taught") as session:
        session.teach(key(), session.add(TEXT), "ssvm_senter", 7, 10, label)
        (layer,) = session.analyse(session.add(TEXT)).layers
        assert [item.start for item in layer.items] == [0, 7][: 1 + (label == "S")] and not layer.missed


def test_texts_that_are_too_long_are_left_out_with_a_warning(tmp_path):
    with (
        pytest.warns(UserWarning, match="2 texts left out"),
        alone("ssvm_tagger", tmp_path / "t", ["a", " ", "b" * 20_001]),
    ):
        pass


def test_unknown_texts_and_components(shared, key):
    session = shared
    with pytest.raises(UnknownText, match="no text"):
        session.analyse("0" * 16)
    with pytest.raises(UnknownText, match="no component 'x'"):
        session.accept(key(), session.add(TEXT), "x")
    for text in ("", " \n", "a" * (MAX_TEXT + 1)):
        with pytest.raises(ValueError, match="a text has"):
            session.add(text)
    with pytest.raises(ValueError, match="nothing to undo"):
        session.undo(key())


def test_heads_that_close_a_circle_replace_those_before(session, key):
    document = session.add(TEXT)
    ask = [(TEXT.index(token), TEXT.index(token) + len(token), "obj") for token in ("Wug", "Anna")]
    session.teach(key(), document, "parser", *ask[0], TEXT.index("Anna"))
    session.teach(key(), document, "parser", *ask[1], TEXT.index("Wug"))
    assert ("Anna", "obj", TEXT.index("Wug")) in shown(session, "parser")


def test_what_cannot_be_written_is_not_learnt(session, key, monkeypatch):
    before, file = weights(session), session.folder / JOURNAL
    size = file.stat().st_size

    def full(_):
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="no space left"):
            teach(session, key(), "ner")
    assert weights(session) == before and file.stat().st_size == size
    assert teach(session, key(), "ner").number == 1


def test_a_torn_record_was_never_acknowledged(model, tmp_path, key):
    folder = tmp_path / "taught"
    with opened(spacy.load(model), folder) as session:
        teach(session, key(), "ner")
    journal = folder / JOURNAL
    whole = journal.read_bytes()
    journal.write_bytes(whole + whole.split(b"\n")[1][:40])
    with opened(spacy.load(model), folder) as session:
        assert session.state().n_corrections == 1 and journal.read_bytes() == whole


def test_a_journal_that_cannot_be_learnt_is_refused(model, tmp_path, key):
    folder, nlp = tmp_path / "taught", spacy.load(model)
    with opened(spacy.load(model), folder) as session:
        teach(session, key(), "ner")
    journal = folder / JOURNAL
    first, *rest = journal.read_bytes().split(b"\n")
    for lines, said in (
        ([first, b"{", *rest], "line 2: this is no record"),
        ([first, b'{"id":"x"}', *rest], "line 2, cannot be learnt again"),
        ([b'{"journal":1,"pipeline":{"name":"other"}}', *rest], "about another pipeline"),
    ):
        journal.write_bytes(b"\n".join(lines))
        with pytest.raises(ValueError, match=said):
            opened(nlp, folder)


def test_accuracy_is_that_of_predictions_before_correction(session, key):
    teach(session, key(), "ner")
    for text in (TEXT, TEXTS[4]):
        session.accept(key(), session.add(text), "ner")
    (ner,) = (component for component in session.state().components if component.name == "ner")
    # Anna, Berlin; Anna Berg, New York were right, and Grumpf Wug was not.
    assert (ner.n_accepted, ner.n_right) == (2, 1)
    found = [json.loads(line) for line in (session.folder / JOURNAL).read_text("utf8").splitlines()[1:]]
    first, gold = {tuple(item) for item in found[0]["first"]}, {tuple(item) for item in found[1]["items"]}
    right, n = len(first & gold) + 2, len(first) + len(gold) + 4
    assert ner.accuracy == pytest.approx(2 * right / n, abs=1e-4)


def test_suggestions_are_those_of_the_component(session, key):
    docs = [session.nlp.make_doc(text) for text in TEXTS]
    ranking = [TEXTS[number] for number, _ in session.nlp.get_pipe("ner").suggest(docs)]
    for text in ranking:
        found = session.suggest("ner")
        assert session.analyse(found.document).text == text
        session.accept(key(), found.document, "ner")
    assert session.suggest("ner").document is None


def test_changes_elsewhere(session, key):
    assert session.changes().changes == []
    teach(session, key(), "ner")
    found = session.changes()
    assert found.n_watched == len(TEXTS)
    assert ["Grumpf Wug → PER"] in [change.new for change in found.changes if change.number == 1]
    session.undo(key())
    assert ["Grumpf Wug → PER"] in [change.gone for change in session.changes().changes]
    assert session.changes().changes == []


@pytest.mark.slow
def test_export_and_save(tmp_path, key):
    with opened(learnt_as(ALL), tmp_path / "taught", TEXTS) as session:
        check_export_and_save(session, key)


def check_export_and_save(session, key):
    for component in ALL:
        teach(session, key(), component)
    session.accept(key(), session.add(TEXTS[4]), "ner")
    written = session.export()
    assert written.n_texts == 2
    first, second = DocBin().from_disk(session.folder / "annotation.spacy").get_docs(session.nlp.vocab)
    met, anna = first[2], first[3]
    assert (met.tag_, met.pos_, str(met.morph), met.lemma_, met.is_sent_start) == (
        "ADV", "ADJ", "Degree=Pos", "meet", True,
    )  # fmt: skip
    assert [token.tag_ for token in first].count("") == len(first) - 1
    assert (anna.head.text, anna.dep_) == ("met", "nmod") and all(token.has_dep() for token in first)
    assert [(e.text, e.label_) for e in first.ents] == [("Grumpf Wug", "PER")] and first[3].ent_iob_ == ""
    assert {token.ent_iob_ for token in second} == {"B", "I", "O"}
    blocks = [parse(block) for block in read_blocks(session.folder / "annotation.conllu")]
    words = [word for block in blocks for word in block.words]
    assert [word.form for word in words] == [*TEXT.split(), *TEXTS[4].split()]
    assert [word.entity for word in words[:2]] == ["B-PER", "I-PER"] and words[2].xpos == "ADV"
    assert not session.state().is_saved
    session.save()
    assert session.state().is_saved
    doc = spacy.load(session.folder / "pipeline")(TEXT)
    assert doc[2].tag_ == "ADV" and ("Grumpf Wug", "PER") in {(e.text, e.label_) for e in doc.ents}
    assert sorted(path.name for path in session.folder.iterdir()) == [
        "annotation.conllu", "annotation.spacy", JOURNAL, "pipeline",
    ]  # fmt: skip


def test_an_earlier_pipeline_stays_until_the_new_one_is_complete(session, key, monkeypatch):
    session.save()
    output = session.folder / "pipeline"
    before = {path: path.read_bytes() for path in output.rglob("*") if path.is_file()}
    teach(session, key(), "ner")
    to_disk = type(session.nlp).to_disk

    def full(nlp, path):
        to_disk(nlp, path)
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(type(session.nlp), "to_disk", full)
        with pytest.raises(OSError, match="no space left"):
            session.save()
    assert {path: path.read_bytes() for path in output.rglob("*") if path.is_file()} == before
    session.save()
    assert {e.text for e in spacy.load(output)(TEXT).ents} >= {"Grumpf Wug"}


def test_whitespace_and_other_scripts(session, key):
    text = "Grumpf\n\n Wug 🦊 met  Zoë in Berlin ."
    document = session.add(text)
    for component in ("tagger", "parser", "ner"):
        session.accept(key(), document, component)
    start = text.index("Zoë")
    learnt = session.teach(key(), document, "ner", start, start + 3, "PER")
    assert (learnt.start, learnt.end) == (start, start + 3) and ("Zoë", "PER", None) in shown(session, "ner", text)
    with pytest.raises(ValueError, match="whitespace"):
        session.teach(key(), document, "tagger", 6, 8, "NOUN")
    session.export()
