"""Convert the corpora to .spacy files, one sentence a Doc: DATA_ROOT OUTPUT CORPUS … [--limit 100].

The environment variable SPACY_SSVM_DATA, if set, takes the place of DATA_ROOT. With --limit each file gets only so many
Docs. A Doc of conll2002-documents is a whole document.
"""

import argparse
import io
import os
import re
import zipfile
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

import numpy as np
import spacy
from spacy.tokens import Doc, DocBin
from spacy.training.converters import conllu_to_docs
from spacy.vocab import Vocab

Sentence = list[list[str]]
Parts = Iterator[tuple[str, Iterable[Doc]]]
"""The name of each file and its Docs."""


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


def tagged(sentences: list[Sentence], entity: int, tag: int | None) -> Iterator[Doc]:
    """entity, tag: the columns with IOB tags and with part-of-speech tags."""
    return joined(([rows] for rows in sentences), entity, tag)


def joined(documents: Iterable[list[Sentence]], entity: int, tag: int | None) -> Iterator[Doc]:
    """As `tagged`, a Doc for each list of sentences."""
    vocab = Vocab(strings=spacy.blank("en").vocab.strings)
    for sentences in documents:
        rows = list(chain.from_iterable(sentences))
        yield Doc(
            vocab,
            words=[row[0] for row in rows],
            ents=list(chain.from_iterable(with_begins([row[entity] for row in part]) for part in sentences)),
            tags=None if tag is None else [row[tag] for row in rows],
            sent_starts=[place == 0 for part in sentences for place in range(len(part))],
        )


def cut(train: list[Sentence], test: list[Sentence]) -> dict[str, list[Sentence]]:
    """Where there is no development part, the last tenth of the training part serves as one."""
    end = len(train) - len(train) // 10
    return {"part": train[:end], "dev": train[end:], "train": train, "test": test}


def conll2000(root: Path) -> Parts:
    """Chunking."""
    archive = root / "nltk" / "conll2000.zip"
    members = (f"conll2000/{part}.txt" for part in ("train", "test"))
    train, test = (list(read_columns(zipped(archive, member, "utf8"))) for member in members)
    for name, sentences in cut(train, test).items():
        yield f"conll2000-{name}", tagged(sentences, 2, 1)


def conll2002(root: Path) -> Parts:
    """Spanish (esp) and Dutch (ned) named entities."""
    archive = root / "nltk" / "conll2002.zip"
    for language in ("esp", "ned"):
        for part, name in (("train", "train"), ("testa", "dev"), ("testb", "test")):
            rows = list(read_columns(zipped(archive, f"conll2002/{language}.{part}", "utf8")))
            yield f"conll2002-{language}-{name}", tagged(rows, -1, 1)


def conll2002_documents(root: Path) -> Parts:
    """The same as whole documents."""
    archive = root / "nltk" / "conll2002.zip"
    for language, documents in (("esp", by_dateline), ("ned", by_mark)):
        for part, name in (("train", "train"), ("testa", "dev"), ("testb", "test")):
            text = zipped(archive, f"conll2002/{language}.{part}", "utf8")
            yield f"conll2002-{language}-documents-{name}", joined(documents(text), -1, 1)


def by_mark(text: str) -> Iterator[list[Sentence]]:
    """Documents that a mark begins."""
    for document in re.split("^-DOCSTART-.*$", text, flags=re.MULTILINE):
        if sentences := list(read_columns(document)):
            yield sentences


def by_dateline(text: str) -> Iterator[list[Sentence]]:
    """Documents without marks: each begins with a sentence such as "Madrid , 25 may ( EFE ) ."."""
    document: list[Sentence] = []
    for sentence in read_columns(text):
        if document and re.search(r"\( EFE\w* \) \.$", " ".join(row[0] for row in sentence)):
            yield document
            document = []
        document.append(sentence)
    yield document


def wnut17(root: Path) -> Parts:
    """Emerging entities in social media."""
    files = {"train": "wnut17train.conll", "dev": "emerging.dev.conll", "test": "emerging.test.annotated"}
    for name, file in files.items():
        text = (root / "wnut17" / file).read_text(encoding="utf8")
        rows = [[row for row in sentence if row[0].strip()] for sentence in read_columns(text, "\t")]
        yield f"wnut17-{name}", tagged(rows, 1, None)


