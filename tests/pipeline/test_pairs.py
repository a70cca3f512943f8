"""Pairs of features that share state: what one of them has done, the other one leaves as it is.

A feature acts on a pipeline of one trained component. Each pair is tried on one of the components, which take turns,
and on all others in slow tests. The last column names the state that both features touch.
"""

import copy
import pickle
import re
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import spacy
from spacy.attrs import LOWER, SHAPE
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_ssvm.inspect.weight_tables import NO_NAME
from spacy_ssvm.models.packing import Packing
from spacy_ssvm.solvers.dcd import Dcd

from .components import COMPONENTS, NEW_LABEL, SCORE, learnt, saved
from .test_corrections import CORRECTED, WORDS
from .test_new_labels import NEW
from .toy import EXAMPLES, LABELLED, LANG, SEQUENCES, annotation, blank, doc, train, trained

pytestmark = pytest.mark.filterwarnings("ignore:.*(has no sentence boundaries|no training Doc has|calibration is void)")


@dataclass
class Run:
    """A pipeline of one component. name: the component's present one."""

    factory: str
    nlp: Language
    name: str
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def pipe(self):
        return self.nlp.get_pipe(self.name)

    def examples(self, more: tuple = ()) -> list[Example]:
        return EXAMPLES[self.factory](self.nlp, [*COMPONENTS[self.factory].corpus, *more])

    def correction(self) -> Example:
        """Of words that are new, as far as the toy corpora go."""
        return Example(Doc(self.nlp.vocab, words=WORDS), Doc(self.nlp.vocab, words=WORDS, **CORRECTED[self.factory]))

    def score(self, examples: list[Example]) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.nlp.evaluate(examples)[SCORE[self.factory]]

    def predictions(self) -> list:
        texts = [text for text, _ in [*COMPONENTS[self.factory].corpus, *NEW.get(self.factory, [])]]
        docs = [doc(self.nlp, text) for text in [*texts, "Zebras sleep in Oslo", "Oslo"]]
        return [annotation(tokens) for tokens in self.nlp.pipe(docs)]

    def again(self, load: Callable[[Language, Language], Any]) -> None:
        """Replace the pipeline by another one, into which it is loaded."""
        loaded = spacy.blank(LANG)
        config = self.nlp.config["components"][self.name]
        loaded.add_pipe(self.factory, name=self.name, config={k: v for k, v in config.items() if k != "factory"})
        load(self.nlp, loaded)
        self.nlp = loaded


# Features


def corrected(run: Run) -> None:
    run.nlp.update([run.correction()], sgd=False)
    assert run.score([run.correction()]) == 1.0


def packing_set(run: Run) -> None:
    run.pipe.compress(Packing("int8"))


def packing_kept(run: Run) -> None:
    run.pipe.compress(Packing())


def compressed(run: Run) -> None:
    packing_set(run)
    in_bytes(run)


def pruned(run: Run) -> None:
    run.pipe.compress(Packing("float32", 0.8))
    in_bytes(run)


def calibrated(run: Run) -> None:
    run.pipe.cfg = {**run.pipe.cfg, "inverse_temperature": 0.5}


def on_disk(run: Run) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run.nlp.to_disk(folder)
        run.nlp = spacy.load(folder)


def in_bytes(run: Run) -> None:
    run.again(lambda nlp, loaded: loaded.from_bytes(nlp.to_bytes()))


def pickled(run: Run) -> None:
    run.nlp = pickle.loads(pickle.dumps(run.nlp))


def copied(run: Run) -> None:
    run.nlp = copy.deepcopy(run.nlp)


def sourced(run: Run) -> None:
    nlp = spacy.blank(LANG)
    nlp.add_pipe(run.name, name="sourced", source=run.nlp)
    run.nlp, run.name = nlp, "sourced"


def renamed(run: Run) -> None:
    run.nlp.rename_pipe(run.name, "renamed")
    run.name = "renamed"


