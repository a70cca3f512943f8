from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc

from spacy_ssvm.features.columns import ColumnReader
from spacy_ssvm.features.index import Columns, add_features, empty_table, look_up_features, n_rows, row_keys, table_of
from spacy_ssvm.features.templates import attributes_of, compile_templates, parse_templates

from .reference import VALUES, fired

SINGLES = "bias word[0] lower[-1] lower[1] shape[2] suffix3[0] suffix3[-1] prefix2[1] has_digit[0] has_space[-1] tag[0]"
PAIRS = "lower[-1]+lower[0] lower[0]+lower[1] lower[-2]+lower[-1] word[-1]+is_punct[0] suffix1[0]+prefix1[0]"
OTHERS = "lower[-1]+lower[0]+lower[1] has_upper[0]+has_upper[1] tag[-1]+tag[0] pos[1] word[-100] word[100]"
RARE = "length[-3]+length[3] is_space[0]+is_space[1] short_shape[0]+short_shape[1]+short_shape[2]"
POOL = " ".join([SINGLES, PAIRS, OTHERS, RARE]).split()


class Extraction:
    """Templates compiled, and read from Docs."""

    def __init__(self, templates, vocab):
        self.templates = list(templates)
        self.vocab = vocab
        parsed = parse_templates(self.templates)
        self.reader = ColumnReader(attributes_of(parsed), {}, {})
        self.program = compile_templates(parsed, self.reader.attributes)

    def add(self, docs, table):
        table, *features = add_features(self.reader.read(docs, self.vocab), self.program, table)
        return table, per_token(*features)

    def look_up(self, docs, table):
        return per_token(*look_up_features(self.reader.read(docs, self.vocab), self.program, table))

    def expected(self, docs):
        return [features for doc in docs for features in fired(doc, self.templates)]


def per_token(starts, rows, values):
    assert starts[0] == 0 and starts[-1] == len(rows) == len(values)
    assert (values == 1).all()
    return [rows[a:b].tolist() for a, b in pairwise(starts)]


def assert_same_partition(rows, features):
    """Each token has a row for each feature that fires; equal rows are equal features, and the other way round."""
    assert [len(token) for token in rows] == [len(token) for token in features]
    pairs = {(row, feature) for r, f in zip(rows, features) for row, feature in zip(r, f)}
    assert len(pairs) == len({row for row, _ in pairs}) == len({feature for _, feature in pairs})


words = st.sampled_from(["a", "b", "A", "a-1", " ", ".", "abc", "7"])
sentences = st.lists(st.tuples(st.lists(words, max_size=6), st.integers(0, 2**16)), max_size=4)


def documents(sentences, vocab):
    docs = []
    for sentence, seed in sentences:
        rng = np.random.default_rng(seed)
        tags = [["", "NN", "VB"][k] for k in rng.integers(3, size=len(sentence))]
        spaces = [bool(k) for k in rng.integers(2, size=len(sentence))]
        docs.append(Doc(vocab, words=sentence, tags=tags, spaces=spaces))
    return docs


@given(templates=st.lists(st.sampled_from(POOL), min_size=1, max_size=8, unique=True), sentences=sentences)
def test_features_are_those_of_the_reference(nlp, templates, sentences):
    extraction = Extraction(templates, nlp.vocab)
    docs = documents(sentences, nlp.vocab)
    table, rows = extraction.add(docs, empty_table())
    expected = extraction.expected(docs)
    assert_same_partition(rows, expected)
    assert n_rows(table) == len({feature for features in expected for feature in features})
    assert sorted({row for token in rows for row in token}) == list(range(n_rows(table)))
    assert extraction.look_up(docs, table) == rows


@given(sentences=sentences, cut=st.integers(0, 4))
def test_unknown_features_are_left_out_of_predictions(nlp, sentences, cut):
    extraction = Extraction(POOL, nlp.vocab)
    docs = documents(sentences, nlp.vocab)
    table, trained = extraction.add(docs[:cut], empty_table())
    row_of = {feature: row for r, f in zip(trained, extraction.expected(docs[:cut])) for row, feature in zip(r, f)}
    known = [[row_of[feature] for feature in features if feature in row_of] for features in extraction.expected(docs)]
    assert extraction.look_up(docs, table) == known
    assert extraction.look_up(docs, table_of(row_keys(table), 0)) == known


def test_every_attribute_in_templates(annotated, nlp):
    extraction = Extraction([f"{name}[{k}]" for name in VALUES for k in (-1, 0)], nlp.vocab)
    _, rows = extraction.add([annotated], empty_table())
    assert_same_partition(rows, extraction.expected([annotated]))


def test_rows_do_not_depend_on_the_order_of_templates(nlp):
    docs = documents([(["a", "abc", "7", "."], 1), (["A", "b"], 2)], nlp.vocab)
    keys = []
    for templates in (POOL, POOL[::-1]):
        table, _ = Extraction(templates, nlp.vocab).add(docs, empty_table())
        keys.append(set(row_keys(table).tolist()))
    assert keys[0] == keys[1]


