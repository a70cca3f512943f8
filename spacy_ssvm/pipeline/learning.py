"""The learning of a component: from examples at once, from batches, from their parts, and by corrections."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import islice
from typing import Any, cast

import numpy as np
from spacy.attrs import ENT_IOB, SENT_START
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..inspect.parts import mistakes
from ..models.protocol import is_incomplete
from ..models.resources import release_tables, store_resources
from ..solvers.parameters import Parameters
from ..solvers.problem import Problem
from ..training.examples import BATCH, ReadExamples, Unreadable, encode, numbered, read_examples
from ..training.trainer import learn_from
from ..training.training import Training
from ..wording import name_of
from ..words import copy_of, example_of_words
from . import complaints
from .asking import Asking
from .codec import Codec, Survey, values_of
from .complaints import Warnings
from .entities import IOB_INSIDE
from .own_annotation import given_annotation
from .trained_state import TrainedState

MAX_KEPT = 1 << 15
"""The largest number of tokens of the parts of a batch that `update` keeps although it knows all of their examples."""


class Learning:
    """The learning of one component; `trained` is its state.

    Args:
        trained: the initial state.
        warn: issues the component's warnings.
        without_own: returns Docs' words without the component's own annotation; copies of them, where there is any.
    """

    def __init__(
        self, trained: TrainedState, warn: Warnings, without_own: Callable[[Sequence[Doc]], list[Doc]]
    ) -> None:
        self.trained = trained
        self.tutor: TrainedState | None = None
        """The state whose predictions `rehearse` learns."""
        self.warn = warn
        self._without_own = without_own
        self._losses: dict[str, float] | None = None
        self._waiting: list[ReadExamples] = []
        """The parts of a batch that `finish` learns from."""
        self._n_updates = 0
        """How often `update` was called since the last `finish`."""
        self._unreadable = Unreadable(trained.codec.name)

    # Before training

    def begin(self, labels: Sequence[str]) -> None:
        """Begin training without examples, with these labels added to the component's.

        Raises:
            ValueError: there are no labels.
        """
        self.add_labels(labels)
        if not self.trained.codec.space.labels:
            raise ValueError(
                f"[{self.trained.codec.name}] has no labels yet: give nlp.initialize the training examples, or call "
                "add_label first"
            )
        self.trained = self.trained.begun()

    def prepare(self, examples: Mapping[int, Example], labels: Sequence[str] | None) -> None:
        """Read all examples and begin training; nothing is learnt yet. labels: new ones; None: all that occur."""
        trained, codec = self.trained, self.trained.codec
        read = read_examples(examples, codec, trained.structured, self._unreadable)
        survey: Survey = read.survey(codec)
        trained = trained.with_codec(codec.with_survey(survey))
        new = survey.new_labels(codec.labels) if labels is None else labels
        trained = self._with_labels(trained, new) if new else trained
        codec = trained.codec
        gaps, reasons = codec.gaps(read.examples, read.gold), list[str]()
        if not codec.labels:
            self._unreadable.report(len(examples))
            wrong = gaps.wrong()
            if wrong.named:
                codec.report_gaps(wrong, reasons.append)
        survey.require_labels(codec.name, codec.labels, reasons)
        encoded = encode(read.annotated(), trained.structured, self._unreadable, BATCH)
        # What others annotate while this one learns is not there yet: the first update sees what is missing.
        trained = trained.with_annotation_of([read.examples[number].predicted for number in read.gold])
        self._unreadable.report(len(examples))
        codec.report_gaps(gaps, self.warn)
        trained = trained.begun(encoded.batches)
        training = trained.training
        assert isinstance(training, Training)
        changed = training.prepare(encoded)
        self.trained = trained

        def names(numbers: list[int]) -> list[str]:
            return [name_of(number, examples[number].predicted) for number in numbers]

        self.warn(complaints.projections(encoded.numbers, names, training.data.docs, changed, codec.parts))

    def add_labels(self, labels: Sequence[str]) -> None:
        """Append labels; the weights get zeros for them, and training starts anew from there."""
        self.trained = self._with_labels(self.trained, labels)

    def _with_labels(self, trained: TrainedState, labels: Sequence[str]) -> TrainedState:
        trained = self._uncalibrated(trained)
        if trained.saved_state is not None:
            # Its solver goes on from the weights.
            trained = trained.resumed(self.warn)
        if trained.settings.save_solver_state and trained.has_state():
            self.warn(complaints.new_labels(labels))
        return trained.with_labels(labels)

    def _uncalibrated(self, trained: TrainedState) -> TrainedState:
        if trained.record.inverse_temperature is None:
            return trained
        self.warn(
            "its weights are no longer those that it was calibrated with: the calibration is void, calibrate it again "
            "when it is trained"
        )
        return replace(trained, record=replace(trained.record, inverse_temperature=None))

    def void_calibration(self) -> None:
        """Forget the calibration, as the weights to predict with change."""
        self.trained = self._uncalibrated(self.trained)

    def rename(self, trained: TrainedState) -> None:
        """Rename the component; trained: its present state under the new name."""
        self.warn.name = trained.codec.name
        self._unreadable = Unreadable(trained.codec.name)
        if isinstance(trained.training, Training):
            trained.training.name = trained.codec.name
        self.trained = trained

    # Updates

    def update(self, examples: Sequence[Example], losses: dict[str, float]) -> None:
        """Learn from a batch of examples, or keep it if it is a part of one; warn where a correction is impossible."""
        self._n_updates += 1
        # Known while the weights are those that have written it: `nlp.update` copies Docs.
        is_correction = len(examples) == 1 and self.trained.corrects
        found = self._without_own([examples[0].predicted])[0] if is_correction else None
        self._check_corrected(self._update(examples, losses), found)

    def finish(self) -> None:
        """Learn from the parts of a batch that `update` has got, and add the loss to the `losses` of the last one."""
        self._check_corrected(self._finish())
        if self._n_updates > 1 and self.tutor is not None and not self.trained.gets_parts:
            # After `nlp.resume_training`, no config says whether batches come in parts, but their end does.
            self.trained = self.trained.in_parts()
        self._n_updates = 0

    def rehearse(self, examples: Sequence[Example], losses: dict[str, float]) -> None:
        """Learn the predictions that the component made at `nlp.resume_training`, for the examples' predicted Docs."""
        if self.tutor is None:
            return
        docs = list(map(copy_of, self._without_own([example.predicted for example in examples])))
        _annotate(self.tutor, docs, Warnings(self.tutor.codec.name))
        # What is rehearsed may contradict what was corrected.
        self._update([Example(example.predicted, doc) for example, doc in zip(examples, docs)], losses)
        self._finish()

    def _update(self, examples: Sequence[Example], losses: dict[str, float]) -> list[Example]:
        """Update the component; returns the examples that were corrected."""
        n_before = max((number for part in self._waiting for number in part.examples), default=-1) + 1
        by_number = numbered(examples, n_before)
        if not by_number:
            return []
        trained = self.trained.resumed(self.warn)
        codec, training = trained.codec, trained.training
        assert training is not None
        read = read_examples(by_number, codec, trained.structured, self._unreadable, training.knows)
        wrong = codec.gaps(read.examples, read.fresh()).wrong()
        if wrong.named:
            codec.report_gaps(wrong, lambda complaint: self.warn.once(complaint, complaint))
        read = read.annotated()
        # Where nothing is annotated, too: what a training has begun with may have changed the model.
        self._losses, self.trained = losses, trained
        if training.gets_parts and (read.fresh() or self._n_kept(by_number) <= MAX_KEPT):
            # Labels that are new in a later part are to be those of this one, too.
            self._waiting.append(read)
            return []
        corrected = self._learn_from(trained, read, losses)
        return [] if training.gets_parts else corrected

    def _n_kept(self, examples: Mapping[int, Example]) -> int:
        """The number of tokens of the waiting parts and of these examples."""
        parts = [*(part.examples for part in self._waiting), examples]
        return sum(len(example.predicted) for part in parts for example in part.values())

    def _learn_from(self, trained: TrainedState, read: ReadExamples, losses: dict[str, float]) -> list[Example]:
        """Learn from annotated examples. trained: the present state, with a training.

        Adds the solver's loss to `losses`. Returns the examples if they were corrected.
        """
        training = trained.training
        assert training is not None
        if not read.gold:
            self._unreadable.report(len(read.examples), len(training))
            return []
        codec, corrects = trained.codec, training.parameters.corrects
        survey: Survey = read.survey(codec)
        survey.of_corrections = corrects
        if corrects:
            docs = [read.examples[number].predicted for number in read.gold]
            self.warn.once("corrected", complaints.unset_in_corrections(trained.record.reads, docs))
        new, surveyed = survey.new_labels(codec.labels), codec.with_survey(survey)
        if not survey.label_counts.keys().isdisjoint(codec.unlearnt):
            rest = tuple(label for label in codec.unlearnt if label not in survey.label_counts)
            surveyed = replace(surveyed, unlearnt=rest)
        trained = trained.with_codec(surveyed)
        if new and trained.record.labels_are_given and (trained.has_begun or self.tutor is None):
            # Until `nlp.resume_training` begins another training than that of `initialize`.
            self.warn.once("labels", complaints.unlisted_labels(new))
        elif new:
            losses[codec.name] += self._learn_taken()
            present = self.trained.with_codec(surveyed)
            trained = self._with_labels(present, new).begun()
            read = read.with_gold_of_known(trained.codec)
        trained.require_labels()
        trained = self._uncalibrated(trained)
        if trained.awaits_update:
            release_tables(trained.model, trained.vocab)
            trained = trained.with_annotation_of([read.examples[number].predicted for number in read.gold])
            unlearnt = [name for name in trained.structured.reader.annotation if name not in trained.record.reads]
            self.warn.once("training", complaints.unlearnt_annotation(unlearnt))
        # A predictor's weights would take memory while the solver learns.
        self.trained = trained = replace(trained, awaits_update=False)
        assert trained.training is not None
        suffered = learn_from(trained.training, read, trained.structured, self._unreadable)
        if suffered is None:
            return []
        losses[codec.name] += suffered
        return list(read.examples.values()) if corrects else []

    def _finish(self) -> list[Example]:
        """Finish the update of a batch in parts; returns the examples that were corrected."""
        losses, waiting = self._losses, self._waiting
        self._losses, self._waiting = None, []
        if losses is None:
            return []
        corrected: list[Example] = []
        if waiting:
            corrected = self._learn_from(self.trained.resumed(self.warn), ReadExamples.joined(waiting), losses)
        losses[self.trained.codec.name] += self._learn_taken()
        return corrected

    def _learn_taken(self) -> float:
        """Learn from the parts of a batch that training has taken in; returns the solver's loss."""
        training = self.trained.training
        if training is None or not training.gets_parts:
            return 0.0
        self.trained = self.trained.without_predictor()
        return training.learn()

    def _check_corrected(self, examples: Sequence[Example], found: Doc | None = None) -> None:
        """Warn where an update has not corrected these examples: always if it was one, else once.

        Args:
            examples: those of the update.
            found: the words of the only example as the component finds them, by default the predicted Doc's.
        """
        training, codec = self.trained.training, self.trained.codec
        if not examples or not isinstance(training, Training):
            return
        if len(examples) > 1:
            self.warn.once("corrections", complaints.uncorrected([*training.left_wrong, *training.projected]))
            return
        example, parts = example_of_words(examples[0]), codec.parts
        found = example.predicted if found is None else found
        is_wrong = bool(training.projected or training.left_wrong)
        reason = (
            f"the component cannot produce its annotation{complaints.impossible(parts)}"
            if training.projected
            else "its features do not tell apart what is annotated in different ways"
            if training.left_wrong
            else self._limits_of_prediction(found, example.reference)
        )
        if reason is None:
            return
        if parts is None:
            # Mistakes have no names, and whether limits lead to any is not known.
            self.warn(complaints.uncorrected_doc(example.predicted, reason) if is_wrong else None)
            return
        try:
            doc = copy_of(found)
            _annotate(self.trained, [doc], self.warn)
            left = mistakes(parts, Example(doc, example.reference))
        except ValueError as error:
            self.warn(complaints.uncorrected_doc(example.predicted, str(error)))
        else:
            self.warn(complaints.uncorrected_tokens(doc, left, reason))

    def _limits_of_prediction(self, doc: Doc, reference: Doc) -> str | None:
        """A reason that may keep the component from predicting a reference's annotation for a Doc."""
        codec = self.trained.codec
        if codec.patterns:
            return "patterns limit what is predicted"
        if any(map(doc.has_annotation, codec.attributes)):
            return "the Doc has annotation already, which prediction keeps"
        if ENT_IOB in codec.attributes and len(doc) == len(reference):
            inside = values_of(reference, [ENT_IOB]) == IOB_INSIDE
            if (inside & (values_of(doc, [SENT_START]) == 1)).any():
                return "a sentence starts within an entity: correct the boundaries of sentences, too"
        has_sentences = reference.has_annotation("SENT_START") and len(list(islice(reference.sents, 2))) > 1
        return codec.complaint([doc]) if has_sentences else None

    # The problem that solvers solve

    def problem(self) -> Problem:
        """All examples as every solver sees them, with unknown parts of gold structures completed."""
        complaint = "there is no problem to solve yet: call initialize first"
        training = self._training(complaint)
        if not len(training):
            raise ValueError(f"[{self.trained.codec.name}] {complaint}")
        if is_incomplete(training.data):
            training.data.complete(None, training.weights())
        return training.problem_by_row()

    def set_weights(self, weights: np.ndarray) -> None:
        """Continue from these weights, float64 [d] of `problem`, without the examples."""
        training = self._training("there are no weights to set yet: call initialize first")
        shape, name = (training.data.dimension(),), self.trained.codec.name
        if np.shape(weights) != shape:
            raise ValueError(f"[{name}] the weights must be of shape ({shape[0]:,},), not {np.shape(weights)}")
        self.void_calibration()
        if self.trained.settings.save_solver_state:
            self.warn(
                "the weights are set: the state of the solver is dropped, and it continues from these weights; saved "
                "before the next update, the component has no state to continue from"
            )
        self.trained = self.trained.restarted(np.array(weights, np.float64))

    def retune(self, solver: Parameters, anew: bool) -> None:
        """Learn with this solver from the next update on."""
        training = self._training("there is nothing to learn anew yet: call initialize first")
        training.retune(solver.seeded(self.trained.seed), anew)
        self.trained = self._uncalibrated(replace(self.trained, solver=solver))

    def _training(self, complaint: str) -> Training:
        """The present training of this process.

        Raises:
            ValueError: there is none.
        """
        training = self.trained.training
        if not isinstance(training, Training):
            raise ValueError(f"[{self.trained.codec.name}] {complaint}")
        return training


