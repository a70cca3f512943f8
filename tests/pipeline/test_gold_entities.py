"""Gold entities against spaCy's own alignment."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.attrs import ENT_IOB, ENT_TYPE
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_ssvm.pipeline.ner import gold_entities

VOCAB = Vocab()
MISSING, INSIDE, OUTSIDE, BEGIN = range(4)
WORDS = st.sampled_from(["a", "B", "na\u00efve", "\u0130", "...", " ", "\n", "\u00a0", "-", "\U0001f600"])


@st.composite
def examples(draw: st.DrawFn) -> Example:
    """Docs of the same words, the reference with whatever ENT_IOB and ENT_TYPE make `doc.ents` readable."""
    words = draw(st.lists(WORDS, min_size=1, max_size=8))
    spaces = draw(st.lists(st.booleans(), min_size=len(words), max_size=len(words)))
    reference = Doc(VOCAB, words=words, spaces=spaces)
    values = []
    for _ in words:
        follows = bool(values) and values[-1][0] in (BEGIN, INSIDE) and values[-1][1] != 0
        iob = draw(st.sampled_from([MISSING, OUTSIDE, BEGIN, *([INSIDE] if follows else [])]))
        label = draw(st.sampled_from(["", "PER", "LOC"])) if iob == BEGIN else ""
        values.append((iob, values[-1][1] if iob == INSIDE else VOCAB.strings.add(label) if label else 0))
    reference.from_array([ENT_IOB, ENT_TYPE], np.array(values, np.uint64))
    return Example(Doc(VOCAB, words=words, spaces=draw(st.sampled_from([spaces, None]))), reference)


@given(examples())
def test_tags_are_those_of_spacy(example: Example) -> None:
    assert gold_entities(example) == example.get_aligned_ner()


def test_other_tokens_are_aligned() -> None:
    reference = Doc(VOCAB, words=["New", "York", "calls"], ents=["B-LOC", "I-LOC", "O"])
    predicted = Doc(VOCAB, words=["New", "York", "cal", "ls"], spaces=[True, True, False, False])
    assert gold_entities(Example(predicted, reference)) == ["B-LOC", "L-LOC", "O", "O"]


def test_an_entity_that_begins_nowhere_is_refused() -> None:
    reference = Doc(VOCAB, words=["New", "York"])
    reference.from_array([ENT_IOB, ENT_TYPE], np.array([(OUTSIDE, 0), (INSIDE, VOCAB.strings.add("LOC"))], np.uint64))
    with pytest.raises(ValueError, match="E093"):
        gold_entities(Example(Doc(VOCAB, words=["New", "York"]), reference))
