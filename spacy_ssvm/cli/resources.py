"""`spacy ssvm resources`: word lists of a language, from the packages that are installed."""

from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..corpus.word_lists import MANIFEST, make_lists
from .reading import failing
from .settings import ANY_LANGUAGE, spacy_language


@failing("No lists were made")
def resources_command(
    lang: Annotated[str, typer.Argument(help="Code of the language")],
    folder: Annotated[Path, typer.Argument(help="Folder for the lists", file_okay=False)],
    gazetteers: Annotated[
        list[str] | None,
        typer.Option("--gazetteer", "-g", help="NAME=FILE: a gazetteer of your own, one phrase a line; repeatable"),
    ] = None,
) -> None:
    """Make word lists for features: clusters, lexicons, classes of frequency, and gazetteers of names and places.

    They come from the packages that are installed, which pip install "spacy-ssvm[resources]" brings; nothing is
    downloaded. The manifest in the folder names the source, the version, the licence and the size of each.
    """
    code, unknown = spacy_language(lang)
    if code == ANY_LANGUAGE != lang:
        raise ValueError(unknown)
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MANIFEST).is_file():
        raise ValueError(f"{folder} has other files: name a folder of its own")
    found = make_lists(code, folder, _named(gazetteers or []))
    rows = [
        (one.name, one.kind, f"{one.lines:,}", f"{one.size / 1e6:.1f}", f"{one.source} {one.version}", one.licence)
        for one in found.lists
    ]
    header = ("List", "Kind", "Lines", "MB", "Source", "Licence")
    msg.table(rows, header=header, divider=True, aligns=["l", "l", "r", "r", "l", "l"])
    for name, reason in found.lacking.items():
        msg.info(f"No {name}: {reason}")
    if any("not installed" in reason for reason in found.lacking.values()):
        msg.info('For all lists, run pip install "spacy-ssvm[resources]"')
    msg.good(f"Saved {len(found.lists)} lists to {folder}")


def _named(gazetteers: list[str]) -> dict[str, Path]:
    """The name and the file of each --gazetteer.

    Raises:
        ValueError: one is not NAME=FILE.
    """
    named: dict[str, Path] = {}
    for option in gazetteers:
        name, equals, path = option.partition("=")
        if not equals or not name or not path:
            raise ValueError(f"--gazetteer {option}: expected NAME=FILE, such as street=streets.txt")
        named[name] = Path(path)
    return named
