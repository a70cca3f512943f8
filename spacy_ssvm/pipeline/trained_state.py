"""The trained state of a component: weights in its model or a training under way, and the predictor made from them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy, deepcopy
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from spacy.tokens import Doc
from spacy.vocab import Vocab
from thinc.api import Model

from ..memory import release
from ..models import store
from ..models.packing import EXACT, Packing
from ..models.protocol import Batch, DataSet, ManyLayouts, Predictor, Settings, Start, StructuredModel, Weights, bind
from ..models.store import Saved
from ..solvers.correction import Correction
from ..solvers.parameters import Parameters
from ..training import state_file
from ..training.first_pass import learnt_first_pass
from ..training.trainer import Trainer
from ..training.training import Training
from .codec import Codec
from .training_record import NO_RECORD, TrainingRecord


@dataclass(frozen=True, eq=False)
class TrainedState:
    """All that a component has learnt and predicts with. A value: each change makes another one.

    Attributes:
        model: has the saved or loaded weights; `training`, if there is one, has newer ones.
        codec, settings, solver: of the component.
        structured: templates, output space and labels.
        record: facts of the training.
        saved_state: the solver's state from a file, until training resumes from it.
        seed: of a solver whose parameters have none.
        gets_parts: whether batches come in parts, as in `Trainer`.
        has_begun: whether training continues, from zero or from a saved state; otherwise weights are corrected, unless
            the settings differ.
        awaits_update: whether no `update` has come yet.
        start: the arrays of the model from which training has started, if it was loaded.
        weights: the model's, if they have been read.
        new_labels: labels that the loaded weights lack.
    """

    model: Model
    codec: Codec
    vocab: Vocab
    settings: Settings
    solver: Parameters
    structured: StructuredModel
    record: TrainingRecord = NO_RECORD
    training: Trainer | None = None
    saved_state: bytes | None = None
    seed: int = 0
    gets_parts: bool = False
    has_begun: bool = False
    awaits_update: bool = True
    start: Mapping[str, np.ndarray] | None = None
    weights: Any = None
    new_labels: tuple[str, ...] = ()

    @classmethod
    def untrained(
        cls, model: Model, codec: Codec, vocab: Vocab, settings: Settings, solver: Parameters
    ) -> "TrainedState":
        """The state of a component with the weights in a model, if any, and no memory of training."""
        return cls(model, codec, vocab, settings, solver, bind(model, codec.space, vocab, settings))

    def anew(self) -> "TrainedState":
        """The state of the same component without memory of training, but with its record."""
        return _untrained(self.record, None, self.model, self.codec, self.vocab, self.settings, self.solver)

    def with_codec(self, codec: Codec) -> "TrainedState":
        """The state with another codec."""
        if codec is self.codec:
            return self
        if codec.space.labels != self.codec.space.labels:
            return replace(self, codec=codec, structured=bind(self.model, codec.space, self.vocab, self.settings))
        return replace(self, codec=codec, structured=self._rebound(codec.space, self.settings))

    def with_settings(self, settings: Settings) -> "TrainedState":
        """The state with other settings."""
        return replace(self, settings=settings, structured=self._rebound(self.codec.space, settings))

    @property
    def predictor(self) -> Predictor:
        """Predicts with the present weights as they will be saved."""
        return self._predicting[1]

    @property
    def prediction_weights(self) -> Any:
        """The weights of `predictor`, as they will be saved."""
        return self._predicting[0]

    @cached_property
    def _predicting(self) -> tuple[Any, Predictor]:
        """The present weights as they will be saved, and the predictor with these."""
        # The examples of the last update may be gone.
        release()
        is_as_saved = self._is_as_saved()
        weights = self._present() if is_as_saved else self._bound(self.stored(self.settings.packing)).load()
        return weights, self.structured.predictor(weights)

    def without_predictor(self) -> "TrainedState":
        """The state without a predictor, whose weights take memory while the solver learns, and are void afterwards."""
        return replace(self)

    def are_any(self) -> bool:
        """Whether anything has been learnt."""
        return self.training is not None or store.has_weights(self.model)

    def require_weights(self) -> None:
        """Raise a ValueError where nothing has been learnt."""
        if not self.are_any():
            raise ValueError(f"[{self.codec.name}] is not trained yet: train it, or call initialize first")

    def require_labels(self) -> None:
        """Raise a ValueError where there are no labels to predict."""
        # What has learnt without labels predicts what needs none: no entities, or roots.
        if not self.codec.labels and not (self.codec.space.labels and self.are_any()):
            raise ValueError(f"[{self.codec.name}] has no labels yet: train it, or call initialize or add_label first")

    def forked(self) -> "TrainedState":
        """The state whose training is a copy that goes on by itself; model, templates and vocabulary are shared."""
        shared = (self.model, self.structured, self.vocab, self.codec)
        return replace(self, training=deepcopy(self.training, {id(part): part for part in shared}))

    def checked(self) -> "TrainedState":
        """The state after a model was loaded; the model and its weights are checked.

        Raises:
            DamagedModel: an array is damaged, or of a wrong type, shape or range.
            ValueError: its attributes are none that its architecture makes.
        """
        weights = self.structured.load()
        return replace(self, weights=weights) if store.has_weights(self.model) else self

    def begun(self, batches: Sequence[Batch] = ()) -> "TrainedState":
        """The state with a training from zero, by the solver, or from the weights in the model, which are corrected
        unless training has begun before. batches: encoded examples, before any is added.
        """
        has_weights, start = store.has_weights(self.model), self.start
        weights = self._stored() if has_weights else None
        if has_weights and not self.has_begun:
            if self.settings.packing != EXACT and store.is_exact(self.model):
                # What is learnt is to be right once it is saved: training starts from what will be.
                self.store(self.settings.packing)
                weights = self.structured.load()
            start = store.arrays_of(self.model)
        has_begun = self.has_begun or not has_weights
        solver = self.solver.seeded(self.seed)
        if self.settings.corrections and not has_begun:
            solver = Correction(seed=solver.seed)
        first_pass = None if has_weights else learnt_first_pass(self.structured, batches, solver.seed or 0)
        new = tuple(dict.fromkeys((*self.new_labels, *self.codec.unlearnt)))
        begun = Start(weights, solver.corrects, first_pass, new_labels=new if solver.corrects else ())
        training = self._training(solver, *self.structured.data_set(begun))
        return self._with_training(training, has_begun=has_begun, start=start, new_labels=new)

    def data_set(self, batches: Sequence[Batch], seed: int) -> DataSet:
        """A data set, still without Docs, for these batches, with the first pass that is learnt from them."""
        first_pass = learnt_first_pass(self.structured, batches, seed)
        return self.structured.data_set(Start(first_pass=first_pass))[0]

    def resumed(self, warn: Callable[[str], None]) -> "TrainedState":
        """The state with a training: the present one, or one from the saved state of the solver, or from the weights
        alone.

        Raises:
            DamagedModel: the saved state of the solver does not fit the component.
        """
        if self.training is not None:
            return self
        if self.saved_state is None:
            return self.begun()
        try:
            state = state_file.unpack(self.saved_state)
            saved_solver = state["solver"]
            solver = state_file.resumed_solver(saved_solver, self.solver)
            if solver is not None:
                nothing = self.structured.encode([], [])
                data, _ = self.structured.data_set(Start(state=[state["index"], *state["notes"]]))
                training = Training(self.codec.name, solver, data, n_threads=self.settings.n_threads)
                training.resume(nothing, state)
                gets_parts = training.gets_parts
                return self._with_training(training, seed=solver.seed or 0, gets_parts=gets_parts, has_begun=True)
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError, MemoryError) as error:
            raise store.DamagedModel(f"[{self.codec.name}] learning cannot go on: {error}") from error
        warn(
            f"the solver, {self.solver!r}, is not the one whose state was saved, "
            f"{state_file.solver_text(saved_solver)}: the state is dropped, and training continues from the weights "
            "alone" + (", by corrections" if self.settings.corrections else "")
        )
        return self.begun()

    def restarted(self, weights: np.ndarray) -> "TrainedState":
        """The state that continues from these weights, float64 [d], without the examples of the present training."""
        assert self.training is not None
        data = self.training.data.without_docs()
        if isinstance(data, ManyLayouts):
            data.number_weights(by_use=False)
        return replace(self, training=self._training(self.solver.seeded(self.seed), data, weights))

    def with_record(self, record: TrainingRecord) -> "TrainedState":
        """The state with another record, and with the present predictor."""
        changed = replace(self, record=record)
        if "_predicting" in vars(self):
            vars(changed)["_predicting"] = self._predicting
        return changed

    def with_annotation_of(self, docs: Sequence[Doc]) -> "TrainedState":
        """The state with a record in which these Docs' annotation, too, is among the features' inputs."""
        known = self.record.reads
        reads = tuple(
            name
            for name in self.structured.reader.annotation
            if name in known or any(doc.has_annotation(name.upper()) for doc in docs)
        )
        return replace(self, record=replace(self.record, reads=reads))

    def set_up(self, settings: Mapping[str, Any]) -> "TrainedState":
        """The state with the seed and the parts of batches that the block [training] of a config sets."""
        seed = self.seed if self.solver.seed is not None else settings.get("seed") or 0
        return replace(self, gets_parts=(settings.get("accumulate_gradient") or 1) > 1, seed=seed)

    def in_parts(self) -> "TrainedState":
        """The state whose training gets batches in parts from now on."""
        if isinstance(self.training, Training):
            self.training.gets_parts = True
        return replace(self, gets_parts=True)

    def copied(self, codec: Codec) -> "TrainedState":
        """The present weights in a model of their own, with a codec of the same labels, and without training."""
        return _untrained(self.record, None, self.stored(), codec, self.vocab, self.settings, self.solver)

    def ended(self) -> "TrainedState":
        """The state with the weights as they will be saved, and without training, whose examples take memory; if the
        solver's state is to be saved, the same state without a predictor.
        """
        if self.training is None or self.settings.save_solver_state:
            return self.without_predictor()
        return _untrained(self.record, None, self.packed(), self.codec, self.vocab, self.settings, self.solver)

    def with_labels(self, labels: Sequence[str]) -> "TrainedState":
        """A state with these weights, and zeros for new labels; training starts anew."""
        for label in labels:
            self.vocab.strings.add(label, allow_transient=False)  # type: ignore[call-arg]
        codec = replace(self.codec, labels=(*self.codec.labels, *labels))
        structured = bind(self.model, codec.space, self.vocab, self.settings)
        if self.are_any():
            self._put(structured, self._present(), EXACT)
        new = (*self.new_labels, *labels)
        return self._with_training(None, codec=codec, structured=structured, start=None, new_labels=new)

    @property
    def corrects(self) -> bool:
        """Whether an update corrects predictions."""
        if self.training is not None:
            return self.training.parameters.corrects
        is_loaded = self.saved_state is None and not self.has_begun and store.has_weights(self.model)
        return is_loaded and self.settings.corrections

    def has_state(self) -> bool:
        """Whether the solver remembers more than its weights, which new labels take away."""
        training = self.training
        return self.saved_state is not None or (training is not None and self.has_begun and training.has_state())

    def count(self) -> tuple[int, int]:
        """The number of non-zero weights and the number of all weights."""
        model = self.stored()
        if not store.has_weights(model):
            return 0, 0
        weights: Weights = self._bound(model).load()
        return weights.size()

    def store(self, packing: Packing = EXACT) -> None:
        """Store the weights in the model; weights that were pruned or rounded before do not change.

        Raises:
            ValueError: a weight is not finite, or too large to be loaded.
        """
        store.restore(self.model, store.snapshot(self.stored(packing)))

    def stored(self, packing: Packing = EXACT) -> Model:
        """A new thinc Model with the weights; weights that were pruned or rounded before do not change.

        Raises:
            ValueError: a weight is not finite, or too large to be loaded.
        """
        model = store.twin(self.model)
        if self.training is None and (packing == EXACT or not store.is_exact(self.model)):
            store.restore(model, store.snapshot(self.model))
            return model
        weights = self._present()
        # Scores that the predictor of a training has stored are of no more use, as learning comes next.
        if self.training is not None:
            vars(self).pop("_predicting", None)
        self._put(self._bound(model), weights, packing)
        return model

    def packed(self) -> Model:
        """A thinc Model of its own with the weights as they will be saved."""
        release()
        return self.stored(self.settings.packing)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle settings, weights and the solver's state, if it is to be saved."""
        state = self.state() if self.settings.save_solver_state else None
        return _untrained, (self.record, state, self.stored(), self.codec, self.vocab, self.settings, self.solver)

    def __deepcopy__(self, memo: dict[int, Any]) -> "TrainedState":
        """Copy the training under way, too: the copy continues as this one would."""
        if not isinstance(self.training, Training | None):
            # Its workers learn for one component.
            return deepcopy(self.copied(self.codec), memo)
        return TrainedState(**deepcopy({field.name: getattr(self, field.name) for field in fields(self)}, memo))

    def state(self) -> bytes | None:
        """The solver's state to save; None where there is none.

        Raises:
            ValueError: it holds numbers that are not finite.
        """
        try:
            state = self.training.state() if self.training is not None and self.has_begun else None
        except ValueError as error:
            raise ValueError(f"[{self.codec.name}] the state of its solver cannot be saved: {error}") from None
        return self.saved_state if state is None else state_file.pack(state)

    def _with_training(self, training: Trainer | None, **changes: Any) -> "TrainedState":
        """The state with a training, or none, in place of a saved one and of weights that were read before."""
        return replace(self, training=training, saved_state=None, weights=None, **changes)

    def _training(self, solver: Parameters, data: DataSet, weights: np.ndarray | None) -> Training:
        training = Training(self.codec.name, solver, data, weights, self.settings.n_threads)
        training.gets_parts = self.gets_parts
        return training

    def _start(self) -> Saved | None:
        """The file from which the weights come; None for training from zero."""
        if self.training is None:
            return Saved(store.arrays_of(self.model), are_corrected=True)
        return None if self.start is None else Saved(self.start, self.training.parameters.corrects)

    def _is_as_saved(self) -> bool:
        """Whether saving changes no weight."""
        if self.settings.packing == EXACT or not self.are_any():
            return True
        start = self._start()
        return start is not None and start.are_corrected and not start.are_exact

    def _rebound(self, space: Any, settings: Settings) -> StructuredModel:
        """The structured model with another space of the same labels, and other settings."""
        # It has the names of features that have no weights yet.
        structured = copy(self.structured)
        structured.space, structured.settings = space, settings
        return structured

    def _bound(self, model: Model) -> StructuredModel:
        """The structured model of this thinc Model."""
        return bind(model, self.codec.space, self.vocab, self.settings)

    def _put(self, structured: StructuredModel, weights: Any, packing: Packing) -> None:
        """Put these weights into the thinc Model of a structured model."""
        try:
            structured.store(weights, packing, self._start())
        except ValueError as error:
            raise ValueError(f"[{self.codec.name}] cannot be saved: {error}") from None

    def _present(self) -> Any:
        """The current weights: of training, or else of the model."""
        if "_predicting" in vars(self) and self._is_as_saved():
            return self._predicting[0]
        if self.training is not None:
            return self.structured.trained(self.training.data, self.training.weights())
        return self._stored()

    def _stored(self) -> Any:
        """The weights in the model."""
        return self.structured.load() if self.weights is None else self.weights


def _untrained(record: TrainingRecord, state: bytes | None, *parts: Any) -> TrainedState:
    """`TrainedState.untrained` of these parts, with a record and a saved state of the solver."""
    return replace(TrainedState.untrained(*parts), record=record, saved_state=state)


@contextmanager
def unchanged_on_error(model: Model) -> Iterator[None]:
    """A context that restores the model's weights and attributes if it fails or is interrupted."""
    before = store.snapshot(model)
    try:
        yield
    except BaseException:
        store.restore(model, before)
        raise
