"""One broken document among many: it is named, it is left out, and nothing else is lost."""

import warnings

import numpy as np
import pytest
import spacy
from spacy.attrs import ENT_IOB, ENT_TYPE, HEAD
from spacy.tokens import Doc, DocBin, Span, Token
from spacy.training import Example

from spacy_ssvm.corpus.reader import SentenceCorpus, create_corpus

from .components import every
from .toy import EXAMPLES, arc_templates, blank, doc, parser_examples, teach, templates, train, weights

BROKEN = "Nothing of the kind"
OTHER = "Something else entirely"
PLACE = 4


@pytest.fixture
def reading():
    """An extension that cannot be read of one word."""

    def value(token):
        if token.text == "kind":
            raise RuntimeError("no reading of this word")
        return len(token.text)

    Token.set_extension("reading", getter=value, force=True)
    yield
    Token.remove_extension("reading")


def misaligned(nlp, factory) -> Example:
    """Its annotation is of another text."""
    return Example(doc(nlp, OTHER), EXAMPLES[factory](nlp)[0].reference.copy())


def unreadable(nlp, factory) -> Example:
    """A feature of it cannot be computed."""
    gold = EXAMPLES[factory](nlp)[0].reference
    attributes = (
        ["TAG", "SENT_START"]
        if factory == "ssvm_senter"
        else ["TAG", "POS", "MORPH", "ENT_IOB", "ENT_TYPE", "HEAD", "DEP"]
    )
    words = BROKEN.split() + [f"w{k}" for k in range(len(gold) - 4)]
    reference = Doc(nlp.vocab, words=words).from_array(attributes, gold.to_array(attributes))
    return Example(Doc(nlp.vocab, words=words), reference)


def features(factory) -> dict:
    if factory == "ssvm_parser":
        return arc_templates("mod.lower[0]", "head.lower[0]+mod.lower[0]", "mod._.reading[0]")
    return templates("lower[0]", "lower[-1]", "lower[1]", "_.reading[0]")


def warned(caught) -> list[str]:
    return [str(warning.message) for warning in caught if "left out" in str(warning.message)]


@every
@pytest.mark.parametrize("broken", [misaligned, unreadable])
@pytest.mark.filterwarnings("ignore:.*which no training Doc has")
def test_a_corpus_loses_that_document_only(factory, broken, reading):
    """The weights are those of the corpus without it, in batches of any size; it is named once."""
    found = []
    for is_broken in (False, True):
        nlp = blank(factory, model=features(factory))
        examples = EXAMPLES[factory](nlp)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            corpus = [*examples[:PLACE], *[broken(nlp, factory)] * is_broken, *examples[PLACE:]]
            nlp.initialize(lambda: corpus)  # noqa: B023
            train(nlp, corpus, 2)
            for example in corpus:
                nlp.update([example], sgd=False)
        found.append(weights(nlp, factory))
        messages = warned(caught)
        assert len(messages) == is_broken
    assert found[0] == found[1]
    quoted = OTHER if broken is misaligned else BROKEN
    start = f"[{factory}] 1 of {len(corpus)} examples cannot be read and are left out: example {PLACE}, '{quoted}"
    assert messages[0].startswith(start)
    assert ("[E949]" if broken is misaligned else "no reading of this word") in messages[0]


@every
def test_a_broken_example_that_comes_later(factory):
    """What initialize has not seen is left out of its batch; a batch of nothing else teaches nothing."""
    nlp = blank(factory)
    teach(nlp, EXAMPLES[factory](nlp), 2)
    before = weights(nlp, factory)
    with pytest.warns(UserWarning, match=rf"\[{factory}\] 1 of 1 examples cannot be read .* example 0, '{OTHER}"):
        nlp.update([misaligned(nlp, factory)], sgd=False)
    assert weights(nlp, factory) == before


@every
def test_a_corpus_of_nothing_else_is_an_error(factory):
    nlp = blank(factory)
    with pytest.raises(ValueError, match="E949"):
        nlp.initialize(lambda: [misaligned(nlp, factory)])


