"""Classes of words as users ask for them: information, interruption, threads, small texts."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.clustering import brown, brown_classes, exchange, exchange_classes
from spacy_ssvm.clustering.bigrams import count_bigrams
from spacy_ssvm.clustering.learning import METHODS, ClusteringSettings, learn, learn_with_checkpoints, named, renumbered

from .reference import greedy, information, of_clusters, windowed
from .texts import from_grammar, texts

FUNCTIONS = {"brown": brown_classes, "exchange": exchange_classes}
CLOSE = 1e-5

every_method = pytest.mark.parametrize("method", METHODS)


@pytest.fixture
def small_steps(monkeypatch):
    """Many states, even of a small text."""
    monkeypatch.setattr(brown, "STEP", 1)
    monkeypatch.setattr(brown, "MIN_WINDOW", 2)
    monkeypatch.setattr(exchange, "BATCH", 3)
    monkeypatch.setattr(exchange, "SHARE", 2)


@pytest.mark.parametrize(
    "plain, with_grammar",
    [
        (greedy, True),
        (windowed, False),
        *(pytest.param(*others, marks=pytest.mark.slow) for others in [(greedy, False), (windowed, True)]),
    ],
)
def test_at_least_the_information_of_brown_et_al(plain, with_grammar):
    """But for a few texts: each of the algorithms ends in some local optimum."""
    gains = []
    for seed in range(6):
        draw = random.Random(seed)
        words = [draw.choices("abcdefghijkl", k=5) for _ in range(20)]
        sentences = from_grammar(seed, 30) if with_grammar else words
        for n_classes in (3, 5):
            found = brown_classes(sentences, n_classes, min_count=1)
            assert len(set(found.values())) == n_classes
            expected = information(sentences, of_clusters(plain(sentences, n_classes)))
            gains.append(information(sentences, found) - expected)
    assert sum(gain < -CLOSE for gain in gains) <= 0.15 * len(gains)
    assert sum(gains) > 0


@every_method
def test_words_of_a_kind_are_in_a_class(method):
    found = FUNCTIONS[method](from_grammar(1, 400), 6, min_count=1)
    assert found["dog"] == found["cat"] == found["tree"] and found["sees"] == found["finds"]
    assert len({found[word] for word in ("dog", "sees", "the", "she", "old", ".")}) >= 5


@every_method
@given(sentences=texts, n_classes=st.integers(2, 12), min_count=st.integers(1, 2))
def test_any_text_has_classes(method, sentences, n_classes, min_count):
    try:
        bigrams = count_bigrams(sentences, min_count)
    except ValueError:
        return
    found = FUNCTIONS[method](iter(sentences), n_classes, min_count)
    assert list(found) == bigrams.words
    assert len(set(found.values())) <= n_classes
    if len(bigrams.words) <= n_classes and method == "brown":
        assert len(set(found.values())) == len(bigrams.words)
    # Repeated sentences are counted, nothing else.
    assert FUNCTIONS[method](sentences * 2, n_classes, 2 * min_count) == FUNCTIONS[method](
        sentences * 2, n_classes, 2 * min_count
    )


@every_method
def test_threads_find_the_same(method, small_steps):
    sentences = from_grammar(2, 100)
    assert FUNCTIONS[method](sentences, 6, 1, n_threads=3) == FUNCTIONS[method](sentences, 6, 1)


@every_method
def test_an_interrupted_run_ends_the_same(method, small_steps, tmp_path):
    """Wherever it is interrupted, and if it is interrupted at each step."""
    bigrams, settings = count_bigrams(from_grammar(3, 40)), ClusteringSettings(method, 5)
    states = [(state, state.classes.copy()) for state in learn(bigrams, settings)]
    expected = named(bigrams, states[-1][1])
    assert len({state.stage for state, _ in states}) == (3 if method == "brown" else 2)
    path = tmp_path / "out.tsv.checkpoint"
    for n_steps in range(1, len(states)):
        path.unlink(missing_ok=True)
        for _, _state in zip(range(n_steps), learn_with_checkpoints(path, bigrams, settings, interval=0)):
            pass
        *_, last = learn_with_checkpoints(path, bigrams, settings, interval=0)
        assert named(bigrams, last.classes) == expected
    path.unlink()
    for _ in range(len(states) + 1):
        run = learn_with_checkpoints(path, bigrams, settings, interval=0)
        state = next(run)
        state = next(run, state)
        run.close()
    assert state.stage == "finished" and named(bigrams, state.classes) == expected


def test_a_checkpoint_of_something_else_is_written_over(small_steps, tmp_path):
    path, settings = tmp_path / "checkpoint", ClusteringSettings("brown", 5)
    bigrams, others = count_bigrams(from_grammar(3, 40)), count_bigrams(from_grammar(4, 40))
    *_, last = learn(bigrams, settings)
    expected = last.classes.copy()
    for run in (
        learn_with_checkpoints(path, others, settings, interval=0),
        *(
            learn_with_checkpoints(path, bigrams, other, interval=0)
            for other in (ClusteringSettings("exchange", 5), ClusteringSettings("brown", 4))
        ),
    ):
        list(zip(range(4), run))
        *_, state = learn_with_checkpoints(path, bigrams, settings, interval=0)
        assert np.array_equal(state.classes, expected)
    whole = path.read_bytes()
    for damaged in (b"", b"text", whole[: len(whole) // 2], whole.replace(b"numbers", b"letters")):
        path.write_bytes(damaged)
        *_, state = learn_with_checkpoints(path, bigrams, settings, interval=0)
        assert np.array_equal(state.classes, expected)


def test_a_checkpoint_leads_no_kernel_astray(small_steps, tmp_path):
    path, settings, bigrams = (
        tmp_path / "checkpoint",
        ClusteringSettings("brown", 5),
        count_bigrams(from_grammar(3, 40)),
    )
    *_, last = learn_with_checkpoints(path, bigrams, settings, interval=0)
    expected = last.classes.copy()
    with np.load(path) as arrays:
        saved = dict(arrays)
    n = len(bigrams.words)
    for numbers, classes in (
        ([0, 0, 6, 0], np.full(n, 0)),
        ([0, 0, 6, 0], np.arange(n)),
        ([0, 0, 6, 0], np.full(n, -1)),
        ([0, 0, n + 1, 0], np.zeros(n)),
        ([1, 0, 0, 0], np.full(n, 6)),
        ([1, 0, 0, 0], np.full(n, -1)),
        ([1, 0, 0, 0], np.zeros(n - 1)),
        ([7, 0, 0, 0], np.zeros(n)),
    ):
        np.savez(path.open("wb"), key=saved["key"], numbers=np.array(numbers), classes=classes.astype(np.int32))
        *_, state = learn_with_checkpoints(path, bigrams, settings, interval=0)
        assert np.array_equal(state.classes, expected)


@given(st.lists(st.integers(-3, 5), min_size=1, max_size=20))
def test_classes_are_numbered_by_their_first_words(classes):
    found = renumbered(np.array(classes)).tolist()
    order = list(dict.fromkeys(classes))
    assert found == [order.index(number) for number in classes]
