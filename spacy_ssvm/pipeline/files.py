"""The files of a component: "cfg", "model", "vocab" and, if it is to be saved, the solver's "state".

The identity of a pipeline, a digest of all its files, tells whether other files were made with it.
"""

import hashlib
import logging
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import srsly
from spacy import util
from spacy.language import Language

from ..files import listed, replace_files
from ..models import store
from ..models.architectures import RESOURCES
from ..training import state_file
from . import training_record
from .complaints import Warnings
from .trained_state import TrainedState, unchanged_on_error

LOGGER = logging.getLogger("spacy")


class Files:
    """The files that a component is saved to and loaded from.

    Args:
        trained: its state.
        exclude: names of fields that are neither written nor read.
    """

    def __init__(self, trained: TrainedState, exclude: Iterable[str]) -> None:
        self._trained = trained
        self._exclude = tuple(exclude)

    def to_bytes(self) -> bytes:
        """The contents of all files together."""
        fields = self._contents(None)
        if "vocab" not in self._exclude:
            fields["vocab"] = self._trained.vocab.to_bytes(exclude=self._exclude)
        return bytes(srsly.msgpack_dumps(fields))

    def to_disk(self, path: str | Path) -> None:
        """Replace the files in a folder, when all of them are written.

        Raises:
            OSError: the disk is full, or the directory cannot be written to; what was saved there before stays.
        """
        folder = util.ensure_path(path)
        files = self._contents(2)
        try:
            replace_files(folder, files)
            if "state" not in files:
                (folder / "state").unlink(missing_ok=True)
        except OSError as error:
            name = self._trained.codec.name
            reason = f"[{name}] cannot be saved to {folder}, which stays as it was: {error.strerror}"
            raise OSError(error.errno, reason) from error
        if "vocab" not in self._exclude:
            self._trained.vocab.to_disk(folder / "vocab", exclude=self._exclude)

    def _contents(self, indent: int | None) -> dict[str, bytes]:
        """The contents of the files but the vocabulary's."""
        trained = self._trained
        # Not the component's own, with which other threads may predict or be saved.
        model = trained.packed()
        digest, name = store.digest(model), trained.codec.name
        sealed = training_record.sealed(training_record.written(trained.codec, trained.record), digest)
        cfg = srsly.json_dumps(sealed, **({} if indent is None else {"indent": indent}))
        files = {"cfg": cfg.encode(), "model": model.to_bytes()}
        names = model.attrs.get(store.NAMES)
        if names is not None:
            sizes = f"{len(names):,}", f"{len(files['model']):,}"
            LOGGER.info("[%s] the names of the features take %s of the model's %s bytes", name, *sizes)
        packed = trained.state() if trained.settings.save_solver_state else None
        if packed is not None:
            files["state"] = state_file.sealed(packed, digest)
            LOGGER.debug("[%s] the solver state takes %s bytes", name, f"{len(packed):,}")
        return {field: contents for field, contents in files.items() if field not in self._exclude}

    def loaded(self, source: bytes | Path, warn: Warnings) -> TrainedState:
        """The state in the result of `to_bytes`, or in a folder of `to_disk`.

        If it is invalid, the model does not change.

        Args:
            warn: issues the component's warnings.

        Raises:
            DamagedModel: the bytes or a file are damaged, incomplete or of a newer version.
            OSError: a file is missing, or cannot be read.
        """
        before, has_model = self._trained, "model" not in self._exclude
        model, loaded, cfg = before.model, before.anew(), dict[str, Any]()
        asked = {key: value for key, value in model.attrs.items() if key not in (*RESOURCES, store.NAMES)}

        def read_cfg(field: bytes | Path) -> None:
            nonlocal loaded
            found = srsly.json_loads(_read_bytes(field))
            loaded = _with_cfg(loaded, found, warn)
            cfg.update(found)

        def read_vocab(field: bytes | Path) -> None:
            vocab: Any = before.vocab
            (vocab.from_disk if isinstance(field, Path) else vocab.from_bytes)(field, exclude=self._exclude)

        def read_model(field: Any) -> None:
            # Arrays that a file lacks are not to be those of before.
            store.clear(model)
            (model.from_disk if isinstance(field, Path) else model.from_bytes)(field)

        def read_state(field: bytes | Path) -> None:
            nonlocal loaded
            if has_model and loaded.settings.save_solver_state and not (isinstance(field, Path) and not field.exists()):
                state = state_file.unsealed(_read_bytes(field), store.digest(model))
                loaded = replace(loaded, saved_state=state)

        readers: dict[str, Any] = {"cfg": read_cfg, "vocab": read_vocab, "model": read_model, "state": read_state}
        if not has_model:
            before.store()
        try:
            with unchanged_on_error(model):
                _read_fields(source, readers, self._exclude)
                labels = loaded.codec.labels
                for label in labels:
                    loaded.codec.check_label(label)
                if len(set(labels)) < len(labels):
                    raise ValueError(f"it has a label twice: {', '.join(labels)}")
                if has_model:
                    loaded = loaded.checked()
                    others = sorted(key for key, value in asked.items() if model.attrs.get(key) != value)
                    if others:
                        warn(
                            f"is loaded with the {listed(others)} that its model was trained with, not with those of "
                            "the config: train it anew to change them"
                        )
                    if cfg:
                        training_record.require_seal(cfg, store.digest(model))
        except OSError as error:
            reason = f"[{before.codec.name}] the saved component cannot be loaded: {error.strerror}"
            raise OSError(error.errno, reason, error.filename) from error
        except Exception as error:
            raise store.DamagedModel(f"[{before.codec.name}] the saved component cannot be loaded: {error}") from error
        for label in labels:
            before.vocab.strings.add(label, allow_transient=False)  # type: ignore[call-arg]
        return loaded


def _read_fields(source: bytes | Path, readers: dict[str, Any], exclude: tuple[str, ...]) -> None:
    """Call each reader with its file in a folder, or with its field in the bytes."""
    if isinstance(source, Path):
        util.from_disk(source, readers, exclude)
        return
    fields = srsly.msgpack_loads(source)
    # A field of a damaged name would be passed over.
    if not set(fields) <= set(readers):
        raise ValueError(f"it has fields {sorted(map(str, fields))}, not {sorted(readers)}")
    util.from_dict(fields, readers, exclude)


def _read_bytes(field: bytes | Path) -> bytes:
    return field.read_bytes() if isinstance(field, Path) else field


def _with_cfg(trained: TrainedState, cfg: Any, warn: Warnings) -> TrainedState:
    """The state with the labels, settings and record in a "cfg"; warns of settings that differ from the config's."""
    config = trained.codec.saved.settings
    codec, record = training_record.read(cfg, trained.codec)
    for key, value in codec.saved.settings.items():
        if key in cfg and value != config[key]:
            warn(f"is loaded with {key} = {value!r}, not {config[key]!r}: its weights depend on this setting")
    return replace(trained.with_codec(codec), record=record)


def identity(nlp: Language) -> dict[str, str]:
    """The name and the version of a pipeline, and a digest of its files."""
    digest = hashlib.sha256()
    root = nlp.path or Path()
    for path in sorted(path for path in root.rglob("*") if path.is_file()) if nlp.path else []:
        digest.update(str(path.relative_to(root)).encode() + hashlib.sha256(path.read_bytes()).digest())
    return {"name": f"{nlp.lang}_{nlp.meta['name']}", "version": nlp.meta["version"], "sha256": digest.hexdigest()}
