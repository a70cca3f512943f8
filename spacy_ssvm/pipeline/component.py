"""A component as spaCy sees it: labels, learning, predicting, files. The codec holds all that is specific to one."""

import logging
import operator
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar, cast, overload

import numpy as np
import srsly
from spacy import util
from spacy.attrs import ORTH
from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc
from spacy.training import Example, validate_examples
from spacy.vocab import Vocab
from thinc.api import Model

from ..files import replace_files
from ..inspect.confidence import best_analyses, checked_count, checked_min_score, inverse_temperature, scored_parts
from ..inspect.explanation import Explanation, explain
from ..inspect.suggestion import Suggestion, ranked, unsure_words
from ..memory import return_large
from ..models import store
from ..models.named_parts import NamedPart, ScoredSequence
from ..models.packing import EXACT, Packing
from ..models.protocol import DataSet, Predictor, ScoringPredictor, Settings, is_incomplete, require_architecture
from ..models.resources import release_tables, store_resources
from ..solvers.correction import Correction
from ..solvers.learner import Certificate
from ..solvers.parameters import Parameters
from ..solvers.problem import Problem
from ..structures.contradiction import Contradiction
from ..structures.scored import Listing
from ..threads import checked_threads, read_ahead, shares
from ..training import state_file
from ..training.calibration import CalibrationExample, Fit, fit
from ..training.examples import BATCH, ExampleReader, is_placeholder
from ..training.figures import Figures
from ..training.training import Training
from ..training.unreadable import Unreadable
from ..wording import name_of, quoted, token_name
from . import complaints, training_record
from .codec import Codec, Gaps, Survey, Warn, renamed
from .own_annotation import OwnAnnotation
from .trained_state import TrainedState
from .training_record import TrainingRecord

LOGGER = logging.getLogger("spacy")
SETTINGS = Settings()
Answer = TypeVar("Answer")
NO_ANNOTATION = {"-", "_"}
"""Signs for missing annotation in the columns of files; none is a label if it is the only one."""
MAX_KEPT = 1 << 15
"""The largest number of tokens of the parts of a batch that `update` keeps although it knows all of their examples."""
SUGGESTED_TOGETHER = 128
"""The number of Docs of which `suggest` reads the features at a time."""
SMALLEST_DOUBTFUL_PROBABILITY = 1e-4
"""`suggest` neglects parts with smaller probabilities: their entropy is below 0.0015 bits."""
MAX_WARNED = 1000
"""The max number of complaints that are remembered, so as not to repeat them: those about examples name their texts."""


