"""CoNLL-2007 Basque with every structure: CONFIG DATA OUTPUT.

Trained on nine tenths of the training part, with the best epoch chosen on the last tenth; then on all of it for as many
epochs, and scored on the test part. C and the first pass's limits were chosen on the last tenth. Tags, lemmas and
morphology are given. A sentence is a Doc and may have several roots.
"""

import subprocess
import sys
from pathlib import Path

from .train import options, parser_alone, train

STRUCTURES = (
    ("projective", 1, 0.01, 9, 0),
    ("nonprojective", 1, 0.01, 9, 0),
    ("projective", 2, 0.003, 8, 24),
    ("projective", 3, 0.003, 8, 24),
    ("nonprojective", 2, 0.003, 8, 24),
)
"""Structure, order, C, margin and max_heads."""
GIVEN = ("tag", "lemma", "morph")


def main() -> None:
    config, data, output = sys.argv[1:]
    for structure, order, C, margin, max_heads in STRUCTURES:
        target = Path(output) / f"{structure}-{order}"
        overrides = {
            **parser_alone(*GIVEN),
            "nlp.lang": "eu",
            "corpora.train.gold_preproc": False,
            "corpora.dev.gold_preproc": False,
            "paths.train": f"{data}/conll2007-eus-part.spacy",
            "paths.dev": f"{data}/conll2007-eus-dev.spacy",
            "training.score_weights.uas": 1.0,
            "training.score_weights.las": 0.0,
            "components.parser.multi_root": True,
            "components.parser.solver.C": C,
            "components.parser.model.structure": structure,
            "components.parser.model.order": order,
            "components.parser.model.margin": margin,
            "components.parser.model.max_heads": max_heads,
            "components.parser.model.features.tags": ["tag", "morph"],
            "components.parser.model.features.hash_bits": 21,
        }
        best = train(Path(config), target, options(overrides))
        overrides |= {
            "paths.train": f"{data}/conll2007-eus-train.spacy",
            "training.max_epochs": best["best_epoch"],
            "training.patience": 0,
        }
        train(Path(config), target / "all", options(overrides))
        evaluate = [sys.executable, "-m", "spacy", "ssvm", "evaluate", str(target / "all" / "model-last")]
        columns = [part for name in GIVEN for part in ("--column", name)]
        subprocess.run([*evaluate, f"{data}/conll2007-eus-test.spacy", *columns], check=True)


if __name__ == "__main__":
    main()
