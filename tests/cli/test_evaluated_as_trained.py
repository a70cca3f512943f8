"""Scores of `spacy ssvm evaluate` are those of training: of the saved pipeline, on the same corpus, read alike."""

import random
import re
import shutil
from functools import cache
from pathlib import Path

import pytest
import spacy
import srsly
from spacy.tokens import DocBin, Span
from spacy.training import Corpus
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from spacy.util import registry

from spacy_ssvm.cli.settings import config_of
from spacy_ssvm.corpus.reader import create_corpus

from .calling import refusal, said

SCORES = {
    "senter": "sents_f",
    "tagger": "tag_acc",
    "morphologizer": "morph_acc",
    "lemmatizer": "lemma_acc",
    "parser": "las",
    "ner": "ents_f",
}
"""The components and what each is scored by."""


def sentences(seed, n):
    """Sentences in CoNLL-U with multi-word tokens and others that spaCy's tokenizer divides, in short documents."""
    choose = random.Random(seed).choice
    texts = []
    for number in range(n):
        who, verb = choose(["Ada", "Bo", "Cy", "Di"]), choose(["sold", "cut", "ate", "saw"])
        what, amount = choose(["rice", "oats", "figs", "cuts"]), choose(["2kg", "30kg", "4kg"])
        rows = [
            (who, who, "PROPN", "NNP", "Number=Sing", 2, "nsubj"),
            (verb, verb[:2], "VERB", "VBD", "Tense=Past", 0, "root"),
            ("of", "of", "ADP", choose(["IN", "IN", "RP"]), "_", 5, "case"),
            ("the", "the", "DET", "DT", "_", 5, "det"),
            (what, what.rstrip("s"), "NOUN", "NNS", "Number=Plur", choose([2, 6]), "obj"),
            (amount, amount, "NUM", "CD", "_", 2, "nummod"),
            (".", ".", "PUNCT", ".", "_", 2, "punct"),
        ]
        lines = ["# newdoc"] if number % 5 == 0 else []
        for k, (form, lemma, upos, xpos, feats, head, deprel) in enumerate(rows, 1):
            if form == "of":
                lines.append("3-4\tofthe" + "\t_" * 8)
            lines.append("\t".join([str(k), form, lemma, upos, xpos, feats, str(head), deprel, "_", "_"]))
        texts.append("\n".join(lines))
    return "".join(f"{text}\n\n" for text in texts)


def with_names(doc):
    """The Doc with its proper nouns as entities."""
    doc.ents = [Span(doc, token.i, token.i + 1, "NAME") for token in doc if token.pos_ == "PROPN"]
    return doc


def in_format(path, suffix, merge_subtokens):
    """The .conllu file, or one in .spacy of the documents that it holds."""
    if suffix == ".conllu":
        return path
    file = path.with_name(f"{path.stem}{'-merged' * merge_subtokens}.spacy")
    if not file.exists():
        examples = create_corpus(path, merge_subtokens=merge_subtokens)(spacy.blank("xx"))
        DocBin(docs=[with_names(example.reference) for example in examples]).to_disk(file)
    return file


def learnable(path):
    """The components that a file has annotation for."""
    examples = create_corpus(path)(spacy.blank("xx"))
    return [name for name in SCORES if name != "ner" or any(example.reference.ents for example in examples)]


def config_for(folder, components, reader, suffix=".conllu", lang="xx", packing=()):
    """The config of a pipeline with these components, whose corpora have these settings."""
    config = config_of(components, "dcd", lang, read={})
    for part, corpus in config["corpora"].items():
        corpus.update({"gold_preproc": False, **reader})
        merge = bool(reader.get("merge_subtokens"))
        config["paths"][part] = str(in_format(folder / f"{part}.conllu", suffix, merge))
    for name, component in config["components"].items():
        component.update(packing)
        if name == "parser":
            component["model"]["features"].update(hash_bits=12, label_hash_bits=8)
    config["training"]["max_epochs"] = 2
    return config


