"""Word classes and gazetteers of components, from a config to the saved pipeline."""

import pytest
import spacy
from spacy.lookups import Lookups

from .toy import (
    LANG,
    SPANS,
    TAGGED,
    TREES,
    arc_templates,
    doc,
    ner_examples,
    parser_examples,
    tagger_examples,
    templates,
)

CLUSTERS = {"Oslo": 0b011, "Berlin": 0b011, "Anna": 0b1, "Tom": 0b1}


def lookups():
    """Clusters and another table, as `[initialize.lookups]` loads them."""
    tables = Lookups()
    tables.add_table("lexeme_cluster", CLUSTERS)
    tables.add_table("lexeme_norm", {"u": "you"})
    return tables


@pytest.fixture
def files(tmp_path):
    (tmp_path / "people.txt").write_text("Anna Berg\nTom\n", encoding="utf8")
    (tmp_path / "classes.txt").write_text("name\tAnna\nname\tTom\nverb\teat\nverb\tsaw\n", encoding="utf8")
    return tmp_path


def pipeline(files):
    """A tagger, an entity recogniser and a parser that read all kinds of resources, initialized."""
    given = {
        "clusters": {"table": {"@misc": "spacy-ssvm.LookupsClusters.v1"}},
        "classes": {"file": str(files / "classes.txt")},
        "gazetteers": {"people": str(files / "people.txt")},
    }
    texts = ["cluster.table[0]", "cluster2.table[0]", "class.file[0]", "gazetteer.people[0]"]
    arcs = [f"{role}.{text}" for text in texts for role in ("head", "mod")]
    nlp = spacy.blank(LANG)
    nlp.add_pipe("ssvm_tagger", config={"model": templates("bias", *texts, **given)})
    nlp.add_pipe("ssvm_ner", config={"model": templates("bias", *texts, **given)})
    trees = arc_templates(*arcs)
    trees["features"] |= given
    nlp.add_pipe("ssvm_parser", config={"model": trees})
    examples = {
        "ssvm_tagger": tagger_examples(nlp),
        "ssvm_ner": ner_examples(nlp),
        "ssvm_parser": parser_examples(nlp),
    }
    nlp.vocab.lookups = lookups()
    for name, component in nlp.components:
        component.initialize(lambda name=name: examples[name], nlp=nlp)
    return nlp, examples


def learn(nlp, examples):
    for _ in range(5):
        for name, component in nlp.components:
            component.update(examples[name])


def test_resources_are_saved_with_the_component(files, tmp_path):
    nlp, examples = pipeline(files)
    learn(nlp, examples)
    texts = [text for text, _ in (*TAGGED, *SPANS, *TREES)] + ["Tom eats in Oslo"]
    expected = [nlp(doc(nlp, text)).to_json() for text in texts]
    nlp.to_disk(tmp_path / "saved")
    for file in files.glob("*.txt"):
        file.unlink()
    again = spacy.load(tmp_path / "saved")
    assert [again(doc(again, text)).to_json() for text in texts] == expected
    findings = again.get_pipe("ssvm_ner").explain(doc(again, "Tom eats in Oslo")).findings
    features = {reason.feature for finding in findings for reason in finding.reasons}
    assert features & {"cluster.table[0] = 10", "class.file[0] = name", "gazetteer.people[0] = alone"}


def test_the_vocabulary_does_not_keep_the_words_of_gazetteers(files):
    (files / "people.txt").write_text("Anna Umbrecht\n", encoding="utf8")
    nlp, _ = pipeline(files)
    assert "Umbrecht" not in nlp.vocab.strings and "umbrecht" not in nlp.vocab.strings


def test_a_memory_zone_outlives_an_initialize(files):
    """Zones cannot be nested: the end of an inner one is that of the outer one."""
    nlp, examples = pipeline(files)
    with nlp.vocab.memory_zone():
        nlp.get_pipe("ssvm_ner").initialize(lambda: examples["ssvm_ner"], nlp=nlp)
        assert nlp.vocab.in_memory_zone
        nlp.vocab.strings.add("Transient")
    assert "Transient" not in nlp.vocab.strings


def test_a_table_moves_into_the_components_when_all_have_read_it(files):
    nlp, examples = pipeline(files)
    assert nlp.vocab.lookups.has_table("lexeme_cluster")
    learn(nlp, examples)
    assert nlp.vocab.lookups.tables == ["lexeme_norm"]
    assert [nlp.get_pipe(name).model.attrs["clusters"]["sources"].keys() for name in nlp.pipe_names] == [
        {"cluster.table", "class.file"}
    ] * 3
