"""Corpora as problems for the solver room, with the scores that a paper reports."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from shared.training import CONFIGS, parser_alone
from spacy import util
from spacy.training import Example

from spacy_ssvm.solvers.problem import Problem

from . import chunk_tags, letters, multiclass

ASSETS = Path(__file__).parents[1] / "assets"
Scores = dict[str, float]


class NoData(Exception):
    """The files of a corpus do not exist."""


class Task(NamedTuple):
    """What is learnt, and how well weights do it.

    evaluate: weights, float64 [d] → the score of each part in per cent: "test" and, unless the task has none, "dev".
    """

    problem: Problem
    evaluate: Callable[[np.ndarray], Scores]


WORDS_AND_AFFIXES = [
    "bias",
    *(f"lower[{offset}]" for offset in (-2, -1, 0, 1, 2)),
    *(f"lower_suffix{n}[0]" for n in (1, 2, 3, 4)),
    *(f"lower_prefix{n}[0]" for n in (1, 2, 3)),
    "lower_suffix2[-1]",
    "lower_suffix2[1]",
    "short_shape[0]",
]
"""Without pairs of words, which with the 200 tags of Brown would be 500 million weights; the papers have 54 million."""

Loader = Callable[[Path], Task]
"""From the folder that `shared.convert` has written."""


def component_task(
    config: str, corpus: Path, score: str, overrides: dict[str, Any] | None = None, train: str = "train"
) -> Task:
    """A component of ours on CORPUS-TRAIN.spacy, CORPUS-dev.spacy and CORPUS-test.spacy.

    config: of `configs`, without its ending. score: of those that the component's scorer gives.
    """
    files = {part: need(corpus.with_name(f"{corpus.name}-{part}.spacy")) for part in (train, "dev", "test")}
    paths = {"paths.train": str(files[train]), "paths.dev": str(files["dev"])}
    nlp = util.load_model_from_config(
        util.load_config(CONFIGS / f"{config}.cfg", {**paths, **(overrides or {})}), auto_fill=True
    )
    resolved = nlp.config.interpolate()
    train_corpus, dev = util.resolve_dot_names(resolved, ["corpora.train", "corpora.dev"])
    resolved["corpora"]["dev"]["path"] = str(files["test"])
    (test,) = util.resolve_dot_names(resolved, ["corpora.dev"])
    examples = list(train_corpus(nlp))
    nlp.initialize(lambda: examples)
    pipe: Any = nlp.get_pipe(nlp.pipe_names[-1])
    problem = pipe.problem()
    parts = {name: list(part(nlp)) for name, part in (("dev", dev), ("test", test))}

    def evaluate(weights: np.ndarray) -> Scores:
        pipe.set_weights(weights)
        scores = {}
        for name, part in parts.items():
            docs = pipe.pipe(example.predicted.copy() for example in part)
            predicted = [Example(doc, example.reference) for doc, example in zip(docs, part)]
            scores[name] = 100 * pipe.score(predicted)[score]
        return scores

    return Task(problem, evaluate)


def tagger(corpus: str, templates: list[str] | None = None) -> Loader:
    """With the config's features, or these."""
    features = {"@ssvm_features": "spacy-ssvm.Templates.v1", "templates": templates}
    overrides = {"components.tagger.model.features": features} if templates else {}
    return lambda data: component_task("tagger/dcd", data / corpus, "tag_acc", overrides)


def recogniser(corpus: str, language: str) -> Loader:
    return lambda data: component_task("ner/dcd", data / corpus, "ents_f", {"nlp.lang": language})