def resumed(run: Run) -> None:
    on_disk(run)
    run.nlp.resume_training()


def label_added(run: Run) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*state of the solver is dropped")
        assert [run.pipe.add_label(NEW_LABEL[run.factory]) for _ in range(2)] == [1, 0]


def label_added_aloud(run: Run) -> None:
    run.pipe.add_label(NEW_LABEL[run.factory])


def label_learnt(run: Run) -> None:
    more = EXAMPLES[run.factory](run.nlp, NEW[run.factory])
    train(run.nlp, more, 5)
    assert run.score(more) == 1.0 and NEW_LABEL[run.factory] in run.pipe.labels


def foreign(run: Run) -> None:
    """Docs of another vocabulary, in which all words look alike, and of one that knows nothing of words."""
    alike = {LOWER: lambda text: "ham", SHAPE: lambda text: "xxx"}
    for vocab in (Vocab(lex_attr_getters={**run.nlp.vocab.lex_attr_getters, **alike}), Vocab()):
        for text in [*(text for text, _ in COMPONENTS[run.factory].corpus), "Zebras sleep in Oslo"]:
            run.pipe(Doc(vocab, words=text.split()))


def in_a_zone(run: Run) -> None:
    with run.nlp.memory_zone():
        run.predictions()


def corrected_in_a_zone(run: Run) -> None:
    with run.nlp.memory_zone():
        corrected(run)


def in_threads(run: Run) -> None:
    run.pipe.settings = replace(run.pipe.settings, n_threads=2)


def in_processes(run: Run) -> None:
    docs = [doc(run.nlp, text) for text, _ in COMPONENTS[run.factory].corpus]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [annotation(tokens) for tokens in run.nlp.pipe(docs, n_process=2, batch_size=2)]
    assert found == run.predictions()[: len(docs)]


def in_parts(run: Run) -> None:
    """A batch in two parts, the second of which has a new label."""
    run.pipe.trained = replace(run.pipe.trained, gets_parts=True)
    if run.pipe.trained.training is not None:
        run.pipe.trained.training.gets_parts = True
    for _ in range(8):
        for part in (run.examples(), EXAMPLES[run.factory](run.nlp, NEW.get(run.factory, []))):
            run.nlp.update(part, sgd=False)
        run.pipe.finish_update(None)


def weights_set_aloud(run: Run) -> None:
    run.pipe.set_weights(run.pipe.trained.training.weights_by_row())
    assert run.pipe.to_bytes() == run.pipe.to_bytes(exclude=["state"])


def weights_set(run: Run) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*state of the solver is dropped")
        weights_set_aloud(run)


def retuned(run: Run) -> None:
    run.pipe.retune(Dcd(C=0.5))
    train(run.nlp, run.examples(), 3)


def rehearsed(run: Run) -> None:
    run.nlp.resume_training()
    losses = run.nlp.rehearse([Example(eg.predicted, eg.predicted) for eg in run.examples()])
    assert losses[run.name] >= 0.0


def trained_on(run: Run) -> None:
    train(run.nlp, run.examples(), 3)


def preset(run: Run) -> None:
    """Annotation that a Doc has already stays, and is no reason to annotate others differently."""
    for example in run.examples():
        run.pipe(example.reference.copy())


def merged(run: Run) -> None:
    """Examples whose predicted tokens are not those of the annotation: the first two words are one token."""
    for example in run.examples():
        words = [token.text for token in example.reference]
        spaces = [bool(token.whitespace_) for token in example.reference]
        if len(words) > 1:
            predicted = Doc(run.nlp.vocab, words=[" ".join(words[:2]), *words[2:]], spaces=spaces[1:])
            run.score([Example(predicted, example.reference)])
            run.nlp.update([Example(predicted.copy(), example.reference)], sgd=False)


def evaluated(run: Run) -> None:
    run.score(run.examples())


