"""A component as spaCy sees it: labels, learning, predicting, files. Its codec holds all that is specific to it."""

import copyreg
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any, cast, overload

import numpy as np
from spacy import util
from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc
from spacy.training import Example, validate_examples
from spacy.vocab import Vocab
from thinc.api import Model

from ..inspect.explanation import Explanation
from ..inspect.suggestion import Suggestion
from ..memory import return_large
from ..models import store
from ..models.packing import EXACT, Packing
from ..models.protocol import Predictor, Settings, require_architecture
from ..solvers.learner import Certificate
from ..solvers.parameters import Parameters
from ..solvers.problem import Problem
from ..threads import checked_threads, read_ahead, shares
from ..training.calibration import CalibrationExample, Fit, fit
from ..training.examples import is_placeholder, numbered
from ..training.trainer import Figures
from ..wording import quoted
from ..words import example_of_words, words_of
from . import complaints, training_record
from .asking import Asking, OfWords, as_docs, checked_docs, of_docs
from .codec import Codec, renamed
from .complaints import Warnings
from .files import Files
from .learning import Learning, checked_labels, load_resources
from .own_annotation import OwnAnnotation
from .trained_state import TrainedState, unchanged_on_error
from .training_record import TrainingRecord
from .writing import write_origin

LOGGER = logging.getLogger("spacy")
SETTINGS = Settings()


