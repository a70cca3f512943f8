"""What several commands do with a pipeline: read a corpus as in training, and run the components before one of them."""

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..corpus.reader import ColumnCorpus, create_corpus


def dev_reader(
    nlp: Language, path: Path, columns: Sequence[str] | None = None, gold_preproc: bool | None = None
) -> ColumnCorpus:
    """A reader of another corpus, set up as the reader that the pipeline's training.dev_corpus names.

    columns, gold_preproc: in place of its settings.

    Raises:
        ValueError: a column is unknown.
    """
    config = nlp.config.interpolate()
    section: Any = config
    for part in str(config.get("training", {}).get("dev_corpus", "corpora.dev")).split("."):
        section = section.get(part, {}) if isinstance(section, dict) else {}
    settings = section if isinstance(section, dict) else {}
    return create_corpus(
        path,
        columns=list(columns or settings.get("columns") or []),
        gold_preproc=bool(settings.get("gold_preproc")) if gold_preproc is None else gold_preproc,
    )


def annotate_before(
    nlp: Language, name: str, examples: Iterable[Example], components: Collection[str] | None = None
) -> list[Example]:
    """The examples, whose predicted Docs the components before the named one have annotated.

    components: those of them that are run; all by default.
    """
    listed = list(examples)
    before = nlp.pipe_names[: nlp.pipe_names.index(name)]
    enabled = [other for other in before if components is None or other in components]
    with nlp.select_pipes(enable=enabled):
        docs: list[Doc] = list(nlp.pipe([example.predicted for example in listed]))
    for example, doc in zip(listed, docs):
        example.predicted = doc
    return listed
