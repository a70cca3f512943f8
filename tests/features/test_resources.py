"""Gazetteers, from their files to features."""

import numpy as np
import pytest
import srsly
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc
from thinc.api import Model, NumpyOps

from spacy_ssvm.features.extractor import Extractor
from spacy_ssvm.features.gazetteer import (
    FIRST,
    INSIDE,
    LAST,
    SINGLE,
    PatternFile,
    PhraseFile,
    TableColumn,
    compile_gazetteer,
    mark_phrases,
    pack_gazetteer,
    phrase_file,
    read_gazetteer,
    unpack_gazetteer,
)
from spacy_ssvm.features.index import add_features, empty_table
from spacy_ssvm.features.resources import check_gazetteers, load_gazetteers
from spacy_ssvm.features.sets import templates

from .reference import fired


def leftmost_longest(sequence, phrases):
    """The marks that a reader with a finger on the text would set."""
    marks = [0] * len(sequence)
    at = 0
    while at < len(sequence):
        length = max((len(p) for p in phrases if p and tuple(sequence[at : at + len(p)]) == tuple(p)), default=0)
        if length == 1:
            marks[at] = SINGLE
        elif length:
            marks[at : at + length] = [FIRST, *[INSIDE] * (length - 2), LAST]
        at += max(length, 1)
    return marks


def mark(sequences, phrases):
    table = unpack_gazetteer(pack_gazetteer(compile_gazetteer(np.array(phrase, np.uint64) for phrase in phrases)))
    lower = np.array([word for sequence in sequences for word in sequence], np.uint64)
    marks = np.zeros(len(lower), np.uint64)
    mark_phrases(table, np.cumsum([0, *map(len, sequences)]), lower, marks)
    return marks.tolist()


few_words = st.integers(2, 5)


@given(
    phrases=st.lists(st.lists(few_words, max_size=5), max_size=12),
    sequences=st.lists(st.lists(few_words, max_size=14), max_size=4),
)
def test_matches_are_leftmost_longest(phrases, sequences):
    expected = [mark for sequence in sequences for mark in leftmost_longest(sequence, phrases)]
    assert mark(sequences, phrases) == expected


def words_of(nlp):
    return lambda phrase: np.array([token.lower for token in nlp.make_doc(phrase)], np.uint64)


def extractor_of(nlp, texts, **files) -> Extractor:
    resources = templates(texts, **files).resources
    return Extractor(texts, load_gazetteers(resources.gazetteers, words_of(nlp)), {})


def keys_of(extractor, nlp, words) -> list[list[int]]:
    return extractor.reader.read([Doc(nlp.vocab, words=words)], nlp.vocab).keys.tolist()


@pytest.fixture
def cities(tmp_path):
    path = tmp_path / "cities.txt"
    path.write_text("New York\n\n  new york city \nBonn\nŁódź\nSt. John's\nYork\nagent\n", encoding="utf8")
    return path


def test_phrases_become_features(cities, nlp):
    pair = ["gazetteer.city[0]", "gazetteer.city[-1]+lower[0]"]
    extractor = extractor_of(nlp, pair, gazetteers={"city": cities})
    texts = ["NEW YORK CITY is not New York", "in łódź, St. John's or Bonn York", "New", "the Agent"]
    docs = [nlp.make_doc(text) for text in texts]
    columns = extractor.reader.read(docs, nlp.vocab)
    F, I, L, S = FIRST, INSIDE, LAST, SINGLE  # noqa: E741
    assert columns.keys[0].tolist() == [F, I, L, 0, 0, F, L, 0, S, 0, F, I, I, L, 0, S, S, 0, 0, S]

    marks = iter(columns.keys[0].tolist())
    mark_of = {(k, token.i): next(marks) for k, doc in enumerate(docs) for token in doc}
    expected = []
    for k, doc in enumerate(docs):
        values = {"gazetteer.city": lambda token, k=k: mark_of[k, token.i], "lower": lambda token: token.lower_}
        expected += fired(doc, pair, values)
    _, starts, rows, _ = add_features(columns, extractor.program, empty_table())
    assert np.diff(starts).tolist() == [len(found) for found in expected]
    flat = [feature for found in expected for feature in found]
    assert len(set(zip(rows.tolist(), flat))) == len(set(rows.tolist())) == len(set(flat))


def test_gazetteers_do_not_mix(tmp_path, nlp):
    for name, text in (("one", "a b\n"), ("two", "b\n")):
        (tmp_path / name).write_text(text)
    files = {name: tmp_path / name for name in ("one", "two")}
    extractor = extractor_of(nlp, ["gazetteer.one[0]", "gazetteer.two[0]"], gazetteers=files)
    assert keys_of(extractor, nlp, ["a", "b", "b"]) == [[FIRST, LAST, 0], [0, SINGLE, SINGLE]]


@pytest.mark.parametrize("content", [None, b"", b"\n  \n", b"\xff\xfe\x00bad"])
def test_unreadable_gazetteer_is_refused_by_name(content, tmp_path, nlp):
    path = tmp_path / "list.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=r'features\.gazetteers: .*"city"') as refusal:
        read_gazetteer("city", PhraseFile(path), words_of(nlp))
    assert str(path) in str(refusal.value)


