"""What every component of this package owes spaCy: streams, labels, and files that are checked when loaded."""

import logging
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import srsly
from spacy import util
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc
from spacy.vocab import Vocab
from thinc.api import Model

from ..corpus.unreadable import quoted
from ..files import replace_files
from ..inspect.confidence import CALIBRATED
from ..models import store as models
from ..models.packing import EXACT, Packing
from ..solvers.parameters import Parameters
from ..threads import checked_threads, read_ahead, shares
from ..training import state_file as solver_state
from ..training.figures import Figures

if TYPE_CHECKING:
    from ..solvers.learner import Certificate

LOGGER = logging.getLogger("spacy")


class SsvmPipe(TrainablePipe):
    """A trainable component whose weights are plain arrays and whose learning is done by one of our solvers.

    vocab: the shared vocabulary. model: from one of our architectures. name: of the component in its pipeline.
    solver: how it is learnt. scorer: spaCy's scoring function. n_threads: how many threads predict, and call oracles
    where the solver leaves w as it is meanwhile. packing: how the weights are saved; the component itself predicts and
    learns on with those that it has. save_solver_state: whether what the solver remembers, besides the weights, is
    saved and loaded too, so that learning goes on as if it had not been interrupted. cfg: what its "cfg" file saves,
    the labels among it.
    """

    def __init__(
        self,
        vocab: Vocab,
        model: Model,
        name: str,
        *,
        solver: Parameters,
        scorer: Callable[..., dict[str, Any]] | None,
        n_threads: int = 1,
        packing: Packing = EXACT,
        save_solver_state: bool = False,
        **cfg: Any,
    ) -> None:
        self.vocab = vocab
        self.model = model
        self.name = name
        self.solver = solver
        self.packing = packing
        self.save_solver_state = save_solver_state
        self.scorer = scorer
        self.n_threads = checked_threads(name, n_threads)
        self.cfg: dict[str, Any] = {"labels": [], "reads": [], **cfg}
        self._forget()

    @property
    @abstractmethod
    def weight_labels(self) -> tuple[str, ...]:
        """The L labels that a row of weights has, in order."""

    @property
    @abstractmethod
    def figures(self) -> Figures | None:
        """The solver's figures after its last complete epoch; None before that, and for a loaded component."""

    @abstractmethod
    def certificate(self) -> "Certificate | None":
        """Primal, dual and gap of the training so far, at one frozen w: one pass over all examples.

        None for solvers without a certificate; where examples were forgotten; where gold is incomplete or decoding is
        not exact. Where training has started from earlier weights, it is that of the objective that holds w to them.
        """

    @abstractmethod
    def _read(self, docs: Sequence[Doc]) -> Callable[[], Sequence[Any]]:
        """Read the Docs; what it returns predicts from what has been read, in any thread: an item for each Doc."""

    @abstractmethod
    def _forget(self) -> None:
        """Drop everything that is derived from the model, and all memory of training."""

    @abstractmethod
    def _forget_types(self) -> None:
        """Drop what is remembered of the words met so far; it is worked out again when they come back."""

    @abstractmethod
    def _store(self, packing: Packing = EXACT) -> None:
        """Put what has been learnt into the model; what was pruned or rounded before stays as it is."""

    @abstractmethod
    def _solver_state(self) -> bytes | None:
        """What the solver remembers, packed; None where it has not begun."""

    @abstractmethod
    def _take_solver_state(self, packed: bytes) -> None:
        """Go on from what `_solver_state` has returned, with the weights that were saved with it."""

    @abstractmethod
    def _check_settings(self) -> None:
        """Raise a ValueError where what was loaded beside the weights is not what this component writes."""

    @abstractmethod
    def _check_weights(self) -> None:
        """Raise a DamagedModel where the model's arrays do not fit together or to the labels."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The component's labels."""
        return tuple(self.cfg["labels"])

    @property
    def label_data(self) -> tuple[str, ...]:
        """The labels as `spacy init labels` saves them and `initialize` takes them."""
        return self.labels

    def predict(self, docs: Iterable[Doc]) -> Sequence[Any]:
        """What `set_annotations` takes, an item for each Doc; nothing is written to the Docs."""
        return self._read(list(docs))()

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Apply the component to a stream of Docs, in order. Threads share out the Docs of a batch, without `predict`.

        Where a batch fails, each of its Docs is tried alone: the error handler sees only the bad ones, and the log says
        which of the stream they are.
        """
        n_before = 0
        batches: Iterator[Iterable[Doc]] = util.minibatch(stream, size=batch_size)  # type: ignore[no-untyped-call]
        for batch in batches:
            docs, n_done = list(batch), 0
            try:
                for part in self._annotated(docs):
                    n_done += len(part)
            except Exception:
                yield from docs[:n_done]
                yield from self._one_by_one(docs[n_done:], n_before + n_done)
            else:
                yield from docs
            n_before += len(docs)

    @contextmanager
    def memory_zone(self, mem: Any = None) -> Iterator[Any]:
        """What `nlp.memory_zone` enters; at its end, what is remembered of words is dropped, as their strings are."""
        try:
            yield mem
        finally:
            self._forget_types()

    def finish_update(self, sgd: Any) -> None:
        """Nothing to do: the solver has moved the weights in `update`."""

    def compress(self, packing: Packing) -> None:
        """Save with this packing from now on.

        Raises:
            ValueError: the component was loaded from a file whose weights are pruned or rounded already.
        """
        if models.has_weights(self.model) and not models.is_exact(self.model):
            raise ValueError(f"[{self.name}] its weights are compressed already: compress those of the original")
        self.packing = packing

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Serialise; `exclude` names fields among cfg, vocab, model and state."""
        with self._packed():
            fields = {name: contents for name, contents in self._files(None).items() if name not in exclude}
            if "vocab" not in exclude:
                fields["vocab"] = self.vocab.to_bytes(exclude=exclude)
            return bytes(srsly.msgpack_dumps(fields))

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Save to a directory; `exclude` names fields among cfg, vocab, model and state.

        The files replace earlier ones together, when all of them are written.

        Raises:
            OSError: the disk is full, or the directory cannot be written to; what was saved there before stays.
        """
        folder = util.ensure_path(path)
        with self._packed():
            files = {name: contents for name, contents in self._files(2).items() if name not in exclude}
        try:
            replace_files(folder, files)
            if "state" not in files:
                (folder / "state").unlink(missing_ok=True)
        except OSError as error:
            reason = f"[{self.name}] cannot be saved to {folder}, which stays as it was: {error.strerror}"
            raise OSError(error.errno, reason) from error
        if "vocab" not in exclude:
            self.vocab.to_disk(folder / "vocab", exclude=exclude)

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> "SsvmPipe":
        """Load what `to_bytes` has written.

        Raises:
            DamagedModel: the bytes are damaged, incomplete or of a newer version.
        """
        readers = self._readers(srsly.json_loads, self.model.from_bytes, bytes, exclude)

        def read() -> None:
            fields = srsly.msgpack_loads(bytes_data)
            # A field of a damaged name would be passed over.
            if not set(fields) <= set(readers):
                raise ValueError(f"it has fields {sorted(map(str, fields))}, not {sorted(readers)}")
            util.from_dict(fields, readers, exclude)

        self._load(read, exclude)
        return self

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "SsvmPipe":
        """Load what `to_disk` has written.

        Raises:
            DamagedModel: a file is missing, damaged, incomplete or of a newer version.
        """
        readers = self._readers(srsly.read_json, self.model.from_disk, _contents, exclude)
        self._load(lambda: util.from_disk(path, readers, exclude), exclude)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what is set and learnt, without what is derived from it."""
        self._store()
        state = {key: value for key, value in vars(self).items() if not key.startswith("_")}
        # Fields of the compiled base class are not in vars().
        state.update((key, getattr(self, key)) for key in ("vocab", "model", "name", "cfg", "scorer"))
        return _unpickle, (type(self), state)

    @contextmanager
    def _packed(self) -> Iterator[None]:
        """For as long as this lasts, the model holds what is to be saved."""
        before = models.snapshot(self.model)
        try:
            self._store(self.packing)
            yield
        finally:
            models.restore(self.model, before)

    def _files(self, indent: int | None) -> dict[str, bytes]:
        """The contents of the component's files; the model holds what is to be saved."""
        cfg = srsly.json_dumps(self.cfg, **({} if indent is None else {"indent": indent}))
        files = {"cfg": cfg.encode(), "model": self.model.to_bytes()}
        packed = self._solver_state() if self.save_solver_state else None
        if packed is not None:
            files["state"] = solver_state.sealed(packed, models.digest(self.model))
            LOGGER.debug("[%s] the solver state takes %s bytes", self.name, f"{len(packed):,}")
        return files

    def _take_file_of_state(self, contents: bytes | None) -> None:
        if contents is not None and self.save_solver_state:
            self._take_solver_state(solver_state.unsealed(contents, models.digest(self.model)))

    def _readers(
        self,
        cfg: Callable[[Any], Any],
        model: Callable[[Any], Any],
        state: Callable[[Any], bytes | None],
        exclude: Iterable[str],
    ) -> dict[str, Any]:
        vocab = self.vocab

        def read_model(source: Any) -> None:
            # Arrays that a file lacks are not to be those of before.
            models.clear(self.model)
            model(source)

        return {
            "cfg": lambda source: self._take_cfg(cfg(source)),
            "vocab": lambda source: (vocab.from_bytes if isinstance(source, bytes) else vocab.from_disk)(
                source, exclude=exclude
            ),
            "model": read_model,
            "state": lambda source: None if "model" in exclude else self._take_file_of_state(state(source)),
        }

    def _take_cfg(self, cfg: Any) -> None:
        self.cfg.pop(CALIBRATED, None)
        # Without a note of what is read, nothing is missed.
        cfg = {"reads": [], **cfg} if isinstance(cfg, dict) else {}
        known = all(type(cfg.get(key)) is type(value) for key, value in self.cfg.items())
        if not known or not all(isinstance(name, str) for name in (*cfg["labels"], *cfg["reads"])):
            raise ValueError("its cfg is not what this component writes")
        self.cfg.update(cfg)

    def _load(self, read: Callable[[], Any], exclude: Iterable[str]) -> None:
        """Read and check the fields; where anything is wrong with them, the component stays what it was."""
        self._store()
        before = self.cfg, models.snapshot(self.model)
        self.cfg = dict(self.cfg)
        self._forget()
        try:
            read()
            self._check_settings()
            for label in self.labels:
                self.vocab.strings.add(label, allow_transient=False)  # type: ignore[call-arg]
            if "model" not in exclude and models.has_weights(self.model):
                self._check_weights()
        except Exception as error:
            self.cfg = before[0]
            models.restore(self.model, before[1])
            raise models.DamagedModel(f"[{self.name}] the saved component cannot be loaded: {error}") from error

    def _annotated(self, docs: Sequence[Doc]) -> Iterator[Sequence[Doc]]:
        """Annotate the Docs; yields the parts of them that are done."""
        parts = shares(docs, self.n_threads)
        if len(parts) == 1:
            self.set_annotations(docs, self.predict(docs))
            yield docs
            return
        for part, predictions in zip(parts, read_ahead(self.n_threads, self._read, parts)):
            self.set_annotations(part, predictions)
            yield part

    def _one_by_one(self, docs: Sequence[Doc], first: int) -> Iterator[Doc]:
        handler = self.get_error_handler()
        for number, doc in enumerate(docs, first):
            try:
                self.set_annotations([doc], self.predict([doc]))
            except Exception as error:
                LOGGER.warning(
                    "[%s] document %s of the stream, %s, cannot be annotated: %s", self.name, number, quoted(doc), error
                )
                handler(self.name, self, [doc], error)
            else:
                yield doc


def _contents(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def _unpickle(component: type[SsvmPipe], state: dict[str, Any]) -> SsvmPipe:
    pipe = component.__new__(component)
    for key, value in state.items():
        setattr(pipe, key, value)
    pipe._forget()
    return pipe
