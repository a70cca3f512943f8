"""The reader "spacy-ssvm.Corpus.v1": spaCy's Corpus, with predicted Docs that carry given or predicted annotation.

Documents of .spacy and .conllu files are read one at a time, and split into sentences without a copy of the document.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, cast
from weakref import WeakKeyDictionary

import numpy as np
from spacy.attrs import LEMMA, MORPH, NORM, ORTH, POS, SENT_START, SPACY, TAG
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Corpus, Example
from spacy.training.corpus import FILE_TYPE
from spacy.util import ensure_path
from spacy.vocab import Vocab

from ..files import report_left_out
from ..wording import quoted, quoted_text
from ..words import example_of_words, origin_of, tokens_of
from . import conllu_reader
from .columns import may_have_columns, read_columns
from .jackknife import Jackknife
from .texts import reading_docs, some_docs

SUFFIXES = (FILE_TYPE, conllu_reader.SUFFIX)
"""The ends of the names of files that are read."""


def corpus_files(path: Path) -> list[Path]:
    """The file at the path, or the files of the folder and the folders in it that can be read, but hidden ones."""
    if not path.is_dir():
        return [path]
    files = (file for file in path.rglob("*") if file.name.endswith(SUFFIXES) and file.is_file())
    return sorted(file for file in files if not any(part.startswith(".") for part in file.relative_to(path).parts))


def kind_of(files: Iterable[Path]) -> str:
    """The kind of pieces, sentences or documents, in which unreadable parts of these files are left out."""
    return "documents" if any(file.name.endswith(FILE_TYPE) for file in files) else "sentences"


class SentenceCorpus(Corpus):
    """spaCy's Corpus, which also reads CoNLL-U and a file of columns.

    Documents that cannot be read, and sentences of text files, are left out, with a warning at the end. With
    gold_preproc, a document of one sentence is used as it is, without a copy.

    Args:
        gold_tokens: predicted Docs are whole documents, but have the tokens of the reference.
        merge_subtokens: whether a multi-word token of CoNLL-U is one token.

    Attributes:
        left_out: what could not be read in the last pass, each with its place and the error.
        place: where the last document was read, for messages: a file, and a number, from 0, or a line, from 1.
    """

    left_out: list[str]
    place: str

    def __init__(
        self,
        path: str | Path,
        *,
        limit: int = 0,
        gold_preproc: bool = False,
        max_length: int = 0,
        augmenter: Callable | None = None,
        gold_tokens: bool = False,
        merge_subtokens: bool = False,
    ) -> None:
        super().__init__(path, limit=limit, gold_preproc=gold_preproc, max_length=max_length, augmenter=augmenter)
        self.gold_tokens = gold_tokens or gold_preproc
        self.merge_subtokens = merge_subtokens

    def __call__(self, nlp: Language) -> Iterator[Example]:
        """Yield the examples.

        Raises:
            ValueError: a file cannot be read, or there are documents, but none of them can be read.
        """
        files = corpus_files(self.path)
        if not files:
            warnings.warn(f"{self.path} contains no .spacy or .conllu file", stacklevel=2)
        docs = self.read_docbin(nlp.vocab, files)
        make = self.make_examples_gold_preproc if self.gold_preproc else self.make_examples
        is_empty = True
        for example in chain.from_iterable(self.augmenter(nlp, example) for example in make(nlp, docs)):
            is_empty = False
            yield example
        report_left_out(self.path, self.left_out, is_empty, kind_of(files))

    def read_docbin(self, vocab: Vocab, locs: Iterable[str | Path]) -> Iterator[Doc]:
        """The documents with tokens in these files, at most `limit` of them."""
        self.left_out = []
        n_docs = 0
        for path in map(ensure_path, locs):
            if path.name.endswith(conllu_reader.SUFFIX):
                docs = self._docs_of_sentences(path, vocab)
            elif path.name.endswith(FILE_TYPE):
                docs = self._docs(path, vocab)
            elif may_have_columns(path):
                found = enumerate(read_columns(path, vocab, self.left_out))
                docs = ((f"{path.name}, document {number}", doc) for number, doc in found)
            else:
                continue
            for place, doc in docs:
                if len(doc):
                    self.place = place
                    yield doc
                    n_docs += 1
                    if n_docs == self.limit:
                        return

    def make_examples(self, nlp: Language, reference_docs: Iterable[Doc]) -> Iterator[Example]:
        """The examples of each Doc: one, or several if it has max_length tokens or more."""
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
            except MemoryError:
                raise
            except Exception as error:
                self.left_out.append(f"{self.place}, {quoted(doc)}: {error}")
            else:
                # Sentences of a Doc do not keep `has_unknown_spaces`.
                is_given = self.max_length > 0 and doc.has_unknown_spaces
                for example in examples:
                    reference = example.reference
                    yield Example(unannotated(reference), reference) if is_given else example

    def _make_example(self, nlp: Language, reference: Doc, gold_preproc: bool) -> Example:
        is_given = gold_preproc or self.gold_tokens or reference.has_unknown_spaces
        return Example(unannotated(reference) if is_given else nlp.make_doc(reference.text), reference)

    def _docs_of_sentences(self, path: Path, vocab: Vocab) -> Iterator[tuple[str, Doc]]:
        """The documents in a CoNLL-U file, with their places; with gold_preproc, the sentences.

        Sentences that cannot be read are left out.
        """
        with_entities = conllu_reader.has_entities(path)
        for blocks in conllu_reader.texts(conllu_reader.read_blocks(path), one_each=self.gold_preproc):
            sentences = [sentence for _, sentence in conllu_reader.sentences(path, blocks, self.left_out)]
            if self.merge_subtokens:
                sentences = list(map(conllu_reader.merged, sentences))
            if sentences:
                yield conllu_reader.place_of(path, blocks), conllu_reader.doc_of(sentences, vocab, with_entities)

    def _docs(self, path: Path, vocab: Vocab) -> Iterator[tuple[str, Doc]]:
        """The documents in a .spacy file that can be read, with their places: numbers, from 0."""
        with reading_docs(path):
            stored = DocBin().from_disk(path)
        for string in stored.strings:
            vocab[string]
        for number in range(len(stored)):
            place = f"{path.name}, document {number}"
            try:
                doc = _doc(stored, number, vocab)
            except MemoryError:
                raise
            except Exception as error:
                orths = stored.tokens[number][:, stored.attrs.index(ORTH)].tolist()
                words = " ".join(vocab.strings[orth] for orth in orths if orth in vocab.strings)
                self.left_out.append(f"{place}, {quoted_text(words)}: {error}")
            else:
                yield place, doc


def _doc(stored: DocBin, number: int, vocab: Vocab) -> Doc:
    """The document with this number; other documents need not be readable."""
    single = some_docs(stored, [number])
    # The vocabulary has them.
    single.strings = set()
    return next(single.get_docs(vocab))


def unannotated(doc: Doc) -> Doc:
    """A Doc with the same tokens and nothing else, which takes less time and memory than a copy."""
    tokens = np.asarray(doc.to_array([ORTH, SPACY]))
    return Doc(doc.vocab, words=tokens[:, 0].tolist(), spaces=tokens[:, 1].tolist())


def same_tokens(example: Example) -> bool:
    """Whether the predicted and the reference Doc consist of the same words."""
    predicted, reference = example.predicted, example.reference
    return len(predicted) == len(reference) and np.array_equal(predicted.to_array(ORTH), reference.to_array(ORTH))


COLUMNS = {"tag": TAG, "pos": POS, "lemma": LEMMA, "morph": MORPH, "norm": NORM, "sent_start": SENT_START}

TAGS = ("tag", "pos", "morph")
"""Columns that can be jackknifed."""

MAX_CACHED = 2_000_000
"""The size, in tokens, up to which a corpus is kept in memory; a larger one is read from disk in each pass.

