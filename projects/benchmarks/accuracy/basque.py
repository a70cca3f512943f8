"""CoNLL-2007 Basque with every structure: CONFIG DATA OUTPUT.

Trained on nine tenths of the training part, with the best epoch chosen on the last tenth; then on all of it for as many
epochs, and scored on the test part. C and the first pass's limits were chosen on the last tenth. Tags, lemmas and
morphology are given. A sentence is a Doc and may have several roots.
"""

import argparse
import json
from pathlib import Path

from shared.training import options, parser_alone

from .train import evaluate, train

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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("output", type=Path)
    given = parser.parse_args()
    for structure, order, C, margin, max_heads in STRUCTURES:
        target = given.output / f"{structure}-{order}"
        overrides = {
            **parser_alone(*GIVEN),
            "nlp.lang": "eu",
            "corpora.train.gold_preproc": False,
            "corpora.dev.gold_preproc": False,
            "paths.train": f"{given.data}/conll2007-eus-part.spacy",
            "paths.dev": f"{given.data}/conll2007-eus-dev.spacy",
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
        best = train(given.config, target, options(overrides))
        overrides |= {
            "paths.train": f"{given.data}/conll2007-eus-train.spacy",
            "training.max_epochs": best["best_epoch"],
            "training.patience": 0,
        }
        train(given.config, target / "all", options(overrides))
        test = f"{given.data}/conll2007-eus-test.spacy"
        print(json.dumps(evaluate(target / "all" / "model-last", test, ["uas", "las"], GIVEN)), flush=True)


if __name__ == "__main__":
    main()
