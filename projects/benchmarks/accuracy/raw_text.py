"""Raw text for word classes, a sentence or a paragraph a line: DATA_ROOT OUTPUT.

Writes OUTPUT/en.txt from four corpora of NLTK, OUTPUT/es.txt from CESS-ESP and OUTPUT/nl.txt from Alpino. The
environment variable SPACY_SSVM_DATA, if set, takes the place of DATA_ROOT.
"""

import argparse
import os
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

ENGLISH = ("movie_reviews", "abc", "state_union", "webtext")
_LEAF = re.compile(r"\([^\s()]+ ([^\s()]+) [^\s()]+\)")
_BRACKETS = {"-Fpa-": "(", "-Fpt-": ")"}


def members(path: Path, ending: str) -> Iterator[bytes]:
    """The files in an archive whose names end so, in the order of their names."""
    with zipfile.ZipFile(path) as archive:
        for name in sorted(archive.namelist()):
            if name.endswith(ending) and "README" not in name:
                yield archive.read(name)


def decoded(data: bytes) -> str:
    """Some files of a corpus are in UTF-8, others in Windows-1252."""
    try:
        return data.decode("utf8")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def english(folder: Path) -> Iterator[str]:
    for name in ENGLISH:
        for data in members(folder / f"{name}.zip", ".txt"):
            yield from decoded(data).splitlines()


def spanish(folder: Path) -> Iterator[str]:
    """Trees of CESS-ESP without empty subjects, and with the words of joined names apart."""
    for data in members(folder / "cess_esp.zip", ".tbf"):
        for tree in re.split(r"\n\(\s*\n", data.decode("latin-1")):
            words = [_BRACKETS.get(word, word) for word in _LEAF.findall(tree) if word != "*0*"]
            yield " ".join(words).replace("_", " ")


def dutch(folder: Path) -> Iterator[str]:
    """The words of Alpino's trees in the order of the sentence."""
    (data,) = members(folder / "alpino.zip", ".xml")
    for tree in ElementTree.fromstring(data).iter("alpino_ds"):
        words = [
            (int(node.attrib["begin"]), node.attrib["word"]) for node in tree.iter("node") if "word" in node.attrib
        ]
        yield " ".join(word for _, word in sorted(words))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("output", type=Path)
    given = parser.parse_args()
    root = Path(os.environ.get("SPACY_SSVM_DATA", given.root))
    given.output.mkdir(parents=True, exist_ok=True)
    for language, lines in (("en", english), ("es", spanish), ("nl", dutch)):
        text = "".join(f"{line.strip()}\n" for line in lines(root / "nltk") if line.strip())
        (given.output / f"{language}.txt").write_text(text, encoding="utf8", newline="\n")


if __name__ == "__main__":
    main()
