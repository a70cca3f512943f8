"""Every solver and order of the parser on tagged corpora: CONFIG_FOLDER DATA OUTPUT [SOLVER …].

One JSON line a run, as `train.py` prints it.
"""

import json
import subprocess
import sys
from pathlib import Path

SOLVERS = ("dcd", "dcd_light", "sap", "mira", "perceptron", "sgd")
GIVEN = json.dumps(["tag", "pos"])


def main() -> None:
    configs, data, output, *chosen = sys.argv[1:]
    for order in (1, 2, 3):
        for solver in chosen or SOLVERS:
            target = Path(output) / f"{solver}-{order}"
            config = str(Path(configs) / f"{solver}.cfg")
            command = [sys.executable, str(Path(__file__).with_name("train.py")), config, "{}", str(target)]
            overrides = {
                "nlp.pipeline": '["parser"]',
                "corpora.train.jackknife": "[]",
                "corpora.train.columns": GIVEN,
                "corpora.dev.columns": GIVEN,
                "paths.train": f"{data}/ewt-train-tagged.spacy",
                "paths.dev": f"{data}/ewt-dev-tagged.spacy",
                "components.parser.model.order": str(order),
            }
            arguments = [part for key, value in overrides.items() for part in (f"--{key}", value)]
            subprocess.run([*command, *arguments], check=True)


if __name__ == "__main__":
    main()
