"""The scores of a pipeline on a part of a treebank, a .conllu file."""

import time
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc

from spacy_ssvm.cli.conll18 import annotate, conll18_scores
from spacy_ssvm.corpus.conllu import ConlluFile

PASSES = 3


def f1_on_words(nlp: Language, corpus: Path) -> dict[str, float]:
    """CoNLL 2018 F1 in percent, of each metric, for gold words and sentences."""
    return _f1(nlp, corpus, True)


def f1_on_text(nlp: Language, corpus: Path) -> dict[str, float]:
    """CoNLL 2018 F1 in percent, of each metric, for raw text."""
    return _f1(nlp, corpus, False)


def tokens_per_second(nlp: Language, corpus: Path) -> int:
    """Gold words per CPU second of `nlp.pipe`, in the fastest of PASSES; one before these compiles and fills caches.

    Each sentence is a Doc, made before the clock starts.
    """
    sentences = [
        ([token.text for token in doc], [bool(token.whitespace_) for token in doc])
        for doc in ConlluFile(corpus).docs(nlp.vocab)
    ]
    seconds = []
    for _ in range(1 + PASSES):
        docs = [Doc(nlp.vocab, words=words, spaces=spaces) for words, spaces in sentences]
        started = time.process_time()
        for _ in nlp.pipe(docs):
            pass
        seconds.append(time.process_time() - started)
    return round(sum(len(words) for words, _ in sentences) / min(seconds[1:]))


def _f1(nlp: Language, corpus: Path, gold: bool) -> dict[str, float]:
    annotated = annotate(nlp, corpus, None, gold)
    scores = conll18_scores(annotated.gold, annotated.system)
    return {metric: round(100 * score["f"], 2) for metric, score in scores.items()}
