"""What is learnt: a component of the pipeline that `spacy ssvm init-config` makes, and the corpora."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thinc.api import Config

from spacy_ssvm.cli.settings import make_config


@dataclass(frozen=True)
class Task:
    """A component to learn.

    title: for readers. component: its name in the config. language: a code. corpus: the prefix of the .spacy files.
    score, unit: the name among spaCy's scores of that on the development part, and what to call it. settings: other
    than those of `init-config`, with dots in their names.
    """

    title: str
    component: str
    language: str
    corpus: str
    score: str
    unit: str
    settings: dict[str, Any] = field(default_factory=dict)

    def config(self, solver: str, data: Path) -> Config:
        """The config for a solver, such as "dcd", interpolated. data: the folder of the corpora."""
        config = make_config([self.component], solver, self.language)
        paths = {f"paths.{part}": str((data / f"{self.corpus}-{part}.spacy").resolve()) for part in ("train", "dev")}
        for name, value in (paths | self.settings).items():
            *sections, key = name.split(".")
            section = config
            for part in sections:
                section = section[part]
            section[key] = value
        return config.interpolate()


GOLD_TAGS = {
    "nlp.pipeline": ["parser"],
    "corpora.train.jackknife": None,
    "corpora.train.columns": ["tag", "pos"],
    "corpora.dev.columns": ["tag", "pos"],
}
"""The parser by itself: with tags that each worker jackknifes, other numbers of workers would learn from other data."""
SLICE = {
    "corpora.train.limit": 2000,
    "components.parser.model.features.hash_bits": 20,
    "components.parser.model.features.label_hash_bits": 14,
}
"""The first sentences, with tables for their features."""
FIRST_ORDER = {"components.parser.model.order": 1, "components.parser.model.max_heads": 0}
"""Without a first pass, which is learnt in another way, and so prunes other arcs, for each number of workers."""

TASKS = {
    "tags": Task("EWT, XPOS", "tagger", "en", "ewt", "tag_acc", "accuracy"),
    "entities": Task("CoNLL-2002 Dutch, entities", "ner", "nl", "conll2002-ned", "ents_f", "F1"),
    "trees": Task("EWT, 2,000 trees", "parser", "en", "ewt", "dep_las", "LAS", GOLD_TAGS | FIRST_ORDER | SLICE),
}
