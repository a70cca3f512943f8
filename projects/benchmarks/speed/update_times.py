"""How long updates take after thousands of others: CORPUS [--updates 5000].

CORPUS is a `.spacy` or CoNLL-U file. Each component learns its first texts with default settings, is saved, loaded, and
updated with one further text at a time, in which a tenth of the words are replaced by words that never occurred before.
Prints the mean CPU time of an update for each fifth of the updates, the last one over the first, and by how much an
update has enlarged the process; the row "no component" is what spaCy keeps of new words by itself. Each row comes from
a process of its own. In a corpus without entities, proper nouns stand for them.
"""

import argparse
import gc
import math
import random
import re
import tempfile
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.training.converters import conllu_to_docs

NOTHING = "no component"
FACTORIES = ("ssvm_senter", "ssvm_tagger", "ssvm_morphologizer", "ssvm_lemmatizer", "ssvm_ner", "ssvm_parser")
LEARNT, EPOCHS = 300, 5
"""The texts that each component learns, and how often, before it is saved."""
SENTENCES, MAX_TOKENS = 2, 60
"""The sentences of a text from a CoNLL-U file, and the tokens of a text."""
NEW = 0.1
FIFTHS = 5


@dataclass(frozen=True)
class Settings:
    """corpus: its file. updates: their number. by_solver: learn by the solver, not by corrections. predicts: predict
    each text after its update; this is part of the time."""

    corpus: Path
    updates: int
    by_solver: bool
    predicts: bool


class Figures(NamedTuple):
    """milliseconds: CPU time of an update in each fifth. kilobytes: by which an update has enlarged the process."""

    milliseconds: list[float]
    kilobytes: float


class Text(NamedTuple):
    """The annotation of a text, as `Doc` takes it; kinds: of its entities, "" outside."""

    words: list[str]
    tags: list[str]
    pos: list[str]
    morphs: list[str]
    lemmas: list[str]
    heads: list[int]
    deps: list[str]
    sent_starts: list[bool]
    ents: list[str]


def read(path: Path) -> list[Text]:
    vocab = spacy.blank("xx").vocab
    if path.suffix == ".spacy":
        docs = list(DocBin().from_disk(path).get_docs(vocab))
    else:
        docs = list(conllu_to_docs(path.read_text(encoding="utf8"), n_sents=SENTENCES, no_print=True))
    return [as_text(doc) for doc in docs if 0 < len(doc) <= MAX_TOKENS]


def as_text(doc: Doc) -> Text:
    return Text(
        [token.text for token in doc],
        [token.tag_ for token in doc],
        [token.pos_ for token in doc],
        [str(token.morph) for token in doc],
        [token.lemma_ for token in doc],
        [token.head.i for token in doc],
        [token.dep_ for token in doc],
        [bool(token.is_sent_start) for token in doc],
        entities(doc),
    )


def entities(doc: Doc) -> list[str]:
    if doc.ents:
        return [f"{token.ent_iob_}-{token.ent_type_}" if token.ent_type_ else "O" for token in doc]
    tags: list[str] = []
    for is_name, run in groupby(doc, lambda token: token.pos_ == "PROPN"):
        tags += [f"{'I' if k and is_name else 'B'}-NAME" if is_name else "O" for k, _ in enumerate(run)]
    return tags


def renewed(text: Text, rng: random.Random) -> Text:
    """The text with new words, which are their own lemmas."""
    words, lemmas = list(text.words), list(text.lemmas)
    for token in rng.sample(range(len(words)), round(NEW * len(words) + 0.5)):
        words[token] = lemmas[token] = "".join(rng.choices("abcdefghiklmnoprstuvwz", k=8))
    return text._replace(words=words, lemmas=lemmas)


def example(nlp: Language, factory: str, text: Text) -> Example:
    given = {"ssvm_parser": ("tags", "sent_starts"), "ssvm_lemmatizer": ("tags", "pos", "morphs")}.get(factory, ())
    annotation = text._asdict()
    predicted = Doc(nlp.vocab, words=text.words, **{name: annotation[name] for name in given})
    return Example(predicted, Doc(nlp.vocab, **annotation))


def trained(factory: str, texts: list[Text]) -> Language:
    nlp = spacy.blank("xx")
    nlp.add_pipe(factory)
    examples = [example(nlp, factory, text) for text in texts]
    nlp.initialize(lambda: examples)
    for _ in range(EPOCHS):
        nlp.update(examples)
    return nlp


def loaded(factory: str, texts: list[Text], by_solver: bool) -> Language:
    if factory == NOTHING:
        return spacy.blank("xx")
    with tempfile.TemporaryDirectory() as folder:
        trained(factory, texts).to_disk(folder)
        nlp = spacy.load(folder, config={"components": {factory: {"corrections": not by_solver}}})
    nlp.resume_training()
    return nlp


def updates(nlp: Language, factory: str, texts: list[Text], settings: Settings) -> Iterator[float]:
    """CPU seconds of each update."""
    rng = random.Random(0)
    while True:
        rng.shuffle(texts)
        for text in texts:
            given = example(nlp, factory, renewed(text, rng))
            started = time.process_time()
            nlp.update([given])
            if settings.predicts:
                nlp(given.predicted)
            yield time.process_time() - started


def memory() -> float:
    """Bytes that this process has in memory; NaN where the system does not say."""
    gc.collect()
    path = Path("/proc/self/status")
    resident = re.search(r"VmRSS:\s*(\d+) kB", path.read_text()) if path.exists() else None
    return 1024 * int(resident[1]) if resident else math.nan


def measure(factory: str, settings: Settings) -> Figures:
    warnings.simplefilter("ignore")
    texts = read(settings.corpus)
    nlp = loaded(factory, texts[:LEARNT], settings.by_solver)
    seconds = updates(nlp, factory, texts[LEARNT:] or texts, settings)
    for _ in range(FIFTHS):  # what is loaded or made at the first update
        next(seconds)
    size, before = settings.updates // FIFTHS, memory()
    fifths = [1000 * sum(next(seconds) for _ in range(size)) / size for _ in range(FIFTHS)]
    return Figures(fifths, (memory() - before) / 1000 / (size * FIFTHS))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--updates", type=int, default=5000)
    parser.add_argument("--by-solver", action="store_true", help="learn by the solver in place of corrections")
    parser.add_argument("--predicts", action="store_true", help="predict each text after its update")
    parser.add_argument("--components", nargs="+", choices=FACTORIES, default=FACTORIES)
    arguments = parser.parse_args()
    if arguments.updates < FIFTHS:
        parser.error(f"at least {FIFTHS} updates are needed")
    settings = Settings(arguments.corpus, arguments.updates, arguments.by_solver, arguments.predicts)
    print(f"{'':20}{'ms an update, by fifths':>37}  last/first   KB an update")
    for factory in (NOTHING, *arguments.components):
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            figures = pool.submit(measure, factory, settings).result()
        fifths = "".join(f"{ms:7.2f}" for ms in figures.milliseconds)
        ratio = figures.milliseconds[-1] / figures.milliseconds[0]
        print(f"{factory:20}  {fifths}  {ratio:10.2f}  {figures.kilobytes:13.1f}", flush=True)


if __name__ == "__main__":
    main()
