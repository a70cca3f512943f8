"""What is saved: nothing that a correction has set is lost, nothing is pruned twice, and all of it can be loaded."""

import numpy as np
import pytest
import spacy
import srsly
from spacy.tokens import Doc
from spacy.training import Example

from spacy_ssvm.models.chain.weights import FREQUENT
from spacy_ssvm.models.packing import Packing, unpack_numbers
from spacy_ssvm.models.store import DamagedModel
from spacy_ssvm.models.tree.data import n_rows

from .components import SCORE, every, learnt
from .toy import EXAMPLES, annotations, blank, morphs_of, train, trained

COMPRESSED = {"weight_dtype": "int8", "keep_fraction": 0.5}
N_CYCLES = 3
PARSES = [
    ([1, 2, 2, 2], ["det", "nsubj", "ROOT", "obj"]),
    ([0, 0, 3, 0], ["ROOT", "obj", "case", "nmod"]),
    ([3, 3, 3, 3], ["nsubj", "amod", "case", "ROOT"]),
    ([1, 1, 1, 2], ["det", "ROOT", "obj", "nmod"]),
]


def rotated(values: list, by: int) -> list:
    return values[by % len(values) :] + values[: by % len(values)]


def correction(nlp, factory: str, number: int) -> Example:
    """A sentence of words that no other one has, annotated against what is usual."""
    words = [f"{chr(ord('а') + 4 * number + place) * 5}s" for place in range(4)]
    gold = {
        "ssvm_tagger": {"tags": rotated(["DET", "NOUN", "VERB", "ADV"], number)},
        "ssvm_morphologizer": morphs_of(rotated(["DET", "NOUN", "VERB", "ADV"], number)),
        "ssvm_ner": {"ents": rotated(["O", "B-GPE", "O", "B-PER"], number)},
        "ssvm_senter": {"sent_starts": [True, *rotated([True, False, False], number)]},
        "ssvm_lemmatizer": {"lemmas": [word[: len(word) - (k + number) % 2] for k, word in enumerate(words)]},
        "ssvm_parser": dict(zip(("heads", "deps"), PARSES[number % len(PARSES)])),
    }[factory]
    return Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words, **gold))


def loaded(factory: str, data: bytes, **settings):
    nlp = blank(factory, **settings)
    nlp.get_pipe(factory).from_bytes(data)
    return nlp


def right(nlp, factory: str, numbers) -> list[int]:
    """Those of these corrections that are predicted."""
    return [n for n in numbers if nlp.evaluate([correction(nlp, factory, n)])[SCORE[factory]] == 1.0]


def base(data: bytes) -> dict[str, bytes]:
    """The arrays of a model that corrections leave as they are, whatever rows come to stand between theirs."""
    arrays = srsly.msgpack_loads(srsly.msgpack_loads(data)["model"])["params"][0]
    names = ("values", "scales", "first_pass_values", "first_pass_scales")
    return {name: arrays[name].tobytes() for name in names if name in arrays}


def n_corrected(data: bytes) -> int:
    """The number of weights that corrections have set, of trees and chains."""
    arrays = srsly.msgpack_loads(srsly.msgpack_loads(data)["model"])["params"][0]
    return len(arrays["corrected_values"])


@every
def test_corrections_of_a_pruned_model_outlive_cycles_of_loading_and_saving(factory):
    """And the rest is neither pruned nor rounded again."""
    for settings in ({"weight_dtype": "float16", "keep_fraction": 0.3}, COMPRESSED):
        saved = learnt(factory, **settings).get_pipe(factory).to_bytes()
        rest, n_weights = base(saved), loaded(factory, saved, **settings).get_pipe(factory).count_weights()[0]
        for number in range(N_CYCLES):
            nlp = loaded(factory, saved, **settings)
            nlp.update([correction(nlp, factory, number)], sgd=False)
            assert right(nlp, factory, [number])
            before = annotations(nlp)
            saved = nlp.get_pipe(factory).to_bytes()
            again = loaded(factory, saved, **settings)
            assert annotations(again) == annotations(nlp) == before
            assert base(saved) == rest
        # Patterns of sentence starts contradict each other: one of them may give way to another.
        assert len(right(again, factory, range(N_CYCLES))) >= N_CYCLES - (factory == "ssvm_senter")
        assert again.get_pipe(factory).count_weights()[0] >= n_weights


@every
def test_pruning_forgets_no_frequent_feature(factory):
    """Not in a cycle of corrections either: they would move it as far as a new one."""
    expected = frequent(loaded(factory, learnt(factory).get_pipe(factory).to_bytes()), factory)
    settings = {"weight_dtype": "int8", "keep_fraction": 0.02}
    nlp = loaded(factory, learnt(factory, **settings).get_pipe(factory).to_bytes(), **settings)
    assert expected and frequent(nlp, factory) == expected
    for number in range(2):
        nlp.update([correction(nlp, factory, number)], sgd=False)
        nlp = loaded(factory, nlp.get_pipe(factory).to_bytes(), **settings)
        assert frequent(nlp, factory) == expected


