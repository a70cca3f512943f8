"""The files of a session: the taught annotation, and the taught pipeline."""

import shutil
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc, DocBin

from ..corpus.conllu import conllu
from ..pipeline.component import SsvmPipe
from ..words import copy_of
from .lessons import Lessons, Subject
from .views import Taught, View

PIPELINE, ANNOTATION = "pipeline", "annotation"


def exported(lessons: Lessons) -> dict[str, bytes]:
    """The files of taught annotation: in .spacy, the rest is missing; in .conllu, it is predicted.

    Trees are completed in both: a Doc with a part of a tree does not keep its sentences.
    """
    gold, complete = DocBin(store_user_data=False), []
    pipes = {name: _keeping(view) for name, view in lessons.views.items()}
    for document in lessons.taught_texts:
        doc, processed = lessons.nlp.make_doc(lessons.texts[document]), lessons.processed(document)
        completed = _completed(lessons, document, processed, pipes)
        for name, view in lessons.views.items():
            taught = lessons.taught.get(Subject(document, name))
            if taught is not None:
                is_tree = view.kind == "arcs"
                view.write(doc, Taught(tuple(view.items(completed))) if is_tree else taught, completed)
        gold.add(doc)
        complete.append(conllu(completed))
    return {f"{ANNOTATION}.spacy": gold.to_bytes(), f"{ANNOTATION}.conllu": "".join(complete).encode()}


def save(nlp: Language, folder: Path) -> Path:
    """Save a pipeline below a folder, and return where. Until it is complete, an earlier one stays.

    Raises:
        OSError: the disk is full, or the folder cannot be written to.
    """
    output = folder / PIPELINE
    new, old = (output.with_name(f"{PIPELINE}.{suffix}") for suffix in ("new", "old"))
    shutil.rmtree(new, ignore_errors=True)
    nlp.to_disk(new)
    if output.exists():
        shutil.rmtree(old, ignore_errors=True)
        output.rename(old)
    new.rename(output)
    shutil.rmtree(old, ignore_errors=True)
    return output


def _keeping(view: View) -> SsvmPipe:
    """A copy of a component that keeps the annotation that it finds."""
    pipe: Any = copy(view.pipe)
    if hasattr(pipe.codec, "overwrite"):
        pipe.codec = replace(pipe.codec, overwrite=False)
    return pipe  # type: ignore[no-any-return]


def _completed(lessons: Lessons, document: str, processed: Doc, pipes: Mapping[str, SsvmPipe]) -> Doc:
    """A text with its taught annotation, and the best analysis that agrees with it, if there is one."""
    doc = lessons.nlp.make_doc(lessons.texts[document])
    for name, pipe in lessons.nlp.pipeline:
        taught = lessons.taught.get(Subject(document, name))
        if taught is None:
            doc = pipe(doc)
            continue
        begun = copy_of(doc)
        try:
            lessons.views[name].write(doc, taught, processed)
            doc = pipes[name](doc)
        except ValueError:
            doc = pipe(begun)  # What comes before it has changed.
    return doc
