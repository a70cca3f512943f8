"""Write configs/FOLDER/SOLVER.cfg as `spacy ssvm init-config` does.

python configs/generate.py [FOLDER], by default the folder of this file.
"""

import sys
from pathlib import Path

from spacy_ssvm.cli.corpus_choices import FULL
from spacy_ssvm.cli.init_config import config_for
from spacy_ssvm.cli.settings import make_config

PIPELINES = {
    "chunker": "chunker",
    "lemmatizer": "lemmatizer",
    "morphologizer": "morphologizer",
    "ner": "ner",
    "parser": "parser",
    "pipeline": "senter,parser",
    "senter": "senter",
    "tagger": "tagger",
}
"""Folder → the components that `--pipeline` names."""
TREEBANK = "ud"
"""The folder of configs for treebanks that annotate everything, as `--treebank` writes them, without paths."""
SOLVERS = ("dcd", "dcd_light", "sap", "mira", "perceptron", "sgd")


def generate(folder: Path) -> list[Path]:
    """Write all configs below a folder; returns their paths."""
    written = []
    for name in (*PIPELINES, TREEBANK):
        for solver in SOLVERS:
            config = make_config(PIPELINES[name].split(","), solver) if name in PIPELINES else config_for(FULL, solver)
            path = folder / name / f"{solver}.cfg"
            path.parent.mkdir(parents=True, exist_ok=True)
            config.to_disk(path, interpolate=False)
            written.append(path)
    return written


if __name__ == "__main__":
    for path in generate(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent):
        print(path)
