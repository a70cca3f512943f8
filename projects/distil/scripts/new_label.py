"""A label that the teacher lacks: a student that has learnt it from gold sentences adds it to the silver ones.

A silver sentence says "outside" where an entity of the new label may be. Learnt from as it is, it unlearns the label.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import spacy
import typer
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example
from spacy.util import minibatch

from spacy_ssvm.corpus.reader import corpus_files, unannotated

EPOCHS, BATCH = 5, 8
"""How often gold sentences are shown to a loaded student, and how many at a time."""


def new_label(
    student: Annotated[Path, typer.Argument(help="Pipeline that has learnt from the silver sentences")],
    gold: Annotated[Path, typer.Argument(help="Sentences with the new label, and all others")],
    silver: Annotated[Path, typer.Argument(help="What the teacher has annotated")],
    output: Annotated[Path, typer.Argument(help="Folder for silver sentences with the new label, too; a new one")],
    component: str = "ner",
) -> None:
    """Teach a student the labels of gold sentences that it does not have, and add them to silver sentences."""
    nlp = spacy.load(student)
    known = set(nlp.get_pipe(component).labels)  # type: ignore[attr-defined]
    gold_docs = list(read(gold, nlp))
    labels = {ent.label_ for doc in gold_docs for ent in doc.ents} - known
    teach(nlp, component, gold_docs)
    output.mkdir(parents=True)
    for file in corpus_files(silver):
        docs = list(read(file, nlp))
        DocBin(docs=completed(nlp, docs, labels)).to_disk(output / file.name)
    print(f"{', '.join(sorted(labels))}: added to what {output} has")


def read(path: Path, nlp: Language) -> Iterator[Doc]:
    """The Docs in a file, or in all files of a folder."""
    for file in corpus_files(path):
        yield from DocBin().from_disk(file).get_docs(nlp.vocab)


def teach(nlp: Language, component: str, gold: Sequence[Doc]) -> None:
    """Let a component of a loaded pipeline learn from gold Docs; it adds the labels that it does not have."""
    examples = [Example(unannotated(doc), doc) for doc in gold]
    with nlp.select_pipes(enable=component):
        for _ in range(EPOCHS):
            for batch in minibatch(examples, BATCH):
                nlp.update(batch)


def completed(nlp: Language, silver: Iterable[Doc], labels: Collection[str]) -> Iterator[Doc]:
    """Silver Docs with entities of these labels, as the pipeline finds them outside of the teacher's entities."""
    docs = list(silver)
    for doc, found in zip(docs, nlp.pipe([unannotated(doc) for doc in docs])):
        taken = {token.i for ent in doc.ents for token in ent}
        new = [
            Span(doc, ent.start, ent.end, label=ent.label)
            for ent in found.ents
            if ent.label_ in labels and taken.isdisjoint(range(ent.start, ent.end))
        ]
        doc.set_ents([*doc.ents, *new])
        yield doc


if __name__ == "__main__":
    typer.run(new_label)
