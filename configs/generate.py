"""Write configs/COMPONENT/SOLVER.cfg from templates/COMPONENT.cfg: filled, ready for `spacy train`.

python configs/generate.py [FOLDER], by default the folder of this file.
"""

import sys
import tempfile
from pathlib import Path

from spacy.cli.init_config import fill_config
from spacy.util import load_config

HERE = Path(__file__).parent
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
"""Solver parameters of components whose planes are of another size than those of sentences with a label a token."""


def generate(folder: Path) -> list[Path]:
    """Write all configs below `folder`, where the last component has the solver; returns their paths."""
    written = []
    for template in sorted((HERE / "templates").glob("*.cfg")):
        for name, solver in SOLVERS.items():
            config = load_config(template)
            component = config["nlp"]["pipeline"][-1]
            tuned = TUNED.get(component, {}).get(name, {})
            config["components"][component]["solver"] = {**solver, **tuned, "seed": "${system.seed}"}
            path = folder / template.stem / f"{name}.cfg"
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory() as scratch:
                base = Path(scratch) / "base.cfg"
                config.to_disk(base)
                fill_config(path, base, silent=True)
            written.append(path)
    return written


if __name__ == "__main__":
    for path in generate(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE):
        print(path)
