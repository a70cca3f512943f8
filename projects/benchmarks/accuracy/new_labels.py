"""A new label from a few sentences: TRAIN.spacy DEV.spacy [--component NAME] [--folder MODELS].

Each label in turn is the new one: an entity type, or with `ssvm_tagger` or `tagger` a tag that `--labels` names. The
base model learns the other labels; entities of the new type are non-entities in its training data, and tags of the new
kind are missing. Then each seed draws sentences with the new label, from TRAIN or, with `--unseen`, from its second
half, which the base model then does not learn from. The loaded base model learns from them in the usual loop, once
annotated completely, and once with only the new label marked and all other tokens missing. Prints the F1 of the new
label, and of all others together, on DEV. The component is one of ours or of spaCy's.
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
Part = tuple[int, int, str]
"""The first token of what has a label, the token after it, and the label."""


def parts(doc: Doc, component: str) -> set[Part]:
    """What has a label in a Doc."""
    if component.endswith("tagger"):
        return {(token.i, token.i + 1, token.tag_) for token in doc}
    return {(ent.start, ent.end, ent.label_) for ent in doc.ents}


def annotated(gold: Doc, component: str, labels: set[str], default: str = "outside") -> Example:
    """An example with only these labels; default: what other tokens are, in `Doc.set_ents`. A tag is missing then."""
    words = [token.text for token in gold]
    reference = Doc(gold.vocab, words=words)
    if component.endswith("tagger"):
        tags = [token.tag_ if token.tag_ in labels else "" for token in gold]
        reference = Doc(gold.vocab, words=words, tags=tags)
    else:
        reference.set_ents([ent for ent in gold.ents if ent.label_ in labels], default=default)
    return Example(Doc(gold.vocab, words=words), reference)


def learn(nlp: Language, examples: list[Example], n_epochs: int, batch_size: int, seed: int) -> None:
    shuffled = random.Random(seed)
    for _ in range(n_epochs):
        shuffled.shuffle(examples)
        for batch in minibatch(examples, batch_size):
            nlp.update(batch)


def base(train: Sequence[Doc], component: str, labels: set[str], path: Path) -> None:
    """Train a model of these labels, and save it."""
    nlp = spacy.blank("xx")
    nlp.add_pipe(component)
    examples = [annotated(doc, component, labels) for doc in train]
    nlp.initialize(lambda: examples)
    learn(nlp, examples, N_BASE_EPOCHS, BASE_BATCH, 0)
    nlp.to_disk(path)


def points(nlp: Language, dev: Sequence[Doc], new: str) -> tuple[float, float]:
    """The F1 of the new label, and that of all others together."""
    of_new, of_old = PRFScore(), PRFScore()
    for gold, doc in zip(dev, nlp.pipe(Doc(nlp.vocab, words=[token.text for token in doc]) for doc in dev)):
        found, right = (parts(each, nlp.pipe_names[-1]) for each in (doc, gold))
        for score, is_new in (of_new, True), (of_old, False):
            score.score_set(*({part for part in each if (part[2] == new) is is_new} for each in (found, right)))
    return 100 * of_new.fscore, 100 * of_old.fscore


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", type=Path)
    parser.add_argument("dev", type=Path)
    parser.add_argument("--component", default="ssvm_ner", choices=["ssvm_ner", "ner", "ssvm_tagger", "tagger"])
    parser.add_argument("--labels", nargs="*", help="the new ones; by default each label")
    parser.add_argument("--folder", type=Path, help="where the base models are kept")
    parser.add_argument("--limit", type=int, help="the number of training sentences to use")
    parser.add_argument("--unseen", action="store_true", help="draw sentences that the base model has not learnt from")
    parser.add_argument("--sentences", type=int, default=30)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--by-solver", action="store_true", help="train by the solver in place of corrections")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    component = arguments.component
    vocab = spacy.blank("xx").vocab
    train, dev = (
        [doc for doc in DocBin().from_disk(path).get_docs(vocab) if len(doc)]
        for path in (arguments.train, arguments.dev)
    )
    train = train[: arguments.limit]
    seen = train[: len(train) // 2] if arguments.unseen else train
    labels = {part[2] for doc in train for part in parts(doc, component)}
    config = {f"components.{component}.corrections": False} if arguments.by_solver else {}
    folder = arguments.folder or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for new in arguments.labels or sorted(labels):
        path = folder / new
        if not path.exists():
            base(seen, component, labels - {new}, path)
        before = points(spacy.load(path), dev, new)[1]
        source = train[len(seen) :] if arguments.unseen else train
        having = [doc for doc in source if any(part[2] == new for part in parts(doc, component))]
        for seed in range(arguments.seeds):
            chosen = random.Random(seed).sample(having, arguments.sentences)
            row = []
            for marked, default in (labels, "outside"), ({new}, "missing"):
                nlp = spacy.load(path, config=config)
                if not component.startswith("ssvm"):
                    nlp.get_pipe(component).add_label(new)
                nlp.resume_training()
                examples = [annotated(doc, component, marked, default) for doc in chosen]
                learn(nlp, examples, arguments.epochs, arguments.batch_size, seed)
                of_new, of_old = points(nlp, dev, new)
                row += [of_new, of_old - before]
            rows.append(row)
            print(
                f"{new}, seed {seed}: all annotated: {row[0]:.1f} F1, others {row[1]:+.2f} from {before:.1f}; "
                f"only {new}: {row[2]:.1f} F1, others {row[3]:+.2f}",
                flush=True,
            )
    full, others_full, only, others_only = map(mean, zip(*rows))
    print(
        f"mean: all annotated: {full:.1f} F1, others {others_full:+.2f}; only the new label: {only:.1f} F1, "
        f"{100 * only / full:.0f} % of that, others {others_only:+.2f}"
    )


if __name__ == "__main__":
    main()
