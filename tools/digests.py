"""Digests of what every component learns and predicts with every solver: a change of shape must leave them as they are.

    python -m tools.digests --write FILE
    python -m tools.digests --check FILE

Weights and predictions are the same bytes for the same seed on the same machine, so that FILE says nothing of another
machine: write it with the commit before a change, check it with the one after. Only what users call is called here.
The corpora are that of the quickstart project and, where `SPACY_SSVM_DATA` has it, a slice of UD English EWT.
"""

import argparse
import hashlib
import json
import os
import sys
import warnings
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np
import spacy
from spacy.attrs import DEP, ENT_IOB, ENT_TYPE, HEAD, LEMMA, MORPH, POS, SENT_START, TAG
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example
from spacy.training.converters import conllu_to_docs

from spacy_ssvm.models.layers import CORRECTED

ROOT = Path(__file__).parent.parent
DATA = Path(os.environ.get("SPACY_SSVM_DATA", ROOT.parent / "shared" / "data"))
EPOCHS = 3
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "MIRA": [{"k": 2}],
    "PredictionMIRA": [{"k": 2}],
    "SGD": [{"beta": 1.0}],
    "DCA": [{"beta": "inf"}],
    "SAP": [{"nu": 1.0}, {"mu": 1.0}, {"batch": True}],
    "LSE": [{"kappa1": 0, "oracle": "printed"}],
    "LSECuttingPlane": [{"kappa1": 0}],
    "SDM": [{"kappa1": 0}],
    "FrankWolfe": [{"averaging": True}],
}
"""Settings with which a solver takes another way than by default."""
STRUCTURES = [("projective", 1), ("projective", 2), ("projective", 3), ("nonprojective", 1), ("nonprojective", 2)]
COMPONENTS = ("ssvm_senter", "ssvm_tagger", "ssvm_morphologizer", "ssvm_lemmatizer", "ssvm_ner", "ssvm_parser")
WRITTEN = {"ssvm_morphologizer": [MORPH, POS], "ssvm_lemmatizer": [LEMMA]}
"""The annotation of components that write none of `ANNOTATION`."""
ANNOTATION = [TAG, ENT_IOB, ENT_TYPE, SENT_START, HEAD, DEP]
NOT_WEIGHTS = ("seen", "shape", "digest")
"""Arrays of a model that depend on its settings or on the examples, too."""


def quickstart(part: str) -> list[Doc]:
    docs = []
    for path in sorted((ROOT / "projects" / "quickstart" / "corpus").glob("*.conllu")):
        docs += conllu_to_docs(path.read_text(encoding="utf8"), n_sents=4, ner_map={}, no_print=True)
    return docs[::4][:40] if part == "train" else docs[1::8][:20]


def ewt(part: str) -> list[Doc]:
    text = (DATA / "ud_english_ewt" / f"en_ewt-ud-{part}.conllu").read_text(encoding="utf8")
    chosen = "\n\n".join(text.strip().split("\n\n")[: 240 if part == "train" else 80])
    return list(conllu_to_docs(chosen, n_sents=4, no_print=True))


def in_vocab(nlp: Language, docs: list[Doc]) -> list[Doc]:
    attributes = ["ORTH", "SPACY", "TAG", "POS", "MORPH", "LEMMA", "HEAD", "DEP", "SENT_START", "ENT_IOB", "ENT_TYPE"]
    return list(DocBin(attrs=attributes, docs=docs).get_docs(nlp.vocab))


def with_entities(doc: Doc) -> Doc:
    """In a corpus without entities, runs of proper nouns stand for them."""
    spans: list[Span] = []
    start = None
    if doc.ents:
        return doc
    for token in [*doc, None]:
        if token is not None and token.pos_ == "PROPN":
            start = token.i if start is None else start
        elif start is not None:
            end = len(doc) if token is None else token.i
            spans.append(Span(doc, start, end, label="AB"[start % 2]))
            start = None
    doc.set_ents(spans)
    return doc


def examples(nlp: Language, factory: str, docs: list[Doc]) -> list[Example]:
    made = []
    for reference in map(with_entities, in_vocab(nlp, docs)):
        predicted = Doc(nlp.vocab, words=[token.text for token in reference])
        if factory == "ssvm_parser":
            predicted.from_array([TAG], reference.to_array([TAG]).reshape(-1, 1))
            starts = [1 if token.is_sent_start else -1 for token in reference]
            predicted.from_array([SENT_START], np.array(starts).astype(np.uint64))
        if factory == "ssvm_lemmatizer":
            predicted.from_array([TAG, POS, MORPH], reference.to_array([TAG, POS, MORPH]))
        made.append(Example(predicted, reference))
    return made


def configs(factory: str) -> Iterator[tuple[str, dict[str, Any]]]:
    solvers = sorted({entry.name.split(".")[1] for entry in entry_points(group="spacy_ssvm_solvers")})
    small = {"@ssvm_features": "spacy-ssvm.ParserFeatures.v1", "hash_bits": 16, "label_hash_bits": 12}
    for solver in solvers:
        for settings in ({}, *VARIANTS.get(solver, [])):
            block = {"@ssvm_solvers": f"spacy-ssvm.{solver}.v1", **settings}
            name = " ".join([solver, *(f"{key}={value}" for key, value in settings.items())])
            if factory == "ssvm_parser":
                tree = {"@architectures": "spacy-ssvm.Tree.v1", "order": 1, "features": small}
                yield name, {"solver": block, "model": tree}
            else:
                yield name, {"solver": block}
    if factory == "ssvm_parser":
        for structure, order in STRUCTURES[1:]:
            tree = {"@architectures": "spacy-ssvm.Tree.v1", "structure": structure, "order": order, "features": small}
            yield f"DCD {structure} {order}", {"model": tree}
        yield "DCD multi_root", {"model": {**tree, "order": 1}, "multi_root": True}
    else:
        yield "DCD label_costs", {"label_costs": {"S": 3.0, "NN": 0.5, "O": 0.2}}


