"""`spacy ssvm report`: a page of HTML with the scores of a pipeline, its mistakes and the reasons for them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from spacy.language import Language
from spacy.scorer import PRFScore, Scorer
from spacy.training import Example
from wasabi import msg

from ..corpus.checks.corpora import count_sentences
from ..inspect.parts import (
    AnnotationParts,
    ComparedPart,
    LocatedPart,
    SentenceTokens,
    by_frequency,
    by_label,
    by_length,
    located,
    overall,
    sentences_of,
)
from ..pipeline.component import SsvmPipe
from ..training.calibration import expected_error, margins, reliability
from ..wording import counted
from ..words import example_of_words, in_tokens
from .evaluate import percentages, span_groups
from .mistakes import mistakes_section, shown
from .page import Bar, contents, heading, page, paragraph, scrolling, table
from .plots import learning_curve, log_rows
from .reading import CodePath, DataPath, dev_reader, failing, file_to_write, load_pipeline

MAX_LABELS = 100
"""Labels whose scores are shown."""


@failing()
def report_command(
    model: Annotated[Path, typer.Argument(help="Path of the pipeline", exists=True, file_okay=False)],
    data_path: DataPath,
    output: Annotated[Path, typer.Argument(help="HTML file for the report", callback=file_to_write)],
    log: Annotated[
        Path | None,
        typer.Option(
            "--log", "-l", help="Output file of the logger, for the learning curve", exists=True, dir_okay=False
        ),
    ] = None,
    train: Annotated[
        Path | None,
        typer.Option("--train", "-t", help="Training corpus, for scores by how often words were seen", exists=True),
    ] = None,
    worst: Annotated[int, typer.Option("--worst", "-w", min=0, help="Sentences to explain, for each component")] = 10,
    code_path: CodePath = None,
) -> None:
    """Write a page about a pipeline: scores, confusions, calibration, mistakes with reasons, learning curve.

    The corpora are read as the pipeline's training.dev_corpus is.
    """
    nlp, pipes = load_pipeline(model, code_path)
    examples = list(dev_reader(nlp, data_path)(nlp))
    if not any(len(example.predicted) for example in examples):
        raise ValueError(f"No documents in {data_path}")
    rows = [] if log is None else log_rows(log)
    frequencies = None if train is None else _frequencies(nlp, train)
    docs = list(nlp.pipe(example.predicted.copy() for example in examples))
    annotated = [Example(doc, example.reference) for doc, example in zip(docs, examples)]
    links = {f"c{number}": name for number, name in enumerate(pipes)}
    parts = [contents({"scores": "Scores", **links}), *_scores(nlp, annotated), *_components(model, pipes)]
    sentences = [sentences_of(number, example) for number, example in enumerate(annotated)]
    for number, (name, pipe) in enumerate(pipes.items()):
        found = _located(pipe, annotated, sentences)
        parts += [f'<section id="c{number}">', heading(name), *_findings(pipe, annotated, found, frequencies)]
        parts += [*learning_curve(rows, name), *mistakes_section(pipe, docs, found, f"c{number}", worst), "</section>"]
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(page(f"{model} on {data_path.name}", parts), encoding="utf8")
    msg.good(f"Saved the report to {output}")


def _frequencies(nlp: Language, train: Path) -> Counter[str]:
    """How often each word occurs in a corpus."""
    return Counter(token.text for example in dev_reader(nlp, train)(nlp) for token in example.reference)


def _scores(nlp: Language, annotated: Sequence[Example]) -> list[str]:
    references = [example.reference for example in annotated]
    n_sentences, documents = count_sentences(references), counted(len(annotated), "document")
    sentences = [] if n_sentences is None else [counted(n_sentences, "sentence")]
    texts = sentences if n_sentences == len(annotated) else [documents, *sentences]  # The reader may divide documents.
    n_tokens = sum(len(example.predicted) for example in annotated)
    scores = Scorer(nlp).score(annotated)
    parts = [paragraph(", ".join([*texts, counted(n_tokens, "token")])), '<section id="scores">', heading("Scores")]
    parts.append(table(("Score", "%"), percentages(scores)))
    for key in span_groups(scores):
        if per_type := scores.get(f"spans_{key}_per_type"):
            rows = [(label, *map(Bar, map(per_type[label].get, "prf"))) for label in sorted(per_type)]
            parts += [heading(f'Spans in doc.spans["{key}"]', 3), table(("Label", "P", "R", "F"), rows)]
    return parts


def _components(model: Path, pipes: Mapping[str, SsvmPipe]) -> list[str]:
    rows = []
    for name, pipe in pipes.items():
        non_zero, total = pipe.count_weights()
        size = sum(path.stat().st_size for path in (model / name).rglob("*") if path.is_file())
        share = f"{100 * non_zero / total:.1f} %" if total else "-"
        rows.append((name, repr(pipe.solver), len(pipe.labels), f"{size / 1e6:.2f}", f"{non_zero:,}", share))
    header = ("Component", "Solver", "Labels", "MB", "Non-zero weights", "of all")
    note = "Percentages are of all weights of the model's features, or of the whole table if features are hashed."
    return [heading("Size", 3), scrolling(table(header, rows, texts=2), "Size"), paragraph(note), "</section>"]


def _located(
    pipe: SsvmPipe, annotated: Sequence[Example], sentences: Sequence[Sequence[SentenceTokens]]
) -> list[LocatedPart]:
    """The parts of a component's annotation; none if they have no names, or gold has none at all."""
    if pipe.codec.parts is None:
        return []
    found = [
        part
        for example, own in zip(annotated, sentences)
        for part in located(own, example.predicted, _compared(pipe.codec.parts, example))
    ]
    return found if any(part.gold is not None for _, part, _ in found) else []