def trained(config, folder):
    """The folder of the best pipeline of a training run, and its scores in training."""
    folder.mkdir(parents=True)
    train(init_nlp(config), folder)
    meta = srsly.read_json(folder / "model-best" / "meta.json")
    return folder / "model-best", meta["performance"]


def evaluated(model, path, *arguments):
    """The scores by `spacy ssvm evaluate`, and what it prints, without line breaks."""
    file = model / "scores.json"
    output = said("evaluate", model, path, "--output", file, *arguments)
    scores = srsly.read_json(file)
    scores.pop("speed", None)
    return scores, output


@registry.readers("evaluated_as_trained.Shouting.v1")
def shouting(path: Path, loud: bool = True):
    """A reader of somebody else's, with words in capitals."""

    def read(nlp):
        for example in Corpus(path)(nlp):
            words = [token.text.upper() if loud else token.text for token in example.reference]
            example.predicted = spacy.tokens.Doc(nlp.vocab, words=words)
            yield spacy.training.Example(example.predicted, example.reference)

    return read


@registry.readers("evaluated_as_trained.Elsewhere.v1")
def elsewhere(source: str):
    return Corpus(source)


@registry.readers("evaluated_as_trained.Both.v1")
def both(train: Path, dev: Path):
    return {"train": Corpus(train), "dev": Corpus(dev)}


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    """train and dev, .conllu and .spacy, of which the second has entities, too."""
    folder = tmp_path_factory.mktemp("corpora")
    for part, seed, n in (("train", 0, 40), ("dev", 1, 20)):
        (folder / f"{part}.conllu").write_text(sentences(seed, n), "utf8")
        in_format(folder / f"{part}.conllu", ".spacy", False)
    return folder


@pytest.fixture(scope="module")
def pipeline(corpora, tmp_path_factory):
    """All components, trained on gold tokens and evaluated on texts; the parser reads tags."""
    config = config_for(corpora, list(SCORES), {}, ".spacy")
    config["corpora"]["train"].update(gold_tokens=True, columns=["tag"])
    return trained(config, tmp_path_factory.mktemp("pipeline") / "out")[0]


@pytest.fixture(scope="module")
def as_it_is(pipeline, corpora):
    """The scores of the pipeline by its own config, on each format."""
    return {suffix: evaluated(pipeline, corpora / f"dev{suffix}")[0] for suffix in (".conllu", ".spacy")}


loaded = cache(spacy.load)


def with_config(pipeline, folder, change):
    """A copy of the pipeline whose config is changed, and the config."""
    config = loaded(pipeline).config.copy()
    change(config)
    shutil.copytree(pipeline, folder / "model")
    config.to_disk(folder / "model" / "config.cfg")
    return folder / "model", config


def with_corpus(pipeline, folder, block, name="corpora.dev"):
    """The pipeline with this section as training.dev_corpus, and the config."""

    def change(section):
        section["training"]["dev_corpus"] = name
        *parents, last = name.split(".")
        for part in parents:
            section = section.setdefault(part, {})
        section[last] = block

    return with_config(pipeline, folder, change)


def read_with(pipeline, folder, block, name="corpora.dev"):
    """The same pipeline, and its scores on that corpus, found and read as training does."""
    model, config = with_corpus(pipeline, folder, block, name)
    nlp = loaded(pipeline)
    (corpus,) = spacy.util.resolve_dot_names(config.interpolate(), [name])
    scores = srsly.json_loads(srsly.json_dumps(nlp.evaluate(corpus(nlp))))
    del scores["speed"]
    return model, scores


