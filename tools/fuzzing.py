"""Damaged model files: how they are made, and what loading them may come to."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import srsly
from spacy.language import Language

from spacy_ssvm.models import store as models
from spacy_ssvm.models.store import DIGEST, SHAPE, DamagedModel
from spacy_ssvm.pipeline import training_record
from spacy_ssvm.pipeline.analyses import joined
from tests.pipeline.components import TEXTS, learnt
from tests.pipeline.toy import EXAMPLES, annotation, doc

NUMBERS = (-(2**63), -(2**31), -1, 0, 1, 2, 3, 8, 28, 30, 47, 48, 63, 64, 2**16, 2**31, 2**40, 2**62, 2**63 - 1)
VALUES: tuple[Any, ...] = (
    None,
    True,
    "",
    "x",
    "bias",
    [],
    ["bias"],
    ["x[0]"],
    {},
    {"words": None},
    -1,
    0,
    3,
    2**40,
    0.5,
)


@dataclass
class Outcome:
    """What became of the files of one component.

    tried, of them sealed: with the digest of what they hold. refused: by a DamagedModel that names the component, which
    stays what it was. same: accepted, and weights, features and predictions are those of the intact file. edited: the
    settings of its cfg were exchanged for others that it can have, or it is sealed and a valid model of other values.
    crashes: any other error, in loading or predicting. wrong: accepted, but other weights without the right digest,
    annotation that the component cannot set, or another one once the model is saved and loaded.
    """

    tried: int = 0
    sealed: int = 0
    refused: int = 0
    same: int = 0
    edited: int = 0
    crashes: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def row(self) -> list[int]:
        return [self.tried, self.sealed, self.refused, self.same, self.edited, len(self.crashes), len(self.wrong)]


class Fuzzer:
    """Tries damaged files on a component of a pipeline, which has these settings."""

    def __init__(self, factory: str, seed: int = 0, **settings: Any) -> None:
        self.factory = factory
        self.rng = np.random.default_rng(seed)
        self.nlp = learnt(factory, **settings)
        self.component = self.nlp.get_pipe(factory)
        self.intact = self.component.to_bytes(exclude=["vocab"])
        self.others = [learnt(other).get_pipe(other).to_bytes(exclude=["vocab"]) for other in EXAMPLES]
        self.scratch = learnt(factory, **settings).get_pipe(factory)
        self.cfg = srsly.json_loads(srsly.msgpack_loads(self.intact)["cfg"])
        self.expected = self.predictions(self.nlp)
        self.outcome = Outcome()

    def predictions(self, nlp: Language) -> list[tuple]:
        docs = [doc(nlp, text) for text in TEXTS[::4]]
        return [annotation(tokens) for tokens in nlp.get_pipe(self.factory).pipe(docs)]

    def run(self, n_files: int) -> Outcome:
        """Try so many, half of them with the digest recomputed."""
        for number in range(n_files):
            if number % 2:
                what, data = self.edit(sealed=True)
            elif number % 4:
                what, data = self.edit(sealed=False)
            else:
                what, data = self.garble()
            self.attempt(what, data, bool(number % 2))
        return self.outcome

    def attempt(self, what: str, data: bytes, sealed: bool) -> None:
        outcome = self.outcome
        outcome.tried += 1
        outcome.sealed += sealed
        try:
            self.component.from_bytes(data, exclude=["vocab"])
        except DamagedModel as damage:
            outcome.refused += 1
            if not str(damage).startswith(f"[{self.factory}] "):
                outcome.crashes.append(f"{what}: the message does not name the component: {damage}")
            if self.component.to_bytes(exclude=["vocab"]) != self.intact:
                outcome.wrong.append(f"{what}: a refused file has changed the component")
            return
        except Exception as error:
            outcome.crashes.append(f"{what}: {error!r}")
            return
        try:
            found = self.predictions(self.nlp)
            saved = self.component.to_bytes(exclude=["vocab"])
            again = self.component.from_bytes(saved, exclude=["vocab"])
            stable = self.predictions(self.nlp) == found and again.to_bytes(exclude=["vocab"]) == saved
        except Exception as error:
            outcome.crashes.append(f"{what}, accepted: {error!r}")
        else:
            weights = srsly.msgpack_loads(saved)["model"] == srsly.msgpack_loads(self.intact)["model"]
            if weights and found == self.expected:
                outcome.same += 1
            elif (sealed or weights) and stable and self.is_legal(found):
                outcome.edited += 1
            else:
                outcome.wrong.append(what)
        self.component.from_bytes(self.intact, exclude=["vocab"])

    def is_legal(self, found: list[tuple]) -> bool:
        """Whether all annotation is made of the component's own labels."""
        of_tokens = [of_token for tags, *_ in found for of_token in tags]
        tags = {tag for tag, _, _ in of_tokens} | {joined(pos, morph) for _, pos, morph in of_tokens if pos or morph}
        entities = {label for _, spans, *_ in found for *_, label in spans}
        deps = {dep for *_, arcs in found for _, dep in arcs}
        labels = set(self.component.labels)
        # A tagger whose cfg has become that of coarse tags sets its labels there.
        return tags | entities | deps <= labels | {joined(label, "") for label in labels} | {"", "ROOT", "dep"}

    def garble(self) -> tuple[str, bytes]:
        """Bytes that were cut, flipped, overwritten, taken out, doubled or spliced with those of another file."""
        rng, data = self.rng, self.intact
        at = int(rng.integers(len(data)))
        end = min(len(data), at + int(rng.integers(1, 60)))
        other = self.others[rng.integers(len(self.others))]
        place = int(rng.integers(len(other)))
        kinds = {
            "cut": data[:at],
            "bit": data[:at] + bytes([data[at] ^ (1 << int(rng.integers(8)))]) + data[at + 1 :],
            "overwritten": data[:at] + rng.bytes(end - at) + data[end:],
            "taken out": data[:at] + data[end:],
            "doubled": data[:end] + data[at:],
            "spliced": data[:at] + other[place:],
            "patched": data[:at] + other[place : place + end - at] + data[end:],
        }
        kind = list(kinds)[rng.integers(len(kinds))]
        return f"{kind} at {at}", kinds[kind]

    def edit(self, sealed: bool) -> tuple[str, bytes]:
        """A field changed by hand: of the cfg, of the model's settings, its shape, or an array."""
        rng, component = self.rng, self.scratch
        cfg = dict(self.cfg)
        component.from_bytes(self.intact, exclude=["vocab"])
        model = component.model
        kind = ("cfg", "attribute", "shape", "array", "numbers", "numbers")[rng.integers(6)]
        edits: dict[str, Callable[[], str]] = {
            "cfg": lambda: self._edit_cfg(cfg),
            "attribute": lambda: self._edit_attribute(model),
            "shape": lambda: self._edit_shape(model),
            "array": lambda: self._edit_array(model),
            "numbers": lambda: self._edit_numbers(model),
        }
        what = f"{kind}: {edits[kind]()}{', sealed' * sealed}"
        if sealed:
            self._seal(component, cfg)
        fields = srsly.msgpack_loads(self.intact)
        fields["cfg"], fields["model"] = srsly.json_dumps(cfg), model.to_bytes()
        return what, srsly.msgpack_dumps(fields)

    def _seal(self, component: Any, cfg: dict[str, Any]) -> None:
        """Give the file the digest of what it holds now, as far as it has one at all."""
        model = component.model
        arrays = {key: model.get_param(key) for key in model.param_names if model.has_param(key) and key != DIGEST}
        try:
            codec = replace(component.codec, labels=tuple(cfg["labels"]))
            digest = models._digest(model, arrays, codec.space.labels)
        except (AttributeError, KeyError, TypeError, ValueError):
            return
        model.set_param(DIGEST, digest)
        try:
            meant = training_record.written(*training_record.read(cfg, component.codec))
        except (AttributeError, KeyError, TypeError, ValueError):
            return
        cfg[training_record.SEAL] = training_record.sealed(meant, digest.tobytes())[training_record.SEAL]

    def _edit_cfg(self, cfg: dict[str, Any]) -> str:
        rng = self.rng
        key = list(cfg)[rng.integers(len(cfg))]
        labels = list(cfg["labels"])
        values = [*VALUES, labels[:-1], [*labels, "NEW"], labels[::-1], [*labels, labels[0]], [*labels[1:], 3], "pos"]
        value = values[rng.integers(len(values))]
        if rng.integers(6) == 0:
            del cfg[key]
            return f"{key} taken out"
        cfg[key] = value
        return f"{key} = {value!r}"

    def _edit_attribute(self, model: Any) -> str:
        rng = self.rng
        names = [name for name in model.attrs if name != "features"]
        name = names[rng.integers(len(names))]
        old = model.attrs[name]
        values = [*VALUES, *NUMBERS[5:15]]
        if isinstance(old, list) and old:
            values += [old[:-1], old[::-1], [*old, old[0]], [*old, "word[0]"], [*old, 3]] * 3
        value = values[rng.integers(len(values))]
        model.attrs[name] = value
        return f"{name} = {str(value)[:60]}"

    def _edit_shape(self, model: Any) -> str:
        shape = model.get_param(SHAPE).copy()
        at = int(self.rng.integers(len(shape)))
        numbers = [*NUMBERS, int(shape[at]) + 1, int(shape[at]) - 1]
        shape[at] = numbers[self.rng.integers(len(numbers))]
        model.set_param(SHAPE, shape)
        return f"[{at}] = {shape[at]}"

    def _edit_array(self, model: Any) -> str:
        """Another type, shape or length, another array, or none."""
        rng = self.rng
        names = [name for name in model.param_names if model.has_param(name) and name != DIGEST]
        name, other = names[rng.integers(len(names))], names[rng.integers(len(names))]
        array = model.get_param(name)
        changes = {
            "none": lambda: None,
            "another": lambda: model.get_param(other),
            "shorter": lambda: array[:-1].copy(),
            "longer": lambda: np.concatenate([array, array[-1:]]),
            "empty": lambda: array[:0].copy(),
            "reversed": lambda: array[::-1].copy(),
            "flat": lambda: array.reshape(-1).copy(),
            "deep": lambda: array[None].copy(),
            "bytes": lambda: array.view(np.uint8).copy(),
            "wide": lambda: array.astype(np.float64),
            "short": lambda: array.astype(np.int16),
        }
        how = list(changes)[rng.integers(len(changes))]
        model.set_param(name, changes[how]())
        return f"{name} {how}"

    def _edit_numbers(self, model: Any) -> str:
        """Numbers in an array; those that are packed are unpacked and packed again."""
        rng = self.rng
        names = [name for name in model.param_names if model.has_param(name) and name not in (DIGEST, SHAPE)]
        name = names[rng.integers(len(names))]
        array = model.get_param(name)
        packed = array.dtype == np.uint8 and array.size > 1
        data = bytearray(zlib.decompress(array[1:].tobytes()) if packed else array.tobytes())
        if not data:
            return f"{name} is empty"
        for _ in range(int(rng.integers(1, 4))):
            at = int(rng.integers(len(data)))
            data[at] = (0, 255, 127, 128, data[at] ^ (1 << int(rng.integers(8))))[rng.integers(5)]
        if packed and rng.integers(4) == 0:
            data = data[: int(rng.integers(len(data)))] if rng.integers(2) else data + data[:8]
        if packed:
            width = int(array[0]) if rng.integers(5) else int(rng.integers(10))
            changed = np.frombuffer(bytes([width]) + zlib.compress(bytes(data)), np.uint8)
        else:
            changed = np.frombuffer(bytes(data), array.dtype).reshape(array.shape)
        model.set_param(name, changed.copy())
        return f"{name}, some numbers"