def _findings(
    pipe: SsvmPipe, annotated: Sequence[Example], found: Sequence[LocatedPart], frequencies: Mapping[str, int] | None
) -> list[str]:
    """A component's scores in parts of the corpus, and its calibration."""
    if pipe.codec.parts is None:
        return [paragraph("Its annotation has no parts with names.")]
    if not found:
        text = f"Nothing to compare: the corpus has no gold annotation of the kind that {pipe.name} predicts. "
        return [paragraph(text + "Annotate it, or give a corpus that has some.")]
    parts = [part for _, part, _ in found]
    are_paired = not any(part.gold is None or part.predicted is None for part in parts)
    grouped = {"By length of sentence, in tokens": by_length(found)}
    if frequencies is not None:
        docs = [example.predicted for example in annotated]
        grouped["By how often the rarest word was seen in training"] = by_frequency(found, docs, frequencies)
    tables = [f"<div>{heading(title, 3)}{_figures(counts, are_paired)}</div>" for title, counts in grouped.items()]
    counts = sorted(by_label(parts).items(), key=lambda pair: -_n_gold(pair[1]) - pair[1].tp - pair[1].fp)
    most = dict(counts[:MAX_LABELS])
    left = f", without {len(counts) - len(most):,} that are less frequent" if len(counts) > len(most) else ""
    labels = f"<details><summary>By label{left}</summary>{_figures(most, False)}</details>"
    total = _total(overall(parts), are_paired)
    tables.append(f"<div>{''.join(_calibration(pipe, annotated))}</div>")
    return [total, f'<div class="beside">{"".join(tables)}</div>', labels]


def _compared(parts: AnnotationParts, example: Example) -> list[ComparedPart]:
    """The parts of both annotations of an example, by tokens of the predicted Doc."""
    of_words = example_of_words(example)
    compared = []
    for part in parts.compared(of_words):
        start, end, head = in_tokens(of_words.predicted, part.start, part.end, part.head)
        other = part.elsewhere and in_tokens(of_words.predicted, *part.elsewhere, None)[:2]
        compared.append(part._replace(start=start, end=end, head=head, elsewhere=other))
    return compared


def _n_gold(score: PRFScore) -> int:
    return score.tp + score.fn


def _total(score: PRFScore, are_paired: bool) -> str:
    if are_paired:
        return paragraph(f"{score.tp:,} of {_n_gold(score):,} are right, {100 * score.recall:.2f} %.")
    figures = f"precision {100 * score.precision:.2f}, recall {100 * score.recall:.2f}, F1 {100 * score.fscore:.2f}"
    return paragraph(f"{_n_gold(score):,} in the gold annotation, {score.tp + score.fp:,} predicted: {figures}.")


def _figures(scores: Mapping[str, PRFScore], are_paired: bool) -> str:
    names = ("recall",) if are_paired else ("precision", "recall", "fscore")
    rows = [
        (shown(label), f"{_n_gold(score):,}", *(Bar(getattr(score, name)) for name in names))
        for label, score in scores.items()
    ]
    return table(("", "Gold", "Right, %") if are_paired else ("", "Gold", "P", "R", "F1"), rows)


def _calibration(pipe: SsvmPipe, annotated: Sequence[Example]) -> list[str]:
    """How often parts with higher scores are right more often."""
    title = heading("Calibration", 3)
    try:
        examples = pipe.calibration_examples(annotated)
        beta = pipe.inverse_temperature
        bins = margins(examples) if beta is None else reliability(examples, beta, beta)
    except ValueError as error:  # decoding is approximate, or a Doc contradicts itself
        return [title, paragraph(str(error))]
    if beta is None:
        note = "Predicted parts by margin, from the smallest to the largest in groups of one size."
        starts, means = [f"{bin.low:.2f}" for bin in bins], [f"{bin.mean:.2f}" for bin in bins]
    else:
        note = "Items are calibrated if their mean probability and the share that is right are the same in each row. "
        note += f"The expected calibration error is {expected_error(bins):.4f}."
        starts, means = [f"{bin.low:.1f}" for bin in bins], [f"{bin.mean:.3f}" for bin in bins]
    filled = [(start, mean, bin) for start, mean, bin in zip(starts, means, bins) if bin.n_items]
    rows = [(start, f"{bin.n_items:,}", mean, Bar(bin.right)) for start, mean, bin in filled]
    return [title, paragraph(note), table(("From", "Items", "Mean", "Right, %"), rows, 0)]
