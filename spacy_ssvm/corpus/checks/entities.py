"""Checks of the annotation that `ssvm_ner` learns from."""

from collections.abc import Iterator

import numpy as np
from spacy.attrs import ENT_TYPE, SENT_START
from spacy.tokens import Span

from ..reader import same_tokens
from .corpora import SAME_TOKENS, CorpusData, Document, Issue, Severity, check, example_name, issues, place

_INSIDE, _BEGIN = 1, 3
"""Values of spaCy's ENT_IOB."""
NOT_NEGATED = 'put spans that are no entities into doc.spans["NAME"], and set incorrect_spans_key = "NAME"'
"""Advice about a label such as "!PER"."""


def is_negated(label: str) -> bool:
    """Whether it is spaCy 2's notation, which spaCy 3 refuses, for "this is no entity of that label"."""
    return label[:1] == "!" and len(label) > 1


def check_entities(corpus: CorpusData) -> list[Issue]:
    """Issues of the entities of a corpus; each entity must have a beginning."""
    all_issues = _after_whitespace(corpus) + _before_whitespace(corpus) + _across_sentences(corpus)
    return all_issues + _inconsistent(corpus) + _overlapping(corpus) + _misaligned(corpus)


def _token(document: Document, token: int) -> str:
    return place(document.name, document.doc, token, token + 1)


def _span(document: Document, span: Span) -> str:
    return f"{place(document.name, document.doc, span.start, span.end)} ({span.label_})"


def unreadable(corpus: CorpusData) -> list[Issue]:
    """Issues of entities that neither spaCy nor the component learns from: without a beginning, or negated."""
    return _without_beginning(corpus) or _negated(corpus)


@check("error", "entities with a negated label", NOT_NEGATED)
def _negated(corpus: CorpusData) -> list[str]:
    return [_span(document, e) for document in corpus.documents for e in document.doc.ents if is_negated(e.label_)]


@check(
    "error",
    "tokens inside an entity that has no beginning",
    "spaCy refuses such a document: set entities by doc.ents, or write B before I",
)
def _without_beginning(corpus: CorpusData) -> Iterator[str]:
    for document in corpus.documents:
        is_open = False
        for number, token in enumerate(document.doc):
            if token.ent_iob == _INSIDE and not is_open:
                yield _token(document, number)
            is_open = token.ent_iob == _INSIDE or (token.ent_iob == _BEGIN and token.ent_type != 0)


@check(
    "error",
    "entities that begin with whitespace",
    "the component cannot predict such entities, and learns the nearest possible ones: begin them at a word",
)
def _after_whitespace(corpus: CorpusData) -> list[str]:
    return [_span(document, e) for document in corpus.documents for e in document.doc.ents if e[0].is_space]


@check("warning", "entities that end with whitespace", "end them at their last word")
def _before_whitespace(corpus: CorpusData) -> list[str]:
    entities = [(document, entity) for document in corpus.documents for entity in document.doc.ents]
    return [_span(document, entity) for document, entity in entities if entity[-1].is_space and not entity[0].is_space]


def _across_sentences(corpus: CorpusData) -> list[Issue]:
    where = []
    for document in corpus.documents:
        starts = np.asarray(document.doc.to_array(SENT_START)) == 1
        where += [_span(document, e) for e in document.doc.ents if starts[e.start + 1 : e.end].any()]
    severity: Severity = "error" if corpus.gold_preproc else "warning"
    effect = "they are never predicted if sentence boundaries are set before"
    if corpus.gold_preproc:
        effect = "gold_preproc = true cuts them and drops the parts"
    remedy = f"{effect}: correct the boundary or the entity"
    return issues(severity, corpus.name, "entities across a sentence boundary", where, remedy)


@check(
    "error",
    "tokens with an entity label other than that of the entity they are in",
    "such a label is lost, as an entity has the label of its first token in spaCy: set entities by doc.ents",
)
def _inconsistent(corpus: CorpusData) -> Iterator[str]:
    """Tokens whose label differs from the label of their entity's first token."""
    for document in corpus.documents:
        of_entity = np.zeros(len(document.doc), np.uint64)
        for entity in document.doc.ents:
            of_entity[entity.start : entity.end] = entity.label
        label = np.asarray(document.doc.to_array(ENT_TYPE), np.uint64)
        for token in np.flatnonzero((label != 0) & (label != of_entity)).tolist():
            yield f"{_token(document, token)} ({document.doc[token].ent_type_})"


@check(
    "warning",
    "spans in doc.spans that overlap others or entities",
    "only doc.ents is learnt, where nothing overlaps: to learn them as entities, choose among them, for instance "
    "by spacy.util.filter_spans",
)
def _overlapping(corpus: CorpusData) -> Iterator[str]:
    for document in corpus.documents:
        entities = {(entity.start, entity.end, entity.label): entity for entity in document.doc.ents}
        for key, group in document.doc.spans.items():
            spans = {(span.start, span.end, span.label): span for span in group}
            is_covered = np.zeros(len(document.doc), np.bool_)
            for entity in entities.values():
                is_covered[entity.start : entity.end] = True
            for bounds in sorted(spans.keys() - entities.keys()):
                span = spans[bounds]
                if is_covered[span.start : span.end].any():
                    yield f"{_span(document, span)} in doc.spans[{key!r}]"
                is_covered[span.start : span.end] = True


@check(
    "warning",
    "entities that begin or end inside a token of the tokenizer",
    f"they count as missing annotation: {SAME_TOKENS}",
)
def _misaligned(corpus: CorpusData) -> list[str]:
    return [
        f"{place(example_name(number), example.reference, entity.start, entity.end)} ({entity.label_})"
        for number, example in enumerate(corpus.examples)
        if not same_tokens(example)
        for entity in example.reference.ents
        if not example.get_aligned_spans_y2x([entity])
    ]
