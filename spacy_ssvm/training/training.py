"""A component's learning inside spaCy's training loop, which does not tell it where an epoch begins or ends."""

import json
import logging
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from spacy.tokens import Doc

from ..models.protocol import DataSet
from ..solvers.learner import Certificate, Learner, start
from ..solvers.parameters import Parameters
from .examples import Recognition
from .figures import Figures

LOGGER = logging.getLogger("spacy")

DIGEST_SIZE = 16

MAX_EXAMPLES = 1 << 20
"""In one Doc: more than spaCy allows tokens."""

_FLAGS = ("in_epoch", "grew", "online", "has_changed")

MAX_NEW = 20_000
"""How far examples that are new may outnumber those that come back before dual variables are given up."""


class Training:
    """The learning of one component between its first and its last `update`.

    name: the component's, for messages. parameters: the solver's. data: its examples, empty at first.
    weights: float64 [d] to start from, or None. n_threads: how many threads call oracles, with solvers that call them
        at one w.
    """

    def __init__(
        self,
        name: str,
        parameters: Parameters,
        data: DataSet,
        weights: np.ndarray | None = None,
        n_threads: int = 1,
    ) -> None:
        self.name = name
        self.parameters = parameters
        self.data = data
        self.n_threads = n_threads
        self.finished = False
        self.epochs = 0
        self.figures: Figures | None = None
        self._weights = weights
        self._rng = np.random.default_rng(parameters.seed)
        self._known = Recognition()
        self._learner: Learner | None = None
        self._visited = np.zeros(0, np.bool_)
        self._in_epoch = False
        self._grew = False
        self._surplus = 0
        self._online = False
        self._has_changed = False
        self._awaited = np.zeros(0, np.bool_)
        """Examples of a saved state that have not been met yet: there are dual variables, but no data."""
        self._gone = np.zeros(0, np.bool_)
        """Those of them that a whole epoch has not brought back: they are not waited for any longer."""
        self._awaited_gold: dict[int, np.ndarray] = {}
        self._is_whole = False

    def __len__(self) -> int:
        """The number of Docs that are remembered."""
        return len(self._known)

    def prepare(self, references: Sequence[Doc], read: Sequence[bytes], batches: Sequence[Any]) -> np.ndarray:
        """Take in the examples that are known before learning starts.

        references: all examples' reference Docs; read: what is read of their predicted Docs that other components can
        change; batches: the examples, in the same order.

        Returns the places, int64, of those that had to be projected onto what the structure allows.

        Raises:
            ImportError: the solver needs a package that is not installed.
            ValueError: the solver needs what the structure does not offer.
        """
        projected = [len(self) + self._add(batch) for batch in batches]
        self._known.bind(references, read, 0)
        self._remember_more(len(self))
        if len(self):
            self._up_to_date()
        return np.concatenate([np.zeros(0, np.int64), *projected])

    def knows(self, reference: Doc, read: bytes) -> bool:
        """Whether `update` needs this example only by its reference; others it has to be given encoded."""
        return not self._online and self._known.knows(reference, read)

    def retune(self, parameters: Parameters) -> None:
        """Go on with other parameters, to the same end as if they had been there from the start of this training.

        What a solver with dual variables has learnt is a step on the way there, and is kept; other solvers start anew.
        """
        goes_on = parameters.learner == self.parameters.learner
        if self._learner is not None and not (goes_on and self._learner.retune(parameters)):
            self._learner = None
            self._rng = np.random.default_rng(parameters.seed)
        self.parameters = parameters
        self.finished = self._in_epoch = False
        self._visited[:] = self._gone

    def update(self, references: Sequence[Doc], read: Sequence[bytes], unsure: list[int], encoded: Any) -> float:
        """Learn from one batch; `encoded` holds the examples at the places `unsure`.

        references, read: as `prepare` takes them.

        Returns Σ of the losses that the solver has suffered.
        """
        if self._online:
            return self._update_online(encoded)
        numbers = [self._known.by_reference(reference) for reference in references]
        fresh = self._recognise(references, read, numbers, unsure, encoded)
        if self._surplus > MAX_NEW:
            self._go_online()
        return self._learn([number for number in numbers if number is not None], fresh)

    def state(self) -> dict[str, Any] | None:
        """All that `resumed` needs to go on from here, not copied; None where nothing has been learnt or prepared."""
        if self._learner is None:
            return None
        has_gold = self.data.is_incomplete() or bool(self._awaited_gold)
        n = len(self)
        return {
            "solver": repr(self.parameters),
            "index": self.data.index(),
            "digests": np.frombuffer(b"".join(self._known.digests), np.uint8),
            "sizes": self.data.sizes(),
            "gold": [self._awaited_gold.get(doc, self.data.gold(doc)) for doc in range(n)] if has_gold else [],
            "visited": self._visited,
            "gone": self._gone,
            "rng": json.dumps(self._rng.bit_generator.state),
            "epochs": self.epochs,
            "surplus": self._surplus,
            **{name: getattr(self, f"_{name}") for name in _FLAGS},
            "finished": self.finished,
            "learner": self._learner.state(),
        }

    @classmethod
    def resumed(
        cls,
        name: str,
        parameters: Parameters,
        data: DataSet,
        nothing: Any,
        state: dict[str, Any],
        n_threads: int = 1,
    ) -> "Training":
        """The training that `state` was taken of; its examples are waited for.

        data: without Docs, with the saved state's index. nothing: an encoded batch without Docs. state: what `state`
        has returned, from a file that may hold anything.

        Raises:
            ValueError: the state does not fit together, or to the solver or the data.
        """
        training = cls(name, parameters, data, n_threads=n_threads)
        digests, sizes, gold = state["digests"], state["sizes"], state["gold"]
        n = len(sizes)
        if digests.dtype != np.uint8 or digests.shape != (n * DIGEST_SIZE,):
            raise ValueError("its solver state does not say what its examples are")
        if sizes.dtype != np.int64 or sizes.ndim != 1 or not ((sizes >= 0) & (sizes <= MAX_EXAMPLES)).all():
            raise ValueError("its solver state does not say how many examples there are")
        if gold and (len(gold) != n or not all(part.dtype == np.int32 and part.ndim == 1 for part in gold)):
            raise ValueError("its solver state does not have the gold structure of each example")
        for key in ("visited", "gone"):
            if state[key].dtype != np.bool_ or state[key].shape != (n,):
                raise ValueError(f'"{key}" of its solver state is of a wrong type or shape')
        if not all(type(state[key]) is bool for key in (*_FLAGS, "finished")):
            raise ValueError("a flag of its solver state is neither true nor false")
        if not all(type(state[key]) is int and state[key] >= 0 for key in ("epochs", "surplus")):
            raise ValueError("a count of its solver state is no number")
        training._known.append([digests[k : k + DIGEST_SIZE].tobytes() for k in range(0, len(digests), DIGEST_SIZE)])
        data.add(nothing.reserved(sizes))
        training._learner = start(parameters, data.problem(), None, n_threads)
        training._rng.bit_generator.state = json.loads(state["rng"])
        training._learner.restore(state["learner"], training._rng)
        training._weights = training._learner.prediction_weights().copy()
        training._visited, training._gone = state["visited"], state["gone"]
        training._awaited = np.ones(n, np.bool_)
        training._awaited_gold = dict(enumerate(gold))
        training.epochs, training._surplus, training.finished = state["epochs"], state["surplus"], state["finished"]
        for flag in _FLAGS:
            setattr(training, f"_{flag}", state[flag])
        return training

    def weights(self) -> np.ndarray:
        """The weights to predict with, float64 [d]."""
        if self._learner is None:
            d = self.data.dimension()
            if self._weights is None:
                return np.zeros(d)
            return np.concatenate([self._weights, np.zeros(d - len(self._weights))])
        return self._learner.prediction_weights()

    def certificate(self) -> Certificate | None:
        """Primal and dual at the present w, or None where the solver has none.

        There is none either where gold that is not given is completed: what is learnt then changes with w.
        """
        return None if self._learner is None or self.data.is_incomplete() else self._learner.certificate()

    def _add(self, encoded: Any) -> np.ndarray:
        self._known.append(encoded.digests())
        return self.data.add(encoded)

    def _recognise(
        self,
        references: Sequence[Doc],
        read: Sequence[bytes],
        numbers: list[int | None],
        unsure: list[int],
        encoded: Any,
    ) -> list[int]:
        """Find examples by their content; what is new is added, what has changed takes the place of its old self.

        Fills in `numbers`; returns those of them that are new or changed.
        """
        visited = self._visited
        in_batch = np.zeros(len(self), np.bool_)
        known = [number for number in numbers if number is not None]
        in_batch[known] = True
        goes_on = not visited[known].all()
        new: list[int] = []
        repeated: list[int] = []
        changed: dict[int, int] = {}
        arrived: dict[int, int] = {}
        for k, (place, digest) in enumerate(zip(unsure, encoded.digests())):
            number = numbers[place]
            if number is not None:
                if not self._known.is_unchanged(number, digest):
                    changed[number] = k
                self._known.bind([references[place]], [read[place]], number)
                continue
            number = self._known.by_content(digest, visited, in_batch)
            if number is None:
                # Other components may annotate it differently than before.
                number = self._known.by_words(references[place], read[place], visited, in_batch)
                if number is not None:
                    changed[number] = k
            if number is None:
                new.append(k)
                continue
            if self._awaited[number] and number not in arrived:
                arrived[number] = k
            elif visited[number] or in_batch[number]:
                repeated.append(k)
            goes_on |= not visited[number]
            in_batch[number] = True
            numbers[place] = number
            self._known.bind([references[place]], [read[place]], number)
        if new or goes_on:
            # The epoch is not over: what is there again is a duplicate, with dual variables of its own.
            new += repeated
        if arrived:
            self._fill(arrived, encoded)
        if changed:
            self._replace(changed, encoded)
        first = len(self)
        if new:
            self._grew = True
            self._add(encoded.take(new))
            self._remember_more(len(new))
            places = [unsure[k] for k in new]
            self._known.bind([references[place] for place in places], [read[place] for place in places], first)
            for number, k in enumerate(new, first):
                numbers[unsure[k]] = number
        # A reference that has changed is not new, and one that comes back makes up for one that is.
        self._surplus = max(0, self._surplus + 2 * len(new) - len(references))
        fresh = [*changed, *arrived, *range(first, first + len(new))]
        if len(fresh) > len(arrived):
            self.finished = False
        return fresh

    def _up_to_date(self) -> Learner:
        """The learner, told of all examples and weights that have been added."""
        if self._learner is None:
            warm = None if self._weights is None else self.weights()
            try:
                self._learner = start(self.parameters, self.data.problem(), warm, self.n_threads)
            except (ImportError, ValueError) as error:
                raise type(error)(f"[{self.name}] {error}") from None
        elif self._learner.problem is not self.data.problem():
            self._learner.extend(self.data.problem())
        return self._learner

    def _learn(self, numbers: list[int], fresh: list[int]) -> float:
        learner = self._up_to_date()
        if self._in_epoch and fresh:
            self._complete(learner, np.array(fresh, np.int64))
        suffered = 0.0
        while numbers and not self.finished:
            now, later, chosen = [], [], set()
            for number in numbers:
                if self._visited[number] or number in chosen:
                    later.append(number)
                else:
                    now.append(number)
                    chosen.add(number)
            if not now:
                self._end_epoch(learner)
                continue
            if not self._in_epoch:
                self._begin_epoch(learner)
            before = learner.loss
            learner.visit(self._rng.permutation(self.data.examples_of(np.array(sorted(now), np.int64))))
            suffered += learner.loss - before
            self._visited[now] = True
            numbers = later
            if self._visited.all() and not self._grew:
                self._end_epoch(learner)
        return suffered

    def _begin_epoch(self, learner: Learner) -> None:
        self._complete(learner, None)
        learner.begin_epoch(self._rng)
        self._in_epoch = self._is_whole = True

    def _complete(self, learner: Learner, docs: np.ndarray | None) -> None:
        """Complete what is unknown of these Docs, or of all, as w has it; planes of another completion are void."""
        if self.data.is_incomplete():
            learner.remove(self.data.complete(docs, learner.prediction_weights()))

    def _end_epoch(self, learner: Learner) -> None:
        self._in_epoch = self._grew = False
        self.epochs += 1
        learner.end_epoch()
        if self._is_whole:
            self._give_up_awaited(learner)
        self._visited[:] = self._gone
        progress = learner.progress()
        non_zeros = int(np.count_nonzero(learner.prediction_weights()))
        self.figures = Figures(epoch=self.epochs, non_zeros=non_zeros, **progress._asdict())
        LOGGER.debug("[%s] %s", self.name, self.figures)
        self.finished = learner.done() and not self.data.is_incomplete()
        if self.finished:
            LOGGER.warning("[%s] the solver has reached its tolerance: further updates change nothing", self.name)

    def _remember_more(self, number: int) -> None:
        """Make room for so many examples more."""
        more = np.zeros(number, np.bool_)
        self._visited, self._awaited, self._gone = (
            np.append(flags, more) for flags in (self._visited, self._awaited, self._gone)
        )

    def _fill(self, arrived: dict[int, int], encoded: Any) -> None:
        """Give examples of the saved state (number → place in `encoded`) their data, and the gold they had."""
        numbers = list(arrived)
        self.data.add(encoded.take(list(arrived.values())))
        self.data.replace_by_last(numbers)
        for number in numbers:
            if number in self._awaited_gold:
                self.data.set_gold(number, self._awaited_gold.pop(number))
        self._visited[numbers] &= ~self._gone[numbers]
        self._awaited[numbers] = self._gone[numbers] = False

    def _give_up_awaited(self, learner: Learner) -> None:
        """Forget what has been learnt of examples that a whole epoch has not brought back; w stays as it is."""
        absent = np.flatnonzero(self._awaited & ~self._gone)
        if len(absent):
            learner.forget(self.data.examples_of(absent))
            self._gone[absent] = True
            warnings.warn(
                f"[{self.name}] {len(absent):,} of the {len(self):,} examples that the solver knows, from its saved "
                "state, have not come back in a whole epoch: what it remembers of them is dropped, the weights stay",
                stacklevel=6,
            )

    def _replace(self, changed: dict[int, int], encoded: Any) -> None:
        """Give examples (number → place in `encoded`) their new features; what was learnt from the old ones is void."""
        if self._learner is not None:
            self._learner.remove(self.data.examples_of(np.array(list(changed), np.int64)))
        self._add(encoded.take(list(changed.values())))
        self._known.replace_by_last(list(changed))
        self.data.replace_by_last(list(changed))
        if self.epochs and not self._has_changed:
            self._has_changed = True
            warnings.warn(
                f"[{self.name}] the annotation that this component's features or constraints read has changed between "
                "two epochs, as another component that sets it is still learning: dual variables of changed examples "
                "are dropped. Training on fixed, jackknifed annotation is better and faster",
                stacklevel=6,
            )

    def _go_online(self) -> None:
        self._online = True
        warnings.warn(
            f"[{self.name}] examples keep coming that are all new ({len(self):,} so far): from here on none is "
            "remembered, and the solver goes on without dual variables, as an online learner",
            stacklevel=4,
        )

    def _update_online(self, encoded: Any) -> float:
        learner = self._up_to_date()
        learner.forget(np.arange(learner.problem.n_examples))
        self.data, self._known = self.data.without_docs(), Recognition()
        self._add(encoded)
        learner.extend(self.data.problem())
        self._visited = self._awaited = self._gone = np.zeros(0, np.bool_)
        self._awaited_gold = {}
        self._remember_more(len(self))
        if self._in_epoch:
            self._complete(learner, None)
        else:
            self._begin_epoch(learner)
        before = learner.loss
        learner.visit(self._rng.permutation(learner.problem.n_examples))
        learner.end_epoch()
        return learner.loss - before
