"""Every solver and order of the parser on tagged corpora: CONFIG_FOLDER DATA OUTPUT [SOLVER …].

One JSON line a run, as `train.py` prints it.
"""

import sys
from pathlib import Path

from .train import options, parser_alone, train

SOLVERS = ("dcd", "dcd_light", "sap", "mira", "perceptron", "sgd")


def main() -> None:
    configs, data, output, *chosen = sys.argv[1:]
    for order in (1, 2, 3):
        for solver in chosen or SOLVERS:
            overrides = {
                **parser_alone("tag", "pos"),
                "paths.train": f"{data}/ewt-train-tagged.spacy",
                "paths.dev": f"{data}/ewt-dev-tagged.spacy",
                "components.parser.model.order": order,
            }
            train(Path(configs) / f"{solver}.cfg", Path(output) / f"{solver}-{order}", options(overrides))


if __name__ == "__main__":
    main()
