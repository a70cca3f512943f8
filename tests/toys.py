"""A component and a structure that the package has never heard of: each is one file and an entry point."""

from collections import Counter
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise, permutations
from typing import NamedTuple

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc

from spacy_ssvm.features.columns import ColumnReader
from spacy_ssvm.features.ranges import elements, joined_starts, taken_starts
from spacy_ssvm.kernels import Int64Array, kernel
from spacy_ssvm.models.chain.space import ChainGold
from spacy_ssvm.models.packing import EXACT
from spacy_ssvm.models.protocol import DataSet
from spacy_ssvm.models.store import load_arrays, make_model, require, require_weights, store_arrays
from spacy_ssvm.pipeline.chain_codec import ChainCodec
from spacy_ssvm.pipeline.codec import Codec, Survey
from spacy_ssvm.pipeline.component import SsvmPipe
from spacy_ssvm.registry import ssvm_models

LABELS = INSIDE, FIRST = "inside", "first"


@dataclass(frozen=True)
class FirstTokenCodec(ChainCodec):
    """Marks the first token of every sentence, in `doc.user_data["first"]`."""

    def gold(self, example):
        return ChainGold([FIRST if token.is_sent_start else INSIDE for token in example.reference])

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


class Lists(NamedTuple):
    """n lists of T items. starts: int64 [n + 1]. items: int64 [T], features. gold: int64 [T], places in their list."""

    starts: Int64Array
    items: Int64Array
    gold: Int64Array


@kernel
def best_order(lists, example, weights, loss_scale, order):
    """argmax_y Σ_k (n − k) · w[y_k] + loss_scale · [y is not gold], over all orders of the items, into `order`."""
    first, n = lists.starts[example], lists.starts[example + 1] - lists.starts[example]
    trial, counts, k = np.arange(n), np.zeros(n, np.int64), 0
    highest = -np.inf
    while True:
        score, is_gold = 0.0, True
        for place in range(n):
            score += (n - place) * weights[lists.items[first + trial[place]]]
            is_gold = is_gold and trial[place] == lists.gold[first + place]
        score += 0.0 if is_gold else loss_scale
        if score > highest:
            highest = score
            order[:] = trial
        # Heap's algorithm.
        while k < n and counts[k] >= k:
            counts[k] = 0
            k += 1
        if k >= n:
            return
        other = 0 if k % 2 == 0 else counts[k]
        trial[other], trial[k] = trial[k], trial[other]
        counts[k] += 1
        k = 0


@kernel
def max_oracle(lists, example, weights, loss_scale, indices, values):
    first, n = lists.starts[example], lists.starts[example + 1] - lists.starts[example]
    order = np.empty(n, np.int64)
    best_order(lists, example, weights, loss_scale, order)
    entries, loss = 0, 0.0
    for place in range(n):
        if order[place] != lists.gold[first + place]:
            loss = 1.0
            indices[entries], values[entries] = lists.items[first + lists.gold[first + place]], float(n - place)
            indices[entries + 1], values[entries + 1] = lists.items[first + order[place]], -float(n - place)
            entries += 2
    return entries, loss


class Batch(NamedTuple):
    lists: Lists

    def take(self, docs):
        chosen = np.array(docs, np.int64)
        tokens = elements(self.lists.starts, chosen)
        return Batch(Lists(taken_starts(self.lists.starts, chosen), self.lists.items[tokens], self.lists.gold[tokens]))

    def reserved(self, sizes):
        nothing = np.zeros(0, np.int64)
        return Batch(Lists(np.zeros(len(sizes) + 1, np.int64), nothing, nothing))

    def digests(self):
        starts, items, gold = self.lists
        return [
            blake2b(np.append(items[a:b], gold[a:b]).tobytes(), digest_size=16).digest() for a, b in pairwise(starts)
        ]


