"""Learning that goes on from a saved solver state as if it had not been interrupted."""

import warnings
from dataclasses import replace
from inspect import signature

import numpy as np
import pytest
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch

from spacy_ssvm.models.store import DamagedModel
from spacy_ssvm.registry import ssvm_solvers
from spacy_ssvm.training import state_file

from .components import every
from .toy import (
    ALL_SOLVERS,
    EXAMPLES,
    NEARLY_UNREGULARISED,
    TAGGED,
    TREES,
    blank,
    tagged,
    tagger_examples,
    train,
    tree_of,
)

VARIANTS = [
    *((solver, {}) for solver in ALL_SOLVERS),
    ("DCA", {"beta": "inf"}),
    ("FrankWolfe", {"averaging": True}),
    ("LSE", {"kappa1": 1}),
    ("LSECuttingPlane", {"kappa1": 1}),
    ("MIRA", {"k": 3}),
    ("OneSlack", {"idle_epochs": 0}),
    ("SAP", {"batch": True}),
    ("SAP", {"nu": 0.1, "mu": 0.1}),
    ("SDM", {"kappa1": 1}),
    ("SGD", {"beta": 1.0}),
]
KINDS = ("DCD", "LBFGS", "MIRA", "OneSlack", "SAP", "SGD")
"""One solver of each kind of state; tests of solvers have the states of all."""


def slow_but_kinds(variants):
    """The cases of a parametrisation, in which the other solvers are slow."""
    return [
        pytest.param(*variant, marks=[pytest.mark.slow] * (variant[0] not in KINDS or variant[1:] not in ((), ({},))))
        for variant in variants
    ]


LEARNS = {solver: NEARLY_UNREGULARISED[solver] for solver in ("Extragradient", "LSECuttingPlane", "SAP")}
LEARNS["ProjectedSubgradient"] = {"epsilon": 3.0}
NEVER_DONE = {"tolerance": 0.0}


def settings(solver, **more):
    known = signature(ssvm_solvers.get(f"spacy-ssvm.{solver}.v1")).parameters
    dual = NEVER_DONE if "tolerance" in known else {}
    return {"solver": solver, "solver_settings": {**dual, **LEARNS.get(solver, {}), **more}, "save_solver_state": True}


def component(nlp):
    return nlp.get_pipe(nlp.pipe_names[-1])


def without_state(nlp) -> bytes:
    return component(nlp).to_bytes(exclude=["vocab", "state"])


def fresh(factory, examples=None, n_parts=1, **config):
    """A pipeline before its first epoch, with a seed that is not in the config of the component, and its examples."""
    nlp = blank(factory, **config)
    nlp.config["training"].update(seed=5, accumulate_gradient=n_parts)
    found = (examples or EXAMPLES[factory])(nlp)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nlp.initialize(lambda: found)
    return nlp, found


def again(nlp, factory, **config):
    """The pipeline, saved and loaded."""
    return blank(factory, **config).from_bytes(nlp.to_bytes())


def interrupted(factory, before, after, examples=None, **config):
    """`before` epochs, then `after` epochs of the pipeline that was saved, with examples that are read anew."""
    loaded = again(uninterrupted(factory, before, examples, **config), factory, **config)
    train(loaded, (examples or EXAMPLES[factory])(loaded), after)
    return loaded


def uninterrupted(factory, epochs, examples=None, **config):
    nlp, found = fresh(factory, examples, **config)
    train(nlp, found, epochs)
    return nlp


@pytest.mark.parametrize(("solver", "more"), slow_but_kinds(VARIANTS), ids=lambda part: str(part))
def test_epochs_then_more_equal_all_in_one_go(solver, more):
    config = settings(solver, **more)
    nlp, examples = fresh("ssvm_tagger", **config)
    train(nlp, examples, 2)
    loaded, saved = again(nlp, "ssvm_tagger", **config), without_state(nlp)
    train(nlp, examples, 3)
    train(loaded, tagger_examples(loaded), 3)
    assert without_state(loaded) == without_state(nlp) != saved
    assert component(loaded).to_bytes(exclude=["vocab"]) == component(nlp).to_bytes(exclude=["vocab"])
    assert component(loaded).figures == component(nlp).figures


@every
@pytest.mark.parametrize("solver", slow_but_kinds((solver,) for solver in ALL_SOLVERS))
def test_batches_in_parts_teach_the_same_also_after_loading(factory, solver):
    config = settings(solver)
    if factory == "ssvm_parser":
        config["model"] = tree_of("projective", 1)
    nlp, examples = fresh(factory, n_parts=2, **config)
    for epoch in range(4):
        if epoch == 2:
            nlp = again(nlp, factory, **config)
            examples = EXAMPLES[factory](nlp)
        losses = {}
        for part in (examples[1:], examples[:1]):
            nlp.update(part, sgd=False, losses=losses)
        assert losses[factory] == 0
        component(nlp).finish_update(None)
    assert without_state(nlp) == without_state(uninterrupted(factory, 4, **config))


