"""A component as spaCy sees it: labels, learning, predicting, files. What is special to one of them is in its codec."""

import logging
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import srsly
from spacy import util
from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc
from spacy.training import Example, validate_examples
from spacy.vocab import Vocab
from thinc.api import Model

from ..corpus.unreadable import Unreadable
from ..corpus.wording import names_of, quoted, token_name
from ..features.attributes import ANNOTATION_ATTRIBUTES
from ..files import replace_files
from ..inspect.confidence import (
    CALIBRATED,
    best_analyses,
    check_calibration,
    checked_count,
    checked_min_score,
    inverse_temperature,
    scored_parts,
)
from ..models import store
from ..models.packing import EXACT, Packing
from ..models.protocol import Codec, Contradiction, Predictor, Settings, StructuredModel, bind, require_architecture
from ..models.scored import Listing, NamedPart, ScoredSequence
from ..solvers.parameters import Parameters
from ..threads import checked_threads, read_ahead, shares
from ..training import state_file
from ..training.examples import ExampleReader, missing_annotation
from ..training.figures import Figures

if TYPE_CHECKING:
    from ..inspect.explanation import Explanation
    from ..solvers.learner import Certificate
    from ..solvers.problem import Problem
    from ..training.calibration import CalibrationExample, Fit
    from ..training.training import Training

LOGGER = logging.getLogger("spacy")
SETTINGS = Settings()


