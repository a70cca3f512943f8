"""A component's learning inside spaCy's training loop, which does not tell where epochs begin or end."""

import json
import logging
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from spacy.tokens import Doc

from ..growth import extended
from ..memory import release
from ..models.documents import DIGEST_SIZE
from ..models.protocol import Batch, DataSet, ManyLayouts, PartlyKnown, is_incomplete
from ..solvers.correction import losses
from ..solvers.learner import Certificate, Learner, start
from ..solvers.parameters import Parameters
from ..solvers.problem import Problem
from ..wording import quoted
from .examples import EncodedExamples
from .first_pass import keep_gold
from .recognition import Marks, Recognised, Recognition
from .state_file import saved_solver
from .trainer import Figures

LOGGER = logging.getLogger("spacy")


MAX_EXAMPLES = 1 << 20
"""The limit for the examples of one Doc in a saved state: more than the tokens that spaCy allows."""

MAX_VISITS = 10
"""The max number of visits of corrections to a Doc's examples, until all of them are right at once."""

MAX_NEW = 20_000
"""By how much new examples may outnumber repeated ones before dual variables are given up."""


@dataclass
class EpochState:
    """The progress of training; in the file of the solver state its fields have the same names.

    Attributes:
        epochs: the number of complete epochs.
        surplus: the number of new examples beyond the repeated ones.
        in_epoch: an epoch has begun and has not ended.
        grew: examples were added in this epoch.
        online: learning is online, without dual variables.
        has_changed: the warning of changed annotation has been given.
        finished: the solver has reached its tolerance.
    """

    epochs: int = 0
    surplus: int = 0
    in_epoch: bool = False
    grew: bool = False
    online: bool = False
    has_changed: bool = False
    finished: bool = False

    @classmethod
    def restored(cls, saved: Mapping[str, Any]) -> "EpochState":
        """The state in a file, which may hold anything.

        Raises:
            KeyError: a field is missing.
            ValueError: a field is of a wrong type, or a number is negative.
        """
        values = {field.name: saved[field.name] for field in fields(cls)}
        if not all(type(values[field.name]) is bool for field in fields(cls) if field.type is bool):
            raise ValueError("a flag of its solver state is neither true nor false")
        if not all(type(values[name]) is int and values[name] >= 0 for name in ("epochs", "surplus")):
            raise ValueError("a count of its solver state is no number")
        return cls(**values)


