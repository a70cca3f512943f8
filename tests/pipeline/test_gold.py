"""Gold annotation that is incomplete or of other tokens: what is known is learnt, and the model completes the rest."""

import pytest
from spacy.tokens import Doc
from spacy.training import Example

from .components import LABELS, SCORE
from .toy import EXAMPLES, MORPHS, blank, teach


def words(text: str, **annotation) -> dict:
    """What makes a Doc; tokens that "_" stands between are not divided by a space."""
    pieces = text.replace("_", " _ ").split()
    spaces = [after != "_" for word, after in zip(pieces, [*pieces[1:], ""]) if word != "_"]
    return {"words": [word for word in pieces if word != "_"], "spaces": spaces, **annotation}


UNKNOWN = {
    "ssvm_tagger": (
        words("She saw the blue dog"),
        words("She saw the blue dog", tags=["PRON", "", "", "ADJ", ""]),
        "3 of 28 training tokens",
        ["PRON", "VERB", "DET", "ADJ", "NOUN"],
    ),
    "ssvm_morphologizer": (
        words("She saw the blue dog"),
        words("She saw the blue dog", pos=["", "VERB", "DET", "", ""]),
        "3 of 28 training tokens",
        ["PRON", "VERB", "DET", "ADJ", "NOUN"],
    ),
    "ssvm_ner": (
        words("Anna Berg lives in New York ."),
        words("Anna Berg lives in New York .", ents=["B-PER", "I-PER", "O", "O", None, None, None]),
        "3 of 39 training tokens",
        ["B-PER", "I-PER", "O", "O", "B-GPE", "I-GPE", "O"],
    ),
    "ssvm_senter": (
        words("We saw eggs . Eat ham ."),
        words("We saw eggs . Eat ham .", sent_starts=[True, False, None, None, None, None, False]),
        r"4 of \d+ training tokens",
        [True, False, False, False, True, False, False],
    ),
}
"""Words of the Doc, gold annotation, what is said of it, and what is found after learning; … stands for anything."""
OTHER_TOKENS = (
    words("I like greeneggs to_day"),
    words("I like green_eggs today", tags=["PRON", "VERB", "ADJ", "NOUN", "ADV"]),
    "1 of 28 training tokens",
    ["PRON", "VERB", ..., "ADV", "ADV"],
)
UNKNOWN_LABEL = (
    words("Eat green ham"),
    words("Eat green ham", tags=["VERB", "!NOUN", "NOUN"]),
    "1 of 26 training tokens",
    ["VERB", ..., "NOUN"],
)
"""What spaCy writes for a tag that is known to be wrong."""


VALUE = {
    "ssvm_tagger": lambda token: token.tag_,
    "ssvm_morphologizer": lambda token: token.pos_ if str(token.morph) == MORPHS.get(token.pos_, "") else None,
    "ssvm_ner": lambda token: f"{token.ent_iob_}-{token.ent_type_}".removesuffix("-"),
    "ssvm_senter": lambda token: token.is_sent_start,
}
CASES = [
    *((factory, *case) for factory, case in UNKNOWN.items()),
    *(("ssvm_tagger", *case) for case in (OTHER_TOKENS, UNKNOWN_LABEL)),
]


@pytest.mark.parametrize(("factory", "predicted", "gold", "said", "expected"), CASES)
def test_what_is_known_is_learnt(factory, predicted, gold, said, expected):
    nlp = blank(factory)
    example = Example(Doc(nlp.vocab, **predicted), Doc(nlp.vocab, **gold))
    examples = teach(nlp, [*EXAMPLES[factory](nlp), example], warns=rf"\[{factory}\] {said}")
    values = [VALUE[factory](token) for token in nlp(example.predicted.copy())]
    assert [value for value, known in zip(values, expected, strict=True) if known is not ...] == [
        known for known in expected if known is not ...
    ]
    assert nlp.get_pipe(factory).labels == LABELS[factory]
    assert nlp.get_pipe(factory).certificate() is None
    assert nlp.evaluate(examples[:-1])[SCORE[factory]] == 1.0
