"""Corrections on real text, saved in few bytes: twenty cycles of loading, one update and saving, beside exact files.

A component learns from `N_TRAIN` sentences and is saved twice, exactly and `PRUNED`. `N_CYCLES` sentences of the
development set are drawn of those that both models get wrong. Each cycle loads a model, updates it once with the next
sentence, and saves it. Scores are those of all other sentences of the development set.

    python -m tools.corrections [FACTORY ...]

A row for each model. The exit status is 1 where pruned models lose more than exact ones, beyond chance. The corpora are
in the folder that SPACY_SSVM_DATA names.
"""

import argparse
import random
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import spacy
from spacy.language import Language
from spacy.pipeline._parser_internals import nonproj
from spacy.tokens import Doc
from spacy.training import Example
from spacy.training.converters import conllu_to_docs
from spacy.vocab import Vocab

from tests.corpora import DATA, EWT

DUTCH = DATA / "nltk" / "conll2002.zip"
N_TRAIN, N_EPOCHS, N_CYCLES, SEED = 2000, 5, 20, 0
PRUNED = {"weight_dtype": "int8", "keep_fraction": 0.5}
N_ERRORS = 3.0
"""Standard errors of a difference that are no evidence of one."""
SCORE = {
    "ssvm_tagger": "tag_acc",
    "ssvm_morphologizer": "morph_acc",
    "ssvm_lemmatizer": "lemma_acc",
    "ssvm_senter": "sents_f",
    "ssvm_ner": "ents_f",
    "ssvm_parser": "dep_las",
}
SET: dict[str, Callable[[Doc], Iterable[Any]]] = {
    "ssvm_tagger": lambda doc: ((token.i, token.tag_) for token in doc),
    "ssvm_morphologizer": lambda doc: ((token.i, token.pos_, str(token.morph)) for token in doc),
    "ssvm_lemmatizer": lambda doc: ((token.i, token.lemma_) for token in doc),
    "ssvm_senter": lambda doc: (token.i for token in doc if token.is_sent_start),
    "ssvm_ner": lambda doc: ((entity.start, entity.end, entity.label_) for entity in doc.ents),
    "ssvm_parser": lambda doc: ((token.i, token.head.i, token.dep_) for token in doc),
}
"""What each component sets."""


class Result(NamedTuple):
    """Of a model before or after the corrections.

    n_weights: those that are not zero. size: of the model file, in bytes. score: in points, and errors: int64, for each
    of the other Docs, how many annotations are wrong or missing. n_right: of the corrected Docs.
    """

    n_weights: int
    size: int
    score: float
    errors: np.ndarray
    n_right: int


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
    """Docs of a sentence, of ten for boundaries; those alone whose annotation the component can have.

    The parser's trees are projective, and "_" is no lemma, but stands for the end of a word that is split by mistake.
    """
    if factory == "ssvm_ner":
        return dutch({"train": "train", "dev": "testa"}[part])
    docs = english(part, 10 if factory == "ssvm_senter" else 1)
    if factory == "ssvm_parser":
        docs = [doc for doc in docs if not nonproj.is_nonproj_tree([token.head.i for token in doc])]
    if factory == "ssvm_lemmatizer":
        docs = [doc for doc in docs if all(token.lemma_ != "_" for token in doc)]
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


def predicted(nlp: Language, factory: str, docs: Iterable[Doc]) -> list[Example]:
    examples = [example(nlp, factory, doc) for doc in docs]
    for eg, doc in zip(examples, nlp.pipe([eg.predicted for eg in examples])):
        eg.predicted = doc
    return examples


def errors(factory: str, examples: list[Example]) -> np.ndarray:
    """The number of annotations that are wrong or missing in each prediction, int64 [n]."""
    both = ((set(SET[factory](eg.predicted)), set(SET[factory](eg.reference))) for eg in examples)
    return np.array([len(found ^ gold) for found, gold in both])


def result(folder: Path, factory: str, corrected: list[Doc], others: list[Doc]) -> Result:
    nlp = spacy.load(folder)
    examples = predicted(nlp, factory, others)
    return Result(
        nlp.get_pipe(factory).count_weights()[0],
        (folder / factory / "model").stat().st_size,
        100 * nlp.get_pipe(factory).score(examples)[SCORE[factory]],
        errors(factory, examples),
        int(np.sum(errors(factory, predicted(nlp, factory, corrected)) == 0)),
    )


def correct(folder: Path, factory: str, docs: list[Doc]) -> None:
    """A cycle for each of the Docs; the sentences so far are predicted as before once they are loaded again."""
    for number, doc in enumerate(docs, start=1):
        nlp = spacy.load(folder)
        nlp.update([example(nlp, factory, doc)])
        nlp.to_disk(folder)
        before, after = (
            [set(SET[factory](eg.predicted)) for eg in predicted(pipeline, factory, docs[:number])]
            for pipeline in (nlp, spacy.load(folder))
        )
        assert before == after


def is_kept(factory: str, folder: Path) -> bool:
    """Whether a pruned model keeps corrections as an exact one does: no weight is lost, and the score changes as much.

    The tolerance is that of chance: `N_ERRORS` standard errors of the difference of the two changes, sentence by
    sentence, over so many other sentences.
    """
    per_doc = 10 if factory == "ssvm_senter" else 1
    nlp = spacy.blank("en")
    nlp.add_pipe(factory)
    examples = [example(nlp, factory, doc) for doc in corpus(factory, "train")[: N_TRAIN // per_doc]]
    nlp.initialize(lambda: examples)
    for _ in range(N_EPOCHS):
        nlp.update(examples)
    exact, pruned = folder / "exact", folder / "pruned"
    nlp.to_disk(exact)
    settings = {f"components.{factory}.{key}": value for key, value in PRUNED.items()}
    spacy.load(exact, config=settings).to_disk(pruned)
    dev = corpus(factory, "dev")
    wrong = [errors(factory, predicted(spacy.load(path), factory, dev)) > 0 for path in (exact, pruned)]
    chosen = random.Random(SEED).sample(np.flatnonzero(wrong[0] & wrong[1]).tolist(), N_CYCLES)
    corrected = [dev[number] for number in chosen]
    others = [doc for number, doc in enumerate(dev) if number not in set(chosen)]
    n_right, changes, loses = [], [], False
    for path in (exact, pruned):
        before = result(path, factory, corrected, others)
        correct(path, factory, corrected)
        after = result(path, factory, corrected, others)
        print(
            f"{factory} {path.name}: weights {before.n_weights:,} → {after.n_weights:,}, bytes {before.size:,} → "
            f"{after.size:,}, {SCORE[factory]} {before.score:.2f} → {after.score:.2f}, right {after.n_right}",
            flush=True,
        )
        loses = loses or after.n_weights < before.n_weights
        n_right.append(after.n_right)
        changes.append(after.errors - before.errors)
    difference = changes[1] - changes[0]
    tolerance = N_ERRORS * np.sqrt(len(others)) * difference.std()
    print(f"errors {changes[0].sum():+d} and {changes[1].sum():+d}, tolerance of the difference {tolerance:.1f}")
    return not loses and difference.sum() <= tolerance and (n_right[1] == N_CYCLES or n_right[0] < N_CYCLES)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("factories", nargs="*", metavar="FACTORY", default=[*SCORE])
    warnings.simplefilter("ignore")
    outcomes = []
    for factory in parser.parse_args().factories:
        with tempfile.TemporaryDirectory() as folder:
            outcomes.append(is_kept(factory, Path(folder)))
    return int(not all(outcomes))


if __name__ == "__main__":
    sys.exit(main())
