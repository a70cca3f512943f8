"""A corpus, as stored in its files and as seen in training, and the issues that checks find in it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Concatenate, Literal, NamedTuple, ParamSpec

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Corpus, Example
from spacy.training.corpus import FILE_TYPE, walk_corpus

from ...wording import quoted, quoted_text
from ...words import token_of
from ..reader import ColumnCorpus, SentenceCorpus, corpus_files, kind_of
from ..tokenisation import Retokenised, retokenised

Severity = Literal["error", "warning", "info"]
P = ParamSpec("P")

SAME_TOKENS = "adapt the tokenizer, or train on gold tokens (gold_tokens = true in spacy-ssvm.Corpus.v1)"
"""Advice where the tokens of the tokenizer differ from those of the annotation."""


@dataclass(frozen=True)
class Issue:
    """A kind of problem in a corpus, with the places where it occurs.

    Attributes:
        severity: "error" if training refuses, drops or changes the annotation; "warning" if it can cost accuracy;
            "info" otherwise.
        corpus: "train" or "dev".
        what: the name of the issue, in the plural.
        count: how often it occurs; 0 if things that are needed are missing.
        where: places or labels.
        remedy: what to do, and why.
        total: the number of things checked, where a share is informative.
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
    """One issue with all these places, or none if there are no places."""
    return [Issue(severity, corpus, what, len(where), tuple(where), remedy, total)] if where else []


def place(document: str, doc: Doc, first: int, end: int) -> str:
    """The name of tokens first … end − 1 of a Doc, with their text."""
    start, last = token_of(doc, first), token_of(doc, end - 1)
    tokens = f"token {start}" if last == start else f"tokens {start}-{last}"
    return f"{document}, {tokens}: {quoted_text(doc[first:end].text)}"


def whole(document: str, doc: Doc) -> str:
    """The name of a Doc, with its first words."""
    return f"{document}: {quoted(doc)}"


Reader = Callable[[Language], Iterable[Example]]


class Document(NamedTuple):
    """A Doc with the name of its place: its file and number, from 0."""

    name: str
    doc: Doc


@dataclass(frozen=True)
class CorpusData:
    """A corpus as read.

    Attributes:
        name: "train" or "dev".
        documents: the documents of its files, or, for a reader without files, the references of the examples.
        examples: the reader's examples, without empty ones.
        left_out: the documents or sentences that the reader "spacy-ssvm.Corpus.v1" cannot read, each with its error;
            `pieces` says which of the two they are.
        failure: the error that stopped the reader, or None.
        gold_preproc: whether each sentence becomes an example.
        max_length: the number of tokens from which spaCy's reader cuts documents into sentences; 0 for no limit.
        retokenised: the documents as the pipeline's tokenizer divides them, None if it cannot.
        jackknife: the columns that the reader is to jackknife.
    """

    name: str
    documents: list[Document]
    examples: list[Example]
    left_out: list[str]
    pieces: str
    failure: str | None
    gold_preproc: bool
    max_length: int
    retokenised: Retokenised | None
    jackknife: tuple[str, ...] = ()

    @property
    def n_tokens(self) -> int:
        """The number of tokens that components see."""
        return sum(len(example.predicted) for example in self.examples)


def read(name: str, reader: Reader, nlp: Language) -> CorpusData:
    """Read a whole corpus, without jackknifing: predicted tags say nothing about the data.

    Raises:
        OSError, ValueError: there are no such files, or they cannot be read.
    """
    jackknife: tuple[str, ...] = ()
    if isinstance(reader, ColumnCorpus):
        reader.require_path(nlp)
        jackknife = reader.jackknife
        reader = copy(reader)
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
    pieces = kind_of(corpus_files(files.path)) if isinstance(files, SentenceCorpus) else "documents"
    if not isinstance(files, Corpus):
        documents = [Document(example_name(place), example.reference) for place, example in enumerate(examples)]
    gold_preproc, max_length = (files.gold_preproc, files.max_length) if isinstance(files, Corpus) else (False, 0)
    again = retokenised(nlp, [document.doc for document in documents])
    return CorpusData(name, documents, examples, left_out, pieces, failure, gold_preproc, max_length, again, jackknife)


def check(
    severity: Severity, what: str, remedy: str, total: Callable[[CorpusData], int | None] = lambda corpus: None
) -> Callable[[Callable[Concatenate[CorpusData, P], Iterable[str]]], Callable[Concatenate[CorpusData, P], list[Issue]]]:
    """A check from a function that returns the places of an issue in a corpus; the rest is as in `Issue`."""

    def made(find: Callable[Concatenate[CorpusData, P], Iterable[str]]) -> Callable[..., list[Issue]]:
        def found(corpus: CorpusData, *args: P.args, **kwargs: P.kwargs) -> list[Issue]:
            return issues(severity, corpus.name, what, list(find(corpus, *args, **kwargs)), remedy, total(corpus))

        return found

    return made


def count_sentences(docs: Sequence[Doc]) -> int | None:
    """The number of annotated sentences; None if a Doc has no sentence boundaries."""
    if not all(doc.has_annotation("SENT_START") for doc in docs):
        return None
    return sum(len(list(doc.sents)) for doc in docs)


def example_name(number: int) -> str:
    """The display name of the reader's n-th example, counted from 0."""
    return f"example {number}"


def _documents(corpus: Corpus, nlp: Language) -> Iterator[Document]:
    ours = corpus if isinstance(corpus, SentenceCorpus) else None
    for path in walk_corpus(corpus.path, FILE_TYPE) if ours is None else corpus_files(corpus.path):
        try:
            for number, doc in enumerate(corpus.read_docbin(nlp.vocab, [path])):
                yield Document(f"{path.name}, document {number}" if ours is None else ours.place, doc)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