class Training:
    """The learning of one component from its first `update` to its last.

    Args:
        name: the component's name, for messages.
        parameters: of the solver.
        data: the component's examples, empty at first.
        weights: float64 [d] to start from, or None.
        n_threads: the number of threads for solvers that call the oracles of many examples at one w.
    """

    def __init__(
        self, name: str, parameters: Parameters, data: DataSet, weights: np.ndarray | None = None, n_threads: int = 1
    ) -> None:
        self.name = name
        self.parameters = parameters
        self.data = data
        self.n_threads = n_threads
        self.gets_parts = False
        """Whether `update` gets parts of a batch, which `learn` ends."""
        self.figures: Figures | None = None
        self._start_weights = weights
        self._completes_by: np.ndarray | None = None
        """Initial weights of all features so far, which complete gold structures; None before the first completion."""
        self._last_weights: np.ndarray | None = None
        """Weights of a solver that another one replaces, until that one starts."""
        self._rng = parameters.generator()
        self._known = Recognition()
        self._learner: Learner | None = None
        self._state = EpochState()
        self._visited = np.zeros(0, np.bool_)
        """Whether each example was visited in this epoch, bool [n]; true for examples that are given up."""
        self._unseen = np.zeros(0, np.bool_)
        """Whether each example comes from a saved state and has not been met again, bool [n].

        Such an example has dual variables, but no data.
        """
        self._given_up = np.zeros(0, np.bool_)
        """Whether each unseen example is given up, as it has not come back in a whole epoch, bool [n]."""
        self._saved_gold: dict[int, np.ndarray] = {}
        """The gold structures of unseen examples, by number."""
        self._taken: list[int] = []
        self._fresh: list[int] = []
        """The numbers of the examples that `learn` is to visit, and of the new or changed ones."""
        self._epoch_began_here = False
        """Whether the current epoch began in this object, and not before its state was saved."""
        self._texts: dict[int, str] = {}
        """The texts of Docs that are to be corrected, by number."""
        self.left_wrong: list[str] = []
        """The texts of the last batch's Docs that are wrong after corrections."""
        self.projected: list[str] = []
        """The texts of the new Docs of the last batch whose gold structure was projected onto a possible one."""

    def __len__(self) -> int:
        """The number of remembered Docs."""
        return len(self._known)

    @property
    def epochs(self) -> int:
        """The number of complete epochs."""
        return self._state.epochs

    def has_state(self) -> bool:
        """Whether an example has been visited, which the solver remembers."""
        return self._state.epochs > 0 or self._state.in_epoch

    @property
    def finished(self) -> bool:
        """Whether the solver has reached its tolerance."""
        return self._state.finished

    def prepare(self, encoded: EncodedExamples) -> np.ndarray:
        """Add the examples that are known before learning starts, all of which are encoded.

        Returns the data set's examples, int64, whose gold structure was projected onto a possible one.

        Raises:
            ImportError: the solver needs a package that is not installed.
            ValueError: the solver needs an oracle that the structure does not offer.
        """
        projected = [self._add(batch) for batch in encoded.batches]
        self._known.bind(encoded.references, encoded.marks, 0)
        self._extend_flags(len(self))
        if len(self):
            self._up_to_date()
        docs = self.data.docs
        divided = docs.sizes[docs.sizes > 1]
        if len(divided):
            message = "[%s] %s of %s Docs are learnt from as %s %s: objectives and certificates are of these"
            numbers = [f"{number:,}" for number in (len(divided), len(docs), int(divided.sum()))]
            LOGGER.info(message, self.name, *numbers, docs.unit)
        release()
        return np.concatenate([np.zeros(0, np.int64), *projected])

    def knows(self, reference: Doc, marks: Marks) -> bool:
        """Whether `update` takes this example by its reference alone; any other example has to be encoded."""
        return not self._state.online and self._known.knows(reference, marks)

    def retune(self, parameters: Parameters, anew: bool = False) -> None:
        """Continue with other parameters, and converge to the same optimum as training from scratch with them.

        A solver with dual variables starts from its present state unless `anew`, any other solver from scratch.
        """
        goes_on = not anew and parameters.learner is self.parameters.learner
        if self._learner is not None and not (goes_on and self._learner.retune(parameters)):
            self._last_weights = self.weights_by_row().copy()
            if isinstance(self.data, ManyLayouts):
                self.data.number_weights(by_use=False)
            self._learner = None
            self._rng = parameters.generator()
        self.parameters = parameters
        self._state.finished = self._state.in_epoch = False
        self._visited[:] = self._given_up

    def update(self, encoded: EncodedExamples) -> float:
        """Learn from one batch; the examples that `knows` does not know are encoded, in one batch.

        Returns the sum of the losses that the solver has suffered: 0 if `gets_parts`, as learning waits for `learn`.
        """
        references, marks, places = encoded.references, encoded.marks, encoded.places
        (fresh_docs,) = encoded.batches
        if self._state.online:
            suffered = self.learn()
            corrects = self.parameters.corrects
            self._texts = dict(enumerate(quoted(references[place]) for place in places)) if corrects else {}
            return suffered + self._update_online(fresh_docs)
        visited = self._visited
        if self._taken:
            visited = visited.copy()
            visited[self._taken] = True
        batch = self._known.recognise(references, marks, places, fresh_docs.digests(), visited, self._unseen)
        if self.parameters.corrects:
            pairs = zip(batch.numbers, references)
            self._texts |= {number: quoted(reference) for number, reference in pairs if number is not None}
        fresh = self._take_in(batch, fresh_docs)
        new = [places[k] for k in batch.new]
        self._known.bind([references[k] for k in new], [marks[k] for k in new], len(self) - len(new))
        # A changed example is not new, and a repeated one makes up for a new one.
        self._state.surplus = max(0, self._state.surplus + 2 * len(new) - len(references))
        if self._state.surplus > MAX_NEW:
            self._go_online()
        self._taken += [number for number in batch.numbers if number is not None]
        self._fresh += fresh
        return 0.0 if self.gets_parts else self.learn()

    def learn(self) -> float:
        """Learn from the parts of a batch that `update` has taken in, as from one batch; returns the loss."""
        numbers, fresh = self._taken, self._fresh
        self._taken, self._fresh, self.left_wrong = [], [], []
        suffered = self._learn(numbers, fresh) if numbers else 0.0
        self._texts = {}
        return suffered

    def state(self) -> dict[str, Any] | None:
        """The state for `resume`, not copied; None if nothing has been learnt or prepared."""
        if self._learner is None:
            return None
        gold: list[np.ndarray] = []
        if isinstance(self.data, PartlyKnown) and (self.data.is_incomplete() or self._saved_gold):
            gold = [self._saved_gold.get(doc, self.data.gold(doc)) for doc in range(len(self))]
        index, *notes = self.data.state()
        return {
            "solver": saved_solver(self.parameters),
            "index": index,
            "notes": notes,
            "digests": np.frombuffer(b"".join(self._known.digests), np.uint8),
            "sizes": np.array(self.data.docs.sizes),
            "gold": gold,
            "visited": self._visited,
            "gone": self._given_up,
            "gets_parts": self.gets_parts,
            "rng": json.dumps(self._rng.bit_generator.state),
            **asdict(self._state),
            "start": np.zeros(0) if self._start_weights is None else np.asarray(self._start_weights, np.float64),
            "learner": self._learner.state(),
        }

    def resume(self, nothing: Batch, state: dict[str, Any]) -> None:
        """Resume a training whose `state` was saved; its examples are recognised when they come back.

        `data` has the saved index, and no Docs.

        Args:
            nothing: an encoded batch without Docs.
            state: the result of `state`, from a file that may hold anything.

        Raises:
            KeyError: a part of the state is missing.
            ValueError: a part of the state does not fit the others, the solver or the data.
        """
        data = self.data
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
        start_weights = state["start"]
        if start_weights.dtype != np.float64 or start_weights.ndim != 1 or len(start_weights) > data.dimension():
            raise ValueError("its solver state does not have the weights that training started from")
        if not np.isfinite(start_weights).all():
            raise ValueError("the weights that training started from, in its solver state, are not all finite")
        self._state = EpochState.restored(state)
        self.gets_parts = bool(state["gets_parts"])
        self._known.append([digests[k : k + DIGEST_SIZE].tobytes() for k in range(0, len(digests), DIGEST_SIZE)])
        data.add(nothing)
        data.reserve(sizes)
        self._learner = start(self.parameters, data.problem(), None, self.n_threads)
        self._rng.bit_generator.state = json.loads(state["rng"])
        self._learner.restore(state["learner"], self._rng)
        self._start_weights = start_weights if len(start_weights) else None
        self._visited, self._given_up = state["visited"], state["gone"]
        self._unseen = np.ones(n, np.bool_)
        self._saved_gold = dict(enumerate(gold))

    def weights(self) -> np.ndarray:
        """The weights to predict with, float64 [d], as the data number them."""
        if self._learner is not None:
            return self._learner.prediction_weights()
        return self._widened(self._start_weights if self._last_weights is None else self._last_weights)

    def _widened(self, weights: np.ndarray | None) -> np.ndarray:
        """These weights, and the initial ones of new features."""
        known = np.zeros(0) if weights is None else np.asarray(weights, np.float64)
        widened = extended(known, self.data.dimension())
        initial = self.data.initial if isinstance(self.data, ManyLayouts) else None
        if initial is not None:
            widened[len(known) :] = initial(len(known))
        return widened

    def weights_by_row(self) -> np.ndarray:
        """The weights to predict with, float64 [d] of `problem_by_row`."""
        return self.data.by_row(self.weights()) if isinstance(self.data, ManyLayouts) else self.weights()

    def problem_by_row(self) -> Problem:
        """All examples, with the weights of each feature side by side, for every solver and any number of threads."""
        return self.data.problem_by_row() if isinstance(self.data, ManyLayouts) else self.data.problem()

    def certificate(self) -> Certificate | None:
        """The primal and dual objective at the present w, or None if the solver has no certificate.

        There is none for incomplete gold structures either: the completions, and so the objective, change with w.
        """
        return None if self._learner is None or is_incomplete(self.data) else self._learner.certificate()

    def _add(self, encoded: Batch) -> np.ndarray:
        n_before = len(self)
        self._known.append(encoded.digests())
        projected = self.data.add(encoded)
        if self.parameters.corrects:
            if is_incomplete(self.data):
                before = self._start_weights if self._completes_by is None else self._completes_by
                self._completes_by = self._widened(before)
                self.data.complete(None, self._completes_by, for_good=True)
            keep_gold(self.data, np.arange(n_before, len(self)))
        return projected

    def _take_in(self, batch: Recognised, encoded: Batch) -> list[int]:
        """Put the encoded examples of a batch into the data; returns the numbers of new or changed ones."""
        if batch.arrived:
            self._fill(batch.arrived, encoded)
        if batch.changed:
            self._replace(batch.changed, encoded, batch.is_annotated_anew)
        n_before = len(self)
        self.projected = []
        if batch.new:
            projected = self._add(encoded.take(batch.new))
            self.projected = self._texts_of(np.arange(n_before, len(self)), projected)
            self._extend_flags(len(batch.new))
            self._state.grew = True
        if batch.changed or batch.new:
            self._state.finished = False
        return [*batch.changed, *batch.arrived, *range(n_before, len(self))]

    def _up_to_date(self) -> Learner:
        """The learner, informed of all examples and weights that have been added."""
        if self._learner is None:
            warm = None if self._start_weights is None else self._widened(self._start_weights)
            # Whatever the number of threads is: the order of weights is that of the sums over them.
            is_sparse = self.parameters.adds_planes_only and warm is None and not is_incomplete(self.data)
            if is_sparse and isinstance(self.data, ManyLayouts):
                self.data.number_weights(by_use=True)
            try:
                self._learner = start(self.parameters, self.data.problem(), warm, self.n_threads)
                self._last_weights = None
            except (ImportError, ValueError) as error:
                raise type(error)(f"[{self.name}] {error}") from None
        elif self._learner.problem is not self.data.problem():
            self._learner.change(self.data.problem())
        return self._learner

    def _learn(self, numbers: list[int], fresh: list[int]) -> float:
        """Visit examples; if a batch has one twice, an epoch ends in between. Returns the sum of the losses."""
        learner = self._up_to_date()
        if self._state.in_epoch and fresh:
            self._complete(learner, np.array(fresh, np.int64))
        suffered = 0.0
        while numbers and not self._state.finished:
            now: set[int] = set()
            later = []
            for number in numbers:
                if self._visited[number] or number in now:
                    later.append(number)
                else:
                    now.add(number)
            if not now:
                self._end_epoch(learner)
                continue
            if not self._state.in_epoch:
                self._begin_epoch(learner)
            before = learner.loss
            visited = np.array(sorted(now), np.int64)
            examples = self._rng.permutation(self.data.docs.examples(visited))
            learner.visit(examples)
            suffered += learner.loss - before
            if self.parameters.corrects:
                self.left_wrong += self._left_wrong(learner, visited, examples)
            self._visited[visited] = True
            numbers = later
            if not self._state.grew and self._visited.all():
                self._end_epoch(learner)
        return suffered

    def _left_wrong(self, learner: Learner, docs: np.ndarray, examples: np.ndarray) -> list[str]:
        """The texts of these Docs that are still wrong after visits to their examples, int64.

        Learning from one example of a Doc can undo what another one has taught. If there are several Docs, they are not
        visited again: in more than one epoch, corrections learn hardly more, and forget more.
        """
        loss = learner.loss
        for _ in range(MAX_VISITS - 1 if len(docs) == 1 and len(examples) > 1 else 0):
            wrong = examples[losses(learner.problem, learner.w, examples) > 0]
            if not len(wrong):
                return []
            learner.visit(wrong)
        learner.loss = loss
        return self._texts_of(docs, examples[losses(learner.problem, learner.w, examples) > 0])

    def _texts_of(self, docs: np.ndarray, examples: np.ndarray) -> list[str]:
        """The texts of these Docs that have one of these examples, int64, if they are to be corrected."""
        if not len(examples) or not self._texts:
            return []
        return [
            self._texts[doc]
            for doc in docs.tolist()
            if np.isin(self.data.docs.examples(np.array([doc])), examples).any()
        ]

    def _begin_epoch(self, learner: Learner) -> None:
        self._complete(learner, None)
        # An evaluation may have taken much, and planes are to come.
        release()
        learner.begin_epoch(self._rng)
        self._state.in_epoch = self._epoch_began_here = True

    def _complete(self, learner: Learner, docs: np.ndarray | None) -> None:
        """Complete the unknown gold parts of these Docs, or of all, by w; planes of other completions are removed."""
        if is_incomplete(self.data):
            learner.change(learner.problem, self.data.complete(docs, learner.prediction_weights()))

    def _end_epoch(self, learner: Learner) -> None:
        state = self._state
        state.in_epoch = state.grew = False
        state.epochs += 1
        learner.end_epoch()
        if self._epoch_began_here:
            self._give_up_unseen(learner)
        self._visited[:] = self._given_up
        progress = learner.progress()
        non_zeros = int(np.count_nonzero(learner.problem.named(learner.prediction_weights())))
        self.figures = Figures(epoch=state.epochs, non_zeros=non_zeros, **progress._asdict())
        LOGGER.debug("[%s] %s", self.name, self.figures)
        state.finished = learner.done() and not is_incomplete(self.data)
        if state.finished:
            LOGGER.info(
                "[%s] converged: the duality gap is within the tolerance; further updates change nothing", self.name
            )

    def _extend_flags(self, n_more: int) -> None:
        """Extend the arrays of flags by examples that are neither visited nor from a saved state."""
        self._visited, self._unseen, self._given_up = (
            extended(flags, len(flags) + n_more) for flags in (self._visited, self._unseen, self._given_up)
        )

    def _fill(self, arrived: Mapping[int, int], encoded: Batch) -> None:
        """Give unseen examples (number → place in `encoded`) their data and the gold structures that were saved."""
        numbers = list(arrived)
        self.data.add(encoded.take(list(arrived.values())))
        self.data.replace_by_last(numbers)
        for number in numbers:
            if number in self._saved_gold and isinstance(self.data, PartlyKnown):
                self.data.set_gold(number, self._saved_gold.pop(number))
        self._visited[numbers] &= ~self._given_up[numbers]
        self._unseen[numbers] = self._given_up[numbers] = False

    def _give_up_unseen(self, learner: Learner) -> None:
        """Drop the dual variables of examples that have not come back in a whole epoch; w does not change."""
        absent = np.flatnonzero(self._unseen & ~self._given_up)
        if len(absent):
            learner.change(learner.problem, self.data.docs.examples(absent), subtracts=False)
            self._given_up[absent] = True
            warnings.warn(
                f"[{self.name}] {len(absent):,} of the {len(self):,} examples that the solver knows, from its saved "
                "state, have not come back in a whole epoch: what it remembers of them is dropped, the weights stay",
                stacklevel=6,
            )

    def _replace(self, changed: Mapping[int, int], encoded: Batch, is_annotated_anew: bool) -> None:
        """Give examples (number → place in `encoded`) their new features, and remove their planes."""
        numbers = list(changed)
        if self._learner is not None:
            self._learner.change(self._learner.problem, self.data.docs.examples(np.array(numbers, np.int64)))
        self._add(encoded.take(list(changed.values())))
        self._known.replace_by_last(numbers)
        self.data.replace_by_last(numbers)
        if is_annotated_anew and self._state.epochs and not self._state.has_changed:
            self._state.has_changed = True
            warnings.warn(
                f"[{self.name}] the annotation that this component's features or constraints read has changed between "
                "two epochs: dual variables of changed examples are dropped. If a component that sets it is still "
                "learning, training on fixed, jackknifed annotation is better and faster",
                stacklevel=6,
            )

    def _go_online(self) -> None:
        self._state.online = True
        warnings.warn(
            f"[{self.name}] examples keep coming that are all new ({len(self):,} so far): from here on none is "
            "remembered, and the solver goes on without dual variables, as an online learner",
            stacklevel=4,
        )

    def _update_online(self, encoded: Batch) -> float:
        """Learn from a batch once and forget it; returns the sum of the losses."""
        learner = self._up_to_date()
        self.data, self._known = self.data.without_docs(), Recognition()
        self._add(encoded)
        learner.change(self.data.problem(), np.arange(learner.problem.n_examples), subtracts=False)
        self._visited = self._unseen = self._given_up = np.zeros(0, np.bool_)
        self._saved_gold = {}
        self._extend_flags(len(self))
        if self._state.in_epoch:
            self._complete(learner, None)
        else:
            self._begin_epoch(learner)
        before = learner.loss
        examples = self._rng.permutation(learner.problem.n_examples)
        learner.visit(examples)
        suffered = learner.loss - before
        if self.parameters.corrects:
            self.left_wrong = self._left_wrong(learner, np.arange(len(self)), examples)
        learner.end_epoch()
        return suffered
