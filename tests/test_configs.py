"""The configs of the repository are what their generator writes, and what spaCy takes."""

import importlib.util
from pathlib import Path

import pytest
from spacy.cli.debug_config import debug_config
from spacy.util import load_config, load_model_from_config, registry

CONFIGS = Path(__file__).parents[1] / "configs"
PATHS = sorted(path.relative_to(CONFIGS) for path in CONFIGS.glob("*/*.cfg") if path.parent.name != "templates")
SAMPLE = [path for path in PATHS if path.stem == "dcd" or path.parent.name == "tagger"]
"""Every template and every solver; `pytest -m slow` has all combinations."""


def generator():
    spec = importlib.util.spec_from_file_location("generate", CONFIGS / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_configs_are_what_the_generator_writes(tmp_path):
    written = generator().generate(tmp_path)
    assert sorted(path.relative_to(tmp_path) for path in written) == PATHS
    for path in PATHS:
        assert (CONFIGS / path).read_text() == (tmp_path / path).read_text(), path


def test_each_of_the_generators_solvers_has_a_config_for_every_component():
    configs = [load_config(CONFIGS / path) for path in PATHS]
    solvers = {config["components"][config["nlp"]["pipeline"][-1]]["solver"]["@ssvm_solvers"] for config in configs}
    assert solvers == {solver["@ssvm_solvers"] for solver in generator().SOLVERS.values()}
    assert solvers <= set(registry.ssvm_solvers.get_all())
    assert len(PATHS) == len(solvers) * len(generator().TEMPLATES)


@pytest.mark.parametrize(
    "path", [pytest.param(path, marks=[] if path in SAMPLE else pytest.mark.slow, id=str(path)) for path in PATHS]
)
def test_spacy_takes_the_config(path):
    overrides = {"paths.train": "train.spacy", "paths.dev": "dev.spacy"}
    debug_config(CONFIGS / path, overrides=overrides)
    nlp = load_model_from_config(load_config(CONFIGS / path, overrides={"system.seed": 7}))
    assert all(pipe.solver.seed == 7 for _, pipe in nlp.pipeline)
