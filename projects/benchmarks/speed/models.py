"""Train the models that are measured and not there yet: DATA TRAINING [NAME …].

Ours are trained to their end, spaCy's for so many steps as --steps says: the speed of prediction asks for no more.
Where `accuracy.peers` has trained one of spaCy's to its end, that is used instead.
"""

import argparse
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import spacy
from shared.training import CONFIGS, parser_alone, spacy_config, train
from spacy.tokens import Doc, DocBin, Span
from spacy.util import minibatch
from tqdm import tqdm

from spacy_ssvm.corpus.conllu import conllu

from . import corpora, crf

DOCUMENT = 10
"""Sentences of a document."""
ANY_TREES = {"components.parser.model.structure": "nonprojective", "components.parser.model.order": 2}
PARSER_ALONE = parser_alone("tag", "pos")


@dataclass(frozen=True)
class Recipe:
    """A folder of `configs` or a pipeline of spaCy's, the files that it learns from, and their language."""

    pipeline: str
    files: str
    language: str = "en"
    overrides: dict[str, Any] = field(default_factory=dict)


OURS = {
    "ours-ewt": Recipe("tagger", "ewt"),
    "ours-ner-dutch": Recipe("ner", "conll2002-ned", "nl"),
    "ours-parser": Recipe("parser", "ewt"),
    "ours-parser-1": Recipe("parser", "ewt", overrides={**PARSER_ALONE, "components.parser.model.order": 1}),
    "ours-parser-2": Recipe("parser", "ewt", overrides={**PARSER_ALONE, "components.parser.model.order": 2}),
    "ours-parser-any": Recipe("parser", "ewt", overrides=ANY_TREES),
    "ours-ner-english": Recipe("ner", "wnut17"),
    "ours-senter": Recipe("senter", "documents"),
}
SPACY = {
    "quick-ewt": Recipe("tagger", "ewt"),
    "quick-ner-dutch": Recipe("ner", "conll2002-ned", "nl"),
    "quick-parser": Recipe("tagger,parser", "ewt"),
    "quick-pipeline": Recipe("tagger,parser,ner", "documents"),
}
UDPIPE = "ewt.udpipe"
"""A model of UDPipe 1, if its package is installed; its speed does not depend on how long it was trained."""
CRFSUITE = {"crfsuite-ewt": "ours-ewt", "crfsuite-ner-dutch": "ours-ner-dutch"}
"""Models of CRFsuite, and those of ours whose templates and corpus they have."""


def find(training: Path, corpus: str) -> Path:
    """spaCy's model of a corpus: the one trained to its end, else the quick one; raises what `model` raises."""
    full = training / f"spacy-{corpus}" / "model-best"
    return full if full.exists() else model(training, f"quick-{corpus}")


def model(training: Path, name: str) -> Path:
    """A model of `OURS`, `SPACY` or `CRFSUITE`.

    Raises:
        FileNotFoundError: it has not been trained.
    """
    path = training / name if name in CRFSUITE else training / name / "model-best"
    if not path.exists():
        raise FileNotFoundError(f"{path} is not there: run the command `speed-models` of the project")
    return path


def pipeline(training: Path) -> Any:
    """Ours for raw text: sentences, both tags, trees and entities, assembled from components trained apart."""
    nlp = spacy.load(model(training, "ours-senter"))
    for source, names in (("ours-parser", ("tagger", "pos_tagger", "parser")), ("ours-ner-english", ("ner",))):
        trained = spacy.load(model(training, source), vocab=nlp.vocab)
        for name in names:
            nlp.add_pipe(name, source=trained)
    return nlp


def templates(training: Path, name: str) -> list[str]:
    """The feature templates of one of our chains."""
    nlp = spacy.load(model(training, name))
    (pipe,) = (component for _, component in nlp.pipeline)
    return list(pipe.model.attrs["templates"])