Also the number of tokens that are jackknifed together.
"""


class CachedCorpus(NamedTuple):
    """A corpus in memory.

    Attributes:
        files: the path, time and size of each file at the time of reading.
        docs: predicted and reference Docs; in place of a predicted Doc that can be made from its reference, its
            jackknifed columns, uint64, an array for each.
    """

    files: list[tuple[Path, int, int]]
    docs: list[tuple[Doc | list[np.ndarray], Doc]]


_kept_with_gold_tokens: WeakKeyDictionary[Language, dict[Any, CachedCorpus]] = WeakKeyDictionary()
"""Corpora with gold tokens, by the settings of their reader, since `spacy train` makes two readers of a corpus.

Other corpora belong to their reader, since the tokenizer of a pipeline can change.
"""


class ColumnCorpus:
    """Examples whose predicted Docs carry columns, copied from the reference or predicted by jackknifing.

    Args:
        corpus: the source of the examples.
        columns: the columns to copy, among tag, pos, lemma, morph, norm and sent_start.
        keep: keep the corpus in memory, so that it is read once and not at each evaluation; each pass then has the same
            references.
        jackknife: the columns to predict, among tag and pos.
        folds: the number of taggers trained for each of these; each predicts documents that it has not learnt from.
        seed: the seed of the order in which the taggers learn.

    Raises:
        ValueError: a column is unknown or in both lists; folds is less than 2; seed is negative.
    """

    def __init__(
        self,
        corpus: SentenceCorpus,
        columns: Sequence[str],
        keep: bool = True,
        jackknife: Sequence[str] = (),
        folds: int = 5,
        seed: int = 0,
    ) -> None:
        for argument, names, known in (("columns", columns, sorted(COLUMNS)), ("jackknife", jackknife, list(TAGS))):
            unknown = sorted(set(names) - set(known))
            if unknown:
                raise ValueError(f"spacy-ssvm.Corpus.v1: {argument} names {unknown}; it can name {known}")
        both = sorted(set(columns) & set(jackknife))
        if both:
            raise ValueError(
                f"spacy-ssvm.Corpus.v1: both columns and jackknife name {both}; tags are either given or predicted"
            )
        if folds < 2:
            raise ValueError(f"spacy-ssvm.Corpus.v1: folds must be at least 2, not {folds}")
        if seed < 0:
            raise ValueError(f"spacy-ssvm.Corpus.v1: seed must not be negative, not {seed}")
        self.corpus = corpus
        self.columns = tuple(columns)
        self.keep = keep
        self.jackknife = tuple(dict.fromkeys(jackknife))
        self.folds = folds
        self.seed = seed
        self._kept: WeakKeyDictionary[Language, dict[Any, CachedCorpus]] = WeakKeyDictionary()

    def __call__(self, nlp: Language) -> Iterator[Example]:
        """Yield the examples; a token that is not aligned with a single reference token gets no given value.

        Raises:
            ValueError: there is nothing at the path, or fewer than two documents have a column to jackknife.
        """
        self.require_path(nlp)
        kept = (_kept_with_gold_tokens if self.corpus.gold_tokens else self._kept).setdefault(nlp, {})
        settings, files = self._settings(), self._files()
        if self.keep and settings in kept and kept[settings].files == files:
            for predicted, reference in kept[settings].docs:
                if isinstance(predicted, Doc):
                    yield Example(predicted.copy(), reference)
                    continue
                example = self._with_columns(Example(unannotated(reference), reference))
                for name, values in zip(self.jackknife, predicted):
                    _write(example, name, values)
                yield example
            return
        in_zone = cast(Any, nlp.vocab).in_memory_zone  # Its Docs must not outlive it.
        docs: list[tuple[Doc | list[np.ndarray], Doc]] | None = [] if self.keep and not in_zone else None
        n_tokens = 0
        for example in self._read(nlp):
            n_tokens += len(example.reference)
            if n_tokens > MAX_CACHED:
                docs = None
            if docs is not None:
                predicted = example.predicted
                made = [np.asarray(predicted.to_array(COLUMNS[name]), np.uint64) for name in self.jackknife]
                docs.append((made if self.corpus.gold_tokens else predicted.copy(), example.reference))
            yield example
        if docs is not None:
            kept[settings] = CachedCorpus(files, docs)

    def require_path(self, nlp: Language) -> None:
        """Raise a ValueError that names the setting in `nlp.config`, if there is no file to read at the path."""
        path = self.corpus.path
        paths = nlp.config.get("paths") or {}
        settings = [f"paths.{name}" for name, value in paths.items() if value and Path(value) == path]
        where = f" ({', '.join(settings)})" if settings else ""
        if not path.exists():
            raise ValueError(
                f'spacy-ssvm.Corpus.v1: there is no file or folder "{path}"{where}: check paths.train and paths.dev'
            )
        files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
        has_columns = path.is_file() and may_have_columns(path)
        if files and not has_columns and not any(file.name.endswith(SUFFIXES) for file in files):
            raise ValueError(
                f'spacy-ssvm.Corpus.v1: "{path}"{where} is not, or does not contain, a .spacy or .conllu file: name '
                "one file of columns, or convert others with python -m spacy convert"
            )

    def _settings(self) -> tuple[Any, ...]:
        corpus = self.corpus
        read = corpus.path, corpus.gold_preproc, corpus.max_length, corpus.limit
        return *read, corpus.gold_tokens, corpus.merge_subtokens, self.columns, self.jackknife, self.folds, self.seed

    def _files(self) -> list[tuple[Path, int, int]]:
        paths = corpus_files(self.corpus.path)
        return [(path, (stat := path.stat()).st_mtime_ns, stat.st_size) for path in paths]

    def _read(self, nlp: Language) -> Iterator[Example]:
        examples = map(self._with_columns, self.corpus(nlp))
        if not self.jackknife:
            return examples
        return chain.from_iterable(map(partial(self._jackknifed, _max_threads(nlp)), _parts(examples)))

    def _with_columns(self, example: Example) -> Example:
        if self.corpus.gold_preproc and len(example.predicted):
            starts = np.full(len(example.predicted), -1, np.int64)
            starts[0] = 1
            example.predicted.from_array([SENT_START], cast(Any, starts.view(np.uint64)))
        for name in self.columns:
            _write(example, name, _aligned(example, name))
        return example

    def _jackknifed(self, n_threads: int, examples: list[Example]) -> list[Example]:
        """Examples with predicted tags on their predicted Docs."""
        filled = [words for example in examples if len((words := example_of_words(example)).predicted)]
        if not filled:
            return examples
        jackknife = Jackknife([example.predicted for example in filled], self.folds, self.seed, n_threads)
        ends = np.cumsum([len(example.predicted) for example in filled])
        for name in self.jackknife:
            gold = np.concatenate([_aligned(example, name) for example in filled])
            if name == "tag":
                gold = _without_negative(gold, filled[0].reference.vocab)
            predicted = jackknife.predict(gold, f'column "{name}" of {self.corpus.path}')
            for example, part in zip(filled, np.split(predicted, ends[:-1])):
                doc, tokens = origin_of(example.predicted), tokens_of(example.predicted)
                values = part
                if tokens is not None:
                    values = np.zeros(len(doc), np.uint64)
                    values[tokens] = part
                doc.from_array([COLUMNS[name]], cast(Any, values))
        return examples


def _max_threads(nlp: Language) -> int:
    """The largest n_threads of a component."""
    return max((block.get("n_threads") or 1 for block in nlp.config.interpolate()["components"].values()), default=1)


def _parts(examples: Iterable[Example]) -> Iterator[list[Example]]:
    """The examples in lists of at most MAX_CACHED tokens and one example; of several lists, each has at least half."""
    part: list[Example] = []
    n_tokens = 0
    for example in examples:
        part.append(example)
        n_tokens += len(example.predicted)
        if n_tokens > MAX_CACHED and len(part) > 1:
            half = len(part) // 2
            yield part[:half]
            part = part[half:]
            n_tokens = sum(len(example.predicted) for example in part)
    if part:
        yield part


def _aligned(example: Example, name: str) -> np.ndarray:
    """The reference's values for the predicted tokens, uint64 [T]; 0 without a value or a single aligned token."""
    if same_tokens(example):
        return np.asarray(example.reference.to_array(COLUMNS[name]), np.uint64)
    return np.array([value or 0 for value in example.get_aligned(COLUMNS[name])], np.uint64)


