"""The record of a component's training, and the file "cfg", which has it, labels and the codec's settings."""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import srsly

from ..features.attributes import ANNOTATION_ATTRIBUTES
from ..training.calibration import rounded
from .codec import Codec, SavedCodec
from .complaints import Warnings

INVERSE_TEMPERATURE = "inverse_temperature"
UNLEARNT = "unlearnt"

SEAL = "seal"


@dataclass(frozen=True)
class TrainingRecord:
    """Facts of a component's training that it keeps besides the weights.

    Attributes:
        reads: token attributes that its features have learnt from.
        labels_are_given: whether `initialize` was given the labels, so that `update` adds none.
        inverse_temperature: β of the calibration, None without one.
    """

    reads: tuple[str, ...] = ()
    labels_are_given: bool = False
    inverse_temperature: float | None = None


NO_RECORD = TrainingRecord()
"""The record of a component that has not been trained."""


def written(codec: Codec, record: TrainingRecord) -> dict[str, Any]:
    """The contents of the file."""
    beta, saved = record.inverse_temperature, codec.saved
    return {
        "labels": list(codec.labels),
        "reads": list(record.reads),
        "labels_are_given": record.labels_are_given,
        **saved.settings,
        **saved.notes,
        **({} if beta is None else {INVERSE_TEMPERATURE: beta}),
        **({UNLEARNT: list(codec.unlearnt)} if codec.unlearnt else {}),
    }


class Contents(dict[str, Any]):
    """A copy of the contents of the file "cfg", which warns once if an item is set in vain."""

    def __init__(self, contents: dict[str, Any], warn: Warnings) -> None:
        super().__init__(contents)
        self._warn = warn

    def __setitem__(self, key: str, value: Any) -> None:
        # No error: spaCy's find-threshold sets an item, and then assigns the whole.
        self._warn.once(
            "cfg",
            f"cfg[{key!r}] = {value!r} alone changes nothing in the component, as cfg is a copy of what is saved: "
            "assign cfg as a whole, or load the pipeline with another config (this is said once)",
        )
        super().__setitem__(key, value)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle, and copy, as a plain dictionary."""
        return dict, (dict(self),)


def sealed(cfg: Mapping[str, Any], model: bytes) -> dict[str, Any]:
    """The contents of the file with a seal that binds them to a model; model: the digest of its weights."""
    return {**cfg, SEAL: _seal(cfg, model)}


def require_seal(contents: Mapping[str, Any], model: bytes) -> None:
    """Check the seal of a file whose contents `read` has accepted; model: the digest of its weights.

    Raises:
        ValueError: the contents have been changed since they were saved, or belong to another model.
    """
    cfg = {key: value for key, value in contents.items() if key != SEAL}
    if INVERSE_TEMPERATURE in cfg:
        # The JSON reader may change the last bit of a number.
        cfg[INVERSE_TEMPERATURE] = rounded(cfg[INVERSE_TEMPERATURE])
    if contents.get(SEAL) != _seal(cfg, model):
        raise ValueError(
            "its cfg does not fit its seal: the file was changed or damaged, or was not saved with this model. To "
            "change it, load the component, set its attribute cfg and save it"
        )


def _seal(cfg: Mapping[str, Any], model: bytes) -> str:
    return hashlib.sha256(srsly.msgpack_dumps(dict(cfg)) + model).hexdigest()


def read(cfg: Any, codec: Codec) -> tuple[Codec, TrainingRecord]:
    """The codec with the labels and settings of a file, and the record. Other keys mean nothing here.

    Raises:
        ValueError: `cfg` is not what `written` returns, or names annotation that is unknown.
    """
    saved = codec.saved
    own = {**saved.settings, **saved.notes}
    expected: Mapping[str, Any] = {"labels": [], "reads": [], "labels_are_given": False, **own}
    cfg = cfg if isinstance(cfg, dict) else {}
    known = all(type(cfg.get(key)) is type(value) for key, value in expected.items())
    if not known or not all(isinstance(name, str) for name in (*cfg["labels"], *cfg["reads"])):
        raise ValueError("its cfg is not what this component writes")
    unknown = sorted(set(cfg["reads"]) - set(ANNOTATION_ATTRIBUTES))
    if unknown:
        raise ValueError(f"its cfg says that it reads the unknown annotation {', '.join(unknown)}")
    beta = cfg.get(INVERSE_TEMPERATURE)
    if INVERSE_TEMPERATURE in cfg and (type(beta) is not float or not 0.0 < beta < math.inf):
        raise ValueError(f"its cfg has the inverse temperature {beta!r}, which must be a finite number above 0")
    unlearnt = cfg.get(UNLEARNT, [])
    if not isinstance(unlearnt, list) or not all(label in cfg["labels"] for label in unlearnt):
        raise ValueError("its cfg names labels to learn that are not among its labels")
    codec = replace(codec, labels=tuple(cfg["labels"]), unlearnt=tuple(unlearnt))
    restored = codec.restored(SavedCodec(*({key: cfg[key] for key in part} for part in saved)))
    return restored, TrainingRecord(
        tuple(cfg["reads"]), cfg["labels_are_given"], None if beta is None else rounded(beta)
    )