class SsvmPipe(TrainablePipe):
    """A trainable component whose weights are plain arrays and whose learning is done by one of our solvers.

    vocab: the shared vocabulary. model: a thinc Model from one of our architectures. name: of the component in its
    pipeline. codec: reads gold annotation and writes predictions; its labels are those to begin with. solver: the
    parameters of the solver. settings: threads, and what is saved. scorer: spaCy's scoring function.

    Raises:
        ValueError: the codec is for models of another architecture, or n_threads is no whole number of at least 1.
    """

    _bound: StructuredModel | None
    _predictor: Predictor | None
    _training: "Training | None"
    _weights: Any
    _saved_state: bytes | None
    _tutor: "SsvmPipe | None"
    _unreadable: Unreadable
    _labels_are_given: bool
    _complaints: set[int]

    def __init__(
        self,
        vocab: Vocab,
        model: Model,
        name: str,
        *,
        codec: Codec,
        solver: Parameters,
        settings: Settings = SETTINGS,
        scorer: Callable[..., dict[str, Any]] | None = None,
    ) -> None:
        require_architecture(model, codec)
        self.vocab = vocab
        self.model = model
        self.name = name
        self.codec = codec
        self.solver = solver
        self.settings = replace(settings, n_threads=checked_threads(name, settings.n_threads))
        self.scorer = scorer
        self._reads: list[str] = []
        self._beta: float | None = None
        self._forget()

    # Labels

    @property
    def labels(self) -> tuple[str, ...]:
        """The component's labels."""
        return self.codec.labels

    @property
    def label_data(self) -> tuple[str, ...]:
        """The labels as `spacy init labels` saves them and `initialize` takes them."""
        return self.labels

    @property
    def weight_labels(self) -> tuple[str, ...]:
        """The L labels that a row of weights has, in order."""
        return self.codec.weight_labels

    @property
    def cfg(self) -> dict[str, Any]:
        """The contents of the file "cfg": labels, the annotation that was read in training, settings, calibration."""
        calibration = {} if self._beta is None else {CALIBRATED: self._beta}
        return {"labels": list(self.labels), "reads": list(self._reads), **self.codec.saved, **calibration}

    @cfg.setter
    def cfg(self, cfg: dict[str, Any]) -> None:
        # As spaCy's find-threshold does; other keys mean nothing here.
        self._take_cfg(cfg)

    def add_label(self, label: str) -> int:
        """Add a label, with weights of zero; what has been learnt is kept.

        Returns 1, or 0 if the label is there already.

        Raises:
            ValueError: the label is no string, empty, or none that the component can set.
        """
        self.codec.check_label(label)
        if label in self.labels:
            return 0
        self._add_labels([label])
        return 1

    # Learning

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        """Collect the labels, read the features' files, build the feature index and fix the gold structures.

        get_examples: returns the training examples; those without any annotation are left out. labels: the labels,
        where they are known beforehand; others in the examples then count as missing annotation. Labels that the
        component has already stay.

        Raises:
            ValueError: no example, or none that has a label; `labels` is no list of labels; a feature file cannot be
                read; the solver needs what the model's structure does not offer.
            ImportError: the solver needs a package that is not installed.
        """
        if not callable(get_examples):
            raise TypeError(f"[{self.name}] initialize takes a function that returns examples, not {get_examples!r}")
        examples = list(get_examples() or ())
        if not examples:
            raise ValueError(f"[{self.name}] initialize got no training examples: is the corpus empty?")
        numbered = self._numbered(examples, "initialize")
        self._forget()
        store.clear(self.model)
        self._beta = None
        self._load_resources(nlp)
        read, gold = self._reader.gold(numbered)
        self._add_labels(sorted(self._new_labels(gold.values())) if labels is None else self._checked_labels(labels))
        if not self.labels:
            self._unreadable.report(len(numbered))
            raise ValueError(
                f"[{self.name}] none of the {len(numbered):,} training examples has a label to learn: annotate the "
                f"corpus, or give [initialize.components.{self.name}.labels]"
            )
        self._labels_are_given = labels is not None
        annotated = {number: numbered[number] for number, found in gold.items() if self.codec.is_annotated(found)}
        learnt, batches = self._reader.batches(annotated, gold)
        self._unreadable.report(len(numbered))
        self.codec.report_gaps(numbered, gold, self._warn)
        self._note_annotation([numbered[number].predicted for number in gold], nlp)
        self._training = self._start_training(batches)
        references = [numbered[number].reference for number in learnt]
        changed = self._training.prepare(references, [read[number] for number in learnt], batches)
        if len(changed):
            named = names_of({learnt[place]: numbered[learnt[place]] for place in changed})
            self._warn(
                f"{len(changed):,} of {len(learnt):,} examples have annotation that this component cannot produce "
                f"({self._training.data.impossible}); the nearest possible one is learnt instead: {named}"
            )

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Any = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Learn from a batch of examples. `drop` and `sgd` mean nothing to our solvers and are ignored.

        Returns `losses` with the loss that the solver has suffered added under the component's name.
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        numbered = self._numbered(list(examples), "update")
        if not numbered:
            return losses
        training = self._resumed_training() if self._training is None else self._training
        read, gold = self._reader.gold(numbered, training)
        gold = {number: found for number, found in gold.items() if found is None or self.codec.is_annotated(found)}
        if not gold:
            self._unreadable.report(len(numbered), len(training))
            return losses
        new = self._new_labels(found for found in gold.values() if found is not None)
        if new and not self._labels_are_given:
            if self._saved_state is not None:
                self._warn(
                    f"there are new labels, {', '.join(sorted(new))}: the saved state of the solver is dropped, and "
                    "learning goes on from the weights alone"
                )
            self._add_labels(sorted(new))
            training = self._start_training()
            gold = {n: self.codec.gold(numbered[n]) if found is None else found for n, found in gold.items()}
        self._require_labels()
        fresh, encoded = self._reader.encoded({n: numbered[n] for n in gold if gold[n] is not None}, gold)
        self._unreadable.report(len(numbered), len(training))
        learnt = [number for number in gold if gold[number] is None or number in set(fresh)]
        if not learnt:
            return losses
        self._void_calibration()
        self._predictor = None  # before learning, which takes memory
        references = [numbered[number].reference for number in learnt]
        places = [place for place, number in enumerate(learnt) if number in set(fresh)]
        losses[self.name] += training.update(references, [read[number] for number in learnt], places, encoded)
        self._training, self._saved_state = training, None
        return losses

    def finish_update(self, sgd: Any) -> None:
        """Nothing to do: the solver has moved the weights in `update`."""

    @property
    def _rehearsal_model(self) -> "SsvmPipe | None":
        """What `rehearse` learns from: the component as it was when `nlp.resume_training` was last called."""
        return self._tutor

    @_rehearsal_model.setter
    def _rehearsal_model(self, model: object) -> None:
        # spaCy hands over a copy of the model, which need not hold what was learnt since it was last saved.
        self._store()
        tutor = copy(self)
        tutor.model, tutor.codec = self.model.copy(), self.codec.without_patterns()
        tutor._bound = tutor._predictor = tutor._training = tutor._weights = None
        self._tutor = tutor

    def rehearse(
        self, examples: Iterable[Example], *, sgd: Any = None, losses: dict[str, float] | None = None, **config: Any
    ) -> dict[str, float]:
        """Learn what the component predicted when `nlp.resume_training` was called, so as not to forget it.

        examples: of which the predicted Docs count; their annotation stays, the gold annotation is not read. sgd,
        config: mean nothing to our solvers and are ignored. Before `nlp.resume_training`, nothing is learnt.

        Returns `losses` with the loss that the solver has suffered added under the component's name.
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples = list(examples)
        validate_examples(examples, f"{type(self).__name__}.rehearse")
        if self._tutor is None:
            return losses
        docs = [example.predicted.copy() for example in examples]
        self._tutor.set_annotations(docs, self._tutor.predict(docs))
        return self.update([Example(eg.predicted, doc) for eg, doc in zip(examples, docs)], losses=losses)

    @property
    def figures(self) -> Figures | None:
        """The solver's figures after its last complete epoch; None before that, and for a loaded component."""
        return None if self._training is None else self._training.figures

    def certificate(self) -> "Certificate | None":
        """Primal, dual and gap of the training so far, at one frozen w: one pass over all examples.

        None for solvers without a certificate; where examples were forgotten; where gold is incomplete or decoding is
        not exact. Where training has started from earlier weights, it is that of the objective that holds w to them.
        """
        return None if self._training is None else self._training.certificate()

    def problem(self) -> "Problem":
        """The examples of `initialize` as every solver sees them, for `spacy_ssvm.solvers.fit` and `set_weights`.

        Unknown parts of gold structures are completed here, once, by the weights that the component has; `update` does
        so before each epoch.

        Raises:
            ValueError: the component is not initialized.
        """
        if self._training is None or not len(self._training):
            raise ValueError(f"[{self.name}] there is no problem to solve yet: call initialize first")
        data = self._training.data
        if data.is_incomplete():
            data.complete(None, self._training.weights())
        return data.problem()

    def set_weights(self, weights: np.ndarray) -> None:
        """Predict with these weights, float64 [d] of `problem`, and save them; `update` goes on from them.

        Raises:
            ValueError: the component is not initialized, or `weights` is not of that length.
        """
        if self._training is None:
            raise ValueError(f"[{self.name}] there are no weights to set yet: call initialize first")
        data = self._training.data
        if np.shape(weights) != (data.dimension(),):
            raise ValueError(
                f"[{self.name}] the weights must be of shape ({data.dimension():,},), not {np.shape(weights)}"
            )
        from ..training.training import Training

        self._void_calibration()
        vector, n_threads = np.array(weights, np.float64), self.settings.n_threads
        self._training = Training(self.name, self.solver, data.without_docs(), vector, n_threads)
        self._predictor = self._saved_state = None

    def retune(self, solver: Parameters) -> None:
        """Learn with this solver from the next `update` on, to the same end as if it had been there from the start.

        Where it is the same solver with other parameters, and one with dual variables, these are kept, scaled to what
        the new C allows: a few epochs lead from one optimum to the next. Other solvers start anew. All that has been
        read of the examples stays.

        Raises:
            ValueError: the component is not initialized.
        """
        if self._training is None:
            raise ValueError(f"[{self.name}] there is nothing to learn anew yet: call initialize first")
        self._training.retune(solver)
        self.solver, self._predictor = solver, None
        self._void_calibration()

    def count_weights(self) -> tuple[int, int]:
        """How many weights are not zero, and how many there are: those of all features that have any, or of the whole
        table where features are hashed. A component that has learnt nothing has none.
        """
        self._store()
        if not store.has_weights(self.model):
            return 0, 0
        vectors = [part for part in self._model.load() if getattr(part, "dtype", None) == np.float32]
        return sum(int(np.count_nonzero(vector)) for vector in vectors), sum(map(len, vectors))

    # Predicting

    def predict(self, docs: Iterable[Doc]) -> Sequence[Any]:
        """The predictions that `set_annotations` takes, an item for each Doc; nothing is written to the Docs."""
        return self._prepared(list(docs))()

    def set_annotations(self, docs: Iterable[Doc], predictions: Sequence[Any]) -> None:
        """Write the predictions, from `predict`, to the Docs."""
        self.codec.write(docs, predictions)

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Apply the component to a stream of Docs, in order. Threads share out the Docs of a batch, without `predict`.

        Where a batch fails, each of its Docs is tried alone: the error handler sees only the bad ones, and the log says
        which of the stream they are.
        """
        n_before = 0
        batches: Iterator[Iterable[Doc]] = util.minibatch(stream, size=batch_size)  # type: ignore[no-untyped-call]
        for batch in batches:
            docs, n_done = list(batch), 0
            try:
                for part in self._annotated(docs):
                    n_done += len(part)
            except Exception:
                yield from docs[:n_done]
                yield from self._one_by_one(docs[n_done:], n_before + n_done)
            else:
                yield from docs
            n_before += len(docs)

    @contextmanager
    def memory_zone(self, mem: Any = None) -> Iterator[Any]:
        """What `nlp.memory_zone` enters; at its end, what is remembered of words is dropped, as their strings are."""
        try:
            yield mem
        finally:
            if self._predictor is not None:
                self._predictor.forget_types()
            elif self._bound is not None:
                self._bound.reader.forget_types()

    # Confidence

    @property
    def inverse_temperature(self) -> float | None:
        """β of the distribution P(y) ∝ exp(β · wᵀΦ(x, y)) that the component is calibrated to or, without that, learns;
        None where it has no distribution."""
        return inverse_temperature(self.solver) if self._beta is None else self._beta

    @property
    def has_probabilities(self) -> bool:
        """Whether scores are probabilities: exact marginals of the distribution that the solver learns (finite β: CRF,
        softmax-margin) or that `calibrate` has fitted. Else they are margins: wᵀΦ of the best analysis with something
        less that of the best one without it."""
        return self.inverse_temperature is not None

    def kbest(self, doc: Doc, k: int) -> list[tuple[float, list[Any]]]:
        """The k best analyses of a Doc, best first, exactly: their scores wᵀΦ(x, y), and their parts.

        Parts are tags, entities as (start, end, label), sentence starts as token numbers, or arcs as (head, token,
        label), where a root is its own head and the trees are those that the first pass leaves. There are fewer than k
        where no more are possible: the Doc's annotation holds. Nothing is written to it.

        Raises:
            ValueError: k is less than 1, the component has no labels yet, or its structure is not decoded exactly.
        """
        (sequences,) = self._sequences([doc])
        found = best_analyses(sequences, self.codec.names(), checked_count(self.name, k))
        return [(score, [self.codec.item(part) for part in parts]) for score, parts in found]

    def explain(self, doc: Doc) -> "Explanation":
        """Why the component predicts each tag, entity, sentence start or arc of a Doc: the best analysis without it,
        and the features whose weights put the prediction ahead of that. The Doc's annotation holds, without an
        alternative. Nothing is written to it.

        Raises:
            ValueError: the component has no labels yet, or its structure is not decoded exactly.
        """
        from ..inspect.explanation import explain

        self._require_labels()
        self._complain([doc])
        with self._naming([doc]):
            sequences = self._predicting().explained(doc)
        return explain([token.text for token in doc], sequences, self.codec.names())

    def calibration_examples(self, examples: Iterable[Example]) -> "list[CalibrationExample]":
        """Each sequence of these examples, with its scores and its gold annotation, as far as it is known.

        The predicted Docs have the annotation of earlier components, and none of this one. Gold labels that the
        component does not have are wrong.

        Raises:
            ValueError: the component is not trained yet, or its structure has no exact sums.
        """
        from ..training.calibration import CalibrationExample

        self._require_weights()
        given = [example for example in examples if len(example.predicted)]
        found = []
        for example, sequences in zip(given, self._sequences([example.predicted for example in given])):
            starts = [sequence.first for sequence in sequences]
            known = self.codec.known(example, list(zip(starts, [*starts[1:], len(example.predicted)])))
            listing = self.codec.listing()
            found += [CalibrationExample(sequence.scored, gold, listing) for sequence, gold in zip(sequences, known)]
        return found

    def calibrate(self, examples: Iterable[Example]) -> "Fit":
        """Let all scores be probabilities of P(y) ∝ exp(β · wᵀΦ(x, y)) with the β that gives the gold analyses of these
        examples the highest likelihood, whatever the solver has learnt; predictions stay what they are.

        examples: as for `calibration_examples`, and none that the component has learnt from. Learning on makes the
        calibration void.

        Raises:
            ValueError: the component is not trained yet, its structure has no exact sums, nothing is annotated, or no
                β is the best one.
            ImportError: SciPy is not installed.
        """
        from ..training.calibration import fit

        found = fit(self.name, self.calibration_examples(examples))
        self._beta = found.beta
        return found

    # Files

    def compress(self, packing: Packing) -> None:
        """Save with this packing from now on.

        Raises:
            ValueError: the component was loaded from a file whose weights are pruned or rounded already.
        """
        if store.has_weights(self.model) and not store.is_exact(self.model):
            raise ValueError(f"[{self.name}] its weights are compressed already: compress those of the original")
        self.settings = replace(self.settings, packing=packing)
        if packing != EXACT:
            self._void_calibration()

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Serialise; `exclude` names fields among cfg, vocab, model and state."""
        with self._packed():
            fields = {name: contents for name, contents in self._files(None).items() if name not in exclude}
            if "vocab" not in exclude:
                fields["vocab"] = self.vocab.to_bytes(exclude=exclude)
            return bytes(srsly.msgpack_dumps(fields))

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Save to a directory; `exclude` names fields among cfg, vocab, model and state.

        The files replace earlier ones together, when all of them are written.

        Raises:
            OSError: the disk is full, or the directory cannot be written to; what was saved there before stays.
        """
        folder = util.ensure_path(path)
        with self._packed():
            files = {name: contents for name, contents in self._files(2).items() if name not in exclude}
        try:
            replace_files(folder, files)
            if "state" not in files:
                (folder / "state").unlink(missing_ok=True)
        except OSError as error:
            reason = f"[{self.name}] cannot be saved to {folder}, which stays as it was: {error.strerror}"
            raise OSError(error.errno, reason) from error
        if "vocab" not in exclude:
            self.vocab.to_disk(folder / "vocab", exclude=exclude)

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> "SsvmPipe":
        """Load what `to_bytes` has written.

        Raises:
            DamagedModel: the bytes are damaged, incomplete or of a newer version.
        """
        readers = self._readers(srsly.json_loads, self.model.from_bytes, bytes, exclude)

        def read() -> None:
            fields = srsly.msgpack_loads(bytes_data)
            # A field of a damaged name would be passed over.
            if not set(fields) <= set(readers):
                raise ValueError(f"it has fields {sorted(map(str, fields))}, not {sorted(readers)}")
            util.from_dict(fields, readers, exclude)

        self._load(read, exclude)
        return self

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "SsvmPipe":
        """Load what `to_disk` has written.

        Raises:
            DamagedModel: a file is missing, damaged, incomplete or of a newer version.
        """
        readers = self._readers(srsly.read_json, self.model.from_disk, _contents, exclude)
        self._load(lambda: util.from_disk(path, readers, exclude), exclude)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle settings and what has been learnt, without what is derived from them."""
        self._store()
        state = {key: value for key, value in vars(self).items() if not key.startswith("_")}
        # Fields of the compiled base class are not in vars().
        state.update((key, getattr(self, key)) for key in ("vocab", "model", "name", "scorer", "_reads", "_beta"))
        return _unpickle, (type(self), state)

    @property
    def _model(self) -> StructuredModel:
        """The structured model with the present labels."""
        bound = self._bound
        if bound is None or bound.codec is not self.codec or bound.settings is not self.settings:
            self._bound = bound = bind(self.model, self.codec, self.vocab, self.settings)
            self._predictor = None
        return bound

    @property
    def _reader(self) -> ExampleReader:
        return ExampleReader(self.codec, self._model, self._unreadable)

    def _predicting(self) -> Predictor:
        """What predicts with the present weights."""
        model = self._model
        if self._predictor is None:
            if self._training is not None:
                weights = model.trained(self._training.data, self._training.weights())
            elif store.has_weights(self.model):
                weights = self._stored()
            else:
                weights = model.zero()
            self._predictor = model.predictor(weights)
        return self._predictor

    def _prepared(self, docs: Sequence[Doc]) -> Callable[[], Sequence[Any]]:
        """Read the Docs; the function returned predicts from what has been read, in any thread."""
        self._require_labels()
        self._complain(docs)
        with self._naming(docs):
            predict = self._predicting().prepared(docs)

        def named() -> Sequence[Any]:
            with self._naming(docs):
                return predict()

        return named

    def _sequences(self, docs: Sequence[Doc]) -> list[list[ScoredSequence]]:
        """For each Doc its sequences, with the scores of all their structures."""
        self._require_labels()
        self._complain(docs)
        with self._naming(docs):
            return self._predicting().scored(docs)

    def _scored(
        self, docs: Iterable[Doc], min_score: float | None, listing: Listing | None = None
    ) -> list[list[tuple[NamedPart, float]]]:
        """For each Doc its parts that score `min_score` or more, and their scores; listing: of other parts."""
        smallest = checked_min_score(self.name, min_score, self.has_probabilities)
        listing, names = listing or self.codec.listing(), self.codec.names()
        return [
            scored_parts(sequences, names, listing, self.inverse_temperature, smallest)
            for sequences in self._sequences(list(docs))
        ]

    @contextmanager
    def _naming(self, docs: Sequence[Doc]) -> Iterator[None]:
        """Name the token of a Contradiction."""
        try:
            yield
        except Contradiction as error:
            raise ValueError(f"[{self.name}] {token_name(docs, error.token)}: {error.reason}") from None

    def _annotated(self, docs: Sequence[Doc]) -> Iterator[Sequence[Doc]]:
        """Annotate the Docs; yields the parts of them that are done."""
        n_threads = self.settings.n_threads
        parts = shares(docs, n_threads)
        if len(parts) == 1:
            self.set_annotations(docs, self.predict(docs))
            yield docs
            return
        for part, predictions in zip(parts, read_ahead(n_threads, self._prepared, parts)):
            self.set_annotations(part, predictions)
            yield part

    def _one_by_one(self, docs: Sequence[Doc], first: int) -> Iterator[Doc]:
        handler = self.get_error_handler()
        for number, doc in enumerate(docs, first):
            try:
                self.set_annotations([doc], self.predict([doc]))
            except Exception as error:
                LOGGER.warning(
                    "[%s] document %s of the stream, %s, cannot be annotated: %s", self.name, number, quoted(doc), error
                )
                handler(self.name, self, [doc], error)
            else:
                yield doc

    def _start_training(self, batches: Sequence[Any] = ()) -> "Training":
        """Training from the weights that the component has, or from zero."""
        from ..training.training import Training

        weights = self._stored() if store.has_weights(self.model) else None
        data, vector = self._model.start(weights, batches, self.solver.seed)
        return Training(self.name, self.solver, data, vector, self.settings.n_threads)

    def _resumed_training(self) -> "Training":
        """Training from where it was saved, or from the weights alone.

        Raises:
            DamagedModel: the saved state of the solver does not fit the component.
        """
        if self._saved_state is None:
            return self._start_training()
        from ..training.training import Training

        try:
            state = state_file.unpack(self._saved_state)
            saved_solver = state["solver"]
            if state_file.is_same_solver(saved_solver, self.solver):
                nothing, data = self._model.encode([], []), self._model.resumed(state["index"])
                return Training.resumed(self.name, self.solver, data, nothing, state, self.settings.n_threads)
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError, MemoryError) as error:
            raise store.DamagedModel(f"[{self.name}] learning cannot go on: {error}") from error
        self._warn(
            f"the solver, {self.solver!r}, is not the one whose state was saved, "
            f"{state_file.solver_text(saved_solver)}: the state is "
            "dropped, and learning goes on from the weights alone"
        )
        return self._start_training()

    def _add_labels(self, labels: Sequence[str]) -> None:
        """Append labels; the weights get zeros for them, and training starts anew from there."""
        self._void_calibration()
        self._store()
        before = self.weight_labels
        weights = self._stored() if store.has_weights(self.model) else None
        exact = store.is_exact(self.model)
        self.codec = replace(self.codec, labels=(*self.labels, *labels))
        for label in labels:
            self.vocab.strings.add(label, allow_transient=False)  # type: ignore[call-arg]
        self._bound = self._predictor = self._training = self._weights = self._saved_state = None
        if weights is not None:
            self._model.store(self._model.widened(weights, before), EXACT, exact)

    def _new_labels(self, gold: Iterable[Any]) -> set[str]:
        return self.codec.labels_in(gold) - set(self.labels)

    def _checked_labels(self, labels: Any) -> list[str]:
        """Those of the labels given to `initialize` that the component has not yet, each once."""
        if not isinstance(labels, list | tuple):
            raise ValueError(f"[{self.name}] initialize: labels must be a list of labels, not {labels!r}")
        for label in labels:
            self.codec.check_label(label)
        return [label for label in dict.fromkeys(labels) if label not in self.labels]

    def _numbered(self, examples: list[Example], method: str) -> dict[int, Example]:
        """The examples that have tokens, by their places."""
        validate_examples(examples, f"{type(self).__name__}.{method}")
        return {number: example for number, example in enumerate(examples) if len(example.predicted)}

    def _load_resources(self, nlp: Language | None) -> None:
        def words(phrase: str) -> np.ndarray:
            doc = nlp.make_doc(phrase) if nlp is not None else Doc(self.vocab, words=phrase.split())
            return np.array([token.lower for token in doc if not token.is_space], np.uint64)

        self._model.load_resources(words)

    def _note_annotation(self, docs: Sequence[Doc], nlp: Language | None) -> None:
        """Keep which annotation the features have to learn from; warn of annotation that no training Doc has."""
        read = self._model.reader.annotation
        missing = missing_annotation(read, docs)
        if nlp is not None and nlp.config.get("training", {}).get("annotating_components"):
            missing = []
        self._reads = [name for name in read if name not in missing]
        if missing:
            self._warn(
                f"the features read token.{' and token.'.join(missing)}, which no training Doc has: it learns without, "
                'and errs where another component sets it. The reader "spacy-ssvm.Corpus.v1" can predict it '
                "(jackknife) or take it from the gold annotation (columns); or take it out of the features"
            )

    def _complain(self, docs: Sequence[Doc]) -> None:
        """Warn once of Docs to predict on that lack annotation which features have learnt from, or boundaries."""
        missing = missing_annotation(self._reads, docs)
        lacking = None
        if missing:
            lacking = (
                f"it has learnt from token.{' and token.'.join(missing)}, which Docs do not have: put the component "
                "that sets it before this one"
            )
        for kind, complaint in enumerate((lacking, self.codec.complaint([doc for doc in docs if len(doc)]))):
            if complaint is not None and kind not in self._complaints:
                self._complaints.add(kind)
                self._warn(f"{complaint} (this is said once)")

    def _warn(self, message: str) -> None:
        warnings.warn(f"[{self.name}] {message}", stacklevel=4)

    def _void_calibration(self) -> None:
        if self._beta is not None:
            self._beta = None
            self._warn(
                "its weights are no longer those that it was calibrated with: the calibration is void, calibrate it "
                "again when it is trained"
            )

    def _require_weights(self) -> None:
        """Raise a ValueError where nothing has been learnt."""
        if self._training is None and not store.has_weights(self.model):
            raise ValueError(f"[{self.name}] is not trained yet: train it, or call initialize first")

    def _require_labels(self) -> None:
        if not self.labels:
            raise ValueError(f"[{self.name}] has no labels yet: train it, or call initialize or add_label first")

    def _store(self, packing: Packing = EXACT) -> None:
        """Put the weights into the model; those that were pruned or rounded before stay as they are."""
        if self._training is not None:
            weights = self._model.trained(self._training.data, self._training.weights())
            self._model.store(self._predictor.weights if self._predictor is not None else weights, packing)
        elif packing != EXACT and store.is_exact(self.model):
            self._model.store(self._model.load(), packing)

    def _stored(self) -> Any:
        """The weights in the model; the first to ask gets those that loading has checked."""
        weights, self._weights = self._weights, None
        return self._model.load() if weights is None else weights

    @contextmanager
    def _packed(self) -> Iterator[None]:
        """For as long as this lasts, the model holds the weights as they are to be saved."""
        before = store.snapshot(self.model)
        try:
            self._store(self.settings.packing)
            yield
        finally:
            store.restore(self.model, before)

    def _files(self, indent: int | None) -> dict[str, bytes]:
        """The contents of the component's files; the model holds what is to be saved."""
        cfg = srsly.json_dumps(self.cfg, **({} if indent is None else {"indent": indent}))
        files = {"cfg": cfg.encode(), "model": self.model.to_bytes()}
        names = self.model.attrs.get(store.NAMES)
        if names is not None:
            sizes = f"{len(names):,}", f"{len(files['model']):,}"
            LOGGER.info("[%s] the names of the features take %s of the model's %s bytes", self.name, *sizes)
        if self.settings.save_solver_state:
            state = None if self._training is None else self._training.state()
            packed = self._saved_state if state is None else state_file.pack(state)
            if packed is not None:
                files["state"] = state_file.sealed(packed, store.digest(self.model))
                LOGGER.debug("[%s] the solver state takes %s bytes", self.name, f"{len(packed):,}")
        return files

    def _readers(
        self,
        cfg: Callable[[Any], Any],
        model: Callable[[Any], Any],
        state: Callable[[Any], bytes | None],
        exclude: Iterable[str],
    ) -> dict[str, Any]:
        vocab = self.vocab

        def read_vocab(source: Any) -> None:
            (vocab.from_bytes if isinstance(source, bytes) else vocab.from_disk)(source, exclude=exclude)

        def read_model(source: Any) -> None:
            # Arrays that a file lacks are not to be those of before.
            store.clear(self.model)
            model(source)

        def read_state(source: Any) -> None:
            contents = None if "model" in exclude else state(source)
            if contents is not None and self.settings.save_solver_state:
                self._saved_state = state_file.unsealed(contents, store.digest(self.model))

        return {
            "cfg": lambda source: self._take_cfg(cfg(source)),
            "vocab": read_vocab,
            "model": read_model,
            "state": read_state,
        }

    def _take_cfg(self, cfg: Any) -> None:
        # Without a note of the annotation that was read, none is missed.
        cfg = {"reads": [], **cfg} if isinstance(cfg, dict) else {}
        saved = self.codec.saved
        expected = {"labels": [], "reads": [], **saved}
        known = all(type(cfg.get(key)) is type(value) for key, value in expected.items())
        if not known or not all(isinstance(name, str) for name in (*cfg["labels"], *cfg["reads"])):
            raise ValueError("its cfg is not what this component writes")
        check_calibration(cfg)
        unknown = sorted(set(cfg["reads"]) - set(ANNOTATION_ATTRIBUTES))
        if unknown:
            raise ValueError(f"its cfg says that it reads the unknown annotation {', '.join(unknown)}")
        self.codec = replace(self.codec, labels=tuple(cfg["labels"]), **{key: cfg[key] for key in saved})
        self._reads, self._beta = cfg["reads"], cfg.get(CALIBRATED)
        self._bound = None

    def _load(self, read: Callable[[], Any], exclude: Iterable[str]) -> None:
        """Read and check the fields; where anything is wrong with them, the component stays what it was."""
        self._store()
        before = self.codec, self._reads, self._beta, store.snapshot(self.model)
        self._forget()
        try:
            read()
            for label in self.labels:
                self.codec.check_label(label)
            if len(set(self.labels)) < len(self.labels):
                raise ValueError(f"it has a label twice: {', '.join(self.labels)}")
            self._model.check_settings()
            for label in self.labels:
                self.vocab.strings.add(label, allow_transient=False)  # type: ignore[call-arg]
            if "model" not in exclude and store.has_weights(self.model):
                self._weights = self._model.load()
        except Exception as error:
            self.codec, self._reads, self._beta, state = before
            self._bound = None
            store.restore(self.model, state)
            raise store.DamagedModel(f"[{self.name}] the saved component cannot be loaded: {error}") from error

    def _forget(self) -> None:
        """Drop everything that is derived from settings and model, and all memory of training."""
        self._bound = self._predictor = self._training = self._weights = self._saved_state = self._tutor = None
        self._unreadable = Unreadable(self.name)
        self._labels_are_given = False
        self._complaints = set()


def _contents(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def _unpickle(component: type[SsvmPipe], state: Mapping[str, Any]) -> SsvmPipe:
    pipe = component.__new__(component)
    for key, value in state.items():
        setattr(pipe, key, value)
    pipe._forget()
    return pipe
