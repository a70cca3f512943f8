"""`spacy ssvm init-config` writes the configs of the repository, and configs that spaCy takes."""

import importlib.util

import pytest
from spacy.cli.debug_config import debug_config
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import load_config, load_config_from_str, load_model_from_config, registry

from spacy_ssvm.cli.settings import TUNED

from ..corpora import ROOT
from .calling import call, refusal, said

CONFIGS = ROOT / "configs"
PATHS = sorted(path.relative_to(CONFIGS) for path in CONFIGS.glob("*/*.cfg"))
SAMPLE = [path for path in PATHS if path.stem == "dcd"]
"""Every pipeline; `pytest -m slow` has all solvers, too."""


def generator():
    spec = importlib.util.spec_from_file_location("generate", CONFIGS / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def written(*arguments):
    return load_config_from_str(call("init-config", "-", *arguments).stdout)


@pytest.mark.parametrize("folders", [("tagger",), pytest.param((), marks=pytest.mark.slow)])
def test_configs_are_what_the_generator_writes(folders, tmp_path, monkeypatch):
    module = generator()
    if folders:
        monkeypatch.setattr(module, "PIPELINES", {name: module.PIPELINES[name] for name in folders})
        monkeypatch.setattr(module, "SOLVERS", ("dcd",))
    written = sorted(path.relative_to(tmp_path) for path in module.generate(tmp_path))
    assert set(written) <= set(PATHS) and len(written) == (2 if folders else len(PATHS))
    for path in written:
        assert (CONFIGS / path).read_text() == (tmp_path / path).read_text(), path


def test_each_of_the_generators_solvers_has_a_config_for_every_component():
    configs = [load_config(CONFIGS / path) for path in PATHS]
    solvers = [{block["solver"]["@ssvm_solvers"] for block in config["components"].values()} for config in configs]
    assert all(len(found) == 1 for found in solvers), "the components of a config learn by the same solver"
    assert set.union(*solvers) <= set(registry.ssvm_solvers.get_all())
    assert len(PATHS) == len(set.union(*solvers)) * (len(generator().PIPELINES) + 1)


@pytest.mark.parametrize(
    "path", [pytest.param(path, marks=[] if path in SAMPLE else pytest.mark.slow, id=str(path)) for path in PATHS]
)
def test_spacy_takes_the_config(path):
    overrides = {"paths.train": "train.spacy", "paths.dev": "dev.spacy"}
    debug_config(CONFIGS / path, overrides=overrides)
    nlp = load_model_from_config(load_config(CONFIGS / path, overrides={"system.seed": 7}))
    assert all(pipe.solver.seed == 7 for _, pipe in nlp.pipeline)


# The command


@pytest.mark.parametrize("folder, pipeline", [("ner", "ner"), ("pipeline", "parser,ssvm_senter")])
def test_the_command_writes_the_file_of_the_repository(folder, pipeline, tmp_path):
    path = tmp_path / "new" / "config.cfg"
    said("init-config", path, "--pipeline", pipeline, "--solver", "dcd_light")
    assert path.read_text() == (CONFIGS / folder / "dcd_light.cfg").read_text()
    assert call("init-config", "-", "-p", pipeline, "-s", "DCDLight").stdout == path.read_text() + "\n"


def test_the_language_is_that_of_the_option():
    english, other = written("-p", "ner"), written("-p", "ner", "-l", "xx")
    assert other["nlp"].pop("lang") == "xx" and english["nlp"].pop("lang") == "en"
    assert other == english


def test_components_are_in_the_order_of_their_needs():
    config = written("-p", "tagger, parser,ner,senter,ner")
    assert config["nlp"]["pipeline"] == ["senter", "tagger", "pos_tagger", "parser", "ner"]
    assert written()["nlp"]["pipeline"] == config["nlp"]["pipeline"]
    weights = {key: weight for key, weight in config["training"]["score_weights"].items() if weight}
    assert weights == {"las": 0.5, "ents_f": 0.5}
    assert not config["corpora"]["train"]["gold_preproc"], "a senter learns from documents"


def test_a_morphologizer_leaves_coarse_tags_to_their_tagger():
    config = written("-p", "morphologizer,parser")
    assert config["nlp"]["pipeline"] == ["tagger", "pos_tagger", "morphologizer", "parser"]
    assert not config["components"]["morphologizer"]["overwrite"]
    assert written("-p", "morphologizer")["components"]["morphologizer"]["overwrite"]


@pytest.mark.parametrize(
    "pipeline, expected",
    [
        ("tagger", {"tag_acc": 1.0}),
        ("pos_tagger", {"pos_acc": 1.0}),
        ("tagger,pos_tagger", {"tag_acc": 0.5, "pos_acc": 0.5}),
        ("pos_tagger,ner", {"pos_acc": 0.5, "ents_f": 0.5}),
        ("pos_tagger,morphologizer", {"pos_acc": 0.75, "morph_acc": 0.25}),
        ("lemmatizer", {"lemma_acc": 1.0}),
        ("parser", {"las": 1.0}),
    ],
)
def test_scores_that_taggers_report_are_weighed(pipeline, expected):
    weights = written("-p", pipeline)["training"]["score_weights"]
    assert {key: weight for key, weight in weights.items() if weight} == expected


COMPONENTS = ["senter", "tagger", "pos_tagger", "morphologizer", "lemmatizer", "parser", "ner", "chunker"]


@pytest.mark.parametrize("name", COMPONENTS)
def test_a_section_can_be_pasted_for_each_setting_that_a_section_can_give(name):
    text = call("init-config", "-", "-p", name).stdout
    sections = {
        f"components.{name}.patterns": {"@readers": "srsly.read_json.v1", "path": "rules.json"},
        f"components.{name}.label_costs": {"X": 0.5},
        f"components.{name}.model.features.gazetteers": {"city": "cities.txt"},
        f"components.{name}.model.features.clusters": {"@misc": "spacy-ssvm.ClassFile.v1", "path": "classes.tsv"},
        f"components.{name}.model.features.classes": {"own": "classes.tsv"},
        "corpora.train.augmenter": {"@augmenters": "spacy.lower_case.v1", "level": 0.1},
    }
    if name == "parser":
        del sections["components.parser.label_costs"]
    if name == "senter":  # It has costs of its own.
        assert "[components.senter.label_costs]" in text
        del sections["components.senter.label_costs"]
    pasted = [text]
    for section, settings in sections.items():
        pasted += ["", f"[{section}]", *(f"{key} = {value!r}".replace("'", '"') for key, value in settings.items())]
    config = load_config_from_str("\n".join(pasted))
    for section, settings in sections.items():
        found = config
        for part in section.split("."):
            found = found[part]
        assert found == settings
    load_model_from_config(load_config_from_str(text))


@pytest.mark.parametrize("solver", sorted(registry.ssvm_solvers.get_all()))
def test_parsers_of_every_solver_can_be_trained(solver):
    """Some need what trees of order 3 do not have, such as exact marginals."""
    nlp = load_model_from_config(written("-p", "parser", "-s", solver))
    parser = nlp.get_pipe("parser")
    gold = Doc(nlp.vocab, ["She", "sings", "songs"], heads=[1, 1, 1], deps=["nsubj", "ROOT", "obj"])
    parser.initialize(lambda: [Example(Doc(nlp.vocab, ["She", "sings", "songs"]), gold)], nlp=nlp)
    assert "nsubj" in parser.labels


@pytest.mark.parametrize("solver", sorted(registry.ssvm_solvers.get_all()))
def test_every_registered_solver_can_be_named(solver):
    nlp = load_model_from_config(written("-p", "tagger", "-s", solver))
    for name, pipe in nlp.pipeline:
        default = nlp.get_factory_meta(f"ssvm_{name}").default_config["solver"]
        if default["@ssvm_solvers"] == solver:
            tuned = {key: value for key, value in default.items() if key[0] != "@"}
        else:
            tuned = TUNED.get(solver, {}).get(name) or TUNED.get(solver, {}).get("others", {})
        assert pipe.solver == registry.ssvm_solvers.get(solver)(**tuned, seed=0)


def test_a_file_is_overwritten_only_by_force(tmp_path):
    path = tmp_path / "config.cfg"
    path.write_text("mine")
    assert "--force" in refusal("init-config", path, "-p", "ner") and path.read_text() == "mine"
    said("init-config", path, "-p", "ner", "-F")
    assert path.read_text() == (CONFIGS / "ner" / "dcd.cfg").read_text()


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        (["-p", "ner,nerr,textcat"], "no component nerr, textcat; name one or more of senter, tagger"),
        (["-p", ","], "no component is named"),
        (["-p", "chunker,ner"], "a chunker reads gold tags"),
        (["-s", "adam"], "no solver adam; name one of cpd, dca"),
    ],
)
def test_what_the_command_cannot_write_is_explained(arguments, complaint, tmp_path):
    path = tmp_path / "config.cfg"
    assert complaint in refusal("init-config", path, *arguments) and not path.exists()


def test_a_parser_without_senter_is_pointed_out(tmp_path):
    assert "finds no sentences" in said("init-config", tmp_path / "1.cfg", "-p", "parser")
    assert "finds no sentences" not in said("init-config", tmp_path / "2.cfg")