def test_extractor_takes_gazetteers_as_a_model_file_gives_them_back(cities, nlp):
    given = load_gazetteers({"city": PhraseFile(cities)}, words_of(nlp))
    saved, loaded = (Model("gazetteers", None, attrs={"city": known}, ops=NumpyOps()) for known in (given["city"], []))
    loaded.from_bytes(saved.to_bytes())
    texts = ["gazetteer.city[0]"]
    made = [Extractor(texts, {"city": known}, {}) for known in (given["city"], loaded.attrs["city"])]
    keys = [keys_of(extractor, nlp, ["New", "York", "the", "agent"]) for extractor in made]
    assert np.array_equal(*keys) and np.count_nonzero(keys[0]) == 3


@pytest.mark.parametrize("damage", [lambda stored: b"", lambda stored: stored[:-1], lambda stored: stored + b"x", list])
def test_damaged_hashes_of_a_gazetteer_are_refused(damage):
    stored = pack_gazetteer(compile_gazetteer([np.array([2, 3], np.uint64)]))
    check_gazetteers({"city": stored})
    with pytest.raises(ValueError, match='damaged gazetteer "city"'):
        check_gazetteers({"city": damage(stored)})


@pytest.fixture
def patterns(tmp_path):
    path = tmp_path / "patterns.jsonl"
    lines = [
        {"label": "GPE", "pattern": "New York"},
        {"label": "GPE", "pattern": [{"LOWER": "san"}, {"TEXT": "José"}], "id": "sj"},
        {"label": "ORG", "pattern": [{"ORTH": "ACME"}]},
        {"label": "ORG", "pattern": [{"LOWER": "the"}, {"IS_TITLE": True, "OP": "+"}]},
        {"label": "ORG", "pattern": [{"LOWER": {"REGEX": "a.*"}}]},
    ]
    srsly.write_jsonl(path, lines)
    return path


def test_patterns_of_an_entity_ruler(patterns, nlp):
    assert PatternFile(patterns, ("GPE",))() == ["New York", ["san", "José"]]
    with pytest.warns(UserWarning, match=r"2 patterns in .*patterns\.jsonl are no phrases"):
        assert PatternFile(patterns)() == ["New York", ["san", "José"], ["ACME"]]
    extractor = extractor_of(nlp, ["gazetteer.g[0]"], gazetteers={"g": PatternFile(patterns, ("GPE",))})
    assert keys_of(extractor, nlp, ["SAN", "josé", "new", "york", "ACME"]) == [[FIRST, LAST, FIRST, LAST, 0]]


def test_columns_of_tables(tmp_path, nlp):
    (tmp_path / "cities.csv").write_text('name,country\n"Washington, DC",US\nOslo,NO\n,XX\n', encoding="utf8")
    (tmp_path / "cities.tsv").write_text("country\tname\nUS\tNew York\n", encoding="utf8")
    assert TableColumn(tmp_path / "cities.csv", "name")() == ["Washington, DC", "Oslo"]
    assert TableColumn(tmp_path / "cities.tsv", "name")() == ["New York"]
    extractor = extractor_of(nlp, ["gazetteer.g[0]"], gazetteers={"g": TableColumn(tmp_path / "cities.csv", "name")})
    assert keys_of(extractor, nlp, ["oslo", "New", "York"]) == [[SINGLE, 0, 0]]


def test_determiners_may_be_missing(tmp_path, nlp):
    (tmp_path / "names").write_text("The Hague\nthe\nOslo\n", encoding="utf8")
    extractor = extractor_of(nlp, ["gazetteer.g[0]"], gazetteers={"g": phrase_file(tmp_path / "names", ["The"])})
    words = ["the", "Hague", ".", "Hague", "OSLO"]
    assert keys_of(extractor, nlp, words) == [[FIRST, LAST, 0, SINGLE, SINGLE]]


@pytest.mark.parametrize(
    ("name", "content", "source", "complaint"),
    [
        ("a.jsonl", '\n{"label": "A"}\n', PatternFile, r"a\.jsonl, line 2"),
        ("a.jsonl", "\nx\n", PatternFile, r"a\.jsonl, line 2"),
        ("a.jsonl", '{"label": "A", "pattern": 7}\n', PatternFile, r"a\.jsonl, line 1"),
        ("a.jsonl", '["A"]\n', PatternFile, r"a\.jsonl, line 1"),
        ("a.jsonl", "", PatternFile, "has no phrase"),
        ("a.csv", "x,y\n1,2\n", lambda path: TableColumn(path, "name"), r'no column "name" but x, y'),
        ("a.csv", "", lambda path: TableColumn(path, "name"), r'no column "name" but none'),
        ("a.csv", "name\n \n", lambda path: TableColumn(path, "name"), "has no phrase"),
    ],
)
def test_sources_that_cannot_be_read(name, content, source, complaint, tmp_path, nlp):
    (tmp_path / name).write_text(content, encoding="utf8")
    with pytest.raises(ValueError, match=rf'features\.gazetteers: "g".*{complaint}'):
        read_gazetteer("g", source(tmp_path / name), words_of(nlp))
