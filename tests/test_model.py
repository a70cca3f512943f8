"""The model file: what is stored comes back, and nothing else is believed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_ssvm.features.sets import FeatureSet, templates
from spacy_ssvm.models import store as models
from spacy_ssvm.models.architectures import chain
from spacy_ssvm.models.chain import weights as chain_weights
from spacy_ssvm.models.chain.weights import TYPES, ChainWeights
from spacy_ssvm.models.packing import Packing, pack_indices
from spacy_ssvm.models.store import DamagedModel
from spacy_ssvm.pipeline.ner import SsvmNer
from spacy_ssvm.pipeline.senter import SsvmSenter
from spacy_ssvm.pipeline.tagger import SsvmTagger
from spacy_ssvm.solvers.parameters import Dcd

LABELS = ("A", "B", "C")
INT8 = Packing("int8", 0.5)


def weights(n_rows=6, n_labels=3, hash_bits=0, seed=0):
    rng = np.random.default_rng(seed)
    keys = np.sort(rng.permutation(np.arange(1, 1 + 2 * max(n_rows, 1), 2, dtype=np.uint64))[:n_rows])
    rows = np.where(rng.random((n_rows, n_labels)) < 0.4, rng.normal(size=(n_rows, n_labels)), 0)
    transitions = rng.normal(size=n_labels * n_labels)
    return ChainWeights(keys, np.concatenate([transitions, rows.ravel()]).astype(np.float32), hash_bits)


def transitions(weights, n_labels=3):
    return chain_weights.split(weights.vector, n_labels)[0]


def rows(weights, n_labels=3):
    return chain_weights.split(weights.vector, n_labels)[1]


def as_dict(weights, n_labels=3):
    return {int(key): row.tolist() for key, row in zip(weights.keys, rows(weights, n_labels)) if row.any()}


def new_model():
    return chain(templates(["bias", "word[0]"]))


def reloaded(model):
    return new_model().from_bytes(model.to_bytes())


@given(
    n_rows=st.integers(0, 30), n_labels=st.integers(1, 4), hash_bits=st.sampled_from([0, 6, 30]), seed=st.integers(0)
)
def test_what_is_stored_comes_back_without_empty_rows(n_rows, n_labels, hash_bits, seed):
    given, labels = weights(n_rows, n_labels, hash_bits, seed), [str(k) for k in range(n_labels)]
    model = new_model()
    assert not models.has_weights(model) and not models.is_exact(model)
    chain_weights.store(model, given, labels)
    for source in (model, reloaded(model)):
        assert models.has_weights(source) and models.is_exact(source)
        loaded = chain_weights.load(source, labels)
        assert as_dict(loaded, n_labels) == as_dict(given, n_labels)
        assert len(loaded.keys) == len(as_dict(given, n_labels)) and loaded.hash_bits == hash_bits
        assert np.array_equal(transitions(loaded, n_labels), transitions(given, n_labels))
        assert [array.dtype for array in loaded[:2]] == [np.uint64, np.float32]
        assert all(array.flags.writeable and array.flags.c_contiguous for array in loaded[:2])


@given(n_rows=st.integers(1, 30), n_labels=st.integers(1, 4), seed=st.integers(0))
def test_packing_prunes_and_rounds_rows_but_no_transitions(n_rows, n_labels, seed):
    given, labels = weights(n_rows, n_labels, 0, seed), [str(k) for k in range(n_labels)]
    model = new_model()
    chain_weights.store(model, given, labels, INT8)
    assert not models.is_exact(model)
    loaded = chain_weights.load(reloaded(model), labels)
    assert np.array_equal(transitions(loaded, n_labels), transitions(given, n_labels))
    before, after = as_dict(given, n_labels), as_dict(loaded, n_labels)
    found = [(b, a) for key in after for b, a in zip(before[key], after[key]) if a]
    n_before, n_kept = np.count_nonzero(rows(given, n_labels)), np.count_nonzero(rows(loaded, n_labels))
    assert len(found) == n_kept <= np.ceil(n_before / 2)
    largest = np.abs(rows(given, n_labels)).max()
    assert all(abs(b - a) <= largest / 254 * 1.001 for b, a in found)


def test_file_does_not_depend_on_earlier_contents():
    fresh, used = new_model(), new_model()
    chain_weights.store(used, weights(20, 3, 0, 1), LABELS)
    for model in (fresh, used):
        chain_weights.store(model, weights(), LABELS)
    assert fresh.to_bytes() == used.to_bytes()
    models.clear(used)
    assert not models.has_weights(used) and not models.has_weights(reloaded(used))


@given(n_rows=st.integers(0, 8), n_labels=st.integers(1, 4))
def test_split_gives_views_and_rows_come_last(n_rows, n_labels):
    given = weights(n_rows, n_labels)
    first, blocks = chain_weights.split(given.vector, n_labels)
    assert first.shape == (n_labels, n_labels) and blocks.shape == (n_rows, n_labels)
    assert np.array_equal(np.concatenate([first.ravel(), blocks.ravel()]), given.vector)
    first[0, 0] = 7
    assert given.vector[0] == 7
    longer = np.concatenate([given.vector, np.arange(2 * n_labels, dtype=np.float32)])
    assert np.array_equal(chain_weights.split(longer, n_labels)[1][:n_rows], blocks)


def test_widen_appends_labels():
    given = weights()
    wider = chain_weights.widen(given, 3, 5)
    assert np.array_equal(rows(wider, 5)[:, :3], rows(given)) and not rows(wider, 5)[:, 3:].any()
    assert np.array_equal(transitions(wider, 5)[:3, :3], transitions(given))
    assert not transitions(wider, 5)[3:].any() and not transitions(wider, 5)[:, 3:].any()
    assert all(np.array_equal(a, b) for a, b in zip(chain_weights.widen(given, 3, 3), given))


def test_spread_puts_hashed_rows_back():
    given = weights(hash_bits=5)
    full = chain_weights.spread(given, 3)
    assert full.keys.tolist() == list(range(1, 33)) and rows(full).shape == (32, 3)
    assert as_dict(full) == as_dict(given) and np.array_equal(transitions(full), transitions(given))
    model = new_model()
    chain_weights.store(model, full, LABELS)
    assert as_dict(chain_weights.load(model, LABELS)) == as_dict(given)


def crafted(**arrays):
    """A model of consistent digest in which these arrays are replaced; "no" takes one out."""
    model = new_model()
    chain_weights.store(model, weights(hash_bits=4), LABELS)
    kept = {key: model.get_param(key) for key in (*TYPES, "shape")}
    kept.update({key: change(kept[key]) for key, change in arrays.items()})
    for key, array in kept.items():
        model.set_param(key, array)
    model.set_param("digest", models._digest(model, kept, LABELS))
    return reloaded(model)


def put(place, value):
    def change(array):
        array = array.copy()
        array[place] = value
        return array

    return change


def test_crafting_alone_changes_nothing():
    assert as_dict(chain_weights.load(crafted(), LABELS)) == as_dict(weights())


@pytest.mark.parametrize(
    ("arrays", "complaint"),
    [
        *[({key: lambda a: a.astype(np.float64)}, f'"{key}" is missing or of a wrong type') for key in TYPES],
        ({"shape": lambda a: a[:-1]}, "shape is incomplete"),
        ({"shape": lambda a: a[:0]}, "shape is incomplete"),
        ({"shape": lambda a: a[None]}, "shape is incomplete"),
        ({"shape": put(0, models.FORMAT + 1)}, "newer version .*upgrade"),
        ({"shape": put(0, models.FORMAT - 1)}, "older version .*train it again"),
        ({"shape": put(2, 2)}, "weights for 2 labels, but the component has 3"),
        ({"shape": put(3, -1)}, "hash size"),
        ({"shape": put(3, 31)}, "hash size"),
        ({"shape": put(3, 2)}, "index is out of range"),
        ({"transitions": lambda a: a[:2]}, "transitions"),
        ({"transitions": lambda a: a.ravel()}, "transitions"),
        ({"transitions": put((1, 1), np.inf)}, "weight is not finite"),
        ({"transitions": put((1, 1), 1e35)}, "too large to be added up"),
        ({"keys": lambda a: a[None]}, "unknown type"),
        ({"keys": lambda a: a[:-3]}, "wrong length"),
        ({"keys": lambda a: pack_indices(np.arange(5))}, "feature key is out of range"),
        ({"keys": lambda a: pack_indices(np.array([1, 18]))}, "index is out of range"),
        ({"keys": lambda a: pack_indices(np.array([1]))}, "wrong length"),
        ({"indices": lambda a: pack_indices(np.array([0, 99]))}, "index is out of range"),
        ({"indices": lambda a: pack_indices(np.arange(2))}, "not as many as their indices"),
        ({"values": lambda a: pack_indices(np.arange(2))}, "not as many as their indices"),
        ({"scales": lambda a: np.ones(1, np.float32)}, "scales are not as many"),
    ],
)
def test_file_that_contradicts_itself_is_refused(arrays, complaint):
    model = crafted(**arrays)
    with pytest.raises(DamagedModel, match=complaint):
        chain_weights.load(model, LABELS)


@pytest.mark.parametrize("key", [*TYPES, "shape", "digest"])
def test_digest_covers_every_array(key):
    model = new_model()
    chain_weights.store(model, weights(hash_bits=4), LABELS, INT8)
    array = model.get_param(key).copy()
    array.view(np.uint8).reshape(-1)[0] ^= 1
    model.set_param(key, array)
    with pytest.raises(DamagedModel):
        chain_weights.load(model, LABELS)


@pytest.mark.parametrize("key", [*TYPES, "shape", "digest"])
def test_missing_array_is_refused(key):
    model = new_model()
    chain_weights.store(model, weights(), LABELS)
    model.set_param(key, None)
    assert models.has_weights(model)
    with pytest.raises(DamagedModel, match=f'"{key}" is missing'):
        chain_weights.load(model, LABELS)


def test_array_of_another_name_is_refused():
    model = new_model()
    chain_weights.store(model, weights(), LABELS)
    model.set_param("keyz", np.zeros(3, np.uint8))
    with pytest.raises(DamagedModel, match="unknown arrays: keyz"):
        chain_weights.load(model, LABELS)


def test_digest_covers_labels_templates_and_resources():
    model = new_model()
    chain_weights.store(model, weights(), LABELS)
    with pytest.raises(DamagedModel, match="digest"):
        chain_weights.load(model, ("A", "C", "B"))
    for attribute, value in [
        ("templates", ["word[0]", "bias"]),
        ("clusters", {"words": np.array([1], np.uint64), "names": ["0"]}),
        ("gazetteers", {"city": [np.zeros(16, np.uint64), np.zeros(16, np.int32), np.zeros(2, np.int64)]}),
    ]:
        changed = reloaded(model)
        changed.attrs[attribute] = value
        with pytest.raises(DamagedModel, match="digest"):
            chain_weights.load(changed, LABELS)


# A trained component, its bytes damaged.

SENTENCES = [
    ("Anna lives in New York City .", "N V P N N N .", "U-PER O O B-LOC I-LOC L-LOC O"),
    ("she likes Bonn and Łódź !", "P V N C N .", "O O U-LOC O U-LOC O"),
    ("New York likes Anna Smith", "N N V N N", "B-LOC L-LOC O B-PER L-PER"),
    ("in Bonn she lives", "P N P V", "O U-LOC O O"),
]


def features(folder) -> FeatureSet:
    (folder / "cities.txt").write_text("New York City\nNew York\nBonn\n", encoding="utf8")
    (folder / "brown.txt").write_text("01\tanna\n01\tshe\n10\tlives\n11\tlikes\n", encoding="utf8")
    texts = ["bias", "lower[0]", "lower[-1]+lower[0]", "gazetteer.city[0]", "gazetteer.city[1]", "cluster[0]"]
    return templates(texts, gazetteers={"city": folder / "cities.txt"}, clusters=folder / "brown.txt")


def new_pipe(component, feature_set):
    return component(Vocab(), chain(feature_set), solver=Dcd())


def predictions(pipe):
    docs = [Doc(pipe.vocab, words=text.split()) for text, _, _ in SENTENCES]
    docs.append(Doc(pipe.vocab, words=["Anna", "unknown", "New", "York", "New"]))
    docs = list(pipe.pipe(docs))
    return [
        ([t.tag_ for t in doc], [(e.start, e.end, e.label_) for e in doc.ents], [t.is_sent_start for t in doc])
        for doc in docs
    ]


@pytest.fixture(scope="module", params=[SsvmTagger, SsvmNer, SsvmSenter])
def trained(request, tmp_path_factory):
    """A component class, its features, a trained component's bytes, and what it predicts."""
    feature_set = features(tmp_path_factory.mktemp("features"))
    pipe = new_pipe(request.param, feature_set)
    examples = []
    for text, tags, entities in SENTENCES:
        words = text.split()
        iob = [tag.replace("U-", "B-").replace("L-", "I-") for tag in entities.split()]
        starts = [word in ("New", "Bonn", "she") for word in words]
        reference = Doc(pipe.vocab, words=words, tags=tags.split(), ents=iob, sent_starts=starts)
        examples.append(Example(Doc(pipe.vocab, words=words), reference))
    pipe.initialize(lambda: examples)
    for _ in range(5):
        pipe.update(examples)
    expected = predictions(pipe)
    assert any(entities or any(tags) or any(starts[1:]) for tags, entities, starts in expected)
    return request.param, feature_set, pipe.to_bytes(), expected


