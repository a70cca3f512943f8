"""Few long Docs to learn from: FACTORY TRAIN.spacy DEV.spacy [--sizes 1 50 1000].

Trains a component on the same sentences as Docs of 1, 10, 50, 200 and 1,000 sentences without boundaries, by each of
the solvers, and scores it on the sentences of DEV as Docs of 50, or of `--held-out` sentences. Prints the best score of
all epochs and that of the last one, and the CPU time of training.
"""

import argparse
import time
import warnings
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example

SCORES = {"ssvm_ner": ("ents_f",), "ssvm_tagger": ("tag_acc",), "ssvm_morphologizer": ("pos_acc", "morph_acc")}


def joined(nlp: Language, sentences: Sequence[Doc], size: int) -> list[Example]:
    """Examples of so many sentences each, whose boundaries are unknown."""
    examples = []
    for first in range(0, len(sentences), size):
        tokens = list(chain.from_iterable(sentences[first : first + size]))
        words = [token.text for token in tokens]
        reference = Doc(
            nlp.vocab,
            words=words,
            ents=[f"{token.ent_iob_}-{token.ent_type_}" if token.ent_type_ else "O" for token in tokens],
            tags=[token.tag_ for token in tokens],
            pos=[token.pos_ for token in tokens],
            morphs=[str(token.morph) for token in tokens],
        )
        examples.append(Example(Doc(nlp.vocab, words=words), reference))
    return examples


def read(path: Path) -> list[Doc]:
    return [doc for doc in DocBin().from_disk(path).get_docs(spacy.blank("xx").vocab) if len(doc)]


def figures(
    factory: str, solver: str, train: Sequence[Doc], dev: Sequence[Doc], sizes: tuple[int, int], n_epochs: int
) -> tuple[list[float], float]:
    """The score after each epoch, in points, and the CPU time of training.

    Args:
        sizes: the sentences of a Doc of `train`, and of `dev`.
    """
    nlp = spacy.blank("xx")
    pipe = nlp.add_pipe(factory, config={"solver": {"@ssvm_solvers": f"spacy-ssvm.{solver}.v1"}})
    examples, held_out = (joined(nlp, docs, size) for docs, size in zip((train, dev), sizes))
    began = time.process_time()
    nlp.initialize(lambda: examples)
    seconds, scores = time.process_time() - began, []
    for _ in range(n_epochs):
        began = time.process_time()
        nlp.update(examples)
        seconds += time.process_time() - began
        docs = nlp.pipe(Doc(nlp.vocab, words=[token.text for token in example.reference]) for example in held_out)
        score = pipe.score([Example(doc, example.reference) for doc, example in zip(docs, held_out)])
        scores.append(100 * sum(score[name] for name in SCORES[factory]) / len(SCORES[factory]))
    return scores, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("factory", choices=SCORES)
    parser.add_argument("train", type=Path)
    parser.add_argument("dev", type=Path)
    parser.add_argument("--solvers", nargs="+", default=["DCD", "SAP", "SDM", "MIRA", "Perceptron"])
    parser.add_argument("--sizes", nargs="+", type=int, default=[1, 10, 50, 200, 1000])
    parser.add_argument("--held-out", type=int, default=50)
    parser.add_argument("--sentences", type=int, default=3000)
    parser.add_argument("--epochs", type=int, default=15)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    train, dev = read(arguments.train)[: arguments.sentences], read(arguments.dev)
    for solver in arguments.solvers:
        for size in arguments.sizes:
            scores, seconds = figures(
                arguments.factory, solver, train, dev, (size, arguments.held_out), arguments.epochs
            )
            print(
                f"{solver}, {size:,} sentences a Doc: best {max(scores):.2f}, last {scores[-1]:.2f}, {seconds:.1f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
