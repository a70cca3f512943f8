"""Small annotated corpora and pipelines for the component tests."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example, biluo_to_iob
from spacy.training.augment import make_whitespace_variant

from spacy_ssvm.pipeline.analyses import joined
from spacy_ssvm.pipeline.lemmas.edit_scripts import script_of
from spacy_ssvm.registry import ssvm_solvers

LANG = "xx"
"""spaCy's English tokenizer takes longer to build than a toy component to learn."""
SOLVERS = ("Perceptron", "MIRA", "SGD", "DCD", "DCDLight", "SAP")
ALL_SOLVERS = sorted(name.split(".")[1] for name in ssvm_solvers.get_all())
NEARLY_UNREGULARISED = {
    **{solver: {"C": 10.0} for solver in ALL_SOLVERS},
    **{solver: {"C": 1.0} for solver in ("LSE", "LSECuttingPlane")},
    **{solver: {} for solver in ("Perceptron", "PredictionMIRA")},
    "ProjectedSubgradient": {"epsilon": 1000.0},
    "SAP": {"C": 10.0, "rho1": 0.1},
}
"""Settings that let each solver learn a few examples by heart."""
DUAL_SOLVERS = ("DCD", "DCDLight", "SAP")

TAGGED = [
    ("I like green eggs", "PRON VERB ADJ NOUN"),
    ("Eat blue ham", "VERB ADJ NOUN"),
    ("The cat sleeps", "DET NOUN VERB"),
    ("She saw the old dog", "PRON VERB DET ADJ NOUN"),
    ("Dogs eat ham", "NOUN VERB NOUN"),
    ("We saw blue eggs today", "PRON VERB ADJ NOUN ADV"),
]
SPANS = [
    ("Anna Berg lives in New York .", "B-PER L-PER O O B-GPE L-GPE O"),
    ("Tom met Anna in Berlin .", "U-PER O U-PER O U-GPE O"),
    ("The dog sleeps .", "O O O O"),
    ("Is Paris nice ?", "O U-GPE O O"),
    ("New York calls Tom Berg Junior !", "B-GPE L-GPE O B-PER I-PER L-PER O"),
    ("Anna Paris left .", "U-PER U-GPE O O"),
]
PARAGRAPHS = [
    ("I like green eggs . Eat blue ham . It is good", "S I I I I S I I I S I I"),
    ("The old dog sleeps . Does she ? No", "S I I I I S I I S"),
    ("Dr. Berg left . We saw Dr. Smith today", "S I I I S I I I I"),
    ("thanks for the ham it was good", "S I I I S I I"),
    ("What ? Nothing !", "S I S I"),
    ("Regards Anna Berg", "S I I"),
]
TREES = [
    ("I like green eggs", "nsubj:2 ROOT:2 amod:4 obj:2"),
    ("Eat blue ham !", "ROOT:1 amod:3 obj:1 punct:1"),
    ("The cat sleeps", "det:2 nsubj:3 ROOT:3"),
    ("She saw the old dog", "nsubj:2 ROOT:2 det:5 amod:5 obj:2"),
    ("Dogs of Berlin eat ham", "nsubj:4 case:3 nmod:1 ROOT:4 obj:4"),
    ("Nothing", "ROOT:1"),
]
"""Each token's label and its head, counted from 1; a root is its own head, and "-" is a token without annotation."""
LEMMATISED = [
    ("I like green eggs", "I like green egg"),
    ("Cats sleep", "cat sleep"),
    ("She saw old dogs", "she see old dog"),
    ("We loved Berlin cities", "we love Berlin city"),
    ("Dogs liked parties", "dog like party"),
    ("He walked to parks", "he walk to park"),
]
LEMMA_LABELS = {
    str(script_of(form, lemma)) for text, lemmas in LEMMATISED for form, lemma in zip(text.split(), lemmas.split())
}


def doc(nlp: Language, text: str, **annotation) -> Doc:
    return Doc(nlp.vocab, words=text.split(), **annotation)


def tagged(nlp: Language, text: str, tags: str | list[str], attr: str = "tags") -> Example:
    tags = tags.split() if isinstance(tags, str) else tags
    return Example(doc(nlp, text), doc(nlp, text, **{attr: tags}))


def tagger_examples(nlp: Language, corpus=TAGGED, attr: str = "tags") -> list[Example]:
    return [tagged(nlp, text, tags, attr) for text, tags in corpus]


MORPHS = {"PRON": "Case=Nom", "ADJ": "Degree=Pos", "NOUN": "Number=Sing"}
"""The features of a coarse tag in the toy corpus; the other tags have none."""


def morphs_of(tags: list[str]) -> dict:
    """The annotation of a Doc with these coarse tags and their features; an empty tag is unknown."""
    return {"pos": tags, "morphs": [MORPHS.get(tag, "") for tag in tags]}