def mutations(data, seed, count):
    """Copies of `data`, each damaged in one of six ways."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        at = int(rng.integers(len(data)))
        end = min(len(data), at + int(rng.integers(1, 40)))
        yield (
            data[:at],
            data[:at] + bytes([data[at] ^ (1 << int(rng.integers(8)))]) + data[at + 1 :],
            data[:at] + bytes([int(rng.integers(256))]) + data[at + 1 :],
            data[:at] + data[end:],
            data[:at] + data[at:end] + data[at:],
            data[:at] + rng.bytes(end - at) + data[end:],
        )[number % 6]


def refused(trained, data, exclude=()):
    """Whether loading these bytes is refused; if not, they must predict what the undamaged do."""
    component, feature_set, _, expected = trained
    pipe = new_pipe(component, feature_set)
    try:
        pipe.from_bytes(data, exclude=exclude)
    except DamagedModel as damage:
        assert pipe.name in str(damage)
        return True
    assert predictions(pipe) == expected
    return False


def test_undamaged_bytes_load(trained):
    assert not refused(trained, trained[2])


# A sample of what `pytest -m slow` tries.
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_damaged_bytes_are_refused_or_harmless(trained, seed):
    damage = list(mutations(trained[2], seed, 300))
    assert sum(refused(trained, data) for data in damage) > 100


def test_bytes_all_over_the_component_count(trained):
    """A bit of every third byte outside the vocabulary: every name and every array is hit."""
    component, feature_set, data, _ = trained
    pipe = new_pipe(component, feature_set).from_bytes(data)
    data = pipe.to_bytes(exclude=["vocab"])
    harmless = [
        at
        for at in range(0, len(data), 3)
        if not refused(trained, data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :], exclude=["vocab"])
    ]
    assert len(harmless) < len(data) // 30


@pytest.mark.parametrize("damage", ["cut", "empty", "missing", "other"])
@pytest.mark.parametrize("file", ["cfg", "model"])
def test_damaged_files_are_refused(trained, file, damage, tmp_path):
    component, feature_set, data, _ = trained
    new_pipe(component, feature_set).from_bytes(data).to_disk(tmp_path / "pipe")
    path = tmp_path / "pipe" / file
    if damage == "missing":
        path.unlink()
    else:
        whole = path.read_bytes()
        path.write_bytes({"cut": whole[: len(whole) // 2], "empty": b"", "other": b'"text"'}[damage])
    with pytest.raises(DamagedModel, match="cannot be loaded"):
        new_pipe(component, feature_set).from_disk(tmp_path / "pipe")


def test_component_stays_usable_after_a_refused_load(trained):
    component, feature_set, data, expected = trained
    pipe = new_pipe(component, feature_set)
    with pytest.raises(DamagedModel):
        pipe.from_bytes(data[:-5])
    assert predictions(pipe.from_bytes(data)) == expected