def _write(example: Example, name: str, values: np.ndarray) -> None:
    example.predicted.from_array([COLUMNS[name]], cast(Any, values))


def _without_negative(gold: np.ndarray, vocab: Vocab) -> np.ndarray:
    """Tags, uint64 [T], with 0 for negative ones such as "!NN", which exclude a tag."""
    tags = np.unique(gold)
    negative = [tag for tag in tags if len(text := vocab.strings[int(tag)]) > 1 and text.startswith("!")]
    return np.where(np.isin(gold, np.array(negative, np.uint64)), np.uint64(0), gold)


def create_corpus(
    path: Path | None,
    columns: list[str] | None = None,
    gold_preproc: bool = False,
    max_length: int = 0,
    limit: int = 0,
    augmenter: Callable[[Language, Example], Iterable[Example]] | None = None,
    jackknife: list[str] | None = None,
    folds: int = 5,
    seed: int = 0,
    gold_tokens: bool = False,
    merge_subtokens: bool = False,
) -> ColumnCorpus:
    """The registered reader. It has all arguments of spacy.Corpus.v1, and those below.

    With gold_preproc, each predicted Doc is marked as one sentence.

    Args:
        columns: annotation that components get from the reference.
        jackknife: annotation that they get from a tagger trained on other documents, so that a parser learns from tags
            with errors, as in use.
        folds, seed: as for `ColumnCorpus`.
        gold_tokens, merge_subtokens: as for `SentenceCorpus`.

    Raises:
        ValueError: no path is given; a column has an unknown name or is in both lists; folds is less than 2; seed is
            negative.
    """
    if path is None:
        raise ValueError(
            "spacy-ssvm.Corpus.v1 has no path: set [paths] in the config, or --paths.train and --paths.dev"
        )
    corpus = SentenceCorpus(
        path,
        gold_preproc=gold_preproc,
        max_length=max_length,
        limit=limit,
        augmenter=augmenter,
        gold_tokens=gold_tokens,
        merge_subtokens=merge_subtokens,
    )
    return ColumnCorpus(
        corpus, columns or [], augmenter is None, jackknife=jackknife or [], folds=int(folds), seed=int(seed)
    )
