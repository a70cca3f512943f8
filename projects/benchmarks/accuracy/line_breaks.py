"""Break the lines of texts, as in wrapped mail: MODEL CORPUS.spacy [--every 5 8 13].

A line break stands for the space after every 5th, 8th or 13th token of a document, and at its start and end. Prints,
for the pipeline MODEL, ours or spaCy's: how many words have the annotation that they have without line breaks, how many
of them hang on whitespace, how many entities begin or end there, how many sentences begin there, and the scores of the
words against the gold annotation. The first sentence of a document cannot but begin at its first token.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import spacy
from spacy.language import Language
from spacy.scorer import PRFScore
from spacy.tokens import Doc, DocBin


def with_line_breaks(doc: Doc, every: int) -> tuple[Doc, list[int]]:
    """The words of a gold Doc with line breaks, and the token that each of them is; every: 0 for no line breaks."""
    words, spaces, places = ["\n"] * bool(every), [False] * bool(every), []
    for token in doc:
        places.append(len(words))
        is_last = token.i + 1 == len(doc)
        is_end = bool(every) and (is_last or bool(token.whitespace_ and (token.i + 1) % every == 0))
        words += [token.text, *["\n"] * is_end]
        spaces += [bool(token.whitespace_) and not is_end, *[False] * is_end]
    return Doc(doc.vocab, words, spaces), places


def annotation(doc: Doc, places: Sequence[int], has_sentences: bool) -> list[tuple[Any, ...]]:
    """The annotation of the words at these tokens, which it names by their numbers."""
    numbers = {token: word for word, token in enumerate(places)}
    sentence = np.zeros(len(doc), int)
    if has_sentences:
        starts = [next(t.i for t in sent if t.i in numbers) for sent in doc.sents if any(t.i in numbers for t in sent)]
        sentence[starts] = 1
    found = []
    for place in places:
        token = doc[place]
        tags = token.tag_, token.pos_, str(token.morph), token.lemma_
        found.append((*tags, numbers.get(token.head.i), token.dep_, token.ent_iob_, token.ent_type_, sentence[place]))
    return found


def counts(nlp: Language, gold: Sequence[Doc], every: int, before: list[Any]) -> list[Any]:
    """A row of the table. before: the annotation of each Doc without line breaks."""
    broken = [with_line_breaks(doc, every) for doc in gold]
    docs = list(nlp.pipe(doc.copy() for doc, _ in broken))
    # spaCy takes a Doc of one token for a sentence, even if no component has set any.
    has_sentences = any(doc.has_annotation("SENT_START") for doc in docs if len(doc) > 1)
    same = n_words = heads = edges = starts = arcs = 0
    sentences = PRFScore()
    for number, (doc, (_, places), reference) in enumerate(zip(docs, broken, gold)):
        found = annotation(doc, places, has_sentences)
        if not every:
            before.append(found)
        same += sum(a == b for a, b in zip(found, before[number]))
        n_words += len(places)
        heads += sum(doc[place].head.is_space for place in places)
        edges += sum(entity[0].is_space or entity[-1].is_space for entity in doc.ents)
        starts += sum(has_sentences and token.is_space and bool(token.is_sent_start) for token in doc)
        right = annotation(reference, range(len(reference)), reference.has_annotation("SENT_START"))
        arcs += sum(a[4:6] == b[4:6] for a, b in zip(found, right))
        sentences.score_set(*({word for word, row in enumerate(rows) if row[-1]} for rows in (found, right)))
    las = f"{100 * arcs / n_words:.2f}" if any(doc.has_annotation("DEP") for doc in gold) else "-"
    first_words = f"{100 * sentences.fscore:.2f}" if has_sentences else "-"
    return [every or "none", f"{100 * same / n_words:.2f}", heads, edges, starts, las, first_words]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--every", type=int, nargs="+", default=[5, 8, 13])
    arguments = parser.parse_args()
    nlp = spacy.load(arguments.model)
    gold = [doc for doc in DocBin().from_disk(arguments.corpus).get_docs(nlp.vocab) if len(doc)]
    before: list[Any] = []
    rows = [counts(nlp, gold, every, before) for every in (0, *arguments.every)]
    print("| break after | same words, % | heads | entity edges | sentence starts | LAS | first words, F1 |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |")


if __name__ == "__main__":
    main()
