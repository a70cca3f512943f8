"""Small texts to cluster."""

import random

from hypothesis import strategies as st

WORDS = "abcdefghij"
texts = st.lists(st.lists(st.sampled_from(WORDS), max_size=6), min_size=1, max_size=12).filter(any)
"""Sentences, of which one has a word."""

GRAMMAR = {
    "S": ["D N V .", "D A N V D N .", "P V D N .", "P V .", "D N V P ."],
    "D": ["the", "a", "this", "every"],
    "A": ["old", "small", "green"],
    "N": ["dog", "cat", "bird", "tree", "house"],
    "V": ["sees", "likes", "hears", "finds"],
    "P": ["she", "he", "it"],
}


def from_grammar(seed: int, n_sentences: int) -> list[list[str]]:
    """Sentences of a small grammar, in which words of a kind stand beside the same words."""
    draw = random.Random(seed)
    rules = (draw.choice(GRAMMAR["S"]).split() for _ in range(n_sentences))
    return [[draw.choice(GRAMMAR[sign]) if sign in GRAMMAR else sign for sign in rule] for rule in rules]
