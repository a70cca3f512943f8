"""Accuracy against non-zeros of SAP on chunks (Balamurugan et al. 2012 §V): CONFIG TRAIN DEV [TEST].

Each token gets its IOB2 tag as label, as in the paper, so that accuracy is that of chunk tags; features are those of
the config's component, whose tags are given. For every ρ₁ (with ρ₂ = 1 − ρ₁) and every C one run, from zero to
--epochs or to the relative gap --tolerance; one JSON line an epoch: accuracy on DEV (and TEST), non-zeros of w, which
has `weights` of them at most, exact relative gap, and CPU seconds spent learning. With --eval-every k only every k-th
epoch and the last are measured. --solver holds further parameters of SAP, such as '{"nu": 1, "mu": 1}'.

    python -m papers.sparsity ../../configs/chunker/sap.cfg data/conll2000-part.spacy data/conll2000-dev.spacy
        --rho1 0.9 0.5 0.3 0.1 --C 0.1 1 --epochs 100 > metrics/sparsity.jsonl
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from spacy_ssvm.solvers.learner import start
from spacy_ssvm.solvers.parameters import Sap
from spacy_ssvm.solvers.problem import Problem

from .chunk_tags import Part, read


def run(parameters: Sap, problem: Problem, parts: dict[str, Part], epochs: int, every: int) -> None:
    learner, rng = start(parameters, problem), np.random.default_rng(parameters.seed)
    seconds = 0.0
    for epoch in range(1, epochs + 1):
        started = time.process_time()
        learner.begin_epoch(rng)
        learner.visit(rng.permutation(problem.n_examples))
        learner.end_epoch()
        done = learner.done()
        seconds += time.process_time() - started
        if epoch % every == 0 or epoch == epochs or done:
            w, certificate = learner.prediction_weights(), learner.certificate()
            line: dict[str, Any] = {
                "rho1": parameters.rho1,
                "C": parameters.C,
                "epoch": epoch,
                **{name: round(part.accuracy(w), 2) for name, part in parts.items()},
                "non_zeros": int(np.count_nonzero(w)),
                "weights": len(w),
                "gap": None if certificate is None else float(f"{certificate.relative_gap:.3g}"),
                "cpu_seconds": round(seconds, 1),
            }
            print(json.dumps(line), flush=True)
        if done:
            return


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=Path)
    parser.add_argument("train", type=Path)
    parser.add_argument("dev", type=Path)
    parser.add_argument("test", type=Path, nargs="?")
    parser.add_argument("--rho1", type=float, nargs="+", default=[0.9, 0.5, 0.3, 0.1])
    parser.add_argument("--C", type=float, nargs="+", default=[0.1])
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--tolerance", type=float, default=1e-3)
    parser.add_argument("--eval-every", type=int, default=1)
    parser.add_argument("--solver", type=json.loads, default={})
    arguments = parser.parse_args()
    others = {name: path for name in ("dev", "test") if (path := getattr(arguments, name)) is not None}
    problem, parts = read(arguments.config, [arguments.train, *others.values()])
    for rho1 in arguments.rho1:
        for C in arguments.C:
            given = {"C": C, "rho1": rho1, "rho2": round(1 - rho1, 12), "tolerance": arguments.tolerance}
            run(Sap(**given, **arguments.solver), problem, parts, arguments.epochs, arguments.eval_every)


if __name__ == "__main__":
    main()
