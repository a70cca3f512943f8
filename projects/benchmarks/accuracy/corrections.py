"""Correct a trained pipeline sentence by sentence: MODEL DEV.spacy [--component NAME].

Of the sentences of DEV that the component gets wrong, each seed draws 25 and 60. Each of the 25 corrects the saved
pipeline by itself; the 60 correct it one after the other. Prints the score of all other sentences before and after, how
many corrections were learnt (the sentence now equals gold), and the median CPU time of an update. The component is one
of ours or of spaCy's: a tagger, a recogniser of entities or a parser.
"""

import argparse
import random
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean, median
from typing import NamedTuple

import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example

N_SINGLE, N_ROW = 25, 60
ANNOTATION: dict[str, Callable[[Doc], list]] = {
    "tag_acc": lambda doc: [token.tag for token in doc],
    "ents_f": lambda doc: [(entity.start, entity.end, entity.label) for entity in doc.ents],
    "dep_las": lambda doc: [(token.head.i, token.dep_.lower()) for token in doc],
}
"""What a component sets, by the name of its score."""
SHARED = ("tok2vec", "transformer")
"""Components of spaCy that others listen to."""
EXCLUDED = ["vocab", "tokenizer"]


class Figures(NamedTuple):
    """losses: of the score, by single corrections, in points. learnt: how many of them were learnt. gain: of the score,
    in points, after all corrections in a row. right: how many of these sentences are right in the end. seconds: of an
    update."""

    losses: list[float]
    learnt: int
    gain: float
    right: int
    seconds: list[float]


class Loop:
    """A pipeline, whose component `name` is corrected, and the gold Docs of the development set."""

    def __init__(self, nlp: Language, name: str, gold: Sequence[Doc]) -> None:
        self.nlp, self.pipe = nlp, nlp.get_pipe(name)
        self.others = [other for other in nlp.pipe_names if other not in (name, *SHARED)]
        self.gold = [doc for doc in gold if len(doc)]
        self.saved = nlp.to_bytes(exclude=EXCLUDED)
        self.score = next(score for score in ANNOTATION if score in nlp.get_pipe_meta(name).scores)
        self.annotation = ANNOTATION[self.score]

    def example(self, gold: Doc) -> Example:
        words, tags, pos = zip(*((token.text, token.tag_, token.pos_) for token in gold))
        starts = [token == 0 for token in range(len(gold))]
        columns = {"tags": tags, "pos": pos, "sent_starts": starts} if self.score == "dep_las" else {}
        return Example(Doc(gold.vocab, words=words, **columns), gold)

    def predicted(self, docs: Sequence[Doc]) -> list[Example]:
        examples = [self.example(doc) for doc in docs]
        docs = self.nlp.pipe([example.predicted for example in examples], disable=self.others)
        for example, doc in zip(examples, docs):
            example.predicted = doc
        return examples

    def points(self, docs: Sequence[Doc]) -> float:
        return 100 * self.pipe.score(self.predicted(docs))[self.score]

    def wrong(self, docs: Sequence[Doc]) -> list[int]:
        examples = enumerate(self.predicted(docs))
        return [k for k, eg in examples if self.annotation(eg.predicted) != self.annotation(eg.reference)]

    def restore(self) -> None:
        self.nlp.from_bytes(self.saved, exclude=EXCLUDED)
        self.sgd = self.nlp.resume_training()

    def correct(self, doc: Doc) -> float:
        example, before = self.example(doc), time.process_time()
        self.nlp.update([example], sgd=self.sgd)
        return time.process_time() - before

    def figures(self, seed: int) -> Figures:
        self.restore()
        chosen = random.Random(seed).sample(self.wrong(self.gold), N_SINGLE + N_ROW)
        corrections = [self.gold[k] for k in chosen]
        others = [doc for k, doc in enumerate(self.gold) if k not in set(chosen)]
        base, losses, learnt = self.points(others), [], 0
        for doc in corrections[:N_SINGLE]:
            self.restore()
            self.correct(doc)
            learnt += not self.wrong([doc])
            losses.append(base - self.points(others))
        self.restore()
        seconds = [self.correct(doc) for doc in corrections[N_SINGLE:]]
        right = N_ROW - len(self.wrong(corrections[N_SINGLE:]))
        return Figures(losses, learnt, self.points(others) - base, right, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("dev", type=Path)
    parser.add_argument("--component", help="by default the last one of the pipeline")
    parser.add_argument("--by-solver", action="store_true", help="train by the solver in place of corrections")
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    nlp = spacy.load(arguments.model)
    name = arguments.component or nlp.pipe_names[-1]
    if arguments.by_solver:
        nlp = spacy.load(arguments.model, config={f"components.{name}.corrections": False})
    loop = Loop(nlp, name, list(DocBin().from_disk(arguments.dev).get_docs(nlp.vocab)))
    print(f"{name}: {loop.score} {loop.points(loop.gold):.2f}, {len(loop.wrong(loop.gold))} sentences are wrong")
    for seed in range(arguments.seeds):
        figures = loop.figures(seed)
        print(
            f"seed {seed}: single corrections: worst loss {max(figures.losses):.3f}, mean {mean(figures.losses):.3f}, "
            f"{figures.learnt} of {N_SINGLE} learnt; in a row: {figures.gain:+.3f}, {figures.right} of {N_ROW} right; "
            f"{1000 * median(figures.seconds):.1f} ms an update",
            flush=True,
        )


if __name__ == "__main__":
    main()
