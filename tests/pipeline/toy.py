"""Small annotated corpora and pipelines for the component tests."""

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example, biluo_to_iob

SOLVERS = ("Perceptron", "MIRA", "SGD", "DCD", "DCDLight", "SAP")
NEARLY_UNREGULARISED = {
    **{solver: {"C": 10.0} for solver in SOLVERS},
    "Perceptron": {},
    "SAP": {"C": 10.0, "rho1": 0.1},
}
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


def doc(nlp: Language, text: str, **annotation) -> Doc:
    return Doc(nlp.vocab, words=text.split(), **annotation)


def tagged(nlp: Language, text: str, tags: str | list[str], attr: str = "tags") -> Example:
    tags = tags.split() if isinstance(tags, str) else tags
    return Example(doc(nlp, text), doc(nlp, text, **{attr: tags}))


def tagger_examples(nlp: Language, corpus=TAGGED, attr: str = "tags") -> list[Example]:
    return [tagged(nlp, text, tags, attr) for text, tags in corpus]


def ner_examples(nlp: Language, corpus=SPANS) -> list[Example]:
    return [Example(doc(nlp, text), doc(nlp, text, ents=biluo_to_iob(tags.split()))) for text, tags in corpus]


def senter_examples(nlp: Language, corpus=PARAGRAPHS) -> list[Example]:
    return [
        Example(doc(nlp, text), doc(nlp, text, sent_starts=[label == "S" for label in labels.split()]))
        for text, labels in corpus
    ]


EXAMPLES = {"ssvm_tagger": tagger_examples, "ssvm_ner": ner_examples, "ssvm_senter": senter_examples}
LABELLED = ("ssvm_tagger", "ssvm_ner")
"""Components that learn their labels from the examples."""


def blank(factory: str, solver: str = "DCD", solver_settings: dict | None = None, **config) -> Language:
    nlp = spacy.blank("en")
    block = {"@ssvm_solvers": f"spacy-ssvm.{solver}.v1", **(solver_settings or {})}
    nlp.add_pipe(factory, config={"solver": block, **config})
    return nlp


def templates(*texts: str, **settings) -> dict:
    features = {"@ssvm_features": "spacy-ssvm.Templates.v1", "templates": list(texts), **settings}
    return {"@architectures": "spacy-ssvm.Chain.v1", "features": features}


def train(nlp: Language, examples: list[Example], epochs: int = 10) -> None:
    """`epochs` updates with the whole corpus, as the default configs do it."""
    for _ in range(epochs):
        nlp.update(examples, sgd=False)


def trained(factory: str, epochs: int = 10, **settings) -> Language:
    nlp = blank(factory, **settings)
    examples = EXAMPLES[factory](nlp)
    nlp.initialize(lambda: examples)
    train(nlp, examples, epochs)
    return nlp


def annotation(doc: Doc) -> tuple:
    entities = tuple((e.start, e.end, e.label_) for e in doc.ents)
    return tuple(token.tag_ for token in doc), entities, tuple(token.is_sent_start for token in doc)


def annotations(nlp: Language, corpora=(TAGGED, SPANS, PARAGRAPHS)) -> list[tuple]:
    return [annotation(nlp(doc(nlp, text))) for corpus in corpora for text, _ in corpus]


def weights(nlp: Language, factory: str) -> bytes:
    return nlp.get_pipe(factory).to_bytes(exclude=["vocab"])
