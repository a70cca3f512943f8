"""A corpus as its files hold it and as training sees it, and the issues that checks find in it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from spacy.attrs import ORTH
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Corpus, Example
from spacy.training.corpus import FILE_TYPE, walk_corpus

from ..reader import ColumnCorpus, SentenceCorpus
from ..wording import quoted, quoted_text

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True)
class Issue:
    """severity: "error" for what training refuses, drops or changes; "warning" for what can cost accuracy; "info" else.

    corpus: "train" or "dev". what: the name of the issue, in the plural. count: how often it occurs. where: places or
    labels. remedy: what to do, and why. total: the number of things that were checked, where that says something.
    """

    severity: Severity
    corpus: str
    what: str
    count: int
    where: tuple[str, ...]
    remedy: str
    total: int | None = None


def issues(
    severity: Severity, corpus: str, what: str, where: Sequence[str], remedy: str, total: int | None = None
) -> list[Issue]:
    """One issue of all these places, if there are any."""
    return [Issue(severity, corpus, what, len(where), tuple(where), remedy, total)] if where else []


def place(document: str, doc: Doc, first: int, end: int) -> str:
    """The tokens first … end − 1 of a Doc, quoted."""
    tokens = f"token {first}" if end == first + 1 else f"tokens {first}-{end - 1}"
    return f"{document}, {tokens}: {quoted_text(doc[first:end].text)}"


def whole(document: str, doc: Doc) -> str:
    """A Doc, by its first words."""
    return f"{document}: {quoted(doc)}"


Reader = Callable[[Language], Iterable[Example]]


class Document(NamedTuple):
    """A Doc with the name of its place: its file and number, from 0."""

    name: str
    doc: Doc


@dataclass(frozen=True)
class CorpusData:
    """name: "train" or "dev". documents: those of its files; of a reader without files, the examples' references.

    examples: what the reader makes of them, without empty ones. left_out: documents that our reader cannot read, and
    why. failure: why it has stopped, or None. gold_preproc: whether sentences become examples of their own. max_length:
    as in spaCy's reader, documents of so many tokens are cut into sentences; 0 for any number.
    """

    name: str
    documents: list[Document]
    examples: list[Example]
    left_out: list[str]
    failure: str | None
    gold_preproc: bool
    max_length: int

    @property
    def n_tokens(self) -> int:
        """Tokens that components see."""
        return sum(len(example.predicted) for example in self.examples)


def read(name: str, reader: Reader, nlp: Language) -> CorpusData:
    """Read all of a corpus. Columns that the reader would jackknife stay empty: predicted tags say nothing of the data.

    Raises:
        OSError, ValueError: the files cannot be read.
    """
    if isinstance(reader, ColumnCorpus):
        reader.jackknife = ()
    files = reader.corpus if isinstance(reader, ColumnCorpus) else reader
    documents = list(_documents(files, nlp)) if isinstance(files, Corpus) else []
    examples: list[Example] = []
    failure = None
    try:
        examples.extend(example for example in reader(nlp) if len(example.predicted))
    except ValueError as error:
        failure = str(error)
    left_out = files.left_out if isinstance(files, SentenceCorpus) else []
    if not isinstance(files, Corpus):
        documents = [Document(example_name(place), example.reference) for place, example in enumerate(examples)]
        return CorpusData(name, documents, examples, left_out, failure, gold_preproc=False, max_length=0)
    return CorpusData(name, documents, examples, left_out, failure, files.gold_preproc, files.max_length)


def example_name(number: int) -> str:
    """How an example is called that is the so-many-th, from 0, of those the reader makes."""
    return f"example {number}"


def has_own_tokens(example: Example) -> bool:
    """Whether the predicted tokens are other than the gold ones."""
    predicted, reference = example.predicted.to_array(ORTH), example.reference.to_array(ORTH)
    return not np.array_equal(predicted, reference)


def _documents(corpus: Corpus, nlp: Language) -> Iterator[Document]:
    for path in walk_corpus(corpus.path, FILE_TYPE):
        try:
            for number, doc in enumerate(corpus.read_docbin(nlp.vocab, [path])):
                yield Document(f"{path.name}, document {number}", doc)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
