"""Our morphologizer and lemmatizer beside spaCy's on a treebank: TRAINING METRICS ASSETS PART TREEBANK [--KEY value …].

Ours come with the taggers, whose tags the lemmatizer reads.

TRAINING/TREEBANK/beside_spacy has both pipelines, METRICS/beside_spacy/TREEBANK.jsonl a row for each, and
TRAINING/TREEBANK/beside_spacy.md the table. spaCy's has the settings that it recommends for a CPU, and reads the same
words, a sentence at a time, as ours does. Overrides of both configs come last. What is there stays.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import spacy
import srsly

from spacy_ssvm.files import replace_files

from .build import run_spacy, score, train
from .locate import locate, part

METRICS = ("UPOS", "UFeats", "Lemmas")
OURS = ("tagger", "pos_tagger", "morphologizer", "lemmatizer")
PEERS = "morphologizer,trainable_lemmatizer"


def our_config(prefix: Path, folder: Path) -> tuple[Path, list[str]]:
    """The config of our pipeline, and its overrides."""
    config, corpus = folder / "ours.cfg", part(prefix, "train")
    run_spacy("ssvm", "init-config", str(config), "--treebank", str(corpus), "--force", log=folder / "config.log")
    names = [name for name in spacy.util.load_config(config)["nlp"]["pipeline"] if name in OURS]
    return config, ["--nlp.pipeline", srsly.json_dumps(names)]


def spacy_config(prefix: Path, folder: Path) -> tuple[Path, list[str]]:
    """The config of spaCy's pipeline, and its overrides; its corpora are converted."""
    config, overrides = folder / "spaCy.cfg", []
    for name in ("train", "dev"):
        file = part(prefix, name)
        run_spacy("convert", str(file), str(folder), "--converter", "conllu", log=folder / "convert.log")
        overrides += [f"--paths.{name}", str(folder / f"{file.stem}.spacy"), f"--corpora.{name}.gold_preproc", "true"]
    lang = spacy.util.load_config(folder / "ours.cfg")["nlp"]["lang"]
    options = ["--lang", lang, "--pipeline", PEERS, "--optimize", "efficiency", "--force"]
    run_spacy("init", "config", str(config), *options, log=folder / "config.log")
    return config, overrides


CONFIGS = {"ours": our_config, "spaCy": spacy_config}


def page(treebank: str, name: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """The table in Markdown."""
    head = ["", *METRICS, "CPU seconds of training", "tokens per CPU second", "model, MB"]
    lines = [
        f"# Morphology and lemmas beside spaCy's: {treebank}, {name} set",
        "",
        f"Gold words, F1 in percent. Ours: {', '.join(OURS)}; spaCy's: {PEERS.replace(',', ', ')}.",
        "",
        f"| {' | '.join(head)} |",
        "|---|" + "---:|" * (len(head) - 1),
    ]
    for row in rows:
        found = row[name]["gold"]
        cells = [row["system"], *(f"{found[metric]:.2f}" if metric in found else "–" for metric in METRICS)]
        cells += [f"{row['cpu_seconds']:.0f}", f"{row[name]['tokens_per_second']:,}", f"{row['megabytes']:.1f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    training, metrics, assets, name, source, *settings = sys.argv[1:]
    prefix = locate(source, Path(assets))
    treebank = prefix.name.removesuffix("-ud")
    folder = Path(training) / treebank / "beside_spacy"
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for system, write_config in CONFIGS.items():
        if not (folder / system).exists():
            config, overrides = write_config(prefix, folder)
            train(config, folder / system, [*overrides, *settings])
        record = score(folder / system, "dev", part(prefix, "dev"))
        if name != "dev":
            record = score(folder / system, name, part(prefix, name))
        rows.append({"system": system, **record})
    content = "".join(srsly.json_dumps(row) + "\n" for row in rows)
    target = Path(metrics) / "beside_spacy"
    target.mkdir(parents=True, exist_ok=True)
    replace_files(target, {f"{treebank}.jsonl": content.encode()})
    text = page(treebank, name, rows)
    replace_files(folder.parent, {"beside_spacy.md": text.encode()})
    print(text)


if __name__ == "__main__":
    main()
