"""What word types score is summed once: decoding with these sums is decoding with all features."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc, Token

from spacy_ssvm.features.extractor import Extractor
from spacy_ssvm.features.index import add_features, empty_table, look_up_features, n_rows, row_keys
from spacy_ssvm.models.chain import type_sums
from spacy_ssvm.models.chain import weights as chain_weights
from spacy_ssvm.models.chain.data import make_chains
from spacy_ssvm.models.chain.predictor import ChainPredictor
from spacy_ssvm.models.chain.scores import decode_sequences
from spacy_ssvm.models.chain.space import ChainSpace, TokenKinds
from spacy_ssvm.structures.chain.constraints import unconstrained

POOL = [
    "bias",
    "word[0]",
    "lower[0]",
    "lower[-1]",
    "lower[1]",
    "shape[0]",
    "shape[-1]",
    "suffix2[0]",
    "suffix1[2]",
    "has_digit[1]",
    "norm[0]",
    "tag[0]",
    "lower[-1]+lower[0]",
    "word[0]+shape[0]",
    "lower[-1]+suffix1[-1]",
    "tag[-1]+word[0]",
    "is_currency[0]",
    "prefix1[-3]",
    "length[-3]",
]
WORDS = ["a", "B", "ab", "A-1", "7", "$", ".", "x77"]
L = 3
SPACE = ChainSpace("tagger", {label: label for label in "abc"}, TokenKinds(L))
sentences = st.lists(st.lists(st.sampled_from(WORDS), max_size=7), min_size=1, max_size=5)


def nonzero(vector):
    indices = np.flatnonzero(vector)
    return indices, vector[indices]


class Drawn:
    """Templates, known documents, and weights of all their features, some of them zero."""

    def __init__(self, templates, texts, seed, hash_bits=None):
        self.vocab = spacy.blank("en").vocab
        rng = np.random.default_rng(seed)
        self.templates = templates
        self.extractor = Extractor(templates, {}, {})
        columns = self.extractor.reader.read(self.docs(texts), self.vocab)
        self.table, *_ = add_features(columns, self.extractor.program, empty_table(hash_bits))
        weights = rng.normal(size=L * L + L * n_rows(self.table)) * (rng.random(L * L + L * n_rows(self.table)) < 0.7)
        self.weights = weights.astype(np.float32)
        in_use = chain_weights.in_use(*nonzero(self.weights), row_keys(self.table), hash_bits or 0, L, None)
        self.decoder = ChainPredictor(self.extractor, SPACE, in_use, self.vocab)

    def docs(self, texts):
        return [Doc(self.vocab, words=words, tags=[f"T{len(word)}" for word in words]) for words in texts]

    def labels(self, texts):
        return self.labels_of(self.docs(texts))

    def labels_of(self, docs):
        return self.decoder(docs)()

    def expected(self, texts):
        """Without any sums kept."""
        columns = Extractor(self.templates, {}, {}).reader.read(self.docs(texts), self.vocab)
        starts, rows, values = look_up_features(columns, self.extractor.program, self.table)
        gold = np.zeros(int(columns.starts[-1]), np.int32)
        chains = make_chains(columns.starts, starts, rows, gold, unconstrained(L), values)
        return np.split(decode_sequences(chains, self.weights.astype(np.float64)), columns.starts[1:-1])


def assert_equal(found, expected):
    assert [labels.tolist() for labels in found] == [labels.tolist() for labels in expected]


@given(
    st.lists(st.sampled_from(POOL), min_size=1, max_size=10, unique=True),
    st.lists(sentences, min_size=2, max_size=4),
    st.integers(0, 2**16),
    st.sampled_from([None, 6]),
)
def test_labels_are_those_of_all_features(templates, batches, seed, hash_bits):
    """Batch after batch, with words that come back and words that are new."""
    drawn = Drawn(templates, batches[0], seed, hash_bits)
    for texts in [*batches, *batches]:
        assert_equal(drawn.labels(texts), drawn.expected(texts))


def test_sums_are_bounded(monkeypatch):
    monkeypatch.setattr(type_sums, "MAX_SCORES", 500)
    drawn = Drawn(["lower[0]", "shape[0]", "lower[-1]", "suffix1[-1]"], [WORDS], 0)
    for start in range(0, 3000, 30):
        texts = [[f"word{k}" for k in range(start, start + 30)], WORDS]
        assert_equal(drawn.labels(texts), drawn.expected(texts))
        assert sum(stored.vectors.size for stored in drawn.decoder._labeller.sums._stored.values()) <= 4 * 500


def test_a_decoder_can_be_shared_by_threads():
    drawn = Drawn(["lower[0]", "shape[0]", "lower[-1]", "suffix1[-1]", "lower[-1]+lower[0]"], [WORDS], 1)
    batches = [[[f"word{k % (7 + n)}{n % 5}" for k in range(20)], WORDS] for n in range(200)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(drawn.labels, batches))
    for labels, texts in zip(found, batches):
        assert_equal(labels, drawn.expected(texts))


def test_real_values_are_not_summed():
    """A feature that has the value of an extension is no function of the word type."""
    Token.set_extension("weight", default=0.5, force=True)
    drawn = Drawn(["lower[0]", "shape[0]", "_.weight[0]"], [WORDS], 2)
    docs = drawn.docs([WORDS])
    docs[0][1]._.weight = 40.0
    labels = drawn.labels_of(docs)
    assert len(drawn.extractor.split.rest.seeds) == 1
    columns = drawn.extractor.reader.read(docs, drawn.vocab)
    starts, rows, values = look_up_features(columns, drawn.extractor.program, drawn.table)
    assert values.max() == pytest.approx(40.0)
    chains = make_chains(columns.starts, starts, rows, np.zeros(len(WORDS), np.int32), unconstrained(L), values)
    assert labels[0].tolist() == decode_sequences(chains, drawn.weights.astype(np.float64)).tolist()
