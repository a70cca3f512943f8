"""Write configs/COMPONENT/SOLVER.cfg: filled configs, ready for `spacy train`.

python configs/generate.py [FOLDER], by default the folder of this file.
"""

import sys
import tempfile
from functools import reduce
from pathlib import Path

from spacy.cli.init_config import fill_config
from spacy.util import load_config
from thinc.api import Config

HERE = Path(__file__).parent
TEMPLATES = {
    "chunker": ("base", "chunker"),
    "ner": ("base", "ner"),
    "parser": ("base", "parser"),
    "pipeline": ("base", "senter", "parser", "pipeline"),
    "senter": ("base", "senter"),
    "tagger": ("base", "tagger"),
}
"""The files of `templates` that each config is merged from. A later file overrides an earlier one."""
SOLVERS: dict[str, dict[str, str | float]] = {
    "dcd": {"@ssvm_solvers": "spacy-ssvm.DCD.v1", "C": 0.1},
    "dcd_light": {"@ssvm_solvers": "spacy-ssvm.DCDLight.v1", "C": 0.1},
    "sap": {"@ssvm_solvers": "spacy-ssvm.SAP.v1", "C": 0.2, "rho1": 0.4, "rho2": 0.6},
    "mira": {"@ssvm_solvers": "spacy-ssvm.MIRA.v1", "C": 0.01},
    "perceptron": {"@ssvm_solvers": "spacy-ssvm.Perceptron.v1"},
    "sgd": {"@ssvm_solvers": "spacy-ssvm.SGD.v1", "C": 0.1},
}
TUNED: dict[str, dict[str, dict[str, float]]] = {
    "parser": {
        "dcd": {"C": 0.03},
        "dcd_light": {"C": 0.03},
        "sap": {"C": 0.03, "rho1": 0.003, "rho2": 1.0},
        "mira": {"C": 0.1},
        "sgd": {"C": 0.03},
    },
    "senter": {
        "dcd": {"C": 0.03},
        "dcd_light": {"C": 0.03},
        "sap": {"C": 0.1, "rho1": 0.03, "rho2": 1.0},
        "mira": {"C": 0.03},
        "sgd": {"C": 0.03},
    },
}
"""Solver parameters of components whose planes are not of the size of a sentence with one label per token."""


def override(config: Config, other: Config) -> Config:
    """Set the values of another config; sections and keys keep their order, unlike in `Config.merge`."""
    for key, value in other.items():
        config[key] = override(config[key], value) if isinstance(value, dict) and key in config else value
    return config


def make(templates: tuple[str, ...], solver: str) -> Config:
    """Merge the templates. The last component of the pipeline gets the solver, those before it get DCD."""
    config = reduce(override, (load_config(HERE / "templates" / f"{name}.cfg") for name in templates))
    *before, last = config["nlp"]["pipeline"]
    for component, name in [*((component, "dcd") for component in before), (last, solver)]:
        tuned = TUNED.get(component, {}).get(name, {})
        config["components"][component]["solver"] = {**SOLVERS[name], **tuned, "seed": "${system.seed}"}
    return config


def generate(folder: Path) -> list[Path]:
    """Write all configs below a folder; returns their paths."""
    written = []
    for component, templates in TEMPLATES.items():
        for solver in SOLVERS:
            path = folder / component / f"{solver}.cfg"
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory() as scratch:
                unfilled = Path(scratch) / "config.cfg"
                make(templates, solver).to_disk(unfilled)
                fill_config(path, unfilled, silent=True)
            written.append(path)
    return written


if __name__ == "__main__":
    for path in generate(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE):
        print(path)
