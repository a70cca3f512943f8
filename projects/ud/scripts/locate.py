"""The files of a treebank: found in a folder, or downloaded."""

import os
import shutil
import urllib.request
from pathlib import Path

PARTS = ("train", "dev", "test")


def locate(source: str, assets: Path) -> Path:
    """The prefix of a treebank's files, such as `FOLDER/hu_szeged-ud`, to which `-train.conllu` is added.

    source: a prefix; a folder with one treebank; an address that ends in a prefix, whose files are downloaded to
    `assets`; or the name of a treebank, such as hu_szeged, somewhere in SPACY_SSVM_DATA or `assets`.

    Raises:
        ValueError: there is no training file, or there are several.
    """
    if source.startswith(("http://", "https://")):
        return _download(source, assets)
    path = Path(source)
    if (found := _named(path, "train")).is_file():
        return path
    if path.is_dir():
        files = sorted(path.glob("*-train.conllu"))
    elif path.name == source:
        files = sorted(Path(os.environ.get("SPACY_SSVM_DATA", assets)).rglob(f"{source}-ud-train.conllu"))
    else:
        files = []
    if len(files) != 1:
        raise ValueError(
            f"{source}: {len(files)} training files, and not one. Name a folder, the prefix of files such as {found}, "
            "an address, or a treebank in SPACY_SSVM_DATA"
        )
    return files[0].with_name(files[0].name.removesuffix("-train.conllu"))


def part(prefix: Path, name: str) -> Path:
    """The file of this part, among PARTS.

    Raises:
        ValueError: there is none.
    """
    file = _named(prefix, name)
    if not file.is_file():
        raise ValueError(f"the treebank has no file {file}")
    return file


def _named(prefix: Path, name: str) -> Path:
    return prefix.with_name(f"{prefix.name}-{name}.conllu")


def _download(address: str, assets: Path) -> Path:
    prefix = assets / address.rsplit("/", 1)[1]
    assets.mkdir(parents=True, exist_ok=True)
    for name in PARTS:
        file = _named(prefix, name)
        if not file.exists():
            unfinished = file.with_suffix(".part")
            with urllib.request.urlopen(f"{address}-{name}.conllu") as response, unfinished.open("wb") as output:
                shutil.copyfileobj(response, output)
            unfinished.rename(file)
    return prefix
