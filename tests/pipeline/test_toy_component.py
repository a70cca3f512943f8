"""A component for annotation that the package knows nothing of: what it learns, writes and rules out, and no more."""

from dataclasses import dataclass

import numpy as np
import pytest
import spacy
from spacy.tokens import Span
from spacy.training import Example, biluo_tags_to_spans, iob_to_biluo

from spacy_ssvm.corpus.checks.corpora import CorpusData
from spacy_ssvm.inspect.parts import ComparedPart, mistakes
from spacy_ssvm.models.chain.space import ChainGold, TokenKinds
from spacy_ssvm.pipeline.chain_codec import ChainCodec
from spacy_ssvm.pipeline.chain_component import TagComponent
from spacy_ssvm.pipeline.corpus_checks import check_annotation
from spacy_ssvm.pipeline.factories import component_factory
from spacy_ssvm.pipeline.patterns import Patterns
from spacy_ssvm.structures import FORBIDDEN
from spacy_ssvm.structures.chain.constraints import unconstrained, with_fixed

from .toy import LANG, doc, teach

# The component: chunks in doc.spans["chunks"].


class InsideAfterBegin(TokenKinds):
    def __init__(self, labels):
        self.labels = labels

    def constraints(self):
        begins = np.array([label[0] != "I" for label in self.labels])
        follows = begins | np.array([[before[1:] == label[1:] for label in self.labels] for before in self.labels])
        start, transition = (np.where(allowed, 0.0, FORBIDDEN) for allowed in (begins, follows))
        return with_fixed(unconstrained(len(self.labels))._replace(start=start, transition=transition))


@dataclass(frozen=True)
class ChunkCodec(ChainCodec):
    @property
    def kinds(self):
        return InsideAfterBegin(self.labels)

    def gold(self, example):
        labels = ["O"] * len(example.predicted)
        for span in example.get_aligned_spans_y2x(example.reference.spans.get("chunks", [])):
            labels[span.start : span.end] = [f"B-{span.label_}", *[f"I-{span.label_}"] * (len(span) - 1)]
        return ChainGold(labels)

    def write(self, docs, predictions, given):
        for tokens, numbers in zip(docs, predictions):
            labels = iob_to_biluo([self.labels[number] for number in numbers])
            tokens.spans["chunks"] = biluo_tags_to_spans(tokens, labels)


CONFIG = """
[toy_chunker]
patterns = []
scorer = null

[toy_chunker.model]
@architectures = "spacy-ssvm.Chain.v1"

[toy_chunker.model.features]
@ssvm_features = "spacy-ssvm.NerFeatures.v1"

[toy_chunker.solver]
@ssvm_solvers = "spacy-ssvm.DCD.v1"
C = 10.0
"""


@component_factory("toy_chunker", CONFIG, assigns=["doc.spans"], score_weights={})
def make_chunker(nlp, name, model, patterns):
    return TagComponent, ChunkCodec(name, patterns=Patterns(name, nlp.vocab, patterns))


# Its tests.

CHUNKED = [
    ("the old dog sleeps on green grass", [(0, 3, "NP"), (3, 4, "VP"), (5, 7, "NP")]),
    ("she saw the cat", [(0, 1, "NP"), (1, 2, "VP"), (2, 4, "NP")]),
    ("dogs eat ham in the park", [(0, 1, "NP"), (1, 2, "VP"), (2, 3, "NP"), (4, 6, "NP")]),
    ("on the grass she sleeps", [(1, 3, "NP"), (3, 4, "NP"), (4, 5, "VP")]),
]


def chunked(nlp, text, chunks):
    reference = doc(nlp, text)
    reference.spans["chunks"] = [Span(reference, *chunk) for chunk in chunks]
    return Example(doc(nlp, text), reference)


def found(tokens):
    return [(span.start, span.end, span.label_) for span in tokens.spans["chunks"]]


@pytest.fixture(scope="module")
def trained():
    nlp = spacy.blank(LANG)
    nlp.add_pipe("toy_chunker")
    examples = [chunked(nlp, *pair) for pair in CHUNKED]
    teach(nlp, examples, 30)
    return nlp


def test_it_learns_and_is_saved(trained, tmp_path):
    assert trained.get_pipe("toy_chunker").certificate().relative_gap < 0.01
    trained.to_disk(tmp_path)
    for nlp in (trained, spacy.load(tmp_path)):
        assert [found(nlp(doc(nlp, text))) for text, _ in CHUNKED] == [chunks for _, chunks in CHUNKED]


def test_it_is_corrected(trained):
    nlp = spacy.blank(LANG)
    nlp.add_pipe("toy_chunker").from_bytes(trained.get_pipe("toy_chunker").to_bytes())
    nlp.resume_training()
    example = chunked(nlp, "she saw the cat", [(0, 1, "PP"), (1, 2, "VP")])
    nlp.update([example], sgd=False)
    assert found(nlp(doc(nlp, "she saw the cat"))) == found(example.reference)


def test_it_answers(trained):
    pipe, text = trained.get_pipe("toy_chunker"), doc(trained, "she saw the cat")
    (score, labels), *others = pipe.kbest(text, 50)
    assert labels == ["B-NP", "B-VP", "B-NP", "I-NP"] and all(score >= other for other, _ in others)
    assert not any(analysis[0][0] == "I" or analysis[1:3] == ["O", "I-VP"] for _, analysis in others)
    assert [finding.label for finding in pipe.explain(text).findings] == labels
    assert pipe.explain(text, (3, "B-NP")).findings[0].margin < 0
    assert max(pipe.scored_tags(text, -9.0).values()) > 0
    assert next(pipe.suggest([text, doc(trained, "cat grass park she")])).number == 1
    unlike = chunked(trained, "she saw the cat", [(0, 1, "NP")])
    assert pipe.calibrate([*(chunked(trained, *pair) for pair in CHUNKED), unlike]).used == 5


def test_rules_limit_it(trained, tmp_path):
    trained.to_disk(tmp_path)
    rules = [{"patterns": [[{"LOWER": "cat"}]], "allow": ["O"]}]
    nlp = spacy.load(tmp_path, config={"components": {"toy_chunker": {"patterns": rules}}})
    assert max(end for _, end, _ in found(nlp(doc(nlp, "she saw the cat")))) < 4


def test_its_mistakes_and_its_corpus_are_looked_at(trained):
    codec, example = trained.get_pipe("toy_chunker").codec, chunked(trained, "the cat", [(0, 2, "NP")])
    example.predicted.spans["chunks"] = [Span(example.predicted, 1, 2, "NP")]
    assert mistakes(codec.parts, example) == [
        ComparedPart(0, 1, "B-NP", "O"),
        ComparedPart(1, 2, "I-NP", "B-NP"),
    ]
    other = chunked(trained, "hello", [(0, 1, "X")])
    train_corpus, dev = (
        CorpusData(name, [], [part], [], "documents", None, False, 0, None)
        for name, part in (("train", example), ("dev", other))
    )
    report = check_annotation(codec, train_corpus, dev, None)
    assert report.labels == {"B-NP": 1, "I-NP": 1}
    assert [(issue.corpus, issue.count) for issue in report.issues] == [("train", 2), ("dev", 1)]
