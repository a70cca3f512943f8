"""CoNLL-2007 Basque with every structure: CONFIG DATA OUTPUT.

Trained on nine tenths of the training part, with the best epoch chosen on the last tenth; then on all of it for as many
epochs, and scored on the test part. C and the first pass's limits were chosen on the last tenth. Tags, lemmas and
morphology are given. A sentence is a Doc and may have several roots.
"""

import json
import subprocess
import sys
from pathlib import Path

import srsly

STRUCTURES = (
    ("projective", 1, 0.01, 9, 0),
    ("nonprojective", 1, 0.01, 9, 0),
    ("projective", 2, 0.003, 8, 24),
    ("projective", 3, 0.003, 8, 24),
    ("nonprojective", 2, 0.003, 8, 24),
)
"""Structure, order, C, margin and max_heads."""
GIVEN = ["tag", "lemma", "morph"]


def train(config: str, target: Path, overrides: dict[str, str]) -> int:
    """Run train.py; returns the best epoch on the dev part."""
    command = [sys.executable, str(Path(__file__).with_name("train.py")), config, "{}", str(target)]
    arguments = [part for key, value in overrides.items() for part in (f"--{key}", value)]
    subprocess.run([*command, *arguments], check=True)
    return int(srsly.read_json(target / "result.json")["best_epoch"])


def main() -> None:
    config, data, output = sys.argv[1:]
    for structure, order, C, margin, max_heads in STRUCTURES:
        target = Path(output) / f"{structure}-{order}"
        overrides = {
            "nlp.lang": "eu",
            "nlp.pipeline": '["parser"]',
            "corpora.train.jackknife": "[]",
            "corpora.train.columns": json.dumps(GIVEN),
            "corpora.dev.columns": json.dumps(GIVEN),
            "corpora.train.gold_preproc": "false",
            "corpora.dev.gold_preproc": "false",
            "paths.train": f"{data}/conll2007-eus-part.spacy",
            "paths.dev": f"{data}/conll2007-eus-dev.spacy",
            "training.score_weights.uas": "1.0",
            "training.score_weights.las": "0.0",
            "components.parser.multi_root": "true",
            "components.parser.solver.C": str(C),
            "components.parser.model.structure": structure,
            "components.parser.model.order": str(order),
            "components.parser.model.margin": str(margin),
            "components.parser.model.max_heads": str(max_heads),
            "components.parser.model.features.tags": '["tag", "morph"]',
            "components.parser.model.features.hash_bits": "21",
        }
        epochs = train(config, target, overrides)
        overrides |= {
            "paths.train": f"{data}/conll2007-eus-train.spacy",
            "training.max_epochs": str(epochs),
            "training.patience": "0",
        }
        train(config, target / "all", overrides)
        evaluate = [sys.executable, "-m", "spacy", "ssvm", "evaluate", str(target / "all" / "model-last")]
        columns = [part for name in GIVEN for part in ("--columns", name)]
        subprocess.run([*evaluate, f"{data}/conll2007-eus-test.spacy", *columns], check=True)


if __name__ == "__main__":
    main()