def test_an_entity_among_the_incorrect_spans():
    nlp = blank("ssvm_ner", incorrect_spans_key="incorrect")
    examples = EXAMPLES["ssvm_ner"](nlp)
    reference = examples[PLACE].reference
    reference.spans["incorrect"] = [Span(reference, reference.ents[0].start, reference.ents[0].end, label="GPE")]
    with pytest.warns(UserWarning, match=rf"left out: example {PLACE}, 'New York calls.*among the incorrect spans"):
        nlp.initialize(lambda: examples)
    assert len(nlp.get_pipe("ssvm_ner").problem().data.starts) == len(examples)


FLAWED = [
    (None, "nsubj ROOT amod obj", r"a relation, but no head .*: 4, in example 0, .*token 0 \('Nothing'\)"),
    ([1, 1, 2, 1], "nsubj ROOT amod obj", r"no head .*: 1, in .*token 2 \('the'\)"),
    ([1, 1, None, 1], "nsubj ROOT amod obj", r"no head .*: 1, in .*token 2 \('the'\)"),
    ([1, 1, 3, 2], "nsubj ROOT amod obj", r"contain cycles.*: 1, in .*token 0 \('Nothing'\)"),
    ([1, 1, 3, 1], "nsubj pred amod obj", r"than ROOT.*: 1, in .*token 1 \('of'\)"),
    ([1, 1, 3, 1], "nsubj ROOT amod ROOT", r"relation ROOT.*: 1, in .*token 3 \('kind'\)"),
]


@pytest.mark.filterwarnings("ignore:.*(which no training Doc has|no gold head|tokenizer finds)")
@pytest.mark.parametrize(("heads", "labels", "complaint"), FLAWED)
def test_what_makes_trees_no_trees_is_named(heads, labels, complaint):
    """In the first examples, and in an update; said once of one example."""
    nlp = blank("ssvm_parser")
    examples = parser_examples(nlp)
    annotation = {"deps": labels.split(), **({"heads": heads} if heads else {})}
    flawed = Example.from_dict(doc(nlp, BROKEN), annotation)
    with pytest.warns(UserWarning, match=complaint):
        nlp.initialize(lambda: [flawed, *examples])
    nlp.initialize(lambda: examples)
    nlp.update(examples)
    with pytest.warns(UserWarning, match=complaint):
        nlp.update([flawed])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nlp.update([flawed])


def test_each_flawed_tree_is_named_however_many_there_were_before(monkeypatch):
    """Those that are remembered, so as not to be named again, are forgotten when they are too many."""
    monkeypatch.setattr("spacy_ssvm.pipeline.complaints.MAX_SAID", 3)
    nlp = blank("ssvm_parser")
    teach(nlp, parser_examples(nlp), 1)
    for number in [*range(10), 0]:
        with pytest.warns(UserWarning, match=rf"no head .*a{number}"):
            nlp.update([Example.from_dict(doc(nlp, f"a{number} b c"), {"deps": ["x", "ROOT", "y"]})])


def test_many_are_counted_and_the_first_named():
    nlp = blank("ssvm_tagger")
    examples = [*EXAMPLES["ssvm_tagger"](nlp), *(misaligned(nlp, "ssvm_tagger") for _ in range(5))]
    with pytest.warns(UserWarning, match=r"5 of 11 examples .* example 6, .* example 8, .*; and 2 more") as caught:
        nlp.initialize(lambda: examples)
    assert "example 9" not in " ".join(warned(caught))


@every
@pytest.mark.filterwarnings("ignore:.*(which no training Doc has|no sentence boundaries)")
def test_a_stream_loses_that_document_only(factory, reading, caplog):
    nlp = blank(factory, model=features(factory))
    teach(nlp, EXAMPLES[factory](nlp), 2)
    docs = [doc(nlp, f"Eat ham {k}") for k in range(300)]
    docs.insert(234, doc(nlp, BROKEN))
    with pytest.raises(RuntimeError, match="no reading"):
        list(nlp.pipe(docs))
    caplog.clear()
    failed = []
    nlp.set_error_handler(lambda name, proc, docs, error: failed.append((name, docs, type(error))))
    assert list(nlp.pipe(docs)) == docs[:234] + docs[235:]
    assert failed == [(factory, [docs[234]], RuntimeError)]
    (message,) = caplog.messages
    assert message.startswith(f"[{factory}] document 234 of the stream, '{BROKEN}") and "no reading" in message


