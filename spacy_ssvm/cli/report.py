"""`spacy ssvm report`: a page of HTML with the scores of a pipeline, its mistakes and the reasons for them."""

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

from ..corpus.checks.corpora import count_sentences
from ..files import read_records
from ..inspect.parts import AnnotationParts, Mistake
from ..pipeline.component import SsvmPipe
from ..wording import counted
from ..words import example_of_words, in_tokens
from .dev_corpus import dev_reader
from .evaluate import percentages, span_groups
from .page import Page
from .pipelines import CodePath, DataPath, load_pipeline

MAX_PAIRS = 20
"""Confusions that are listed of each component."""

PER_TYPE = {"ents_per_type": "Entities", "dep_las_per_type": "Labelled arcs, without punctuation"}
CURVES = {"primal": "primal, estimated", "dual": "dual"}


class SentenceMistakes(NamedTuple):
    """Tokens start … end − 1 of an example, by its number, and the mistakes of a component there."""

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

    The corpus is read as the pipeline's training.dev_corpus is.
    """
    nlp, pipes = load_pipeline(model, code_path)
    page = Page(f"{model} on {data_path.name}")
    try:
        examples = list(dev_reader(nlp, data_path)(nlp))
        if not examples:
            raise ValueError(f"No documents in {data_path}")
        rows = [] if log is None else _log_rows(log)
        _add_scores(page, nlp, examples)
    except ValueError as error:
        msg.fail(str(error), exits=1)
    _add_components(page, model, pipes)
    # Evaluation does not annotate the examples.
    docs = nlp.pipe(example.predicted.copy() for example in examples)
    annotated = [Example(doc, example.reference) for doc, example in zip(docs, examples)]
    for name, pipe in pipes.items():
        page.heading(f"Mistakes of {name}")
        if pipe.codec.parts is None:
            page.text("Its annotation has no parts with names.")
            continue
        mistakes = [_mistakes(pipe.codec.parts, example) for example in annotated]
        if not any(mistakes):
            page.text("None.")
            continue
        _add_pairs(page, [mistake for of_example in mistakes for mistake in of_example])
        sentences = sorted(_sentences(annotated, mistakes), key=lambda sentence: -len(sentence.mistakes))[:worst]
        if sentences:
            page.heading("Sentences with the most mistakes", 3)
            page.text("Click a sentence for its mistakes and the features behind them.")
        for sentence in sentences:
            doc = annotated[sentence.number].predicted
            _add_sentence(page, doc, sentence, _reasons(pipe, doc, sentence))
    if rows:
        _add_curve(page, rows, list(pipes))
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(page.html(), encoding="utf8")
    msg.good(f"Saved the report to {output}")


def _mistakes(parts: AnnotationParts, example: Example) -> list[Mistake]:
    """The mistakes of the component with these parts in an annotated example, by tokens of the predicted Doc."""
    of_words = example_of_words(example)
    mistakes = parts.mistakes(of_words)
    bounds = [in_tokens(of_words.predicted, m.start, m.end, m.head) for m in mistakes]
    return [m._replace(start=start, end=end, head=head) for m, (start, end, head) in zip(mistakes, bounds)]


def _add_scores(page: Page, nlp: Language, examples: Sequence[Example]) -> None:
    nlp(examples[0].predicted.copy())  # loads the kernels, so that loading does not count as slow prediction
    scores = nlp.evaluate(examples)
    page.heading("Scores")
    n_tokens = sum(len(example.predicted) for example in examples)
    page.text(
        f"{_texts_of(examples)}, {counted(n_tokens, 'token')}; the pipeline annotates {scores['speed']:,.0f} a second."
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


def _texts_of(examples: Sequence[Example]) -> str:
    """How many documents there are, and how many sentences, if that is known; the reader may have divided documents."""
    n_sentences = count_sentences([example.reference for example in examples])
    documents = counted(len(examples), "document")
    if n_sentences is None:
        return documents
    sentences = counted(n_sentences, "sentence")
    return sentences if n_sentences == len(examples) else f"{documents}, {sentences}"


def _add_components(page: Page, model: Path, pipes: dict[str, SsvmPipe]) -> None:
    page.heading("Size")
    rows = []
    for name, pipe in pipes.items():
        non_zero, total = pipe.count_weights()
        size = sum(path.stat().st_size for path in (model / name).rglob("*") if path.is_file())
        share = f"{100 * non_zero / total:.1f} %" if total else "-"
        rows.append((name, repr(pipe.solver), len(pipe.labels), f"{size / 1e6:.2f}", f"{non_zero:,}", share))
    header = ("Component", "Solver", "Labels", "MB", "Non-zero weights", "of all")
    page.table(header, rows, texts=2)
    page.text("Percentages are of all weights of the model's features, or of the whole table if features are hashed.")


def _add_pairs(page: Page, mistakes: Sequence[Mistake]) -> None:
    pairs = Counter((mistake.gold, mistake.predicted) for mistake in mistakes)
    page.text(f"{len(mistakes):,} in all. The most frequent confusions:")
    rows = [(gold, predicted, f"{count:,}") for (gold, predicted), count in pairs.most_common(MAX_PAIRS)]
    page.table(("Gold", "Predicted", "Times"), rows, texts=2)


def _sentences(examples: Sequence[Example], mistakes: Sequence[list[Mistake]]) -> list[SentenceMistakes]:
    """The sentences with mistakes; a Doc without sentence boundaries is one sentence."""
    sentences = []
    for number, (example, of_example) in enumerate(zip(examples, mistakes)):
        doc = example.predicted
        bounds = [(sent.start, sent.end) for sent in doc.sents] if doc.has_annotation("SENT_START") else [(0, len(doc))]
        for start, end in bounds:
            inside = [mistake for mistake in of_example if start <= mistake.start < end]
            if inside:
                sentences.append(SentenceMistakes(number, start, end, inside))
    return sentences


def _add_sentence(page: Page, doc: Doc, sentence: SentenceMistakes, reasons: str) -> None:
    wrong = {i for mistake in sentence.mistakes for i in range(mistake.start, mistake.end)}
    tokens = range(sentence.start, sentence.end)
    lines = [
        f"{doc[m.start : m.end].text}: {m.predicted} predicted, {m.gold} in the gold annotation"
        for m in sentence.mistakes
    ]
    page.folded([doc[i].text for i in tokens], [i in wrong for i in tokens], "\n".join([*lines, "", reasons]).strip())


def _reasons(pipe: Any, doc: Doc, sentence: SentenceMistakes) -> str:
    """The explanation of a component's wrong predictions in a sentence, and of the gold parts that it missed."""
    wrong = [(mistake.start, mistake.end) for mistake in sentence.mistakes]
    try:
        explanation = pipe.explain(doc)
    except ValueError as error:  # approximate decoding has no exact margins
        return str(error)
    found = [f for f in explanation.findings if any(f.start < end and start < f.end for start, end in wrong)]
    unknown = []
    for mistake in sentence.mistakes:
        missed = pipe.codec.parts.missed(mistake)
        try:
            found += [] if missed is None else pipe.explain(doc, missed).findings
        except ValueError as error:  # a label that the component does not have
            unknown.append(f"{doc[mistake.start : mistake.end].text} → {mistake.gold}: {error}")
    found.sort(key=lambda finding: finding.start)
    return "\n".join(filter(None, [str(replace(explanation, findings=tuple(found)).text()), *unknown]))