def checked_labels(codec: Codec, labels: Any) -> list[str]:
    """The labels given to `initialize`, each once, without those that the component already has.

    Raises:
        ValueError: it is no list of labels.
    """
    if not isinstance(labels, list | tuple):
        raise ValueError(f"[{codec.name}] initialize: labels must be a list of labels, not {labels!r}")
    for label in labels:
        codec.check_label(label)
    return [label for label in dict.fromkeys(labels) if label not in codec.labels]


def load_resources(trained: TrainedState, nlp: Language | None) -> None:
    """Read the files and tables that features need into the thinc Model of a component."""
    vocab = trained.vocab

    def words(phrase: str) -> np.ndarray:
        doc = nlp.make_doc(phrase) if nlp is not None else Doc(vocab, words=phrase.split())
        return np.array([token.lower for token in doc if not token.is_space], np.uint64)

    # The vocabulary, which is saved with the pipeline, is not to keep all words of gazetteers. Zones cannot be nested.
    with nullcontext() if cast(Any, vocab).in_memory_zone else vocab.memory_zone():
        store_resources(trained.model, vocab, words)


def _annotate(trained: TrainedState, docs: Sequence[Doc], warn: Warnings) -> None:
    """Annotate Docs that have nothing of the component's own."""
    trained.require_labels()
    codec = trained.codec
    asking = Asking(codec, lambda: trained.predictor, None, trained.record.reads, warn)
    predictions = asking.prepared(docs)()
    codec.write(docs, predictions, [given_annotation(codec, doc) for doc in docs])