def frequent(nlp, factory: str) -> dict[int, int]:
    """The counts of frequent features, by their keys or rows, in a component that was loaded."""
    structured = nlp.get_pipe(factory).trained.structured
    weights = structured.load()
    chain = factory != "ssvm_parser"
    seen = weights.seen if chain else unpack_numbers(weights.seen, n_rows(structured.shape))
    keys = weights.keys if chain else np.arange(len(seen))
    # A parser stores the counts of all features; in these few trees, none is as frequent as that.
    min_count = FREQUENT if chain else 3
    return {int(key): int(count) for key, count in zip(keys, seen) if count >= min_count}


@every
def test_compressing_a_corrected_model_prunes_what_training_has_left_alone(factory):
    nlp = learnt(factory)
    for number in range(3):
        nlp.update([correction(nlp, factory, number)], sgd=False)
    saved = nlp.get_pipe(factory).to_bytes()
    for pipeline in (nlp, loaded(factory, saved)):
        pipeline.get_pipe(factory).compress(Packing("int8", 0.5))
        packed = pipeline.get_pipe(factory).to_bytes()
        again = loaded(factory, packed, **COMPRESSED)
        assert annotations(again) == annotations(pipeline)
        assert base(packed) == base(learnt(factory, **COMPRESSED).get_pipe(factory).to_bytes())
        assert n_corrected(packed) == n_corrected(saved)


@every
def test_the_solver_prunes_nothing_that_the_file_has(factory):
    """`keep_fraction` is of what a training adds."""
    settings = {**COMPRESSED, "corrections": False}
    saved = learnt(factory, **settings).get_pipe(factory).to_bytes()
    corrected = loaded(factory, saved, **COMPRESSED)
    corrected.update([correction(corrected, factory, 0)], sgd=False)
    saved = corrected.get_pipe(factory).to_bytes()
    n_before = n_first = loaded(factory, saved, **settings).get_pipe(factory).count_weights()[0]
    for _ in range(4):
        nlp = loaded(factory, saved, **settings)
        train(nlp, [*EXAMPLES[factory](nlp), correction(nlp, factory, 0)], 3)
        saved = nlp.get_pipe(factory).to_bytes()
        again = loaded(factory, saved, **settings)
        assert annotations(again) == annotations(nlp)
        n_after = again.get_pipe(factory).count_weights()[0]
        assert n_after >= 0.95 * n_before
        n_before = n_after
    assert n_before >= 0.95 * n_first
    assert again.evaluate(EXAMPLES[factory](again))[SCORE[factory]] == 1.0


@every
@pytest.mark.parametrize("settings", [{}, {"weight_dtype": "float16"}, COMPRESSED], ids=["exact", "float16", "pruned"])
def test_what_cannot_be_loaded_is_not_saved(factory, settings, tmp_path):
    nlp = trained(factory, **settings)
    pipe = nlp.get_pipe(factory)
    nlp.to_disk(tmp_path)
    good = {path.name: path.read_bytes() for path in (tmp_path / factory).iterdir() if path.is_file()}
    dimension = pipe.problem().dimension
    said = rf"\[{factory}\] cannot be saved: a weight is -?(1e\+3\d|inf|nan) in single precision"
    for number, value in enumerate((1e30, 1e39, -1e31, np.inf, np.nan)):
        vector = np.zeros(dimension)
        vector[-(number % 2)] = value
        pipe.set_weights(vector)
        for save in (lambda: pipe.to_disk(tmp_path / factory), pipe.to_bytes, lambda: nlp.to_disk(tmp_path)):
            with pytest.raises(ValueError, match=said):
                save()
        files = {path.name: path.read_bytes() for path in (tmp_path / factory).iterdir() if path.is_file()}
        assert files == good
    for value in (9.99999e29, -9.99999e29, 1e-40, 1e15):
        pipe.set_weights(np.full(dimension, value))
        again = loaded(factory, pipe.to_bytes(), **settings)
        assert again.get_pipe(factory).to_bytes(exclude=["vocab"]) == pipe.to_bytes(exclude=["vocab"])


def test_a_pipeline_with_a_component_that_cannot_be_saved_can_be_loaded(tmp_path):
    """spaCy saves components one after the other: those before it are new, it and those after it are as they were."""
    nlp = trained("ssvm_tagger")
    for name in ("second", "third"):
        nlp.add_pipe("ssvm_tagger", name=name, source=trained("ssvm_tagger"))
    nlp.to_disk(tmp_path)
    before = {name: nlp.get_pipe(name).to_bytes(exclude=["vocab"]) for name in nlp.pipe_names}
    for name in nlp.pipe_names:
        pipe = nlp.get_pipe(name)
        pipe.update(EXAMPLES["ssvm_tagger"](nlp))
        pipe.set_weights(np.full(pipe.problem().dimension, 1e31 if name == "second" else 2.0))
    with pytest.raises(ValueError, match=r"\[second\] cannot be saved"):
        nlp.to_disk(tmp_path)
    after = {name: spacy.load(tmp_path).get_pipe(name).to_bytes(exclude=["vocab"]) for name in before}
    assert after["ssvm_tagger"] == nlp.get_pipe("ssvm_tagger").to_bytes(exclude=["vocab"]) != before["ssvm_tagger"]
    assert (after["second"], after["third"]) == (before["second"], before["third"])


