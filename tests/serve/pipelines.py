"""A small pipeline, the texts that tests walk through, and what is taught about them."""

from functools import cache

from ..pipeline.components import learnt_as

NAMES = {"tagger": "ssvm_tagger", "parser": "ssvm_parser", "ner": "ssvm_ner"}
ALL = {"senter": "ssvm_senter", "morphologizer": "ssvm_morphologizer", "lemmatizer": "ssvm_lemmatizer", **NAMES}
TEXTS = [
    "Grumpf Wug met Anna in Berlin .",
    "The cat sleeps .",
    "New York calls Tom Berg Junior !",
    "She saw the old dog .",
    "Anna Berg lives in New York .",
]
TEXT = TEXTS[0]
LESSONS = {
    "ssvm_senter": ("met", "S", None),
    "ssvm_tagger": ("met", "ADV", None),
    "ssvm_morphologizer": ("met", "Degree=Pos|POS=ADJ", None),
    "ssvm_lemmatizer": ("met", "meet", None),
    "ssvm_parser": ("Anna", "nmod", "met"),
    "ssvm_ner": ("Grumpf Wug", "PER", None),
}
"""Factory → words of TEXT, and the label and the head to teach, none of which are predicted."""


def lesson(factory, text=TEXT):
    """The characters, the label and the head of a lesson."""
    words, label, head = LESSONS[factory]
    start = text.index(words)
    return start, start + len(words), label, None if head is None else text.index(head)


@cache
def saved(folder):
    """The folder of a pipeline of these components; folder: to save it to."""
    learnt_as(NAMES).to_disk(folder)
    return folder