class ListSet(DataSet):
    impossible = "none"

    def __init__(self):
        self._batch = Batch(Lists(np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64)))
        self._problem = None

    def add(self, encoded):
        parts = self._batch.lists, encoded.lists
        starts = joined_starts([part.starts for part in parts])
        items, gold = (np.concatenate([part[k] for part in parts]) for k in (1, 2))
        self._batch, self._problem = Batch(Lists(starts, items, gold)), None
        return np.zeros(0, np.int64)

    def replace_by_last(self, docs):
        order = np.arange(len(self._batch.lists.starts) - 1 - len(docs))
        order[docs] = np.arange(len(order), len(order) + len(docs))
        self._batch, self._problem = self._batch.take(order.tolist()), None

    def problem(self):
        from spacy_ssvm.solvers.problem import Problem

        if self._problem is None:
            lists = self._batch.lists
            bounds = 2 * np.diff(lists.starts)
            self._problem = Problem(lists, max_oracle, len(lists.starts) - 1, 1 << BITS, bounds)
        return self._problem

    def dimension(self):
        return 1 << BITS

    def examples_of(self, docs):
        return docs

    def is_incomplete(self):
        return False

    def complete(self, docs, weights):
        return np.zeros(0, np.int64)

    def complete_once(self, weights):
        pass

    def keep_gold(self, docs):
        pass

    def index(self):
        return np.zeros(0, np.int64)

    def sizes(self):
        return np.ones(len(self._batch.lists.starts) - 1, np.int64)

    def gold(self, doc):
        lists = self._batch.lists
        return lists.gold[lists.starts[doc] : lists.starts[doc + 1]].astype(np.int32)

    def set_gold(self, doc, gold):
        raise ValueError("nothing is completed")

    def without_docs(self):
        return ListSet()


class ListPredictor:
    def __init__(self, model, weights):
        self._model, self.weights = model, weights

    def prepared(self, docs):
        lists = self._model.encode_docs(docs, [np.arange(len(doc)) for doc in docs]).lists

        def orders():
            found = [np.zeros(n, np.int64) for n in np.diff(lists.starts)]
            for example, order in enumerate(found):
                best_order(lists, example, self.weights.vector, 0.0, order)
            return found

        return orders

    def scored(self, docs):
        raise NotImplementedError

    def explained(self, doc):
        raise NotImplementedError

    def forget_types(self):
        self._model.reader.forget_types()


class ListWeights(NamedTuple):
    vector: np.ndarray


@ssvm_models("toy_list")
class ListModel:
    def __init__(self, model, space, vocab, settings):
        self.space, self.settings, self._model, self._vocab = space, settings, model, vocab
        self.reader = ColumnReader(("lower",), {}, {})

    def check_settings(self):
        pass

    def load_resources(self, words):
        pass

    def encode_docs(self, docs, gold):
        columns = self.reader.read(docs, docs[0].vocab if docs else self._vocab)
        items = (columns.keys[0] & np.uint64((1 << BITS) - 1)).astype(np.int64)
        return Batch(Lists(columns.starts, items, np.concatenate([np.zeros(0, np.int64), *gold])))

    def encode(self, examples, gold):
        return self.encode_docs([example.predicted for example in examples], gold)

    def start(self, weights, batches, seed, only_present=False):
        return ListSet(), None if weights is None else weights.vector

    def resumed(self, index, notes=()):
        return ListSet()

    def trained(self, data, vector):
        return ListWeights(vector.copy())

    def zero(self):
        return ListWeights(np.zeros(1 << BITS))

    def predictor(self, weights):
        return ListPredictor(self, weights)

    def store(self, weights, packing=EXACT, saved=None):
        store_arrays(self._model, {"vector": weights.vector}, [1 << BITS], self.space.labels)

    def load(self, labels=None):
        arrays, (size,) = load_arrays(self._model, {"vector": np.float64}, 1, labels or self.space.labels)
        require(arrays["vector"].shape == (size,) == (1 << BITS,), "its weights are of another size")
        require_weights(arrays["vector"])
        return ListWeights(arrays["vector"])

    def widened(self, weights, before):
        return weights


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

    def survey(self, examples, gold):
        return Survey(len(gold), Counter(["order"]))

    def write(self, docs, predictions, given):
        for doc, order in zip(docs, predictions):
            doc.user_data["order"] = order.tolist()


@Language.factory("toy_order", default_config={"solver": {"@ssvm_solvers": "spacy-ssvm.DCD.v1", "C": 10.0}})
def make_order(nlp, name, solver):
    model = make_model("toy_list", ["vector"], {})
    return SsvmPipe(nlp.vocab, model, name, codec=OrderCodec(name), solver=solver)


def enumerated_order(doc: Doc, weights: np.ndarray) -> float:
    """The highest score of any order."""
    items = [int(token.lower) & ((1 << BITS) - 1) for token in doc]
    n = len(items)
    return max(sum((n - k) * weights[items[t]] for k, t in enumerate(order)) for order in permutations(range(n)))
