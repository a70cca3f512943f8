"""Multi-class data: chains of length one. Covertype and Sector where their files are, digits everywhere."""

import bz2
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from spacy_ssvm.models.chain.data import make_chains
from spacy_ssvm.models.chain.oracles import chain_problem
from spacy_ssvm.solvers.problem import Problem
from spacy_ssvm.structures.chain.constraints import unconstrained

SOURCES = {"covertype": ("covtype.bz2", None), "sector": ("sector.bz2", "sector.t.bz2"), "digits": (None, None)}
"""Files in LIBSVM's format, of training and test; a tenth of the examples is the test part where it has no file."""


class Part(NamedTuple):
    """features: CSR matrix [n, F]; classes: int32 [n]."""

    features: Any
    classes: np.ndarray


class Data(NamedTuple):
    """Both parts, with the same columns."""

    train: Part
    test: Part


def read(name: str, folder: Path) -> Data:
    """A data set by its name.

    Raises:
        FileNotFoundError: its file is not in the folder.
    """
    from scipy.sparse import csr_matrix
    from sklearn.datasets import load_digits, load_svmlight_file

    train, test = SOURCES[name]
    if train is None:
        digits = load_digits()
        return _halved(csr_matrix(digits.data / 16), digits.target)
    with bz2.open(folder / train) as file:
        features, classes = load_svmlight_file(file)
    if test is None:
        return _halved(features, classes)
    with bz2.open(folder / test) as file:
        others, other_classes = load_svmlight_file(file, n_features=features.shape[1])
    names = np.unique(classes)
    return Data(_part(features, classes, names), _part(others, other_classes, names))


def problem(part: Part) -> Problem:
    """A chain of length one for each example."""
    matrix, classes = part
    ends, constraints = np.arange(len(classes) + 1), unconstrained(_count(part))
    chains = make_chains(ends, matrix.indptr, matrix.indices, classes, constraints, matrix.data)
    return chain_problem(chains, matrix.shape[1])


def accuracy(data: Data, weights: np.ndarray) -> float:
    """Of the test part, in per cent."""
    n_classes = _count(data.train)
    rows = weights[n_classes * n_classes :].reshape(-1, n_classes)
    return 100 * float((np.asarray(data.test.features @ rows).argmax(1) == data.test.classes).mean())


def _count(part: Part) -> int:
    return int(part.classes.max()) + 1


def _part(features: Any, classes: np.ndarray, names: np.ndarray) -> Part:
    return Part(features.tocsr(), np.searchsorted(names, classes).astype(np.int32))


def _halved(features: Any, classes: np.ndarray) -> Data:
    """Nine tenths and one tenth, in a drawn order."""
    order = np.random.default_rng(0).permutation(len(classes))
    end, names = len(order) - len(order) // 10, np.unique(classes)
    parts = (_part(features[chosen], classes[chosen], names) for chosen in (order[:end], order[end:]))
    return Data(*parts)