@pytest.mark.parametrize(
    "suffix, settings, shown",
    [
        (".spacy", {}, 'by "spacy-ssvm.Corpus.v1" ℹ Gold tokens: no'),
        (".conllu", {"gold_tokens": True, "merge_subtokens": True}, "gold_tokens = true, merge_subtokens = true"),
        (".spacy", {"gold_preproc": True, "max_length": 7}, "max_length = 7"),
        (
            ".spacy",
            {"gold_tokens": True, "columns": ["tag"]},
            'columns = ["tag"] ℹ Gold tokens: yes; gold columns given ',
        ),
        (".conllu", {"jackknife": ["tag"], "folds": 2, "seed": 3}, 'jackknife = ["tag"], folds = 2, seed = 3'),
        (".spacy", {"augmenter": {"@augmenters": "spacy.lower_case.v1", "level": 1.0}}, '"spacy.lower_case.v1"'),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_all_settings_of_the_reader_hold(pipeline, corpora, as_it_is, tmp_path, suffix, settings, shown):
    path = corpora / f"dev{suffix}"
    block = {"@readers": "spacy-ssvm.Corpus.v1", "path": str(path), **settings}
    model, expected = read_with(pipeline, tmp_path, block)
    found, output = evaluated(model, path)
    assert found == expected
    assert shown in output
    if set(settings) - {"jackknife", "folds", "seed"}:
        assert found != as_it_is[suffix]


@pytest.mark.parametrize(
    "name, block",
    [
        ("corpora.dev", {"@readers": "spacy.Corpus.v1", "gold_preproc": True, "max_length": 9}),
        ("corpora.held_out", {"@readers": "spacy.Corpus.v1", "gold_preproc": False, "limit": 2}),
        ("corpora.some.dev", {"@readers": "evaluated_as_trained.Shouting.v1"}),
        ("corpora.dev", {"@readers": "evaluated_as_trained.Shouting.v1", "loud": False}),
    ],
)
def test_any_reader_under_any_name(pipeline, corpora, tmp_path, name, block):
    path = corpora / "dev.spacy"
    model, expected = read_with(pipeline, tmp_path, {**block, "path": str(path)}, name)
    found, output = evaluated(model, path)
    assert found == expected
    assert f"is read as {name}" in output


def test_spacys_reader_of_another_format(pipeline, corpora, tmp_path):
    """Its settings are those of ours."""
    block = {"@readers": "spacy.Corpus.v1", "path": "dev.spacy", "gold_preproc": True, "max_length": 0}
    model, _ = with_corpus(pipeline, tmp_path, block)
    found, output = evaluated(model, corpora / "dev.conllu")
    assert found["token_acc"] == 1.0 and 'as corpora.dev by "spacy-ssvm.Corpus.v1": gold_preproc = true' in output


@pytest.mark.parametrize(
    "block",
    [
        None,
        {"@readers": "evaluated_as_trained.Elsewhere.v1", "source": "somewhere"},
        {"path": "dev.spacy", "gold_preproc": True},
        {"@readers": "evaluated_as_trained.Both.v1", "train": "train.spacy", "dev": "dev.spacy"},
    ],
)
def test_without_a_reader_with_a_path_ours_is_used(pipeline, corpora, as_it_is, tmp_path, block):
    def change(config):
        if block is None:
            del config["corpora"]
        elif "train" in block:  # one section that makes both corpora
            config["corpora"] = block
        else:
            config["corpora"]["dev"] = block

    model, _ = with_config(pipeline, tmp_path, change)
    found, output = evaluated(model, corpora / "dev.conllu")
    assert found == as_it_is[".conllu"]
    assert "training.dev_corpus of the pipeline's config, corpora.dev, is no reader with a path:" in output


def test_a_limit_holds_for_its_own_corpus(pipeline, corpora, tmp_path, monkeypatch):
    """Which can be named by another path."""
    block = {"@readers": "spacy-ssvm.Corpus.v1", "path": str(corpora / "dev.conllu"), "limit": 2}
    model, expected = read_with(pipeline, tmp_path, block)
    monkeypatch.chdir(corpora)
    found, _ = evaluated(model, "dev.conllu")
    assert found["tag_acc"] == expected["tag_acc"]
    all_, output = evaluated(model, "train.conllu")
    assert all_["tag_acc"] == evaluated(pipeline, "train.conllu")[0]["tag_acc"]
    assert "limit = 0 in place of 2" in output


@pytest.mark.parametrize(
    "settings, arguments, shown, same",
    [
        ({"gold_tokens": True}, ["--no-gold-preproc"], ["gold_tokens = false in place of true", "Gold tokens: no"], {}),
        ({"gold_tokens": True}, ["--gold-preproc"], ["gold_preproc = true in place of "], {"gold_preproc": True}),
        ({"columns": ["pos"]}, ["--column", "tag"], ['columns = ["tag"] in place of ["pos"]'], {"columns": ["tag"]}),
        (
            {"jackknife": ["tag", "pos"]},
            ["--column", "tag"],
            ['jackknife = ["pos"] in place of ["tag","pos"]', 'columns = ["tag"]'],
            {"columns": ["tag"], "jackknife": ["pos"]},
        ),
    ],
)
def test_what_is_overridden_is_said(pipeline, corpora, tmp_path, settings, arguments, shown, same):
    path = corpora / "dev.conllu"
    block = {"@readers": "spacy-ssvm.Corpus.v1", "path": str(path)}
    model, _ = with_corpus(pipeline, tmp_path, block | settings)
    found, output = evaluated(model, path, *arguments)
    (tmp_path / "same").mkdir()
    _, expected = read_with(pipeline, tmp_path / "same", block | same)
    assert found == expected
    assert all(text in output for text in shown)


@pytest.mark.parametrize(
    "block, arguments, complaint",
    [
        ({"@readers": "evaluated_as_trained.Shouting.v1"}, ["--column", "tag"], "no setting columns to override"),
        ({"@readers": "evaluated_as_trained.Shouting.v1"}, ["-G"], "no setting gold_preproc to override"),
        ({"@readers": "nobodys.Corpus.v1"}, [], "there is no such reader: name the file that registers it with --code"),
        ({"@readers": "spacy-ssvm.Corpus.v1", "folds": 1}, [], "folds must be at least 2"),
    ],
)
def test_what_cannot_be_read_so_is_explained(pipeline, corpora, tmp_path, block, arguments, complaint):
    model, _ = with_corpus(pipeline, tmp_path, {**block, "path": "dev.spacy"})
    for command in (["evaluate"], ["evaluate", "--conll18"], ["report"], ["calibrate"]):
        if command[0] != "evaluate" and arguments:
            continue
        more = [] if command[0] == "evaluate" else [tmp_path / "out"]
        assert complaint in refusal(*command, model, corpora / "dev.spacy", *more, *arguments)


def test_the_report_and_the_shared_task_read_so_too(pipeline, corpora, tmp_path):
    path = corpora / "dev.conllu"
    block = {"@readers": "spacy-ssvm.Corpus.v1", "path": str(path), "gold_tokens": True, "merge_subtokens": True}
    model, expected = read_with(pipeline, tmp_path, block)
    assert "gold_tokens = true, merge_subtokens = true" in said("report", model, path, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf8")
    assert all(f"{100 * expected[name]:.2f}" in page for name in ("token_acc", "tag_acc", "las"))
    pytest.importorskip("udtools.udeval", reason="the extra ud is not installed")
    shared, _ = evaluated(model, path, "--conll18")
    assert shared["Words"]["f"] == 1.0
    for name, score in (("XPOS", "tag_acc"), ("Lemmas", "lemma_acc"), ("UAS", "uas"), ("Sentences", "sents_f")):
        assert shared[name]["f"] == pytest.approx(expected[score]), name
    given, output = evaluated(model, path, "--conll18", "--gold-preproc")
    assert given["Sentences"]["f"] == 1.0 and "gold_preproc = true in place of false" in output
    raw, output = evaluated(model, path, "--conll18", "--no-gold-preproc")
    assert raw["Words"]["f"] < 1.0 and "Gold tokens: no" in output


def test_calibrate_leaves_out_what_it_cannot_calibrate(pipeline, corpora, tmp_path):
    """The parser is of order 3, the corpus has no entities, and the lemmatizer is always right."""
    path, out = corpora / "dev.conllu", tmp_path / "out"
    block = {"@readers": "spacy-ssvm.Corpus.v1", "path": str(path), "gold_tokens": True, "columns": ["pos"]}
    model, expected = read_with(pipeline, tmp_path, block)
    output = said("calibrate", model, path, out)
    assert 'gold_tokens = true, columns = ["pos"]' in output
    left_out = ["lemmatizer", "morphologizer", "ner", "parser", "senter"]
    assert output.count("5 components cannot be calibrated") == 1
    assert all(f"[{name}] " in output for name in left_out) and "[tagger] " not in output
    assert "[parser] trees of order 3 have no exact sums" in output
    assert "[ner] there is nothing to calibrate it on" in output
    nlp = spacy.load(out)
    assert [name for name, pipe in nlp.pipeline if pipe.has_probabilities] == ["tagger"]
    assert nlp.get_pipe("tagger").inverse_temperature == pytest.approx(
        spacy.load(model).get_pipe("tagger").calibrate(create_corpus(path, columns=["pos"], gold_tokens=True)(nlp)).beta
    )
    assert evaluated(out, path)[0] == expected


def test_calibrate_measures_what_it_can(pipeline, corpora, tmp_path):
    """A corpus to measure on that lacks tags; then nothing is left to calibrate."""
    path = corpora / "dev.conllu"
    block = {"@readers": "spacy-ssvm.Corpus.v1", "path": str(path), "gold_tokens": True}
    model, _ = with_corpus(pipeline, tmp_path, block)
    bare = re.sub(r"(\t(?:NNP|VBD|IN|RP|DT|NNS|CD|\.)\t)(?=[^\t]*\t\d+\t)", "\t_\t", path.read_text("utf8"))
    (tmp_path / "bare.conllu").write_text(bare, "utf8")
    output = refusal("calibrate", model, path, tmp_path / "out", "--held-out", tmp_path / "bare.conllu")
    assert not (tmp_path / "out").exists()
    assert "[tagger] there is nothing to measure the calibration on" in output
    assert output.count("is read as corpora.dev") == 2
    # What is named and cannot be calibrated is an error.
    for named in (["parser"], ["tagger", "ner"]):
        arguments = [word for one in named for word in ("--component", one)]
        complaint = refusal("calibrate", model, path, tmp_path / "out", *arguments)
        assert f"[{named[-1]}] " in complaint and not (tmp_path / "out").exists()


def test_a_corpus_that_cannot_be_read_is_no_fault_of_a_component(pipeline, tmp_path):
    (tmp_path / "bad.conllu").write_text("1\tonly\n", "utf8")
    output = refusal("calibrate", pipeline, tmp_path / "bad.conllu", tmp_path / "out")
    assert output.count("none of the sentences of") == 1


@pytest.mark.parametrize(
    "suffix, packing", [(".spacy", {}), (".conllu", {"weight_dtype": "int8", "keep_fraction": 0.5})]
)
def test_scores_are_those_of_training(corpora, tmp_path, suffix, packing):
    """Of exact and of compressed components."""
    reader = {"gold_tokens": True, "merge_subtokens": suffix == ".conllu", "max_length": 30}
    components = learnable(corpora / f"train{suffix}")
    config = config_for(corpora, components, reader, suffix, packing=packing)
    model, in_training = trained(config, tmp_path / "out")
    found, _ = evaluated(model, config["paths"]["dev"])
    names = [SCORES[name] for name in components]
    assert all(found[name] == pytest.approx(in_training[name], abs=1e-9) for name in names)
    assert any(found[name] < 1.0 for name in names), "not all predictions are right"
