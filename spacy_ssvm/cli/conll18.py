"""Scores by the official scorer of the CoNLL 2018 shared task, for gold words or for raw text."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from spacy.language import Language

from ..corpus.conllu import ConlluFile, conllu, load, udeval
from .reading import dev_reader, is_read_as_text, show_input

COLUMNS = {"LEMMA": 2, "UPOS": 3, "XPOS": 4, "FEATS": 5, "DEPREL": 7}
"""Columns of CoNLL-U with annotation, by name; a relation includes its head."""

METRICS: dict[str, frozenset[str]] = {
    "Tokens": frozenset(),
    "Sentences": frozenset(),
    "Words": frozenset(),
    "UPOS": frozenset({"UPOS"}),
    "XPOS": frozenset({"XPOS"}),
    "UFeats": frozenset({"FEATS"}),
    "AllTags": frozenset({"UPOS", "XPOS", "FEATS"}),
    "Lemmas": frozenset({"LEMMA"}),
    "UAS": frozenset({"DEPREL"}),
    "LAS": frozenset({"DEPREL"}),
    "CLAS": frozenset({"DEPREL"}),
    "MLAS": frozenset({"DEPREL", "UPOS", "FEATS"}),
    "BLEX": frozenset({"DEPREL", "LEMMA"}),
}
"""The columns that each metric compares."""


class Annotated(NamedTuple):
    """Gold annotation and a pipeline's annotation of the same text, both in CoNLL-U."""

    gold: str
    system: str


def annotate(nlp: Language, path: Path, columns: Sequence[str] | None, gold_preproc: bool | None) -> Annotated:
    """Annotate a corpus, as `dev_reader` reads it, and print what the pipeline gets.

    From a .conllu file, however, a pipeline that was trained on text gets gold words and sentences; with gold_preproc =
    False, any pipeline gets the raw text of each paragraph. columns: gold columns that it gets, too.

    Raises:
        ImportError: udtools is not installed.
        OSError: a file cannot be opened.
        ValueError: a file or column cannot be read; raw text is to have gold columns.
    """
    if path.suffix == ".conllu":
        file = ConlluFile(path)
        if gold_preproc is False:
            if columns:
                raise ValueError(
                    "raw text of a .conllu file has no gold columns: leave out --column or --no-gold-preproc"
                )
            show_input(False, ())
            return Annotated(file.text, "".join(map(conllu, nlp.pipe(file.texts()))))
        for _ in file.docs(nlp.vocab):
            pass  # The reader would leave out what it cannot read.
        if is_read_as_text(nlp):
            gold_preproc = True
    examples = list(dev_reader(nlp, path, columns, gold_preproc)(nlp))
    if not examples:
        raise ValueError("it contains no documents")
    docs = nlp.pipe([example.predicted for example in examples])
    gold = "".join(conllu(example.reference) for example in examples)
    return Annotated(gold, "".join(map(conllu, docs)))


def conll18_scores(gold: str, system: str) -> dict[str, dict[str, float]]:
    """Precision, recall and F1, from 0 to 1, of each metric whose columns both CoNLL-U texts have.

    A column that gold leaves empty throughout is left empty in system, too, and thus right, as it is for systems of
    the shared task; but without gold trees there are no attachment scores.

    Raises:
        ImportError: udtools is not installed.
        ValueError: the official scorer does not accept one of the texts, or they have different characters.
    """
    scorer = udeval()
    in_gold = filled(gold)
    needed = in_gold | {"DEPREL"}
    comparable = in_gold & filled(system)
    try:
        official = scorer.evaluate(
            load(gold, "gold annotation", multiple_roots=True),
            load(_without(system, set(COLUMNS) - needed), "annotation by the pipeline", multiple_roots=True),
        )
    except scorer.UDError as error:
        raise ValueError(str(error)) from error
    scores = {name: official[name] for name, columns in METRICS.items() if columns & needed <= comparable}
    return {name: {"p": score.precision, "r": score.recall, "f": score.f1} for name, score in scores.items()}


def filled(text: str) -> set[str]:
    """The annotated columns in which some word of the CoNLL-U text has a value."""
    rows = [row for line in text.split("\n") if (row := line.split("\t"))[0].isdigit()]
    return {name for name, column in COLUMNS.items() if any(row[column] != "_" for row in rows)}


def _without(text: str, columns: set[str]) -> str:
    """The CoNLL-U text of `conllu` with these columns empty."""
    rows = [line.split("\t") for line in text.split("\n")]
    for row in rows:
        for name in columns:
            if len(row) > 1:
                row[COLUMNS[name]] = "_"
    return "\n".join("\t".join(row) for row in rows)
