"""A component and a structure that the package has never heard of: each is one file and an entry point."""

from dataclasses import dataclass
from itertools import pairwise, permutations
from typing import NamedTuple

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc

from spacy_ssvm.features.columns import ColumnReader
from spacy_ssvm.kernels import Int64Array, kernel
from spacy_ssvm.models.chain.space import ChainGold
from spacy_ssvm.models.documents import digest
from spacy_ssvm.models.growing import ExampleSet, Growing, Levels
from spacy_ssvm.models.packing import EXACT, MASKED_TYPES, masked, pack_masked, unpack_masked
from spacy_ssvm.models.store import has_weights, load_arrays, make_model, require, store_arrays
from spacy_ssvm.pipeline.chain_codec import ChainCodec
from spacy_ssvm.pipeline.codec import Codec
from spacy_ssvm.pipeline.component import SsvmPipe
from spacy_ssvm.registry import ssvm_models
from spacy_ssvm.solvers.problem import Extent, Problem

LABELS = INSIDE, FIRST = "inside", "first"


@dataclass(frozen=True)
class FirstTokenCodec(ChainCodec):
    """Marks the first token of every sentence, in `doc.user_data["first"]`."""

    def gold(self, example):
        names = {True: FIRST, False: INSIDE, None: None}
        return ChainGold([names[is_start] for is_start in example.get_aligned_sent_starts()])

    def write(self, docs, predictions, given):
        for doc, labels in zip(docs, predictions):
            doc.user_data["first"] = np.flatnonzero(labels == LABELS.index(FIRST)).tolist()


@Language.factory(
    "toy_first_token",
    default_config={
        "model": {
            "@architectures": "spacy-ssvm.Chain.v1",
            "features": {"@ssvm_features": "spacy-ssvm.SenterFeatures.v1"},
        },
        "solver": {"@ssvm_solvers": "spacy-ssvm.DCD.v1", "C": 10.0},
    },
)
def make_first_token(nlp, name, model, solver):
    return SsvmPipe(nlp.vocab, model, name, codec=FirstTokenCodec(name, LABELS), solver=solver)


BITS = 8


LEVELS = Levels("starts", tokens=("items", "gold"))


class Lists(NamedTuple):
    """n lists of T items. starts: int64 [n + 1]. items: int64 [T], features. gold: int64 [T], places in their list."""

    starts: Int64Array
    items: Int64Array
    gold: Int64Array

    def take(self, docs):
        return LEVELS.taken(self, np.array(docs, np.int64))

    def digests(self):
        return [digest(self.items[first:end], self.gold[first:end]) for first, end in pairwise(self.starts)]


@kernel
def best_order(lists, example, weights, loss_scale):
    """argmax_y Σ_k (n − k) · w[y_k] + loss_scale · [y is not gold]: by weight, or with two neighbours swapped."""
    first, end = lists.starts[example], lists.starts[example + 1]
    scores = weights[lists.items[first:end]]
    order = np.argsort(-scores)
    gaps = -np.diff(scores[order])
    if len(gaps) and gaps.min() < loss_scale and np.array_equal(order, lists.gold[first:end]):
        k = gaps.argmin()
        order[k], order[k + 1] = order[k + 1], order[k]
    return order


@kernel
def max_oracle(lists, example, weights, loss_scale, indices, values):
    first, end = lists.starts[example], lists.starts[example + 1]
    order, items, gold = best_order(lists, example, weights, loss_scale), lists.items[first:end], lists.gold[first:end]
    for k in range(len(order)):
        indices[2 * k], values[2 * k] = items[gold[k]], float(len(order) - k)
        indices[2 * k + 1], values[2 * k + 1] = items[order[k]], -float(len(order) - k)
    return 2 * len(order), 0.0 if np.array_equal(order, gold) else 1.0


NO_LISTS = Lists(np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64))


def extent(lists):
    return Extent(2 * np.diff(lists.starts))


class ListSet(ExampleSet):
    def make_problem(self):
        lists, extent = self.examples.joined(), self.examples.extent()
        return Problem(lists, max_oracle, len(lists.starts) - 1, 1 << BITS, extent.plane_entries)

    def without_docs(self):
        return ListSet(Growing(LEVELS, extent, NO_LISTS))


@ssvm_models("toy_list")
class ListModel:
    def __init__(self, model, space, vocab, settings):
        self.space, self.settings, self._model, self._vocab = space, settings, model, vocab
        self.reader = ColumnReader(("lower",), {}, {})

    def lists(self, docs, orders):
        columns = self.reader.read(docs, docs[0].vocab if docs else self._vocab)
        items = (columns.keys[0] & np.uint64((1 << BITS) - 1)).astype(np.int64)
        return Lists(columns.starts, items, np.concatenate([np.zeros(0, np.int64), *orders]))

    def encode(self, examples, gold):
        return self.lists([example.predicted for example in examples], gold)

    def data_set(self, start):
        return ListSet(Growing(LEVELS, extent, NO_LISTS)), None if start.weights is None else start.weights.dense()

    def trained(self, data, vector):
        return masked(vector)

    def predictor(self, weights):
        vector = weights.dense().astype(np.float64)

        def prepared(docs):
            lists = self.lists(docs, [np.arange(len(doc)) for doc in docs])
            return lambda: [best_order(lists, example, vector, 0.0) for example in range(len(docs))]

        return prepared

    def store(self, weights, packing=EXACT, saved=None):
        store_arrays(self._model, pack_masked("", weights, packing), [1 << BITS], self.space.labels, packing == EXACT)

    def load(self):
        if not has_weights(self._model):
            return masked(np.zeros(1 << BITS))
        arrays, (size,) = load_arrays(self._model, MASKED_TYPES, 1, self.space.labels)
        require(size == 1 << BITS, "its weights are of another size")
        return unpack_masked("", arrays, size)


class Order(list):
    @property
    def is_annotated(self):
        return len(self) > 0


class OrderSpace(NamedTuple):
    name: str
    labels: tuple[str, ...]
    structure: str = "toy_list"
    architecture: str = "a toy"
    constraining: tuple[int, ...] = ()


@dataclass(frozen=True)
class OrderCodec(Codec):
    """The order of a Doc's tokens, as token numbers in `doc.user_data["order"]`."""

    @property
    def space(self):
        return OrderSpace(self.name, self.labels)

    def gold(self, example):
        return Order(example.reference.user_data.get("order", []))

    def write(self, docs, predictions, given):
        for doc, order in zip(docs, predictions):
            doc.user_data["order"] = order.tolist()


@Language.factory("toy_order", default_config={"solver": {"@ssvm_solvers": "spacy-ssvm.DCD.v1", "C": 10.0}})
def make_order(nlp, name, solver):
    model = make_model("toy_list", list(MASKED_TYPES), {})
    return SsvmPipe(nlp.vocab, model, name, codec=OrderCodec(name, ("order",)), solver=solver)


def enumerated_order(doc: Doc, weights: np.ndarray) -> float:
    """The highest score of any order."""
    items = [int(token.lower) & ((1 << BITS) - 1) for token in doc]
    n = len(items)
    return max(sum((n - k) * weights[items[t]] for k, t in enumerate(order)) for order in permutations(range(n)))