class SsvmPipe(TrainablePipe):
    """A trainable component whose weights are plain arrays and whose learning is done by one of our solvers.

    vocab: the shared vocabulary. model: a thinc Model from one of our architectures. name: of the component in its
    pipeline. codec: reads gold annotation and writes predictions; its labels are those to begin with. solver: the
    parameters of the solver. settings: threads, and what is saved. scorer: spaCy's scoring function.

    Raises:
        ValueError: the codec is for models of another architecture, the solver is none, or n_threads is no whole number
            of at least 1.
    """

    _record: TrainingRecord
    _state: TrainedState
    _tutor: "SsvmPipe | None"
    _awaits_update: bool
    _losses: dict[str, float] | None
    _waiting: list[tuple[dict[int, Example], dict[int, bytes], dict[int, Any]]]
    _unreadable: Unreadable
    _warned: set[str]
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
        self.vocab = vocab
        self.model = model
        self.codec = codec if codec.name == name else renamed(codec, name)
        self.name = name
        self.solver = solver
        self.settings = replace(settings, n_threads=checked_threads(name, settings.n_threads))
        self.scorer = scorer
        self._record = TrainingRecord()
        self._forget()

    @property
    def name(self) -> str:
        """The component's name in its pipeline. spaCy changes it where a component is renamed or sourced."""
        return str(TrainablePipe.name.__get__(self))

    @name.setter
    def name(self, name: str) -> None:
        TrainablePipe.name.__set__(self, name)
        if self.codec.name != name:
            self.codec = renamed(self.codec, name)
            self._unreadable = Unreadable(name)
            if self._trained.training is not None:
                self._trained.training.name = name

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
        """The contents of the file "cfg": labels, the annotation that was read in training, settings, calibration."""
        return training_record.written(self.codec, self._record)

    @cfg.setter
    def cfg(self, cfg: dict[str, Any]) -> None:
        # As spaCy's find-threshold does.
        codec, known = training_record.read(cfg, self.codec)
        if codec.labels != self.labels:
            raise ValueError(f"[{self.name}] cfg cannot change the labels: use add_label or initialize")
        self._record = known
        if codec != self.codec:  # with the same one, what it predicts with stays
            self.codec = codec

    def add_label(self, label: str) -> int:
        """Add a label, with weights of zero; all other weights stay. If anything has been learnt before, it is not
        predicted before an example that has it, unless annotation or patterns leave nothing else.

        Returns 1, or 0 if the label is there already.

        Raises:
            ValueError: the label is no string, empty, or none that the component can set.
        """
        self.codec.check_label(label)
        if label in self.labels:
            return 0
        is_unlearnt = self._trained.are_any()
        self._add_labels([label])
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

        get_examples: returns the training examples; examples without annotation are left out. The placeholder that
        `nlp.initialize` passes on, if it is given no function, is left out, too: labels and examples then come from
        `add_label` and `update`. labels: all labels, if they are known in advance; other labels in the examples then
        count as missing annotation. Labels that the component already has stay. Only the morphologizer takes a mapping.

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
        numbered = _numbered(examples)
        checked = None if labels is None else self._checked_labels(labels)
        with self._unchanged_on_error():
            self._forget()
            store.clear(self.model)
            self._record, self.codec = (
                TrainingRecord(labels_are_given=labels is not None),
                replace(self.codec, unlearnt=()),
            )
            if nlp is not None:
                settings = nlp.config.interpolate()["training"]
                self._trained.gets_parts = (settings.get("accumulate_gradient") or 1) > 1
                if self.solver.seed is None:
                    self._trained.seed = settings.get("seed") or 0
            self._load_resources(nlp)
            if is_placeholder(examples):
                self._prepare_without_examples(checked or [])
            else:
                self._prepare(numbered, checked)
                if nlp is not None and self._is_first(nlp):
                    self._warn(complaints.tokenizer(nlp, [example.reference for example in numbered.values()]))

    def _prepare_without_examples(self, labels: list[str]) -> None:
        self._add_labels(labels)
        if not self.weight_labels:
            raise ValueError(
                f"[{self.name}] has no labels yet: give nlp.initialize the training examples, or call add_label first"
            )
        self._trained.moved(self._trained.begin(self.solver))

    def _prepare(self, examples: dict[int, Example], labels: list[str] | None) -> None:
        """Read all examples and start training; nothing is learnt yet. labels: new ones, None for those that occur."""
        read, gold = self._reader.gold(examples)
        survey = self._survey_of_read(examples, gold)
        self.apply_survey(survey)
        self._add_labels(self.new_labels(survey) if labels is None else labels)
        reasons: list[str] = []
        if not self.labels:
            self._unreadable.report(len(examples))
            self._report_wrong(examples, gold, reasons.append)
        self.check_labels_to_learn(self.labels, survey, reasons)
        learnt, batches = self._encode(examples, gold)
        self._report(len(examples), self.codec.gaps(examples, gold))
        training = self._trained.begin(self.solver, batches)
        references = [examples[number].reference for number in learnt]
        changed = training.prepare(references, [read[number] for number in learnt], batches)
        self._trained.moved(training)

        def names(numbers: list[int]) -> list[str]:
            return [name_of(number, examples[number].predicted) for number in numbers]

        self.warn_of_projections(learnt, names, training.data, changed)

    def _encode(self, examples: Mapping[int, Example], gold: Mapping[int, Any]) -> tuple[list[int], list[Any]]:
        """The numbers of the annotated examples that can be read, and these as batches."""
        annotated = {number: examples[number] for number, found in gold.items() if found.is_annotated}
        learnt, batches = self._reader.batches(annotated, gold)
        # What others annotate while this one learns is not there yet: the first update sees what is missing.
        self._note_annotation([examples[number].predicted for number in gold])
        return learnt, batches

    def _report_wrong(self, examples: Mapping[int, Example], gold: Mapping[int, Any], warn: Warn) -> None:
        """Tell what is wrong with the gold annotation that was read of these examples."""
        wrong = self.codec.gaps(examples, {n: found for n, found in gold.items() if found is not None}).wrong()
        if wrong.named:
            self.codec.report_gaps(wrong, warn)

    def _report(self, n_examples: int, gaps: Gaps) -> None:
        """Tell what these examples lack."""
        self._unreadable.report(n_examples)
        self.codec.report_gaps(gaps, self._warn)

    # Learning with several workers

    def survey(self, examples: Iterable[Example], nlp: Language) -> Survey:
        """The survey of these examples, before any is encoded. None is kept."""
        survey = self.codec.survey([], [])
        n_examples = 0
        with nlp.memory_zone():
            for part in self._parts(examples, "survey"):
                _, gold = self._reader.gold(part)
                survey.add(self._survey_of_read(part, gold))
                n_examples += len(part)
            self._unreadable.report(n_examples)
        return survey

    def new_labels(self, survey: Survey) -> list[str]:
        """The labels of these examples that the component does not have, sorted."""
        return sorted(survey.labels_to_learn() - set(self.labels))

    def check_labels_to_learn(self, labels: Sequence[str], survey: Survey, reasons: Sequence[str] = ()) -> None:
        """Check that these can be all labels to learn, with the survey of all training examples.

        reasons: why annotation cannot be learnt, if any is known.

        Raises:
            ValueError: there is no label, or only one that stands for missing annotation.
        """
        if not labels:
            raise ValueError(
                f"[{self.name}] none of the {survey.n_examples:,} training examples has a label to learn: "
                + "; ".join(reasons or [f"annotate the corpus, or give [initialize.components.{self.name}.labels]"])
            )
        if set(labels) <= NO_ANNOTATION:
            raise ValueError(
                f'[{self.name}] the only label of the training examples is "{labels[0]}", which stands for missing '
                "annotation in files such as CoNLL-U: annotate the corpus, or remove the component"
            )

    def apply_survey(self, survey: Survey) -> None:
        """Let the codec keep what it needs of examples besides labels."""
        self.codec = self.codec.with_survey(survey)

    def encoded(
        self, examples: Iterable[Example], labels: Sequence[str], notes: Mapping[str, str], nlp: Language
    ) -> tuple[list[int], list[Any]]:
        """These examples as batches of a data set, once the component has these labels besides its own, and its codec
        these notes; before them, the numbers of the examples that there is anything to learn from, ascending. No
        example is kept.

        The component then has learnt nothing; `initialize` is not to be called.
        """
        return_large()
        self._load_resources(nlp)
        self.codec = self.codec.restored(self.codec.saved._replace(notes=notes))
        self._add_labels([label for label in labels if label not in self.labels])
        learnt: list[int] = []
        batches: list[Any] = []
        n_examples, gaps = 0, self.codec.gaps({}, {})
        with nlp.memory_zone():
            for part in self._parts(examples, "encoded"):
                _, gold = self._reader.gold(part)
                numbers, encoded = self._encode(part, gold)
                learnt += numbers
                batches += encoded
                gaps.add(self.codec.gaps(part, gold))
                n_examples += len(part)
            self._report(n_examples, gaps)
        return learnt, batches

    def warn_of_projections(
        self, learnt: Sequence[int], names: Callable[[list[int]], list[str]], data: DataSet, changed: np.ndarray
    ) -> None:
        """Warn of the examples in the data set whose gold was replaced: `changed`, int64, of the data set's.

        learnt: the numbers of the examples in it. names: returns the names of those with some of these numbers.
        """
        self._warn(complaints.projections(learnt, names, data, changed))

    def data_set(self, batches: Sequence[Any], seed: int) -> DataSet:
        """A data set without Docs for these batches, with what is learnt from them before the solver learns."""
        return self._trained.data_set(batches, seed)

    @property
    def reads(self) -> tuple[str, ...]:
        """The annotation that was there in training, of that which features read."""
        return self._record.reads

    def learn_by(self, training: Any, reads: tuple[str, ...], labels_are_given: bool) -> None:
        """Learn by this training, which others do: `update` asks it for an epoch.

        reads: of their examples. labels_are_given: to the pipeline, by its user.
        """
        self._record = replace(self._record, reads=reads, labels_are_given=labels_are_given)
        self._awaits_update = False
        self._warn(complaints.kept_by_workers(self.settings))
        release_tables(self.model, self.vocab)
        self._trained.moved(training)

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Any = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Learn from a batch of examples. `drop` and `sgd` are ignored: our solvers do not use them.

        If the config's training.accumulate_gradient, at `initialize`, was more than 1, this is a part of a batch, and
        `finish_update` learns from all parts, with the same result as from one. Parts with examples that are not known
        yet are kept until then, as a later part may have new labels.

        Of a loaded component, an update corrects what it predicts for the examples, and warns where that is impossible.

        Returns `losses`, with the solver's loss added under the component's name.
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        self._check_corrected(self._update(self._examples(examples, "update"), losses))
        return losses

    def _update(self, examples: Sequence[Example], losses: dict[str, float]) -> list[Example]:
        """Update the component; returns the examples that were corrected."""
        n_before = max((number for part, _, _ in self._waiting for number in part), default=-1) + 1
        numbered = _numbered(examples, n_before)
        if not numbered:
            return []
        training = self._trained.resume(self.solver, self._warn)
        read, gold = self._reader.gold(numbered, training.knows)
        self._report_wrong(numbered, gold, lambda complaint: self._warn_once(complaint, complaint))
        gold = {number: found for number, found in gold.items() if found is None or found.is_annotated}
        self._losses = losses
        has_new = any(found is not None for found in gold.values())
        if training.gets_parts and (has_new or self._n_kept(numbered) <= MAX_KEPT):
            # Labels that are new in a later part are to be those of this one, too.
            self._waiting.append((numbered, read, gold))
            if self._trained.training is None:
                self._trained.moved(training)
            return []
        corrected = self._learn_from(training, numbered, read, gold, losses)
        return [] if training.gets_parts else corrected

    def _n_kept(self, numbered: Mapping[int, Example]) -> int:
        """The number of tokens of the parts that wait, and of these examples."""
        parts = [*(part for part, _, _ in self._waiting), numbered]
        return sum(len(example.predicted) for part in parts for example in part.values())

    def _learn_from(
        self,
        training: Training,
        numbered: Mapping[int, Example],
        read: Mapping[int, bytes],
        gold: dict[int, Any],
        losses: dict[str, float],
    ) -> list[Example]:
        """Learn from the annotated examples among these, by number, of which `ExampleReader.gold` has read this.

        Adds the solver's loss to `losses`. Returns the examples if they were corrected.
        """
        if not gold:
            self._unreadable.report(len(numbered), len(training))
            return []
        survey, corrects = self._survey_of_read(numbered, gold), isinstance(training.parameters, Correction)
        survey.of_corrections = corrects
        self.apply_survey(survey)
        if not survey.label_counts.keys().isdisjoint(self.codec.unlearnt):
            rest = tuple(label for label in self.codec.unlearnt if label not in survey.label_counts)
            self.codec = replace(self.codec, unlearnt=rest)
        new = self.new_labels(survey)
        if new and self._labels_are_fixed:
            self._warn_once("labels", complaints.unlisted_labels(new))
        elif new:
            losses[self.name] += self._learn_taken()
            self._add_labels(new)
            training = self._trained.begin(self.solver)
            gold = {n: self.codec.gold(numbered[n]) if found is None else found for n, found in gold.items()}
        self._require_labels()
        if self._awaits_update:
            self._awaits_update = False
            release_tables(self.model, self.vocab)
            self._note_annotation([numbered[number].predicted for number in gold])
            unlearnt = [name for name in self._trained.structured.reader.annotation if name not in self._record.reads]
            self._warn_once("training", complaints.unlearnt_annotation(unlearnt))
        unknown, encoded = self._reader.encoded({n: numbered[n] for n in gold if gold[n] is not None}, gold)
        self._unreadable.report(len(numbered), len(training))
        readable = set(unknown)
        learnt = [number for number in gold if gold[number] is None or number in readable]
        if not learnt:
            return []
        self._void_calibration()
        # The predictor's weights would take memory while the solver learns.
        self._trained.moved(training)
        references = [numbered[number].reference for number in learnt]
        places = [place for place, number in enumerate(learnt) if number in readable]
        annotation = [read[number] for number in learnt]
        losses[self.name] += training.update(references, annotation, places, encoded)
        return list(numbered.values()) if corrects else []

    def _check_corrected(self, examples: Sequence[Example]) -> None:
        """Warn where an update of these examples has not made them right: always if it was one, else once."""
        training = self._trained.training
        if training is None or not examples:
            return
        if len(examples) > 1:
            self._warn_once("corrections", complaints.uncorrected([*training.left_wrong, *training.projected]))
            return
        example, limits = examples[0], self._limits_of_prediction(examples[0])
        reason = (
            f"the component cannot produce its annotation ({training.data.impossible})"
            if training.projected
            else "its features do not tell apart what is annotated in different ways"
            if training.left_wrong
            else limits
        )
        if reason is not None:
            doc = self._without_own([example.predicted])[0].copy()
            try:
                self.set_annotations([doc], self.predict([doc]))
                mistakes = self.codec.parts.mistakes(Example(doc, example.reference))
            except ValueError as error:
                self._warn(f"the update has not corrected its example, {quoted(doc)}, because {error}")
            else:
                self._warn(complaints.uncorrected_tokens(doc, mistakes, reason))

    def _limits_of_prediction(self, example: Example) -> str | None:
        """A reason that may keep the component from predicting what it has learnt from an example, or None."""
        doc, reference = example.predicted, example.reference
        if self.codec.patterns:
            return "patterns limit what is predicted"
        if any(map(doc.has_annotation, self.codec.attributes)):
            return "the Doc has annotation already, which prediction keeps"
        has_sentences = reference.has_annotation("SENT_START") and len(list(islice(reference.sents, 2))) > 1
        return self.codec.complaint([doc]) if has_sentences else None

    def finish_update(self, sgd: Any) -> None:
        """Learn from the parts of a batch that `update` has got; without parts, `update` has done so. `sgd` is ignored.

        The solver's loss is added to the `losses` of the last `update`.
        """
        self._check_corrected(self._finish_update())

    def _finish_update(self) -> list[Example]:
        """Finish the update of a batch in parts; returns the examples that were corrected."""
        losses, waiting = self._losses, self._waiting
        self._losses, self._waiting = None, []
        if losses is None:
            return []
        corrected: list[Example] = []
        if waiting:
            training = self._trained.resume(self.solver, self._warn)
            numbered, read, gold = map(_together, zip(*waiting))
            corrected = self._learn_from(training, numbered, read, gold, losses)
        losses[self.name] += self._learn_taken()
        return corrected

    def _learn_taken(self) -> float:
        """Learn from the parts of a batch that training has taken in; returns the solver's loss."""
        training = self._trained.training
        if training is None or not training.gets_parts:
            return 0.0
        self._trained.moved(training)
        return training.learn()

    @property
    def _rehearsal_model(self) -> "SsvmPipe | None":
        """The component as it was when `nlp.resume_training` was last called; `rehearse` learns its predictions."""
        return self._tutor

    @_rehearsal_model.setter
    def _rehearsal_model(self, model: object) -> None:
        # spaCy hands over a copy of the model, which need not hold what was learnt since it was last saved.
        tutor = _unpickle(type(self), self._fields())
        tutor.model, tutor.codec = self.model.copy(), replace(self.codec, patterns=())
        self._tutor = tutor

    def rehearse(
        self, examples: Iterable[Example], sgd: Any = None, losses: dict[str, float] | None = None, **config: Any
    ) -> dict[str, float]:
        """Learn the predictions that the component made at `nlp.resume_training`, so as not to forget them.

        examples: only their predicted Docs are read; annotation that the component has not set itself stays. sgd,
        config: ignored; our solvers do not use them. Before `nlp.resume_training`, nothing is learnt.

        Returns `losses`, with the solver's loss added under the component's name.
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples = self._examples(examples, "rehearse")
        if self._tutor is None:
            return losses
        docs = [doc.copy() for doc in self._without_own(example.predicted for example in examples)]
        self._tutor.set_annotations(docs, self._tutor.predict(docs))
        # What is rehearsed may contradict what was corrected.
        self._update([Example(eg.predicted, doc) for eg, doc in zip(examples, docs)], losses)
        self._finish_update()
        return losses

    @property
    def figures(self) -> Figures | None:
        """The solver's figures after its last complete epoch; None before that, and for a loaded component."""
        return None if self._trained.training is None else self._trained.training.figures

    def certificate(self) -> Certificate | None:
        """Primal, dual and gap of the training so far, at one frozen w: one pass over all examples.

        None if the solver has no certificate, if examples were forgotten, if gold is incomplete, or if decoding is not
        exact. If training started from earlier weights, the objective is the one that keeps w close to them.
        """
        training = self._trained.training
        if training is None:
            return None
        # The weights of a predictor would take memory beside those that the certificate sums up.
        self._trained.moved(training)
        return training.certificate()

    def problem(self) -> Problem:
        """The examples of `initialize` as every solver sees them: for `solvers.learner.fit` and `set_weights`.

        Unknown parts of gold structures are completed here, once, by the weights that the component has; `update` does
        so before each epoch.

        Raises:
            ValueError: the component is not initialized.
        """
        training = self._trained.training
        if training is None or not len(training):
            raise ValueError(f"[{self.name}] there is no problem to solve yet: call initialize first")
        if is_incomplete(training.data):
            training.data.complete(None, training.weights())
        return training.problem_by_row()

    def set_weights(self, weights: np.ndarray) -> None:
        """Predict with these weights, float64 [d] of `problem`, and save them; `update` goes on from them.

        Raises:
            ValueError: the component is not initialized, or `weights` is not of that length.
        """
        training = self._trained.training
        if training is None:
            raise ValueError(f"[{self.name}] there are no weights to set yet: call initialize first")
        shape = (training.data.dimension(),)
        if np.shape(weights) != shape:
            raise ValueError(f"[{self.name}] the weights must be of shape ({shape[0]:,},), not {np.shape(weights)}")
        self._void_calibration()
        if self.settings.save_solver_state:
            self._warn(
                "the weights are set: the state of the solver is dropped, and it continues from these weights; saved "
                "before the next update, the component has no state to continue from"
            )
        self._trained.restart(self.solver, np.array(weights, np.float64))

    def retune(self, solver: Parameters, anew: bool = False) -> None:
        """Learn with this solver from the next `update` on; it converges to the same optimum as training from scratch.

        The dual variables of the same solver with other parameters are kept, scaled to the range that the new C allows:
        a few epochs lead from one optimum to the next. Other solvers start anew, and so does this one if `anew`. The
        examples are not read again. The pipeline's config does not change.

        Raises:
            ValueError: the component is not initialized.
        """
        training = self._trained.training
        if training is None:
            raise ValueError(f"[{self.name}] there is nothing to learn anew yet: call initialize first")
        training.retune(solver.seeded(self._trained.seed), anew)
        self.solver = solver
        self._trained.moved(training)
        self._void_calibration()

    def count_weights(self) -> tuple[int, int]:
        """The number of non-zero weights, and of all weights: those of features with a non-zero weight or, if features
        are hashed, of the whole table. Both are 0 before anything is learnt.
        """
        return self._trained.count()

    # Predicting

    def predict(self, docs: Doc | Iterable[Doc]) -> Sequence[Any]:
        """The predictions that `set_annotations` takes, an item for each Doc; nothing is written to the Docs."""
        return self._prepared(as_docs(docs))()

    def set_annotations(self, docs: Doc | Iterable[Doc], predictions: Sequence[Any]) -> None:
        """Write the predictions, from `predict`, to the Docs."""
        docs = as_docs(docs)
        given = self._own_annotation.given(self.codec, docs)
        self.codec.write(docs, predictions, given)
        self._own_annotation.remember(docs, given, predictions)

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Apply the component to a stream of Docs, in order. Threads share the Docs of a batch.

        If a batch fails, each of its Docs is tried alone: the error handler sees only the bad ones, and the log gives
        their places in the stream.
        """
        n_before = 0
        batches: Iterator[Iterable[Doc]] = util.minibatch(stream, size=batch_size)  # type: ignore[no-untyped-call]
        for batch in batches:
            docs, n_done = list(batch), 0
            try:
                for part in self._annotated(docs):
                    n_done += len(part)
            except Exception as error:
                LOGGER.debug("[%s] a batch fails, and its documents are tried one by one: %s", self.name, error)
            yield from docs[:n_done]
            yield from self._one_by_one(docs[n_done:], n_before + n_done)
            n_before += len(docs)

    @contextmanager
    def memory_zone(self, mem: Any = None) -> Iterator[Any]:
        """For `nlp.memory_zone`: at its end, all memory of word types is dropped, as spaCy drops their strings."""
        try:
            yield mem
        finally:
            self._trained.forget_types()

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """The figures of the scorer, which gets the labels; none without a scorer."""
        if self.scorer is None:
            return {}
        return dict(self.scorer(examples, **{"labels": self.labels, **kwargs}))

    # Confidence

    @property
    def inverse_temperature(self) -> float | None:
        """β of the distribution P(y) ∝ exp(β · wᵀΦ(x, y)), from calibration or, without it, from the solver; None if
        there is no such distribution."""
        beta = self._record.inverse_temperature
        return inverse_temperature(self.solver) if beta is None else beta

    @property
    def has_probabilities(self) -> bool:
        """Whether scores are probabilities: exact marginals of the distribution that the solver learns (finite β: CRF,
        softmax-margin) or that `calibrate` has fitted. Otherwise, the score of a part is a margin: wᵀΦ of the best
        analysis with the part, less wᵀΦ of the best one without it."""
        return self.inverse_temperature is not None

    @overload
    def kbest(self, docs: Doc, k: int) -> list[tuple[float, list[Any]]]: ...

    @overload
    def kbest(self, docs: Iterable[Doc], k: int) -> list[list[tuple[float, list[Any]]]]: ...

    def kbest(self, docs: Doc | Iterable[Doc], k: int) -> Any:
        """The k best analyses of a Doc, best first, exactly: their scores wᵀΦ(x, y), and their parts.

        Parts are tags, entities as (start, end, label), sentence starts as token numbers, or arcs as (head, token,
        label). A root is its own head, and trees have only arcs that the first pass keeps. The list is shorter than k
        if fewer analyses are possible. The Doc's annotation acts as a constraint, except what the component has set
        itself; nothing is written to the Doc.

        docs: a Doc, or Docs, for which the result is a list of these lists.

        Raises:
            TypeError: `docs` are no Docs.
            ValueError: k is less than 1, the component has no labels yet, or its structure is not decoded exactly.
        """
        names, count = self.codec.parts, checked_count(self.name, k)

        def ask(asked: Sequence[Doc]) -> list[list[tuple[float, list[Any]]]]:
            found = [best_analyses(sequences, names, count) for sequences in self._sequences(asked)]
            return [[(score, [names.item(part) for part in parts]) for score, parts in analyses] for analyses in found]

        return self._in_kind(docs, ask)

    @overload
    def explain(self, docs: Doc, of: Any = None) -> Explanation: ...

    @overload
    def explain(self, docs: Iterable[Doc]) -> list[Explanation]: ...

    def explain(self, docs: Doc | Iterable[Doc], of: Any = None) -> Any:
        """Why the component predicts each tag, entity, sentence start or arc of a Doc: the best analysis without it,
        and the features that put the prediction ahead. The Doc's annotation acts as a constraint, without alternatives,
        except what the component has set itself; nothing is written to the Doc.

        docs: a Doc, or Docs, for which the result is a list. of: with a single Doc, only this is explained, whether it
        is predicted or not: (token, tag), an entity as a Span or as (start, end, label), the number of a token for a
        sentence start, or (head, token, label). If it is not predicted, the best analysis with it is compared with the
        best one.

        Raises:
            TypeError: `docs` are no Docs.
            ValueError: the component has no labels yet, or its structure is not decoded exactly; `of` is nothing of
                this Doc that the component could predict, or is given with several Docs.
        """
        if of is not None and not isinstance(docs, Doc):
            raise ValueError(f"[{self.name}] `of` is part of a single Doc: call explain for each Doc")
        part = None if of is None else self._part_from_query(cast(Doc, docs), of)
        return self._in_kind(docs, lambda asked: [self._explanation(doc, part) for doc in asked])

    def suggest(self, docs: Iterable[Doc]) -> Iterator[Suggestion]:
        """Rank Docs for annotation, the most useful first: those with many tokens whose tag, entity, sentence start or
        head is uncertain, and with words that the Docs ranked before them do not have; see `inspect.suggestion`.

        A Doc's annotation acts as a constraint, except what the component has set itself; nothing is written to it.

        Raises:
            ValueError: the component has no labels yet, or its structure is not decoded exactly.
        """
        smallest = (
            SMALLEST_DOUBTFUL_PROBABILITY if self.has_probabilities else self.codec.parts.smallest_doubtful_margin
        )
        asked, texts, lengths = self._without_own(docs), [], []
        for first in range(0, len(asked), SUGGESTED_TOGETHER):
            batch = asked[first : first + SUGGESTED_TOGETHER]
            for doc, parts in zip(batch, self._scored(batch, smallest)):
                words = [token.lower_ for token in doc]
                texts.append(unsure_words(words, parts, self.has_probabilities))
                lengths.append(len(doc))
        return ranked(texts, lengths)

    def calibration_examples(self, examples: Iterable[Example]) -> list[CalibrationExample]:
        """Each sequence of these examples, with its scores and its known gold annotation.

        The predicted Docs have the annotation of earlier components; what this one has set does not count. Predictions
        are wrong where the gold label is unknown to the component.

        Raises:
            ValueError: the component is not trained yet, or its structure has no exact sums.
        """
        self._require_weights()
        given = [example for example in examples if len(example.predicted)]
        found = []
        asked = self._without_own(example.predicted for example in given)
        for example, sequences in zip(given, self._sequences(asked)):
            starts = [sequence.first for sequence in sequences]
            known = self.codec.parts.known(example, list(zip(starts, [*starts[1:], len(example.predicted)])))
            listing = self.codec.parts.listing
            found += [CalibrationExample(sequence.scored, gold, listing) for sequence, gold in zip(sequences, known)]
        return found

    def calibrate(self, examples: Iterable[Example]) -> Fit:
        """Turn scores into probabilities P(y) ∝ exp(β · wᵀΦ(x, y)), with the β that maximises the likelihood of the
        gold analyses of these examples. Predictions do not change.

        examples: as for `calibration_examples`, and none that the component has learnt from. Further training makes the
        calibration void.

        Raises:
            ValueError: the component is not trained yet, its structure has no exact sums, nothing is annotated, or no
                β is the best one.
            ImportError: SciPy is not installed.
        """
        found = fit(self.name, self.calibration_examples(examples))
        self._record = replace(self._record, inverse_temperature=found.beta)
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

    def to_bytes(self, exclude: Iterable[str] = ()) -> bytes:
        """Serialise; `exclude` names fields among cfg, vocab, model and state."""
        with self._trained.packed(self.settings.packing):
            fields = {name: contents for name, contents in self._files(None).items() if name not in exclude}
            if "vocab" not in exclude:
                fields["vocab"] = self.vocab.to_bytes(exclude=exclude)
            return bytes(srsly.msgpack_dumps(fields))

    def to_disk(self, path: str | Path, exclude: Iterable[str] = ()) -> None:
        """Save to a directory; `exclude` names fields among cfg, vocab, model and state.

        The files replace earlier ones together, when all of them are written.

        Raises:
            OSError: the disk is full, or the directory cannot be written to; what was saved there before stays.
        """
        folder = util.ensure_path(path)
        with self._trained.packed(self.settings.packing):
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

    def from_bytes(self, bytes_data: bytes, exclude: Iterable[str] = ()) -> "SsvmPipe":
        """Load what `to_bytes` has written.

        Raises:
            DamagedModel: the bytes are damaged, incomplete or of a newer version.
        """

        def read(readers: dict[str, Callable[[Any], Any]]) -> None:
            fields = srsly.msgpack_loads(bytes_data)
            # A field of a damaged name would be passed over.
            if not set(fields) <= set(readers):
                raise ValueError(f"it has fields {sorted(map(str, fields))}, not {sorted(readers)}")
            util.from_dict(fields, readers, exclude)

        self._load(read, srsly.json_loads, self.model.from_bytes, bytes, exclude)
        return self

    def from_disk(self, path: str | Path, exclude: Iterable[str] = ()) -> "SsvmPipe":
        """Load what `to_disk` has written.

        Raises:
            DamagedModel: a file is missing, damaged, incomplete or of a newer version.
        """

        def read(readers: dict[str, Callable[[Any], Any]]) -> None:
            util.from_disk(path, readers, exclude)

        self._load(read, srsly.read_json, self.model.from_disk, _contents, exclude)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle settings, weights and the solver's state, if it is to be saved, and nothing that is derived from
        them."""
        state = self._trained.state() if self.settings.save_solver_state else None
        return _unpickle, (type(self), self._fields(), state)

    def _fields(self) -> dict[str, Any]:
        """All attributes that are not derived from others; the model holds the present weights."""
        self._trained.store()
        fields = {key: value for key, value in vars(self).items() if not key.startswith("_")}
        # Fields of the compiled base class are not in vars().
        return fields | {key: getattr(self, key) for key in ("vocab", "model", "name", "scorer", "_record")}

    @property
    def _trained(self) -> TrainedState:
        return self._state.bound_to(self.model, self.codec, self.settings)

    @property
    def _reader(self) -> ExampleReader:
        return ExampleReader(self.codec.gold, self._trained.structured, self._unreadable)

    def _predictor(self) -> Predictor:
        """The predictor of the present weights."""
        self._require_labels()
        return self._trained.predictor

    def _prepared(self, docs: Sequence[Doc]) -> Callable[[], Sequence[Any]]:
        """Read the Docs; returns a function that predicts their structures, in any thread."""
        self._check_annotation(docs)
        with self._naming(docs):
            predict = self._predictor().prepared(docs)

        def named() -> Sequence[Any]:
            with self._naming(docs):
                return predict()

        return named

    def _sequences(self, docs: Sequence[Doc]) -> list[list[ScoredSequence]]:
        """For each Doc its sequences, with the scores of all their structures."""
        self._check_annotation(docs)
        with self._naming(docs):
            return self._scoring().scored(docs)

    def _scoring(self) -> ScoringPredictor:
        predictor = self._predictor()
        if not isinstance(predictor, ScoringPredictor):
            raise ValueError(f"[{self.name}] its model only predicts: it has no scores of other structures")
        return predictor

    def _part_from_query(self, doc: Doc, of: Any) -> NamedPart:
        """The part of a Doc that `explain` is asked about.

        Raises:
            ValueError: it is none.
        """
        try:
            part = self.codec.parts.from_query(of)
            start, end = operator.index(part.start), operator.index(part.end)
            is_part = 0 <= start < end <= len(doc) and isinstance(part.label, str)
        except (TypeError, ValueError):
            is_part = False
        if not is_part or not 0 <= (start if part.head is None else part.head) < len(doc):
            raise ValueError(
                f"[{self.name}] explains {self.codec.parts.query_form}, in a Doc of {len(doc):,} tokens, not {of!r}"
            )
        return part

    def _explanation(self, doc: Doc, part: NamedPart | None) -> Explanation:
        self._check_annotation([doc])
        with self._naming([doc]):
            sequences = self._scoring().explained(doc)
        try:
            words = [doc.vocab.strings[orth] for orth in doc.to_array(ORTH).tolist()]
            return explain(words, sequences, self.codec.parts, part)
        except ValueError as error:
            raise ValueError(f"[{self.name}] {error}") from None

    def _without_own(self, docs: Iterable[Doc]) -> list[Doc]:
        """The Docs without what this component has set: copies of them, where it has set anything."""
        return self._own_annotation.without_own(self.codec, list(docs), self.predict)

    def _in_kind(self, docs: Doc | Iterable[Doc], ask: Callable[[Sequence[Doc]], list[Answer]]) -> Any:
        """The answer about a Doc, or the list of answers about Docs, asked without what this component has set.

        Raises:
            TypeError: these are no Docs.
        """
        asked = as_docs(docs)
        for doc in asked:
            if not isinstance(doc, Doc):
                raise TypeError(f"[{self.name}] asks for a Doc, or for an iterable of Docs, not for {docs!r}")
        answers = ask(self._without_own(asked))
        return answers[0] if isinstance(docs, Doc) else answers

    def _scored(
        self, docs: Sequence[Doc], min_score: float | None, listing: Listing | None = None
    ) -> Iterator[Iterator[tuple[NamedPart, float]]]:
        """For each Doc the parts that score at least `min_score`, and their scores; listing: by default the codec's.

        All annotation of the Docs acts as a constraint.
        """
        smallest = checked_min_score(self.name, min_score, self.has_probabilities)
        names = self.codec.parts
        listing = listing or names.listing
        return (
            scored_parts(sequences, names, listing, self.inverse_temperature, smallest)
            for sequences in self._sequences(docs)
        )

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
            except MemoryError:
                raise
            except Exception as error:
                LOGGER.warning(
                    "[%s] document %s of the stream, %s, cannot be annotated: %s", self.name, number, quoted(doc), error
                )
                handler(self.name, self, [doc], error)
            else:
                yield doc

    def _add_labels(self, labels: Sequence[str]) -> None:
        """Append labels; the weights get zeros for them, and training starts anew from there."""
        self._void_calibration()
        if self._trained.saved_state is not None:
            # Its solver goes on from the weights.
            self._trained.moved(self._trained.resume(self.solver, self._warn))
        if self.settings.save_solver_state and self._trained.has_state():
            self._warn(
                f"there are new labels, {', '.join(labels)}: the state of the solver is dropped, and it continues from "
                "the weights alone"
            )
        learnt, self.codec = self._trained, replace(self.codec, labels=(*self.labels, *labels))
        for label in labels:
            self.vocab.strings.add(label, allow_transient=False)  # type: ignore[call-arg]
        self._state = learnt.relabelled(self.codec)

    @property
    def _labels_are_fixed(self) -> bool:
        """Whether other labels than those that `initialize` was given count as missing: until `nlp.resume_training`
        begins another training than that of `initialize`."""
        return self._record.labels_are_given and (self._trained.has_begun or self._tutor is None)

    def _survey_of_read(self, examples: Mapping[int, Example], gold: Mapping[int, Any]) -> Survey:
        """Survey the examples whose gold annotation could be read."""
        read = [number for number, found in gold.items() if found is not None]
        return self.codec.survey([examples[number] for number in read], [gold[number] for number in read])

    def _checked_labels(self, labels: Any) -> list[str]:
        """The labels given to `initialize`, each once, without those that the component already has."""
        if not isinstance(labels, list | tuple):
            raise ValueError(f"[{self.name}] initialize: labels must be a list of labels, not {labels!r}")
        for label in labels:
            self.codec.check_label(label)
        return [label for label in dict.fromkeys(labels) if label not in self.labels]

    def _examples(self, examples: Any, method: str) -> list[Example]:
        """The examples that a method was given; a TypeError of spaCy's if there is anything else among them."""
        given = list(examples) if isinstance(examples, Iterable) else examples
        validate_examples(given, f"{type(self).__name__}.{method}")
        return given

    def _parts(self, examples: Iterable[Example], method: str) -> Iterator[dict[int, Example]]:
        """Examples as they are read: those that have tokens, BATCH at a time, by their places among all."""
        n_before = 0
        items = iter(examples)
        while part := self._examples(islice(items, BATCH), method):
            yield _numbered(part, n_before)
            n_before += len(part)

    def _load_resources(self, nlp: Language | None) -> None:
        def words(phrase: str) -> np.ndarray:
            doc = nlp.make_doc(phrase) if nlp is not None else Doc(self.vocab, words=phrase.split())
            return np.array([token.lower for token in doc if not token.is_space], np.uint64)

        # The vocabulary, which is saved with the pipeline, is not to keep all words of gazetteers.
        with self.vocab.memory_zone():
            store_resources(self.model, self.vocab, words)

    def _note_annotation(self, docs: Sequence[Doc]) -> None:
        """Keep which annotation the features have to learn from: that of these Docs, and of those before."""
        features, known = self._trained.structured.reader.annotation, self._record.reads
        reads = tuple(
            name for name in features if name in known or any(doc.has_annotation(name.upper()) for doc in docs)
        )
        self._record = replace(self._record, reads=reads)

    def _is_first(self, nlp: Language) -> bool:
        """Whether it is the first of our components in the pipeline, for what is to be said once."""
        return next((pipe for _, pipe in nlp.pipeline if isinstance(pipe, SsvmPipe)), None) is self

    def _check_annotation(self, docs: Sequence[Doc]) -> None:
        """Warn once of Docs to predict on that lack annotation which features have learnt from, or boundaries."""
        self._warn_once("annotation", complaints.unset_annotation(self._record.reads, docs))
        complaint = self.codec.complaint([doc for doc in docs if len(doc)])
        self._warn_once("codec", complaint and f"{complaint} (this is said once)")

    def _warn_once(self, kind: str, complaint: str | None) -> None:
        if complaint is not None and kind not in self._warned:
            if len(self._warned) == MAX_WARNED:
                self._warned.clear()
            self._warned.add(kind)
            self._warn(complaint)

    def _warn(self, complaint: str | None) -> None:
        if complaint is not None:
            warnings.warn(f"[{self.name}] {complaint}", stacklevel=4)

    def _void_calibration(self) -> None:
        if self._record.inverse_temperature is not None:
            self._record = replace(self._record, inverse_temperature=None)
            self._warn(
                "its weights are no longer those that it was calibrated with: the calibration is void, calibrate it "
                "again when it is trained"
            )

    def _require_weights(self) -> None:
        """Raise a ValueError where nothing has been learnt."""
        if not self._trained.are_any():
            raise ValueError(f"[{self.name}] is not trained yet: train it, or call initialize first")

    def _require_labels(self) -> None:
        # What has learnt without labels predicts what needs none: no entities, or roots.
        if not self.labels and not (self.weight_labels and self._trained.are_any()):
            raise ValueError(f"[{self.name}] has no labels yet: train it, or call initialize or add_label first")

    def _files(self, indent: int | None) -> dict[str, bytes]:
        """The contents of the component's files; the model holds what is to be saved."""
        sealed = training_record.sealed(self.cfg, store.digest(self.model))
        cfg = srsly.json_dumps(sealed, **({} if indent is None else {"indent": indent}))
        files = {"cfg": cfg.encode(), "model": self.model.to_bytes()}
        names = self.model.attrs.get(store.NAMES)
        if names is not None:
            sizes = f"{len(names):,}", f"{len(files['model']):,}"
            LOGGER.info("[%s] the names of the features take %s of the model's %s bytes", self.name, *sizes)
        if self.settings.save_solver_state:
            packed = self._trained.state()
            if packed is not None:
                files["state"] = state_file.sealed(packed, store.digest(self.model))
                LOGGER.debug("[%s] the solver state takes %s bytes", self.name, f"{len(packed):,}")
        return files

    def _read_cfg(self, cfg: Any) -> None:
        config = self.codec.saved.settings
        self.codec, self._record = training_record.read(cfg, self.codec)
        for key, value in self.codec.saved.settings.items():
            if key in cfg and value != config[key]:
                self._warn(f"is loaded with {key} = {value!r}, not {config[key]!r}: its weights depend on this setting")

    def _load(
        self,
        read: Callable[[dict[str, Callable[[Any], Any]]], Any],
        cfg: Callable[[Any], Any],
        model: Callable[[Any], Any],
        state: Callable[[Any], bytes | None],
        exclude: Iterable[str],
    ) -> None:
        """Read and check the fields; where anything is wrong with them, the component stays as it was.

        read: gives each of the readers that it gets, by field, what the field is to be read from. cfg, model, state:
        read these.
        """
        vocab, found = self.vocab, dict[str, Any]()

        def read_cfg(source: Any) -> None:
            contents = cfg(source)
            self._read_cfg(contents)
            found.update(contents)

        def read_vocab(source: Any) -> None:
            (vocab.from_bytes if isinstance(source, bytes) else vocab.from_disk)(source, exclude=exclude)

        def read_model(source: Any) -> None:
            # Arrays that a file lacks are not to be those of before.
            store.clear(self.model)
            model(source)

        def read_state(source: Any) -> None:
            contents = None if "model" in exclude else state(source)
            if contents is not None and self.settings.save_solver_state:
                self._trained.saved_state = state_file.unsealed(contents, store.digest(self.model))

        has_model = "model" not in exclude
        if not has_model:
            self._trained.store()
        try:
            with self._unchanged_on_error():
                self._forget()
                read({"cfg": read_cfg, "vocab": read_vocab, "model": read_model, "state": read_state})
                for label in self.labels:
                    self.codec.check_label(label)
                if len(set(self.labels)) < len(self.labels):
                    raise ValueError(f"it has a label twice: {', '.join(self.labels)}")
                if has_model:
                    self._trained.check()
                if found and has_model:
                    training_record.require_seal(found, store.digest(self.model))
        except Exception as error:
            raise store.DamagedModel(f"[{self.name}] the saved component cannot be loaded: {error}") from error
        for label in self.labels:
            self.vocab.strings.add(label, allow_transient=False)  # type: ignore[call-arg]

    @contextmanager
    def _unchanged_on_error(self) -> Iterator[None]:
        before = self.codec, self._record, self._state, self._tutor, self._awaits_update
        model = store.snapshot(self.model)
        try:
            yield
        except Exception:
            self.codec, self._record, self._state, self._tutor, self._awaits_update = before
            store.restore(self.model, model)
            raise

    def _forget(self) -> None:
        """Drop everything that is derived from settings and model, and all memory of training."""
        self._state = TrainedState(self.model, self.codec, self.vocab, self.settings)
        self._tutor = None
        self._awaits_update = True
        self._losses = None
        self._waiting = []
        self._unreadable = Unreadable(self.name)
        self._warned = set()
        self._own_annotation = OwnAnnotation()


def as_docs(docs: Doc | Iterable[Doc]) -> list[Doc]:
    """These Docs; a Doc alone is one of them, as for spaCy's components."""
    return [docs] if isinstance(docs, Doc) else list(docs)


def _numbered(examples: Sequence[Example], first: int = 0) -> dict[int, Example]:
    """The examples that have tokens, by their places; first: that of the first one."""
    return {number: example for number, example in enumerate(examples, first) if len(example.predicted)}


def _together(parts: Iterable[Mapping[int, Answer]]) -> dict[int, Answer]:
    """The answers of several parts of a batch together, by the numbers of the examples."""
    return {number: value for part in parts for number, value in part.items()}


def _contents(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def _unpickle(component: type[SsvmPipe], fields: Mapping[str, Any], state: bytes | None = None) -> SsvmPipe:
    pipe = component.__new__(component)
    for key, value in fields.items():
        setattr(pipe, key, value)
    pipe._forget()
    pipe._trained.saved_state = state
    return pipe