GAPS = [("I like green eggs", ["PRON", "", "ADJ", ""]), ("Eat blue ham", ["VERB", "", ""]), *TAGGED[2:]]
OPEN_TREES = [("I like green eggs", "nsubj:2 ROOT:2 - -"), ("Eat blue ham !", "- amod:3 - punct:1"), *TREES[2:]]


@pytest.mark.filterwarnings("ignore:.*(have no gold label|have no gold head)")
@pytest.mark.parametrize(
    ("factory", "corpus", "more"),
    [
        ("ssvm_tagger", GAPS, {}),
        ("ssvm_parser", OPEN_TREES, {}),
        ("ssvm_tagger", TAGGED, {"weight_dtype": "int8", "keep_fraction": 0.5}),
    ],
    ids=["completed tags", "completed trees", "rounded on disk"],
)
def test_what_is_completed_or_rounded_goes_on(factory, corpus, more):
    config = {**settings("DCD"), **more}
    loaded = interrupted(factory, 2, 3, lambda nlp: EXAMPLES[factory](nlp, corpus), **config)
    straight = uninterrupted(factory, 5, lambda nlp: EXAMPLES[factory](nlp, corpus), **config)
    assert without_state(loaded) == without_state(straight)


@pytest.mark.parametrize("solver", ["DCD", "MIRA"])
def test_small_batches_duplicates_and_the_middle_of_an_epoch(solver):
    """Where the same batches come in the same order, an epoch may even be interrupted."""
    config = settings(solver)

    def corpus(nlp):
        return tagger_examples(nlp, [*TAGGED, *TAGGED[:3]])

    nlp, examples = fresh("ssvm_tagger", corpus, **config)
    loaded = None
    for number, batch in enumerate([*minibatch(examples, 2)] * 4):
        places = [examples.index(example) for example in batch]
        nlp.update(batch, sgd=False)
        if loaded is not None:
            found = corpus(loaded)
            loaded.update([found[place] for place in places], sgd=False)
        if number == 6:
            loaded = again(nlp, "ssvm_tagger", **config)
    assert without_state(loaded) == without_state(nlp)


@every
def test_without_the_option_there_is_no_state_and_an_older_one_goes(factory, tmp_path):
    component(uninterrupted(factory, 1, **settings("DCD"))).to_disk(tmp_path)
    assert (tmp_path / "state").exists()
    nlp = uninterrupted(factory, 1)
    assert component(nlp).to_bytes() == component(nlp).to_bytes(exclude=["state"])
    component(nlp).to_disk(tmp_path)
    assert not (tmp_path / "state").exists()


def test_other_data(recwarn):
    """What has not come back is forgotten, once; the weights are not."""
    config = settings("DCD")
    loaded = again(uninterrupted("ssvm_tagger", 4, **config), "ssvm_tagger", **config)
    new = [
        tagged(loaded, text, tags) for text, tags in [*TAGGED[:2], ("Old dogs eat blue eggs", "ADJ NOUN VERB ADJ NOUN")]
    ]
    train(loaded, new, 3)
    said = [str(warning.message) for warning in recwarn if "have not come back" in str(warning.message)]
    assert len(said) == 1
    assert "[ssvm_tagger] 4 of the 7 examples" in said[0]

    assert component(loaded).certificate() is None
    assert loaded.evaluate([*new, *tagger_examples(loaded)])["tag_acc"] == 1.0


def test_examples_that_come_back_later(recwarn):
    config = settings("DCD")
    loaded = again(uninterrupted("ssvm_tagger", 4, **config), "ssvm_tagger", **config)
    examples = tagger_examples(loaded)
    train(loaded, examples[:3], 2)
    train(loaded, examples, 3)
    assert len(component(loaded).trained.training) == len(TAGGED)
    assert component(loaded).figures.epoch == 9
    assert loaded.evaluate(examples)["tag_acc"] == 1.0


def test_a_solver_is_recognised_by_its_name_and_all_parameters():
    nlp = uninterrupted("ssvm_tagger", 3, **settings("DCD"))
    saved = state_of(nlp)["solver"]
    assert saved["name"] == "Dcd" and saved["tolerance"] == 0.0
    fewer = {name: value for name, value in saved.items() if name != "inner_passes"}
    for solver in ({**saved, "C": 0.2}, {**saved, "name": "DcdLight"}, fewer, {**saved, "unknown": 1}, None):
        loaded = again(nlp, "ssvm_tagger", **settings("DCD"))
        set_state(loaded, state_file.pack({**state_of(nlp), "solver": solver}))
        with pytest.warns(
            UserWarning,
            match="is not the one whose state was saved, " + (rf"{solver['name']}\(.*C=0" if solver else ""),
        ):
            train(loaded, tagger_examples(loaded), 1)


