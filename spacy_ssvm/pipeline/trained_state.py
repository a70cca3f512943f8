"""The trained state of a component: weights in its model or a training under way, and the predictor made from them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from spacy.vocab import Vocab
from thinc.api import Model

from ..memory import release
from ..models import store
from ..models.packing import EXACT, Packing
from ..models.protocol import (
    DataSet,
    ManyLayouts,
    Predictor,
    Settings,
    Start,
    StructuredModel,
    Weights,
    bind,
)
from ..models.store import Saved
from ..solvers.correction import Correction
from ..solvers.parameters import Parameters
from ..training import state_file
from ..training.first_pass import learnt_first_pass
from ..training.training import Training
from .codec import Codec


class TrainedState:
    """The weights of a component: those of `training`, where there is one, else those in the thinc Model.

    With other labels, another object takes its place. `saved_state` is the solver's state from a file, until training
    has resumed from it. Weights from a file without such a state are corrected, unless the settings say otherwise; all
    other training is done by the component's solver.
    """

    def __init__(self, model: Model, codec: Codec, vocab: Vocab, settings: Settings) -> None:
        self.training: Training | None = None
        self.saved_state: bytes | None = None
        self.seed = 0
        """The seed of a solver whose parameters have none."""
        self.gets_parts = False
        """Whether batches come in parts, as in `Training`."""
        self.has_begun = False
        """Whether training goes on, from zero or from a saved state: weights without one are corrected."""
        self._model, self._codec, self._vocab, self._settings = model, codec, vocab, settings
        self._structured: StructuredModel | None = None
        self._predictor: Predictor | None = None
        self._loaded: Any = None
        self._saved: Mapping[str, np.ndarray] | None = None
        """The arrays of the model from which training has started, if it was loaded."""

    def bound_to(self, model: Model, codec: Codec, settings: Settings) -> "TrainedState":
        """This object, bound to these; the predictor is dropped if one of them has changed."""
        if not (model is self._model and codec is self._codec and settings is self._settings):
            as_before = codec.space.labels == self._codec.space.labels
            self._predictor = None
            if model is not self._model or not as_before:
                self._structured = None
            elif self._structured is not None:
                # It goes on: it has the names of features that have no weights yet.
                self._structured.space, self._structured.settings = codec.space, settings
            self._model, self._codec, self._settings = model, codec, settings
        return self

    @property
    def structured(self) -> StructuredModel:
        """Templates, output space and labels, bound at first use: binding can take a moment."""
        if self._structured is None:
            self._structured = bind(self._model, self._codec.space, self._vocab, self._settings)
        return self._structured

    @property
    def predictor(self) -> Predictor:
        """Predicts with the present weights as they will be saved."""
        if self._predictor is None:
            # The examples of the last update may be gone.
            release()
            self._predictor = self.structured.predictor(self._as_saved())
        return self._predictor

    def are_any(self) -> bool:
        """Whether anything has been learnt."""
        return self.training is not None or store.has_weights(self._model)

    def forget_types(self) -> None:
        """Drop all memory of word types, whose strings may be gone."""
        if self._predictor is not None:
            self._predictor.forget_types()
        elif self._structured is not None:
            self._structured.reader.forget_types()

    def check(self) -> None:
        """Check a model that was loaded, and its weights.

        Raises:
            DamagedModel: an array is damaged, or of a wrong type, shape or range.
            ValueError: its attributes are none that its architecture makes.
        """
        weights = self.structured.load()
        if store.has_weights(self._model):
            self._loaded = weights

    def begin(self, solver: Parameters, batches: Sequence[Any] = ()) -> Training:
        """Training from zero, by this solver, or from the weights in the model, which are corrected unless training
        has begun before. batches: encoded examples, before any is added.
        """
        if store.has_weights(self._model) and not self.has_begun:
            # What is learnt is to be right once it is saved: training starts from what will be.
            self.store(self._settings.packing)
            self._saved = store.arrays_of(self._model)
        weights = self._stored() if store.has_weights(self._model) else None
        self.has_begun = self.has_begun or weights is None
        solver = solver.seeded(self.seed)
        if self._settings.corrections and not self.has_begun:
            solver = Correction(seed=solver.seed)
        first_pass = learnt_first_pass(self.structured, batches, solver.seed or 0) if weights is None else None
        data, vector = self.structured.data_set(Start(weights, solver.keeps_absent_rows, first_pass))
        return self._training(solver, data, vector)

    def data_set(self, batches: Sequence[Any], seed: int) -> DataSet:
        """A data set without Docs for these batches, with what is learnt from them before the solver learns."""
        first_pass = learnt_first_pass(self.structured, batches, seed)
        return self.structured.data_set(Start(first_pass=first_pass))[0]

    def resume(self, solver: Parameters, warn: Callable[[str], None]) -> Training:
        """The present training; without one, training from the saved state of the solver, or from the weights alone.

        Raises:
            DamagedModel: the saved state of the solver does not fit the component.
        """
        if self.training is not None:
            return self.training
        if self.saved_state is None:
            return self.begin(solver)
        try:
            state = state_file.unpack(self.saved_state)
            saved_solver = state["solver"]
            resumed = state_file.resumed_solver(saved_solver, solver)
            if resumed is not None:
                self.has_begun, self.seed = True, resumed.seed or 0
                nothing = self.structured.encode([], [])
                data, _ = self.structured.data_set(Start(state=[state["index"], *state["notes"]]))
                training = Training.resumed(self._codec.name, resumed, data, nothing, state, self._settings.n_threads)
                self.gets_parts = training.gets_parts
                return training
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError, MemoryError) as error:
            raise store.DamagedModel(f"[{self._codec.name}] learning cannot go on: {error}") from error
        warn(
            f"the solver, {solver!r}, is not the one whose state was saved, {state_file.solver_text(saved_solver)}: "
            "the state is dropped, and training continues from the weights alone"
            + (", by corrections" if self._settings.corrections else "")
        )
        return self.begin(solver)

    def moved(self, training: Training) -> None:
        """Take over a training, whose weights are about to move or have moved."""
        self.training, self.saved_state, self._predictor = training, None, None

    def restart(self, solver: Parameters, weights: np.ndarray) -> None:
        """Go on from these weights, float64 [d], without the examples of the present training."""
        assert self.training is not None
        data = self.training.data.without_docs()
        if isinstance(data, ManyLayouts):
            data.number_weights(by_use=False)
        self.moved(self._training(solver.seeded(self.seed), data, weights))

    def relabelled(self, codec: Codec) -> "TrainedState":
        """A state with these weights, and zeros for the new labels of this codec; training starts anew."""
        self.store()
        after = TrainedState(self._model, codec, self._vocab, self._settings)
        after.has_begun, after.seed, after.gets_parts = self.has_begun, self.seed, self.gets_parts
        if store.has_weights(self._model):
            before = Saved(store.arrays_of(self._model), are_corrected=True)
            after.structured.store(after.structured.load(self._codec.space.labels), EXACT, before)
        return after

    def has_state(self) -> bool:
        """Whether the solver remembers more than its weights, which new labels take away."""
        training = self.training
        return self.saved_state is not None or (training is not None and self.has_begun and training.has_state())

    def count(self) -> tuple[int, int]:
        """How many weights are not zero, and how many there are."""
        self.store()
        if not store.has_weights(self._model):
            return 0, 0
        weights: Weights = self.structured.load()
        return weights.size()

    def store(self, packing: Packing = EXACT) -> None:
        """Put the weights into the model; weights that were pruned or rounded before stay as they are.

        Raises:
            ValueError: a weight is not finite, or too large to be loaded.
        """
        if self.training is not None:
            self._put(self.structured, self._present(), packing)
        elif packing != EXACT and store.is_exact(self._model):
            self._put(self.structured, self._stored(), packing)

    @contextmanager
    def packed(self, packing: Packing) -> Iterator[None]:
        """Within this context, the model holds the weights as they will be saved."""
        release()
        before = store.snapshot(self._model)
        try:
            if self.training is None:
                self.store(packing)
            else:
                weights = self._present()
                # Scores that the predictor has stored are of no more use, as learning comes next.
                self._predictor = None
                self._put(self.structured, weights, packing)
            yield
        finally:
            store.restore(self._model, before)

    def state(self) -> bytes | None:
        """The solver's state to save; None where there is none.

        Raises:
            ValueError: it holds numbers that are not finite.
        """
        try:
            state = self.training.state() if self.training is not None and self.has_begun else None
        except ValueError as error:
            raise ValueError(f"[{self._codec.name}] the state of its solver cannot be saved: {error}") from None
        return self.saved_state if state is None else state_file.pack(state)

    def _training(self, solver: Parameters, data: Any, weights: np.ndarray | None) -> Training:
        training = Training(self._codec.name, solver, data, weights, self._settings.n_threads)
        training.gets_parts = self.gets_parts
        return training

    def _start(self) -> Saved | None:
        """The file from which the weights come; None for training from zero."""
        if self.training is None:
            return Saved(store.arrays_of(self._model), are_corrected=True)
        are_corrected = isinstance(self.training.parameters, Correction)
        return None if self._saved is None else Saved(self._saved, are_corrected)

    def _is_as_saved(self) -> bool:
        """Whether saving changes no weight."""
        if self._settings.packing == EXACT or not self.are_any():
            return True
        start = self._start()
        return start is not None and start.are_corrected and not start.are_exact

    def _as_saved(self) -> Any:
        """The present weights as they will be saved."""
        if self._is_as_saved():
            return self._present()
        twin = bind(store.twin(self._model), self._codec.space, self._vocab, self._settings)
        self._put(twin, self._present(), self._settings.packing)
        return twin.load()

    def _put(self, structured: StructuredModel, weights: Any, packing: Packing) -> None:
        """Put these weights into the thinc Model of a structured model."""
        try:
            structured.store(weights, packing, self._start())
        except ValueError as error:
            raise ValueError(f"[{self._codec.name}] cannot be saved: {error}") from None

    def _present(self) -> Any:
        """The weights as they are learnt."""
        if self._predictor is not None and self._is_as_saved():
            return self._predictor.weights
        if self.training is not None:
            return self.structured.trained(self.training.data, self.training.weights())
        return self._stored()

    def _stored(self) -> Any:
        """The weights in the model; the first caller gets those that `check` has read."""
        weights, self._loaded = self._loaded, None
        return self.structured.load() if weights is None else weights
