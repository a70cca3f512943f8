"""Accuracy against non-zeros of SAP on chunks (Balamurugan et al. 2012 §V): CONFIG TRAIN DEV [TEST].

Each token gets its IOB2 tag as label, as in the paper, so that accuracy is that of chunk tags; features are those of
the config's component, whose tags are given. For every ρ₁ (with ρ₂ = 1 − ρ₁) and every C one run, from zero to
--epochs or to the relative gap --tolerance; one JSON line an epoch: accuracy on DEV (and TEST), non-zeros of w, which
has `weights` of them at most, exact relative gap, and CPU seconds spent learning. With --eval-every k only every k-th
epoch and the last are measured. --solver holds further parameters of SAP, such as '{"nu": 1, "mu": 1}'.

    python scripts/sparsity.py ../../configs/chunker/sap.cfg data/conll2000-part.spacy data/conll2000-dev.spacy
        --rho1 0.9 0.5 0.3 0.1 --C 0.1 1 --epochs 100 > metrics/sparsity.jsonl
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from spacy.tokens import Token
from spacy.util import load_config, load_model_from_config

from spacy_ssvm.features.extractor import Extractor, load_resources
from spacy_ssvm.features.index import add_features, empty_table, look_up_features, n_rows
from spacy_ssvm.pipeline.corpus import create_corpus
from spacy_ssvm.problems import chain_problem
from spacy_ssvm.solvers.learner import start
from spacy_ssvm.solvers.parameters import Sap
from spacy_ssvm.solvers.problem import Problem
from spacy_ssvm.structures.chain.data import Chains, make_chains, unconstrained
from spacy_ssvm.structures.chain.viterbi import decode_sequences


def tag(token: Token) -> str:
    return f"{token.ent_iob_}-{token.ent_type_}" if token.ent_type_ else "O"


class Part(NamedTuple):
    """Sequences to predict, and their gold labels, −1 for those that training has not seen."""

    chains: Chains
    gold: np.ndarray

    def accuracy(self, w: np.ndarray) -> float:
        return round(100 * float((decode_sequences(self.chains, w) == self.gold).mean()), 2)


def read(config: Path, train: Path, others: list[Path]) -> tuple[Problem, list[Part]]:
    """The training problem, and the other parts."""
    nlp = load_model_from_config(load_config(config), auto_fill=True)
    features = nlp.get_pipe(nlp.pipe_names[0]).model.attrs["features"]
    resources = load_resources(
        features, lambda phrase: np.array([token.lower for token in nlp.make_doc(phrase)], np.uint64)
    )
    extractor = Extractor([str(template) for template in features.templates], *resources)
    parts = [list(create_corpus(path, columns=["tag"], gold_preproc=True)(nlp)) for path in (train, *others)]
    columns = [extractor.reader.read([example.predicted for example in part], nlp.vocab) for part in parts]
    tags = [[tag(token) for example in part for token in example.reference] for part in parts]
    numbers = {name: number for number, name in enumerate(sorted(set(tags[0])))}
    gold = [np.array([numbers.get(name, -1) for name in names], np.int32) for names in tags]
    table, *rows = add_features(columns[0], extractor.program, empty_table(features.hash_bits))
    free = unconstrained(len(numbers))
    known = make_chains(columns[0].starts, rows[0], rows[1], gold[0], free, rows[2])
    found = []
    for part, numbered in zip(columns[1:], gold[1:]):
        rows = look_up_features(part, extractor.program, table)
        nowhere = np.zeros_like(numbered)
        found.append(Part(make_chains(part.starts, rows[0], rows[1], nowhere, free, rows[2]), numbered))
    return chain_problem(known, n_rows(table)), found


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
                **{name: part.accuracy(w) for name, part in parts.items()},
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
    problem, found = read(arguments.config, arguments.train, list(others.values()))
    parts = dict(zip(others, found))
    for rho1 in arguments.rho1:
        for C in arguments.C:
            given = {"C": C, "rho1": rho1, "rho2": round(1 - rho1, 12), "tolerance": arguments.tolerance}
            run(Sap(**given, **arguments.solver), problem, parts, arguments.epochs, arguments.eval_every)


if __name__ == "__main__":
    main()
