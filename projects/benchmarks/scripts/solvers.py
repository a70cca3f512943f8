"""Every solver on one component: CONFIG SOLVERS EPOCHS DATA TRAIN DEV TEST OUTPUT [SOLVER …].

CONFIG is a file of configs/COMPONENT, SOLVERS a config with a block for each solver; TRAIN, DEV, TEST: files in
DATA. Each solver learns EPOCHS on the same features, or fewer if it is at its tolerance. Prints a JSON line a solver
and writes them to OUTPUT: the CPU seconds of an epoch (median), the first epoch within 99.9 % of the best score on DEV
and that score, the score on TEST and the non-zero weights of the best epoch, and the relative gap at the end, None
without a certificate.
"""

import json
import statistics
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import srsly
from spacy import util


def run(config: Any, component: str, solver: dict[str, Any], epochs: int, test: str) -> dict[str, Any]:
    """Figures of one solver."""
    config = config.copy()
    weights = config["training"]["score_weights"]
    score = max(weights, key=lambda name: weights[name] or 0.0)
    config["components"][component]["solver"] = solver
    nlp = util.load_model_from_config(config, auto_fill=True)
    resolved = nlp.config.interpolate()
    train_corpus, dev_corpus = util.resolve_dot_names(resolved, ["corpora.train", "corpora.dev"])
    resolved["corpora"]["dev"]["path"] = test
    (test_corpus,) = util.resolve_dot_names(resolved, ["corpora.dev"])
    examples = list(train_corpus(nlp))
    pipe: Any = nlp.get_pipe(component)
    nlp.initialize(lambda: examples)
    seconds, scores, best, non_zeros = [], [], b"", []
    while len(seconds) < epochs and len(seconds) == (pipe.figures.epoch if pipe.figures else 0):
        started = time.process_time()
        nlp.update(examples)
        seconds.append(time.process_time() - started)
        scores.append(100 * nlp.evaluate(list(dev_corpus(nlp)))[score])
        non_zeros.append(pipe.figures.non_zeros)
        if scores[-1] == max(scores):
            best = pipe.to_bytes()
    certificate = pipe.certificate()
    pipe.from_bytes(best)
    top = scores.index(max(scores))
    return {
        "seconds": round(statistics.median(seconds), 2),
        "enough": next(epoch for epoch, score in enumerate(scores, 1) if score >= 0.999 * max(scores)),
        "best": top + 1,
        "dev": round(max(scores), 2),
        "test": round(100 * nlp.evaluate(list(test_corpus(nlp)))[score], 2),
        "gap": None if certificate is None else certificate.relative_gap,
        "non_zeros": non_zeros[top],
    }


def main() -> None:
    warnings.simplefilter("ignore")
    source, blocks, epochs, data, train, dev, test, output, *chosen = sys.argv[1:]
    paths = {"paths.train": f"{data}/{train}", "paths.dev": f"{data}/{dev}"}
    config = util.load_config(source, paths)
    component = config["nlp"]["pipeline"][-1]
    solvers = util.load_config(blocks)
    table = {}
    for name in chosen or solvers:
        table[name] = run(config, component, solvers[name], int(epochs), f"{data}/{test}")
        print(json.dumps({"solver": name, **table[name]}), flush=True)
        Path(output).parent.mkdir(parents=True, exist_ok=True)
        srsly.write_json(output, table)


if __name__ == "__main__":
    main()
