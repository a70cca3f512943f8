"""A student beside its teacher: agreement on held-back text, scores on gold annotation, speed and size."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import spacy
import srsly
import typer
from spacy.language import Language
from spacy.tokens import DocBin
from spacy.training import Example

from spacy_ssvm.corpus.reader import SentenceCorpus, corpus_files

SCORES = {
    "token_acc": "tokens, F1",
    "sents_f": "sentences, F1",
    "tag_acc": "tags",
    "pos_acc": "universal tags",
    "morph_acc": "morphology",
    "lemma_acc": "lemmas",
    "dep_uas": "UAS",
    "dep_las": "LAS",
    "ents_f": "entities, F1",
}
"""spaCy's scores, in the order of a table, and what is said to agree; those of trees leave out punctuation."""
ROUNDS = 6
"""The parts of a text for which speed is measured, after a first one to warm up on."""


def compare(
    teacher: str,
    student: Path,
    test: Annotated[Path, typer.Argument(help="What the teacher has made of text that the student has not seen")],
    output: Annotated[Path, typer.Argument(help="JSON file for the figures, beside which a table is put")],
    gold: Annotated[Path | None, typer.Option(help="Corpus with gold tags, to score both on")] = None,
) -> None:
    """Write a student's agreement with its teacher, and the speed and size of both."""
    pipelines = {"student": spacy.load(student), "teacher": spacy.load(teacher)}
    docs = list(silver_docs(pipelines["student"], test))
    figures: dict[str, Any] = {
        "words": sum(map(len, docs)),
        "agreement": agreement(pipelines["student"], docs),
        "speed": speeds({name: nlp.pipe for name, nlp in pipelines.items()}, [doc.text for doc in docs]),
        "megabytes": {name: size(nlp.path) / 1e6 for name, nlp in pipelines.items()},
    }
    if gold is not None:
        figures["gold"] = {name: gold_tags(nlp, gold) for name, nlp in pipelines.items()}
    srsly.write_json(output, figures)
    page = table(figures)
    output.with_suffix(".md").write_text(page, "utf8")
    print(page)


def silver_docs(nlp: Language, path: Path) -> Iterator[Any]:
    """The Docs in a file of annotated text, or in all files of a folder."""
    for file in corpus_files(path):
        yield from DocBin().from_disk(file).get_docs(nlp.vocab)


def agreement(student: Language, docs: Sequence[Any]) -> dict[str, float]:
    """The student's scores on raw text, where the teacher's annotation counts as right."""
    scores = student.evaluate([Example(student.make_doc(doc.text), doc) for doc in docs])
    return {name: scores[name] for name in SCORES if scores.get(name) is not None}


def gold_tags(nlp: Language, path: Path) -> float:
    """The accuracy of tags on gold words and sentences."""
    examples = list(SentenceCorpus(path, gold_preproc=True)(nlp))
    predicted = nlp.pipe([example.predicted for example in examples])
    pairs = [
        (found.tag_, right.tag_)
        for doc, example in zip(predicted, examples)
        for found, right in zip(doc, example.reference)
    ]
    return sum(found == right for found, right in pairs) / len(pairs)


def speeds(pipes: dict[str, Callable], texts: Sequence[str]) -> dict[str, float]:
    """Tokens per CPU second on text that a pipeline meets for the first time: the median of ROUNDS parts, in turns."""
    found: dict[str, list[float]] = {name: [] for name in pipes}
    for part in range(ROUNDS + 1):
        for name, pipe in pipes.items():
            started = time.process_time()
            n_tokens = sum(len(doc) for doc in pipe(texts[part :: ROUNDS + 1]))
            found[name].append(n_tokens / (time.process_time() - started))
    return {name: median(rounds[1:]) for name, rounds in found.items()}


def size(path: Path) -> int:
    """The bytes of all files of a pipeline."""
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def table(figures: dict[str, Any]) -> str:
    """The figures as Markdown."""
    rows = [(f"agreement: {SCORES[name]}", f"{100 * value:.1f}", "") for name, value in figures["agreement"].items()]
    both = {"gold": "tags on gold annotation", "speed": "tokens per CPU second", "megabytes": "MB"}
    for name, title in both.items():
        if name in figures:
            pair = [figures[name][who] for who in ("student", "teacher")]
            shown = [f"{value:,.0f}" if name == "speed" else f"{value:.1f}" for value in pair]
            rows.append((title, *([f"{100 * value:.1f}" for value in pair] if name == "gold" else shown)))
    lines = [("", "student", "teacher"), ("---", "---:", "---:"), *rows]
    return "".join(f"| {' | '.join(row)} |\n" for row in lines)


if __name__ == "__main__":
    typer.run(compare)
