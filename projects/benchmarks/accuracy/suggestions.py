"""How much annotation suggestions save: FACTORY LANG TRAIN.spacy DEV.spacy [--seeds 5].

A component with its default settings learns the whole training set, then growing parts of it: 100 random documents, and
batches that are suggested by the component, trained on those before them, or random. Each part is learnt from scratch.
Prints for each seed how many documents and tokens reach a share of the full score on DEV, interpolated between rounds.
"""

import argparse
import random
import warnings
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import spacy
from spacy.tokens import Doc, DocBin
from spacy.training import Example

N_FIRST = 100
N_EPOCHS = 10
SCORES = {"ssvm_tagger": "tag_acc", "ssvm_ner": "ents_f", "ssvm_senter": "sents_f"}


class Size(NamedTuple):
    """The size of a part of the training set."""

    documents: float
    tokens: float


class Corpus(NamedTuple):
    """Gold Docs for a component; factory, language: of the component."""

    factory: str
    language: str
    train: list[Doc]
    dev: list[Doc]

    def learnt(self, chosen: Sequence[int]) -> Any:
        """A component that has learnt these documents of the training set."""
        nlp = spacy.blank(self.language, vocab=self.train[0].vocab)
        pipe = nlp.add_pipe(self.factory)
        examples = [example(self.train[number]) for number in chosen]
        nlp.initialize(lambda: examples)
        for _ in range(N_EPOCHS):
            nlp.update(examples)
        return pipe

    def points(self, pipe: Any) -> float:
        examples = [example(doc) for doc in self.dev]
        for scored, doc in zip(examples, pipe.pipe([scored.predicted for scored in examples])):
            scored.predicted = doc
        return 100 * pipe.score(examples)[SCORES[self.factory]]

    def size(self, chosen: Sequence[int]) -> Size:
        return Size(len(chosen), sum(len(self.train[number]) for number in chosen))

    def needed(self, target: float, order: Sequence[int], growth: float, suggests: bool) -> Size:
        """What reaches the target score, if documents are suggested or taken in this order."""
        chosen, before = list(order[:N_FIRST]), (Size(0, 0), 0.0)
        while True:
            pipe = self.learnt(chosen)
            size, score = self.size(chosen), self.points(pipe)
            print(f"    {size.documents:6} documents {size.tokens:7} tokens {score:6.2f}", flush=True)
            if score >= target:
                share = (target - before[1]) / (score - before[1])
                return Size(*(old + share * (new - old) for old, new in zip(before[0], size)))
            if len(chosen) == len(order):
                return Size(float("nan"), float("nan"))
            before, n_more = (size, score), round(len(chosen) * (growth - 1))
            taken = set(chosen)
            left = [number for number in order if number not in taken]
            if suggests:
                ranking = pipe.suggest([example(self.train[number]).predicted for number in left])
                chosen += [left[place] for place, _ in islice(ranking, n_more)]
            else:
                chosen += left[:n_more]


def example(gold: Doc) -> Example:
    return Example(Doc(gold.vocab, words=[token.text for token in gold]), gold)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("factory", choices=SCORES)
    parser.add_argument("language")
    parser.add_argument("train", type=Path)
    parser.add_argument("dev", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--share", type=float, default=0.95, help="of the full score")
    parser.add_argument("--growth", type=float, default=1.3, help="of the annotated part from round to round")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    vocab = spacy.blank(arguments.language).vocab
    train, dev = (
        [doc for doc in DocBin().from_disk(path).get_docs(vocab) if len(doc)]
        for path in (arguments.train, arguments.dev)
    )
    corpus = Corpus(arguments.factory, arguments.language, train, dev)
    numbers = list(range(len(train)))
    full, whole = corpus.points(corpus.learnt(numbers)), corpus.size(numbers)
    target = arguments.share * full
    print(f"all {whole.documents} documents, {whole.tokens} tokens: {full:.2f}; target {target:.2f}", flush=True)
    found: dict[str, list[Size]] = {"random": [], "suggested": []}
    for seed in range(arguments.seeds):
        order = random.Random(seed).sample(numbers, len(numbers))
        for name, sizes in found.items():
            print(f"  seed {seed}, {name}", flush=True)
            sizes.append(corpus.needed(target, order, arguments.growth, name == "suggested"))
            print(
                f"  seed {seed}, {name}: {sizes[-1].documents:.0f} documents, {sizes[-1].tokens:.0f} tokens", flush=True
            )
    means = {name: Size(*(mean(part) for part in zip(*sizes))) for name, sizes in found.items()}
    for name, size in means.items():
        print(f"{name}: {size.documents:.0f} documents, {size.tokens:.0f} tokens on average")
    ratios = [random_ / suggested for random_, suggested in zip(means["random"], means["suggested"])]
    print(f"saved: {ratios[0]:.2f} times the documents, {ratios[1]:.2f} times the tokens")


if __name__ == "__main__":
    main()
