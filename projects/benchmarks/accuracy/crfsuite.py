"""Train CRFsuite on exactly the features of a config's component and score it as spaCy scores.

The features are the component's own: its templates give every token a set of row numbers, and CRFsuite gets
these numbers as attributes, so that both learners see the same input and the same labels. With --corpus NAME, each
trainer's figures become the row NAME,TRAINER of METRICS/peers-crfsuite.jsonl.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite
from shared import metrics
from spacy.scorer import Scorer, get_ner_prf
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import load_config, load_model_from_config

from spacy_ssvm.corpus.reader import create_corpus
from spacy_ssvm.features.extractor import Extractor
from spacy_ssvm.features.index import add_features, empty_table, look_up_features
from spacy_ssvm.features.resources import load_classes, load_gazetteers

TRAINERS = {
    "pa": {"max_iterations": 30},
    "ap": {"max_iterations": 30},
    "arow": {"max_iterations": 30},
    "lbfgs": {"c1": 0.0, "c2": 0.1, "max_iterations": 200},
}


def items(columns: Any, features: Any) -> list[pycrfsuite.ItemSequence]:
    starts, rows, values = features
    return [
        pycrfsuite.ItemSequence(
            [
                {str(row): float(value) for row, value in zip(rows[a:b], values[a:b])}
                for a, b in zip(starts[first:end], starts[first + 1 : end + 1])
            ]
        )
        for first, end in zip(columns.starts[:-1], columns.starts[1:])
    ]


def gold(example: Example, task: str) -> list[str]:
    labels = example.get_aligned_ner() if task == "ssvm_ner" else example.get_aligned("TAG", as_string=True)
    return [label or "O" for label in labels]


def decode(tagger: Any, item: Any, costs: dict[str, float]) -> list[str]:
    """Viterbi, or with per-label costs the label of least expected cost at each token."""
    if not costs:
        return list(tagger.tag(item))
    tagger.set(item)
    labels = tagger.labels()
    weight = np.array([costs.get(label[2:] or label, 1.0) for label in labels])
    expected = np.array([[tagger.marginal(label, t) for label in labels] for t in range(len(item))]) * weight
    return [labels[best] for best in expected.argmax(axis=1)]


def spans(labels: Sequence[str]) -> list[str]:
    """IOB tags that spaCy accepts: BILUO read as IOB, and a part without its beginning begins anew."""
    tags, before = [], "O"
    for label in labels:
        tag = label if label == "O" else ("B" if label[0] in "BU" or before[2:] != label[2:] else "I") + label[1:]
        tags.append(tag)
        before = tag
    return tags


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config", type=Path)
    parser.add_argument("train", type=Path)
    parser.add_argument("evaluation", type=Path, nargs="+")
    parser.add_argument("--trainers", nargs="+", default=list(TRAINERS), choices=list(TRAINERS))
    parser.add_argument("--columns", nargs="*", default=[])
    parser.add_argument("--costs", type=json.loads, default={}, help='per-label costs, as {"O": 0.5}')
    parser.add_argument("--corpus", help="the name of its rows; without it, figures are only printed")
    parser.add_argument("--metrics", type=Path, default=Path("metrics"))
    arguments = parser.parse_args()

    config = load_config(arguments.config)
    nlp = load_model_from_config(config, auto_fill=True)
    pipe = nlp.get_pipe(nlp.pipe_names[0])
    task = nlp.get_pipe_meta(nlp.pipe_names[0]).factory
    parts = [
        list(create_corpus(path, columns=arguments.columns, gold_preproc=True)(nlp))
        for path in (arguments.train, *arguments.evaluation)
    ]
    features = pipe.model.attrs["features"]
    gazetteers = load_gazetteers(
        features.resources.gazetteers,
        lambda phrase: np.array([token.lower for token in nlp.make_doc(phrase)], np.uint64),
    )
    classes = load_classes(features.resources.classes, nlp.vocab)
    extractor = Extractor([str(template) for template in features.templates], gazetteers, classes)
    columns = [extractor.reader.read([example.predicted for example in part], nlp.vocab) for part in parts]
    table, *train_features = add_features(columns[0], extractor.program, empty_table(features.hash_bits))
    train_items = items(columns[0], train_features)
    for name in arguments.trainers:
        started = time.process_time()
        trainer = pycrfsuite.Trainer(algorithm=name, params=TRAINERS[name], verbose=False)
        for item, example in zip(train_items, parts[0]):
            trainer.append(item, gold(example, task))
        with tempfile.TemporaryDirectory() as folder:
            trainer.train(str(Path(folder) / "model"))
            seconds = time.process_time() - started
            tagger = pycrfsuite.Tagger()
            tagger.open(str(Path(folder) / "model"))
            result: dict[str, Any] = {"trainer": name, "cpu_seconds": round(seconds, 1), "costs": arguments.costs}
            for path, part, column in zip(arguments.evaluation, parts[1:], columns[1:]):
                predicted = items(column, look_up_features(column, extractor.program, table))
                scored = []
                for item, example in zip(predicted, part):
                    labels = decode(tagger, item, arguments.costs)
                    words = [token.text for token in example.predicted]
                    given = {"ents": spans(labels)} if task == "ssvm_ner" else {"tags": labels}
                    scored.append(Example(Doc(nlp.vocab, words=words, **given), example.reference))
                if task == "ssvm_ner":
                    result[path.stem] = round(100 * get_ner_prf(scored)["ents_f"], 2)
                else:
                    result[path.stem] = round(100 * Scorer.score_token_attr(scored, "tag")["tag_acc"], 2)
        print(json.dumps(result), flush=True)
        if arguments.corpus is not None:
            metrics.write(arguments.metrics, f"{metrics.PEERS}-crfsuite", f"{arguments.corpus},{name}", result)


if __name__ == "__main__":
    main()