def set_state(nlp, state: bytes) -> None:
    pipe = component(nlp)
    pipe.trained = replace(pipe.trained, saved_state=state)


def state_of(nlp) -> dict:
    """What the solver of a component remembers, as its file has it."""
    return state_file.unpack(state_file.pack(component(nlp).trained.training.state()))


def arrays_in(value) -> list[np.ndarray]:
    if isinstance(value, np.ndarray):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [array for part in parts for array in arrays_in(part)]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("learner", {}),
        ("sizes", 3),
        ("digests", None),
        ("visited", [True]),
        ("epochs", -1),
        ("finished", 1),
        ("rng", {"bit_generator": "MT19937"}),
        ("gold", [1]),
        ("index", "x"),
    ],
)
def test_a_changed_state_is_refused(key, value):
    nlp = uninterrupted("ssvm_tagger", 2, **settings("DCD"))
    loaded = again(nlp, "ssvm_tagger", **settings("DCD"))
    set_state(loaded, state_file.pack({**state_of(nlp), key: value}))
    with pytest.raises(DamagedModel, match=r"\[ssvm_tagger\] learning cannot go on"):
        train(loaded, tagger_examples(loaded), 1)


@pytest.mark.parametrize("solver", ["DCD", "OneSlack", "LSECuttingPlane", "Perceptron"])
def test_no_change_of_a_byte_crashes(solver):
    """Bytes of arrays are changed at random: learning goes on or is refused, and nothing is read out of bounds."""
    config = settings(solver)
    nlp = uninterrupted("ssvm_tagger", 2, **config)
    rng = np.random.default_rng(0)
    loaded = again(nlp, "ssvm_tagger", **config)
    saved, examples = component(nlp).to_bytes(exclude=["vocab"]), tagger_examples(loaded)
    refused = 0

    def flipped() -> bytes:
        state = state_of(nlp)
        bytes_of = [array.reshape(-1).view(np.uint8) for array in arrays_in(state) if array.size]
        for array in rng.integers(len(bytes_of), size=3):
            place = rng.integers(len(bytes_of[array]))
            bytes_of[array][place : place + 8] = rng.choice([0, 255, rng.integers(256)])  # 255s: NaN, or −1
        return state_file.pack(state)

    for _ in range(20):
        component(loaded).from_bytes(saved, exclude=["vocab"])
        set_state(loaded, flipped())
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                train(loaded, examples, 1)
        except DamagedModel:
            refused += 1
    assert refused


def test_the_file_of_the_state(tmp_path):
    """Damage is said with the component's name, and a state is that of the weights beside it."""
    config = settings("DCD")
    component(uninterrupted("ssvm_tagger", 2, **config)).to_disk(tmp_path, exclude=["vocab"])
    contents = (tmp_path / "state").read_bytes()
    newer = contents[:24] + (99).to_bytes(4, "little") + contents[28:]
    for broken, complaint in (
        (b"", "is no such file, or is incomplete"),
        (contents[:-1], "digest .* does not fit"),
        (newer, r"newer version \(format 99\): upgrade"),
    ):
        (tmp_path / "state").write_bytes(broken)
        with pytest.raises(DamagedModel, match=rf"\[ssvm_tagger\] the saved component cannot be loaded: .*{complaint}"):
            component(blank("ssvm_tagger", **config)).from_disk(tmp_path, exclude=["vocab"])
    component(uninterrupted("ssvm_tagger", 3, **config)).to_disk(tmp_path, exclude=["vocab"])
    (tmp_path / "state").write_bytes(contents)
    with pytest.raises(DamagedModel, match="belongs to other weights"):
        component(blank("ssvm_tagger", **config)).from_disk(tmp_path, exclude=["vocab"])


@pytest.mark.parametrize("solver", ["DCD", "MIRA", "Perceptron"])
def test_a_state_in_which_no_weight_is_in_use(solver):
    """The only text has no entity, and fewer tokens than there are labels."""
    nlp, loaded = (blank("ssvm_ner", solver, save_solver_state=True) for _ in range(2))
    examples = [Example(Doc(nlp.vocab, ["x", "y"]), Doc(nlp.vocab, ["x", "y"], ents=["O", "O"]))]
    for number in range(8):
        component(nlp).add_label(f"L{number}")
    nlp.initialize(lambda: examples)
    nlp.update(examples)
    component(loaded).from_bytes(component(nlp).to_bytes())
    for each in nlp, loaded:
        component(each).update(examples)
    assert component(nlp).to_bytes(exclude=["vocab"]) == component(loaded).to_bytes(exclude=["vocab"])