def parser(
    corpus: str, language: str, structure: str, order: int, tags: list[str], several_roots: bool = False
) -> Loader:
    """With gold tags, and the unlabelled score without punctuation, as the papers count."""
    part = "part" if corpus.startswith("conll2007") else "train"
    columns = ["tag", "pos"] if "pos" in tags else ["tag", "morph"]
    overrides: dict[str, Any] = {
        **parser_alone(*columns),
        "nlp.lang": language,
        "corpora.train.gold_preproc": not several_roots,
        "corpora.dev.gold_preproc": not several_roots,
        "components.parser.multi_root": several_roots,
        "components.parser.model.structure": structure,
        "components.parser.model.order": order,
        "components.parser.model.features.tags": tags,
        "components.parser.model.features.hash_bits": 21,
    }
    return lambda data: component_task("parser/dcd", data / corpus, "dep_uas", overrides, part)


def chunks(data: Path) -> Task:
    """Chunk tags of CoNLL-2000, IOB2, with given part-of-speech tags."""
    files = [need(data / f"conll2000-{part}.spacy") for part in ("part", "dev", "test")]
    problem, parts = chunk_tags.read(CONFIGS / "chunker" / "sap.cfg", files)
    return Task(problem, lambda weights: {name: part.accuracy(weights) for name, part in parts.items()})


def letter_fold(original: bool, fold: int) -> Loader:
    """A tenth of the words for training, the next for development, the rest for testing."""

    def load(data: Path) -> Task:
        words = letters.read_original(need(OCR)) if original else letters.render(need(data / "ewt-train.spacy"))
        parts: dict[str, list[letters.Word]] = {"train": [], "dev": [], "test": []}
        for word in words:
            parts["train" if word.fold == fold else "dev" if word.fold == (fold + 1) % FOLDS else "test"].append(word)
        problem, _ = letters.problem(parts["train"])
        others = {name: letters.problem(parts[name])[1] for name in ("dev", "test")}
        return Task(
            problem, lambda weights: {name: letters.accuracy(chains, weights) for name, chains in others.items()}
        )

    return load


def classes(name: str) -> Loader:
    def load(data: Path) -> Task:
        for file in filter(None, multiclass.SOURCES[name]):
            need(ASSETS / "multiclass" / file)
        split = multiclass.read(name, ASSETS / "multiclass")
        problem = multiclass.problem(split.train)
        return Task(problem, lambda weights: {"test": multiclass.accuracy(split, weights)})

    return load


FOLDS = 10
OCR = ASSETS / "ocr" / "letter.data.gz"
LETTERS = "ocr" if OCR.exists() else "rendered"
"""Which letters are there."""
TASKS: dict[str, Loader] = {
    "pos-ewt": tagger("ewt"),
    "pos-brown": tagger("brown", WORDS_AND_AFFIXES),
    "ner-dutch": recogniser("conll2002-ned", "nl"),
    "ner-spanish": recogniser("conll2002-esp", "es"),
    "chunks": chunks,
    "dep-english": parser("ewt", "en", "projective", 1, ["tag", "pos"]),
    "dep-english-crossing": parser("ewt", "en", "nonprojective", 1, ["tag", "pos"]),
    "dep-basque-crossing": parser("conll2007-eus", "eu", "nonprojective", 1, ["tag", "morph"], True),
    "dep-spanish-crossing": parser("conll2007-esp", "es", "nonprojective", 1, ["tag", "morph"]),
    "dep-english-second": parser("ewt", "en", "nonprojective", 2, ["tag", "pos"]),
    "dep-basque-second": parser("conll2007-eus", "eu", "nonprojective", 2, ["tag", "morph"], True),
    "dep-spanish-second": parser("conll2007-esp", "es", "nonprojective", 2, ["tag", "morph"]),
    **{f"{LETTERS}-{fold}": letter_fold(LETTERS == "ocr", fold) for fold in range(FOLDS)},
    **{f"classes-{name}": classes(name) for name in multiclass.SOURCES},
}


def need(path: Path) -> Path:
    """The path of a file that is there.

    Raises:
        NoData: it is not.
    """
    if not path.exists():
        raise NoData(f"{path} is not there")
    return path


@lru_cache(maxsize=1)
def load(name: str, data: Path) -> Task:
    """A task by its name, of the corpora in a folder; the last one is kept.

    Raises:
        NoData: its corpus is not there.
    """
    return TASKS[name](data)
