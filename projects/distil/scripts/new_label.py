"""A label that the teacher lacks: silver sentences that leave open what the teacher has left out.

A silver sentence says "outside" where an entity of the new label may be. Learnt from as it is, it unlearns the label.
"""

from pathlib import Path
from typing import Annotated

import typer
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from spacy_ssvm.corpus.reader import corpus_files


def new_label(
    silver: Annotated[Path, typer.Argument(help="File or folder that the teacher has annotated")],
    output: Annotated[Path, typer.Argument(help="Folder for the same with open tokens; a new one")],
) -> None:
    """Leave open whether tokens outside of the teacher's entities are in one."""
    output.mkdir(parents=True)
    vocab = Vocab()
    for number, file in enumerate(corpus_files(silver)):
        docs = DocBin().from_disk(file).get_docs(vocab)
        DocBin(docs=map(opened, docs)).to_disk(output / f"{number:06}.spacy")


def opened(doc: Doc) -> Doc:
    """The Doc, whose tokens outside of entities are no longer annotated."""
    doc.set_ents(list(doc.ents), default="missing")
    return doc


if __name__ == "__main__":
    typer.run(new_label)
