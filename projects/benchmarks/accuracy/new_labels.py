"""A new entity type from a few sentences: TRAIN.spacy DEV.spacy [--folder MODELS].

Each entity type in turn is the new one. The base model learns the other types; entities of the new one are
non-entities in its training data. Then each seed draws sentences of TRAIN with the new type. The loaded base model
learns from them in the usual loop, once annotated completely, and once with only the new type marked and all other
tokens missing. Prints the F1 of the new label, and of all others together, on DEV.
"""

import argparse
import random
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

import spacy
from spacy.language import Language
from spacy.scorer import PRFScore
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.util import minibatch

N_BASE_EPOCHS, BASE_BATCH = 6, 100


def annotated(gold: Doc, types: set[str], default: str = "outside") -> Example:
    """An example with only the entities of these types; default: what other tokens are, in `Doc.set_ents`."""
    reference = Doc(gold.vocab, words=[token.text for token in gold])
    reference.set_ents([ent for ent in gold.ents if ent.label_ in types], default=default)
    return Example(Doc(gold.vocab, words=[token.text for token in gold]), reference)


def learn(nlp: Language, examples: list[Example], n_epochs: int, batch_size: int, seed: int) -> None:
    shuffled = random.Random(seed)
    for _ in range(n_epochs):
        shuffled.shuffle(examples)
        for batch in minibatch(examples, batch_size):
            nlp.update(batch)


def base(train: Sequence[Doc], new: str, types: set[str], path: Path) -> None:
    """Train a model without the new type, and save it."""
    nlp = spacy.blank("xx")
    nlp.add_pipe("ssvm_ner")
    examples = [annotated(doc, types - {new}) for doc in train]
    nlp.initialize(lambda: examples)
    learn(nlp, examples, N_BASE_EPOCHS, BASE_BATCH, 0)
    nlp.to_disk(path)


def points(nlp: Language, dev: Sequence[Doc], new: str) -> tuple[float, float]:
    """The F1 of the new label, and that of all others together."""
    of_new, of_old = PRFScore(), PRFScore()
    for gold, doc in zip(dev, nlp.pipe(Doc(nlp.vocab, words=[token.text for token in doc]) for doc in dev)):
        found, right = ({(ent.start, ent.end, ent.label_) for ent in each.ents} for each in (doc, gold))
        for score, is_new in (of_new, True), (of_old, False):
            score.score_set(*({ent for ent in ents if (ent[2] == new) is is_new} for ents in (found, right)))
    return 100 * of_new.fscore, 100 * of_old.fscore


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", type=Path)
    parser.add_argument("dev", type=Path)
    parser.add_argument("--folder", type=Path, help="where the base models are kept")
    parser.add_argument("--sentences", type=int, default=30)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--by-solver", action="store_true", help="train by the solver in place of corrections")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    vocab = spacy.blank("xx").vocab
    train, dev = (
        [doc for doc in DocBin().from_disk(path).get_docs(vocab) if len(doc)]
        for path in (arguments.train, arguments.dev)
    )
    types = {ent.label_ for doc in train for ent in doc.ents}
    config = {"components.ssvm_ner.corrections": not arguments.by_solver}
    rows = []
    for new in sorted(types):
        path = (arguments.folder or Path(tempfile.mkdtemp())) / new
        if not path.exists():
            base(train, new, types, path)
        before = points(spacy.load(path), dev, new)[1]
        for seed in range(arguments.seeds):
            having = [doc for doc in train if any(ent.label_ == new for ent in doc.ents)]
            chosen = random.Random(seed).sample(having, arguments.sentences)
            row = []
            for marked, default in (types, "outside"), ({new}, "missing"):
                nlp = spacy.load(path, config=config)
                nlp.resume_training()
                examples = [annotated(doc, marked, default) for doc in chosen]
                learn(nlp, examples, arguments.epochs, arguments.batch_size, seed)
                of_new, of_old = points(nlp, dev, new)
                row += [of_new, of_old - before]
            rows.append(row)
            print(
                f"{new}, seed {seed}: all types annotated: {row[0]:.1f} F1, others {row[1]:+.2f} from {before:.1f}; "
                f"only {new}: {row[2]:.1f} F1, others {row[3]:+.2f}",
                flush=True,
            )
    full, others_full, only, others_only = map(mean, zip(*rows))
    print(
        f"mean: all types annotated: {full:.1f} F1, others {others_full:+.2f}; only the new type: {only:.1f} F1, "
        f"{100 * only / full:.0f} % of that, others {others_only:+.2f}"
    )


if __name__ == "__main__":
    main()
