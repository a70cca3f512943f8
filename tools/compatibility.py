"""Pipelines as one commit saves them, which another one must load with equal predictions.

`python -m tools.compatibility write FOLDER` saves them with what they predict, and `python -m tools.compatibility check
FOLDER` loads them and compares. `tests/data/VERSION` holds those of a release, which are never written again.
"""

import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import spacy
import srsly
from spacy.language import Language
from spacy.tokenizer import Tokenizer
from spacy.tokens import Doc
from spacy.training import Example

DATA = Path(__file__).parents[1] / "tests" / "data"
SENTENCES = [
    (["Anna", "lives", "in", "Oslo", "."], "NVPNI", [1, 1, 3, 1, 1], ["B-PER", "O", "O", "B-GPE", "O"]),
    (["New", "York", "is", "cold", "."], "ANVAI", [1, 2, 2, 2, 2], ["B-GPE", "I-GPE", "O", "O", "O"]),
    (["Old", "Anna", "sees", "Bergen"], "ANVN", [1, 2, 2, 2], ["O", "B-PER", "O", "B-GPE"]),
    (["What", "did", "Anna", "dream", "of", "?"], "NVNVPI", [4, 3, 3, 3, 3, 3], ["O", "O", "B-PER", "O", "O", "O"]),
]
"""Words, tags, heads and entities. An arc has the tag of its dependent as label; the last tree has crossing arcs."""
COARSE = {"N": "NOUN", "V": "VERB", "P": "ADP", "A": "ADJ", "I": "PUNCT"}
"""The coarse tag of each tag."""
DOCUMENTS = [(0, 1), (2, 3)]
"""The sentences of each document."""


def document(vocab: Any, sentences: tuple[int, ...], annotated: bool) -> Doc:
    words: list[str] = []
    heads: list[int] = []
    tags, starts, ents = "", [], []
    for number in sentences:
        sentence, letters, above, entities = SENTENCES[number]
        heads += [len(words) + head for head in above]
        starts += [place == 0 for place in range(len(sentence))]
        words, tags, ents = words + sentence, tags + letters, ents + entities
    if not annotated:
        return Doc(vocab, words=words)
    deps = ["ROOT" if head == place else tag for place, (head, tag) in enumerate(zip(heads, tags))]
    return Doc(
        vocab,
        words=words,
        tags=list(tags),
        pos=[COARSE[tag] for tag in tags],
        morphs=["Number=Sing" if tag == "N" else "" for tag in tags],
        lemmas=[word.removesuffix("s").lower() for word in words],
        heads=heads,
        deps=deps,
        ents=ents,
    )


def trained(*components: tuple[str, dict[str, Any]]) -> Language:
    nlp = spacy.blank("xx")
    nlp.tokenizer = Tokenizer(nlp.vocab)  # without exceptions, which would be most of the folder
    for name, config in components:
        nlp.add_pipe(f"ssvm_{name}", name=name, config=config)
    examples = [
        Example(document(nlp.vocab, sentences, False), document(nlp.vocab, sentences, True)) for sentences in DOCUMENTS
    ]
    nlp.initialize(partial(list, examples))
    for _ in range(10):
        nlp.update(examples)
    return nlp


def chain(features: str, **settings: Any) -> dict[str, Any]:
    return {"@architectures": "spacy-ssvm.Chain.v1", "features": {"@ssvm_features": features, **settings}}


def tree(structure: str, order: int) -> dict[str, Any]:
    features = {"@ssvm_features": "spacy-ssvm.ParserFeatures.v1", "tags": ["tag"], "hash_bits": 8, "label_hash_bits": 8}
    return {"@architectures": "spacy-ssvm.Tree.v1", "structure": structure, "order": order, "features": features}


def all_components() -> Language:
    return trained(
        ("senter", {"model": chain("spacy-ssvm.SenterFeatures.v1", hash_bits=8)}),
        ("tagger", {}),
        ("morphologizer", {}),
        ("lemmatizer", {"min_tree_freq": 1}),
        ("parser", {"model": tree("projective", 3)}),
        ("ner", {"model": chain("spacy-ssvm.NerFeatures.v1", hash_bits=8)}),
    )


def rounded() -> Language:
    words = chain("spacy-ssvm.Templates.v1", templates=["bias", "word[-1]", "word[0]", "word[1]"])
    fewer = {"weight_dtype": "int8", "keep_fraction": 0.9}
    return trained(
        ("tagger", {"model": words, "weight_dtype": "float16", "save_feature_names": True}),
        ("parser", {"model": tree("nonprojective", 1), **fewer}),
        ("ner", {"model": words, **fewer}),
    )


PIPELINES: dict[str, Callable[[], Language]] = {"all": all_components, "rounded": rounded}


def predictions(nlp: Language) -> list[dict[str, Any]]:
    docs = list(nlp.pipe([document(nlp.vocab, sentences, False) for sentences in DOCUMENTS]))
    return [
        {
            "tags": [token.tag_ for token in doc],
            "analyses": [f"{token.pos_} {token.morph}" for token in doc],
            "lemmas": [token.lemma_ for token in doc],
            "heads": [token.head.i for token in doc],
            "labels": [token.dep_ for token in doc],
            "starts": [token.i for token in doc if token.is_sent_start],
            "entities": [[entity.start, entity.end, entity.label_] for entity in doc.ents],
        }
        for doc in docs
    ]


def write(folder: Path) -> None:
    """Write all pipelines, and what they predict once loaded, as PIPELINE.json beside them."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, make in PIPELINES.items():
        make().to_disk(folder / name)
        srsly.write_json(folder / f"{name}.json", predictions(spacy.load(folder / name)))


def check(folder: Path) -> None:
    """Raise an AssertionError unless all pipelines in a folder of `write` load, and predict as they did."""
    assert {path.name for path in folder.iterdir() if path.is_dir()} == set(PIPELINES)
    for name in PIPELINES:
        assert predictions(spacy.load(folder / name)) == srsly.read_json(folder / f"{name}.json"), name


if __name__ == "__main__":
    {"write": write, "check": check}[sys.argv[1]](Path(sys.argv[2]))
