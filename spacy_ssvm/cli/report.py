"""`spacy ssvm report`: what a pipeline gets right and wrong, and why, as one page of HTML."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import srsly
import typer
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from wasabi import msg

from ..models.protocol import Mistake
from ..pipeline.component import SsvmPipe
from .evaluate import percentages, span_groups
from .page import Page
from .pipelines import CodePath, DataPath, annotate_before, dev_reader, load_pipeline

MAX_PAIRS = 20
"""Of what is taken for what, for each component."""

PER_TYPE = {"ents_per_type": "Entities", "dep_las_per_type": "Labelled arcs, without punctuation"}
CURVES = {"primal": "primal, estimated", "dual": "dual"}


class Sentence(NamedTuple):
    """Tokens start … end − 1 of an example, by its number, and what a component has got wrong there."""

    number: int
    start: int
    end: int
    mistakes: list[Mistake]


def report_command(
    model: Annotated[Path, typer.Argument(help="Path of the pipeline", exists=True, file_okay=False)],
    data_path: DataPath,
    output: Annotated[Path, typer.Argument(help="HTML file for the report")],
    log: Annotated[
        Path | None,
        typer.Option(
            "--log", "-l", help="Output file of the logger, for the learning curve", exists=True, dir_okay=False
        ),
    ] = None,
    worst: Annotated[int, typer.Option("--worst", "-w", min=0, help="Sentences to explain, for each component")] = 10,
    code_path: CodePath = None,
) -> None:
    """Write a page about a pipeline: scores, confusions, the worst sentences with reasons, size, speed, learning curve.

    The corpus is read as that of the pipeline's training.dev_corpus.
    """
    nlp, pipes = load_pipeline(model, code_path)
    page = Page(f"{model} on {data_path.name}")
    try:
        examples = list(dev_reader(nlp, data_path)(nlp))
        if not examples:
            raise ValueError(f"No documents in {data_path}")
        rows = [] if log is None else _rows_of(log)
        _add_scores(page, nlp, examples)
    except ValueError as error:
        msg.fail(str(error), exits=1)
    _add_components(page, model, pipes)
    # Evaluation leaves the examples without annotation.
    docs = nlp.pipe(example.predicted.copy() for example in examples)
    judged = [Example(doc, example.reference) for doc, example in zip(docs, examples)]
    for name, pipe in pipes.items():
        found = [pipe.codec.mistakes(example) for example in judged]
        page.heading(f"Mistakes of {name}")
        if not any(found):
            page.text("None.")
            continue
        _add_pairs(page, [mistake for listed in found for mistake in listed])
        sentences = sorted(_sentences(judged, found), key=lambda sentence: -len(sentence.mistakes))[:worst]
        if sentences:
            page.heading("Sentences with the most mistakes", 3)
            page.text("Each unfolds the mistakes, and the features that have put a wrong prediction ahead of others.")
        for sentence in sentences:
            doc = judged[sentence.number].predicted
            _add_sentence(page, doc, sentence, _reasons(nlp, pipe, examples[sentence.number], sentence))
    if rows:
        _add_curve(page, rows, list(pipes))
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(page.html(), encoding="utf8")
    msg.good(f"Saved the report to {output}")


def _add_scores(page: Page, nlp: Language, examples: Sequence[Example]) -> None:
    nlp(examples[0].predicted.copy())  # Kernels are loaded at their first use, which is not to count as speed.
    scores = nlp.evaluate(examples)
    page.heading("Scores")
    n_tokens = sum(len(example.predicted) for example in examples)
    page.text(
        f"{len(examples):,} documents, {n_tokens:,} tokens; the pipeline annotates {scores['speed']:,.0f} a second."
    )
    page.table(("Score", "%"), percentages(scores))
    spans = {f"spans_{key}_per_type": f'Spans in doc.spans["{key}"]' for key in span_groups(scores)}
    for key, title in {**PER_TYPE, **spans}.items():
        if scores.get(key):
            page.heading(title, 3)
            rows = [
                (label, *(f"{100 * figures[part]:.2f}" for part in "prf"))
                for label, figures in sorted(scores[key].items(), key=lambda pair: pair[1]["f"])
            ]
            page.table(("Label", "P", "R", "F"), rows)


def _add_components(page: Page, model: Path, pipes: dict[str, SsvmPipe]) -> None:
    page.heading("Size")
    rows = []
    for name, pipe in pipes.items():
        used, there = pipe.count_weights()
        size = sum(path.stat().st_size for path in (model / name).rglob("*") if path.is_file())
        share = f"{100 * used / there:.1f} %" if there else "-"
        rows.append((name, repr(pipe.solver), len(pipe.labels), f"{size / 1e6:.2f}", f"{used:,}", share))
    header = ("Component", "Solver", "Labels", "MB", "Non-zero weights", "of all")
    page.table(header, rows, texts=2)
    page.text("All are the weights of the features that have any, or of the whole table where features are hashed.")


def _add_pairs(page: Page, found: Sequence[Mistake]) -> None:
    pairs = Counter((mistake.gold, mistake.predicted) for mistake in found)
    page.text(f"{len(found):,} in all; what is taken for what, the {min(len(pairs), MAX_PAIRS)} most frequent pairs:")
    rows = [(gold, predicted, f"{count:,}") for (gold, predicted), count in pairs.most_common(MAX_PAIRS)]
    page.table(("Gold", "Predicted", "Times"), rows, texts=2)


def _sentences(judged: Sequence[Example], found: Sequence[list[Mistake]]) -> list[Sentence]:
    """Those with mistakes; a Doc without sentences is one."""
    listed = []
    for number, (example, wrong) in enumerate(zip(judged, found)):
        doc = example.predicted
        bounds = [(sent.start, sent.end) for sent in doc.sents] if doc.has_annotation("SENT_START") else [(0, len(doc))]
        for start, end in bounds if wrong else ():
            inside = [mistake for mistake in wrong if start <= mistake.start < end]
            if inside:
                listed.append(Sentence(number, start, end, inside))
    return listed


def _add_sentence(page: Page, doc: Doc, sentence: Sentence, reasons: str) -> None:
    wrong = {i for mistake in sentence.mistakes for i in range(mistake.start, mistake.end)}
    tokens = range(sentence.start, sentence.end)
    lines = [
        f"{doc[m.start : m.end].text}: {m.predicted} predicted, {m.gold} in the gold annotation"
        for m in sentence.mistakes
    ]
    page.folded([doc[i].text for i in tokens], [i in wrong for i in tokens], "\n".join([*lines, "", reasons]).strip())


def _reasons(nlp: Language, pipe: Any, example: Example, sentence: Sentence) -> str:
    """Why the component has predicted what is wrong in a sentence."""
    (annotated,) = annotate_before(nlp, pipe.name, [Example(example.predicted.copy(), example.reference)])
    try:
        explanation = pipe.explain(annotated.predicted)
    except ValueError as error:  # Some structures have no exact margins.
        return str(error)
    wrong = [(mistake.start, mistake.end) for mistake in sentence.mistakes]
    findings = (f for f in explanation.findings if any(f.start < end and start < f.end for start, end in wrong))
    return str(replace(explanation, findings=tuple(findings)).text())


def _rows_of(log: Path) -> list[dict[str, Any]]:
    """The rows that "spacy-ssvm.ConsoleLogger.v1" has written.

    Raises:
        ValueError: the file is of something else.
    """
    try:
        rows = [dict(row) for row in srsly.read_jsonl(log)]
        if rows and all({"epoch", "score", "losses", "figures"} <= set(row) for row in rows):
            return rows
    except (TypeError, ValueError):
        pass
    raise ValueError(f'{log} is no output_file of the logger "spacy-ssvm.ConsoleLogger.v1"')


def _add_curve(page: Page, rows: Sequence[dict[str, Any]], names: Sequence[str]) -> None:
    page.heading("Learning curve")
    for name in [name for name in names if name in rows[-1]["figures"]]:
        known = [(row, row["figures"][name]) for row in rows if row["figures"].get(name)]
        page.heading(name, 3)
        page.plot(partial(_draw, known))
        table = [
            (
                figures["epoch"],
                f"{figures['loss']:,.0f}",
                *(_shown(figures[key]) for key in CURVES),
                _gap(row, figures, name),
                f"{figures['non_zeros']:,}",
                f"{100 * row['score']:.2f}",
            )
            for row, figures in known
        ]
        page.table(("Epoch", "Loss", "Primal~", "Dual", "Relative gap", "Non-zero weights", "Score"), table, texts=0)
    page.text(
        "The score is that of training, of the whole pipeline on the development corpus. Primal~ and gaps with ~ are "
        "running estimates, summed while the weights move; those without are certificates, at one w."
    )


def _gap(row: dict[str, Any], figures: dict[str, Any], name: str) -> str:
    certificate = row.get("certificates", {}).get(name)
    primal, dual = (certificate or figures)["primal"], (certificate or figures)["dual"]
    if primal is None or dual is None:
        return "-"
    return f"{(primal - dual) / primal if primal else 0.0:.2e}{'' if certificate else ' ~'}"


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:,.2f}"


def _draw(known: Sequence[tuple[dict[str, Any], dict[str, Any]]], figure: Any) -> None:
    epochs = [figures["epoch"] for _, figures in known]
    left, right = figure.subplots(1, 2)
    for key, label in CURVES.items():
        if any(figures[key] is not None for _, figures in known):
            left.plot(epochs, [figures[key] for _, figures in known], marker="o", markersize=3, label=label)
    if left.lines:
        left.legend()
        left.set_yscale("log")
    left.set(xlabel="epoch", ylabel="objective")
    right.plot(epochs, [100 * row["score"] for row, _ in known], marker="o", markersize=3)
    right.set(xlabel="epoch", ylabel="development score")
    for axes in (left, right):
        axes.grid(alpha=0.3)
