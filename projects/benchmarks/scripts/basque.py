"""CoNLL-2007 Basque with every structure: CONFIG DATA OUTPUT.

Trained on nine tenths of the training part, with the best epoch chosen on the last tenth; tags, lemmas and morphology
are given. A sentence is a Doc and may have several roots.
"""

import json
import subprocess
import sys
from pathlib import Path

STRUCTURES = (("projective", 1), ("nonprojective", 1), ("projective", 3), ("nonprojective", 2))
GIVEN = json.dumps(["tag", "lemma", "morph"])


def main() -> None:
    config, data, output = sys.argv[1:]
    for structure, order in STRUCTURES:
        target = Path(output) / f"{structure}-{order}"
        command = [sys.executable, str(Path(__file__).with_name("train.py")), config, "{}", str(target)]
        overrides = {
            "nlp.lang": "eu",
            "nlp.pipeline": '["parser"]',
            "corpora.train.jackknife": "[]",
            "corpora.train.columns": GIVEN,
            "corpora.dev.columns": GIVEN,
            "corpora.train.gold_preproc": "false",
            "corpora.dev.gold_preproc": "false",
            "paths.train": f"{data}/conll2007-eus-part.spacy",
            "paths.dev": f"{data}/conll2007-eus-dev.spacy",
            "components.parser.multi_root": "true",
            "components.parser.model.features.tags": '["tag", "morph"]',
            "components.parser.model.structure": structure,
            "components.parser.model.order": str(order),
        }
        arguments = [part for key, value in overrides.items() for part in (f"--{key}", value)]
        subprocess.run([*command, *arguments], check=True)


if __name__ == "__main__":
    main()
