"""`spacy ssvm evaluate`: spaCy's evaluation of a corpus that is read as in training."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import srsly
import typer
from spacy.cli._util import import_code
from spacy.cli.evaluate import handle_scores_per_type, print_prf_per_type
from wasabi import msg

from .pipelines import CodePath, DataPath, PipelineName, dev_reader, loaded

OVERALL = {
    "TOK": "token_acc",
    "TAG": "tag_acc",
    "POS": "pos_acc",
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
        bool | None, typer.Option("--gold-preproc/--no-gold-preproc", "-G", help="Use gold sentences and tokens")
    ] = None,
    code_path: CodePath = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="JSON file for the scores")] = None,
) -> None:
    """Score a pipeline on a corpus read by "spacy-ssvm.Corpus.v1".

    By default the reader has the settings of the pipeline's training.dev_corpus, so that components see the same input
    as in training.
    """
    import_code(code_path)
    nlp = loaded(model)
    try:
        corpus = dev_reader(nlp, data_path, columns, gold_preproc)
        examples = list(corpus(nlp))
    except (OSError, ValueError) as error:
        msg.fail(f"{data_path} cannot be read", str(error), exits=1)
    gold_tokens = "yes" if corpus.corpus.gold_preproc else "no"
    msg.info(f"Gold tokens: {gold_tokens}; gold columns given to the components: {', '.join(corpus.columns) or 'none'}")
    if not examples:
        msg.fail(f"No documents in {data_path}", exits=1)
    scores = nlp.evaluate(examples)
    msg.table([*percentages(scores), ("SPEED", f"{scores['speed']:.0f}")], title="Results")
    handle_scores_per_type(scores, {}, spans_key="")
    for key in span_groups(scores):
        per_type = scores.get(f"spans_{key}_per_type")
        if per_type:
            print_prf_per_type(msg, per_type, f"SPANS {key}", "type")
    if output is not None:
        try:
            output.parent.mkdir(parents=True, exist_ok=True)
            srsly.write_json(output, scores)
        except OSError as error:
            msg.fail("The scores cannot be saved", str(error), exits=1)
        msg.good(f"Saved scores to {output}")


def percentages(scores: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The title and the value, in percent, of each overall score that a pipeline has."""
    names = dict(OVERALL)
    for key in span_groups(scores):
        names |= {f"SPANS {key} {part.upper()}": f"spans_{key}_{part}" for part in "prf"}
    return [(title, f"{100 * scores[name]:.2f}") for title, name in names.items() if scores.get(name) is not None]


def span_groups(scores: Mapping[str, Any]) -> list[str]:
    """The keys of doc.spans whose spans have scores, sorted."""
    return sorted(match[1] for name in scores if (match := re.fullmatch("spans_(.+)_f", name)))
