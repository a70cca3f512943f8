"""Corrections on real text, saved in few bytes: 20 cycles of loading, one update and saving, beside exact files.

`pytest -m slow -s tests/test_corrections_saved.py` prints the table. The corpora are in the folder that SPACY_SSVM_DATA
names.
"""

import os
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.language import Language
from spacy.pipeline._parser_internals import nonproj
from spacy.tokens import Doc
from spacy.training import Example
from spacy.training.converters import conllu_to_docs
from spacy.vocab import Vocab

DATA = Path(os.environ.get("SPACY_SSVM_DATA", Path(__file__).parents[2] / "shared" / "data"))
EWT, DUTCH = DATA / "ud_english_ewt", DATA / "nltk" / "conll2002.zip"
N_TRAIN, N_HELD_OUT, N_CYCLES = 1000, 300, 20
PACKINGS: dict[str, dict[str, Any]] = {"exact": {}, "pruned": {"weight_dtype": "int8", "keep_fraction": 0.5}}
SCORE = {
    "ssvm_tagger": "tag_acc",
    "ssvm_morphologizer": "morph_acc",
    "ssvm_lemmatizer": "lemma_acc",
    "ssvm_senter": "sents_f",
    "ssvm_ner": "ents_f",
    "ssvm_parser": "dep_las",
}
SET: dict[str, Callable[[Doc], list[Any]]] = {
    "ssvm_tagger": lambda doc: [token.tag_ for token in doc],
    "ssvm_morphologizer": lambda doc: [(token.pos_, str(token.morph)) for token in doc],
    "ssvm_lemmatizer": lambda doc: [token.lemma_ for token in doc],
    "ssvm_senter": lambda doc: [token.is_sent_start for token in doc],
    "ssvm_ner": lambda doc: [(entity.start, entity.end, entity.label_) for entity in doc.ents],
    "ssvm_parser": lambda doc: [(token.head.i, token.dep_) for token in doc],
}
"""What each component sets."""


@cache
def dutch(part: str) -> list[Doc]:
    text = zipfile.ZipFile(DUTCH).read(f"conll2002/ned.{part}").decode("latin-1")
    rows = [[line.split() for line in block.splitlines()] for block in text.strip().split("\n\n")]
    vocab = Vocab()
    return [
        Doc(vocab, words=[word for word, *_ in block], ents=[label for *_, label in block])
        for block in rows
        if block[0][0] != "-DOCSTART-"
    ]


@cache
def english(part: str, n_sentences: int) -> list[Doc]:
    text = (EWT / f"en_ewt-ud-{part}.conllu").read_text(encoding="utf8")
    return list(conllu_to_docs(text, n_sents=n_sentences, no_print=True))


def corpus(factory: str, part: str) -> list[Doc]:
    """Docs of a sentence; of ten for boundaries, and projective trees for a parser that builds no other ones."""
    if factory == "ssvm_ner":
        return dutch({"train": "train", "dev": "testa"}[part])
    docs = english(part, 10 if factory == "ssvm_senter" else 1)
    if factory == "ssvm_parser":
        docs = [doc for doc in docs if not nonproj.is_nonproj_tree([token.head.i for token in doc])]
    return docs


def example(nlp: Language, factory: str, doc: Doc) -> Example:
    given: dict[str, Any] = {}
    if factory in ("ssvm_parser", "ssvm_lemmatizer"):
        given = {"tags": [token.tag_ for token in doc], "pos": [token.pos_ for token in doc]}
    if factory == "ssvm_lemmatizer":
        given["morphs"] = [str(token.morph) for token in doc]
    if factory == "ssvm_parser":
        given["sent_starts"] = [token.i == 0 for token in doc]
    return Example(Doc(nlp.vocab, words=[token.text for token in doc], **given), doc)


def points(nlp: Language, factory: str, docs: list[Doc]) -> float:
    return 100 * float(nlp.evaluate([example(nlp, factory, doc) for doc in docs])[SCORE[factory]])


def is_right(nlp: Language, factory: str, doc: Doc) -> bool:
    (found,) = nlp.pipe([example(nlp, factory, doc).predicted])
    return SET[factory](found) == SET[factory](doc)


def figures(nlp: Language, factory: str, held_out: list[Doc], folder: Path) -> tuple[int, int, float]:
    """Weights that are not zero, bytes of the model file, and the score on held-out text."""
    size = (folder / factory / "model").stat().st_size
    return nlp.get_pipe(factory).count_weights()[0], size, points(nlp, factory, held_out)


@pytest.mark.slow
@pytest.mark.skipif(not (EWT.is_dir() and DUTCH.exists()), reason=f"no {EWT} or {DUTCH}: set SPACY_SSVM_DATA")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("factory", SCORE)
def test_corrections_outlive_twenty_cycles(factory, tmp_path):
    held_out, others = corpus(factory, "dev")[:N_HELD_OUT], corpus(factory, "dev")[N_HELD_OUT:]
    if factory == "ssvm_senter":
        held_out, others = corpus(factory, "dev")[:60], corpus(factory, "dev")[60:]
    for name, settings in PACKINGS.items():
        nlp = spacy.blank("en")
        nlp.add_pipe(factory, config=settings)
        examples = [example(nlp, factory, doc) for doc in corpus(factory, "train")[:N_TRAIN]]
        nlp.initialize(lambda examples=examples: examples)
        for _ in range(5):
            nlp.update(examples)
        nlp.to_disk(tmp_path)
        nlp = spacy.load(tmp_path)
        wrong = [doc for doc in others if not is_right(nlp, factory, doc)][:N_CYCLES]
        n_before, size_before, before = figures(nlp, factory, held_out, tmp_path)
        for doc in wrong:
            nlp = spacy.load(tmp_path)
            nlp.update([example(nlp, factory, doc)])
            at_once = is_right(nlp, factory, doc)
            nlp.to_disk(tmp_path)
            nlp = spacy.load(tmp_path)
            assert is_right(nlp, factory, doc) == at_once
        n_after, size_after, after = figures(nlp, factory, held_out, tmp_path)
        n_right = sum(is_right(nlp, factory, doc) for doc in wrong)
        print(
            f"\n{factory} {name}: weights {n_before:,} → {n_after:,}, bytes {size_before:,} → {size_after:,}, "
            f"{SCORE[factory]} {before:.2f} → {after:.2f}, {n_right} of {len(wrong)} corrections right at the end",
            end="",
            flush=True,
        )
        assert len(wrong) == n_right == N_CYCLES
        assert n_after >= 0.99 * n_before and after >= before - 0.3
