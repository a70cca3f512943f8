"""The corpora that a config names: the user's files, or files made from them; and `spacy ssvm split`, which keeps a
tenth of a corpus back for development.
"""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, NamedTuple

import typer
from spacy.tokens import DocBin
from spacy.training.corpus import FILE_TYPE
from spacy.vocab import Vocab
from wasabi import msg

from ..corpus.columns import may_have_columns, read_columns
from ..corpus.conllu_reader import SUFFIX
from ..corpus.description import column_files, files_of, find_files
from ..corpus.division import Division, divide
from ..files import listed, replace_files, report_left_out
from ..wording import counted
from .reading import failing


class Corpora(NamedTuple):
    """The corpora of a config.

    Attributes:
        source: the training file or folder that the user has named.
        train, dev: the paths for the config; dev is None if there is none.
        made: the steps that made them, a line each.
    """

    source: Path
    train: Path
    dev: Path | None
    made: Sequence[str]


def prepare(data: Path, dev: Path | None, config: Path | None, force: bool = False) -> Corpora:
    """The training and the development corpus for a config.

    Files with columns are converted to .spacy, and if there is no development corpus, a tenth of the training corpus is
    kept back, both in files next to the config whose names begin with its name.

    Args:
        data: a training file or a folder, as for `find_files`.
        dev: the development file or folder, None for the one next to the training file.
        config: None where no files may be made; dev then stays None if there is none.
        force: overwrite files of these names.

    Raises:
        OSError, ValueError: there is no such corpus, it cannot be read, divided or saved, or a file that is to be made
            exists with another content.
    """
    source, beside = find_files(data)
    if (
        config is not None
        and data.is_dir()
        and source == data / f"{config.stem}-train{FILE_TYPE}"
        and column_files(data)
    ):
        raise ValueError(f"{source} may have been made of columns in {data} before: name the training file")
    if dev is not None and not dev.exists():
        raise ValueError(f"there is no file or folder {dev}")
    parts: dict[str, Path | None] = {"train": source, "dev": dev or beside}
    names: dict[str, str] = {}
    contents: dict[str, bytes] = {}
    made: list[str] = []
    with TemporaryDirectory() as temporary:
        for part, path in parts.items():
            if path is None or not (columns := _with_columns(path)):
                continue
            if config is None:
                raise ValueError(f"{path} has columns, and is converted into a file beside the config: save it to one")
            left_out: list[str] = []
            docs = [doc for file in columns for doc in read_columns(file, Vocab(), left_out)]
            if docs and len(left_out) > sum(len(list(doc.sents)) for doc in docs):
                raise ValueError(f"most of the sentences of {path} cannot be read: {listed(left_out)}")
            report_left_out(path, left_out, not docs, "sentences")
            names[part] = f"{config.stem}-{part}{FILE_TYPE}"
            contents[names[part]] = DocBin(docs=docs).to_bytes()
            parts[part] = converted = Path(temporary) / names[part]
            converted.write_bytes(contents[names[part]])
            made.append(f"{path} has columns, and is converted: it has {counted(len(docs), 'document')}")
        if parts["dev"] is None and config is not None:
            try:
                division = divide(parts["train"] or source, 0)
            except ValueError as error:
                raise ValueError(
                    f"there is no development corpus, and none can be kept back: {error}. Name one with --dev, or save "
                    "the sentences as Docs of their own"
                ) from error
            suffix = _suffix_of(division)
            names = {part: f"{config.stem}-{part}{suffix}" for part in parts}
            contents = {names["train"]: division.train, names["dev"]: division.dev}
            n_kept = sum(map(len, division.kept.values()))
            made.append(
                f"There is no development corpus: {n_kept:,} of {division.n_units:,} {division.kind}, "
                f"{counted(division.dev_size, division.measure)} of {division.size:,}, are kept back, as spacy ssvm "
                "split keeps them"
            )
    if config is not None:
        if contents and source.resolve() in config.resolve().parents:
            raise ValueError(
                f"{source} is a corpus as a whole, to which files would be added: save the config elsewhere"
            )
        if any(config.with_name(name).resolve() in (source.resolve(), data.resolve()) for name in contents):
            raise ValueError(f"{source} would be overwritten: give the config another name than {config}")
        _save(config.parent, contents, force)
        parts |= {part: config.with_name(name) for part, name in names.items()}
    return Corpora(source, parts["train"] or source, parts["dev"], made)


def _with_columns(path: Path) -> list[Path]:
    """The files of a corpus that have columns."""
    return [file for file in files_of(path) if may_have_columns(file)]


def _suffix_of(division: Division) -> str:
    return SUFFIX if division.measure == "sentence" else FILE_TYPE


def _save(folder: Path, contents: dict[str, bytes], force: bool) -> None:
    """Write these files; the same commands make the same ones.

    Raises:
        ValueError: one exists with another content.
    """
    for name, content in contents.items():
        path = folder / name
        if path.exists() and not force and path.read_bytes() != content:
            raise ValueError(f"{path} exists: use --force to overwrite it")
    if contents:
        folder.mkdir(parents=True, exist_ok=True)
        replace_files(folder, contents)


@failing("Nothing was divided")
def split_command(
    data_path: Annotated[Path, typer.Argument(help="Corpus in .spacy format or CoNLL-U", exists=True)],
    train_path: Annotated[Path, typer.Argument(help="File for the training part")],
    dev_path: Annotated[Path, typer.Argument(help="File for the development part")],
    seed: Annotated[int, typer.Option("--seed", "-s", help="Seed of what is kept back")] = 0,
) -> None:
    """Keep a tenth of a corpus back for development: a .conllu or .spacy file, or a folder of files of one format.

    Documents stay in one piece: those of # newdoc in CoNLL-U, and the Docs of .spacy. Without them, or with too few,
    stretches of ten sentences do. Sentences and Docs are copied as they are. The same seed keeps the same ones back.
    """
    for path in (train_path, dev_path):
        if path.exists():
            raise ValueError(f"{path} exists: name another file, or remove it")
    parts = divide(data_path, seed)
    suffix = _suffix_of(parts)
    for path in (train_path, dev_path):
        if path.suffix != suffix:
            raise ValueError(f"{path}: the name of the file has to end in {suffix}, as the corpus is in this format")
    if train_path.resolve() == dev_path.resolve():
        raise ValueError(f"{train_path} is to be both parts: name two files")
    for path in (train_path, dev_path):
        path.parent.mkdir(parents=True, exist_ok=True)
    for path, content in ((train_path, parts.train), (dev_path, parts.dev)):
        replace_files(path.parent, {path.name: content})
    what = "lines" if suffix == SUFFIX else "documents"
    places = [f"{name}: {what} {', '.join(map(str, numbers))}" for name, numbers in parts.kept.items()]
    n_kept = sum(map(len, parts.kept.values()))
    msg.info(f"Kept back {n_kept:,} of {parts.n_units:,} {parts.kind}, by seed {seed}:", "\n".join(places))
    for path, size in ((train_path, parts.size - parts.dev_size), (dev_path, parts.dev_size)):
        msg.good(f"Saved {counted(size, parts.measure)} to {path}")
