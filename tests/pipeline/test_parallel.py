"""Several threads, several processes, and one process for a long time: annotation and weights are those of one."""

import multiprocessing
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from spacy.tokens import Doc
from spacy.training import Example

from spacy_ssvm import threads
from spacy_ssvm.solvers import oracle_pass

from .components import COMPONENTS, TEXTS, every, learnt
from .test_solver_family import settings_of
from .test_solver_state import slow_but_kinds
from .toy import (
    ALL_SOLVERS,
    EXAMPLES,
    SEQUENCES,
    annotation,
    annotations,
    blank,
    doc,
    tagger_examples,
    teach,
    templates,
    trained,
)

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="reads the memory of a process from /proc"
)


@pytest.fixture(autouse=True)
def _little_work_is_shared_out(monkeypatch):
    monkeypatch.setattr(threads, "MIN_SHARE", 1)
    monkeypatch.setattr(oracle_pass, "PART", 2)


@pytest.fixture
def start_method(request):
    before = multiprocessing.get_start_method()
    multiprocessing.set_start_method(request.param, force=True)
    yield request.param
    multiprocessing.set_start_method(before, force=True)


@every
def test_annotation_does_not_depend_on_the_number_of_threads(factory):
    nlp = learnt(factory)

    def annotated(n_threads):
        pipe = nlp.get_pipe(factory)
        pipe.settings = replace(pipe.settings, n_threads=n_threads)
        docs = [Doc(nlp.vocab), *(doc(nlp, text) for text in TEXTS * 5), Doc(nlp.vocab)]
        return [annotation(tokens) for tokens in nlp.pipe(docs)]

    assert annotated(3) == annotated(1)


def noise(factory, n=30):
    """Words of the toy corpus at random below its annotation: no weights fit, and sums have many terms."""
    rng, words = Random(0), " ".join(TEXTS).split()
    chosen = rng.choices(COMPONENTS[factory].corpus, k=n)
    return [(" ".join(rng.choices(words, k=len(text.split()))), labels) for text, labels in chosen]


@every
@pytest.mark.parametrize("solver", slow_but_kinds((solver,) for solver in ALL_SOLVERS))
def test_training_does_not_depend_on_the_number_of_threads(factory, solver):
    """Model, solver state, figures and certificate, byte for byte; L-BFGS shares its sums, and rounds."""
    found = []
    for n_threads in (1, 3):
        settings = {**settings_of(solver, factory), "n_threads": n_threads, "save_solver_state": True}
        nlp = blank(factory, **settings)
        examples = EXAMPLES[factory](nlp, noise(factory))
        if factory == "ssvm_parser":
            examples = [together(examples[k : k + 3]) for k in range(0, len(examples), 3)]
        teach(nlp, examples, 4, warns=None)
        component = nlp.get_pipe(factory)
        assert component.trained.training.n_threads == n_threads
        found.append((component.to_bytes(exclude=["vocab"]), component.figures, component.certificate()))
        alone = found[0]
        if solver != "LBFGS":
            assert found[-1] == alone
        elif alone[2] is not None:
            assert found[-1][2] == pytest.approx(alone[2])


def together(examples):
    """One example of several: a Doc of their sentences."""
    docs = [Doc.from_docs([getattr(example, side) for example in examples]) for side in ("predicted", "reference")]
    for token in docs[0]:
        token.is_sent_start = docs[1][token.i].is_sent_start
    return Example(*docs)


def test_warnings_of_threads_are_given_once():
    nlp = blank("ssvm_tagger", n_threads=4, model=templates("word[0]", "pos[0]"))
    examples = tagger_examples(nlp)
    for example in examples:
        example.predicted[0].pos_ = "NOUN"
    teach(nlp, examples)
    with pytest.warns(UserWarning, match="it has learnt from token.pos") as caught:
        list(nlp.pipe([doc(nlp, text) for text in TEXTS * 20]))
    assert len(caught) == 1


@every
def test_threads_share_one_pipeline(factory):
    alone, nlp = annotations(learnt(factory)), learnt(factory)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: annotation(nlp(doc(nlp, text))), TEXTS * 4))
    assert found == alone * 4


@every
def test_threads_save_one_pipeline_at_the_same_time(factory):
    """With weights that are packed, and with names of features, which are attributes of the model."""
    packing = {"weight_dtype": "int8", "keep_fraction": 0.5}
    names = {"save_feature_names": True} if factory in SEQUENCES else {}
    nlp = trained(factory, 3, **packing, **names)
    pipe, before = nlp.get_pipe(factory), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            saved = list(pool.map(lambda _: pipe.to_bytes(exclude=["vocab"]), range(24)))
    finally:
        sys.setswitchinterval(before)
    assert set(saved) == {pipe.to_bytes(exclude=["vocab"])}


@pytest.mark.parametrize(
    "start_method",
    ["fork", *(pytest.param(method, marks=pytest.mark.slow) for method in ("spawn", "forkserver"))],
    indirect=True,
)
@pytest.mark.skipif(sys.platform == "win32", reason="Windows only spawns")
@every
@pytest.mark.parametrize("is_loaded", [True, False])
def test_processes(factory, is_loaded, start_method):
    nlp = learnt(factory) if is_loaded else trained(factory)
    alone = [annotation(tokens) for tokens in nlp.pipe(TEXTS)]
    assert [annotation(tokens) for tokens in nlp.pipe(TEXTS, n_process=2, batch_size=4)] == alone


def soaked(*arguments: str | int) -> list[float]:
    """Megabytes of a process of its own, as `soak.py` measures them, after half of its tokens and later."""
    command = [sys.executable, "-W", "ignore", "-m", "tools.soak", *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False)
    assert not result.returncode, result.stderr
    curve = [float(size) for size in result.stdout.split()]
    return curve[len(curve) // 2 :]


@needs_proc
@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("--zones",), ("--tokens", 400_000, "--types", 1 << 12)], ids=["zones", "none"])
def test_memory_grows_no_more_than_spacys(arguments, record_property):
    """Two million tokens, a quarter of them new words, through all components, in memory zones, which cost spaCy's own
    tables a little; and fewer without zones, where spaCy keeps each word, and a component no more than so many.
    """
    alone, together = (soaked(*arguments, *factories) for factories in ((), EXAMPLES))
    record_property("megabytes alone", alone)
    record_property("megabytes together", together)
    assert together[-1] - together[0] < 1.05 * (alone[-1] - alone[0]) + 4