def columns_of(keys, lengths):
    return Columns(
        np.cumsum([0, *lengths]), np.ascontiguousarray(keys, np.uint64), np.zeros((0, keys.shape[1]), np.float32)
    )


def test_index_grows_over_many_and_over_long_sequences():
    program = compile_templates(parse_templates(["word[0]", "word[-1]+word[0]", "word[-1]+word[0]+word[1]"]), ["word"])
    rng = np.random.default_rng(0)
    lengths = [*rng.integers(0, 60, 3000).tolist(), 70_000, 0, 5]
    keys = rng.integers(1, 20_000, (1, sum(lengths)), dtype=np.uint64)
    table, *whole = add_features(columns_of(keys, lengths), program, empty_table())
    starts = np.cumsum([0, *lengths])
    columns = keys[0].tolist()
    distinct = set()
    for first, end in pairwise(starts):
        inside = columns[first:end]
        padded = ["outside", *inside, "outside"]
        for k, word in enumerate(inside):
            distinct |= {(word,), (padded[k], word), (padded[k], word, padded[k + 2])}
    assert n_rows(table) == len(distinct) == len(np.unique(row_keys(table)))
    assert len(table.keys) >= 2 * n_rows(table)

    parts = empty_table()
    pieces = []
    for first, end in ((0, 1000), (1000, 1001), (1001, 3002), (3002, 3003)):
        chunk = keys[:, starts[first] : starts[end]]
        parts, *features = add_features(columns_of(chunk, lengths[first:end]), program, parts)
        pieces.append(features[1])
    assert np.array_equal(np.concatenate(pieces), whole[1])
    assert np.array_equal(row_keys(parts), row_keys(table))
    found = look_up_features(columns_of(keys, lengths), program, table_of(row_keys(table), 0))
    assert all(np.array_equal(a, b) for a, b in zip(found, whole))


@pytest.fixture
def pool(nlp):
    """All templates, and Docs of the same words with various annotation."""
    return Extraction(POOL, nlp.vocab), documents(
        [(["a", "abc", "7", ".", " "], seed) for seed in range(20)], nlp.vocab
    )


@pytest.mark.parametrize("bits", [1, 5, 18, 30])
def test_hashed_rows_are_the_low_bits_of_the_exact_keys(bits, pool):
    extraction, docs = pool
    exact, rows = extraction.add(docs, empty_table())
    keys = row_keys(exact)
    low = [[int(keys[row]) % 2**bits for row in token] for token in rows]
    assert extraction.look_up(docs, empty_table(bits)) == low
    table, hashed = extraction.add(docs, empty_table(bits))
    assert hashed == low and n_rows(table) == 2**bits


def test_hashed_rows_that_were_kept_keep_their_place(pool):
    """A model file leaves out rows without weights: of the rest, row r is the r-th that was kept."""
    extraction, docs = pool
    hashed = extraction.look_up(docs, empty_table(10))
    used = np.unique([row for token in hashed for row in token])
    kept = used[::2]
    pruned = table_of((kept + 1).astype(np.uint64), 10)
    place = {row: k for k, row in enumerate(kept.tolist())}
    assert extraction.look_up(docs, pruned) == [[place[row] for row in token if row in place] for token in hashed]


@pytest.mark.parametrize(
    ("templates", "expected"),
    [
        ("_.weight[0]", [[0.5], [], [], [1.0], [7.0]]),
        ("lower[0]+_.weight[0]", [[0.5], [], [], [1.0], [7.0]]),
        ("_.weight[0]+_.heat[1]", [[-1.0], [], [], [2.0], [7.0]]),
        ("_.weight[-1]", [[1.0], [0.5], [], [], [1.0]]),
        ("_.heat[0]+_.weight[0] _.weight[0]", [[1.5, 0.5], [], [], [4.0, 1.0], [14.0, 7.0]]),
    ],
)
def test_values_of_extensions_multiply(templates, expected, nlp, extensions):
    """Numbers share a row, and 0 is no value; other values have rows of their own, each worth 1."""
    extensions(weight=None, heat=1.0)
    parsed = parse_templates(templates.split())
    doc = Doc(nlp.vocab, words=["a", "b", "c", "d", "a"])
    for token, (weight, heat) in zip(doc, [(0.5, 3.0), (None, -2.0), (0.0, 1.0), ("red", 4.0), (7.0, 2.0)]):
        token._.weight, token._.heat = weight, heat
    reader = ColumnReader(attributes_of(parsed), {}, {})
    program = compile_templates(parsed, reader.attributes)
    _, starts, rows, values = add_features(reader.read([doc], nlp.vocab), program, empty_table())
    assert [values[a:b].tolist() for a, b in pairwise(starts)] == expected
    assert templates != "_.weight[0]" or rows.tolist() == [0, 1, 0]