def digest(values: Any) -> str:
    return hashlib.sha256(repr(values).encode()).hexdigest()[:16]


def annotation(factory: str, docs: list[Doc]) -> str:
    columns = WRITTEN.get(factory, ANNOTATION)
    return hashlib.sha256(b"".join(doc.to_array(columns).tobytes() for doc in docs)).hexdigest()[:16]


def rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.6g}") + 0.0 if abs(value) > 1e-9 else 0.0
    if isinstance(value, dict):
        return sorted((key, rounded(part)) for key, part in value.items())
    if isinstance(value, list | tuple):
        return [rounded(part) for part in value]
    return value


def analyses(pipe: Any, docs: list[Doc]) -> dict[str, str]:
    """What a component says of its scores; scores to six digits, as another order of additions is no other result."""
    said: dict[str, Any] = {}
    for method in ("scored_tags", "scored_lemmas", "scored_ents", "scored_starts", "scored_parses"):
        if hasattr(pipe, method):
            said["scores"] = rounded(getattr(pipe, method)([doc.copy() for doc in docs]))
    said["kbest"] = [rounded([score for score, _ in pipe.kbest(doc.copy(), 5)]) for doc in docs]
    found = [pipe.explain(doc.copy()).findings for doc in docs]
    said["explain"] = rounded([(f.start, f.end, f.label, f.head, f.margin, f.runner_up) for fs in found for f in fs])
    said["reasons"] = rounded(
        [sorted((r.token, r.feature, round(r.gain, 4)) for r in f.reasons) for fs in found for f in fs]
    )
    return {name: digest(value) for name, value in said.items()}


def one(factory: str, config: dict[str, Any], train: list[Doc], dev: list[Doc]) -> dict[str, str]:
    nlp = spacy.blank("en")
    pipe: Any = nlp.add_pipe(factory, config=config)
    learnt, held_out = examples(nlp, factory, train), examples(nlp, factory, dev)
    nlp.initialize(lambda: learnt)
    losses = [round(nlp.update(learnt, sgd=False)[factory], 6) for _ in range(EPOCHS)]
    certificate = pipe.certificate()
    inputs = [example.predicted.copy() for example in held_out]
    docs = list(nlp.pipe([doc.copy() for doc in inputs]))
    found = {
        "losses": digest(losses),
        "certificate": digest(None if certificate is None else rounded(tuple(certificate))),
        "predictions": annotation(factory, docs),
    }
    pipe.from_bytes(pipe.to_bytes())
    weights = hashlib.sha256()
    for name in sorted(set(pipe.model.param_names) - set(NOT_WEIGHTS)):
        if CORRECTED in name:  # empty after training from zero
            continue
        weights.update(name.encode() + pipe.model.get_param(name).tobytes())
    found["weights"] = weights.hexdigest()[:16]
    after = list(nlp.pipe([doc.copy() for doc in inputs]))
    found["loaded"] = annotation(factory, after)
    if config.get("solver", {}).get("@ssvm_solvers") in (None, "spacy-ssvm.DCD.v1", "spacy-ssvm.LBFGS.v1"):
        try:
            found |= analyses(pipe, inputs[:8])
        except ValueError:
            found["analyses"] = "none"
    return found


def digests() -> Iterator[tuple[str, dict[str, str]]]:
    corpora = {"quickstart": quickstart}
    if (DATA / "ud_english_ewt").is_dir():
        corpora["ewt"] = ewt
    for corpus, read in corpora.items():
        train, dev = read("train"), read("dev")
        for factory in COMPONENTS:
            for name, config in configs(factory):
                # With a treebank's hundreds of labels, other solvers take minutes.
                if corpus == "ewt" and factory in WRITTEN and not name.startswith("DCD"):
                    continue
                yield f"{corpus} {factory} {name}", one(factory, config, train, dev)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path, help="File to write the digests to")
    parser.add_argument("--check", type=Path, help="File of digests to compare with")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    before = json.loads(arguments.check.read_text()) if arguments.check else {}
    found, different = {}, 0
    for name, values in digests():
        found[name] = values
        wrong = sorted(key for key in values | before.get(name, {}) if values.get(key) != before.get(name, {}).get(key))
        different += bool(wrong and arguments.check)
        outcome = "written" if not arguments.check else f"differs: {', '.join(wrong)}" if wrong else "equal"
        print(f"{name}: {outcome}", flush=True)
    if arguments.write:
        arguments.write.write_text(json.dumps(found, indent=1) + "\n")
    missing = sorted(set(before) - set(found))
    print(f"{len(found)} digests, {different} different, {len(missing)} missing {missing}")
    return 1 if different or missing else 0


if __name__ == "__main__":
    sys.exit(main())
