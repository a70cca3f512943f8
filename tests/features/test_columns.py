from operator import attrgetter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.attrs import MORPH
from spacy.strings import hash_string
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_ssvm.features.attributes import ANNOTATION_ATTRIBUTES, TOKEN_ATTRIBUTES, TYPE_ATTRIBUTES
from spacy_ssvm.features.columns import ColumnReader

from .reference import VALUES

EVERY = [*TOKEN_ATTRIBUTES, *TYPE_ATTRIBUTES, *ANNOTATION_ATTRIBUTES, "morph.Number"]

SPACY_KEYS = {
    name: attrgetter(name) for name in ["lower", "norm", "shape", "tag", "pos", "lemma", "dep", "ent_type", "ent_iob"]
} | {
    "word": attrgetter("orth"),
    "length": len,
    "morph": lambda token: token.morph.key if token.has_morph() else 0,
}


def read(docs, attributes, nlp):
    columns = ColumnReader(attributes, {}, {}).read(docs, nlp.vocab)
    assert columns.starts.tolist() == np.cumsum([0, *map(len, docs)]).tolist()
    return columns


@pytest.mark.parametrize("attribute", EVERY)
def test_equal_values_have_equal_keys_and_no_value_has_key_zero(attribute, annotated, nlp):
    keys = read([annotated], [attribute], nlp).keys[0].tolist()
    values = [VALUES[attribute](token) for token in annotated]
    assert len({value for value in values if value}) == len({key for key in keys if key})
    assert len(set(zip(keys, values))) == len(set(keys))
    assert [key == 0 for key in keys] == [value in (None, False, 0, "") for value in values]
    assert any(keys)


@pytest.mark.parametrize("attribute", SPACY_KEYS)
def test_keys_of_spacys_attributes_are_spacys_own(attribute, annotated, nlp):
    assert read([annotated], [attribute], nlp).keys[0].tolist() == [SPACY_KEYS[attribute](t) for t in annotated]


def test_empty_docs_and_no_docs(nlp):
    empty, space, plain = (Doc(nlp.vocab, words=words) for words in ([], [" "], ["a", "b"]))
    assert read([], EVERY, nlp).keys.shape == (len(EVERY), 0)
    assert read([empty], EVERY, nlp).keys.shape == (len(EVERY), 0)
    apart = [read([doc], EVERY, nlp).keys for doc in (empty, space, empty, plain, empty)]
    assert np.array_equal(read([empty, space, empty, plain, empty], EVERY, nlp).keys, np.concatenate(apart, axis=1))


@pytest.fixture
def room(nlp, extensions):
    """Reads a Doc whose tokens have these values of an extension, behind one without."""
    extensions(room=None)

    def columns(values, attributes=("_.room",)):
        doc = Doc(nlp.vocab, words=[f"w{k}" for k in range(len(values))])
        for token, value in zip(doc, values):
            token._.room = value
        return read([Doc(nlp.vocab, words=["before"]), doc], attributes, nlp)

    return columns


def test_extension_values_are_categories(room):
    """NumPy's scalars are what they hold; None and False are no values."""
    values = ["a", "b", "a", 1, 2, 1, True, True, "1", "True", ""]
    scalars = {np.str_("a"): "a", np.int64(3): 3, np.uint8(2): 2, np.True_: True}
    keys = room([*values, *scalars, None, False, np.False_]).keys[0].tolist()
    assert [key == 0 for key in keys] == [True, *[False] * (len(values) + len(scalars)), *[True] * 3]
    values += scalars.values()
    equal = [[type(a) is type(b) and a == b for b in values] for a in values]
    assert [[a == b for b in keys[1:-3]] for a in keys[1:-3]] == equal


def test_floats_are_values_of_one_feature(room):
    values = [0.5, -2.0, 0.0, np.float32(0.25), np.float64(3)]
    columns = room(values, ("lower", "_.room"))
    assert columns.reals.dtype == np.float32
    assert columns.reals[0, 1:].tolist() == [0.5, -2.0, 0.0, 0.25, 3.0]
    assert len(set(columns.keys[1, 1:].tolist())) == 1 and columns.keys[1, 1] != 0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -np.inf, np.float32("nan"), 1e300])
def test_value_that_is_not_finite_is_refused_where_it_stands(value, room):
    with pytest.raises(ValueError, match=r'token 1 \("w1"\) of Doc 1 in the batch: _\.room .*not finite'):
        room([0.5, value])


@pytest.mark.parametrize("value", [b"a", ["a"], 1j, object()])
def test_value_of_a_wrong_type_is_refused_where_it_stands(value, room):
    with pytest.raises(ValueError, match=rf'token 0 \("w0"\) of Doc 1 .*_\.room is of type {type(value).__name__}'):
        room([value])


def test_unregistered_extension_is_refused(nlp):
    with pytest.raises(ValueError, match=r"_\.nowhere, but the extension is not registered.*Token\.set_extension"):
        read([Doc(nlp.vocab, words=["a"])], ["_.nowhere"], nlp)


@pytest.mark.parametrize(
    ("attributes", "changing"),
    [
        (EVERY[:8], False),
        (["lower", "tag"], True),
        (["_.room"], True),
        (["sent_start"], True),
        (["morph.Number"], True),
        (["morph", "morph.Number"], True),
    ],
)
def test_what_other_components_can_change_is_known(attributes, changing, nlp, extensions):
    extensions(room=1)
    reader = ColumnReader(attributes, {}, {})
    doc = Doc(nlp.vocab, words=["a", "b"])
    before = reader.read_annotation(doc)
    assert reader.read_annotation(doc.copy()) == before
    doc[1].tag_, doc[1].is_sent_start, doc[1]._.room = "NN", True, 2
    doc[1].set_morph("Number=Sing")
    assert (reader.read_annotation(doc) != before) is changing


def test_morphological_features_are_read_one_by_one(nlp):
    doc = Doc(nlp.vocab, words=list("abcd"), morphs=["Case=Nom|Number=Sing", "Case=Nom", "", "Number=Plur,Sing"])
    reader = ColumnReader(["lower", "morph.Case", "tag", "morph.Number"], {}, {})
    assert reader.annotation == ["tag", "morph"]
    columns, _, others = reader.read_types([doc, doc[1:3].as_doc()], nlp.vocab, [MORPH])
    case, number = columns.keys[[1, 3]].tolist()
    assert case == [*[hash_string("Nom")] * 2, 0, 0, hash_string("Nom"), 0]
    assert number == [hash_string("Sing"), 0, 0, hash_string("Plur,Sing"), 0, 0]
    assert others[:, 0].tolist() == [token.morph.key if token.has_morph() else 0 for token in [*doc, *doc[1:3]]]


@given(st.lists(st.lists(st.text(min_size=1, max_size=6), max_size=6), max_size=4))
def test_any_text_is_read_as_spacy_reads_it(texts):
    vocab = Vocab()
    docs = [Doc(vocab, words=words) for words in texts]
    keys = ColumnReader(["word", "lower", "length", "is_space"], {}, {}).read(docs, vocab).keys
    tokens = [token for doc in docs for token in doc]
    assert keys.T.tolist() == [[t.orth, t.lower, len(t.text), int(t.is_space)] for t in tokens]