class SsvmPipe(TrainablePipe):
    """A trainable component whose weights are plain arrays and whose learning is done by one of our solvers.

    Args:
        vocab: the shared vocabulary.
        model: a thinc Model from one of our architectures.
        name: of the component in its pipeline.
        codec: reads gold annotation and writes predictions; it has the initial labels.
        solver: the parameters of the solver.
        settings: n_threads, and what is saved.
        scorer: spaCy's scoring function.

    Raises:
        ValueError: the codec is for models of another architecture, the solver is none, or n_threads is no whole number
            of at least 1.
    """

    _learning: Learning
    _own_annotation: OwnAnnotation

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
        require_architecture(model, codec.space)
        if not isinstance(solver, Parameters):
            raise ValueError(f"[{name}] solver must be a block with @ssvm_solvers, not {solver!r}")
        self.scorer = scorer
        codec = codec if codec.name == name else renamed(codec, name)
        settings = replace(settings, n_threads=checked_threads(name, settings.n_threads))
        self._begin(TrainedState.untrained(model, codec, vocab, settings, solver))

    def _begin(self, trained: TrainedState) -> None:
        """Begin with this state, without memory of training."""
        self._take_over(self._learning_from(trained))

    def _learning_from(self, trained: TrainedState) -> Learning:
        return Learning(trained, Warnings(trained.codec.name), self._without_own)

    def _take_over(self, learning: Learning) -> None:
        trained = learning.trained
        self._learning, self._own_annotation = learning, OwnAnnotation()
        # spaCy's compiled methods read the attributes of its class.
        TrainablePipe.vocab.__set__(self, trained.vocab)
        TrainablePipe.model.__set__(self, trained.model)
        TrainablePipe.name.__set__(self, trained.codec.name)

    @property
    def trained(self) -> TrainedState:
        """All that it has learnt and predicts with: a value, which learning and loading replace as a whole."""
        return self._learning.trained

    @trained.setter
    def trained(self, trained: TrainedState) -> None:
        self._learning.trained = trained

    @property
    def name(self) -> str:
        """The component's name in its pipeline. spaCy changes it where a component is renamed or sourced."""
        return str(TrainablePipe.name.__get__(self))

    @name.setter
    def name(self, name: str) -> None:
        TrainablePipe.name.__set__(self, name)
        if self.codec.name != name:
            self._learning.rename(self.trained.with_codec(renamed(self.codec, name)))

    @property
    def vocab(self) -> Vocab:
        """The shared vocabulary, read-only: `spacy.load(..., vocab=vocab)` loads a pipeline with another one."""
        return self.trained.vocab

    @vocab.setter
    def vocab(self, vocab: Vocab) -> None:
        raise AttributeError(
            f"[{self.name}] its vocab cannot be replaced: load the pipeline with that vocab, by "
            "spacy.load(..., vocab=vocab), or name its folder as the component's source in a config"
        )

    @property
    def model(self) -> Model:
        """The thinc Model with the saved or loaded weights, read-only: `from_bytes` loads other weights."""
        return self.trained.model

    @model.setter
    def model(self, model: Model) -> None:
        raise AttributeError(
            f"[{self.name}] its model cannot be replaced: load other weights by from_bytes or from_disk, or give "
            "another model to the factory, in the config"
        )

    @property
    def codec(self) -> Codec:
        """Reads gold annotation and writes predictions; another one must have the same type, name and labels."""
        return self.trained.codec

    @codec.setter
    def codec(self, codec: Codec) -> None:
        own = self.codec
        if type(codec) is not type(own) or (codec.name, codec.space.labels) != (own.name, own.space.labels):
            raise ValueError(
                f"[{own.name}] codec must be a {type(own).__name__} with the component's name and labels: make one by "
                "dataclasses.replace(pipe.codec, ...), and add labels by add_label"
            )
        self.trained = self.trained.with_codec(codec)

    @property
    def settings(self) -> Settings:
        """The settings that all components share."""
        return self.trained.settings

    @settings.setter
    def settings(self, settings: Settings) -> None:
        self.trained = self.trained.with_settings(settings)

    @property
    def solver(self) -> Parameters:
        """The parameters of the solver; `retune` changes them."""
        return self.trained.solver

    # Labels

    @property
    def labels(self) -> tuple[str, ...]:
        """The component's labels."""
        return self.codec.labels

    @property
    def label_data(self) -> tuple[str, ...] | None:
        """The labels as `spacy init labels` saves them and `initialize` takes them; None if they never change."""
        return self.labels

    @property
    def weight_labels(self) -> tuple[str, ...]:
        """The L labels that a row of weights has, in order."""
        return self.codec.space.labels

    @property
    def cfg(self) -> dict[str, Any]:
        """The contents of the file "cfg": labels, the annotation that was read in training, settings, calibration.

        Its items cannot be set one by one: assign the whole.
        """
        return training_record.Contents(training_record.written(self.codec, self.trained.record), self._learning.warn)

    @cfg.setter
    def cfg(self, cfg: dict[str, Any]) -> None:
        # As spaCy's find-threshold does.
        codec, record = training_record.read(cfg, self.codec)
        if codec.labels != self.labels:
            raise ValueError(f"[{self.name}] cfg cannot change the labels: use add_label or initialize")
        # With the same codec, what it predicts with stays.
        trained = self.trained if codec == self.codec else self.trained.with_codec(codec)
        self.trained = trained.with_record(record)

    def add_label(self, label: str) -> int:
        """Add a label, with weights of zero; all other weights stay. After training, it is not predicted before an
        example that has it, unless annotation or patterns leave nothing else.

        Returns:
            1, or 0 if the component has the label.

        Raises:
            ValueError: the label is no string, empty, or none that the component can set.
        """
        self.codec.check_label(label)
        if label in self.labels:
            return 0
        is_unlearnt = self.trained.are_any()
        self._learning.add_labels([label])
        if is_unlearnt:
            self.codec = replace(self.codec, unlearnt=(*self.codec.unlearnt, label))
        return 1

    # Learning

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        nlp: Language | None = None,
        labels: Sequence[str] | Mapping[str, Any] | None = None,
    ) -> None:
        """Collect the labels, read the features' files, build the feature index and read the gold structures.

        Args:
            get_examples: returns the training examples; examples without annotation are left out. The placeholder that
                `nlp.initialize` passes on, if it is given no function, is left out, too: labels and examples then come
                from `add_label` and `update`.
            labels: all labels, if they are known in advance; other labels in the examples then count as missing
                annotation. Labels that the component already has stay. Only the morphologizer takes a mapping.

        Raises:
            TypeError: `get_examples` is no function, or returns no examples.
            ValueError: no example has a label; `labels` is no list of labels; a feature file cannot be read; the solver
                needs what the model's structure does not offer.
            ImportError: the solver needs a package that is not installed.
        """
        if not callable(get_examples):
            raise TypeError(f"[{self.name}] initialize takes a function that returns examples, not {get_examples!r}")
        return_large()
        examples = self._examples(get_examples(), "initialize")
        if not examples:
            raise TypeError(f"[{self.name}] initialize got no training examples: {complaints.no_examples(nlp)}")
        given = None if labels is None else checked_labels(self.codec, labels)
        with unchanged_on_error(self.model):
            store.clear(self.model)
            trained = self.trained.with_codec(replace(self.codec, unlearnt=())).anew()
            trained = replace(trained, record=TrainingRecord(labels_are_given=labels is not None))
            if nlp is not None:
                trained = trained.set_up(nlp.config.interpolate()["training"])
            learning = self._learning_from(trained)
            load_resources(trained, nlp)
            if is_placeholder(examples):
                learning.begin(given or [])
            else:
                by_number = numbered(examples)
                learning.prepare(by_number, given)
                ours = [] if nlp is None else [pipe for _, pipe in nlp.pipeline if isinstance(pipe, SsvmPipe)]
                # Once for all of our components.
                if nlp is not None and ours[:1] == [self]:
                    references = [words_of(example.reference) for example in by_number.values()]
                    learning.warn(complaints.tokenizer(nlp, references))
        self._take_over(learning)

    def update(
        self, examples: Iterable[Example], *, drop: float = 0.0, sgd: Any = None, losses: dict[str, float] | None = None
    ) -> dict[str, float]:
        """Learn from a batch of examples. `drop` is ignored: our solvers do not use it.

        Args:
            sgd: an optimizer says that the batch ends here, as with spaCy's components; it is not used.

        If the config's training.accumulate_gradient, at `initialize`, was more than 1, this is a part of a batch, and
        `finish_update` learns from all parts, with the same result as from one. Parts with new examples are kept until
        then, as a later part may have new labels. After `nlp.resume_training`, this holds from the second batch on, if
        `finish_update` has ended a first one of several parts.

        An update of a loaded component corrects its predictions for the examples, and warns if that is impossible.

        Returns:
            `losses`, with the solver's loss added under the component's name.
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        self._learning.update(self._examples(examples, "update"), losses)
        if sgd not in (None, False):
            self._learning.finish()
        return losses

    def finish_update(self, sgd: Any) -> None:
        """Learn from the parts of a batch that `update` has got; without parts, `update` has done so. `sgd` is ignored.

        The solver's loss is added to the `losses` of the last `update`.
        """
        self._learning.finish()

    @property
    def _rehearsal_model(self) -> TrainedState | None:
        """The component as it was when `nlp.resume_training` was last called; `rehearse` learns its predictions."""
        return self._learning.tutor

    @_rehearsal_model.setter
    def _rehearsal_model(self, model: object) -> None:
        # spaCy hands over a copy of the model, which need not hold what was learnt since it was last saved.
        self._learning.tutor = None if model is None else self.trained.copied(replace(self.codec, patterns=()))

    def rehearse(
        self, examples: Iterable[Example], sgd: Any = None, losses: dict[str, float] | None = None, **config: Any
    ) -> dict[str, float]:
        """Learn the predictions that the component made at `nlp.resume_training`, so as not to forget them.

        Args:
            examples: only their predicted Docs are read; annotation by others stays.
            sgd: ignored, as our solvers do not use it.
            losses: the losses so far; the solver's is added under the component's name.
            config: ignored. Before `nlp.resume_training`, nothing is learnt.

        Returns:
            `losses`, with the solver's loss added under the component's name.
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        self._learning.rehearse(self._examples(examples, "rehearse"), losses)
        return losses

    @property
    def figures(self) -> Figures | None:
        """The solver's figures after its last complete epoch; None before that, and for a loaded component."""
        training = self.trained.training
        return None if training is None else training.figures

    def certificate(self) -> Certificate | None:
        """Primal, dual and gap of the training so far, at one frozen w: one pass over all examples.

        None if the solver has no certificate, if examples were forgotten, if gold is incomplete, or if decoding is not
        exact. If training started from earlier weights, the objective is the one that keeps w close to them.
        """
        # The weights of a predictor would take memory beside those that the certificate sums up.
        self.trained = self.trained.without_predictor()
        training = self.trained.training
        return None if training is None else training.certificate()

    def problem(self) -> Problem:
        """The examples of `initialize` as every solver sees them: for `solvers.learner.fit` and `set_weights`.

        Unknown parts of gold structures are completed here, once, by the weights that the component has; `update` does
        so before each epoch.

        Raises:
            ValueError: the component is not initialized.
        """
        return self._learning.problem()

    def set_weights(self, weights: np.ndarray) -> None:
        """Replace the weights with these, float64 [d], where d is the dimension of `problem`.

        The component predicts with them and saves them, and `update` goes on from them.

        Raises:
            ValueError: the component is not initialized, or `weights` has another length.
        """
        self._learning.set_weights(weights)

    def retune(self, solver: Parameters, anew: bool = False) -> None:
        """Learn with this solver from the next `update` on; it converges to the same optimum as training from scratch.

        The dual variables of the same solver with other parameters are kept, scaled to the range that the new C allows:
        a few epochs lead from one optimum to the next. Other solvers start anew, and so does this one if `anew`. The
        examples are not read again. The pipeline's config does not change.

        Raises:
            ValueError: the component is not initialized.
        """
        self._learning.retune(solver, anew)

    def count_weights(self) -> tuple[int, int]:
        """The number of non-zero weights, and of all weights: of features with a non-zero weight or, if features are
        hashed, of the whole table. Both are 0 before anything is learnt.
        """
        return self.trained.count()

    # Predicting

    def predict(self, docs: Doc | Iterable[Doc]) -> Sequence[Any]:
        """The predictions that `set_annotations` takes, an item for each Doc; nothing is written to the Docs."""
        return self._asking.prepared(as_docs(docs))()

    def set_annotations(self, docs: Doc | Iterable[Doc], predictions: Sequence[Any]) -> None:
        """Write the predictions, from `predict`, to the Docs."""
        docs = as_docs(docs)
        words, found = list(docs), list(predictions)
        spaced = [number for number, prediction in enumerate(found) if isinstance(prediction, OfWords)]
        for number in spaced:
            words[number], found[number] = words_of(words[number]), found[number].prediction
        given = self._own_annotation.given(self.codec, docs, words)
        self.codec.write(words, found, given)
        self._own_annotation.remember(docs, words, given, found)
        for number in spaced:
            write_origin(words[number], self.codec.attributes)

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Apply the component to a stream of Docs, in order. Threads share the Docs of a batch.

        If a batch fails, each of its Docs is tried alone: the error handler sees only the bad ones, and the log gives
        their places in the stream. Where none of them is bad, a warning says once why the batch has failed.
        """
        n_before = 0
        batches: Iterator[Iterable[Doc]] = util.minibatch(stream, size=batch_size)  # type: ignore[no-untyped-call]
        for batch in batches:
            docs, n_done, failure = list(batch), 0, None
            try:
                for part in self._annotated(docs):
                    n_done += len(part)
            except Exception as error:
                failure = error
            yield from docs[:n_done]
            if failure is not None:
                n_alone = 0
                for doc in self._one_by_one(docs[n_done:], n_before + n_done):
                    n_alone += 1
                    yield doc
                complaint = complaints.failed_batch(len(docs), failure) if n_done + n_alone == len(docs) else None
                self._learning.warn.once("batch", complaint)
            n_before += len(docs)

    @contextmanager
    def memory_zone(self, mem: Any = None) -> Iterator[Any]:
        """For `nlp.memory_zone`: at its end, all memory of word types is dropped, as spaCy drops their strings."""
        try:
            yield mem
        finally:
            self.trained.structured.reader.forget_types()

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """The figures of the scorer, which gets the labels and no whitespace tokens; none without a scorer."""
        if self.scorer is None:
            return {}
        return dict(self.scorer(list(map(example_of_words, examples)), **{"labels": self.labels, **kwargs}))

    # Confidence

    @property
    def inverse_temperature(self) -> float | None:
        """β of the distribution P(y) ∝ exp(β · wᵀΦ(x, y)), from calibration or, without it, from the solver; None if
        there is no such distribution."""
        beta = self.trained.record.inverse_temperature
        return self.solver.inverse_temperature if beta is None else beta

    @property
    def has_probabilities(self) -> bool:
        """Whether scores are probabilities: exact marginals of the distribution that the solver learns (finite β: CRF,
        softmax-margin) or that `calibrate` has fitted. Otherwise, the score of a part is a margin: wᵀΦ of the best
        analysis with the part, less wᵀΦ of the best one without it."""
        return self.inverse_temperature is not None

    @of_docs
    def kbest(self, docs: Sequence[Doc], k: int) -> list[list[tuple[float, list[Any]]]]:
        """The k best analyses of a Doc, best first, exactly: their scores wᵀΦ(x, y), and their parts.

        Parts are tags, entities as (start, end, label), sentence starts as token numbers, or arcs as (head, token,
        label). A root is its own head, and trees have only arcs that the first pass keeps. The list is shorter than k
        if fewer analyses are possible. The Doc's annotation acts as a constraint, except what the component has set
        itself; nothing is written to the Doc.

        Args:
            docs: a Doc, or Docs, for which the result is a list of these lists.

        Raises:
            TypeError: `docs` are no Docs.
            ValueError: k is less than 1, the component has no labels yet, or its structure is not decoded exactly.
        """
        return self._asking.kbest(docs, k)

    @overload
    def explain(self, docs: Doc, of: Any = None) -> Explanation: ...

    @overload
    def explain(self, docs: Iterable[Doc]) -> list[Explanation]: ...

    def explain(self, docs: Doc | Iterable[Doc], of: Any = None) -> Any:
        """Why the component predicts each tag, entity, sentence start or arc of a Doc: the best analysis without it,
        and the features that put the prediction ahead. The Doc's annotation acts as a constraint, without alternatives,
        except what the component has set itself; nothing is written to the Doc.

        Args:
            docs: a Doc, or Docs, for which the result is a list.
            of: with a single Doc, only this is explained, whether it is predicted or not: (token, tag), an entity as a
                Span or as (start, end, label), the number of a token for a sentence start, or (head, token, label). If
                it is not predicted, the best analysis with it is compared with the best one.

        Raises:
            TypeError: `docs` are no Docs.
            ValueError: the component has no labels yet, or its structure is not decoded exactly; `of` is nothing of
                this Doc that the component could predict, or is given with several Docs.
        """
        if of is not None and not isinstance(docs, Doc):
            raise ValueError(f"[{self.name}] `of` is part of a single Doc: call explain for each Doc")
        asking = self._asking
        part = None if of is None else asking.part_of(cast(Doc, docs), of)
        answers = [asking.explain(doc, part) for doc in self._without_own(docs)]
        return answers[0] if isinstance(docs, Doc) else answers

    def suggest(self, docs: Iterable[Doc]) -> Iterator[Suggestion]:
        """Rank Docs for annotation, the most useful first: with many tokens whose tag, entity, sentence start or head
        is uncertain, and with words that Docs ranked before do not have; see `inspect.suggestion`.

        A Doc's annotation acts as a constraint, except what the component has set itself; nothing is written to it.

        Raises:
            ValueError: the component has no labels yet, or its structure is not decoded exactly.
        """
        return self._asking.suggest(self._without_own(docs))

    def calibration_examples(self, examples: Iterable[Example]) -> list[CalibrationExample]:
        """Each sequence of these examples, with its scores and its known gold annotation.

        The predicted Docs have the annotation of earlier components; this one's own does not count. Predictions are
        wrong where the gold label is unknown to the component.

        Raises:
            ValueError: the component is not trained yet, or its structure is not decoded exactly.
        """
        self.trained.require_weights()
        given = [(example.predicted, example_of_words(example)) for example in examples]
        given = [(doc, of_words) for doc, of_words in given if len(of_words.predicted)]
        docs = self._without_own([doc for doc, _ in given])
        return self._asking.calibration_examples(docs, [of_words for _, of_words in given])

    def calibrate(self, examples: Iterable[Example]) -> Fit:
        """Turn scores into probabilities P(y) ∝ exp(β · wᵀΦ(x, y)), with the β that maximises the likelihood of the
        gold analyses of these examples. Predictions do not change.

        Args:
            examples: as for `calibration_examples`, and none that the component has learnt from. Further training makes
                the calibration void.

        Raises:
            ValueError: the component is not trained yet, its structure has no exact sums, nothing is annotated, or no
                β is the best one.
            ImportError: SciPy is not installed.
        """
        found = fit(self.name, self.calibration_examples(examples))
        self.trained = self.trained.with_record(replace(self.trained.record, inverse_temperature=found.beta))
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
            self._learning.void_calibration()

    def to_bytes(self, exclude: Iterable[str] = ()) -> bytes:
        """Serialise; `exclude` names fields among cfg, vocab, model and state."""
        return Files(self.trained, exclude).to_bytes()

    def to_disk(self, path: str | Path, exclude: Iterable[str] = ()) -> None:
        """Save to a directory; `exclude` names fields among cfg, vocab, model and state.

        The files replace earlier ones together, when all of them are written.

        Raises:
            OSError: the disk is full, or the directory cannot be written to; what was saved there before stays.
        """
        Files(self.trained, exclude).to_disk(path)

    def from_bytes(self, bytes_data: bytes, exclude: Iterable[str] = ()) -> "SsvmPipe":
        """Load what `to_bytes` has written.

        Raises:
            DamagedModel: the bytes are damaged, incomplete or of a newer version.
        """
        self._begin(Files(self.trained, exclude).loaded(bytes_data, self._learning.warn))
        return self

    def from_disk(self, path: str | Path, exclude: Iterable[str] = ()) -> "SsvmPipe":
        """Load what `to_disk` has written.

        Raises:
            DamagedModel: a file is damaged, incomplete or of a newer version.
            OSError: a file is missing, or cannot be read.
        """
        self._begin(Files(self.trained, exclude).loaded(Path(path), self._learning.warn))
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle settings, weights and, if it is to be saved, the solver's state, without derived data."""
        return copyreg.__newobj__, (type(self),), (self.trained, _fields(self))  # type: ignore[attr-defined]

    def __setstate__(self, state: tuple[TrainedState | Learning, dict[str, Any]]) -> None:
        learnt, fields = state
        self._take_over(learnt if isinstance(learnt, Learning) else self._learning_from(learnt))
        for key, value in fields.items():
            setattr(self, key, value)

    def __deepcopy__(self, memo: dict[int, Any]) -> "SsvmPipe":
        """A copy with its own weights and training, which predicts and learns as this one would."""
        copied = memo[id(self)] = type(self).__new__(type(self))
        fields = {**_fields(self), "_own_annotation": self._own_annotation}
        copied.__setstate__(deepcopy((self._learning, fields), memo))
        return copied

    def copy_into(self, other: "SsvmPipe") -> None:
        """Give another component of this kind and vocabulary this one's state; this one does not change."""
        memo = {id(self): other, id(self.vocab): self.vocab}
        other.__setstate__(deepcopy((self._learning, _fields(self)), memo))

    def __copy__(self) -> "SsvmPipe":
        """A copy as `deepcopy` makes it, for the same vocabulary."""
        return deepcopy(self, {id(self.vocab): self.vocab})

    @property
    def _asking(self) -> Asking:
        reads = self.trained.record.reads
        return Asking(self.codec, self._predictor, self.inverse_temperature, reads, self._learning.warn)

    def _predictor(self) -> Predictor:
        """The predictor of the present weights."""
        self.trained.require_labels()
        return self.trained.predictor

    def _without_own(self, docs: Any) -> list[Doc]:
        """The Docs, or this single one, without whitespace tokens and this component's own annotation: copies, where
        there is any."""
        checked = checked_docs(self.name, docs)
        return self._own_annotation.without_own(self.codec, checked, list(map(words_of, checked)), self.predict)

    def _annotated(self, docs: Sequence[Doc]) -> Iterator[Sequence[Doc]]:
        """Annotate the Docs; yields the parts of them that are done."""
        n_threads = self.settings.n_threads
        parts = shares(docs, n_threads)
        if len(parts) == 1:
            self.set_annotations(docs, self.predict(docs))
            yield docs
            return
        for part, predictions in zip(parts, read_ahead(n_threads, self._asking.prepared, parts)):
            self.set_annotations(part, predictions)
            yield part

    def _one_by_one(self, docs: Sequence[Doc], first: int) -> Iterator[Doc]:
        handler = self.get_error_handler()
        for number, doc in enumerate(docs, first):
            try:
                self.set_annotations([doc], self.predict([doc]))
            except MemoryError:
                raise
            except Exception as error:
                level = logging.DEBUG if handler is util.ignore_error else logging.WARNING
                message = "[%s] document %s of the stream, %s, cannot be annotated: %s"
                LOGGER.log(level, message, self.name, number, quoted(doc), error)
                handler(self.name, self, [doc], error)
            else:
                yield doc

    def _examples(self, examples: Any, method: str) -> list[Example]:
        """A method's examples; raises spaCy's TypeError if there is anything else among them."""
        given = list(examples) if isinstance(examples, Iterable) else examples
        validate_examples(given, f"{type(self).__name__}.{method}")
        return given


def _fields(pipe: SsvmPipe) -> dict[str, Any]:
    """The attributes of a component besides its trained state and its own annotation."""
    return {"scorer": pipe.scorer, **{key: value for key, value in vars(pipe).items() if not key.startswith("_")}}
