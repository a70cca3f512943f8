"""`spacy ssvm apply`: annotate many files, by several processes; an interrupted run resumes."""

import platform
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import tqdm
import typer
from spacy import util
from spacy.cli._util import import_code
from wasabi import msg

from ..corpus.texts import find_files
from ..distributed import folder
from ..distributed.annotation import DOCS, MAX_BYTES, SUFFIXES, Annotation, Annotator, Result, Shard, cut
from ..distributed.cluster import map_unordered
from ..distributed.pool import WorkerDied
from ..pipeline.files import identity
from ..wording import counted
from .reading import CodePath, PipelineName, loaded


def apply_command(
    model: PipelineName,
    inputs: Annotated[
        list[Path],
        typer.Argument(help="Files, folders or patterns: .txt with a text a line, .jsonl, .spacy, .conllu; or .gz"),
    ],
    output: Annotated[Path, typer.Argument(help="Folder for the results", file_okay=False)],
    n_workers: Annotated[int, typer.Option("--workers", "-w", min=1, help="Number of processes")] = 1,
    address: Annotated[
        str | None,
        typer.Option("--address", help='Ray cluster whose workers annotate: "local", "auto" or an address; needs Ray'),
    ] = None,
    format_: Annotated[
        str, typer.Option("--format", "-f", help='"spacy" for DocBin, or "jsonl" for Doc.to_json')
    ] = "spacy",
    text_key: Annotated[str, typer.Option("--text-key", "-tk", help="Field of a JSONL record that has the text")] = (
        "text"
    ),
    force: Annotated[bool, typer.Option("--force", "-F", help="Remove the results of another run")] = False,
    code_path: CodePath = None,
) -> None:
    """Annotate texts in files, by several processes or machines, into a folder of files in the order of the texts.

    A run that was interrupted goes on when the same command is given again. Texts that raise an error are set aside.
    """
    try:
        how = Annotation(output, format_, text_key)  # type: ignore[arg-type]
        # The results may lie in a folder of texts.
        files = [path for path in find_files(inputs, SUFFIXES) if output.resolve() not in path.resolve().parents]
        if not files:
            raise ValueError(f"{output} is the only folder with files: it is that of the results")
        import_code(code_path)
        nlp = loaded(model)
        # So that forked processes find the kernels loaded.
        nlp("a")
        of: dict[str, Any] = {
            "pipeline": identity(nlp),
            "files": list(map(str, files)),
            "format": format_,
            "text_key": text_key,
            "shard_bytes": MAX_BYTES,
        }
        if address is None:
            begin = partial(_annotator, model, code_path, how)
        else:
            # Workers of a cluster begin in another folder.
            how = replace(how, output=output.resolve())
            files = [path.resolve() for path in files]
            begin = partial(_annotator_there, _resolved(model), code_path and code_path.resolve(), how)
        work = Annotator(nlp, how)
        annotated = partial(map_unordered, work, begin, n_workers=n_workers, address=address, name=_name, ahead=AHEAD)
        with folder.locked(output):
            _apply(files, annotated, how, of, force)
    except KeyboardInterrupt:
        msg.fail("Interrupted", _GOES_ON, exits=1)
    except WorkerDied as error:
        msg.fail(f"Stopped: {error}", _GOES_ON, exits=1)
    except (ImportError, OSError, ValueError) as error:
        msg.fail(str(error), exits=1)


AHEAD = 2
"""Shards that each worker of a cluster has: they are short, and it is not to wait for the next one."""
_GOES_ON = "What is finished stays. The same command goes on."


def _apply(
    files: list[Path],
    annotated: Callable[[Iterable[Shard]], Iterator[Result]],
    how: Annotation,
    of: dict[str, Any],
    force: bool,
) -> None:
    finished = folder.begin(how.output, of, force)
    done: dict[int, Result] = {}
    unread: list[ValueError] = []
    started = time.perf_counter()

    def missing() -> Iterator[Shard]:
        try:
            for shard in cut(files):
                known = finished.get(shard.number)
                if known is not None and known.source == shard.source:
                    done[shard.number] = known
                else:
                    yield shard
        except ValueError as error:
            # What comes before the file that cannot be read is to be finished.
            unread.append(error)

    n_tokens = 0
    with tqdm.tqdm(disable=None, unit=" tokens", unit_scale=True) as progress:
        for result in annotated(missing()):
            folder.note(how.output, result)
            done[result.number] = result
            n_tokens += result.tokens
            progress.update(result.tokens)
    if unread:
        raise unread[0]
    folder.finish(how.output, of, done)
    set_aside = sum(len(result.set_aside) for result in done.values())
    if set_aside and not any(result.docs for result in done.values()):
        raise ValueError(f"none of the documents could be annotated: {how.output / folder.SET_ASIDE} says why")
    seconds = time.perf_counter() - started
    docs = counted(sum(result.docs for result in done.values()), "document")
    tokens = counted(sum(result.tokens for result in done.values()), "token")
    msg.good(
        f"Saved {docs} with {tokens} to {how.output}, in {counted(len(done), 'file')}",
        f"{n_tokens:,} tokens in {seconds:.1f} s, {n_tokens / seconds:,.0f} a second",
    )
    if set_aside:
        msg.warn(f"{counted(set_aside, 'document')} could not be annotated: {how.output / folder.SET_ASIDE} says why")


def _annotator(model: str, code_path: Path | None, how: Annotation) -> Callable[[Shard], Result]:
    # `import_code` would end the process, and not say why.
    if code_path is not None:
        util.import_file("python_code", code_path)
    return Annotator(util.load_model(model), how)


def _annotator_there(model: str, code_path: Path | None, how: Annotation) -> Callable[[Shard], Result]:
    """On another machine, where files may be missing that this one has."""
    if not (how.output / folder.MANIFEST).exists():
        raise _not_shared(how.output)
    annotated = _annotator(model, code_path, how)

    def work(shard: Shard) -> Result:
        for piece in shard.pieces:
            if piece.path.suffix == DOCS and not piece.path.exists():
                raise _not_shared(piece.path)
        return annotated(shard)

    return work


def _not_shared(path: Path) -> OSError:
    return FileNotFoundError(
        f"{path} is not there on {platform.node()}: all machines must have it at the same path, in a shared file system"
    )


def _name(shard: Shard) -> str:
    return f"the documents from {shard.pieces[0].place} on"


def _resolved(model: str) -> str:
    """The name of a package, or an absolute path."""
    return str(Path(model).resolve()) if Path(model).exists() else model