def morph_label(pos: str) -> str:
    """The label of a coarse tag with its features."""
    return f"{MORPHS[pos]}|POS={pos}" if pos in MORPHS else f"POS={pos}"


def morphologizer_examples(nlp: Language, corpus=TAGGED) -> list[Example]:
    return [Example(doc(nlp, text), doc(nlp, text, **morphs_of(tags.split()))) for text, tags in corpus]


def ner_examples(nlp: Language, corpus=SPANS) -> list[Example]:
    return [Example(doc(nlp, text), doc(nlp, text, ents=biluo_to_iob(tags.split()))) for text, tags in corpus]


def senter_examples(nlp: Language, corpus=PARAGRAPHS) -> list[Example]:
    return [
        Example(doc(nlp, text), doc(nlp, text, sent_starts=[label == "S" for label in labels.split()]))
        for text, labels in corpus
    ]


def parse(nlp: Language, text: str, arcs: str, **annotation) -> Doc:
    """A Doc with these arcs, as the toy treebank writes them."""
    split = [arc.rpartition(":") if arc != "-" else ("", "", str(i)) for i, arc in enumerate(arcs.split(), 1)]
    heads, deps = [int(head) - 1 for _, _, head in split], [label for label, _, _ in split]
    return doc(nlp, text, heads=heads, deps=deps, **annotation)


def parser_examples(nlp: Language, corpus=TREES) -> list[Example]:
    return [Example(doc(nlp, text), parse(nlp, text, arcs)) for text, arcs in corpus]


def lemmatizer_examples(nlp: Language, corpus=LEMMATISED) -> list[Example]:
    return [tagged(nlp, text, lemmas, "lemmas") for text, lemmas in corpus]


def variant(nlp: Language, example: Example, places: list[int]) -> Example:
    """An example whose gold annotation has whitespace before the words at these places, in descending order."""
    has_entities = example.reference.has_annotation("ENT_IOB")
    for place in (place for place in places if place <= len(example.reference)):
        example = make_whitespace_variant(nlp, example, "\n", place)
    if has_entities and not example.reference.ents:
        example.reference.ents = []  # spaCy's augmenter forgets that there are none.
    words, spaces = zip(*((token.text, bool(token.whitespace_)) for token in example.reference))
    return Example(Doc(nlp.vocab, words, spaces), example.reference)


STRUCTURES = (("projective", 1), ("projective", 2), ("projective", 3), ("nonprojective", 1), ("nonprojective", 2))
SMALL_TREE = {
    "@architectures": "spacy-ssvm.Tree.v1",
    "features": {"@ssvm_features": "spacy-ssvm.ParserFeatures.v1", "hash_bits": 14, "label_hash_bits": 10},
}
WITHOUT_TAGS = {
    "@architectures": "spacy-ssvm.Chain.v1",
    "features": {"@ssvm_features": "spacy-ssvm.LemmatizerFeatures.v1", "tags": []},
}


@dataclass(frozen=True)
class Component:
    """A component as the tests know it: with an entry in `COMPONENTS`, what holds for all components is tested of it.

    examples: a function that makes the examples of a corpus, by default of its own. labels: those of its corpus.
    spacys: the component of spaCy that it replaces. gold: the attributes that it learns from; the first one tells that
    it has processed a Doc. score: its main score. scored: the method that scores its annotation. written: its
    annotation of a Doc, as its `kbest` puts it. new_label: one that its corpus does not have, unless labels cannot
    grow. small: settings that keep it small, and its corpus free of warnings.
    """

    examples: Callable[..., list[Example]]
    corpus: list[tuple[str, str]]
    labels: tuple[str, ...]
    spacys: str
    gold: list[str]
    score: str
    scored: str
    written: Callable[[Doc], list]
    new_label: str | None = None
    small: dict = field(default_factory=dict)


