"""How the components learn: labels and examples are collected once, then each `update` goes to the training."""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example, validate_examples

from ..corpus.unreadable import Unreadable, names_of
from ..features.attributes import ANNOTATION_ATTRIBUTES
from ..inspect.confidence import CALIBRATED, check_calibration, inverse_temperature
from ..models import store as models
from ..models.packing import EXACT, Packing
from ..solvers.parameters import Parameters
from ..training import state_file as solver_state
from ..training.figures import Figures
from .component import SsvmPipe
from .patterns import Patterns

if TYPE_CHECKING:
    from ..models.protocol import DataSet
    from ..solvers.learner import Certificate
    from ..solvers.problem import Problem
    from ..training.calibration import Fit, Judged
    from ..training.training import Training

BATCH = 1000
"""Examples that are read at a time before training starts."""


class LearningPipe(SsvmPipe):
    """A component with labels that it finds in the examples, whatever structure it learns.

    What an example's gold annotation is read into is the subclass's affair: `Gold` below stands for it.
    """

    _training: "Training | None"
    _scoring: Any
    _features: Any
    _unpacked: Any
    _saved_state: bytes | None
    _tutor: "LearningPipe | None"
    patterns: Patterns
    _labels_are_given: bool
    _unreadable: Unreadable
    _has_missed: bool

    @abstractmethod
    def _extractor(self) -> Any:
        """The features, whose `reader` names the columns that they need."""

    @abstractmethod
    def _gold(self, example: Example) -> Any:
        """The gold annotation, a Gold, of the predicted Doc."""

    @abstractmethod
    def _is_annotated(self, gold: Any) -> bool:
        """Whether there is anything to learn in it."""

    @abstractmethod
    def _labels_in(self, gold: Iterable[Any]) -> set[str]:
        """The component's labels that occur there."""

    @abstractmethod
    def _report_gaps(self, examples: Mapping[int, Example], gold: Mapping[int, Any]) -> None:
        """Warn of annotation, that of the examples with these numbers, that is missing, contradictory or not learnt."""

    @abstractmethod
    def _encode(self, examples: Sequence[Example], gold: Sequence[Any]) -> Any:
        """A batch as the component's data set takes it."""

    @abstractmethod
    def _pack(self, packing: Packing) -> None:
        """Put the weights to predict with into the model."""

    @abstractmethod
    def _unpack(self) -> Any:
        """Take the weights out of the model, checked."""

    @abstractmethod
    def _widen(self, before: Sequence[str]) -> None:
        """Give the stored weights, which have these weight labels, zeros for those that have been added."""

    @abstractmethod
    def _start_training(self) -> "Training":
        """Training from the weights that the component has, or from zero."""

    @abstractmethod
    def _data_of(self, index: np.ndarray) -> "DataSet":
        """A data set without Docs whose `index` is this.

        Raises:
            ValueError: it is none of this component.
        """

    @abstractmethod
    def _read_annotation(self, doc: Doc) -> bytes:
        """What is read of a Doc that can change when other components annotate it differently."""

    def _before_training(self, batches: Sequence[Any]) -> None:
        """What is learnt from the encoded examples before the solver starts."""

    def add_label(self, label: str) -> int:
        """Add a label, with weights of zero; what has been learnt is kept.

        Returns 1, or 0 if the label is there already.

        Raises:
            ValueError: the label is no string, empty, or none that the component can set.
        """
        self._check_label(label)
        if label in self.labels:
            return 0
        self._add_labels([label])
        return 1

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
        validate_examples(examples, f"{type(self).__name__}.initialize")
        numbered = {number: example for number, example in enumerate(examples) if len(example.predicted)}
        self._forget()
        models.clear(self.model)
        self.cfg.pop(CALIBRATED, None)
        self._load_resources(nlp)
        read, gold = self._read_examples(numbered)
        self._add_labels(
            sorted(self._unknown_labels(gold.values())) if labels is None else self._checked_labels(labels)
        )
        if not self.labels:
            self._unreadable.report(len(numbered))
            raise ValueError(
                f"[{self.name}] none of the {len(numbered):,} training examples has a label to learn: annotate the "
                f"corpus, or give [initialize.components.{self.name}.labels]"
            )
        self._labels_are_given = labels is not None
        annotated = {number: numbered[number] for number, found in gold.items() if self._is_annotated(found)}
        batches = [self._encode_readable(batch, gold) for batch in _batches(annotated)]
        self._unreadable.report(len(numbered))
        self._report_gaps(numbered, gold)
        self._note_what_is_read([numbered[number].predicted for number in gold], nlp)
        self._before_training([encoded for _, encoded in batches])
        self._training = self._start_training()
        learnt = [number for batch, _ in batches for number in batch]
        references = [numbered[number].reference for number in learnt]
        changed = self._training.prepare(references, [read[n] for n in learnt], [encoded for _, encoded in batches])
        if len(changed):
            named = names_of({learnt[place]: numbered[learnt[place]] for place in changed})
            warnings.warn(
                f"[{self.name}] {len(changed):,} of {len(learnt):,} examples have annotation that this component "
                f"cannot produce ({self._training.data.impossible}); the nearest possible one is learnt instead: "
                f"{named}",
                stacklevel=2,
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
        examples = list(examples)
        validate_examples(examples, f"{type(self).__name__}.update")
        numbered = {number: example for number, example in enumerate(examples) if len(example.predicted)}
        if not numbered:
            return losses
        training = self._go_on() if self._training is None else self._training
        read, gold = self._read_examples(numbered, training)
        gold = {number: found for number, found in gold.items() if found is None or self._is_annotated(found)}
        if not gold:
            self._unreadable.report(len(numbered), len(training))
            return losses
        new = self._unknown_labels(found for found in gold.values() if found is not None)
        if new and not self._labels_are_given:
            if self._saved_state is not None:
                warnings.warn(
                    f"[{self.name}] there are new labels, {', '.join(sorted(new))}: what the solver remembers, from "
                    "its saved state, is dropped, and learning goes on from the weights alone",
                    stacklevel=3,
                )
            self._add_labels(sorted(new))
            training = self._start_training()
            gold = {n: self._gold(numbered[n]) if found is None else found for n, found in gold.items()}
        self._require_labels()
        unsure, encoded = self._encode_readable({n: numbered[n] for n in gold if gold[n] is not None}, gold)
        self._unreadable.report(len(numbered), len(training))
        # Those that cannot be read are neither.
        fresh = set(unsure)
        learnt = [number for number in gold if gold[number] is None or number in fresh]
        if not learnt:
            return losses
        self._void_calibration()
        self._scoring = None  # before learning, which takes memory
        references = [numbered[number].reference for number in learnt]
        places = [place for place, number in enumerate(learnt) if number in fresh]
        losses[self.name] += training.update(references, [read[n] for n in learnt], places, encoded)
        self._training, self._saved_state = training, None
        return losses

    @property
    def _rehearsal_model(self) -> "LearningPipe | None":
        """What `rehearse` learns from: the component as it was when `nlp.resume_training` was last called."""
        return self._tutor

    @_rehearsal_model.setter
    def _rehearsal_model(self, model: object) -> None:
        # spaCy hands over a copy of the model, which need not hold what was learnt since it was last saved.
        self._tutor = copy(self)
        self._tutor.model, self._tutor.cfg = self.model.copy(), dict(self.cfg)
        self._tutor.patterns = Patterns(self.name, self.vocab, [])  # They are no prediction of its weights.

    def rehearse(
        self, examples: Iterable[Example], *, sgd: Any = None, losses: dict[str, float] | None = None, **config: Any
    ) -> dict[str, float]:
        """Learn what the component predicted when `nlp.resume_training` was called, so as not to forget it.

        examples: of which the predicted Docs count; what they are annotated with stays, the gold annotation is not
        read. sgd, config: mean nothing to our solvers and are ignored. Before `nlp.resume_training`, nothing is learnt.

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

    def _read_examples(
        self, examples: Mapping[int, Example], training: "Training | None" = None
    ) -> tuple[dict[int, bytes], dict[int, Any]]:
        """What is read of the predicted Docs that can change, and the gold annotation, of examples that can be read.

        The gold annotation is None where `training` knows the example.
        """
        read: dict[int, bytes] = {}
        gold: dict[int, Any] = {}
        for number, example in examples.items():
            with self._unreadable.leaving_out(number, example):
                read[number] = self._read_annotation(example.predicted)
                known = training is not None and training.knows(example.reference, read[number])
                gold[number] = None if known else self._gold(example)
        return read, gold

    def _encode_readable(self, examples: Mapping[int, Example], gold: Mapping[int, Any]) -> tuple[list[int], Any]:
        """A batch as `_encode` makes it of those examples that can be read, and which these are."""
        numbers = list(examples)
        try:
            return numbers, self._encode(list(examples.values()), [gold[number] for number in numbers])
        except Exception:
            readable = []
            for number, example in examples.items():
                with self._unreadable.leaving_out(number, example):
                    self._encode([example], [gold[number]])
                    readable.append(number)
            return readable, self._encode([examples[n] for n in readable], [gold[n] for n in readable])

    def _note_what_is_read(self, docs: Sequence[Doc], nlp: Language | None) -> None:
        """Keep which annotation the features have to learn from; warn of what they read and no training Doc has."""
        read = self._extractor().reader.annotation
        given = [name for name in read if _have(docs, name)]
        if nlp is not None and nlp.config.get("training", {}).get("annotating_components"):
            given = read
        self.cfg["reads"] = given
        missing = [name for name in read if name not in given]
        if missing:
            warnings.warn(
                f"[{self.name}] the features read token.{' and token.'.join(missing)}, which no training Doc has: it "
                'learns without, and errs where another component sets it. The reader "spacy-ssvm.Corpus.v1" can '
                "predict it (jackknife) or take it from the gold annotation (columns); or take it out of the features",
                stacklevel=3,
            )

    def _warn_of_missing(self, docs: Sequence[Doc]) -> None:
        """Say once that Docs to predict on do not have what the features have learnt from."""
        filled = [doc for doc in docs if len(doc)]
        missing = [name for name in self.cfg["reads"] if filled and not _have(filled, name)]
        if missing and not self._has_missed:
            self._has_missed = True
            warnings.warn(
                f"[{self.name}] it has learnt from token.{' and token.'.join(missing)}, which Docs do not have: put "
                "the component that sets it before this one (this is said once)",
                stacklevel=4,
            )

    @property
    def inverse_temperature(self) -> float | None:
        """β of the distribution P(y) ∝ exp(β · wᵀΦ(x, y)) that the component is calibrated to or, without that, learns;
        None where it has no distribution."""
        beta: float | None = self.cfg.get(CALIBRATED, inverse_temperature(self.solver))
        return beta

    @property
    def has_probabilities(self) -> bool:
        """Whether what the component scores are probabilities: exact marginals of the distribution that the solver
        learns (finite β: CRF, softmax-margin) or that `calibrate` has fitted. Else they are margins: by how much wᵀΦ of
        the best analysis with something is ahead of that of the best one without it."""
        return self.inverse_temperature is not None

    @abstractmethod
    def judged(self, examples: Iterable[Example]) -> "list[Judged]":
        """What calibration is about: each sequence or tree of these examples with its scores and its gold analysis.

        The predicted Docs have what earlier components annotate, and not what this one does. Tokens without gold
        annotation are unknown; gold labels that the component does not have are wrong.

        Raises:
            ValueError: the component is not trained yet, or its structure has no exact sums.
        """

    def calibrate(self, examples: Iterable[Example]) -> "Fit":
        """Let all scores be probabilities of P(y) ∝ exp(β · wᵀΦ(x, y)) with the β that gives the gold analyses of these
        examples the highest likelihood, whatever the solver has learnt; predictions stay what they are.

        examples: as for `judged`, and none that the component has learnt from. Learning on makes the calibration void.

        Raises:
            ValueError: the component is not trained yet, its structure has no exact sums, nothing is annotated, or no
                β is the best one.
            ImportError: SciPy is not installed.
        """
        from ..training.calibration import fit

        found = fit(self.name, self.judged(examples))
        self.cfg[CALIBRATED] = found.beta
        return found

    @property
    def figures(self) -> Figures | None:
        return None if self._training is None else self._training.figures

    def certificate(self) -> "Certificate | None":
        return None if self._training is None else self._training.certificate()

    def count_weights(self) -> tuple[int, int]:
        """How many weights are not zero, and how many there are: those of all features that have any, or of the whole
        table where features are hashed. A component that has learnt nothing has none.
        """
        self._store()
        if not models.has_weights(self.model):
            return 0, 0
        vectors = [part for part in self._unpack() if getattr(part, "dtype", None) == np.float32]
        return sum(int(np.count_nonzero(vector)) for vector in vectors), sum(map(len, vectors))

    def problem(self) -> "Problem":
        """The examples of `initialize` as every solver sees them, for `spacy_ssvm.solvers.fit` and `set_weights`.

        What is unknown of the gold structures is completed here, once, by the weights that the component has; `update`
        does so before each epoch.

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
        self._training = Training(self.name, self.solver, data.emptied(), np.array(weights, np.float64), self.n_threads)
        self._scoring = self._saved_state = None

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
        self.solver, self._scoring = solver, None
        self._void_calibration()

    def compress(self, packing: Packing) -> None:
        super().compress(packing)
        if packing != EXACT:
            self._void_calibration()

    def _go_on(self) -> "Training":
        """Training from where it was saved, or from the weights alone.

        Raises:
            DamagedModel: the saved state of the solver does not fit the component.
        """
        if self._saved_state is None:
            return self._start_training()
        from ..training.training import Training

        try:
            state = solver_state.unpack(self._saved_state)
            if state["solver"] == repr(self.solver):
                nothing, data = self._encode([], []), self._data_of(state["index"])
                return Training.resumed(self.name, self.solver, data, nothing, state, self.n_threads)
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError, MemoryError) as error:
            raise models.DamagedModel(f"[{self.name}] learning cannot go on: {error}") from error
        warnings.warn(
            f"[{self.name}] the solver, {self.solver!r}, is not the one whose state was saved, {state['solver']}: what "
            "it remembers is dropped, and learning goes on from the weights alone",
            stacklevel=3,
        )
        return self._start_training()

    def _solver_state(self) -> bytes | None:
        state = None if self._training is None else self._training.state()
        return self._saved_state if state is None else solver_state.pack(state)

    def _take_solver_state(self, packed: bytes) -> None:
        self._saved_state = packed

    def _store(self, packing: Packing = EXACT) -> None:
        if self._training is not None or (packing != EXACT and models.is_exact(self.model)):
            self._pack(packing)

    def _void_calibration(self) -> None:
        if self.cfg.pop(CALIBRATED, None) is not None:
            warnings.warn(
                f"[{self.name}] its weights are no longer those that it was calibrated with: the calibration is void, "
                "calibrate it again when it is trained",
                stacklevel=3,
            )

    def _check_settings(self) -> None:
        check_calibration(self.cfg)
        for label in self.labels:
            self._check_label(label)
        if len(set(self.labels)) < len(self.labels):
            raise ValueError(f"it has a label twice: {', '.join(self.labels)}")
        unknown = sorted(set(self.cfg["reads"]) - set(ANNOTATION_ATTRIBUTES))
        if unknown:
            raise ValueError(f"its cfg says that it reads the unknown annotation {', '.join(unknown)}")

    def _check_weights(self) -> None:
        self._unpacked = self._unpack()

    def _stored(self) -> Any:
        """The weights in the model; the first to ask gets what the check has unpacked."""
        weights, self._unpacked = self._unpacked, None
        return self._unpack() if weights is None else weights

    def _forget(self) -> None:
        self._training = self._scoring = self._features = self._unpacked = self._saved_state = None
        self._labels_are_given = self._has_missed = False
        self._unreadable = Unreadable(self.name)
        self._tutor = None

    def _forget_types(self) -> None:
        if self._features is not None:
            self._features.reader.forget_types()

    def _add_labels(self, labels: Sequence[str]) -> None:
        """Append labels; the weights get zeros for them, and training starts anew from there."""
        self._void_calibration()
        self._store()
        before = self.weight_labels
        self.cfg["labels"] = [*self.labels, *labels]
        for label in labels:
            self.vocab.strings.add(label, allow_transient=False)  # type: ignore[call-arg]
        if models.has_weights(self.model):
            self._widen(before)
        self._training = self._scoring = self._unpacked = self._saved_state = None

    def _unknown_labels(self, gold: Iterable[Any]) -> set[str]:
        return self._labels_in(gold) - set(self.labels)

    def _check_label(self, label: Any) -> None:
        """Raise a ValueError for what cannot be a label of this component."""
        if not isinstance(label, str) or not label:
            raise ValueError(f"[{self.name}] a label must be a non-empty string, not {label!r}")

    def _checked_labels(self, labels: Any) -> list[str]:
        """Those of the labels given to `initialize` that the component has not yet, each once."""
        if not isinstance(labels, list | tuple):
            raise ValueError(f"[{self.name}] initialize: labels must be a list of labels, not {labels!r}")
        for label in labels:
            self._check_label(label)
        return [label for label in dict.fromkeys(labels) if label not in self.labels]

    def _require_weights(self) -> None:
        """Raise a ValueError where nothing has been learnt."""
        if self._training is None and not models.has_weights(self.model):
            raise ValueError(f"[{self.name}] is not trained yet: train it, or call initialize first")

    def _require_labels(self) -> None:
        if not self.labels:
            raise ValueError(f"[{self.name}] has no labels yet: train it, or call initialize or add_label first")

    def _load_resources(self, nlp: Language | None) -> None:
        from ..features.extractor import load_resources

        def words(phrase: str) -> np.ndarray:
            doc = nlp.make_doc(phrase) if nlp is not None else Doc(self.vocab, words=phrase.split())
            return np.array([token.lower for token in doc if not token.is_space], np.uint64)

        attributes = self.model.attrs
        attributes["gazetteers"], attributes["clusters"] = load_resources(attributes["features"], words)


def _batches(examples: Mapping[int, Example]) -> Iterator[dict[int, Example]]:
    items = iter(examples.items())
    while batch := dict(islice(items, BATCH)):
        yield batch


def _have(docs: Sequence[Doc], attribute: str) -> bool:
    """Whether any of these Docs is annotated with it."""
    return any(doc.has_annotation(attribute.upper()) for doc in docs)