def _log_rows(log: Path) -> list[dict[str, Any]]:
    """The rows of an output file of "spacy-ssvm.ConsoleLogger.v1".

    Raises:
        ValueError: the file is not an output file of this logger.
    """
    try:
        rows = [dict(row) for _, row in read_records(log, srsly.json_loads)]
        if rows and all({"epoch", "score", "losses", "figures"} <= set(row) for row in rows):
            return rows
    except (TypeError, ValueError):
        pass
    raise ValueError(f'{log} is no output_file of the logger "spacy-ssvm.ConsoleLogger.v1"')


def _add_curve(page: Page, rows: Sequence[dict[str, Any]], names: Sequence[str]) -> None:
    page.heading("Learning curve")
    for name in [name for name in names if name in rows[-1]["figures"]]:
        points = [(row, row["figures"][name]) for row in rows if row["figures"].get(name)]
        page.heading(name, 3)
        page.plot(partial(_draw, points))
        table = [
            (
                figures["epoch"],
                f"{figures['loss']:,.0f}",
                *(_shown(figures[key]) for key in CURVES),
                _gap(row, figures, name),
                f"{figures['non_zeros']:,}",
                f"{100 * row['score']:.2f}",
            )
            for row, figures in points
        ]
        page.table(("Epoch", "Loss", "Primal~", "Dual", "Relative gap", "Non-zero weights", "Score"), table, texts=0)
    page.text(
        "The score is the pipeline's score on the development corpus during training. Primal~ and gaps marked ~ are "
        "running estimates, summed while the weights change; the other gaps are certificates at fixed weights."
    )


def _gap(row: dict[str, Any], figures: dict[str, Any], name: str) -> str:
    certificate = row.get("certificates", {}).get(name)
    primal, dual = (certificate or figures)["primal"], (certificate or figures)["dual"]
    if primal is None or dual is None:
        return "-"
    return f"{(primal - dual) / primal if primal else 0.0:.2e}{'' if certificate else ' ~'}"


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:,.2f}"


def _draw(points: Sequence[tuple[dict[str, Any], dict[str, Any]]], figure: Any) -> None:
    """The objectives and the score over the epochs; points: a row of the log and the component's figures in it."""
    epochs = [figures["epoch"] for _, figures in points]
    left, right = figure.subplots(1, 2)
    for key, label in CURVES.items():
        if any(figures[key] is not None for _, figures in points):
            left.plot(epochs, [figures[key] for _, figures in points], marker="o", markersize=3, label=label)
    if left.lines:
        left.legend()
        left.set_yscale("log")
    left.set(xlabel="epoch", ylabel="objective")
    right.plot(epochs, [100 * row["score"] for row, _ in points], marker="o", markersize=3)
    right.set(xlabel="epoch", ylabel="development score")
    for axes in (left, right):
        axes.grid(alpha=0.3)