def asked(run: Run) -> None:
    """For the k best, an explanation and a ranking, of Docs that it has annotated and of others."""
    tokens = doc(run.nlp, "Eat blue ham")
    for text in (run.nlp(tokens), doc(run.nlp, "Tom sleeps")):
        assert run.pipe.kbest(text, 2)
        run.pipe.explain(text)
    assert len(list(run.pipe.suggest([tokens, doc(run.nlp, "Zebras sleep")]))) == 2


# Invariants


def stays(run: Run, first, second) -> None:
    """The predictions after the first feature are those after both."""
    first(run)
    before = run.predictions()
    second(run)
    assert run.predictions() == before


def both_are_right(run: Run, first, second) -> None:
    """A correction, whichever of the two makes it, is right after both and after saving."""
    first(run)
    second(run)
    assert run.score([run.correction()]) == 1.0
    in_bytes(run)
    assert run.score([run.correction()]) == 1.0


def stays_learnt(run: Run, first, second) -> None:
    """What both have taught, saving does not change."""
    first(run)
    second(run)
    stays(run, evaluated, in_bytes)


def learns(run: Run, first, second) -> None:
    """After both, the component can learn, and predicts what it has learnt."""
    first(run)
    second(run)
    losses = [run.nlp.update(run.examples(), sgd=False)[run.name] for _ in range(12)]
    run.pipe.finish_update(None)
    assert losses[-1] <= losses[0]
    assert run.score(run.examples()) == 1.0


def goes_on(run: Run, first, second) -> None:
    """After both, training goes on as it does without them, to the same bytes but for the name."""
    straight = copy.deepcopy(run)
    first(run)
    second(run)
    for each in (run, straight):
        train(each.nlp, each.examples(), 3)
    assert run.pipe.to_bytes(exclude=["vocab"]) == straight.pipe.to_bytes(exclude=["vocab"])


def has_names(run: Run, first, second) -> None:
    """All features with weights have names."""
    first(run)
    second(run)
    features = [top.feature for label in run.pipe.labels for top in run.pipe.top_features(label, 10**6)]
    assert features and NO_NAME not in features


def keeps_probabilities(run: Run, first, second) -> None:
    first(run)
    second(run)
    assert run.pipe.inverse_temperature == 0.5


def warns(message: str):
    """The second feature says once what it does to the first one."""

    def check(run: Run, first, second) -> None:
        first(run)
        with pytest.warns(UserWarning, match=message) as said:
            second(run)
        assert len([warning for warning in said if re.search(message, str(warning.message))]) == 1

    return check


# Where a run begins


def loaded(factory: str) -> Run:
    return Run(factory, learnt(factory), factory)


def corrected_and_compressed(factory: str) -> Run:
    run = loaded(factory)
    for feature in (compressed, corrected, in_bytes):
        feature(run)
    return run


def in_training(factory: str, **settings) -> Run:
    return Run(factory, trained(factory, 3, **settings), factory)


def with_state(factory: str) -> Run:
    return in_training(factory, save_solver_state=True)


def with_names(factory: str) -> Run:
    nlp = blank(factory, save_feature_names=True)
    examples = EXAMPLES[factory](nlp)
    nlp.initialize(lambda: examples)
    return Run(factory, nlp, factory)


def with_patterns(factory: str) -> Run:
    known = {"ssvm_ner": "PER", "ssvm_parser": "det", "ssvm_senter": "I"}
    label = known.get(factory) or learnt(factory).get_pipe(factory).labels[-1]
    nlp = blank(factory, patterns=[{"patterns": [[{"LOWER": "ham"}]], "forbid": [label]}])
    nlp.get_pipe(factory).from_bytes(saved(factory))
    return Run(factory, nlp, factory)


def with_given_labels(factory: str) -> Run:
    nlp = blank(factory)
    examples = EXAMPLES[factory](nlp)
    nlp.get_pipe(factory).initialize(lambda: examples, nlp=nlp, labels=list(learnt(factory).get_pipe(factory).labels))
    train(nlp, examples, 5)
    return Run(factory, nlp, factory)