TAGS = ("ADJ", "ADV", "DET", "NOUN", "PRON", "VERB")
COMPONENTS = {
    "ssvm_tagger": Component(
        examples=tagger_examples,
        corpus=TAGGED,
        labels=TAGS,
        spacys="tagger",
        gold=["TAG"],
        score="tag_acc",
        scored="scored_tags",
        written=lambda tokens: [token.tag_ for token in tokens],
        new_label="INTJ",
    ),
    "ssvm_morphologizer": Component(
        examples=morphologizer_examples,
        corpus=TAGGED,
        labels=tuple(sorted(map(morph_label, TAGS))),
        spacys="morphologizer",
        gold=["MORPH", "POS"],
        score="morph_acc",
        scored="scored_tags",
        written=lambda tokens: [joined(token.pos_, str(token.morph)) for token in tokens],
        new_label="POS=INTJ",
    ),
    "ssvm_ner": Component(
        examples=ner_examples,
        corpus=SPANS,
        labels=("GPE", "PER"),
        spacys="ner",
        gold=["ENT_IOB", "ENT_TYPE"],
        score="ents_f",
        scored="scored_ents",
        written=lambda tokens: [(entity.start, entity.end, entity.label_) for entity in tokens.ents],
        new_label="ORG",
    ),
    "ssvm_senter": Component(
        examples=senter_examples,
        corpus=PARAGRAPHS,
        labels=("I", "S"),
        spacys="senter",
        gold=["SENT_START"],
        score="sents_f",
        scored="scored_starts",
        written=lambda tokens: [token.i for token in tokens if token.is_sent_start],
    ),
    "ssvm_parser": Component(
        examples=parser_examples,
        corpus=TREES,
        labels=("ROOT", "amod", "case", "det", "nmod", "nsubj", "obj", "punct"),
        spacys="parser",
        gold=["DEP", "HEAD"],
        score="las",
        scored="scored_parses",
        written=lambda tokens: [(token.head.i, token.i, token.dep_) for token in tokens],
        new_label="vocative",
        small={"model": SMALL_TREE},
    ),
    "ssvm_lemmatizer": Component(
        examples=lemmatizer_examples,
        corpus=LEMMATISED,
        labels=tuple(sorted(LEMMA_LABELS)),
        spacys="trainable_lemmatizer",
        gold=["LEMMA"],
        score="lemma_acc",
        scored="scored_lemmas",
        written=lambda tokens: [str(script_of(token.text, token.lemma_)) for token in tokens],
        new_label="lower|0>|9>x",
        small={"min_tree_freq": 1, "model": WITHOUT_TAGS},
    ),
}
EXAMPLES = {factory: component.examples for factory, component in COMPONENTS.items()}
SEQUENCES = tuple(factory for factory in COMPONENTS if factory != "ssvm_parser")
LABELLED = tuple(factory for factory, component in COMPONENTS.items() if component.new_label)
"""Components that learn their labels from the examples."""


def blank(factory: str, solver: str = "DCD", solver_settings: dict | None = None, **config) -> Language:
    nlp = spacy.blank(LANG)
    block = {"@ssvm_solvers": f"spacy-ssvm.{solver}.v1", **(solver_settings or {})}
    nlp.add_pipe(factory, config={"solver": block, **COMPONENTS[factory].small, **config})
    return nlp


def templates(*texts: str, **settings) -> dict:
    features = {"@ssvm_features": "spacy-ssvm.Templates.v1", "templates": list(texts), **settings}
    return {"@architectures": "spacy-ssvm.Chain.v1", "features": features}


def arc_templates(*texts: str, order: int = 1, **settings) -> dict:
    features = {
        "@ssvm_features": "spacy-ssvm.ArcTemplates.v1",
        "arcs": list(texts),
        "labels": ["head.lower[0]+mod.lower[0]+direction", "mod.lower[0]"],
        "first_pass": ["head.lower[0]+mod.lower[0]", "mod.lower[0]+distance"],
        "hash_bits": 12,
        "label_hash_bits": 8,
    }
    return {"@architectures": "spacy-ssvm.Tree.v1", "features": features, "order": order, **settings}


def tree_of(structure: str, order: int, **settings) -> dict:
    return {**SMALL_TREE, "structure": structure, "order": order, **settings}


def train(nlp: Language, examples: list[Example], epochs: int = 10) -> None:
    """`epochs` updates with the whole corpus, as the default configs do it."""
    for _ in range(epochs):
        nlp.update(examples, sgd=False)


def teach(nlp: Language, examples: list[Example], epochs: int = 10, warns: str | None = None) -> list[Example]:
    """Initialize a pipeline with examples, of which it may warn, and train it on them."""
    with pytest.warns(UserWarning, match=warns) if warns else nullcontext():
        nlp.initialize(lambda: examples)
    train(nlp, examples, epochs)
    return examples


def trained(factory: str, epochs: int = 10, **settings) -> Language:
    nlp = blank(factory, **settings)
    teach(nlp, EXAMPLES[factory](nlp), epochs)
    return nlp


def annotation(doc: Doc) -> tuple:
    entities = tuple((e.start, e.end, e.label_) for e in doc.ents)
    starts = tuple(token.is_sent_start for token in doc)
    tags = tuple((token.tag_, token.pos_, str(token.morph)) for token in doc)
    lemmas = tuple(token.lemma_ for token in doc)
    return tags, entities, starts, lemmas, tuple((token.head.i, token.dep_) for token in doc)


def annotations(nlp: Language, corpora=(TAGGED, SPANS, PARAGRAPHS, TREES, LEMMATISED)) -> list[tuple]:
    return [annotation(tokens) for tokens in nlp.pipe([doc(nlp, text) for corpus in corpora for text, _ in corpus])]


def weights(nlp: Language, factory: str) -> bytes:
    return nlp.get_pipe(factory).to_bytes(exclude=["vocab"])
