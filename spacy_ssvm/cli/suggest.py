"""`spacy ssvm suggest`: which texts to annotate next."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, NamedTuple, cast

import srsly
import typer
from spacy.attrs import SENT_START
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from wasabi import msg

from ..corpus.reader import unannotated
from ..corpus.texts import find_files, reading_docs, record_of
from ..files import format_of, read_records
from ..pipeline.component import SsvmPipe
from .reading import CodePath, PipelineName, failing, file_to_write, load_pipeline


class Text(NamedTuple):
    """A text that may be suggested.

    Attributes:
        line: the number of its line, or of its Doc in a .spacy file, from 1.
        record: its fields, at least "text".
    """

    line: int
    record: dict[str, Any]
    doc: Doc


@failing()
def suggest_command(
    model: PipelineName,
    texts_path: Annotated[
        Path,
        typer.Argument(
            help='Texts: .txt with one a line, .jsonl with "text" (both also .gz), or .spacy',
            exists=True,
            dir_okay=False,
        ),
    ],
    number: Annotated[int, typer.Option("--number", "-k", min=1, help="Number of texts to suggest")] = 100,
    component: Annotated[
        str | None, typer.Option("--component", "-n", help="Component to annotate for, if there are several")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="JSONL file for the suggestions, in place of standard output",
            callback=file_to_write,
        ),
    ] = None,
    code_path: CodePath = None,
) -> None:
    """Rank the texts that a component would learn most from, as JSONL: the text, its score, and its line.

    A text counts by the tokens that the component is unsure of, and less if texts before it have these words, too.
    """
    nlp, pipes = load_pipeline(model, code_path)
    pipe = _component(model, pipes, component)
    texts = list(texts_of(nlp, texts_path))
    if not texts:
        raise ValueError(f"No texts in {texts_path}")
    with nlp.select_pipes(enable=nlp.pipe_names[: nlp.pipe_names.index(pipe.name)]):
        docs = list(nlp.pipe(text.doc for text in texts))
    found = [
        {**texts[place].record, "score": round(score, 4), "line": texts[place].line}
        for place, score in islice(pipe.suggest(docs), number)
    ]
    if output is None:
        for record in found:
            typer.echo(srsly.json_dumps(record))
    else:
        output.parent.mkdir(parents=True, exist_ok=True)
        srsly.write_jsonl(output, found)
        msg.good(f"Saved {len(found):,} suggestions out of {len(texts):,} texts to {output}")


def _component(model: str, pipes: dict[str, SsvmPipe], name: str | None) -> SsvmPipe:
    """The named component, or the only one; the command fails if there is none, or if several are possible."""
    if name is None and len(pipes) > 1:
        msg.fail(
            f"{model} has several components to annotate for: name one by --component {' or '.join(pipes)}", exits=1
        )
    if name is not None and name not in pipes:
        msg.fail(f"{model} has no spacy-ssvm component {name}; it has {', '.join(pipes)}", exits=1)
    return pipes[name or next(iter(pipes))]


def texts_of(nlp: Language, path: Path) -> Iterator[Text]:
    """The texts of a file, without empty ones and lines that cannot be read.

    Raises:
        ValueError: the file is in another format, or cannot be read, or none of its lines can.
    """
    find_files([path])
    if path.suffix == ".spacy":
        with reading_docs(path):
            stored = list(DocBin().from_disk(path).get_docs(nlp.vocab))
        for number, doc in enumerate(stored, 1):
            if len(doc):
                yield Text(number, {"text": doc.text}, _without_annotation(doc))
        return
    is_jsonl = format_of(path) == ".jsonl"

    def text_in(line: str) -> tuple[dict[str, Any], Doc]:
        record = record_of(line) if is_jsonl else {"text": line.strip()}
        return record, nlp.make_doc(record["text"])

    for number, (record, doc) in read_records(path, text_in):
        if record["text"].strip():
            yield Text(number, record, doc)


def _without_annotation(doc: Doc) -> Doc:
    """A Doc of the same tokens, and sentences if known, without annotation that would constrain predictions."""
    bare = unannotated(doc)
    if doc.has_annotation("SENT_START"):
        bare.from_array([SENT_START], cast(Any, doc.to_array([SENT_START])))
    return bare
