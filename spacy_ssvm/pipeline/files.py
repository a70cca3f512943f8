"""The files of a component: "cfg", "model", "vocab" and, if it is to be saved, the solver's "state".

The identity of a pipeline, a digest of all its files, tells whether other files were made with it.
"""

import hashlib
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

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
Readers = Mapping[str, Callable[[Any], None]]
"""For each field a function that reads it from bytes, or from a path."""


class FieldSource(NamedTuple):
    """The source that a component is loaded from: bytes, or a folder.

    Attributes:
        read: calls each of the given readers, by field, with the source of its field.
        cfg, state: return the contents of these fields.
        model: reads the thinc Model.
        vocab: reads the vocabulary.
    """

    read: Callable[[Readers], None]
    cfg: Callable[[Any], Any]
    state: Callable[[Any], bytes | None]
    model: Callable[[Any], Any]
    vocab: Callable[..., Any]


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

    def from_bytes(self, contents: bytes, warn: Warnings) -> TrainedState:
        """The state that `to_bytes` has written; warn: issues the component's warnings.

        Raises:
            DamagedModel: the bytes are damaged, incomplete or of a newer version.
        """
        model, vocab = self._trained.model, self._trained.vocab

        def read(readers: Readers) -> None:
            fields = srsly.msgpack_loads(contents)
            # A field of a damaged name would be passed over.
            if not set(fields) <= set(readers):
                raise ValueError(f"it has fields {sorted(map(str, fields))}, not {sorted(readers)}")
            util.from_dict(fields, dict(readers), self._exclude)

        return self._loaded(FieldSource(read, srsly.json_loads, bytes, model.from_bytes, vocab.from_bytes), warn)

    def from_disk(self, path: str | Path, warn: Warnings) -> TrainedState:
        """The state that `to_disk` has written; warn: issues the component's warnings.

        Raises:
            DamagedModel: a file is damaged, incomplete or of a newer version.
            OSError: a file is missing, or cannot be read.
        """
        model, vocab = self._trained.model, self._trained.vocab

        def read(readers: Readers) -> None:
            util.from_disk(path, dict(readers), self._exclude)

        def read_cfg(file: Path) -> Any:
            return srsly.json_loads(file.read_bytes())

        return self._loaded(FieldSource(read, read_cfg, _contents, model.from_disk, vocab.from_disk), warn)

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

    def _loaded(self, source: FieldSource, warn: Warnings) -> TrainedState:
        """The state that is read from a source. If it is invalid, the model does not change."""
        before, has_model = self._trained, "model" not in self._exclude
        model, loaded, cfg = before.model, before.anew(), dict[str, Any]()
        asked = {key: value for key, value in model.attrs.items() if key not in (*RESOURCES, store.NAMES)}

        def read_cfg(contents: Any) -> None:
            nonlocal loaded
            found = source.cfg(contents)
            loaded = _with_cfg(loaded, found, warn)
            cfg.update(found)

        def read_vocab(contents: Any) -> None:
            source.vocab(contents, exclude=self._exclude)

        def read_model(contents: Any) -> None:
            # Arrays that a file lacks are not to be those of before.
            store.clear(model)
            source.model(contents)

        def read_state(contents: Any) -> None:
            nonlocal loaded
            state = source.state(contents) if has_model else None
            if state is not None and loaded.settings.save_solver_state:
                loaded = replace(loaded, saved_state=state_file.unsealed(state, store.digest(model)))

        if not has_model:
            before.store()
        try:
            with unchanged_on_error(model):
                source.read({"cfg": read_cfg, "vocab": read_vocab, "model": read_model, "state": read_state})
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


def _with_cfg(trained: TrainedState, cfg: Any, warn: Warnings) -> TrainedState:
    """The state with the labels, settings and record in a "cfg"; warns of settings that differ from the config's."""
    config = trained.codec.saved.settings
    codec, record = training_record.read(cfg, trained.codec)
    for key, value in codec.saved.settings.items():
        if key in cfg and value != config[key]:
            warn(f"is loaded with {key} = {value!r}, not {config[key]!r}: its weights depend on this setting")
    return replace(trained.with_codec(codec), record=record)


def _contents(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def identity(nlp: Language) -> dict[str, str]:
    """The name and the version of a pipeline, and a digest of its files."""
    digest = hashlib.sha256()
    root = nlp.path or Path()
    for path in sorted(path for path in root.rglob("*") if path.is_file()) if nlp.path else []:
        digest.update(str(path.relative_to(root)).encode() + hashlib.sha256(path.read_bytes()).digest())
    return {"name": f"{nlp.lang}_{nlp.meta['name']}", "version": nlp.meta["version"], "sha256": digest.hexdigest()}
