"""Word classes, from their sources to features."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.strings import get_string_id
from spacy.tokens import Doc
from spacy.vectors import Vectors
from spacy.vocab import Vocab
from thinc.api import Model, NumpyOps

from spacy_ssvm.features.attributes import ClassPart
from spacy_ssvm.features.extractor import Extractor
from spacy_ssvm.features.resources import load_classes
from spacy_ssvm.features.sets import templates
from spacy_ssvm.features.word_classes import (
    ClassFile,
    Lexicon,
    LookupsClusters,
    VectorClasses,
    WordClasses,
    pack_classes,
)


def by_key(classes):
    return {get_string_id(word): name for word, name in classes.items()}


@pytest.fixture
def brown(tmp_path):
    path = tmp_path / "brown.txt"
    path.write_text("0010\tthe\t999\n0011\tagent\n\n01\tNOUN\n0110\tParis\n0111\tparis\n10\t00th\n", encoding="utf8")
    return path


def keys_of(nlp, texts, words, **sources) -> list[list[int]]:
    resources = templates(texts, **sources).resources
    extractor = Extractor(texts, {}, load_classes(resources.classes, nlp.vocab))
    return extractor.reader.read([Doc(nlp.vocab, words=words)], nlp.vocab).keys.tolist()


def assert_same_partition(keys, names):
    """Words have no key where they have no class, and equal keys where their classes are equal."""
    assert [key == 0 for key in keys] == [not name for name in names]
    assert [[a == b for b in keys] for a in keys] == [[a == b for b in names] for a in names]


def test_clusters_and_their_prefixes(brown, nlp):
    words = ["the", "The", "agent", "NOUN", "noun", "Paris", "PARIS", "unknown", "19TH", "20th"]
    clusters = ["0010", "0010", "0011", "01", "", "0110", "0111", "", "10", "10"]
    found = keys_of(nlp, ["cluster[0]", "cluster3[0]", "cluster1[0]", "cluster20[0]"], words, clusters=brown)
    for keys, prefix in zip(found, (None, 3, 1, 20)):
        assert_same_partition(keys, [cluster[:prefix] for cluster in clusters])


def test_sources_do_not_mix(brown, tmp_path, nlp):
    (tmp_path / "other.txt").write_text("7\tThe\n8\tagent\n", encoding="utf8")
    (tmp_path / "tags.txt").write_text("the\tDET\nagent\tNOUN\nagent\tVERB\nagent\tNOUN\n", encoding="utf8")
    sources = {"a": brown, "b": tmp_path / "other.txt"}
    classes = {"tags": Lexicon(tmp_path / "tags.txt")}
    texts = ["cluster.a[0]", "cluster.b[0]", "class.tags[0]", "cluster1.a[0]"]
    words = ["the", "The", "agent", "Paris"]
    found = keys_of(nlp, texts, words, clusters=sources, classes=classes)
    expected = [["0010", "0010", "0011", "0110"], ["", "7", "8", ""], ["DET", "DET", "NOUN|VERB", ""], ["0"] * 4]
    for keys, names in zip(found, expected):
        assert keys == [get_string_id(name) if name else 0 for name in names]


def test_a_word_in_two_classes_is_refused(tmp_path, nlp):
    (tmp_path / "brown.txt").write_text("0\tthe\n1\tof\n0\tthe\n\n1\tthe\n", encoding="utf8")
    with pytest.raises(ValueError, match=r'line 5 of .*brown\.txt puts "the" into the class 1, line 1 into 0'):
        ClassFile(tmp_path / "brown.txt")(nlp.vocab)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "cannot read"),
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"\n01 of\n", "brown.txt, line 2: this is not .*'01 of'"),
        (b"\n\n\tof\n", "brown.txt, line 3: "),
        (b"\n\xff\t\xfe", "brown.txt, line 2: this is not text in UTF-8"),
    ],
)
@pytest.mark.parametrize("source", [ClassFile, Lexicon])
def test_unreadable_files_are_refused(source, content, complaint, tmp_path):
    path = tmp_path / "brown.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"word classes: .*{complaint}"):
        source(path)(Vocab())


paths = st.text("01", min_size=1, max_size=12)


@given(clusters=st.dictionaries(st.text("abc", min_size=1, max_size=4), paths, min_size=1))
def test_spacys_table_of_clusters(clusters):
    """Its numbers are the bit strings read backwards, so that zeros at their end are lost."""
    numbers = {word: int(path[::-1], 2) for word, path in clusters.items()}
    vocab = Vocab()
    vocab.lookups.add_table("lexeme_cluster", numbers)
    known = {word: path for word, path in clusters.items() if numbers[word]}
    if not known:
        with pytest.raises(ValueError, match=r"spacy-lookups-data.*lexeme_cluster"):
            LookupsClusters()(vocab)
        return
    length = max(path.rindex("1") + 1 for path in known.values())
    expected = {word: path.rstrip("0").ljust(length, "0") for word, path in known.items()}
    assert LookupsClusters()(vocab) == by_key(expected)


def test_classes_of_vectors_are_by_direction():
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(0)
    directions = np.eye(4, dtype=np.float32)[rng.integers(4, size=200)]
    lengths = rng.uniform(0.1, 9, (200, 1)).astype(np.float32)
    vectors = (directions + rng.normal(0, 0.02, (200, 4)).astype(np.float32)) * lengths
    vocab = Vocab()
    for number, vector in enumerate(vectors):
        vocab.set_vector(f"w{number}", vector)
    vocab.set_vector("nothing", np.zeros(4, np.float32))
    found = VectorClasses(4)(vocab)
    names = [found[get_string_id(f"w{number}")] for number in range(200)]
    true = directions.argmax(1).tolist()
    assert len(set(zip(names, true))) == len(set(names)) == 4
    assert get_string_id("nothing") not in found and VectorClasses(4)(vocab) == found


def test_classes_of_a_floret_table_are_those_of_the_words_named(tmp_path):
    """The table gives any word a vector; the classes are those of the same vectors in a table of words."""
    pytest.importorskip("sklearn")
    data = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    floret = Vocab()
    floret.vectors = Vectors(mode="floret", data=data, minn=2, maxn=3, hash_count=2, strings=floret.strings)
    listed = [f"{first}{second}" for first in "abcdefgh" for second in "uvwxyz"]
    path = tmp_path / "words.txt"
    path.write_text("\n".join([*listed, "", "au"]), encoding="utf8")
    found = VectorClasses(5, words=path)(floret)
    plain = Vocab()
    ordered = sorted(listed, key=get_string_id)
    for word, vector in zip(ordered, floret.vectors.get_batch(ordered)):
        plain.set_vector(word, vector)
    expected = VectorClasses(5)(plain)
    assert found.keys() == set(map(get_string_id, listed)) and found == expected
    assert len(set(found.values())) == 5
    with pytest.raises(ValueError, match=r"floret table.*words = FILE"):
        VectorClasses(5)(floret)
    with pytest.raises(ValueError, match=r"word classes: cannot read .*nowhere"):
        VectorClasses(5, words=tmp_path / "nowhere")(floret)


def test_words_that_are_to_get_a_class_by_their_vectors(tmp_path):
    pytest.importorskip("sklearn")
    vocab = Vocab()
    for number, word in enumerate("abcd"):
        vocab.set_vector(word, np.eye(4, dtype=np.float32)[number])
    path = tmp_path / "words.txt"
    path.write_text("a\nc\nother\n", encoding="utf8")
    assert VectorClasses(4, words=path)(vocab).keys() == {get_string_id("a"), get_string_id("c")}


def test_vectors_that_are_not_there():
    pytest.importorskip("sklearn")
    with pytest.raises(ValueError, match=r"no vectors of these words.*initialize\.vectors"):
        VectorClasses()(Vocab())
    vocab = Vocab()
    vocab.set_vector("a", np.ones(2, np.float32))
    with pytest.raises(ValueError, match="n_classes must be at least 1, not 0"):
        VectorClasses(0)(vocab)


words = st.text("aAb19", min_size=1, max_size=3)
known_words = st.dictionaries(words, st.sampled_from(["0", "01", "011", "1"]))


@given(sources=st.dictionaries(st.sampled_from(["cluster.a", "class.b"]), known_words), asked=st.lists(words))
def test_packed_classes_are_those_of_a_dictionary(sources, asked):
    stored = pack_classes({source: by_key(known) for source, known in sources.items()})
    saved, loaded = (Model("classes", None, attrs={"it": each}, ops=NumpyOps()) for each in (stored, {}))
    loaded.from_bytes(saved.to_bytes())
    classes = WordClasses(loaded.attrs["it"])
    assert classes.n_words == len({word for known in sources.values() for word in known})
    for source, known in sources.items():
        names, written = [], []
        for word in asked:
            zeros = "".join("0" if c.isdigit() else c for c in word)
            forms = (word, word.lower(), zeros, zeros.lower())
            names.append(next((known[form] for form in forms if form in known), ""))
            assert classes.class_of(source, word) == names[-1]
            written.append(list(map(get_string_id, forms)))
        prefixes = [0, 1, 2]
        keys = [[get_string_id(name[: prefix or None]) if name else 0 for name in names] for prefix in prefixes]
        parts, of_forms = [ClassPart(source, prefix) for prefix in prefixes], np.array(written, np.uint64)
        assert classes.keys(parts, of_forms.reshape(-1, 4).T).tolist() == keys


good = pack_classes({"cluster": {1 << 40: "0", 2 << 40: "1"}})


def changed(**parts):
    return {**good, **parts}


@pytest.mark.parametrize(
    "stored",
    [
        {"words": np.array([1, 2], np.uint64), "names": ["0", "1"]},
        {"hashes": good["hashes"]},
        changed(hashes=good["hashes"][:-3]),
        changed(hashes=good["hashes"] + b"more"),
        changed(hashes=7),
        changed(hashes=pack_classes({"cluster": {1 << 40: "0"}})["hashes"]),
        changed(sources={"cluster": [["0"], good["sources"]["cluster"][1]]}),
        changed(sources={"cluster": [["0", 1], good["sources"]["cluster"][1]]}),
        changed(sources={"cluster": [["0", "1"]]}),
        changed(sources=[1]),
    ],
)
def test_damaged_classes_are_refused(stored):
    WordClasses(good)
    with pytest.raises(ValueError, match="damaged word classes"):
        WordClasses(stored)
