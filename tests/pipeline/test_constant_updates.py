"""Updates with new words, one after the other: what an update allocates does not grow with the number of updates."""

import tracemalloc
from statistics import median

import pytest
from spacy.training import Example

from .components import COMPONENTS, learnt
from .toy import EXAMPLES

UPDATES, COMPARED = 60, 20


def renewed(nlp, factory: str, number: int) -> Example:
    """An example of the toy corpus in which the first word is new."""
    text, annotation = COMPONENTS[factory].corpus[number % len(COMPONENTS[factory].corpus)]
    words = text.split()
    words[0] = f"w{number * 7919 % 99991}x"
    if factory == "ssvm_lemmatizer":
        # A new edit script would be a new label: the model itself would grow.
        annotation = " ".join([words[0], *annotation.split()[1:]])
    (example,) = EXAMPLES[factory](nlp, [(" ".join(words), annotation)])
    return example


def allocated(update) -> int:
    """The bytes that an update has at most in addition to those that it has before and keeps."""
    before, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    update()
    after, peak = tracemalloc.get_traced_memory()
    return peak - max(before, after)


@pytest.mark.parametrize("factory", EXAMPLES)
@pytest.mark.parametrize(
    ("corrections", "known_in_part"),
    [(True, False), (False, True), *(pytest.param(on, on, marks=pytest.mark.slow) for on in (True, False))],
)
def test_an_update_allocates_no_more_than_those_before(factory, corrections, known_in_part):
    """Where memory reserved ahead is at its end, an update copies; most updates do not."""
    nlp = learnt(factory, corrections=corrections)
    given = [renewed(nlp, factory, number) for number in range(UPDATES)]
    if known_in_part:
        given = [without_last(nlp, factory, example) for example in given]
    nlp.update(given[:1])
    tracemalloc.start()
    try:
        sizes = [allocated(lambda example=example: nlp.update([example])) for example in given[1:]]
    finally:
        tracemalloc.stop()
    assert median(sizes[-COMPARED:]) <= 1.1 * median(sizes[COMPARED : 2 * COMPARED])


def without_last(nlp, factory: str, example: Example) -> Example:
    """The example without the annotation of its last token."""
    words = [token.text for token in example.reference]
    reference = example.reference.copy()
    for name in ("tag", "pos", "lemma", "dep"):
        setattr(reference[len(words) - 1], name, 0)
    return Example(example.predicted, reference)