@every
def test_a_state_that_cannot_be_loaded_is_not_saved(factory, tmp_path):
    nlp = trained(factory, 2, save_solver_state=True)
    pipe = nlp.get_pipe(factory)
    pipe.to_disk(tmp_path)
    saved = (tmp_path / "state").read_bytes()
    pipe.trained.training._learner.loss = float("inf")
    with pytest.raises(ValueError, match=rf'\[{factory}\] the state of its solver cannot be saved: "loss" of its'):
        pipe.to_disk(tmp_path)
    assert (tmp_path / "state").read_bytes() == saved


@every
def test_every_bit_of_each_file_counts(factory, tmp_path):
    """Of a component that is calibrated, corrected and compressed, and of one with the state of its solver."""
    for settings in (COMPRESSED, {"save_solver_state": True}):
        nlp = trained(factory, **settings)
        pipe = nlp.get_pipe(factory)
        if settings is COMPRESSED:
            nlp = loaded(factory, pipe.to_bytes(), **settings)
            pipe = nlp.get_pipe(factory)
            nlp.update([correction(nlp, factory, 0)], sgd=False)
            pipe.cfg = {**pipe.cfg, "inverse_temperature": 1.2345}
        folder = tmp_path / str(len(settings))
        pipe.to_disk(folder, exclude=["vocab"])
        again = blank(factory, **settings)
        pipe = again.get_pipe(factory).from_disk(folder, exclude=["vocab"])
        expected, cfg, same = annotations(again)[:4], pipe.cfg, pipe.to_bytes(exclude=["vocab"])
        rng = np.random.default_rng(0)
        for name in sorted(path.name for path in folder.iterdir()):
            content = (folder / name).read_bytes()
            n_refused, n_bits = 0, min(8 * len(content), 40)
            for bit in rng.choice(8 * len(content), n_bits, replace=False).tolist():
                changed = bytearray(content)
                changed[bit // 8] ^= 1 << bit % 8
                (folder / name).write_bytes(changed)
                try:
                    pipe.from_disk(folder, exclude=["vocab"])
                except DamagedModel as error:
                    assert str(error).startswith(f"[{factory}] ")
                    n_refused += 1
                else:
                    assert pipe.cfg == cfg and pipe.to_bytes(exclude=["vocab"]) == same
            (folder / name).write_bytes(content)
            assert n_refused > 0.8 * n_bits
        assert annotations(again)[:4] == expected


@every
def test_a_cfg_that_was_edited_by_hand_is_refused(factory, tmp_path):
    pipe = learnt(factory).get_pipe(factory)
    for beta in (2.5, 2.6):
        pipe.cfg = {**pipe.cfg, "inverse_temperature": beta}
        pipe.to_disk(tmp_path)
        pipe = blank(factory).get_pipe(factory).from_disk(tmp_path)
        assert pipe.inverse_temperature == beta
    cfg = srsly.read_json(tmp_path / "cfg")
    without = {key: value for key, value in cfg.items() if key != "inverse_temperature"}
    unsealed = {key: value for key, value in cfg.items() if key != "seal"}
    for edited in ({**cfg, "inverse_temperature": 2.5}, without, unsealed, {**cfg, "labels_are_given": True}):
        srsly.write_json(tmp_path / "cfg", edited)
        with pytest.raises(DamagedModel, match=rf"\[{factory}\] .*its cfg does not fit its seal"):
            blank(factory).get_pipe(factory).from_disk(tmp_path)


@every
def test_a_cfg_of_another_model_is_refused(factory, tmp_path):
    """A calibration belongs to the weights that it was fitted on."""
    trained(factory, 1).get_pipe(factory).to_disk(tmp_path / "a")
    trained(factory, 5).get_pipe(factory).to_disk(tmp_path / "b")
    (tmp_path / "a" / "cfg").write_bytes((tmp_path / "b" / "cfg").read_bytes())
    with pytest.raises(DamagedModel, match="was not saved with this model"):
        blank(factory).get_pipe(factory).from_disk(tmp_path / "a")


def test_an_outlier_beside_it_does_not_round_a_correction_to_nothing():
    nlp = trained("ssvm_tagger")
    pipe = nlp.get_pipe("ssvm_tagger")
    pipe.set_weights(np.full(pipe.problem().dimension, 1e6))
    nlp = loaded("ssvm_tagger", pipe.to_bytes(), **COMPRESSED)
    nlp.update([correction(nlp, "ssvm_tagger", 0)], sgd=False)
    again = loaded("ssvm_tagger", nlp.get_pipe("ssvm_tagger").to_bytes(), **COMPRESSED)
    assert right(again, "ssvm_tagger", [0])