def stored(nlp, tmp_path, columns, values) -> str:
    """A corpus of hundreds, one of which has annotation that no Doc can have."""
    docs = DocBin(docs=[doc(nlp, f"Eat ham {k}", tags=["A", "B", "C"], ents=["O", "B-X", "O"]) for k in range(200)])
    table = docs.tokens[123].copy()
    for column, value in zip(columns, values):
        table[:, docs.attrs.index(column)] = np.array(value, np.int64).astype(np.uint64)
    docs.tokens[123] = table
    docs.to_disk(tmp_path / "corpus.spacy")
    return tmp_path / "corpus.spacy"


@pytest.mark.parametrize("gold_preproc", [False, True])
@pytest.mark.parametrize(
    ("columns", "values", "reason"),
    [
        ([HEAD], [[0, 50, -2]], "E190"),
        ([ENT_IOB], [[2, 2, 7]], "E982"),
    ],
)
def test_a_file_loses_that_document_only(tmp_path, columns, values, reason, gold_preproc):
    nlp = spacy.blank("xx")
    path = stored(nlp, tmp_path, columns, values)
    with pytest.warns(
        UserWarning, match=rf"1 documents of .* left out: corpus.spacy, document 123, 'Eat ham 123.*{reason}"
    ):
        examples = list(create_corpus(path, gold_preproc=gold_preproc)(spacy.blank("xx")))
    texts = [example.reference.text.strip() for example in examples]
    assert texts == [f"Eat ham {k}" for k in range(200) if k != 123]


def test_a_document_that_cannot_be_cut_into_sentences(tmp_path):
    """Its entities, written past spaCy's checks, are read only then."""
    nlp = spacy.blank("xx")
    docs = [doc(nlp, "Eat ham . No !", sent_starts=[True, False, False, True, False]) for _ in range(3)]
    iob = np.array([[2, 0], [1, nlp.vocab.strings.add("PER")], [2, 0], [2, 0], [2, 0]], np.uint64)
    docs[1].from_array([ENT_IOB, ENT_TYPE], iob)
    DocBin(docs=docs).to_disk(tmp_path / "corpus.spacy")
    with pytest.warns(UserWarning, match=r"corpus.spacy, document 1, 'Eat ham . No !.*E093"):
        assert len(list(create_corpus(tmp_path / "corpus.spacy", gold_preproc=True)(spacy.blank("xx")))) == 4


def test_a_file_of_nothing_else_is_an_error(tmp_path):
    nlp = spacy.blank("xx")
    docs = DocBin(docs=[doc(nlp, "Eat ham")])
    docs.tokens[0][:, docs.attrs.index(HEAD)] = 50
    docs.to_disk(tmp_path / "corpus.spacy")
    with pytest.raises(ValueError, match=r"none of the documents .* can be read: .* document 0, 'Eat ham'.*E190"):
        list(create_corpus(tmp_path / "corpus.spacy")(spacy.blank("xx")))


@pytest.mark.parametrize(
    "fails", [f"{DocBin.__module__}.DocBin.get_docs", f"{SentenceCorpus.__module__}.SentenceCorpus._make_example"]
)
def test_memory_that_is_short_is_not_the_fault_of_a_document(fails, tmp_path, monkeypatch):
    DocBin(docs=[doc(spacy.blank("xx"), OTHER)] * 2).to_disk(tmp_path / "corpus.spacy")

    def short(*arguments, **settings):
        raise MemoryError

    monkeypatch.setattr(fails, short)
    with pytest.raises(MemoryError):
        list(create_corpus(tmp_path / "corpus.spacy")(spacy.blank("xx")))
