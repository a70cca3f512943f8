"""Every solver and order of the parser on tagged corpora: CONFIG_FOLDER DATA OUTPUT [SOLVER …].

One JSON line a run, as `accuracy.train` prints it.
"""

import argparse
from pathlib import Path

from shared.training import options, parser_alone

from .train import train

SOLVERS = ("dcd", "dcd_light", "sap", "mira", "perceptron", "sgd")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("configs", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("solvers", nargs="*", metavar="SOLVER", choices=[*SOLVERS, []], help=", ".join(SOLVERS))
    given = parser.parse_args()
    for order in (1, 2, 3):
        for solver in given.solvers or SOLVERS:
            overrides = {
                **parser_alone("tag", "pos"),
                "paths.train": f"{given.data}/ewt-train-tagged.spacy",
                "paths.dev": f"{given.data}/ewt-dev-tagged.spacy",
                "components.parser.model.order": order,
            }
            target, test = given.output / f"{solver}-{order}", f"{given.data}/ewt-test-tagged.spacy"
            train(given.configs / f"{solver}.cfg", target, options(overrides), test)


if __name__ == "__main__":
    main()
