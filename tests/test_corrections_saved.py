"""Corrections on real text, saved in few bytes: 20 cycles of loading, one update and saving, beside exact files.

`pytest -m slow -s tests/test_corrections_saved.py` prints the table. The corpora are in the folder that SPACY_SSVM_DATA
names.
"""

import os
import shutil
import zipfile
from collections.abc import Callable
from functools import cache
from itertools import islice
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
N_TRAIN, N_HELD_OUT, N_CYCLES = 500, 300, 20
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
LOSS = {"ssvm_senter": 3.0, "ssvm_ner": 1.0}
"""Points that 20 corrections may cost 300 other sentences; by default, 0.3."""
UNTAUGHT = {"ssvm_parser": 1, "ssvm_lemmatizer": 2}
"""Of 20 sentences, those that no number of corrections teaches a component, whether its file is exact or not."""


@cache
def dutch(part: str) -> list[Doc]:
    text = zipfile.ZipFile(DUTCH).read(f"conll2002/ned.{part}").decode("latin-1")
    rows = [[line.split(" ") for line in block.split("\n")] for block in text.strip().split("\n\n")]
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


def correct(folder: Path, factory: str, wrong: list[Doc], max_updates: int) -> Language:
    """Load, learn the next correction and those that are wrong again, and save; what is right is right once saved."""
    for number in range(1, len(wrong) + 1):
        nlp, learnt = spacy.load(folder), wrong[:number] if max_updates > 1 else wrong[number - 1 : number]
        for _ in range(max_updates):
            left = [doc for doc in learnt if not is_right(nlp, factory, doc)]
            if not left:
                break
            nlp.update([example(nlp, factory, doc) for doc in left])
        right = [is_right(nlp, factory, doc) for doc in wrong[:number]]
        nlp.to_disk(folder)
        nlp = spacy.load(folder)
        assert [is_right(nlp, factory, doc) for doc in wrong[:number]] == right
    return nlp


@pytest.mark.slow
@pytest.mark.skipif(not (EWT.is_dir() and DUTCH.exists()), reason=f"no {EWT} or {DUTCH}: set SPACY_SSVM_DATA")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("factory", SCORE)
def test_corrections_outlive_twenty_cycles(factory, tmp_path):
    """Each once, and until all so far are right."""
    dev, n_held_out = corpus(factory, "dev"), N_HELD_OUT // (10 if factory == "ssvm_senter" else 1)
    held_out, others = dev[:n_held_out], dev[n_held_out:]
    for name, settings in PACKINGS.items():
        nlp = spacy.blank("en")
        nlp.add_pipe(factory, config=settings)
        examples = [example(nlp, factory, doc) for doc in corpus(factory, "train")[:N_TRAIN]]
        nlp.initialize(lambda examples=examples: examples)
        for _ in range(5):
            nlp.update(examples)
        nlp.to_disk(tmp_path / name)
        nlp = spacy.load(tmp_path / name)
        wrong = list(islice((doc for doc in others if not is_right(nlp, factory, doc)), N_CYCLES))
        n_before, size_before, before = figures(nlp, factory, held_out, tmp_path / name)
        for max_updates in (1, 10):
            folder = shutil.copytree(tmp_path / name, tmp_path / f"{name}-{max_updates}")
            nlp = correct(folder, factory, wrong, max_updates)
            n_after, size_after, after = figures(nlp, factory, held_out, folder)
            n_right = sum(is_right(nlp, factory, doc) for doc in wrong)
            print(
                f"\n{factory} {name}, at most {max_updates} updates: weights {n_before:,} → {n_after:,}, bytes "
                f"{size_before:,} → {size_after:,}, {SCORE[factory]} {before:.2f} → {after:.2f}, right at the end "
                f"{n_right} of {len(wrong)}",
                end="",
                flush=True,
            )
            assert n_after >= 0.99 * n_before and after >= before - LOSS.get(factory, 0.3)
            assert n_right >= N_CYCLES - UNTAUGHT.get(factory, 0) or max_updates == 1
