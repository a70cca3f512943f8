"""`spacy ssvm evaluate`: spaCy's evaluation, or CoNLL 2018's, of a corpus that is read as in training."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import srsly
import typer
from spacy.cli._util import import_code
from spacy.cli.evaluate import handle_scores_per_type, print_prf_per_type
from spacy.language import Language
from wasabi import msg

from .conll18 import COLUMNS, METRICS, annotate, conll18_scores, filled
from .reading import CodePath, DataPath, PipelineName, dev_reader, loaded

OVERALL = {
    "TOK": "token_acc",
    "TAG": "tag_acc",
    "POS": "pos_acc",
    "MORPH": "morph_acc",
    "LEMMA": "lemma_acc",
    "UAS": "dep_uas",
    "LAS": "dep_las",
    "UAS, all tokens": "uas",
    "LAS, all tokens": "las",
    "NER P": "ents_p",
    "NER R": "ents_r",
    "NER F": "ents_f",
    "SENT P": "sents_p",
    "SENT R": "sents_r",
    "SENT F": "sents_f",
}
"""The overall scores that a table shows, by title."""


def evaluate_command(
    model: PipelineName,
    data_path: DataPath,
    columns: Annotated[
        list[str] | None, typer.Option("--column", "-k", help="Gold column to give to the components; repeatable")
    ] = None,
    gold_preproc: Annotated[
        bool | None,
        typer.Option("--gold-preproc/--no-gold-preproc", "-G", help="Use gold sentences and tokens, or raw text"),
    ] = None,
    conll18: Annotated[bool, typer.Option("--conll18", help="Scores of the CoNLL 2018 shared task")] = False,
    code_path: CodePath = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="JSON file for the scores")] = None,
) -> None:
    """Score a pipeline on a corpus that is read as the pipeline's training.dev_corpus, so that the components get the
    same input as in training, and on the same corpus have the same scores.

    A limit of training.dev_corpus holds for its own corpus only. --column and --gold-preproc override its settings.
    """
    import_code(code_path)
    nlp = loaded(model)
    score = conll18_table if conll18 else spacy_table
    scores = score(nlp, data_path, columns, gold_preproc)
    if output is not None:
        try:
            output.parent.mkdir(parents=True, exist_ok=True)
            srsly.write_json(output, scores)
        except OSError as error:
            msg.fail("The scores cannot be saved", str(error), exits=1)
        msg.good(f"Saved scores to {output}")


def spacy_table(nlp: Language, path: Path, columns: list[str] | None, gold_preproc: bool | None) -> dict[str, Any]:
    """Print and return the scores of the pipeline's components."""
    try:
        corpus = dev_reader(nlp, path, columns, gold_preproc)
        examples = list(corpus(nlp))
    except (OSError, ValueError) as error:
        msg.fail(f"{path} cannot be read", str(error), exits=1)
    if not examples:
        msg.fail(f"No documents in {path}", exits=1)
    scores = nlp.evaluate(examples)
    msg.table([*percentages(scores), ("SPEED", f"{scores['speed']:.0f}")], title="Results")
    handle_scores_per_type(scores, {}, spans_key="")
    for key in span_groups(scores):
        per_type = scores.get(f"spans_{key}_per_type")
        if per_type:
            print_prf_per_type(msg, per_type, f"SPANS {key}", "type")
    return scores


def conll18_table(nlp: Language, path: Path, columns: list[str] | None, gold_preproc: bool | None) -> dict[str, Any]:
    """Print and return the scores of the CoNLL 2018 shared task."""
    try:
        annotated = annotate(nlp, path, columns, gold_preproc)
        scores = conll18_scores(annotated.gold, annotated.system)
    except (ImportError, OSError, ValueError) as error:
        msg.fail(f"No CoNLL 2018 scores of {path}", str(error), exits=1)
    in_gold = filled(annotated.gold)
    if empty := [name for name in COLUMNS if name not in in_gold]:
        msg.info(f"Columns that are empty in the corpus, and not compared: {', '.join(empty)}")
    if left_out := [name for name in METRICS if name not in scores]:
        msg.info(f"Metrics that need annotation that is not there: {', '.join(left_out)}")
    rows = [(name, *(f"{100 * score[part]:.2f}" for part in "prf")) for name, score in scores.items()]
    msg.table(rows, header=("", "P", "R", "F"), aligns=("l", "r", "r", "r"), title="CoNLL 2018")
    return scores


def percentages(scores: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The title and the value, in percent, of each overall score that a pipeline has."""
    names = dict(OVERALL)
    for key in span_groups(scores):
        names |= {f"SPANS {key} {part.upper()}": f"spans_{key}_{part}" for part in "prf"}
    return [(title, f"{100 * scores[name]:.2f}") for title, name in names.items() if scores.get(name) is not None]


def span_groups(scores: Mapping[str, Any]) -> list[str]:
    """The keys of doc.spans whose spans have scores, sorted."""
    return sorted(match[1] for name in scores if (match := re.fullmatch("spans_(.+)_f", name)))