def write_documents(data: Path, training: Path) -> None:
    """Documents of several sentences of EWT, with the entities that ours finds, so that a pipeline can learn of all."""
    nlp = spacy.load(model(training, "ours-ner-english"))
    for part in ("train", "dev", "test"):
        target = DocBin(store_user_data=False)
        for sentences in minibatch(corpora.read_docs(data / f"ewt-{part}.spacy"), DOCUMENT):
            document = Doc.from_docs(list(sentences))
            assert document is not None
            read = nlp(Doc(nlp.vocab, words=[token.text for token in document]))
            document.set_ents([Span(document, entity.start, entity.end, entity.label_) for entity in read.ents])
            target.add(document)
        target.to_disk(training / f"documents-{part}.spacy")


def make(name: str, data: Path, training: Path, epochs: int | None, steps: int) -> None:
    """Train one model."""
    target = training / name
    if name in CRFSUITE:
        make_crfsuite(name, data, training)
        return
    if name == UDPIPE:
        make_udpipe(data, target)
        return
    recipe = {**OURS, **SPACY}[name]
    if recipe.files == "documents":
        write_documents(data, training)
        data = training
    overrides: dict[str, Any] = {f"paths.{part}": f"{data}/{recipe.files}-{part}.spacy" for part in ("train", "dev")}
    target.mkdir(parents=True, exist_ok=True)
    if name in OURS:
        config = CONFIGS / recipe.pipeline / "dcd.cfg"
        overrides |= {"nlp.lang": recipe.language, **recipe.overrides}
        overrides |= {"training.max_epochs": epochs} if epochs else {}
    else:
        config = spacy_config(recipe.pipeline, recipe.language, target / "config.cfg")
        overrides |= {"training.max_steps": steps, "training.eval_frequency": steps}
    train(config, overrides, target)


def make_crfsuite(name: str, data: Path, training: Path) -> None:
    """Train one model of CRFsuite, on the templates of ours."""
    recipe = OURS[CRFSUITE[name]]
    column = "ents" if recipe.pipeline == "ner" else "tags"
    sentences = corpora.read(data / f"{recipe.files}-train.spacy")
    extract = crf.Features(templates(training, CRFSUITE[name])).memoised
    crf.train(extract, [(sentence.words, getattr(sentence, column)) for sentence in sentences], training / name)


def make_udpipe(data: Path, target: Path) -> None:
    """Train a tokenizer, a tagger and a parser of UDPipe on EWT for one iteration."""
    from ufal.udpipe import InputFormat, ProcessingError, Sentence, Sentences, Trainer

    sentences, reader, error = Sentences(), InputFormat.newConlluInputFormat(), ProcessingError()
    reader.setText("".join(map(conllu, corpora.read_docs(data / "ewt-train.spacy"))))
    sentence = Sentence()
    while reader.nextSentence(sentence, error):
        sentences.push_back(sentence)
        sentence = Sentence()
    once = ["epochs=1", "iterations=1", "iterations=1"]
    trained = Trainer.train("morphodita_parsito", sentences, Sentences(), *once, error)
    if error.occurred():
        raise RuntimeError(f"UDPipe cannot be trained: {error.message}")
    target.write_bytes(trained)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("training", type=Path)
    names = [*OURS, *SPACY, *CRFSUITE, *[UDPIPE] * bool(find_spec("ufal"))]
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(names))
    parser.add_argument("--epochs", type=int, help="of ours at most")
    parser.add_argument("--steps", type=int, default=300, help="of spaCy's")
    arguments = parser.parse_args()
    data, training = arguments.data, arguments.training
    missing = [name for name in arguments.names or names if not is_there(training / name)]
    for name in tqdm(missing, unit="model"):
        make(name, data, training, arguments.epochs, arguments.steps)


def is_there(path: Path) -> bool:
    """Whether a model was trained to its end; one of CRFsuite is a file."""
    return path.is_file() or (path / "clock.jsonl").exists()


if __name__ == "__main__":
    main()
