"""CoNLL-U files and Docs: gold words or raw text from a file, and a file from a Doc.

Files are checked by the scorer of the CoNLL 2018 shared task, from udtools.
"""

import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from spacy.tokens import Doc, Span, Token
from spacy.vocab import Vocab

from ..files import read_lines, text_of
from .conllu_reader import annotated, doc_of, merged, parse, read_blocks


def udeval() -> Any:
    """The module of the official scorer.

    Raises:
        ImportError: udtools is not installed.
    """
    try:
        from udtools import udeval
    except ImportError as error:
        raise ImportError("CoNLL-U files and CoNLL 2018 scores need udtools: pip install udtools") from error
    return udeval


class ConlluFile:
    """A CoNLL-U file that the official scorer accepts; empty nodes are skipped.

    text: its content, for the scorer.

    Raises:
        ImportError: udtools is not installed.
        ValueError: the file cannot be read, is not in UTF-8, has no sentences, or is not valid; the message names the
            line.
    """

    def __init__(self, path: Path) -> None:
        self._blocks = list(read_blocks(path))
        if not self._blocks:
            raise ValueError(f"{path.name} has no sentences")
        self.text = "".join(f"{line}\n" for line in _scored_lines(path))
        load(self.text, path.name)

    def docs(self, vocab: Vocab) -> Iterator[Doc]:
        """A Doc for each sentence: a token for each syntactic word, with its annotation and no enhanced dependencies.

        Raises:
            ValueError: spaCy does not accept the annotation of a sentence, such as a UPOS that UD does not have.
        """
        for number, block in enumerate(self._blocks, 1):
            try:
                yield doc_of([annotated(block)], vocab)
            except ValueError as error:
                raise ValueError(f"sentence {number} (line {block.line}): {error}") from error

    def texts(self) -> list[str]:
        """The raw text of each paragraph, as `# newpar` and `# newdoc` divide the file."""
        texts: list[str] = []
        for block in self._blocks:
            if not texts or block.begins_text:
                texts.append("")
            texts[-1] += "".join(token.form + " " * token.space for token in merged(parse(block)).words)
        return [text.rstrip() for text in texts]


def _scored_lines(path: Path) -> Iterator[str]:
    """The lines of a file as the official scorer takes them, which counts lines, and refuses empty ones but one after
    each sentence."""
    is_inside = False
    for number, line in read_lines(path):
        try:
            text = text_of(line)
        except ValueError as error:
            raise ValueError(f"{path.name}, line {number}: {error}") from error
        is_empty = not text.strip()
        yield "#" if is_empty and not is_inside else "" if is_empty else text
        is_inside = not is_empty and (is_inside or not text.startswith("#"))


def load(text: str, name: str, multiple_roots: bool = False) -> Any:
    """A CoNLL-U text as the official scorer represents it.

    Args:
        multiple_roots: allow sentences with several roots.

    Raises:
        ImportError: udtools is not installed.
        ValueError: the scorer does not accept the text, which the message calls `name`.
    """
    scorer = udeval()
    try:
        return scorer.load_conllu(io.StringIO(text), name, {"multiple_roots_okay": multiple_roots})
    except (scorer.UDError, ValueError, RecursionError) as error:
        raise ValueError(f"{name}: {error}") from error


def conllu(doc: Doc) -> str:
    """The Doc's sentences in CoNLL-U, a word for each token that is not whitespace, with its entity in MISC.

    A Doc without sentence boundaries is one sentence. A Doc without trees has no relations, and each sentence the tree
    of height one under its first word, since the format demands one. Tokens below whitespace are attached to the
    closest word above it.

    Raises:
        ValueError: a head lies in another sentence.
    """
    sentences: Iterable[Span] = doc.sents if doc.has_annotation("SENT_START") else [doc[:]]
    has_trees = doc.has_annotation("DEP")
    lines: list[str] = []
    for sentence in sentences:
        words = [token for token in sentence if not token.is_space]
        numbers = {word.i: number for number, word in enumerate(words, 1)}
        for word in words:
            head = _head(word, numbers) if has_trees else min(numbers[word.i] - 1, 1)
            deprel = "root" if word.dep_ == "ROOT" else word.dep_
            columns = word.text, word.lemma_, word.pos_, word.tag_, str(word.morph), str(head), deprel, "", _misc(word)
            lines.append("\t".join([str(numbers[word.i]), *(" ".join(column.split()) or "_" for column in columns)]))
        if words:
            lines.append("")
    return "".join(f"{line}\n" for line in lines)


def _head(word: Token, numbers: dict[int, int]) -> int:
    """The number of the word's head in its sentence, 0 for a root. numbers: of the sentence's words, by index."""
    head = word.head
    while head.is_space and head.head.i != head.i:
        head = head.head
    if head.i == word.i or head.is_space:
        return 0
    if head.i not in numbers:
        raise ValueError(
            f'the head of "{word.text}" (token {word.i}), "{head.text}" (token {head.i}), lies in another sentence: '
            "remove the component that sets sentence boundaries after the parser"
        )
    return numbers[head.i]


def _misc(word: Token) -> str:
    followed = word.i + 1 < len(word.doc) and word.nbor().is_space
    entity = [f"name={word.ent_iob_}-{word.ent_type_}"] if word.ent_type_ else []
    return "|".join([*entity, *(() if word.whitespace_ or followed else ("SpaceAfter=No",))])
