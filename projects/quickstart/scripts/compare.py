"""Train each component with each solver on the same features, and compare them on the development part."""

import time
from pathlib import Path
from typing import Any

import srsly
import typer
from spacy import util
from thinc.api import Config
from wasabi import msg

SCORES = {"senter": "sents_f", "tagger": "tag_acc", "parser": "las", "ner": "ents_f"}
COLUMNS = {
    "score": "{:.2f}",
    "epochs": "{}",
    "cpu_seconds": "{:.2f}",
    "non_zero_weights": "{:,}",
    "planes": "{:,}",
    "relative_gap": "{:.4f}",
}


def train(config: Config, model: Path, component: str, solver: dict[str, Any]) -> dict[str, Any]:
    """Train one component with one solver for max_epochs of the config; its figures, None where it has none.

    The other components are those of the pipeline in `model`: what they annotate is the same for every solver.
    """
    config = config.copy()
    trained = {name: {"source": str(model)} for name in config["nlp"]["pipeline"]}
    config["components"] = {**trained, component: {**config["components"][component], "solver": solver}}
    nlp = util.load_model_from_config(config)
    train_corpus, dev_corpus = util.resolve_dot_names(nlp.config.interpolate(), ["corpora.train", "corpora.dev"])
    examples = list(train_corpus(nlp))
    with nlp.select_pipes(enable=component):
        nlp.initialize(lambda: examples)
        started = time.process_time()
        for _ in range(config["training"]["max_epochs"]):
            nlp.update(examples)
        seconds = time.process_time() - started
    pipe = nlp.get_pipe(component)
    certificate = pipe.certificate()
    return {
        "score": 100 * nlp.evaluate(list(dev_corpus(nlp)))[SCORES[component]],
        "epochs": pipe.figures.epoch,
        "cpu_seconds": seconds,
        "non_zero_weights": pipe.figures.non_zeros,
        "planes": pipe.figures.planes,
        "relative_gap": None if certificate is None else certificate.relative_gap,
    }


def main(config_path: Path, solvers_path: Path, model: Path, train_path: Path, dev_path: Path, output: Path) -> None:
    """Print a table for each component, and write all figures to OUTPUT as JSON."""
    config = util.load_config(config_path, {"paths.train": str(train_path), "paths.dev": str(dev_path)})
    solvers = util.load_config(solvers_path)
    comparison: dict[str, dict[str, Any]] = {}
    for component, score in SCORES.items():
        results = {name: train(config, model, component, solver) for name, solver in solvers.items()}
        comparison[component] = results
        msg.table(
            [
                [name, *("-" if row[key] is None else form.format(row[key]) for key, form in COLUMNS.items())]
                for name, row in results.items()
            ],
            header=["solver", *(score if key == "score" else key.replace("_", " ") for key in COLUMNS)],
            aligns=["l", *("r" for _ in COLUMNS)],
            divider=True,
            title=f"{component}: development part",
        )
    output.parent.mkdir(parents=True, exist_ok=True)
    srsly.write_json(output, comparison)


if __name__ == "__main__":
    typer.run(main)
