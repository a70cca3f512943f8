"""Chunks as a tagging task: each token's label is its IOB2 tag, and accuracy is counted over tokens."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from spacy.tokens import Token
from spacy.util import load_config, load_model_from_config

from spacy_ssvm.corpus.reader import create_corpus
from spacy_ssvm.features.extractor import Extractor
from spacy_ssvm.features.index import add_features, empty_table, look_up_features, n_rows
from spacy_ssvm.models.chain.data import Chains, make_chains
from spacy_ssvm.models.chain.oracles import chain_problem
from spacy_ssvm.models.chain.scores import decode_sequences
from spacy_ssvm.solvers.problem import Problem
from spacy_ssvm.structures.chain.constraints import unconstrained


class Part(NamedTuple):
    """Sequences to predict, and their gold labels, −1 for those that training has not seen."""

    chains: Chains
    gold: np.ndarray

    def accuracy(self, weights: np.ndarray) -> float:
        return 100 * float((decode_sequences(self.chains, weights) == self.gold).mean())


def tag(token: Token) -> str:
    return f"{token.ent_iob_}-{token.ent_type_}" if token.ent_type_ else "O"


def read(config: Path, files: list[Path]) -> tuple[Problem, dict[str, Part]]:
    """The problem of the first file, and "dev" and "test" from those that follow, with the features of a config."""
    nlp = load_model_from_config(load_config(config), auto_fill=True)
    features = nlp.get_pipe(nlp.pipe_names[0]).model.attrs["features"]
    extractor = Extractor([str(template) for template in features.templates], {}, {})
    parts = [list(create_corpus(path, columns=["tag"], gold_preproc=True)(nlp)) for path in files]
    columns = [extractor.reader.read([example.predicted for example in part], nlp.vocab) for part in parts]
    tags = [[tag(token) for example in part for token in example.reference] for part in parts]
    numbers = {name: number for number, name in enumerate(sorted(set(tags[0])))}
    gold = [np.array([numbers.get(name, -1) for name in names], np.int32) for names in tags]
    table, *rows = add_features(columns[0], extractor.program, empty_table(features.hash_bits))
    free = unconstrained(len(numbers))
    known = make_chains(columns[0].starts, rows[0], rows[1], gold[0], free, rows[2])
    evaluated = {}
    for name, part, numbered in zip(("dev", "test"), columns[1:], gold[1:]):
        rows = look_up_features(part, extractor.program, table)
        nowhere = np.zeros_like(numbered)
        evaluated[name] = Part(make_chains(part.starts, rows[0], rows[1], nowhere, free, rows[2]), numbered)
    return chain_problem(known, n_rows(table)), evaluated
