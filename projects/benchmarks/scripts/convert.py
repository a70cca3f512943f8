"""Convert the corpora to .spacy files, one sentence a Doc: DATA_ROOT OUTPUT CORPUS …

The environment variable SPACY_SSVM_DATA, if set, takes the place of DATA_ROOT.
"""

import io
import os
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import spacy
from spacy.tokens import Doc, DocBin
from spacy.training.converters import conllu_to_docs
from spacy.vocab import Vocab

Sentence = list[list[str]]


def read_columns(text: str, separator: str | None = None) -> Iterator[Sentence]:
    """Sentences of token rows, separated by blank lines; document marks are left out."""
    sentence: Sentence = []
    for line in [*text.splitlines(), ""]:
        row = line.split(separator)
        if line.strip() and not line.startswith("-DOCSTART-"):
            sentence.append(row)
        elif sentence:
            yield sentence
            sentence = []


def zipped(path: Path, member: str, encoding: str) -> str:
    with zipfile.ZipFile(path) as archive:
        return io.TextIOWrapper(archive.open(member), encoding).read()


def with_begins(tags: list[str]) -> list[str]:
    """IOB2: an I tag that continues nothing of its type becomes a B tag."""
    before = ["O", *tags]
    return [
        f"B-{tag[2:]}" if tag.startswith("I-") and previous[2:] != tag[2:] else tag
        for previous, tag in zip(before, tags)
    ]


def write(path: Path, sentences: list[Sentence], entity: int, tag: int | None) -> None:
    """entity, tag: the columns with IOB tags and with part-of-speech tags."""
    vocab = Vocab(strings=spacy.blank("en").vocab.strings)
    docs = DocBin(store_user_data=False)
    for rows in sentences:
        doc = Doc(
            vocab,
            words=[row[0] for row in rows],
            ents=with_begins([row[entity] for row in rows]),
            tags=None if tag is None else [row[tag] for row in rows],
            sent_starts=[True, *[False] * (len(rows) - 1)],
        )
        docs.add(doc)
    docs.to_disk(path)
    print(f"{path.name}: {len(sentences):,} sentences, {sum(map(len, sentences)):,} tokens")


def conll2000(root: Path, output: Path) -> None:
    """Chunking. There is no development part: the last tenth of the training part serves as one."""
    archive = root / "nltk" / "conll2000.zip"
    train = list(read_columns(zipped(archive, "conll2000/train.txt", "utf8")))
    behind = len(train) - len(train) // 10
    write(output / "conll2000-part.spacy", train[:behind], 2, 1)
    write(output / "conll2000-dev.spacy", train[behind:], 2, 1)
    write(output / "conll2000-train.spacy", train, 2, 1)
    write(output / "conll2000-test.spacy", list(read_columns(zipped(archive, "conll2000/test.txt", "utf8"))), 2, 1)


def conll2002(root: Path, output: Path) -> None:
    """Spanish (esp) and Dutch (ned) named entities."""
    archive = root / "nltk" / "conll2002.zip"
    for language in ("esp", "ned"):
        for part, name in (("train", "train"), ("testa", "dev"), ("testb", "test")):
            rows = list(read_columns(zipped(archive, f"conll2002/{language}.{part}", "utf8")))
            write(output / f"conll2002-{language}-{name}.spacy", rows, -1, 1)


def wnut17(root: Path, output: Path) -> None:
    """Emerging entities in social media."""
    files = {"train": "wnut17train.conll", "dev": "emerging.dev.conll", "test": "emerging.test.annotated"}
    for name, file in files.items():
        text = (root / "wnut17" / file).read_text(encoding="utf8")
        rows = [[row for row in sentence if row[0].strip()] for sentence in read_columns(text, "\t")]
        write(output / f"wnut17-{name}.spacy", rows, 1, None)


def ewt(root: Path, output: Path) -> None:
    """Universal Dependencies, English Web Treebank."""
    for name in ("train", "dev", "test"):
        text = (root / "ud_english_ewt" / f"en_ewt-ud-{name}.conllu").read_text(encoding="utf8")
        docs = DocBin(docs=conllu_to_docs(text, n_sents=1, no_print=True))
        docs.to_disk(output / f"ewt-{name}.spacy")
        print(f"ewt-{name}.spacy: {len(docs):,} sentences")


def conll2007(root: Path, output: Path) -> None:
    """Basque dependency trees; a Doc is a sentence, whatever number of roots it has. The last tenth serves as dev."""
    archive = root / "nltk" / "conll2007.zip"
    train, test = (
        list(read_columns(zipped(archive, f"conll2007/eus.{part}", "latin1"), "\t")) for part in ("train", "test")
    )
    behind = len(train) - len(train) // 10
    parts = {"part": train[:behind], "dev": train[behind:], "train": train, "test": test}
    vocab = Vocab(strings=spacy.blank("en").vocab.strings)
    for name, sentences in parts.items():
        docs = DocBin(docs=[tree(rows, vocab) for rows in sentences])
        docs.to_disk(output / f"conll2007-eus-{name}.spacy")
        roots = sum(sum(row[6] == "0" for row in rows) > 1 for rows in sentences)
        crossing = sum(sum(is_crossed(rows, row) for row in rows) for rows in sentences)
        n_tokens = sum(map(len, sentences))
        print(
            f"conll2007-eus-{name}.spacy: {len(sentences):,} sentences, {roots:,} with several roots; "
            f"{n_tokens:,} tokens, {crossing / n_tokens:.2%} of the arcs non-projective"
        )


def tree(rows: Sentence, vocab: Vocab) -> Doc:
    """A sentence in the columns of CoNLL-X; each morphological feature becomes one with the value Yes."""
    heads = [int(row[6]) for row in rows]
    return Doc(
        vocab,
        words=[row[1] for row in rows],
        tags=[row[4] for row in rows],
        lemmas=[row[2] for row in rows],
        morphs=["" if row[5] == "_" else "|".join(f"{f}=Yes" for f in sorted(set(row[5].split("|")))) for row in rows],
        heads=[place if head == 0 else head - 1 for place, head in enumerate(heads)],
        deps=[row[7] for row in rows],
    )


def is_crossed(rows: Sentence, row: list[str]) -> bool:
    """Whether a token between both ends of this arc is no descendant of its head."""
    head, token = int(row[6]), int(row[0])
    for between in range(min(head, token) + 1, max(head, token)):
        while between not in (0, head):
            between = int(rows[between - 1][6])
        if between != head:
            return True
    return False


CORPORA = {"conll2007": conll2007, "conll2000": conll2000, "conll2002": conll2002, "wnut17": wnut17, "ewt": ewt}


if __name__ == "__main__":
    root, output = Path(os.environ.get("SPACY_SSVM_DATA", sys.argv[1])), Path(sys.argv[2])
    output.mkdir(parents=True, exist_ok=True)
    for corpus in sys.argv[3:]:
        CORPORA[corpus](root, output)