def ewt(root: Path) -> Parts:
    """Universal Dependencies, English Web Treebank."""
    for name in ("train", "dev", "test"):
        text = (root / "ud_english_ewt" / f"en_ewt-ud-{name}.conllu").read_text(encoding="utf8")
        yield f"ewt-{name}", conllu_to_docs(text, n_sents=1, no_print=True)


def brown(root: Path) -> Parts:
    """Tags without the suffixes for headlines, titles and citations; sentences drawn for each part.

    Neither the tags nor the parts of the papers that use this corpus are known: their test part has 9,098 sentences.
    """
    sentences = []
    with zipfile.ZipFile(root / "nltk" / "brown.zip") as archive:
        for member in sorted(archive.namelist()):
            if re.fullmatch(r"brown/c[a-r]\d\d", member):
                lines = archive.read(member).decode("utf8").splitlines()
                sentences += [[word.rsplit("/", 1) for word in line.split()] for line in lines if line.strip()]
    order = np.random.default_rng(0).permutation(len(sentences))
    parts = {"test": order[:9098], "dev": order[9098:13922], "train": order[13922:]}
    for name, chosen in parts.items():
        yield (
            f"brown-{name}",
            tagged([[[word, plain(tag), "O"] for word, tag in sentences[place]] for place in chosen], 2, 1),
        )


def plain(tag: str) -> str:
    """A tag of the Brown corpus without suffixes."""
    return re.sub(r"(-(hl|tl|nc))+$", "", tag).upper()


def conll2007(root: Path) -> Parts:
    """Basque and Spanish dependency trees; a Doc is a sentence, whatever number of roots it has."""
    vocab = Vocab(strings=spacy.blank("en").vocab.strings)
    for language, encoding in (("eus", "latin1"), ("esp", "utf8")):
        members = (f"conll2007/{language}.{part}" for part in ("train", "test"))
        archive = root / "nltk" / "conll2007.zip"
        train, test = (list(read_columns(zipped(archive, member, encoding), "\t")) for member in members)
        for name, sentences in cut(train, test).items():
            roots = sum(sum(row[6] == "0" for row in rows) > 1 for rows in sentences)
            crossing = sum(sum(is_crossed(rows, row) for row in rows) for rows in sentences)
            share = crossing / sum(map(len, sentences))
            print(f"{language}, {name}: {roots:,} with several roots, {share:.2%} of the arcs non-projective")
            yield f"conll2007-{language}-{name}", (tree(rows, vocab) for rows in sentences)


def tree(rows: Sentence, vocab: Vocab) -> Doc:
    """A sentence in the columns of CoNLL-X."""
    heads = [int(row[6]) for row in rows]
    return Doc(
        vocab,
        words=[row[1] for row in rows],
        tags=[row[4] for row in rows],
        lemmas=[row[2] for row in rows],
        morphs=["" if row[5] == "_" else "|".join(map(feature, sorted(set(row[5].split("|"))))) for row in rows],
        heads=[place if head == 0 else head - 1 for place, head in enumerate(heads)],
        # Scorers leave out punctuation by this name.
        deps=["punct" if row[7] == "PUNC" else row[7] for row in rows],
    )


def feature(name: str) -> str:
    """A morphological feature; one without a value gets the value Yes."""
    return name if "=" in name else f"{name}=Yes"


def is_crossed(rows: Sentence, row: list[str]) -> bool:
    """Whether a token between both ends of this arc is no descendant of its head."""
    head, token = int(row[6]), int(row[0])
    for between in range(min(head, token) + 1, max(head, token)):
        while between not in (0, head):
            between = int(rows[between - 1][6])
        if between != head:
            return True
    return False


CORPORA = {
    "conll2007": conll2007,
    "conll2000": conll2000,
    "conll2002": conll2002,
    "conll2002-documents": conll2002_documents,
    "wnut17": wnut17,
    "ewt": ewt,
    "brown": brown,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("corpora", nargs="+", choices=list(CORPORA))
    parser.add_argument("--limit", type=int)
    arguments = parser.parse_args()
    root = Path(os.environ.get("SPACY_SSVM_DATA", arguments.root))
    arguments.output.mkdir(parents=True, exist_ok=True)
    for corpus in arguments.corpora:
        for name, docs in CORPORA[corpus](root):
            kept = list(islice(docs, arguments.limit))
            DocBin(store_user_data=False, docs=kept).to_disk(arguments.output / f"{name}.spacy")
            print(f"{name}.spacy: {len(kept):,} Docs, {sum(map(len, kept)):,} tokens")


if __name__ == "__main__":
    main()
