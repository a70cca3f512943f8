"""spaCy's corpus of .spacy files, whose documents are read one by one, and as sentences without a copy."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
from spacy.attrs import ORTH, SENT_START, SPACY
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Corpus, Example
from spacy.training.corpus import FILE_TYPE
from spacy.util import ensure_path
from spacy.vocab import Vocab

from .unreadable import listed, quoted, quoted_text


class SentenceCorpus(Corpus):
    """spaCy's Corpus; a document that cannot be read is left out, with a warning at the end, and the others are read.

    With gold_preproc a document of one sentence is that sentence, instead of being copied to one.

    left_out: of the last pass, the documents that could not be read, and why.
    """

    left_out: list[str]
    _place: str

    def __call__(self, nlp: Language) -> Iterator[Example]:
        """Yield the examples.

        Raises:
            ValueError: there are documents, but none of them can be read.
        """
        is_empty = True
        for example in super().__call__(nlp):
            is_empty = False
            yield example
        if self.left_out and is_empty:
            raise ValueError(f"none of the documents of {self.path} can be read: {listed(self.left_out)}")
        if self.left_out:
            warnings.warn(
                f"{len(self.left_out):,} documents of {self.path} cannot be read and are left out: "
                f"{listed(self.left_out)}",
                stacklevel=2,
            )

    def read_docbin(self, vocab: Vocab, locs: Iterable[str | Path]) -> Iterator[Doc]:
        """The documents of these files that have tokens, as many as `limit` says."""
        self.left_out = []
        n_docs = 0
        for path in map(ensure_path, locs):
            if not path.name.endswith(FILE_TYPE):
                continue
            for number, doc in self._docs(path, vocab):
                if len(doc):
                    self._place = f"{path.name}, document {number}"
                    yield doc
                    n_docs += 1
                    if n_docs == self.limit:
                        return

    def make_examples(self, nlp: Language, reference_docs: Iterable[Doc]) -> Iterator[Example]:
        """The examples of each Doc: one, or several where it is too long."""
        return self._examples(super().make_examples, nlp, reference_docs)

    def make_examples_gold_preproc(self, nlp: Language, reference_docs: Iterable[Doc]) -> Iterator[Example]:
        """An example for each sentence of each Doc."""
        return self._examples(self._sentences, nlp, reference_docs)

    def _sentences(self, nlp: Language, docs: Iterable[Doc]) -> Iterator[Example]:
        for doc in docs:
            if (np.asarray(doc.to_array(SENT_START))[1:] == 1).any():
                yield from super().make_examples_gold_preproc(nlp, [doc])
            else:
                yield Example(unannotated(doc), doc)

    def _examples(
        self, make: Callable[[Language, Iterable[Doc]], Iterable[Example]], nlp: Language, docs: Iterable[Doc]
    ) -> Iterator[Example]:
        for doc in docs:
            try:
                examples = list(make(nlp, [doc]))
            except Exception as error:
                self.left_out.append(f"{self._place}, {quoted(doc)}: {error}")
            else:
                yield from examples

    def _docs(self, path: Path, vocab: Vocab) -> Iterator[tuple[int, Doc]]:
        """The documents of a file that can be read, with their numbers, from 0."""
        stored = DocBin().from_disk(path)
        for string in stored.strings:
            vocab[string]
        for number in range(len(stored)):
            try:
                doc = _doc(stored, number, vocab)
            except Exception as error:
                orths = stored.tokens[number][:, stored.attrs.index(ORTH)].tolist()
                words = " ".join(vocab.strings[orth] for orth in orths if orth in vocab.strings)
                self.left_out.append(f"{path.name}, document {number}, {quoted_text(words)}: {error}")
            else:
                yield number, doc


def _doc(stored: DocBin, number: int, vocab: Vocab) -> Doc:
    one = DocBin(attrs=())
    one.attrs = stored.attrs
    for part in ("tokens", "spaces", "cats", "flags", "span_groups", "user_data"):
        setattr(one, part, getattr(stored, part)[number : number + 1])
    return next(one.get_docs(vocab))


def unannotated(doc: Doc) -> Doc:
    """A Doc of the same tokens; it is made faster, and is smaller, than a copy."""
    tokens = np.asarray(doc.to_array([ORTH, SPACY]))
    return Doc(doc.vocab, words=tokens[:, 0].tolist(), spaces=tokens[:, 1].tolist())


def same_tokens(example: Example) -> bool:
    """Whether the predicted and the reference Doc consist of the same words."""
    predicted, reference = example.predicted, example.reference
    return len(predicted) == len(reference) and np.array_equal(predicted.to_array(ORTH), reference.to_array(ORTH))