DROPPED, VOID = "state of the solver is dropped", "the calibration is void"
PAIRS: list[tuple[Callable, Callable, Callable, Callable, str]] = [
    (loaded, corrected, on_disk, stays, "weights of the training and of the model"),
    (loaded, corrected, resumed, stays, "the training that ends, and its weights"),
    (loaded, corrected, label_added, stays, "corrected weights, widened"),
    (corrected_and_compressed, pickled, on_disk, stays, "corrected weights beside those that are rounded"),
    (corrected_and_compressed, resumed, sourced, stays, "corrected weights beside those that are rounded"),
    (corrected_and_compressed, label_added, corrected, both_are_right, "corrected and rounded weights, widened"),
    (loaded, corrected, pickled, stays, "weights of the training and of the model"),
    (loaded, corrected, copied, stays, "weights of the training and of the model"),
    (loaded, corrected, sourced, stays, "the codec's name, which binds the model anew"),
    (loaded, corrected, renamed, stays, "the codec's name, which binds the model anew"),
    (loaded, corrected, in_a_zone, stays, "scores of word types, whose weights have moved"),
    (loaded, corrected, foreign, stays, "scores of word types"),
    (loaded, corrected, evaluated, stays, "what was written to Docs"),
    (loaded, corrected, asked, stays, "the predictor, and what was written to Docs"),
    (loaded, corrected, in_threads, stays, "the settings, which bind the model anew"),
    (loaded, corrected, in_processes, stays, "weights that are pickled"),
    (loaded, renamed, corrected, both_are_right, "the name of the training that begins"),
    (loaded, sourced, corrected, both_are_right, "a vocabulary that is not that of the Docs"),
    (loaded, packing_set, corrected, both_are_right, "weights that are to be rounded"),
    (loaded, compressed, corrected, both_are_right, "weights that are rounded once more"),
    (loaded, corrected_in_a_zone, on_disk, both_are_right, "strings that end with the zone"),
    (loaded, corrected_in_a_zone, in_a_zone, both_are_right, "strings that end with the zone"),
    (loaded, label_added, corrected, both_are_right, "labels of weights and of the training"),
    (loaded, foreign, corrected, both_are_right, "rows of word types"),
    (loaded, compressed, sourced, stays, "the packing among the settings"),
    (loaded, compressed, pickled, stays, "weights that are rounded already"),
    (loaded, compressed, on_disk, stays, "weights that are rounded already"),
    (loaded, compressed, in_a_zone, stays, "scores of word types"),
    (loaded, compressed, label_added, stays, "weights that are rounded already, widened"),
    (loaded, pruned, in_bytes, stays, "weights that are pruned already"),
    (loaded, pruned, label_added, stays, "weights that are pruned already, widened"),
    (loaded, pruned, renamed, stays, "the packing among the settings"),
    (loaded, compressed, rehearsed, stays, "the tutor's copy of the weights"),
    (loaded, renamed, rehearsed, stays, "the tutor's name"),
    (loaded, calibrated, on_disk, keeps_probabilities, "facts in cfg"),
    (loaded, calibrated, renamed, keeps_probabilities, "facts beside the codec"),
    (loaded, calibrated, pickled, keeps_probabilities, "facts that are pickled"),
    (loaded, calibrated, label_added, warns(VOID), "facts of weights that change"),
    (loaded, calibrated, corrected, warns(VOID), "facts of weights that change"),
    (loaded, calibrated, packing_set, warns(VOID), "facts of weights that are rounded"),
    (loaded, calibrated, packing_kept, keeps_probabilities, "facts of weights that are not rounded"),
    (with_state, trained_on, weights_set_aloud, warns(DROPPED), "the state of other weights"),
    (loaded, label_added, on_disk, stays, "labels without weights in cfg"),
    (loaded, label_added, pickled, stays, "labels without weights in the codec"),
    (loaded, label_added, sourced, stays, "labels without weights in the codec"),
    (loaded, label_added, in_a_zone, stays, "the string of the label"),
    (loaded, label_added, preset, stays, "constraints by labels"),
    (loaded, label_learnt, on_disk, stays, "the order of labels"),
    (loaded, label_learnt, copied, stays, "the order of labels"),
    (loaded, compressed, label_learnt, stays_learnt, "weights that are rounded already, widened"),
    (loaded, pruned, label_learnt, stays_learnt, "weights that are pruned already, widened"),
    (loaded, merged, label_learnt, stays_learnt, "alignments"),
    (loaded, label_learnt, rehearsed, stays, "labels that the tutor lacks"),
    (loaded, label_added, rehearsed, stays, "labels that the tutor has not learnt"),
    (loaded, foreign, in_bytes, stays, "scores of word types"),
    (loaded, in_a_zone, foreign, stays, "word types that are forgotten"),
    (loaded, in_threads, foreign, stays, "word types that threads read"),
    (loaded, asked, preset, stays, "what was written to Docs"),
    (loaded, merged, trained_on, learns, "alignments"),
    (in_training, in_parts, renamed, learns, "the training that waits, and its name"),
    (in_training, label_added, in_parts, learns, "training that starts anew, in parts"),
    (in_training, retuned, label_learnt, learns, "the solver of a training that starts anew"),
    (in_training, retuned, in_bytes, stays, "the solver of the weights"),
    (in_training, weights_set, on_disk, stays, "the start of a training without examples"),
    (in_training, weights_set, renamed, learns, "the start of a training without examples"),
    (with_state, renamed, trained_on, learns, "names in the state"),
    (with_state, pickled, in_bytes, goes_on, "the state, which weights belong to"),
    (with_state, on_disk, copied, goes_on, "the state that is not resumed yet"),
    (with_state, in_bytes, evaluated, goes_on, "the state that is not resumed yet"),
    (with_state, trained_on, label_added_aloud, warns(DROPPED), "planes by labels"),
    (with_state, in_bytes, label_learnt, warns(DROPPED), "the state that is not resumed yet"),
    (with_names, renamed, trained_on, has_names, "names in the bound model"),
    (with_names, packing_set, trained_on, has_names, "names in the bound model"),
    (with_names, trained_on, label_learnt, has_names, "names in the model's file"),
    (with_names, trained_on, pickled, has_names, "names in the model's file"),
    (with_given_labels, resumed, label_learnt, learns, "labels that are fixed in cfg"),
    (with_given_labels, in_bytes, label_added, stays, "labels that are fixed in cfg"),
    (with_patterns, renamed, pickled, stays, "the matcher of the patterns"),
    (with_patterns, label_added, on_disk, stays, "labels that patterns leave"),
    (with_patterns, foreign, in_a_zone, stays, "rules by word type"),
]
ONLY = {
    label_added: LABELLED,
    label_added_aloud: LABELLED,
    label_learnt: LABELLED,
    with_names: SEQUENCES,
    with_given_labels: LABELLED,
}
"""Features, and beginnings, that not every component has."""


def cases() -> list:
    """Each pair with the component whose turn it is; the other components are slow."""
    found = []
    for number, (begin, first, second, invariant, _) in enumerate(PAIRS):
        able = [
            factory
            for factory in EXAMPLES
            if all(factory in ONLY.get(part, EXAMPLES) for part in (begin, first, second))
        ]
        for place, factory in enumerate(able):
            marks = [] if place == number % len(able) else [pytest.mark.slow]
            name = f"{begin.__name__}: {first.__name__} x {second.__name__}, {factory}"
            found.append(pytest.param(factory, begin, first, second, invariant, id=name, marks=marks))
    return found


@pytest.mark.parametrize(("factory", "begin", "first", "second", "invariant"), cases())
def test_pair(factory, begin, first, second, invariant):
    invariant(begin(factory), first, second)
