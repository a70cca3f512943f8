"""Learn from half of the labels: DATA [--limit 3000] [--draws 2].

From the first sentences of EWT (tags, trees) and of the Dutch CoNLL-2002 corpus (entities), each component learns from

- all labels;
- half of the sentences;
- all sentences, with half of the labels removed at random;
- those of the same sentences that are still complete, which is all that learning without partial annotation can use;
- the same sentences with what is missing taken for wrong, for entities only: a removed entity is then no entity.

Prints scores of the development part, means over draws of what is removed.
"""

import argparse
import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean

import spacy
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example

EPOCHS = 10


def without_tags(doc: Doc, rng: random.Random) -> Doc:
    """The same words; each tag stays with a probability of ½."""
    return Doc(doc.vocab, words=[t.text for t in doc], tags=[t.tag_ if rng.random() < 0.5 else "" for t in doc])


def without_heads(doc: Doc, rng: random.Random) -> Doc:
    """The same words; each head stays, with its label, with a probability of ½."""
    kept = [rng.random() < 0.5 for _ in doc]
    heads = [token.head.i if stays else token.i for token, stays in zip(doc, kept)]
    deps = [token.dep_ if stays else "" for token, stays in zip(doc, kept)]
    return Doc(doc.vocab, words=[token.text for token in doc], heads=heads, deps=deps)


def without_entities(doc: Doc, rng: random.Random) -> Doc:
    """The same words; each entity stays with a probability of ½, and of each other token that it is in none."""
    spans = {entity.start: entity for entity in doc.ents}
    copy = Doc(doc.vocab, words=[token.text for token in doc])
    kept, missing, token = [], [], 0
    while token < len(doc):
        end = spans[token].end if token in spans else token + 1
        stays = rng.random() < 0.5
        if not stays:
            missing.append(Span(copy, token, end))
        elif token in spans:
            kept.append(Span(copy, token, end, label=spans[token].label_))
        token = end
    copy.set_ents(kept, missing=missing, default="outside")
    return copy


def missing_is_outside(doc: Doc) -> Doc:
    """The same entities, and none where nothing was said."""
    copy = Doc(doc.vocab, words=[token.text for token in doc])
    copy.set_ents([Span(copy, entity.start, entity.end, label=entity.label_) for entity in doc.ents], default="outside")
    return copy


@dataclass(frozen=True)
class Task:
    """A component and its corpus.

    attribute: of a token, empty if its label is missing. scores: spaCy's names. without: removes half of the labels of
    a Doc. settings: of the component. has_tags: whether it reads gold tags. taken_for_wrong: annotates what is missing
    as absent.
    """

    factory: str
    corpus: str
    language: str
    attribute: str
    scores: tuple[str, ...]
    without: Callable[[Doc, random.Random], Doc]
    settings: dict[str, object] = field(default_factory=dict)
    has_tags: bool = False
    taken_for_wrong: Callable[[Doc], Doc] | None = None


FIRST_ORDER = {"model": {"@architectures": "spacy-ssvm.Tree.v1", "order": 1}}
TASKS = (
    Task("ssvm_tagger", "ewt", "en", "tag_", ("tag_acc",), without_tags),
    Task("ssvm_ner", "conll2002-ned", "nl", "ent_iob_", ("ents_f",), without_entities, {}, False, missing_is_outside),
    Task("ssvm_parser", "ewt", "en", "dep_", ("uas", "las"), without_heads, FIRST_ORDER, has_tags=True),
)


def read(path: Path, vocab: spacy.vocab.Vocab, limit: int) -> list[Doc]:
    return list(DocBin().from_disk(path).get_docs(vocab))[:limit]


def example(task: Task, gold: Doc, reference: Doc) -> Example:
    """What a component is given, the words of a sentence and for the parser its tags; and what it is to learn."""
    words, tags, pos = (list(column) for column in zip(*((token.text, token.tag_, token.pos_) for token in gold)))
    columns = {"tags": tags, "pos": pos} if task.has_tags else {}
    starts = [k == 0 for k in range(len(gold))]
    return Example(Doc(gold.vocab, words=words, sent_starts=starts, **columns), reference)


def scores(task: Task, train: Sequence[tuple[Doc, Doc]], dev: Sequence[Doc]) -> list[float]:
    """Scores in per cent on the development part after learning from pairs of a gold Doc and what is left of it."""
    nlp = spacy.blank(task.language, vocab=dev[0].vocab)
    nlp.add_pipe(task.factory, config=task.settings)
    examples = [example(task, *pair) for pair in train]
    nlp.initialize(lambda: examples)
    for _ in range(EPOCHS):
        nlp.update(examples)
    results = nlp.evaluate([example(task, doc, doc) for doc in dev])
    return [100 * results[score] for score in task.scores]


def rows(task: Task, data: Path, limit: int, draws: int) -> Iterator[tuple[str, list[float]]]:
    """What the component learns from, and its scores, means over the draws."""
    vocab = spacy.blank(task.language).vocab
    train, dev = (
        [doc for doc in read(data / f"{task.corpus}-{part}.spacy", vocab, limit) if len(doc)]
        for part in ("train", "dev")
    )

    def averaged(make: Callable[[random.Random], list[tuple[Doc, Doc]]], n: int = draws) -> list[float]:
        drawn = [scores(task, make(random.Random(draw)), dev) for draw in range(n)]
        return [mean(column) for column in zip(*drawn)]

    def removed(rng: random.Random) -> list[tuple[Doc, Doc]]:
        return [(doc, task.without(doc, rng)) for doc in train]

    def is_complete(doc: Doc) -> bool:
        return all(getattr(token, task.attribute) for token in doc)

    yield "all labels", averaged(lambda rng: [(doc, doc) for doc in train], 1)
    yield "half of the sentences", averaged(lambda rng: [(doc, doc) for doc in rng.sample(train, len(train) // 2)])
    yield "half of the labels", averaged(removed)
    yield "sentences that are complete", averaged(lambda rng: [pair for pair in removed(rng) if is_complete(pair[1])])
    if task.taken_for_wrong is not None:
        wrong = task.taken_for_wrong
        yield "the others taken for wrong", averaged(lambda rng: [(doc, wrong(left)) for doc, left in removed(rng)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--limit", type=int, default=3000, help="sentences of each corpus")
    parser.add_argument("--draws", type=int, default=2)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for task in TASKS:
        for name, means in rows(task, arguments.data, arguments.limit, arguments.draws):
            values = ", ".join(f"{score} {value:.1f}" for score, value in zip(task.scores, means))
            print(f"{task.factory:12} {name:28} {values}", flush=True)


if __name__ == "__main__":
    main()
